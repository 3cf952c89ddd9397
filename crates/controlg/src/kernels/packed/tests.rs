//! Packed products against their definition, on every unit of this processor.

use super::super::rowwise::Act;
use super::super::testing::Numbers;
use super::*;

/// The units of this processor.
fn units() -> Vec<UnitKind> {
    let units: Vec<UnitKind> = [
        (UnitKind::Amx, has_amx()),
        (UnitKind::AmxBf16, has_amx() && has_bf16()),
        (UnitKind::Avx512, has_avx512()),
        (UnitKind::Avx512Bf16, has_bf16()),
    ]
    .into_iter()
    .filter_map(|(unit, is_here)| is_here.then_some(unit))
    .collect();
    if units.is_empty() {
        // Past the test harness, which captures eprintln! in passing tests.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"skipped: neither AMX nor AVX-512 is available\n",
        );
    }
    units
}

/// What a unit makes of a factor: bf16 numbers, rounded to nearest, ties to even, or the number itself.
fn rounded(unit: UnitKind, x: f32) -> f32 {
    match unit {
        UnitKind::Amx | UnitKind::Avx512 => x,
        UnitKind::AmxBf16 | UnitKind::Avx512Bf16 => {
            let bits = x.to_bits();
            f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
        }
    }
}

/// The inner indices in the order in which a unit adds their products.
fn order(unit: UnitKind, k: usize) -> Vec<usize> {
    match unit {
        UnitKind::Amx | UnitKind::AmxBf16 | UnitKind::Avx512 => (0..k).collect(),
        UnitKind::Avx512Bf16 => {
            let pair = |at: usize| [at / 16 * 32 + at % 16 + 16, at / 16 * 32 + at % 16];
            (0..k.div_ceil(32) * 16).flat_map(pair).filter(|&p| p < k).collect()
        }
    }
}

/// The largest error of a product, relative to Σ|a·b|, and that of f32 sums in this order.
fn errors(
    order: &[usize],
    (m, n): (usize, usize),
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &[f32],
) -> [f64; 2] {
    let at =
        |f: MatrixRef<'_>, row: usize, column: usize| f.data[row * f.row_stride + column * f.column_stride];
    let mut worst = [0.0; 2];
    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let terms = order.iter().map(|&p| (at(a, i, p), at(b, p, j)));
        let exact: f64 = terms.clone().map(|(x, y)| f64::from(x) * f64::from(y)).sum();
        let size: f64 = terms.clone().map(|(x, y)| (f64::from(x) * f64::from(y)).abs()).sum();
        let single = terms.fold(0.0, |sum: f32, (x, y)| x.mul_add(y, sum));
        for (worst, got) in worst.iter_mut().zip([c[i * n + j], single]) {
            *worst = f64::max(*worst, (f64::from(got) - exact).abs() / size);
        }
    }
    worst
}

#[test]
fn all_forms_are_as_accurate_as_f32_sums() {
    for unit in units() {
        let mut numbers = Numbers::new(51);
        for (m, k, n) in
            [(64, 32, 16), (70, 40, 17), (131, 300, 33), (160, 256, 1060), (33, 700, 96), (5, 9, 3)]
        {
            // Numbers of one magnitude, and numbers over ten decades.
            for decades in [1, 10] {
                let mut values = |len| -> Vec<f32> {
                    (0..len).map(|_| numbers.real() * 10f32.powi(numbers.below(decades) as i32 - 5)).collect()
                };
                let (a, b) = (values(m * k), values(k * n));
                for (a, b) in [
                    (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n)),
                    (MatrixRef::column_major(&a, m), MatrixRef::row_major(&b, n)),
                    (MatrixRef::row_major(&a, k), MatrixRef::column_major(&b, k)),
                ] {
                    let mut c = vec![7.0; m * n];
                    gemm(unit, m, k, n, a, b, &mut c, n, false, None);
                    let [exact_a, exact_b] =
                        [a, b].map(|f| f.data.iter().map(|&x| rounded(unit, x)).collect::<Vec<f32>>());
                    let (a, b) = (MatrixRef { data: &exact_a, ..a }, MatrixRef { data: &exact_b, ..b });
                    let [ours, single] = errors(&order(unit, k), (m, n), a, b, &c);
                    // The worst of many sums depends on their order a little. Short sums average out few errors: allow
                    // a unit in the last place.
                    let bound = if k < 100 { f64::max(1.5 * single, 2.4e-7) } else { 1.2 * single };
                    assert!(ours <= bound, "{unit:?}, {m}×{k}×{n}: {ours:e}, f32: {single:e}");
                }
            }
        }
    }
}

#[test]
fn add_accumulates_and_leaves_the_rest_of_a_row_alone() {
    for unit in units() {
        let mut numbers = Numbers::new(52);
        let (m, k, n, stride) = (70, 300, 40, 50);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        let (a, b) = (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n));
        let mut alone = vec![0.0; m * n];
        gemm(unit, m, k, n, a, b, &mut alone, n, false, None);
        let mut c = vec![3.0; m * stride];
        gemm(unit, m, k, n, a, b, &mut c, stride, true, None);
        for (row, alone) in c.chunks(stride).zip(alone.chunks(n)) {
            assert!(row[..n].iter().zip(alone).all(|(c, x)| (c - 3.0 - x).abs() < 1e-5));
            assert!(row[n..].iter().all(|&rest| rest == 3.0));
        }
    }
}

#[test]
fn the_epilogue_runs_after_the_last_block() {
    for unit in units() {
        let mut numbers = Numbers::new(54);
        // More than one block in each dimension.
        let (m, k, n) = (150, 300, 1060);
        let (a, b, bias) = (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(n));
        let (a, b) = (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n));
        let (act, slope) = (Act::Prelu, 0.25);
        let (mut fused, mut separate) = (vec![0.0; m * n], vec![0.0; m * n]);
        gemm(unit, m, k, n, a, b, &mut fused, n, false, Some((Some(&bias), act, slope)));
        gemm(unit, m, k, n, a, b, &mut separate, n, false, None);
        activate(n, &mut separate, Some(&bias), act, slope);
        assert!(fused == separate);
    }
}

#[test]
fn any_thread_count_gives_the_same_bytes() {
    for unit in units() {
        let mut numbers = Numbers::new(55);
        for (m, k, n) in [(150, 300, 100), (400, 20, 256), (129, 600, 130), (28, 16, 16)] {
            assert!(shares_b(unit, k, n), "{k}×{n}");
            let (a, b, bias, before) =
                (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(n), numbers.vec(m * n));
            for (a, b) in [
                (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n)),
                (MatrixRef::column_major(&a, m), MatrixRef::row_major(&b, n)),
                (MatrixRef::row_major(&a, k), MatrixRef::column_major(&b, k)),
            ] {
                for (add, epilogue) in [(true, None), (false, Some((Some(&bias[..]), Act::Elu, 0.0)))] {
                    let (mut all, mut one) = (before.clone(), before.clone());
                    product(unit, m, k, n, a, b, &mut all, add, epilogue);
                    gemm(unit, m, k, n, a, b, &mut one, n, add, epilogue);
                    assert!(all == one, "{unit:?}, {m}×{k}×{n}");
                }
            }
        }
    }
}

#[test]
fn a_row_does_not_depend_on_the_other_rows() {
    for unit in units() {
        let mut numbers = Numbers::new(53);
        let (m, k, n) = (333, 530, 70);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        let (a, b) = (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n));
        let mut whole = vec![0.0; m * n];
        gemm(unit, m, k, n, a, b, &mut whole, n, false, None);
        for (first, count) in [(0, 64), (100, 97), (333 - 65, 65)] {
            let mut part = vec![0.0; count * n];
            gemm(unit, count, k, n, a.offset(first, 0), b, &mut part, n, false, None);
            assert!(part == whole[first * n..(first + count) * n], "{count} rows from {first}");
        }
    }
}

#[test]
fn nan_and_infinity_stay_in_their_row() {
    for unit in units() {
        let (m, k, n) = (64, 32, 32);
        let b = vec![1.0; k * n];
        for bad in
            [f32::NAN, -f32::NAN, f32::INFINITY, f32::from_bits(0xffff_ffff), f32::from_bits(0x7fff_ffff)]
        {
            let mut a = vec![1.0; m * k];
            a[5 * k + 3] = bad;
            let mut c = vec![0.0; m * n];
            gemm(
                unit,
                m,
                k,
                n,
                MatrixRef::row_major(&a, k),
                MatrixRef::row_major(&b, n),
                &mut c,
                n,
                false,
                None,
            );
            assert!(c[5 * n..6 * n].iter().all(|x| !x.is_finite()), "{unit:?}: {bad} in a row of A");
            assert!(c[..5 * n].iter().chain(&c[6 * n..]).all(|&x| x == 32.0), "and in no other");
        }
    }
}
