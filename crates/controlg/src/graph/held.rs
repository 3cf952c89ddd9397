//! Data that a computation holds on to: lent for as long as it lasts, or shared with whoever made it.

use std::ops::Deref;
use std::sync::Arc;

/// A reference or a shared pointer. Operands of the tape come as either: what lives as long as the run is lent,
/// what is made for one step (a view with other edges, a sample of nodes) is shared.
#[derive(Debug)]
pub enum Held<'a, T: ?Sized> {
    /// Belongs to someone who outlives the computation.
    Lent(&'a T),
    /// Kept alive by everyone who holds it.
    Shared(Arc<T>),
}

impl<T: ?Sized> Clone for Held<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Held::Lent(lent) => Held::Lent(lent),
            Held::Shared(shared) => Held::Shared(shared.clone()),
        }
    }
}

impl<T: ?Sized> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Held::Lent(lent) => lent,
            Held::Shared(shared) => shared,
        }
    }
}

impl<'a, T: ?Sized> From<&'a T> for Held<'a, T> {
    fn from(lent: &'a T) -> Self {
        Held::Lent(lent)
    }
}

impl<T: ?Sized> From<Arc<T>> for Held<'_, T> {
    fn from(shared: Arc<T>) -> Self {
        Held::Shared(shared)
    }
}

impl<'a, T: ?Sized> From<&Held<'a, T>> for Held<'a, T> {
    fn from(held: &Held<'a, T>) -> Self {
        held.clone()
    }
}

impl<'a, T> From<&'a Vec<T>> for Held<'a, [T]> {
    fn from(lent: &'a Vec<T>) -> Self {
        Held::Lent(lent)
    }
}

impl<T> From<Vec<T>> for Held<'_, [T]> {
    fn from(owned: Vec<T>) -> Self {
        Held::Shared(owned.into())
    }
}
