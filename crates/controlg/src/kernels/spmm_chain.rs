//! Sparse products that follow one another strip by strip: what one leaves in a strip the next reads while the cache holds
//! it, and no matrix stands between them.
//!
//! Every sum is taken in the order of its entries, so the bytes are those of one product after the other; which is what is
//! done where there are fewer strips than threads.

use super::CsrView;
use super::parallel::{Shared, each};
use super::rowwise::{Act, Saved, backward_strip, bias_act_backward_in_place};
use super::scratch;
use super::spmm::{SpmmEpilogue, product};
use super::strips::{self, COLUMNS, StripOutput, StripParts};
use crate::Real;
use std::ops::Range;

/// Whether S·(T·h) is large enough for strips. The answer follows from the shapes alone.
pub fn pays(s: CsrView<'_>, t: CsrView<'_>, width: usize) -> bool {
    strips::pay(s, width) && strips::pay(t, width)
}

/// out = S·(T·h), added to what is there when `add` is set, or act(S·(T·h) + bias) with a tail.
pub fn twice(
    s: CsrView<'_>,
    t: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
    tail: Option<(Option<&[Real]>, Act, Real)>,
) {
    check(s, t, h, width);
    assert_eq!(out.len(), s.n_rows * width, "rows of the result");
    let tail = tail.map(SpmmEpilogue::new);
    if !one_each(s, t, width) {
        return scratch::with(t.n_rows * width, |first: &mut [Real]| {
            product(t, h, width, first, false, None);
            product(s, first, width, out, add, tail);
        });
    }
    let out = &Shared::new(out);
    let out = StripOutput::whole(out, width, add, tail);
    by_strips(s, t, out, |s, t, out| {
        let columns = out.columns.clone();
        scratch::with(t.n_rows() * columns.len(), |first: &mut [Real]| {
            t.sum_copied(h, width, columns.start, &strip(&Shared::new(first), &columns, None));
            s.sum_strip(first, &out);
        });
    });
}

/// hidden = act(S·(T·h) + bias), out = S·hidden. S is square.
pub fn forth(
    s: CsrView<'_>,
    t: CsrView<'_>,
    h: &[Real],
    width: usize,
    tail: (Option<&[Real]>, Act, Real),
    hidden: &mut [Real],
    out: &mut [Real],
) {
    check(s, t, h, width);
    assert!(hidden.len() == s.n_rows * width && s.n_rows == s.n_cols, "rows of what is hidden");
    assert_eq!(out.len(), s.n_rows * width, "rows of the result");
    if !one_each(s, t, width) {
        twice(s, t, h, width, hidden, false, Some(tail));
        return product(s, hidden, width, out, false, None);
    }
    let (hidden, out) = (Shared::new(hidden), &Shared::new(out));
    let out = StripOutput::whole(out, width, false, None);
    by_strips(s, t, out, |s, t, out| {
        let columns = out.columns.clone();
        let lengths = [t.n_rows(), s.n_rows()].map(|rows| rows * columns.len());
        scratch::with(lengths[0], |first: &mut [Real]| {
            t.sum_copied(h, width, columns.start, &strip(&Shared::new(first), &columns, None));
            scratch::with(lengths[1], |second: &mut [Real]| {
                let tail = SpmmEpilogue::new(tail).of(columns.clone());
                s.sum_strip(first, &strip(&Shared::new(second), &columns, Some(tail)));
                s.sum_strip(second, &out);
                put_strip(second, &hidden, width, &columns);
            });
        });
    });
}

/// The way back through [`forth`] from what it left in `hidden`, with S and T turned: out = T·(S·d), d = act′ ⊙ (S·gradient),
/// added to what is there when `add` is set. `of_bias` becomes the column sums of d; gives the derivative with respect to the
/// slope.
pub fn back(
    s: CsrView<'_>,
    t: CsrView<'_>,
    gradient: &[Real],
    width: usize,
    (hidden, act, slope): (&[Real], Act, Real),
    out: &mut [Real],
    add: bool,
    of_bias: &mut [Real],
) -> Real {
    check(t, s, gradient, width);
    assert!(hidden.len() == s.n_rows * width && s.n_rows == s.n_cols, "rows of what was hidden");
    assert!(out.len() == t.n_rows * width && of_bias.len() == width, "sizes of derivatives");
    assert!(act.output_is_enough(slope), "an activation whose result tells its derivative");
    if !one_each(t, s, width) {
        let mut of_slope = 0.0;
        scratch::with(s.n_rows * width, |d: &mut [Real]| {
            product(s, gradient, width, d, false, None);
            of_bias.fill(0.0);
            let (saved, of_slope) = (Saved::Output(hidden), Some(&mut of_slope));
            let of_bias = Some(of_bias);
            bias_act_backward_in_place(s.n_rows, width, saved, None, act, slope, d, of_bias, of_slope);
            twice(t, s, d, width, out, add, None);
        });
        return of_slope;
    }
    scratch::with(2 * width, |sums: &mut [f64]| {
        let shared = Shared::new(sums);
        let out = &Shared::new(out);
        let out = StripOutput::whole(out, width, add, None);
        by_strips(t, s, out, |t, s, out| {
            let columns = out.columns.clone();
            let length = s.n_rows() * columns.len();
            scratch::with(length, |second: &mut [Real]| {
                scratch::with(length, |first: &mut [Real]| {
                    s.sum_copied(gradient, width, columns.start, &strip(&Shared::new(first), &columns, None));
                    // SAFETY: tasks have their own columns.
                    let sums = [0, width].map(|at| unsafe { shared.part(at + columns.start, columns.len()) });
                    backward_strip(width, columns.clone(), hidden, act, slope, first, sums);
                    s.sum_strip(first, &strip(&Shared::new(second), &columns, None));
                });
                t.sum_strip(second, &out);
            });
        });
        of_bias.iter_mut().zip(&*sums).for_each(|(to, &sum)| *to = sum as Real);
        sums[width..].iter().sum::<f64>() as Real
    })
}

fn check(s: CsrView<'_>, t: CsrView<'_>, h: &[Real], width: usize) {
    s.check();
    t.check();
    assert!(h.len() == t.n_cols * width && s.n_cols == t.n_rows, "sizes of products in a row");
}

/// Whether every thread has a strip for itself, without which strips share a cache and are no faster.
fn one_each(s: CsrView<'_>, t: CsrView<'_>, width: usize) -> bool {
    strips::one_each(s, width) && strips::one_each(t, width)
}

/// A strip a task, with both matrices in parts that a cache holds.
fn by_strips(
    s: CsrView<'_>,
    t: CsrView<'_>,
    out: StripOutput<'_>,
    work: impl Fn(&StripParts<'_>, &StripParts<'_>, StripOutput<'_>) + Sync + Send,
) {
    StripParts::with(t, |t| StripParts::with(s, |s| each(out.strips(), |at| work(&s, &t, out.strip(at)))));
}

/// A product that goes into a strip of its own, row after row.
fn strip<'a>(
    out: &'a Shared<Real>,
    columns: &Range<usize>,
    tail: Option<SpmmEpilogue<'a>>,
) -> StripOutput<'a> {
    StripOutput::whole(out, columns.len(), false, tail)
}

simd! {
    /// Puts a strip into its columns of rows of `width`.
    fn put_strip[FMA](strip: &[Real], out: &Shared<Real>, width: usize, columns: &Range<usize>) {
        for (row, from) in strip.chunks_exact(columns.len()).enumerate() {
            // SAFETY: tasks have their own columns.
            let to = unsafe { out.part(row * width + columns.start, columns.len()) };
            // The usual strip's length is known to the compiler, which then calls nobody for a copy.
            match (<&mut [Real; COLUMNS]>::try_from(&mut *to), from.first_chunk()) {
                (Ok(to), Some(from)) => *to = *from,
                _ => to.copy_from_slice(from),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // bytes that are the same
mod tests {
    use super::super::spmm::{spmm, spmm_bias_act};
    use super::super::testing::{Numbers, Owned};
    use super::*;

    #[test]
    fn chains_have_the_bytes_of_one_product_after_the_other() {
        let mut numbers = Numbers::new(38);
        // Two strips and a narrower one; rows of Tᵀ long enough to be taken in parts.
        let (n, d, width) = (12_000, 900, 75);
        let s = Owned::random(n, n, 12, &mut numbers);
        let (t, transposed) = (Owned::random(n, d, 12, &mut numbers), Owned::random(d, n, 90, &mut numbers));
        let (s, t, transposed) = (s.view(), t.view(), transposed.view());
        let (w, bias, gradient) = (numbers.vec(d * width), numbers.vec(width), numbers.vec(n * width));
        let (act, slope) = (Act::Prelu, 0.3);
        let tail = (Some(&bias[..]), act, slope);

        let mut between = vec![0.0; n * width];
        let (mut hidden, mut carried) = (vec![0.0; n * width], vec![0.0; n * width]);
        spmm(t, &w, width, &mut between, false);
        spmm_bias_act(s, &between, width, &mut hidden, Some(&bias), act, slope);
        spmm(s, &hidden, width, &mut carried, false);

        let mut d_hidden = vec![0.0; n * width];
        spmm(s, &gradient, width, &mut d_hidden, false);
        let (mut d_bias, mut d_slope) = (vec![0.0; width], 0.0);
        let (saved, sums) = (Saved::Output(&hidden), (Some(&mut d_bias[..]), Some(&mut d_slope)));
        bias_act_backward_in_place(n, width, saved, None, act, slope, &mut d_hidden, sums.0, sums.1);
        let before = numbers.vec(d * width);
        let (mut d_between, mut d_w) = (vec![0.0; n * width], before.clone());
        spmm(s, &d_hidden, width, &mut d_between, false);
        spmm(transposed, &d_between, width, &mut d_w, true);

        // With a strip for each thread, and with fewer.
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                assert_eq!(one_each(s, t, width) && one_each(transposed, s, width), threads < 4);
                let (mut ours, mut out) = (vec![7.0; n * width], vec![7.0; n * width]);
                twice(s, t, &w, width, &mut ours, false, Some(tail));
                assert!(ours == hidden, "twice");
                ours.fill(7.0);
                forth(s, t, &w, width, tail, &mut ours, &mut out);
                assert!(ours == hidden && out == carried, "forth");
                let (mut of_bias, mut of_w) = (vec![7.0; width], before.clone());
                let saved = (&hidden[..], act, slope);
                let of_slope = back(s, transposed, &gradient, width, saved, &mut of_w, true, &mut of_bias);
                assert!(of_w == d_w && of_bias == d_bias && of_slope == d_slope, "back");
            });
        }
    }
}
