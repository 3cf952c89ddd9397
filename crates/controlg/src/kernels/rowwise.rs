//! Bias and activation, element by element, and their backward with the sums that biases and slopes need.

use super::parallel::{Shared, chunk_rows, each, sum_chunks};
use super::scratch;
use super::simd::{exp, prefetch_early};
use super::sums::sum_rows;
use crate::Real;
use std::ops::Range;

/// An activation function. `Prelu` and `LeakyRelu` are the same function; the slope of the first is learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// x
    Identity,
    /// max(x, 0)
    Relu,
    /// x, or slope·x where x < 0
    Prelu,
    /// x, or eˣ − 1 where x < 0
    Elu,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x, or slope·x where x < 0
    LeakyRelu,
}

/// What the forward pass kept for the backward one.
#[derive(Clone, Copy, Debug)]
pub enum Saved<'a> {
    /// The input x, before bias and activation.
    Input(&'a [Real]),
    /// The result. Enough for every activation but a slope that is not positive: see [`Act::output_is_enough`].
    Output(&'a [Real]),
}

impl<'a> Saved<'a> {
    /// Some of it.
    pub(crate) fn part(self, span: Range<usize>) -> Self {
        match self {
            Saved::Input(x) => Saved::Input(&x[span]),
            Saved::Output(y) => Saved::Output(&y[span]),
        }
    }
}

impl Act {
    /// Whether the backward pass can work from the result alone, so that x may be overwritten.
    pub fn output_is_enough(self, slope: Real) -> bool {
        !matches!(self, Act::Prelu | Act::LeakyRelu) || slope > 1e-6
    }
}

/// An activation with all that its loops need, so that each kind gets a loop of its own: a `match` within a loop
/// would keep it from being vectorized.
pub(crate) trait Curve: Copy {
    /// The result at `x`.
    fn value<const FMA: bool>(self, x: Real) -> Real;
    /// (d result / d x, d result / d slope) at the input `x`.
    fn derivative<const FMA: bool>(self, x: Real) -> (Real, Real);
    /// [`Curve::derivative`] from the result `y`.
    fn derivative_at_output(self, y: Real) -> (Real, Real);
}

/// x, or slope·x where x < 0: identity, ReLU, leaky ReLU, PReLU.
#[derive(Clone, Copy)]
pub(crate) struct Bent {
    slope: Real,
    /// What turns x or y into the derivative with respect to the slope: 0 when that is not learnt.
    at_input: Real,
    at_output: Real,
}

#[derive(Clone, Copy)]
pub(crate) struct Elu;

#[derive(Clone, Copy)]
pub(crate) struct Sigmoid;

impl Bent {
    pub(crate) fn new(act: Act, slope: Real) -> Self {
        let fixed = |slope| Bent { slope, at_input: 0.0, at_output: 0.0 };
        match act {
            Act::Prelu => Bent { slope, at_input: 1.0, at_output: 1.0 / slope },
            Act::LeakyRelu => fixed(slope),
            Act::Relu => fixed(0.0),
            _ => fixed(1.0),
        }
    }
}

impl Curve for Bent {
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

impl Curve for Elu {
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

impl Curve for Sigmoid {
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

/// Evaluates an expression with the [`Curve`] of an activation.
macro_rules! with_curve {
    ($act:expr, $slope:expr, $curve:ident => $work:expr) => {
        match $act {
            $crate::kernels::rowwise::Act::Elu => {
                let $curve = $crate::kernels::rowwise::Elu;
                $work
            }
            $crate::kernels::rowwise::Act::Sigmoid => {
                let $curve = $crate::kernels::rowwise::Sigmoid;
                $work
            }
            bent => {
                let $curve = $crate::kernels::rowwise::Bent::new(bent, $slope);
                $work
            }
        }
    };
}
pub(crate) use with_curve;

/// out = act(x + bias), row by row.
pub fn bias_act(
    rows: usize,
    cols: usize,
    x: &[Real],
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
    out: &mut [Real],
) {
    assert!(x.len() == rows * cols && out.len() == rows * cols && bias.is_none_or(|b| b.len() == cols));
    let step = chunk_rows(cols);
    let shared = Shared::new(out);
    each(rows.div_ceil(step), |chunk| {
        let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
        // SAFETY: chunks of rows do not overlap.
        let out = unsafe { shared.part(from, to - from) };
        out.copy_from_slice(&x[from..to]);
        activate(cols, out, bias, act, slope);
    });
}

/// [`bias_act`] in place.
pub fn bias_act_in_place(
    rows: usize,
    cols: usize,
    x: &mut [Real],
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
) {
    assert!(x.len() == rows * cols && bias.is_none_or(|b| b.len() == cols));
    let step = chunk_rows(cols);
    let shared = Shared::new(x);
    each(rows.div_ceil(step), |chunk| {
        let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
        // SAFETY: chunks of rows do not overlap.
        activate(cols, unsafe { shared.part(from, to - from) }, bias, act, slope);
    });
}

/// The backward of [`bias_act`]: dx from dout; the column sums of dx are added to `dbias`, the derivative with
/// respect to the slope to `dslope`.
pub fn bias_act_backward(
    rows: usize,
    cols: usize,
    saved: Saved<'_>,
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
    dout: &[Real],
    dx: &mut [Real],
    dbias: Option<&mut [Real]>,
    dslope: Option<&mut Real>,
) {
    assert!(dout.len() == rows * cols && dx.len() == rows * cols);
    backward(rows, cols, saved, bias, act, slope, Some(dout), dx, dbias, dslope);
}

/// [`bias_act_backward`] in place: `d` holds dout and becomes dx.
pub fn bias_act_backward_in_place(
    rows: usize,
    cols: usize,
    saved: Saved<'_>,
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
    d: &mut [Real],
    dbias: Option<&mut [Real]>,
    dslope: Option<&mut Real>,
) {
    assert_eq!(d.len(), rows * cols);
    backward(rows, cols, saved, bias, act, slope, None, d, dbias, dslope);
}

fn backward(
    rows: usize,
    cols: usize,
    saved: Saved<'_>,
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
    dout: Option<&[Real]>,
    dx: &mut [Real],
    dbias: Option<&mut [Real]>,
    dslope: Option<&mut Real>,
) {
    assert!(bias.is_none_or(|b| b.len() == cols) && dbias.as_ref().is_none_or(|b| b.len() == cols));
    let step = chunk_rows(cols);
    let shared = Shared::new(dx);
    // Sums of dx by column, then of the slope's terms by column.
    scratch::with(2 * cols, |total: &mut [f64]| {
        sum_chunks(rows.div_ceil(step), total, |chunk, partial| {
            let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
            // SAFETY: chunks of rows do not overlap.
            let dx = unsafe { shared.part(from, to - from) };
            if let Some(dout) = dout {
                dx.copy_from_slice(&dout[from..to]);
            }
            backward_rows(cols, saved.part(from..to), cols, bias, act, slope, dx, partial);
        });
        if let Some(dslope) = dslope {
            *dslope += total[cols..].iter().sum::<f64>() as Real;
        }
        if let Some(dbias) = dbias {
            dbias.iter_mut().zip(total.iter()).for_each(|(d, &t)| *d += t as Real);
        }
    });
}

/// The backward from the result for some columns of rows of `width`, whose gradients lie in `d` row after row: `sums` become
/// those of dx and of the slope's terms. Bytes are those of the whole: its chunks are kept to.
pub(crate) fn backward_strip(
    width: usize,
    columns: Range<usize>,
    output: &[Real],
    act: Act,
    slope: Real,
    d: &mut [Real],
    sums: [&mut [f64]; 2],
) {
    let cols = columns.len();
    let [of_dx, of_slope] = sums;
    of_dx.fill(0.0);
    of_slope.fill(0.0);
    scratch::with(2 * cols, |partial: &mut [f64]| {
        let step = chunk_rows(width);
        for (chunk, d) in d.chunks_mut(step * cols).enumerate() {
            let first = chunk * step * width + columns.start;
            for row in step..2 * step {
                prefetch_early(output, first + row * width, cols);
            }
            partial.fill(0.0);
            backward_rows(cols, Saved::Output(&output[first..]), width, None, act, slope, d, partial);
            let (dx, slope) = partial.split_at(cols);
            of_dx.iter_mut().zip(dx).for_each(|(sum, &x)| *sum += x);
            of_slope.iter_mut().zip(slope).for_each(|(sum, &x)| *sum += x);
        }
    });
}

simd! {
    /// act(x + bias) over whole rows, in place.
    pub(crate) fn activate[FMA](cols: usize, x: &mut [Real], bias: Option<&[Real]>, act: Act, slope: Real) {
        activate_rows::<FMA>(cols, x, bias, act, slope);
    }
}

/// [`activate`] within a loop that is compiled for the processor already.
#[inline(always)]
pub(crate) fn activate_rows<const FMA: bool>(
    cols: usize,
    x: &mut [Real],
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
) {
    if act == Act::Identity && bias.is_none() {
        return;
    }
    with_curve!(act, slope, curve => {
        for row in x.chunks_exact_mut(cols.max(1)) {
            match bias {
                Some(bias) => row.iter_mut().zip(bias).for_each(|(x, &b)| *x = curve.value::<FMA>(*x + b)),
                None => row.iter_mut().for_each(|x| *x = curve.value::<FMA>(*x)),
            }
        }
    });
}

simd! {
    /// d times the derivative over whole rows, in place; `partial` gets the column sums of it and of the slope's terms. Rows of
    /// what was saved are `stride` apart.
    pub(crate) fn backward_rows[FMA](
        cols: usize,
        saved: Saved<'_>,
        stride: usize,
        bias: Option<&[Real]>,
        act: Act,
        slope: Real,
        d: &mut [Real],
        partial: &mut [f64],
    ) {
        let (saved, from_output) = match saved {
            Saved::Input(x) => (x, false),
            Saved::Output(y) => (y, true),
        };
        with_curve!(act, slope, curve => match (from_output, bias) {
            (true, _) => backward_loop(cols, saved, stride, d, partial, |y, _| curve.derivative_at_output(y)),
            (false, None) => backward_loop(cols, saved, stride, d, partial, |x, _| curve.derivative::<FMA>(x)),
            (false, Some(bias)) => {
                backward_loop(cols, saved, stride, d, partial, |x, j| curve.derivative::<FMA>(x + bias[j]));
            }
        });
    }
}

/// `derivative(saved, column)` gives those with respect to x and to the slope.
#[inline(always)]
fn backward_loop(
    cols: usize,
    saved: &[Real],
    stride: usize,
    d: &mut [Real],
    partial: &mut [f64],
    derivative: impl Fn(Real, usize) -> (Real, Real),
) {
    sum_rows(d.len() / cols.max(1), cols, partial, |i, at, [of_dx, of_slope]| {
        let width = of_dx.len();
        let (saved, d) = (&saved[i * stride + at..][..width], &mut d[i * cols + at..][..width]);
        for (j, (((of_dx, of_slope), &saved), d)) in
            of_dx.iter_mut().zip(of_slope).zip(saved).zip(d).enumerate()
        {
            let (along_x, along_slope) = derivative(saved, at + j);
            *of_slope += *d * along_slope;
            *d *= along_x;
            *of_dx += *d;
        }
    });
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    const ALL: [Act; 6] = [Act::Identity, Act::Relu, Act::Prelu, Act::Elu, Act::Sigmoid, Act::LeakyRelu];

    fn twin(act: Act, x: f64, slope: f64) -> f64 {
        match act {
            Act::Identity => x,
            Act::Relu => x.max(0.0),
            Act::Prelu | Act::LeakyRelu => x.max(0.0) + slope * x.min(0.0),
            Act::Elu => {
                if x > 0.0 {
                    x
                } else {
                    x.exp() - 1.0
                }
            }
            Act::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        }
    }

    #[test]
    fn values_and_derivatives_equal_the_definitions() {
        let (rows, cols) = (700, 50);
        let mut numbers = Numbers::new(7);
        let (x, bias, dout) = (numbers.vec(rows * cols), numbers.vec(cols), numbers.vec(rows * cols));
        for act in ALL {
            for (bias, slope) in [(None, 0.25), (Some(&bias[..]), 0.25), (Some(&bias[..]), -0.3)] {
                let at = |i: usize| f64::from(x[i] + bias.map_or(0.0, |b| b[i % cols]));
                let want: Vec<Real> = (0..x.len()).map(|i| twin(act, at(i), slope) as Real).collect();
                let mut y = vec![0.0; x.len()];
                bias_act(rows, cols, &x, bias, act, slope as Real, &mut y);
                assert_close(&y, &want, 1e-6);
                let mut same = x.clone();
                bias_act_in_place(rows, cols, &mut same, bias, act, slope as Real);
                assert_eq!(same, y);

                // Central differences in f64 of the definition itself: no rounding to hide behind.
                let step = 1e-6;
                let slope_at = |i: usize| {
                    (twin(act, at(i) + step, slope) - twin(act, at(i) - step, slope)) / (2.0 * step)
                };
                let want: Vec<Real> =
                    (0..x.len()).map(|i| (slope_at(i) * f64::from(dout[i])) as Real).collect();
                let mut want_bias = vec![1.0f64; cols];
                want.iter().enumerate().for_each(|(i, &w)| want_bias[i % cols] += f64::from(w));
                let learnt = (0..x.len()).map(|i| f64::from(dout[i]) * at(i).min(0.0)).sum::<f64>();
                let want_slope = if act == Act::Prelu { learnt } else { 0.0 } as Real;
                let mut saved = vec![Saved::Input(&x)];
                if act.output_is_enough(slope as Real) {
                    saved.push(Saved::Output(&y));
                }
                for saved in saved {
                    let (mut dx, mut dbias, mut dslope) = (vec![0.0; x.len()], vec![1.0; cols], 0.0);
                    bias_act_backward(
                        rows,
                        cols,
                        saved,
                        bias,
                        act,
                        slope as Real,
                        &dout,
                        &mut dx,
                        Some(&mut dbias),
                        Some(&mut dslope),
                    );
                    let off: Vec<usize> = (0..x.len()).filter(|&i| at(i).abs() > 2.0 * step).collect();
                    let pick = |v: &[Real]| off.iter().map(|&i| v[i]).collect::<Vec<_>>();
                    assert_close(&pick(&dx), &pick(&want), 2e-6);
                    assert_close(&dbias, &want_bias.iter().map(|&w| w as Real).collect::<Vec<_>>(), 1e-4);
                    assert_close(&[dslope], &[want_slope], 1e-5);
                }
            }
        }
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let (rows, cols) = (3000, 64);
        let mut numbers = Numbers::new(8);
        let (x, d) = (numbers.vec(rows * cols), numbers.vec(rows * cols));
        assert_same_at_any_thread_count(|| {
            let (mut d, mut dbias, mut dslope) = (d.clone(), vec![0.0; cols], 0.0);
            bias_act_backward_in_place(
                rows,
                cols,
                Saved::Input(&x),
                None,
                Act::Prelu,
                0.25,
                &mut d,
                Some(&mut dbias),
                Some(&mut dslope),
            );
            d.extend(dbias);
            d.push(dslope);
            d
        });
    }
}
