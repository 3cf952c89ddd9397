//! Fused chains of sparse-dense products, S·(T·h), panel by panel: the second product reads the result of the first while it
//! is still in the cache, and the intermediate matrix is never stored.
//!
//! Sums follow the order of the entries, so the result has the same bytes as separate products. With fewer panels than
//! threads, the products run one after the other.

use super::CsrView;
use super::panels::{self, BlockedCsr, COLUMNS, PanelOutput};
use super::parallel::{SharedSlice, each};
use super::rowwise::{Act, SavedActivation, backward_panel, bias_act_backward_in_place};
use super::scratch;
use super::spmm::{SpmmEpilogue, product};
use crate::Real;
use std::ops::Range;

/// Whether S·(T·h) is large enough for the fused kernels. Depends on the shapes only.
pub fn is_profitable(s: CsrView<'_>, t: CsrView<'_>, width: usize) -> bool {
    panels::is_profitable(s, width) && panels::is_profitable(t, width)
}

/// out = S·(T·h), or act(S·(T·h) + bias) with an epilogue. With `add`, the product is added to `out`.
pub fn spmm_chain(
    s: CsrView<'_>,
    t: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
    epilogue: Option<(Option<&[Real]>, Act, Real)>,
) {
    check(s, t, h, width);
    assert_eq!(out.len(), s.n_rows * width, "shape of the result");
    let epilogue = epilogue.map(SpmmEpilogue::new);
    if !panel_per_thread(s, t, width) {
        return scratch::with(t.n_rows * width, |first: &mut [Real]| {
            product(t, h, width, first, false, None);
            product(s, first, width, out, add, epilogue);
        });
    }
    let out = &SharedSlice::new(out);
    let out = PanelOutput::whole(out, width, add, epilogue);
    for_each_panel(s, t, out, |s, t, out| {
        let columns = out.columns.clone();
        scratch::with(t.n_rows() * columns.len(), |first: &mut [Real]| {
            t.multiply_packing(h, width, columns.start, &packed(&SharedSlice::new(first), &columns, None));
            s.multiply(first, &out);
        });
    });
}

/// hidden = act(S·(T·h) + bias), out = S·hidden, for a square S. `hidden` is saved for the backward pass.
pub fn spmm_chain_forward(
    s: CsrView<'_>,
    t: CsrView<'_>,
    h: &[Real],
    width: usize,
    epilogue: (Option<&[Real]>, Act, Real),
    hidden: &mut [Real],
    out: &mut [Real],
) {
    check(s, t, h, width);
    assert!(hidden.len() == s.n_rows * width && s.n_rows == s.n_cols, "shape of hidden");
    assert_eq!(out.len(), s.n_rows * width, "shape of the result");
    if !panel_per_thread(s, t, width) {
        spmm_chain(s, t, h, width, hidden, false, Some(epilogue));
        return product(s, hidden, width, out, false, None);
    }
    let (hidden, out) = (SharedSlice::new(hidden), &SharedSlice::new(out));
    let out = PanelOutput::whole(out, width, false, None);
    for_each_panel(s, t, out, |s, t, out| {
        let columns = out.columns.clone();
        let lengths = [t.n_rows(), s.n_rows()].map(|rows| rows * columns.len());
        scratch::with(lengths[0], |first: &mut [Real]| {
            t.multiply_packing(h, width, columns.start, &packed(&SharedSlice::new(first), &columns, None));
            scratch::with(lengths[1], |second: &mut [Real]| {
                let epilogue = SpmmEpilogue::new(epilogue).columns(columns.clone());
                s.multiply(first, &packed(&SharedSlice::new(second), &columns, Some(epilogue)));
                s.multiply(second, &out);
                unpack_panel(second, &hidden, width, &columns);
            });
        });
    });
}

/// The backward pass of [`spmm_chain_forward`], where `s` and `t` are the transposed matrices: with
/// d = act′(hidden) ⊙ (Sᵀ·gradient), out = Tᵀ·(Sᵀ·d). With `add`, the product is added to `out`. `of_bias` receives the
/// column sums of d. Returns the derivative with respect to the slope.
pub fn spmm_chain_backward(
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
    assert!(hidden.len() == s.n_rows * width && s.n_rows == s.n_cols, "shape of hidden");
    assert!(out.len() == t.n_rows * width && of_bias.len() == width, "sizes of derivatives");
    assert!(act.output_is_enough(slope), "an activation that can be differentiated from its output");
    if !panel_per_thread(t, s, width) {
        let mut of_slope = 0.0;
        scratch::with(s.n_rows * width, |d: &mut [Real]| {
            product(s, gradient, width, d, false, None);
            of_bias.fill(0.0);
            let (saved, of_slope) = (SavedActivation::Output(hidden), Some(&mut of_slope));
            let of_bias = Some(of_bias);
            bias_act_backward_in_place(s.n_rows, width, saved, None, act, slope, d, of_bias, of_slope);
            spmm_chain(t, s, d, width, out, add, None);
        });
        return of_slope;
    }
    scratch::with(2 * width, |sums: &mut [f64]| {
        let shared = SharedSlice::new(sums);
        let out = &SharedSlice::new(out);
        let out = PanelOutput::whole(out, width, add, None);
        for_each_panel(t, s, out, |t, s, out| {
            let columns = out.columns.clone();
            let length = s.n_rows() * columns.len();
            scratch::with(length, |second: &mut [Real]| {
                scratch::with(length, |first: &mut [Real]| {
                    s.multiply_packing(
                        gradient,
                        width,
                        columns.start,
                        &packed(&SharedSlice::new(first), &columns, None),
                    );
                    // SAFETY: different tasks write disjoint ranges of columns.
                    let sums =
                        [0, width].map(|at| unsafe { shared.slice(at + columns.start, columns.len()) });
                    backward_panel(width, columns.clone(), hidden, act, slope, first, sums);
                    s.multiply(first, &packed(&SharedSlice::new(second), &columns, None));
                });
                t.multiply(second, &out);
            });
        });
        of_bias.iter_mut().zip(&*sums).for_each(|(to, &sum)| *to = sum as Real);
        sums[width..].iter().sum::<f64>() as Real
    })
}

/// Elements of the scratch buffers that a chain uses at the same time, in the pass that needs most.
pub fn scratch_lens(s: CsrView<'_>, t: CsrView<'_>, width: usize) -> Vec<usize> {
    if panel_per_thread(s, t, width) {
        // The packed panel of h, and two panels of intermediate results.
        let panels = [t.n_cols, t.n_rows, s.n_rows].map(|rows| rows * COLUMNS);
        return panels.repeat(rayon::current_num_threads());
    }
    let mut lens = panels::scratch_lens(s, width);
    lens.extend(panels::scratch_lens(t, width));
    lens.extend([t.n_rows * width, t.n_rows * width]);
    lens
}

fn check(s: CsrView<'_>, t: CsrView<'_>, h: &[Real], width: usize) {
    s.check();
    t.check();
    assert!(h.len() == t.n_cols * width && s.n_cols == t.n_rows, "shapes of chained products");
}

/// Whether every thread gets its own panel. Otherwise threads share a cache, and fusion gains nothing.
fn panel_per_thread(s: CsrView<'_>, t: CsrView<'_>, width: usize) -> bool {
    panels::panel_per_thread(s, width) && panels::panel_per_thread(t, width)
}

/// Runs one task per panel, with both matrices in blocks that fit into the cache.
fn for_each_panel(
    s: CsrView<'_>,
    t: CsrView<'_>,
    out: PanelOutput<'_>,
    work: impl Fn(&BlockedCsr<'_>, &BlockedCsr<'_>, PanelOutput<'_>) + Sync + Send,
) {
    BlockedCsr::with(t, |t| BlockedCsr::with(s, |s| each(out.n_panels(), |at| work(&s, &t, out.panel(at)))));
}

/// The output of a product that goes to a packed panel.
fn packed<'a>(
    out: &'a SharedSlice<Real>,
    columns: &Range<usize>,
    epilogue: Option<SpmmEpilogue<'a>>,
) -> PanelOutput<'a> {
    PanelOutput::whole(out, columns.len(), false, epilogue)
}

simd! {
    /// Copies a packed panel to its columns of a matrix with rows of length `width`.
    fn unpack_panel[FMA](panel: &[Real], out: &SharedSlice<Real>, width: usize, columns: &Range<usize>) {
        for (row, from) in panel.chunks_exact(columns.len()).enumerate() {
            // SAFETY: different tasks write disjoint ranges of columns.
            let to = unsafe { out.slice(row * width + columns.start, columns.len()) };
            // A full panel row has a constant length, so that the compiler inlines the copy.
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
    use super::super::testing::{Numbers, OwnedCsr};
    use super::*;

    #[test]
    fn chains_have_the_bytes_of_separate_products() {
        let mut numbers = Numbers::new(38);
        // Two full panels and a narrower one; rows of Tᵀ long enough to be blocked.
        let (n, d, width) = (12_000, 900, 75);
        let s = OwnedCsr::random(n, n, 12, &mut numbers);
        let (t, transposed) =
            (OwnedCsr::random(n, d, 12, &mut numbers), OwnedCsr::random(d, n, 90, &mut numbers));
        let (s, t, transposed) = (s.view(), t.view(), transposed.view());
        let (w, bias, gradient) = (numbers.vec(d * width), numbers.vec(width), numbers.vec(n * width));
        let (act, slope) = (Act::Prelu, 0.3);
        let epilogue = (Some(&bias[..]), act, slope);

        let mut inner = vec![0.0; n * width];
        let (mut hidden, mut propagated) = (vec![0.0; n * width], vec![0.0; n * width]);
        spmm(t, &w, width, &mut inner, false);
        spmm_bias_act(s, &inner, width, &mut hidden, Some(&bias), act, slope);
        spmm(s, &hidden, width, &mut propagated, false);

        let mut d_hidden = vec![0.0; n * width];
        spmm(s, &gradient, width, &mut d_hidden, false);
        let (mut d_bias, mut d_slope) = (vec![0.0; width], 0.0);
        let (saved, sums) = (SavedActivation::Output(&hidden), (Some(&mut d_bias[..]), Some(&mut d_slope)));
        bias_act_backward_in_place(n, width, saved, None, act, slope, &mut d_hidden, sums.0, sums.1);
        let before = numbers.vec(d * width);
        let (mut d_inner, mut d_w) = (vec![0.0; n * width], before.clone());
        spmm(s, &d_hidden, width, &mut d_inner, false);
        spmm(transposed, &d_inner, width, &mut d_w, true);

        // With a panel per thread, and with shared panels.
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                assert_eq!(
                    panel_per_thread(s, t, width) && panel_per_thread(transposed, s, width),
                    threads < 4
                );
                let (mut ours, mut out) = (vec![7.0; n * width], vec![7.0; n * width]);
                spmm_chain(s, t, &w, width, &mut ours, false, Some(epilogue));
                assert!(ours == hidden, "chain");
                ours.fill(7.0);
                spmm_chain_forward(s, t, &w, width, epilogue, &mut ours, &mut out);
                assert!(ours == hidden && out == propagated, "forward");
                let (mut of_bias, mut of_w) = (vec![7.0; width], before.clone());
                let saved = (&hidden[..], act, slope);
                let of_slope = spmm_chain_backward(
                    s,
                    transposed,
                    &gradient,
                    width,
                    saved,
                    &mut of_w,
                    true,
                    &mut of_bias,
                );
                assert!(of_w == d_w && of_bias == d_bias && of_slope == d_slope, "backward");
            });
        }
    }
}
