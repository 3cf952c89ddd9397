//! Bias and activation, element-wise, and their backward pass with the gradients of bias and slope.

pub use super::activation::{Act, SavedActivation};
use super::activation::{ActivationFn, with_activation};
use super::parallel::{SharedSlice, chunk_rows, each, sum_chunks};
use super::scratch;
use super::simd::prefetch_early;
use super::sums::sum_rows;
use crate::Real;
use std::ops::Range;

/// out = act(x + bias); x is rows × cols, bias has one number per column.
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
    let shared = SharedSlice::new(out);
    each(rows.div_ceil(step), |chunk| {
        let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
        // SAFETY: different chunks contain different rows.
        let out = unsafe { shared.slice(from, to - from) };
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
    let shared = SharedSlice::new(x);
    each(rows.div_ceil(step), |chunk| {
        let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
        // SAFETY: different chunks contain different rows.
        activate(cols, unsafe { shared.slice(from, to - from) }, bias, act, slope);
    });
}

/// The backward pass of [`bias_act`]: dx = dout ⊙ act′(x + bias). Adds the column sums of dx to `dbias` and the derivative with
/// respect to the slope to `dslope`.
pub fn bias_act_backward(
    rows: usize,
    cols: usize,
    saved: SavedActivation<'_>,
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
    saved: SavedActivation<'_>,
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
    saved: SavedActivation<'_>,
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
    let shared = SharedSlice::new(dx);
    // Column sums of dx, then column sums of the terms of the slope.
    scratch::with(2 * cols, |total: &mut [f64]| {
        sum_chunks(rows.div_ceil(step), total, |chunk, partial| {
            let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
            // SAFETY: different chunks contain different rows.
            let dx = unsafe { shared.slice(from, to - from) };
            if let Some(dout) = dout {
                dx.copy_from_slice(&dout[from..to]);
            }
            backward_rows(cols, saved.slice(from..to), cols, bias, act, slope, dx, partial);
        });
        if let Some(dslope) = dslope {
            *dslope += total[cols..].iter().sum::<f64>() as Real;
        }
        if let Some(dbias) = dbias {
            dbias.iter_mut().zip(total.iter()).for_each(|(d, &t)| *d += t as Real);
        }
    });
}

/// The backward pass from the output for one panel: the given columns of a matrix with rows of length `width`, whose gradients
/// are packed in `d`. `sums` receive the column sums of dx and of the terms of the slope. The chunks are those of the whole
/// matrix, so the result has the same bytes.
pub(crate) fn backward_panel(
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
            backward_rows(
                cols,
                SavedActivation::Output(&output[first..]),
                width,
                None,
                act,
                slope,
                d,
                partial,
            );
            let (dx, slope) = partial.split_at(cols);
            of_dx.iter_mut().zip(dx).for_each(|(sum, &x)| *sum += x);
            of_slope.iter_mut().zip(slope).for_each(|(sum, &x)| *sum += x);
        }
    });
}

simd! {
    /// x = act(x + bias) for whole rows, in place.
    pub(crate) fn activate[FMA](cols: usize, x: &mut [Real], bias: Option<&[Real]>, act: Act, slope: Real) {
        activate_rows::<FMA>(cols, x, bias, act, slope);
    }
}

/// [`activate`] for use inside `simd!`.
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
    with_activation!(act, slope, act_fn => {
        for row in x.chunks_exact_mut(cols.max(1)) {
            match bias {
                Some(bias) => row.iter_mut().zip(bias).for_each(|(x, &b)| *x = act_fn.value::<FMA>(*x + b)),
                None => row.iter_mut().for_each(|x| *x = act_fn.value::<FMA>(*x)),
            }
        }
    });
}

simd! {
    /// d = d ⊙ act′ for whole rows, in place. Adds the column sums of d and of the terms of the slope to `partial`. Rows of
    /// `saved` are `stride` apart.
    pub(crate) fn backward_rows[FMA](
        cols: usize,
        saved: SavedActivation<'_>,
        stride: usize,
        bias: Option<&[Real]>,
        act: Act,
        slope: Real,
        d: &mut [Real],
        partial: &mut [f64],
    ) {
        let (saved, from_output) = match saved {
            SavedActivation::Input(x) => (x, false),
            SavedActivation::Output(y) => (y, true),
        };
        with_activation!(act, slope, act_fn => match (from_output, bias) {
            (true, _) => backward_loop(cols, saved, stride, d, partial, |y, _| act_fn.derivative_at_output(y)),
            (false, None) => backward_loop(cols, saved, stride, d, partial, |x, _| act_fn.derivative::<FMA>(x)),
            (false, Some(bias)) => {
                backward_loop(cols, saved, stride, d, partial, |x, j| act_fn.derivative::<FMA>(x + bias[j]));
            }
        });
    }
}

/// `derivative(saved, column)` returns the derivatives with respect to x and to the slope.
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

    fn reference(act: Act, x: f64, slope: f64) -> f64 {
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
                let want: Vec<Real> = (0..x.len()).map(|i| reference(act, at(i), slope) as Real).collect();
                let mut y = vec![0.0; x.len()];
                bias_act(rows, cols, &x, bias, act, slope as Real, &mut y);
                assert_close(&y, &want, 1e-6);
                let mut same = x.clone();
                bias_act_in_place(rows, cols, &mut same, bias, act, slope as Real);
                assert_eq!(same, y);

                // Central differences of the definition, in f64.
                let step = 1e-6;
                let slope_at = |i: usize| {
                    (reference(act, at(i) + step, slope) - reference(act, at(i) - step, slope)) / (2.0 * step)
                };
                let want: Vec<Real> =
                    (0..x.len()).map(|i| (slope_at(i) * f64::from(dout[i])) as Real).collect();
                let mut want_bias = vec![1.0f64; cols];
                want.iter().enumerate().for_each(|(i, &w)| want_bias[i % cols] += f64::from(w));
                let of_slope = (0..x.len()).map(|i| f64::from(dout[i]) * at(i).min(0.0)).sum::<f64>();
                let want_slope = if act == Act::Prelu { of_slope } else { 0.0 } as Real;
                let mut saved = vec![SavedActivation::Input(&x)];
                if act.output_is_enough(slope as Real) {
                    saved.push(SavedActivation::Output(&y));
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
                SavedActivation::Input(&x),
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
