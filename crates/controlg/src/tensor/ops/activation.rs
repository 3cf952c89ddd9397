//! Bias and activation, on their own or as the epilogue of a product; dropout.

use crate::Real;
use crate::kernels::rowwise::{self, Act, SavedActivation};
use crate::kernels::{reduce, rows};
use crate::rng::Stream;
use crate::tensor::backward::{BackwardCtx, copy_or_add};
use crate::tensor::{Buffer, Tape, Var};

/// The elementwise function at the end of a layer.
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

/// What follows a product: act(· + b).
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Epilogue {
    pub(in crate::tensor) bias: Option<Var>,
    pub(in crate::tensor) activation: Activation,
}

impl<'a> Tape<'a> {
    /// act(X + b), b added to every row. X: n×c, b: 1×c. dX = act′ ⊙ dY, db = Σ rows of dX.
    pub fn activate(&mut self, x: Var, bias: Option<Var>, activation: Activation) -> Var {
        let (shape, epilogue) = (self.shape(x), Epilogue { bias, activation });
        let mut out = self.copy(x);
        let saved = self.finish_in_place(shape.1, &mut out, epilogue);
        self.push_with_epilogue(shape, out, saved, epilogue, &[x], move |ctx, gradient| {
            ctx.accumulate_grad(x, gradient);
        })
    }

    /// Dropout: sets each element to zero with probability `rate` and divides the others by 1 − rate. dX = mask ⊙ dY/(1 − rate).
    pub fn dropout(&mut self, x: Var, rate: f64, stream: &mut Stream) -> Var {
        if rate <= 0.0 {
            return x;
        }
        let shape = self.shape(x);
        let mut keep = self.pool().take::<bool>(shape.0 * shape.1);
        keep.iter_mut().for_each(|keep| *keep = stream.uniform() >= rate);
        let factor = if rate < 1.0 { (1.0 / (1.0 - rate)) as Real } else { 0.0 };
        let mut out = self.pool().take(keep.len());
        self.compute(|| rows::dropout(self.value(x), &keep, factor, &mut out));
        self.push(shape, out, &[x], move |ctx, gradient| {
            let mut dx = ctx.pool().take(gradient.len());
            ctx.compute(|| rows::dropout(&gradient, &keep, factor, &mut dx));
            ctx.accumulate_grad(x, dx);
        })
    }

    /// Bias, function and slope for a kernel that applies them itself; `None` if the derivative needs the activation's
    /// argument, which is the case for a PReLU whose slope is not positive.
    pub(in crate::tensor) fn fused(&self, epilogue: Epilogue) -> Option<(Option<&[Real]>, Act, Real)> {
        let (act, slope, _) = self.act(epilogue.activation);
        act.output_is_enough(slope).then(|| (epilogue.bias.map(|bias| self.value(bias)), act, slope))
    }

    /// Applies an epilogue in place. Returns a copy of what was there where the derivative needs it.
    pub(in crate::tensor) fn finish_in_place(
        &self,
        cols: usize,
        out: &mut Buffer<'a>,
        epilogue: Epilogue,
    ) -> Option<Buffer<'a>> {
        let saved = self.fused(epilogue).is_none().then(|| out.clone());
        let (act, slope, _) = self.act(epilogue.activation);
        self.compute(|| {
            let (rows, bias) = (out.len() / cols.max(1), epilogue.bias.map(|bias| self.value(bias)));
            rowwise::bias_act_in_place(rows, cols, out, bias, act, slope);
        });
        saved
    }

    /// Adds the result of an op whose epilogue has been applied. `saved` is the argument of the activation where its
    /// derivative needs it; `backward` gets the gradient of that argument.
    pub(in crate::tensor) fn push_with_epilogue(
        &mut self,
        shape: (usize, usize),
        out: Buffer<'a>,
        saved: Option<Buffer<'a>>,
        epilogue: Epilogue,
        inputs: &[Var],
        mut backward: impl FnMut(&mut BackwardCtx<'_, 'a>, Buffer<'a>) + 'a,
    ) -> Var {
        let (act, slope, learned) = self.act(epilogue.activation);
        let tail = EpilogueBackward { shape, bias: epilogue.bias, act, slope, learned };
        let mut all = inputs.to_vec();
        all.extend(tail.bias.into_iter().chain(learned));
        let result = self.next();
        self.push(shape, out, &all, move |ctx, gradient| {
            let gradient = tail.run(ctx, result, saved.as_deref(), gradient);
            backward(ctx, gradient);
        })
    }

    /// The kernel's form of an activation: function, slope, and the variable of a learned slope.
    pub(in crate::tensor) fn act(&self, activation: Activation) -> (Act, Real, Option<Var>) {
        match activation {
            Activation::Identity => (Act::Identity, 0.0, None),
            Activation::Relu => (Act::Relu, 0.0, None),
            Activation::Elu => (Act::Elu, 0.0, None),
            Activation::Sigmoid => (Act::Sigmoid, 0.0, None),
            Activation::LeakyRelu(slope) => (Act::LeakyRelu, slope, None),
            Activation::Prelu(slope) => (Act::Prelu, self.value(slope)[0], Some(slope)),
        }
    }
}

/// The derivative of an [`Epilogue`].
struct EpilogueBackward {
    shape: (usize, usize),
    bias: Option<Var>,
    act: Act,
    slope: Real,
    learned: Option<Var>,
}

impl EpilogueBackward {
    /// Turns the gradient of the result into that of the argument, in place, and accumulates those of bias and slope.
    fn run<'a>(
        &self,
        ctx: &mut BackwardCtx<'_, 'a>,
        result: Var,
        saved: Option<&[Real]>,
        mut gradient: Buffer<'a>,
    ) -> Buffer<'a> {
        let (n, c) = self.shape;
        if self.act == Act::Identity {
            if let Some(bias) = self.bias {
                ctx.accumulate_grad_with(bias, |slot, add| reduce::column_sums(n, c, &gradient, slot, add));
            }
            return gradient;
        }
        let saved = saved.map_or_else(|| SavedActivation::Output(ctx.value(result)), SavedActivation::Input);
        let bias = self.bias.map(|bias| ctx.value(bias));
        let mut dbias = self.bias.map(|_| ctx.pool().zeros(c));
        let mut dslope = 0.0;
        ctx.compute(|| {
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
        });
        if let (Some(bias), Some(dbias)) = (self.bias, dbias) {
            ctx.accumulate_grad(bias, dbias);
        }
        if let Some(slope) = self.learned {
            ctx.accumulate_grad_with(slope, |slot, add| copy_or_add(&[dslope], slot, add));
        }
        gradient
    }
}
