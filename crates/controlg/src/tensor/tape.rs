//! The record of a computation, read backwards for its derivatives.
//!
//! Every op computes its value at once and leaves a closure that turns the gradient of its output into those of
//! its inputs. Parameters and graph data are lent to the tape, never copied; everything else lives in buffers of
//! a [`Pool`]. The tape can stop at a value and go on from it: [`Tape::cut`] makes a fresh start of an encoder's
//! output, so that several heads can be differentiated down to it, one after the other, and
//! [`Tape::backward_from`] carries a gradient on into the encoder.

use std::borrow::Cow;

use super::params::{Grads, ParamId, Params};
use super::pool::{Buffer, Pool};
use crate::Real;
use crate::kernels::rows;

/// A value on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var(usize);

/// A place on a tape to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// A computation in progress: values, and how to differentiate them.
///
/// Every op is a method. See the tour in [`tensor`](crate::tensor).
pub struct Tape<'a> {
    params: &'a Params,
    pool: &'a Pool,
    nodes: Vec<TapeNode<'a>>,
    /// The gradients that are waiting to be carried on, or that ended at a leaf.
    slots: Vec<Option<Buffer<'a>>>,
    recording: bool,
    /// Whether parameters are constants from now on.
    holding: bool,
}

struct TapeNode<'a> {
    shape: (usize, usize),
    value: TapeValue<'a>,
    origin: NodeOrigin<'a>,
    /// Whether a gradient of this value is of use to anyone.
    wanted: bool,
}

enum TapeValue<'a> {
    Lent(&'a [Real]),
    Own(Buffer<'a>),
    /// Another value's data under a new name.
    Same(Var),
    Scalar {
        exact: f64,
        rounded: [Real; 1],
    },
    /// Given back to the pool.
    Gone,
}

enum NodeOrigin<'a> {
    Leaf,
    Param(ParamId),
    Op(Option<Backward<'a>>),
}

type Backward<'a> = Box<dyn FnMut(&mut Back<'_, 'a>, Buffer<'a>) + 'a>;

impl<'a> Tape<'a> {
    /// A tape for training: everything that depends on a parameter is recorded.
    pub fn new(params: &'a Params, pool: &'a Pool) -> Self {
        Tape { params, pool, nodes: Vec::new(), slots: Vec::new(), recording: true, holding: false }
    }

    /// A tape that only computes: nothing is kept for a backward pass.
    pub fn forward_only(params: &'a Params, pool: &'a Pool) -> Self {
        Tape { recording: false, ..Tape::new(params, pool) }
    }

    /// Takes parameters as constants from now on: what follows is differentiated down to leaves only. Sensing asks for
    /// the gradient at the representations and not for that of the heads.
    pub fn hold_params(&mut self) {
        self.holding = true;
    }

    /// A parameter.
    pub fn param(&mut self, id: ParamId) -> Var {
        let wanted = self.recording && !self.holding;
        self.node(self.params.shape(id), TapeValue::Lent(self.params.get(id)), NodeOrigin::Param(id), wanted)
    }

    /// The parameters of a group, in the order of their declaration.
    pub fn group(&mut self, group: usize) -> Vec<Var> {
        let entries = 0..self.params.groups()[group].entries().len();
        entries.map(|entry| self.param(ParamId { group, entry })).collect()
    }

    /// A matrix that nobody differentiates: features, targets, another network's output.
    pub fn constant(&mut self, rows: usize, cols: usize, data: impl Into<Cow<'a, [Real]>>) -> Var {
        self.input(rows, cols, data.into(), false)
    }

    /// A matrix whose gradient can be asked for with [`Tape::gradient`].
    pub fn leaf(&mut self, rows: usize, cols: usize, data: impl Into<Cow<'a, [Real]>>) -> Var {
        let wanted = self.recording;
        self.input(rows, cols, data.into(), wanted)
    }

    /// [`Tape::leaf`] of values that another tape has left, see [`Tape::into_value`].
    pub fn leaf_of(&mut self, (rows, cols): (usize, usize), values: Buffer<'a>) -> Var {
        assert_eq!(values.len(), rows * cols, "{rows} rows of {cols}");
        let wanted = self.recording;
        self.node((rows, cols), TapeValue::Own(values), NodeOrigin::Leaf, wanted)
    }

    fn input(&mut self, rows: usize, cols: usize, data: Cow<'a, [Real]>, wanted: bool) -> Var {
        assert_eq!(data.len(), rows * cols, "{rows} rows of {cols}");
        let value = match data {
            Cow::Borrowed(lent) => TapeValue::Lent(lent),
            Cow::Owned(owned) => TapeValue::Own(self.pool.copy(&owned)),
        };
        self.node((rows, cols), value, NodeOrigin::Leaf, wanted)
    }

    /// The same values as a new leaf: a backward pass ends there and leaves its gradient, to be read with
    /// [`Tape::gradient`] and carried on with [`Tape::backward_from`].
    pub fn cut(&mut self, of: Var) -> Var {
        let wanted = self.recording;
        self.node(self.shape(of), TapeValue::Same(of), NodeOrigin::Leaf, wanted)
    }

    /// The same values without a gradient.
    pub fn detach(&mut self, of: Var) -> Var {
        self.node(self.shape(of), TapeValue::Same(of), NodeOrigin::Leaf, false)
    }

    /// Does some of the work without recording it: what comes out is constant for the derivative.
    pub fn without_gradient<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let recording = std::mem::replace(&mut self.recording, false);
        let result = work(self);
        self.recording = recording;
        result
    }

    /// (rows, columns) of a value.
    pub fn shape(&self, var: Var) -> (usize, usize) {
        self.nodes[var.0].shape
    }

    /// A value, row by row.
    pub fn value(&self, var: Var) -> &[Real] {
        value_of(&self.nodes, var)
    }

    /// Ends the tape and keeps one value that an op has made, and its shape.
    ///
    /// # Panics
    /// When the value is a parameter, lent, or given back.
    pub fn into_value(mut self, var: Var) -> ((usize, usize), Buffer<'a>) {
        let shape = self.shape(var);
        match std::mem::replace(&mut self.nodes[var.0].value, TapeValue::Gone) {
            TapeValue::Own(buffer) => (shape, buffer),
            _ => panic!("only the result of an op can be kept"),
        }
    }

    /// The value of a scalar, as exact as its op made it.
    pub fn scalar(&self, var: Var) -> f64 {
        match self.nodes[var.0].value {
            TapeValue::Scalar { exact, .. } => exact,
            _ => f64::from(self.value(var)[0]),
        }
    }

    /// The gradient that backward passes have left at a [leaf](Tape::leaf) or [cut](Tape::cut).
    pub fn gradient(&self, leaf: Var) -> Option<&[Real]> {
        self.slots[leaf.0].as_deref()
    }

    /// Takes the gradient away from a leaf, so that the next backward pass starts from zero there.
    pub fn take_gradient(&mut self, leaf: Var) -> Option<Buffer<'a>> {
        self.slots[leaf.0].take()
    }

    /// Adds ∂loss/∂parameter of every parameter to `grads`, and leaves gradients at leaves. The tape stays as it
    /// is, so this can be called again, for this loss or another.
    pub fn backward(&mut self, loss: Var, grads: &mut Grads) {
        let one = self.unit_seed(loss);
        self.run_back(loss, one, grads, false);
    }

    /// Like [`Tape::backward`] for the last time: every value goes back to the pool as soon as it is used up, which
    /// halves the memory of a training step.
    pub fn backward_last(mut self, loss: Var, grads: &mut Grads) {
        let one = self.unit_seed(loss);
        self.run_back(loss, one, grads, true);
    }

    /// [`Tape::backward`] for what came after the mark, once: its values go back to the pool as they are used up, and
    /// the tape ends at the mark again.
    pub fn backward_since(&mut self, mark: Mark, loss: Var, grads: &mut Grads) {
        let one = self.unit_seed(loss);
        self.run_back(loss, one, grads, true);
        self.truncate(mark);
    }

    /// Carries a gradient of `from` on to the parameters and leaves before it.
    ///
    /// # Panics
    /// When the gradient is not of the value's size.
    pub fn backward_from(&mut self, from: Var, gradient: Buffer<'a>, grads: &mut Grads) {
        assert_eq!(gradient.len(), self.value(from).len(), "a gradient of the value's size");
        self.run_back(from, gradient, grads, false);
    }

    /// [`Tape::backward_from`] for the last time, see [`Tape::backward_last`].
    ///
    /// # Panics
    /// When the gradient is not of the value's size.
    pub fn backward_last_from(mut self, from: Var, gradient: Buffer<'a>, grads: &mut Grads) {
        assert_eq!(gradient.len(), self.value(from).len(), "a gradient of the value's size");
        self.run_back(from, gradient, grads, true);
    }

    /// Where the tape ends now.
    pub fn mark(&self) -> Mark {
        Mark(self.nodes.len())
    }

    /// Forgets what came after the mark, and gives its buffers back.
    pub fn truncate(&mut self, mark: Mark) {
        self.nodes.truncate(mark.0);
        self.slots.truncate(mark.0);
    }

    /// Says that the value is not needed any more by the caller. Its buffer is given back at once when nothing is
    /// recorded; a recording tape keeps it for the backward pass.
    pub fn release(&mut self, var: Var) {
        if !self.recording && matches!(self.nodes[var.0].value, TapeValue::Own(_)) {
            self.nodes[var.0].value = TapeValue::Gone;
        }
    }

    fn unit_seed(&self, loss: Var) -> Buffer<'a> {
        assert_eq!(self.shape(loss), (1, 1), "a loss is one number");
        let mut one = self.pool.take(1);
        one[0] = 1.0;
        one
    }

    fn run_back(&mut self, from: Var, seed: Buffer<'a>, grads: &mut Grads, last: bool) {
        let mut back = Back { nodes: &self.nodes, slots: &mut self.slots, grads, pool: self.pool, last };
        back.give(from, seed);
        for at in (0..=from.0).rev() {
            let NodeOrigin::Op(op) = &mut self.nodes[at].origin else { continue };
            let Some(gradient) = self.slots[at].take() else { continue };
            let Some(mut op) = op.take() else { unreachable!("an op is only away while it runs") };
            let mut back = Back { nodes: &self.nodes, slots: &mut self.slots, grads, pool: self.pool, last };
            op(&mut back, gradient);
            if last {
                // All that use this value come after it and are done.
                drop(op);
                self.nodes[at].value = TapeValue::Gone;
            } else {
                self.nodes[at].origin = NodeOrigin::Op(Some(op));
            }
        }
        grads.complete();
    }

    // What ops are made of.

    /// The store that buffers come from.
    pub(super) fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// The handle that the next value put on the tape will get.
    pub(super) fn next(&self) -> Var {
        Var(self.nodes.len())
    }

    /// Whether the gradient of this value is of use.
    pub(super) fn wanted(&self, var: Var) -> bool {
        self.nodes[var.0].wanted
    }

    /// Puts the result of an op on the tape. `back` gets the gradient of the result and hands on those of `inputs`.
    pub(super) fn push(
        &mut self,
        shape: (usize, usize),
        value: Buffer<'a>,
        inputs: &[Var],
        back: impl FnMut(&mut Back<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        debug_assert_eq!(value.len(), shape.0 * shape.1);
        let wanted = self.recording && self.any_wanted(inputs);
        let origin = if wanted { NodeOrigin::Op(Some(Box::new(back))) } else { NodeOrigin::Leaf };
        self.node(shape, TapeValue::Own(value), origin, wanted)
    }

    /// Puts a loss on the tape.
    pub(super) fn push_scalar(
        &mut self,
        exact: f64,
        inputs: &[Var],
        back: impl FnMut(&mut Back<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        let wanted = self.recording && self.any_wanted(inputs);
        let origin = if wanted { NodeOrigin::Op(Some(Box::new(back))) } else { NodeOrigin::Leaf };
        self.node((1, 1), TapeValue::Scalar { exact, rounded: [exact as Real] }, origin, wanted)
    }

    fn any_wanted(&self, inputs: &[Var]) -> bool {
        inputs.iter().any(|&var| self.wanted(var))
    }

    fn node(
        &mut self,
        shape: (usize, usize),
        value: TapeValue<'a>,
        origin: NodeOrigin<'a>,
        wanted: bool,
    ) -> Var {
        self.nodes.push(TapeNode { shape, value, origin, wanted });
        self.slots.push(None);
        Var(self.nodes.len() - 1)
    }
}

fn value_of<'t>(nodes: &'t [TapeNode<'_>], var: Var) -> &'t [Real] {
    match &nodes[var.0].value {
        TapeValue::Lent(lent) => lent,
        TapeValue::Own(own) => own,
        TapeValue::Same(of) => value_of(nodes, *of),
        TapeValue::Scalar { rounded, .. } => rounded,
        TapeValue::Gone => unreachable!("a value that was given back is asked for"),
    }
}

/// What an op sees of the tape on the way back.
pub(super) struct Back<'t, 'a> {
    nodes: &'t [TapeNode<'a>],
    slots: &'t mut [Option<Buffer<'a>>],
    grads: &'t mut Grads,
    pool: &'a Pool,
    last: bool,
}

impl<'t, 'a> Back<'t, 'a> {
    pub(super) fn value(&self, var: Var) -> &'t [Real] {
        value_of(self.nodes, var)
    }

    pub(super) fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// Whether the gradient of this value is of use.
    pub(super) fn wanted(&self, var: Var) -> bool {
        self.nodes[var.0].wanted
    }

    /// Lets `write` put (or, when its second argument is true, add) a gradient into its place.
    pub(super) fn accumulate(&mut self, var: Var, write: impl FnOnce(&mut [Real], bool)) {
        if !self.wanted(var) {
            return;
        }
        if let NodeOrigin::Param(id) = self.nodes[var.0].origin {
            let (slot, add) = self.grads.slot(id);
            return write(slot, add);
        }
        match &mut self.slots[var.0] {
            Some(slot) => write(slot, true),
            empty => {
                let (rows, cols) = self.nodes[var.0].shape;
                let mut slot = self.pool.take(rows * cols);
                write(&mut slot, false);
                *empty = Some(slot);
            }
        }
    }

    /// Hands on a gradient that is ready, without a copy where nothing is there yet.
    pub(super) fn give(&mut self, var: Var, gradient: Buffer<'a>) {
        if !self.wanted(var) {
            return;
        }
        if !matches!(self.nodes[var.0].origin, NodeOrigin::Param(_)) && self.slots[var.0].is_none() {
            self.slots[var.0] = Some(gradient);
        } else {
            self.accumulate(var, |slot, add| put(&gradient, slot, add));
        }
    }

    /// Hands on `factor` times a gradient that the op has saved, which is used up on the last pass.
    pub(super) fn give_saved(&mut self, var: Var, saved: &mut Option<Buffer<'a>>, factor: Real) {
        let ready = if self.last { saved.take() } else { saved.as_deref().map(|s| self.pool.copy(s)) };
        if let Some(mut gradient) = ready {
            scale(&mut gradient, factor);
            self.give(var, gradient);
        }
    }
}

/// `to` = `from`, or `to` += `from`.
pub(super) fn put(from: &[Real], to: &mut [Real], add: bool) {
    if add { rows::axpy(1.0, from, to) } else { to.copy_from_slice(from) }
}

/// `x` *= `factor`, unless that changes nothing.
#[allow(clippy::float_cmp)] // the usual factor is exactly 1
pub(super) fn scale(x: &mut [Real], factor: Real) {
    if factor != 1.0 {
        rows::scale(factor, x);
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // small whole numbers are exact
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::tensor::Init;

    /// One parameter, the row (2, 3).
    fn row() -> (Params, ParamId) {
        let mut params = Params::new();
        let group = params.add_group("encoder");
        let id = params.add(group, "x", (1, 2), Init::Constant(0.0), &mut Stream::new(0, "init", "", 0));
        params.get_mut(id).copy_from_slice(&[2.0, 3.0]);
        (params, id)
    }

    #[test]
    fn a_parameter_that_is_used_twice_gets_both_gradients() {
        let (params, id) = row();
        let (pool, mut grads) = (Pool::new(), Grads::new(&params));
        let mut tape = Tape::new(&params, &pool);
        let (a, b) = (tape.param(id), tape.param(id));
        let square = tape.mean_row_dot(a, b);
        assert_eq!(tape.scalar(square), 13.0);
        tape.backward(square, &mut grads);
        assert_eq!(grads.get(id), Some(&[4.0, 6.0][..]));
    }

    #[test]
    fn what_is_detached_or_not_recorded_gives_no_gradient() {
        let (params, id) = row();
        let (pool, mut grads) = (Pool::new(), Grads::new(&params));
        let mut tape = Tape::new(&params, &pool);
        let x = tape.param(id);
        let still = tape.detach(x);
        let quiet = tape.without_gradient(|tape| {
            let y = tape.param(id);
            tape.scale(y, 2.0)
        });
        let (one, two) = (tape.mean_row_dot(x, still), tape.mean_row_dot(x, quiet));
        let sum = tape.add(one, two);
        tape.backward(sum, &mut grads);
        // d/dx of x·(2, 3) + x·(4, 6)
        assert_eq!(grads.get(id), Some(&[6.0, 9.0][..]));
    }

    #[test]
    fn buffers_come_back_when_the_tape_ends_or_is_cut_short() {
        let (params, id) = row();
        let pool = Pool::new();
        let mut tape = Tape::new(&params, &pool);
        let x = tape.param(id);
        let mark = tape.mark();
        let first = tape.scale(x, 2.0);
        let address = tape.value(first).as_ptr();
        tape.truncate(mark);
        let second = tape.scale(x, 3.0);
        assert_eq!(tape.value(second).as_ptr(), address);
        drop(tape);
        assert!(pool.idle_bytes() > 0);
    }

    #[test]
    fn a_tape_that_only_computes_releases_what_is_done() {
        let (params, id) = row();
        let pool = Pool::new();
        let mut tape = Tape::forward_only(&params, &pool);
        let x = tape.param(id);
        let y = tape.scale(x, 2.0);
        let before = pool.idle_bytes();
        tape.release(y);
        assert!(pool.idle_bytes() > before);
        let mut tape = Tape::new(&params, &pool);
        let x = tape.param(id);
        let y = tape.scale(x, 2.0);
        tape.release(y);
        assert_eq!(tape.value(y), [4.0, 6.0]);
    }
}
