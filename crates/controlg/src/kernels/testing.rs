//! Helpers for the kernel tests: random numbers, comparisons, thread pools.

use super::CsrView;
use crate::Real;

/// A small random number generator for test data in [-1, 1).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n
    }

    pub(crate) fn real(&mut self) -> Real {
        (self.bits() % (1 << 20)) as Real / (1 << 19) as Real - 1.0
    }

    pub(crate) fn vec(&mut self, n: usize) -> Vec<Real> {
        (0..n).map(|_| self.real()).collect()
    }
}

/// A CSR matrix that owns its arrays.
pub(crate) struct OwnedCsr {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    pub(crate) offsets: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<Real>,
}

impl OwnedCsr {
    /// Rows of 0 to `2 * mean` entries with sorted columns.
    pub(crate) fn random(n_rows: usize, n_cols: usize, mean: usize, numbers: &mut Numbers) -> Self {
        let mut offsets = vec![0];
        let mut columns = Vec::new();
        for _ in 0..n_rows {
            let count = numbers.below(2 * mean + 1);
            let mut row: Vec<u32> = (0..count).map(|_| numbers.below(n_cols) as u32).collect();
            row.sort_unstable();
            row.dedup();
            columns.extend(row);
            offsets.push(columns.len());
        }
        let values = numbers.vec(columns.len());
        OwnedCsr { n_rows, n_cols, offsets, columns, values }
    }

    pub(crate) fn view(&self) -> CsrView<'_> {
        CsrView {
            n_rows: self.n_rows,
            n_cols: self.n_cols,
            offsets: &self.offsets,
            columns: &self.columns,
            values: Some(&self.values),
        }
    }

    pub(crate) fn transposed(&self) -> OwnedCsr {
        let mut rows = vec![Vec::new(); self.n_cols];
        for row in 0..self.n_rows {
            self.view().entries(row).for_each(|(column, value)| rows[column].push((row as u32, value)));
        }
        let (n_rows, n_cols) = (self.n_cols, self.n_rows);
        let mut transposed =
            OwnedCsr { n_rows, n_cols, offsets: vec![0], columns: Vec::new(), values: Vec::new() };
        for row in rows {
            let (columns, values): (Vec<u32>, Vec<Real>) = row.into_iter().unzip();
            transposed.columns.extend(columns);
            transposed.values.extend(values);
            transposed.offsets.push(transposed.columns.len());
        }
        transposed
    }

    pub(crate) fn dense(&self) -> Vec<Real> {
        let mut dense = vec![0.0; self.n_rows * self.n_cols];
        for row in 0..self.n_rows {
            for (column, value) in self.view().entries(row) {
                dense[row * self.n_cols + column] += value;
            }
        }
        dense
    }
}

/// Asserts that the slices agree up to `tolerance` times the largest number of `want`.
#[track_caller]
pub(crate) fn assert_close(got: &[Real], want: &[Real], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1e-3, |m: f64, &x| m.max(f64::from(x).abs()));
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let difference = (f64::from(g) - f64::from(w)).abs();
        assert!(difference <= tolerance * scale, "at {i}: got {g}, want {w} (scale {scale})");
    }
}

/// Asserts that `work` gives the same bytes on 1, 2 and 4 threads.
#[track_caller]
pub(crate) fn assert_same_at_any_thread_count(work: impl Fn() -> Vec<Real> + Sync + Send) {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(&work).iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(one == run(2), "2 threads differ from 1");
    assert!(one == run(4), "4 threads differ from 1");
}

/// Compares a gradient with central differences of `value`, at up to 40 coordinates.
#[track_caller]
pub(crate) fn assert_gradient(at: &[Real], gradient: &[Real], mut value: impl FnMut(&[Real]) -> f64) {
    // f32 needs a large step and a loose bound; f64 checks the formula precisely.
    let (step, tolerance) = if size_of::<Real>() == 4 { (1e-2, 2e-2) } else { (1e-5, 1e-6) };
    let scale = gradient.iter().fold(1e-3, |m: f64, &g| m.max(f64::from(g).abs()));
    let mut moved = at.to_vec();
    for i in (0..at.len()).step_by(at.len().div_ceil(40).max(1)) {
        let mut side = |sign: f64| {
            moved[i] = (f64::from(at[i]) + sign * step) as Real;
            let got = value(&moved);
            moved[i] = at[i];
            got
        };
        let slope = (side(1.0) - side(-1.0)) / (2.0 * step);
        let difference = (slope - f64::from(gradient[i])).abs();
        assert!(difference <= tolerance * scale, "at {i}: {} against {slope} (scale {scale})", gradient[i]);
    }
}
