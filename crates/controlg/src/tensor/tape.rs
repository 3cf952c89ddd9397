//! A tape: records a computation and differentiates it in reverse.
//!
//! Every op computes its value at once and records a closure that turns the gradient of its output into those of its
//! inputs. The tape borrows parameters and graph data without copying them; everything else lives in buffers of a
//! [`Pool`]. [`Tape::detached_leaf`] cuts the graph at an encoder's output, so that several heads can be differentiated
//! down to it one after the other; [`Tape::backward_from`] continues into the encoder from a given gradient.
//!
//! On a [shape-only](Pool::shape_only) pool a tape runs a *shape pass*: ops take and free the same buffers and skip their
//! kernels, so the pool records the peak memory of the computation without doing it. Values are empty slices then; use
//! [`Tape::shape`].

use std::borrow::Cow;
use std::cell::Cell;

use super::backward::{BackwardCtx, BackwardFn};
use super::params::{Grads, ParamId, Params};
use super::pool::{Buffer, Pool};
use crate::Real;
use crate::kernels::precision::Precision;
use crate::kernels::rows;

/// A value on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var(pub(super) usize);

/// A position on a tape, see [`Tape::truncate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// A recorded computation: values, and how to differentiate them.
///
/// Every op is a method. See the tour in [`tensor`](crate::tensor).
pub struct Tape<'a> {
    params: &'a Params,
    pool: &'a Pool,
    nodes: Vec<TapeNode<'a>>,
    /// For each node the gradient accumulated so far: on its way to the node's inputs, or final at a leaf.
    gradients: Vec<Option<Buffer<'a>>>,
    recording: bool,
    /// The precision of the factors of dense products.
    precision: Precision,
    /// Whether parameters added from now on are constants.
    frozen: bool,
    /// Floating-point operations so far, see [`Tape::flops`].
    flops: Cell<u64>,
    /// Those of the backward pass of the op that is being recorded.
    backward_flops: Cell<u64>,
}

pub(super) struct TapeNode<'a> {
    pub(super) shape: (usize, usize),
    pub(super) value: TapeValue<'a>,
    pub(super) origin: NodeOrigin<'a>,
    pub(super) requires_grad: bool,
    /// Floating-point operations of one backward pass through this node.
    backward_flops: u64,
}

pub(super) enum TapeValue<'a> {
    Borrowed(&'a [Real]),
    Owned(Buffer<'a>),
    /// The data of another node.
    Alias(Var),
    Scalar {
        exact: f64,
        rounded: [Real; 1],
    },
    /// Returned to the pool.
    Freed,
}

pub(super) enum NodeOrigin<'a> {
    Leaf,
    Param(ParamId),
    /// `None` only while the closure runs, or after it has been freed.
    Op(Option<BackwardFn<'a>>),
}

impl<'a> Tape<'a> {
    /// A tape for training: records everything that depends on a parameter.
    pub fn new(params: &'a Params, pool: &'a Pool) -> Self {
        Tape {
            params,
            pool,
            nodes: Vec::new(),
            gradients: Vec::new(),
            recording: true,
            precision: Precision::Full,
            frozen: false,
            flops: Cell::new(0),
            backward_flops: Cell::new(0),
        }
    }

    /// A tape for inference: saves nothing for a backward pass.
    pub fn forward_only(params: &'a Params, pool: &'a Pool) -> Self {
        Tape { recording: false, ..Tape::new(params, pool) }
    }

    /// Sets the precision of the factors of dense products, forward and backward. What is not a dense product is computed in
    /// full precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Tape { precision, ..self }
    }

    /// Whether this is a shape pass: values have shapes but no numbers.
    pub fn is_shape_only(&self) -> bool {
        self.pool.is_shape_only()
    }

    /// Floating-point operations of everything on the tape, counted from shapes: of the forward pass and, if it is recorded,
    /// of a backward pass from its end. Products count in full, all else as four operations per element and pass.
    pub fn flops(&self) -> u64 {
        self.flops.get()
    }

    /// Treats parameters that are used from now on as constants, so that a backward pass reaches leaves only. Sensing needs
    /// the gradient at the representations but not those of the heads.
    pub fn freeze_params(&mut self) {
        self.frozen = true;
    }

    /// A parameter.
    pub fn param(&mut self, id: ParamId) -> Var {
        let requires_grad = self.recording && !self.frozen;
        let value = TapeValue::Borrowed(self.params.get(id));
        self.node(self.params.shape(id), value, NodeOrigin::Param(id), requires_grad)
    }

    /// The parameters of a group, in the order of their declaration.
    pub fn group(&mut self, group: usize) -> Vec<Var> {
        let entries = 0..self.params.groups()[group].entries().len();
        entries.map(|entry| self.param(ParamId { group, entry })).collect()
    }

    /// A matrix without a gradient: features, targets, another network's output.
    pub fn constant(&mut self, rows: usize, cols: usize, data: impl Into<Cow<'a, [Real]>>) -> Var {
        self.input(rows, cols, data.into(), false)
    }

    /// A matrix with a gradient, see [`Tape::gradient`].
    pub fn leaf(&mut self, rows: usize, cols: usize, data: impl Into<Cow<'a, [Real]>>) -> Var {
        let requires_grad = self.recording;
        self.input(rows, cols, data.into(), requires_grad)
    }

    /// A [leaf](Tape::leaf) with the values of a buffer, for example from [`Tape::into_value`].
    ///
    /// # Panics
    /// If the buffer has another size.
    pub fn leaf_from(&mut self, (rows, cols): (usize, usize), values: Buffer<'a>) -> Var {
        assert_eq!(values.len(), rows * cols, "{rows} rows of {cols}");
        let requires_grad = self.recording;
        self.node((rows, cols), TapeValue::Owned(values), NodeOrigin::Leaf, requires_grad)
    }

    fn input(&mut self, rows: usize, cols: usize, data: Cow<'a, [Real]>, requires_grad: bool) -> Var {
        assert_eq!(data.len(), rows * cols, "{rows} rows of {cols}");
        let value = match data {
            Cow::Borrowed(borrowed) => TapeValue::Borrowed(borrowed),
            Cow::Owned(owned) => TapeValue::Owned(self.pool.copy(&owned)),
        };
        self.node((rows, cols), value, NodeOrigin::Leaf, requires_grad)
    }

    /// The same values as a new leaf: a backward pass ends there and leaves its gradient, which [`Tape::gradient`] reads
    /// and [`Tape::backward_from`] continues from.
    pub fn detached_leaf(&mut self, of: Var) -> Var {
        let requires_grad = self.recording;
        self.node(self.shape(of), TapeValue::Alias(of), NodeOrigin::Leaf, requires_grad)
    }

    /// The same values without a gradient.
    pub fn detach(&mut self, of: Var) -> Var {
        self.node(self.shape(of), TapeValue::Alias(of), NodeOrigin::Leaf, false)
    }

    /// Runs a part of the computation without recording it: its results are constants.
    pub fn without_gradient<R>(&mut self, compute: impl FnOnce(&mut Self) -> R) -> R {
        let recording = std::mem::replace(&mut self.recording, false);
        let result = compute(self);
        self.recording = recording;
        result
    }

    /// (rows, columns) of a value.
    pub fn shape(&self, var: Var) -> (usize, usize) {
        self.nodes[var.0].shape
    }

    /// A value, row-major. Empty in a shape pass, except for parameters and borrowed inputs.
    pub fn value(&self, var: Var) -> &[Real] {
        value_of(&self.nodes, var)
    }

    /// Ends the tape and returns one op's result with its shape.
    ///
    /// # Panics
    /// If the value is a parameter, borrowed, or freed.
    pub fn into_value(mut self, var: Var) -> ((usize, usize), Buffer<'a>) {
        let shape = self.shape(var);
        match std::mem::replace(&mut self.nodes[var.0].value, TapeValue::Freed) {
            TapeValue::Owned(buffer) => (shape, buffer),
            _ => panic!("only the result of an op can be taken"),
        }
    }

    /// The value of a scalar in f64, without rounding to [`Real`]. 0 in a shape pass.
    pub fn scalar(&self, var: Var) -> f64 {
        match self.nodes[var.0].value {
            TapeValue::Scalar { exact, .. } => exact,
            _ => self.value(var).first().map_or(0.0, |&x| f64::from(x)),
        }
    }

    /// The gradient that backward passes have accumulated at a [leaf](Tape::leaf).
    pub fn gradient(&self, leaf: Var) -> Option<&[Real]> {
        self.gradients[leaf.0].as_deref()
    }

    /// Takes the gradient from a leaf; the next backward pass starts from zero there.
    pub fn take_gradient(&mut self, leaf: Var) -> Option<Buffer<'a>> {
        self.gradients[leaf.0].take()
    }

    /// Adds ∂loss/∂parameter of every parameter to `grads` and accumulates gradients at leaves. Retains the tape, so it
    /// can be called again for this loss or another.
    pub fn backward(&mut self, loss: Var, grads: &mut Grads) {
        let seed = self.unit_gradient(loss);
        self.run_backward(loss, seed, grads, false);
    }

    /// [`Tape::backward`] that consumes the tape: every value is freed as soon as it is no longer needed, which halves the
    /// memory of a training step.
    pub fn backward_last(mut self, loss: Var, grads: &mut Grads) {
        let seed = self.unit_gradient(loss);
        self.run_backward(loss, seed, grads, true);
    }

    /// [`Tape::backward`] that frees what was recorded after the mark and truncates the tape there.
    pub fn backward_since(&mut self, mark: Mark, loss: Var, grads: &mut Grads) {
        let seed = self.unit_gradient(loss);
        self.run_backward(loss, seed, grads, true);
        self.truncate(mark);
    }

    /// Backpropagates a given gradient of `from` to the parameters and leaves before it.
    ///
    /// # Panics
    /// If the gradient has another size than the value.
    pub fn backward_from(&mut self, from: Var, gradient: Buffer<'a>, grads: &mut Grads) {
        assert_eq!(gradient.len(), self.numel(from), "a gradient of the value's size");
        self.run_backward(from, gradient, grads, false);
    }

    /// [`Tape::backward_from`] that consumes the tape, see [`Tape::backward_last`].
    ///
    /// # Panics
    /// If the gradient has another size than the value.
    pub fn backward_last_from(mut self, from: Var, gradient: Buffer<'a>, grads: &mut Grads) {
        assert_eq!(gradient.len(), self.numel(from), "a gradient of the value's size");
        self.run_backward(from, gradient, grads, true);
    }

    /// The current end of the tape.
    pub fn mark(&self) -> Mark {
        Mark(self.nodes.len())
    }

    /// Drops what was recorded after the mark and frees its buffers.
    pub fn truncate(&mut self, mark: Mark) {
        self.nodes.truncate(mark.0);
        self.gradients.truncate(mark.0);
    }

    /// Tells the tape that the caller is done with a value. A forward-only tape frees its buffer at once; a recording tape
    /// keeps it for the backward pass.
    pub fn release(&mut self, var: Var) {
        if !self.recording && matches!(self.nodes[var.0].value, TapeValue::Owned(_)) {
            self.nodes[var.0].value = TapeValue::Freed;
        }
    }

    fn unit_gradient(&self, loss: Var) -> Buffer<'a> {
        assert_eq!(self.shape(loss), (1, 1), "a loss is a scalar");
        let mut one = self.pool.take(1);
        one.fill(1.0);
        one
    }

    fn run_backward(&mut self, from: Var, seed: Buffer<'a>, grads: &mut Grads, last: bool) {
        let &mut Tape { ref mut nodes, ref mut gradients, pool, precision, .. } = self;
        BackwardCtx { nodes, gradients, grads, pool, precision, last }.accumulate_grad(from, seed);
        for at in (0..=from.0).rev() {
            let NodeOrigin::Op(op) = &mut nodes[at].origin else { continue };
            let Some(gradient) = gradients[at].take() else { continue };
            let Some(mut op) = op.take() else { unreachable!("a closure is only away while it runs") };
            pool.count_flops(nodes[at].backward_flops);
            op(&mut BackwardCtx { nodes, gradients, grads, pool, precision, last }, gradient);
            if last {
                // Everything that uses this value comes after it on the tape and is done.
                drop(op);
                nodes[at].value = TapeValue::Freed;
            } else {
                nodes[at].origin = NodeOrigin::Op(Some(op));
            }
        }
        if !pool.is_shape_only() {
            grads.complete();
        }
    }

    // Building blocks of ops.

    /// The pool that buffers come from.
    pub(super) fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// The precision of the factors of dense products.
    pub(super) fn precision(&self) -> Precision {
        self.precision
    }

    /// The handle that the next pushed value will get.
    pub(super) fn next(&self) -> Var {
        Var(self.nodes.len())
    }

    /// Number of elements.
    pub(super) fn numel(&self, var: Var) -> usize {
        let (rows, cols) = self.shape(var);
        rows * cols
    }

    /// Whether a backward pass computes the gradient of this value.
    pub(super) fn requires_grad(&self, var: Var) -> bool {
        self.nodes[var.0].requires_grad
    }

    /// Runs a kernel; a shape pass skips it. Every op calls its kernels through this function.
    pub(super) fn compute<T: Default>(&self, kernel: impl FnOnce() -> T) -> T {
        if self.is_shape_only() { T::default() } else { kernel() }
    }

    /// Counts a product of `flops` operations, whose backward pass takes as many for each input with a gradient.
    pub(super) fn count_product(&self, flops: usize, inputs: &[Var]) {
        let backward = inputs.iter().filter(|&&input| self.recording && self.requires_grad(input)).count();
        self.count(flops, flops * backward);
    }

    /// Counts operations of the op that is being recorded, forward and in each backward pass.
    fn count(&self, forward: usize, backward: usize) {
        self.flops.set(self.flops.get() + (forward + backward) as u64);
        self.backward_flops.set(self.backward_flops.get() + backward as u64);
        self.pool.count_flops(forward as u64);
    }

    /// In a shape pass, records the scratch buffers that a kernel uses at the same time, given as numbers of elements.
    pub(super) fn record_scratch(&self, elements: impl FnOnce() -> Vec<usize>) {
        if self.is_shape_only() {
            self.pool.record_scratch(elements().into_iter().map(|len| len * size_of::<Real>()).collect());
        }
    }

    /// A buffer with a copy of a value.
    pub(super) fn copy(&self, var: Var) -> Buffer<'a> {
        let mut copy = self.pool.take(self.numel(var));
        self.compute(|| rows::copy(self.value(var), &mut copy));
        copy
    }

    /// Adds the result of an op. `backward` gets the gradient of the result and accumulates those of `inputs`.
    pub(super) fn push(
        &mut self,
        shape: (usize, usize),
        value: Buffer<'a>,
        inputs: &[Var],
        backward: impl FnMut(&mut BackwardCtx<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        debug_assert_eq!(value.len(), shape.0 * shape.1);
        self.push_value(shape, TapeValue::Owned(value), inputs, backward)
    }

    /// Adds a scalar, usually a loss.
    pub(super) fn push_scalar(
        &mut self,
        exact: f64,
        inputs: &[Var],
        backward: impl FnMut(&mut BackwardCtx<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        let value = TapeValue::Scalar { exact, rounded: [exact as Real] };
        self.push_value((1, 1), value, inputs, backward)
    }

    fn push_value(
        &mut self,
        shape: (usize, usize),
        value: TapeValue<'a>,
        inputs: &[Var],
        backward: impl FnMut(&mut BackwardCtx<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        let requires_grad = self.recording && inputs.iter().any(|&var| self.requires_grad(var));
        let elementwise = 4 * shape.0 * shape.1;
        self.count(elementwise, if requires_grad { elementwise } else { 0 });
        let origin = if requires_grad { NodeOrigin::Op(Some(Box::new(backward))) } else { NodeOrigin::Leaf };
        let var = self.node(shape, value, origin, requires_grad);
        self.nodes[var.0].backward_flops = self.backward_flops.take();
        var
    }

    fn node(
        &mut self,
        shape: (usize, usize),
        value: TapeValue<'a>,
        origin: NodeOrigin<'a>,
        requires_grad: bool,
    ) -> Var {
        self.nodes.push(TapeNode { shape, value, origin, requires_grad, backward_flops: 0 });
        self.gradients.push(None);
        Var(self.nodes.len() - 1)
    }
}

pub(super) fn value_of<'t>(nodes: &'t [TapeNode<'_>], var: Var) -> &'t [Real] {
    match &nodes[var.0].value {
        TapeValue::Borrowed(borrowed) => borrowed,
        TapeValue::Owned(owned) => owned,
        TapeValue::Alias(of) => value_of(nodes, *of),
        TapeValue::Scalar { rounded, .. } => rounded,
        TapeValue::Freed => unreachable!("a freed value is read"),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // small whole numbers are exact
mod tests;
