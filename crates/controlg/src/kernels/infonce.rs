//! InfoNCE in blocks of rows: the loss and both gradients in one pass, with O(n·block) memory.
//!
//! One direction: L = −(1/n) Σ_i log( e^{p_i·q_i/τ} / Σ_j e^{p_i·q_j/τ} ). With intra-view negatives, the denominator also
//! contains e^{p_i·p_j/τ} for every j ≠ i.

use super::gemm::single_thread;
use super::loss::{exponentials_in_place, maximum};
use super::matmul;
use super::parallel::{CHUNK, SharedSlice, each};
use super::precision::Precision;
use super::rows::add_chunk;
use super::scratch;
use crate::Real;

/// The variant of the loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Temperature τ, which divides the scores.
    pub temperature: f64,
    /// Whether the other rows of the same view are negatives as well.
    pub intra_view: bool,
    /// Whether the loss is the mean of p against q and q against p.
    pub both_directions: bool,
}

/// Parallel tasks. Each computes scores and gradients for a range of rows, with its own partial sums, which are added in order
/// at the end. More tasks would use more threads, but each needs memory for one gradient.
const TASKS: usize = 4;
/// Rows per block: enough for fast dense products, few enough to keep the scores of a block in the L3 cache for batches of a few
/// thousand rows.
const BLOCK: usize = 768;

/// Elements of the scratch buffers that [`infonce`] uses at the same time.
pub fn scratch_lens(n: usize, width: usize, how: Contrast) -> Vec<usize> {
    let views = if how.intra_view { 2 } else { 1 };
    let rows = n.div_ceil(TASKS).max(1);
    let (lanes, block) = (n.div_ceil(rows), rows.div_ceil(rows.div_ceil(BLOCK)));
    let mut lens = vec![views * n * block; lanes.min(rayon::current_num_threads())];
    lens.push(views * n * width * (1 + lanes));
    lens
}

/// The loss of p and q (n × width); `dp` and `dq` receive the gradients. `precision` is that of the dense products; the softmax
/// is taken in full.
pub fn infonce(
    precision: Precision,
    n: usize,
    width: usize,
    p: &[Real],
    q: &[Real],
    how: Contrast,
    dp: &mut [Real],
    dq: &mut [Real],
) -> f64 {
    assert!([p.len(), q.len(), dp.len(), dq.len()] == [n * width; 4], "two views of {n} rows of {width}");
    in_blocks(precision, BLOCK, n, width, p, q, how, dp, dq)
}

fn in_blocks(
    precision: Precision,
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
    let mut value = one_direction(precision, block, n, width, p, q, how, weight, dp, dq);
    if how.both_directions {
        value += one_direction(precision, block, n, width, q, p, how, weight, dq, dp);
    }
    value
}

fn one_direction(
    precision: Precision,
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
    let (rows, size) = (n.div_ceil(TASKS), views * n * width);
    let tasks = n.div_ceil(rows);
    // Blocks of equal size.
    let block = rows.div_ceil(rows.div_ceil(block));
    let mut values = [0.0; TASKS];
    scratch::with(size + tasks * size, |all: &mut [Real]| {
        // Both views transposed, once for all blocks; then the partial sums of every task.
        let (transposed, sums) = all.split_at_mut(size);
        matmul::transpose(n, width, q, &mut transposed[..n * width]);
        if how.intra_view {
            matmul::transpose(n, width, p, &mut transposed[n * width..]);
        }
        let step = InfoNceStep {
            precision,
            n,
            width,
            p,
            q,
            transposed,
            inverse: (1.0 / how.temperature) as Real,
            weight,
        };
        let (shared_sums, own_rows, terms) =
            (SharedSlice::new(sums), SharedSlice::new(dp), SharedSlice::new(&mut values));
        each(tasks, |task| {
            let (first, count) = (task * rows, rows.min(n - task * rows));
            // SAFETY: every task writes its own partial sums, its own rows of dp and its own term.
            let (sums, dp, term) = unsafe {
                let sums = shared_sums.slice(task * size, size);
                (sums, own_rows.slice(first * width, count * width), terms.slice(task, 1))
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

/// Adds the partial sums of all tasks to `out`, in order. Each task has `size` numbers, of which those from `at` on are added.
fn add_in_order(sums: &[Real], size: usize, at: usize, out: &mut [Real]) {
    let len = out.len();
    let shared = SharedSlice::new(out);
    each(len.div_ceil(CHUNK), |chunk| {
        let (from, count) = (chunk * CHUNK, CHUNK.min(len - chunk * CHUNK));
        // SAFETY: different tasks write different chunks.
        let out = unsafe { shared.slice(from, count) };
        sums.chunks(size).for_each(|sums| add_chunk(1.0, &sums[at + from..][..count], out));
    });
}

/// One direction of the loss.
struct InfoNceStep<'a> {
    precision: Precision,
    n: usize,
    width: usize,
    p: &'a [Real],
    q: &'a [Real],
    /// qᵀ, followed by pᵀ with intra-view negatives.
    transposed: &'a [Real],
    inverse: Real,
    weight: f64,
}

impl InfoNceStep<'_> {
    /// The rows from `first` on, as many as `dp` has, on this thread. Returns their terms, adds to the gradients of these rows in
    /// `dp`, and sets the gradients of all rows of q and p in `sums`, or adds to them with `add`.
    fn block(&self, first: usize, dp: &mut [Real], sums: &mut [Real], add: bool) -> f64 {
        let (precision, n, width) = (self.precision, self.n, self.width);
        let count = dp.len() / width;
        let own = &self.p[first * width..][..dp.len()];
        let views = self.transposed.len() / (n * width);
        scratch::with(views * count * n, |scores: &mut [Real]| {
            for (scores, transposed) in scores.chunks_mut(count * n).zip(self.transposed.chunks(n * width)) {
                single_thread::nn(precision, count, width, n, own, transposed, scores, false);
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
                single_thread::nn(precision, count, n, width, scores, other, dp, true);
                single_thread::tn(precision, n, count, width, scores, own, sums, add);
            }
            value
        })
    }
}

simd! {
    with avx512
    /// Replaces a row of dot products by the gradient with respect to them, and returns the term of the row.
    fn row_gradient[FMA](own: usize, inverse: Real, weight: Real, across: &mut [Real], within: &mut [Real]) -> f64 {
        let positive = across[own];
        if !within.is_empty() {
            within[own] = Real::NEG_INFINITY;
        }
        let top = maximum(across).max(maximum(within));
        let mut sum = f64::from(exponentials_in_place::<FMA>(across, top, inverse));
        if !within.is_empty() {
            // The entry of the row itself, at −∞, adds nothing to the sum and has no gradient.
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

    fn reference(n: usize, width: usize, p: &[Real], q: &[Real], how: Contrast) -> f64 {
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
    fn all_variants_have_the_defined_value_and_gradient() {
        let mut numbers = Numbers::new(18);
        for (n, width) in [(1, 4), (37, 5)] {
            let (p, q) = (numbers.vec(n * width), numbers.vec(n * width));
            for (intra_view, both_directions) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let how = Contrast { temperature: 0.5, intra_view, both_directions };
                let (mut dp, mut dq) = (vec![9.0; n * width], vec![9.0; n * width]);
                // Blocks of 4 rows, so that a task has several.
                let value = in_blocks(Precision::Full, 4, n, width, &p, &q, how, &mut dp, &mut dq);
                assert!((value - reference(n, width, &p, &q, how)).abs() < 1e-5, "{how:?}");
                assert_gradient(&p, &dp, |p| reference(n, width, p, &q, how));
                assert_gradient(&q, &dq, |q| reference(n, width, &p, q, how));
            }
        }
    }

    #[test]
    fn orthonormal_rows_give_the_known_value() {
        let n = 6;
        let eye: Vec<Real> = (0..n * n).map(|at| if at % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
        let how = Contrast { temperature: 0.2, intra_view: false, both_directions: false };
        let (mut dp, mut dq) = (vec![0.0; n * n], vec![0.0; n * n]);
        let value = infonce(Precision::Full, n, n, &eye, &eye, how, &mut dp, &mut dq);
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
            let value = in_blocks(Precision::Full, 64, n, width, &p, &q, how, &mut dp, &mut dq);
            dp.extend(dq);
            dp.push(value as Real);
            dp
        });
    }
}
