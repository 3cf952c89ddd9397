//! Borrowed or reference-counted operands of a computation.

use std::ops::Deref;
use std::sync::Arc;

/// A reference or an [`Arc`]. Data that lives as long as the run is borrowed; data made for one step, such as an augmented
/// adjacency or a sample of nodes, is shared.
#[derive(Debug)]
pub enum Operand<'a, T: ?Sized> {
    /// Data that outlives the computation.
    Borrowed(&'a T),
    /// Reference-counted data.
    Shared(Arc<T>),
}

impl<T: ?Sized> Clone for Operand<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Operand::Borrowed(borrowed) => Operand::Borrowed(borrowed),
            Operand::Shared(shared) => Operand::Shared(shared.clone()),
        }
    }
}

impl<T: ?Sized> Deref for Operand<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Operand::Borrowed(borrowed) => borrowed,
            Operand::Shared(shared) => shared,
        }
    }
}

impl<'a, T: ?Sized> From<&'a T> for Operand<'a, T> {
    fn from(borrowed: &'a T) -> Self {
        Operand::Borrowed(borrowed)
    }
}

impl<T: ?Sized> From<Arc<T>> for Operand<'_, T> {
    fn from(shared: Arc<T>) -> Self {
        Operand::Shared(shared)
    }
}

impl<'a, T: ?Sized> From<&Operand<'a, T>> for Operand<'a, T> {
    fn from(operand: &Operand<'a, T>) -> Self {
        operand.clone()
    }
}

impl<'a, T> From<&'a Vec<T>> for Operand<'a, [T]> {
    fn from(borrowed: &'a Vec<T>) -> Self {
        Operand::Borrowed(borrowed)
    }
}

impl<T> From<Vec<T>> for Operand<'_, [T]> {
    fn from(owned: Vec<T>) -> Self {
        Operand::Shared(owned.into())
    }
}
