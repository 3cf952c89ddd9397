use super::super::rowwise;
use super::super::select::spmm_rows;
use super::super::testing::*;
use super::*;

#[test]
fn packed_panels_give_the_same_product() {
    let mut numbers = Numbers::new(26);
    for width in [256, 300] {
        let s = OwnedCsr::random(2000, 4300, 40, &mut numbers);
        let transposed = s.transposed();
        let (h, d) = (numbers.vec(4300 * width), numbers.vec(2000 * width));
        // Of the matrix and its transpose, only one is packed.
        assert!(panels::is_profitable(s.view(), width) != panels::is_profitable(transposed.view(), 64));
        for (s, h) in [(s.view(), &h), (transposed.view(), &d)] {
            let start = numbers.vec(s.n_rows * width);
            let bias = numbers.vec(width);
            for add in [false, true] {
                let (mut got, mut want) = (start.clone(), start.clone());
                spmm(s, h, width, &mut got, add);
                for (row, want) in want.chunks_exact_mut(width).enumerate() {
                    if !add {
                        want.fill(0.0);
                    }
                    for (column, value) in s.entries(row) {
                        (0..width).for_each(|j| want[j] += value * h[column * width + j]);
                    }
                }
                assert_close(&got, &want, 1e-5);
                if !add {
                    spmm_bias_act(s, h, width, &mut got, Some(&bias), Act::Prelu, 0.25);
                    rowwise::bias_act_in_place(s.n_rows, width, &mut want, Some(&bias), Act::Prelu, 0.25);
                    assert_close(&got, &want, 1e-5);
                }
            }
        }
    }
}

#[test]
fn panels_larger_than_the_l2_cache_give_the_bytes_of_single_rows() {
    let mut numbers = Numbers::new(36);
    let (rows, cols, width) = (1500, 40_000, 64);
    let s = OwnedCsr::random(rows, cols, 200, &mut numbers);
    assert!(panels::is_profitable(s.view(), width), "a product by panels");
    let h = numbers.vec(cols * width);
    let (mut by_panels, mut alone) = (vec![0.0; rows * width], vec![0.0; width]);
    spmm(s.view(), &h, width, &mut by_panels, false);
    for row in [0, 1, 700, rows - 1] {
        // A single row is too small for panels.
        spmm_rows(s.view(), &[row as u32], &h, width, &mut alone, false);
        assert_eq!(alone, by_panels[row * width..][..width]);
    }
}

#[test]
fn blocked_panels_give_the_bytes_of_single_rows_at_any_thread_count() {
    let mut numbers = Numbers::new(37);
    let (rows, cols, width) = (1500, 15_000, 70);
    let s = OwnedCsr::random(rows, cols, 80, &mut numbers);
    assert!(panels::is_profitable(s.view(), width), "a product by panels");
    let (h, bias) = (numbers.vec(cols * width), numbers.vec(width));
    let product = || {
        let mut out = vec![0.0; rows * width];
        spmm_bias_act(s.view(), &h, width, &mut out, Some(&bias), Act::Prelu, 0.25);
        out
    };
    // With one or two threads, each works on its own panel; four threads share each of the three panels.
    assert_same_at_any_thread_count(product);
    let by_panels = product();
    for row in [0, 1, 700, rows - 1] {
        let mut alone = vec![0.0; width];
        spmm_rows(s.view(), &[row as u32], &h, width, &mut alone, false);
        rowwise::bias_act_in_place(1, width, &mut alone, Some(&bias), Act::Prelu, 0.25);
        assert_eq!(alone, by_panels[row * width..][..width]);
    }
}

#[test]
fn a_hop_onto_a_base_is_a_copy_a_product_and_a_scaling() {
    let mut numbers = Numbers::new(41);
    // The second matrix is multiplied by panels.
    for (n, entries, width) in [(90, 5, 37), (9000, 9, 128)] {
        let s = OwnedCsr::random(n, n, entries, &mut numbers);
        let (s, h, base) = (s.view(), numbers.vec(n * width), numbers.vec(n * width));
        let mut want = base.clone();
        spmm(s, &h, width, &mut want, true);
        want.iter_mut().for_each(|x| *x *= 0.25);
        let mut got = vec![7.0; n * width];
        spmm_onto(s, &h, &base, 0.25, None, width, &mut got);
        assert_eq!(got, want);
        let rows = [3, 70, 3, 0];
        let mut some = vec![7.0; 4 * width];
        spmm_onto(s, &h, &base, 0.25, Some(&rows), width, &mut some);
        for (got, &row) in some.chunks(width).zip(&rows) {
            assert_eq!(got, &want[row as usize * width..][..width]);
        }
    }
}

#[test]
fn without_values_every_entry_is_one_and_empty_rows_are_zero() {
    let s = CsrView { n_rows: 3, n_cols: 2, offsets: &[0, 2, 2, 3], columns: &[0, 1, 1], values: None };
    let mut out = [9.0; 6];
    spmm(s, &[1.0, 2.0, 3.0, 4.0], 2, &mut out, false);
    assert_eq!(out, [4.0, 6.0, 0.0, 0.0, 3.0, 4.0]);
}

#[test]
fn tasks_cover_all_rows_once() {
    let mut numbers = Numbers::new(28);
    let s = OwnedCsr::random(500, 50, 10, &mut numbers);
    for entries in [0, 1, 64, 100_000] {
        let chunks = RowChunks::new(s.view(), entries);
        let mut next = 0;
        for task in 0..chunks.count {
            let rows = chunks.rows(s.view(), task);
            assert_eq!(rows.start, next);
            next = rows.end;
        }
        assert_eq!(next, 500);
    }
}
