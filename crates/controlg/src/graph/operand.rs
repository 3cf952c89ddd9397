//! Data that a computation holds on to: lent for as long as it lasts, or shared with whoever made it.

use std::ops::Deref;
use std::sync::Arc;

/// A reference or a shared pointer. Operands of the tape come as either: what lives as long as the run is lent,
/// what is made for one step (a view with other edges, a sample of nodes) is shared.
#[derive(Debug)]
pub enum Operand<'a, T: ?Sized> {
    /// Belongs to someone who outlives the computation.
    Borrowed(&'a T),
    /// Kept alive by everyone who holds it.
    Shared(Arc<T>),
}

impl<T: ?Sized> Clone for Operand<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Operand::Borrowed(lent) => Operand::Borrowed(lent),
            Operand::Shared(shared) => Operand::Shared(shared.clone()),
        }
    }
}

impl<T: ?Sized> Deref for Operand<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Operand::Borrowed(lent) => lent,
            Operand::Shared(shared) => shared,
        }
    }
}

impl<'a, T: ?Sized> From<&'a T> for Operand<'a, T> {
    fn from(lent: &'a T) -> Self {
        Operand::Borrowed(lent)
    }
}

impl<T: ?Sized> From<Arc<T>> for Operand<'_, T> {
    fn from(shared: Arc<T>) -> Self {
        Operand::Shared(shared)
    }
}

impl<'a, T: ?Sized> From<&Operand<'a, T>> for Operand<'a, T> {
    fn from(held: &Operand<'a, T>) -> Self {
        held.clone()
    }
}

impl<'a, T> From<&'a Vec<T>> for Operand<'a, [T]> {
    fn from(lent: &'a Vec<T>) -> Self {
        Operand::Borrowed(lent)
    }
}

impl<T> From<Vec<T>> for Operand<'_, [T]> {
    fn from(owned: Vec<T>) -> Self {
        Operand::Shared(owned.into())
    }
}
