//! The portable kernels, without AVX2 and FMA.

use controlg::Real;
use controlg::kernels::precision::Precision;
use controlg::kernels::rowwise::Act;
use controlg::kernels::{CsrView, infonce, loss, matmul, reduce, rows, rowwise, simd, spmm};

fn numbers(n: usize, seed: u64) -> Vec<Real> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as Real / (1u64 << 23) as Real - 1.0
    };
    (0..n).map(|_| next()).collect()
}

#[track_caller]
fn assert_close(got: &[Real], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (i, (&got, want)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(got) - want).abs() < 1e-3, "at {i}: {got}, not {want}");
    }
}

#[test]
fn dense_products() {
    simd::force_plain();
    assert!(!simd::has_avx2());
    for (m, k, n) in [(70, 90, 110), (40, 4000, 30), (2, 3000, 200)] {
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let product = |a: &dyn Fn(usize, usize) -> Real, b: &dyn Fn(usize, usize) -> Real| -> Vec<f64> {
            let cell = |i, j| (0..k).map(|p| f64::from(a(i, p)) * f64::from(b(p, j))).sum();
            (0..m * n).map(|at| cell(at / n, at % n)).collect()
        };
        let mut c = vec![0.0; m * n];
        matmul::nn(m, k, n, &a, &b, &mut c, false);
        assert_close(&c, &product(&|i, p| a[i * k + p], &|p, j| b[p * n + j]));
        matmul::tn(m, k, n, &a, &b, &mut c, false);
        assert_close(&c, &product(&|i, p| a[p * m + i], &|p, j| b[p * n + j]));
        matmul::nt(m, k, n, &a, &b, &mut c, false);
        assert_close(&c, &product(&|i, p| a[i * k + p], &|p, j| b[j * k + p]));
    }
}

#[test]
fn sparse_products_and_activations() {
    simd::force_plain();
    let (n, width) = (50, 75);
    let offsets: Vec<usize> = (0..=n).map(|row| row * 3).collect();
    let columns: Vec<u32> = (0..3 * n).map(|at| (at * 7 % n) as u32).collect();
    let (values, h) = (numbers(3 * n, 3), numbers(n * width, 4));
    let s = CsrView { n_rows: n, n_cols: n, offsets: &offsets, columns: &columns, values: Some(&values) };
    let mut out = vec![0.0; n * width];
    spmm::spmm(s, &h, width, &mut out, false);
    let cell = |i: usize, j: usize| -> f64 {
        s.entries(i).map(|(column, value)| f64::from(value) * f64::from(h[column * width + j])).sum()
    };
    let mut want: Vec<f64> = (0..n * width).map(|at| cell(at / width, at % width)).collect();
    assert_close(&out, &want);
    rowwise::bias_act_in_place(n, width, &mut out, None, Act::Prelu, 0.25);
    want.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { 0.25 * *x });
    assert_close(&out, &want);
    assert!((reduce::dot(&out, &out) - want.iter().map(|x| x * x).sum::<f64>()).abs() < 1e-3);
}

#[test]
fn losses() {
    simd::force_plain();
    let (n, width) = (40, 20);
    let mut norms = vec![0.0; n];
    let (mut p, mut q) = (vec![0.0; n * width], vec![0.0; n * width]);
    rows::row_normalize(n, width, &numbers(n * width, 5), &mut p, &mut norms);
    rows::row_normalize(n, width, &numbers(n * width, 6), &mut q, &mut norms);
    let how = infonce::Contrast { temperature: 0.2, intra_view: false, both_directions: false };
    let (mut dp, mut dq) = (vec![0.0; n * width], vec![0.0; n * width]);
    let value = infonce::infonce(Precision::Full, n, width, &p, &q, how, &mut dp, &mut dq);
    // Equals a cross-entropy over all scores.
    let mut scores = vec![0.0; n * n];
    matmul::nt(n, width, n, &p, &q, &mut scores, false);
    rows::scale(5.0, &mut scores);
    let targets: Vec<u32> = (0..n as u32).collect();
    let mut d = vec![0.0; n * n];
    let want = loss::softmax_cross_entropy(n, n, &scores, &targets, &mut d);
    assert!((value - want).abs() < 1e-5, "{value} {want}");
    rows::scale(5.0, &mut d);
    let mut want = vec![0.0; n * width];
    matmul::nn(n, n, width, &d, &q, &mut want, false);
    assert_close(&dp, &want.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
}
