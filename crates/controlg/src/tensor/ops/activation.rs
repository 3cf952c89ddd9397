//! Bias and activation, alone or at the end of a product; dropout.

use crate::Real;
use crate::kernels::rowwise::{self, Act, SavedActivation};
use crate::kernels::{reduce, rows};
use crate::rng::Stream;
use crate::tensor::tape::{Back, put};
use crate::tensor::{Buffer, Tape, Var};

/// What a layer does to each element in the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// x
    Identity,
    /// max(x, 0)
    Relu,
    /// x, or eˣ − 1 where x < 0
    Elu,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x, or slope·x where x < 0, with a fixed slope
    LeakyRelu(Real),
    /// x, or a·x where x < 0, with a learned scalar a
    Prelu(Var),
}

impl<'a> Tape<'a> {
    /// act(x + b), b added to every row. x: n×c, b: 1×c.
    pub fn activate(&mut self, x: Var, bias: Option<Var>, activation: Activation) -> Var {
        let copy = self.pool().copy(self.value(x));
        self.push_activated(self.shape(x), copy, bias, activation, &[x], move |back, gradient| {
            back.give(x, gradient);
        })
    }

    /// x with each element set to zero at the given rate and the others divided by 1 − rate.
    pub fn dropout(&mut self, x: Var, rate: f64, stream: &mut Stream) -> Var {
        if rate <= 0.0 {
            return x;
        }
        let shape = self.shape(x);
        let mut keep = self.pool().take::<bool>(shape.0 * shape.1);
        keep.iter_mut().for_each(|keep| *keep = stream.uniform() >= rate);
        let factor = if rate < 1.0 { (1.0 / (1.0 - rate)) as Real } else { 0.0 };
        let mut out = self.pool().take(keep.len());
        rows::dropout(self.value(x), &keep, factor, &mut out);
        self.push(shape, out, &[x], move |back, gradient| {
            let mut dx = back.pool().take(gradient.len());
            rows::dropout(&gradient, &keep, factor, &mut dx);
            back.give(x, dx);
        })
    }

    /// Puts act(pre + bias) on the tape, in the buffer of `pre`; `rest` gets the gradient of `pre`.
    pub(in crate::tensor) fn push_activated(
        &mut self,
        shape: (usize, usize),
        mut pre: Buffer<'a>,
        bias: Option<Var>,
        activation: Activation,
        inputs: &[Var],
        rest: impl FnMut(&mut Back<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        let kept = self.fused(bias, activation).is_none().then(|| self.pool().copy(&pre));
        let (act, slope, _) = self.act(activation);
        rowwise::bias_act_in_place(shape.0, shape.1, &mut pre, bias.map(|b| self.value(b)), act, slope);
        self.push_done(shape, pre, kept, bias, activation, inputs, rest)
    }

    /// Bias, function and slope for a kernel that applies them itself, when the result is all that the derivative
    /// needs. That is so for every activation but a PReLU whose slope is not positive: its argument must be kept.
    pub(in crate::tensor) fn fused(
        &self,
        bias: Option<Var>,
        activation: Activation,
    ) -> Option<(Option<&[Real]>, Act, Real)> {
        let (act, slope, _) = self.act(activation);
        act.output_is_enough(slope).then(|| (bias.map(|bias| self.value(bias)), act, slope))
    }

    /// act(pre + bias) in place; gives back what was there, for a derivative that needs it.
    pub(in crate::tensor) fn activate_kept(
        &self,
        columns: usize,
        pre: &mut [Real],
        bias: Option<Var>,
        activation: Activation,
    ) -> Buffer<'a> {
        let kept = self.pool().copy(pre);
        let (act, slope, _) = self.act(activation);
        let (rows, bias) = (pre.len() / columns.max(1), bias.map(|bias| self.value(bias)));
        rowwise::bias_act_in_place(rows, columns, pre, bias, act, slope);
        kept
    }

    /// [`Tape::push_activated`] when bias and activation are applied already; `kept` is the argument where it is needed.
    #[allow(clippy::too_many_arguments)] // one place for all products
    pub(in crate::tensor) fn push_done(
        &mut self,
        shape: (usize, usize),
        done: Buffer<'a>,
        kept: Option<Buffer<'a>>,
        bias: Option<Var>,
        activation: Activation,
        inputs: &[Var],
        mut rest: impl FnMut(&mut Back<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        let tail = self.tail(shape, bias, activation);
        let mut all = inputs.to_vec();
        all.extend(tail.vars());
        let out = self.next();
        self.push(shape, done, &all, move |back, gradient| {
            let gradient = tail.back(back, out, kept.as_deref(), gradient);
            rest(back, gradient);
        })
    }

    fn tail(&self, shape: (usize, usize), bias: Option<Var>, activation: Activation) -> ActivationTail {
        let (act, slope, learned) = match activation {
            Activation::Identity => (Act::Identity, 0.0, None),
            Activation::Relu => (Act::Relu, 0.0, None),
            Activation::Elu => (Act::Elu, 0.0, None),
            Activation::Sigmoid => (Act::Sigmoid, 0.0, None),
            Activation::LeakyRelu(slope) => (Act::LeakyRelu, slope, None),
            Activation::Prelu(slope) => (Act::Prelu, self.value(slope)[0], Some(slope)),
        };
        ActivationTail { shape, bias, act, slope, learned }
    }

    /// The kernel's form of an activation: which, with what slope, learned where.
    pub(in crate::tensor) fn act(&self, activation: Activation) -> (Act, Real, Option<Var>) {
        let tail = self.tail((0, 0), None, activation);
        (tail.act, tail.slope, tail.learned)
    }
}

struct ActivationTail {
    shape: (usize, usize),
    bias: Option<Var>,
    act: Act,
    slope: Real,
    learned: Option<Var>,
}

impl ActivationTail {
    fn vars(&self) -> Vec<Var> {
        self.bias.into_iter().chain(self.learned).collect()
    }

    /// From the gradient of the result to that of the argument, in place; bias and slope get theirs on the way.
    fn back<'a>(
        &self,
        back: &mut Back<'_, 'a>,
        out: Var,
        kept: Option<&[Real]>,
        mut gradient: Buffer<'a>,
    ) -> Buffer<'a> {
        let (n, c) = self.shape;
        if self.act == Act::Identity {
            if let Some(bias) = self.bias {
                back.accumulate(bias, |slot, add| reduce::column_sums(n, c, &gradient, slot, add));
            }
            return gradient;
        }
        let saved = kept.map_or_else(|| SavedActivation::Output(back.value(out)), SavedActivation::Input);
        let bias = self.bias.map(|bias| back.value(bias));
        let mut dbias = self.bias.map(|_| back.pool().zeros(c));
        let mut dslope = 0.0;
        rowwise::bias_act_backward_in_place(
            n,
            c,
            saved,
            bias,
            self.act,
            self.slope,
            &mut gradient,
            dbias.as_deref_mut(),
            self.learned.is_some().then_some(&mut dslope),
        );
        if let (Some(bias), Some(dbias)) = (self.bias, dbias) {
            back.give(bias, dbias);
        }
        if let Some(slope) = self.learned {
            back.accumulate(slope, |slot, add| put(&[dslope], slot, add));
        }
        gradient
    }
}
