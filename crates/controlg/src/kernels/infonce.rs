//! InfoNCE in row blocks: value and both gradients in one pass, memory O(n·block).
//!
//! One direction: L = −(1/n) Σ_i log( e^{p_i·q_i/τ} / Σ_j e^{p_i·q_j/τ} ). With intra-view negatives the sum has
//! also e^{p_i·p_j/τ} of every j ≠ i.

use super::loss::{exponentials_in_place, maximum};
use super::matmul;
use super::parallel::{Shared, sum_chunks};
use super::scratch;
use crate::Real;

/// What is contrasted with what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Divides the scores.
    pub temperature: f64,
    /// Whether the other rows of the same view are negatives too.
    pub intra_view: bool,
    /// Whether the loss is the mean of p against q and q against p.
    pub both_directions: bool,
}

/// Rows of a block: enough for products to run at full speed, few enough that the scores of a block stay in the
/// L3 cache for the few thousand rows of a batch.
const BLOCK: usize = 768;

/// The loss over rows p_i and q_i (n×width); `dp` and `dq` receive the gradients.
pub fn infonce(
    n: usize,
    width: usize,
    p: &[Real],
    q: &[Real],
    how: Contrast,
    dp: &mut [Real],
    dq: &mut [Real],
) -> f64 {
    assert!([p.len(), q.len(), dp.len(), dq.len()] == [n * width; 4], "two views of {n} rows of {width}");
    in_blocks(BLOCK, n, width, p, q, how, dp, dq)
}

fn in_blocks(
    block: usize,
    n: usize,
    width: usize,
    p: &[Real],
    q: &[Real],
    how: Contrast,
    dp: &mut [Real],
    dq: &mut [Real],
) -> f64 {
    dp.fill(0.0);
    dq.fill(0.0);
    if n == 0 {
        return 0.0;
    }
    let weight = if how.both_directions { 0.5 } else { 1.0 } / n as f64;
    let mut value = one_direction(block, n, width, p, q, how, weight, dp, dq);
    if how.both_directions {
        value += one_direction(block, n, width, q, p, how, weight, dq, dp);
    }
    value
}

fn one_direction(
    block: usize,
    n: usize,
    width: usize,
    p: &[Real],
    q: &[Real],
    how: Contrast,
    weight: f64,
    dp: &mut [Real],
    dq: &mut [Real],
) -> f64 {
    let views = if how.intra_view { 2 } else { 1 };
    // Blocks of equal size, and both views by columns once for all of them.
    let block = n.div_ceil(n.div_ceil(block));
    let mut value = 0.0;
    scratch::with(views * (n * width + block * n), |all: &mut [Real]| {
        let (turned, scores) = all.split_at_mut(views * n * width);
        let (qt, pt) = turned.split_at_mut(n * width);
        matmul::transpose(n, width, q, qt);
        if how.intra_view {
            matmul::transpose(n, width, p, pt);
        }
        for first in (0..n).step_by(block) {
            let count = block.min(n - first);
            let own = first * width..(first + count) * width;
            let (across, within) = scores[..views * count * n].split_at_mut(count * n);
            matmul::nn(count, width, n, &p[own.clone()], qt, across, false);
            if how.intra_view {
                matmul::nn(count, width, n, &p[own.clone()], pt, within, false);
            }
            value +=
                block_gradient(first, n, (1.0 / how.temperature) as Real, weight as Real, across, within);
            matmul::nn(count, n, width, across, q, &mut dp[own.clone()], true);
            matmul::tn(n, count, width, across, &p[own.clone()], dq, true);
            if how.intra_view {
                matmul::nn(count, n, width, within, p, &mut dp[own.clone()], true);
                matmul::tn(n, count, width, within, &p[own], dp, true);
            }
        }
    });
    value * weight
}

/// [`row_gradient`] of all rows of a block, which starts with row `first`; the sum of their terms.
fn block_gradient(
    first: usize,
    n: usize,
    inverse: Real,
    weight: Real,
    across: &mut [Real],
    within: &mut [Real],
) -> f64 {
    const ROWS: usize = 16;
    let count = across.len() / n;
    let intra_view = !within.is_empty();
    let (across, within) = (Shared::new(across), Shared::new(within));
    let mut total = [0.0];
    sum_chunks(count.div_ceil(ROWS), &mut total, |chunk, partial| {
        for i in chunk * ROWS..count.min((chunk + 1) * ROWS) {
            // SAFETY: each row belongs to one task.
            let (across, within) = unsafe {
                (across.part(i * n, n), if intra_view { within.part(i * n, n) } else { Default::default() })
            };
            partial[0] += row_gradient(first + i, inverse, weight, across, within);
        }
    });
    total[0]
}

simd! {
    /// Turns a row of dot products into the gradient with respect to them and gives the row's term.
    fn row_gradient[FMA](own: usize, inverse: Real, weight: Real, across: &mut [Real], within: &mut [Real]) -> f64 {
        let positive = across[own];
        if !within.is_empty() {
            within[own] = Real::NEG_INFINITY;
        }
        let top = maximum(across).max(maximum(within));
        let mut sum = f64::from(exponentials_in_place::<FMA>(across, top, inverse));
        if !within.is_empty() {
            // Its own place, at −∞, adds nothing to the sum and must have no gradient.
            sum += f64::from(exponentials_in_place::<FMA>(within, top, inverse));
            within[own] = 0.0;
        }
        let share = (f64::from(weight) * f64::from(inverse) / sum) as Real;
        across.iter_mut().for_each(|x| *x *= share);
        within.iter_mut().for_each(|x| *x *= share);
        across[own] -= weight * inverse;
        sum.ln() + (f64::from(top) - f64::from(positive)) * f64::from(inverse)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn twin(n: usize, width: usize, p: &[Real], q: &[Real], how: Contrast) -> f64 {
        let score = |a: &[Real], i: usize, b: &[Real], j: usize| {
            let dot: f64 =
                (0..width).map(|k| f64::from(a[i * width + k]) * f64::from(b[j * width + k])).sum();
            dot / how.temperature
        };
        let side = |p: &[Real], q: &[Real]| {
            let term = |i| {
                let mut all: Vec<f64> = (0..n).map(|j| score(p, i, q, j)).collect();
                if how.intra_view {
                    all.extend((0..n).filter(|&j| j != i).map(|j| score(p, i, p, j)));
                }
                all.iter().map(|s| s.exp()).sum::<f64>().ln() - score(p, i, q, i)
            };
            (0..n).map(term).sum::<f64>() / n as f64
        };
        if how.both_directions { 0.5 * (side(p, q) + side(q, p)) } else { side(p, q) }
    }

    #[test]
    fn every_form_has_its_value_and_gradient() {
        let mut numbers = Numbers::new(18);
        for (n, width) in [(1, 4), (37, 5)] {
            let (p, q) = (numbers.vec(n * width), numbers.vec(n * width));
            for (intra_view, both_directions) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let how = Contrast { temperature: 0.5, intra_view, both_directions };
                let (mut dp, mut dq) = (vec![9.0; n * width], vec![9.0; n * width]);
                // Blocks of 16 rows, so that there are several.
                let value = in_blocks(16, n, width, &p, &q, how, &mut dp, &mut dq);
                assert!((value - twin(n, width, &p, &q, how)).abs() < 1e-5, "{how:?}");
                assert_gradient(&p, &dp, |p| twin(n, width, p, &q, how));
                assert_gradient(&q, &dq, |q| twin(n, width, &p, q, how));
            }
        }
    }

    #[test]
    fn orthonormal_rows_give_the_known_value() {
        let n = 6;
        let eye: Vec<Real> = (0..n * n).map(|at| if at % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
        let how = Contrast { temperature: 0.2, intra_view: false, both_directions: false };
        let (mut dp, mut dq) = (vec![0.0; n * n], vec![0.0; n * n]);
        let value = infonce(n, n, &eye, &eye, how, &mut dp, &mut dq);
        assert!((value - (1.0 + (n as f64 - 1.0) * (-5.0f64).exp()).ln()).abs() < 1e-6);
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let mut numbers = Numbers::new(19);
        let (n, width) = (600, 48);
        let (p, q) = (numbers.vec(n * width), numbers.vec(n * width));
        let how = Contrast { temperature: 0.2, intra_view: true, both_directions: true };
        assert_same_at_any_thread_count(|| {
            let (mut dp, mut dq) = (vec![0.0; n * width], vec![0.0; n * width]);
            let value = in_blocks(256, n, width, &p, &q, how, &mut dp, &mut dq);
            dp.extend(dq);
            dp.push(value as Real);
            dp
        });
    }
}
