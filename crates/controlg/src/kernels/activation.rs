//! Activation functions and their derivatives.

use super::simd::exp;
use crate::Real;
use std::ops::Range;

/// An activation function. `Prelu` and `LeakyRelu` are the same function; the slope of `Prelu` is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// x
    Identity,
    /// max(x, 0)
    Relu,
    /// x if x > 0, else slope·x, with a learned slope
    Prelu,
    /// x if x > 0, else eˣ − 1
    Elu,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x if x > 0, else slope·x
    LeakyRelu,
}

/// What the forward pass saved for the backward pass of an activation.
#[derive(Clone, Copy, Debug)]
pub enum SavedActivation<'a> {
    /// The input x, before bias and activation.
    Input(&'a [Real]),
    /// The output. Sufficient for every activation except a slope that is not positive: see [`Act::output_is_enough`].
    Output(&'a [Real]),
}

impl<'a> SavedActivation<'a> {
    /// A range of the saved values.
    pub(crate) fn slice(self, span: Range<usize>) -> Self {
        match self {
            SavedActivation::Input(x) => SavedActivation::Input(&x[span]),
            SavedActivation::Output(y) => SavedActivation::Output(&y[span]),
        }
    }
}

impl Act {
    /// Whether the derivative can be computed from the output alone, so that the input may be overwritten.
    pub fn output_is_enough(self, slope: Real) -> bool {
        !matches!(self, Act::Prelu | Act::LeakyRelu) || slope > 1e-6
    }
}

/// An activation function and its derivatives. Loops are generic over it, because a `match` inside a loop would prevent
/// vectorization.
pub(crate) trait ActivationFn: Copy {
    /// act(x).
    fn value<const FMA: bool>(self, x: Real) -> Real;
    /// (∂act/∂x, ∂act/∂slope) at the input `x`.
    fn derivative<const FMA: bool>(self, x: Real) -> (Real, Real);
    /// [`ActivationFn::derivative`] from the output `y`.
    fn derivative_at_output(self, y: Real) -> (Real, Real);
}

/// x if x > 0, else slope·x: identity, ReLU, leaky ReLU and PReLU.
#[derive(Clone, Copy)]
pub(crate) struct PiecewiseLinear {
    slope: Real,
    /// Factors that turn x or y into the derivative with respect to the slope; 0 if the slope is not learned.
    at_input: Real,
    at_output: Real,
}

#[derive(Clone, Copy)]
pub(crate) struct Elu;

#[derive(Clone, Copy)]
pub(crate) struct Sigmoid;

impl PiecewiseLinear {
    pub(crate) fn new(act: Act, slope: Real) -> Self {
        let fixed = |slope| PiecewiseLinear { slope, at_input: 0.0, at_output: 0.0 };
        match act {
            Act::Prelu => PiecewiseLinear { slope, at_input: 1.0, at_output: 1.0 / slope },
            Act::LeakyRelu => fixed(slope),
            Act::Relu => fixed(0.0),
            _ => fixed(1.0),
        }
    }
}

impl ActivationFn for PiecewiseLinear {
    #[inline(always)]
    fn value<const FMA: bool>(self, x: Real) -> Real {
        if x > 0.0 { x } else { self.slope * x }
    }

    #[inline(always)]
    fn derivative<const FMA: bool>(self, x: Real) -> (Real, Real) {
        (if x > 0.0 { 1.0 } else { self.slope }, if x > 0.0 { 0.0 } else { x * self.at_input })
    }

    #[inline(always)]
    fn derivative_at_output(self, y: Real) -> (Real, Real) {
        (if y > 0.0 { 1.0 } else { self.slope }, if y > 0.0 { 0.0 } else { y * self.at_output })
    }
}

impl ActivationFn for Elu {
    #[inline(always)]
    fn value<const FMA: bool>(self, x: Real) -> Real {
        if x > 0.0 { x } else { exp::<FMA>(x) - 1.0 }
    }

    #[inline(always)]
    fn derivative<const FMA: bool>(self, x: Real) -> (Real, Real) {
        (if x > 0.0 { 1.0 } else { exp::<FMA>(x) }, 0.0)
    }

    #[inline(always)]
    fn derivative_at_output(self, y: Real) -> (Real, Real) {
        (if y > 0.0 { 1.0 } else { y + 1.0 }, 0.0)
    }
}

impl ActivationFn for Sigmoid {
    #[inline(always)]
    fn value<const FMA: bool>(self, x: Real) -> Real {
        1.0 / (1.0 + exp::<FMA>(-x))
    }

    #[inline(always)]
    fn derivative<const FMA: bool>(self, x: Real) -> (Real, Real) {
        self.derivative_at_output(self.value::<FMA>(x))
    }

    #[inline(always)]
    fn derivative_at_output(self, y: Real) -> (Real, Real) {
        (y * (1.0 - y), 0.0)
    }
}

/// Evaluates an expression with the [`ActivationFn`] of an activation.
macro_rules! with_activation {
    ($act:expr, $slope:expr, $act_fn:ident => $work:expr) => {
        match $act {
            $crate::kernels::activation::Act::Elu => {
                let $act_fn = $crate::kernels::activation::Elu;
                $work
            }
            $crate::kernels::activation::Act::Sigmoid => {
                let $act_fn = $crate::kernels::activation::Sigmoid;
                $work
            }
            linear => {
                let $act_fn = $crate::kernels::activation::PiecewiseLinear::new(linear, $slope);
                $work
            }
        }
    };
}
pub(crate) use with_activation;
