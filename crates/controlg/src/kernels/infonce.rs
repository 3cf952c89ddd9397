//! InfoNCE in row blocks: value and both gradients in one pass, memory O(n·block).
//!
//! One direction: L = −(1/n) Σ_i log( e^{p_i·q_i/τ} / Σ_j e^{p_i·q_j/τ} ). With intra-view negatives the sum has
//! also e^{p_i·p_j/τ} of every j ≠ i.

use super::loss::{exponentials_in_place, maximum};
use super::matmul;
use super::parallel::{CHUNK, Shared, each};
use super::rows::add_chunk;
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

/// Stretches of rows that are worked on side by side, each on one thread from scores to gradients and with sums of
/// its own, which are added in order at the end. More would serve more threads, but each costs a gradient's memory.
const LANES: usize = 4;
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
    let (rows, size) = (n.div_ceil(LANES), views * n * width);
    let lanes = n.div_ceil(rows);
    // Blocks of equal size.
    let block = rows.div_ceil(rows.div_ceil(block));
    let mut values = [0.0; LANES];
    scratch::with(size + lanes * size, |all: &mut [Real]| {
        // Both views by columns once for all blocks, then the sums of every lane.
        let (transposed, sums) = all.split_at_mut(size);
        matmul::transpose(n, width, q, &mut transposed[..n * width]);
        if how.intra_view {
            matmul::transpose(n, width, p, &mut transposed[n * width..]);
        }
        let step =
            InfoNceStep { n, width, p, q, transposed, inverse: (1.0 / how.temperature) as Real, weight };
        let (shared_sums, own_rows, terms) = (Shared::new(sums), Shared::new(dp), Shared::new(&mut values));
        each(lanes, |lane| {
            let (first, count) = (lane * rows, rows.min(n - lane * rows));
            // SAFETY: lanes have their own sums, their own rows of dp and their own term.
            let (sums, dp, term) = unsafe {
                let sums = shared_sums.part(lane * size, size);
                (sums, own_rows.part(first * width, count * width), terms.part(lane, 1))
            };
            for (at, dp) in dp.chunks_mut(block * width).enumerate() {
                term[0] += step.block(first + at * block, dp, sums, at > 0);
            }
        });
        add_in_order(sums, size, 0, dq);
        if how.intra_view {
            add_in_order(sums, size, n * width, dp);
        }
    });
    values.iter().sum::<f64>() * weight
}

/// Adds to `out` what each lane's sums of `size` numbers hold from place `at` on, lane after lane.
fn add_in_order(sums: &[Real], size: usize, at: usize, out: &mut [Real]) {
    let len = out.len();
    let shared = Shared::new(out);
    each(len.div_ceil(CHUNK), |chunk| {
        let (from, count) = (chunk * CHUNK, CHUNK.min(len - chunk * CHUNK));
        // SAFETY: chunks do not overlap.
        let out = unsafe { shared.part(from, count) };
        sums.chunks(size).for_each(|sums| add_chunk(1.0, &sums[at + from..][..count], out));
    });
}

/// What all blocks of a direction share.
struct InfoNceStep<'a> {
    n: usize,
    width: usize,
    p: &'a [Real],
    q: &'a [Real],
    /// qᵀ, and pᵀ when rows of the same view are negatives too.
    transposed: &'a [Real],
    inverse: Real,
    weight: f64,
}

impl InfoNceStep<'_> {
    /// The rows from `first`, as many as `dp` has, on this thread: their terms, and what they add to the gradients
    /// of their own rows and, in `sums`, of all rows of q and of p; `add` says whether anything is there yet.
    fn block(&self, first: usize, dp: &mut [Real], sums: &mut [Real], add: bool) -> f64 {
        let (n, width) = (self.n, self.width);
        let count = dp.len() / width;
        let own = &self.p[first * width..][..dp.len()];
        let views = self.transposed.len() / (n * width);
        scratch::with(views * count * n, |scores: &mut [Real]| {
            for (scores, transposed) in scores.chunks_mut(count * n).zip(self.transposed.chunks(n * width)) {
                matmul::alone::nn(count, width, n, own, transposed, scores, false);
            }
            let (across, within) = scores.split_at_mut(count * n);
            let mut value = 0.0;
            for i in 0..count {
                let within = within.chunks_mut(n).nth(i).unwrap_or_default();
                let across = &mut across[i * n..(i + 1) * n];
                value += row_gradient(first + i, self.inverse, self.weight as Real, across, within);
            }
            let sides = scores.chunks(count * n).zip([self.q, self.p]).zip(sums.chunks_mut(n * width));
            for ((scores, other), sums) in sides {
                matmul::alone::nn(count, n, width, scores, other, dp, true);
                matmul::alone::tn(n, count, width, scores, own, sums, add);
            }
            value
        })
    }
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
                // Blocks of 4 rows, so that a lane has several.
                let value = in_blocks(4, n, width, &p, &q, how, &mut dp, &mut dq);
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
            let value = in_blocks(64, n, width, &p, &q, how, &mut dp, &mut dq);
            dp.extend(dq);
            dp.push(value as Real);
            dp
        });
    }
}
