//! Single-threaded dense products: packed, on AMX or AVX-512; the `gemm` crate; or scalar loops.

use super::precision::Precision;
use super::simd::{self, madd};
use crate::Real;
use gemm_common::Parallelism;

#[cfg(not(feature = "f64"))]
use gemm_f32::gemm::f32::get_gemm_fn;
#[cfg(feature = "f64")]
use gemm_f64::gemm::f64::get_gemm_fn;

/// A matrix with arbitrary strides.
#[derive(Clone, Copy)]
pub(super) struct MatrixRef<'a> {
    pub(super) data: &'a [Real],
    pub(super) row_stride: usize,
    pub(super) column_stride: usize,
}

impl<'a> MatrixRef<'a> {
    /// A row-major matrix with rows of this length.
    pub(super) fn row_major(data: &'a [Real], length: usize) -> Self {
        MatrixRef { data, row_stride: length, column_stride: 1 }
    }

    /// A column-major matrix with columns of this length.
    pub(super) fn column_major(data: &'a [Real], length: usize) -> Self {
        MatrixRef { data, row_stride: 1, column_stride: length }
    }

    /// The matrix without its first rows and columns.
    pub(super) fn offset(self, rows: usize, columns: usize) -> Self {
        MatrixRef { data: &self.data[rows * self.row_stride + columns * self.column_stride..], ..self }
    }

    /// Whether the data hold this many rows and columns.
    pub(super) fn contains(self, rows: usize, columns: usize) -> bool {
        rows == 0
            || columns == 0
            || (rows - 1) * self.row_stride + (columns - 1) * self.column_stride < self.data.len()
    }
}

/// Whether a product is packed.
pub(super) fn is_packed(precision: Precision, m: usize, k: usize, n: usize) -> bool {
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    return super::packed::unit(precision, m, k, n).is_some();
    #[cfg(not(all(target_arch = "x86_64", not(feature = "f64"))))]
    {
        let _ = (precision, m, k, n);
        false
    }
}

/// C (m × n) = A·B on this thread. With `add`, the product is added to C. Rows of C are `stride` apart.
pub(super) fn gemm(
    precision: Precision,
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [Real],
    stride: usize,
    add: bool,
) {
    if m == 0 || n == 0 {
        return;
    }
    let _ = precision; // used where there are packed products
    if cfg!(target_arch = "x86_64") && !simd::has_avx2() {
        return gemm_scalar(m, k, n, a, b, c, stride, add);
    }
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    if let Some(unit) = super::packed::unit(precision, m, k, n) {
        return super::packed::gemm(unit, m, k, n, a, b, c, stride, add, None);
    }
    assert!(
        a.contains(m, k) && b.contains(k, n) && c.len() >= (m - 1) * stride + n,
        "factors that match their shapes"
    );
    // The `gemm` crate prefers column-major results, so it computes Cᵀ = Bᵀ·Aᵀ.
    // SAFETY: the three slices hold every element that the shapes and strides reach, as asserted above.
    unsafe {
        get_gemm_fn()(
            n,
            m,
            k,
            c.as_mut_ptr(),
            stride as isize,
            1,
            add,
            b.data.as_ptr(),
            b.row_stride as isize,
            b.column_stride as isize,
            a.data.as_ptr(),
            a.row_stride as isize,
            a.column_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// The product in scalar loops, for CPUs without AVX2 and FMA: four rows at a time share the reads of B.
fn gemm_scalar(
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [Real],
    stride: usize,
    add: bool,
) {
    for first in (0..m).step_by(4) {
        let rows = 4.min(m - first);
        for i in first..first + rows {
            if !add {
                c[i * stride..i * stride + n].fill(0.0);
            }
        }
        for p in 0..k {
            for i in first..first + rows {
                let x = a.data[i * a.row_stride + p * a.column_stride];
                let c = &mut c[i * stride..i * stride + n];
                if b.column_stride == 1 {
                    let b = &b.data[p * b.row_stride..p * b.row_stride + n];
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c = madd::<false>(x, b, *c));
                } else {
                    let b = b.data[p * b.row_stride..].iter().step_by(b.column_stride);
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c += x * b);
                }
            }
        }
    }
}

/// Products on the calling thread, for kernels that run in parallel themselves.
pub(super) mod single_thread {
    use super::super::matmul::ROWS;
    use super::{MatrixRef, Precision, Real, gemm};

    /// [`nn`](super::super::matmul::nn) on this thread.
    pub(in super::super) fn nn(
        precision: Precision,
        m: usize,
        k: usize,
        n: usize,
        a: &[Real],
        b: &[Real],
        c: &mut [Real],
        add: bool,
    ) {
        gemm(precision, m, k, n, MatrixRef::row_major(a, k), MatrixRef::row_major(b, n), c, n, add);
    }

    /// [`tn`](super::super::matmul::tn) on this thread, in blocks of rows of C, so that the packed part of A stays small.
    pub(in super::super) fn tn(
        precision: Precision,
        m: usize,
        k: usize,
        n: usize,
        a: &[Real],
        b: &[Real],
        c: &mut [Real],
        add: bool,
    ) {
        for (at, c) in c.chunks_mut(ROWS * n).enumerate() {
            let a = MatrixRef::column_major(a, m).offset(at * ROWS, 0);
            gemm(precision, c.len() / n, k, n, a, MatrixRef::row_major(b, n), c, n, add);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn scalar_loops_equal_the_fast_ones() {
        let mut numbers = Numbers::new(29);
        let (m, k, n) = (37, 50, 41);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        for (fa, fb) in [
            (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n)),
            (MatrixRef::column_major(&a, m), MatrixRef::row_major(&b, n)),
            (MatrixRef::row_major(&a, k), MatrixRef::column_major(&b, k)),
        ] {
            let (mut fast, mut slow) = (vec![1.0; m * n], vec![1.0; m * n]);
            gemm(Precision::Full, m, k, n, fa, fb, &mut fast, n, true);
            gemm_scalar(m, k, n, fa, fb, &mut slow, n, true);
            assert_close(&fast, &slow, 1e-5);
        }
    }
}
