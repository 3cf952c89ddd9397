//! The backward pass as an op sees it.

use super::params::Grads;
use super::pool::{Buffer, Pool};
use super::tape::{NodeOrigin, TapeNode, Var, value_of};
use crate::Real;
use crate::kernels::precision::Precision;
use crate::kernels::rows;

/// Turns the gradient of an op's output into those of its inputs.
pub(super) type BackwardFn<'a> = Box<dyn FnMut(&mut BackwardCtx<'_, 'a>, Buffer<'a>) + 'a>;

/// Access to saved values and to the gradients of inputs during a backward pass.
pub(super) struct BackwardCtx<'t, 'a> {
    pub(super) nodes: &'t [TapeNode<'a>],
    pub(super) gradients: &'t mut [Option<Buffer<'a>>],
    pub(super) grads: &'t mut Grads,
    pub(super) pool: &'a Pool,
    /// The precision of the factors of dense products.
    pub(super) precision: Precision,
    /// Whether saved values are freed as they are used.
    pub(super) last: bool,
}

impl<'t, 'a> BackwardCtx<'t, 'a> {
    pub(super) fn value(&self, var: Var) -> &'t [Real] {
        value_of(self.nodes, var)
    }

    pub(super) fn shape(&self, var: Var) -> (usize, usize) {
        self.nodes[var.0].shape
    }

    pub(super) fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// Whether the gradient of this value is needed.
    pub(super) fn requires_grad(&self, var: Var) -> bool {
        self.nodes[var.0].requires_grad
    }

    /// Runs a kernel; a shape pass skips it.
    pub(super) fn compute<T: Default>(&self, kernel: impl FnOnce() -> T) -> T {
        if self.pool.is_shape_only() { T::default() } else { kernel() }
    }

    /// Lets `write` compute the gradient of `var` in place. Its second argument says whether to add to what is there or to
    /// overwrite it. A shape pass skips the call.
    pub(super) fn accumulate_grad_with(&mut self, var: Var, write: impl FnOnce(&mut [Real], bool)) {
        if !self.requires_grad(var) {
            return;
        }
        let computes = !self.pool.is_shape_only();
        if let NodeOrigin::Param(id) = self.nodes[var.0].origin {
            let (slot, add) = self.grads.slot(id);
            if computes {
                write(slot, add);
            }
            return;
        }
        match &mut self.gradients[var.0] {
            Some(slot) if computes => write(slot, true),
            Some(_) => {}
            empty => {
                let (rows, cols) = self.nodes[var.0].shape;
                let mut slot = self.pool.take(rows * cols);
                if computes {
                    write(&mut slot, false);
                }
                *empty = Some(slot);
            }
        }
    }

    /// Adds a gradient to that of `var`; takes over the buffer if it is the first.
    pub(super) fn accumulate_grad(&mut self, var: Var, gradient: Buffer<'a>) {
        if !self.requires_grad(var) {
            return;
        }
        if !matches!(self.nodes[var.0].origin, NodeOrigin::Param(_)) && self.gradients[var.0].is_none() {
            self.gradients[var.0] = Some(gradient);
        } else {
            self.accumulate_grad_with(var, |slot, add| copy_or_add(&gradient, slot, add));
        }
    }

    /// Adds `factor` times a gradient that the op has saved. The last pass takes over the saved buffer.
    pub(super) fn accumulate_saved_grad(&mut self, var: Var, saved: &mut Option<Buffer<'a>>, factor: Real) {
        let gradient = if self.last { saved.take() } else { saved.clone() };
        if let Some(mut gradient) = gradient {
            scale(&mut gradient, factor);
            self.accumulate_grad(var, gradient);
        }
    }
}

/// `to` = `from`, or `to` += `from`.
pub(super) fn copy_or_add(from: &[Real], to: &mut [Real], add: bool) {
    if add { rows::axpy(1.0, from, to) } else { rows::copy(from, to) }
}

/// `x` *= `factor`, skipped for a factor of 1.
#[allow(clippy::float_cmp)] // the usual factor is exactly 1
pub(super) fn scale(x: &mut [Real], factor: Real) {
    if factor != 1.0 {
        rows::scale(factor, x);
    }
}
