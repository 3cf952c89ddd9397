//! Time of each kernel at the sizes of the benchmark workloads: `cargo bench -p controlg --bench kernels [-- name]`.
//!
//! Prints the median and the best wall time, the CPU time of all threads (more reliable on a shared machine), and the rate at the
//! best wall time: GF/s counts a multiply-add as two operations, GB/s counts the bytes that the kernel must at least read and
//! write. Without `--bench`, as under `cargo test`, every kernel runs once.
//!
//! `-- --check` compares on one thread: each kernel's rate, by mean CPU time, as a fraction of the machine's peak of dense products or of
//! its bandwidth, measured by the same run, with the fraction recorded in `kernels/recorded.txt`. A kernel below 0.8 of its record
//! fails the run. `-- --record` prints such a file. Records hold for one kind of CPU, which the first line names.

use controlg::Real;
use controlg::kernels::adam::{AdamWParams, adamw};
use controlg::kernels::attention::{self, AttentionInput};
use controlg::kernels::infonce::{Contrast, infonce};
use controlg::kernels::loss::{Averaging, bce_with_logits, softmax_cross_entropy};
use controlg::kernels::memory::prefer_large_pages;
use controlg::kernels::pairs::{PairGraph, pair_dot};
use controlg::kernels::precision::Precision;
use controlg::kernels::recon::{self, Distance, SparseReconInput};
use controlg::kernels::rowwise::{self, Act, SavedActivation};
use controlg::kernels::{CsrView, correlate, layer_norm, matmul, norm, reduce, rows, select, simd, spmm};
use std::cell::RefCell;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|a| a == name);
    let (check, record) = (has("--check"), has("--record"));
    let bench = Bench {
        quick: !has("--bench"),
        filter: args.iter().find(|a| !a.starts_with('-')).cloned(),
        rates: RefCell::default(),
    };
    if check || record {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let fractions = one.install(|| fractions(&Bench { quick: false, ..bench }));
        std::process::exit(if record { print_record(&fractions) } else { compare(&fractions) });
    }
    println!(
        "{:44} {:>9} {:>9} {:>9} {:>9}",
        format!("{} threads", rayon::current_num_threads()),
        "median ms",
        "best ms",
        "cpu ms",
        "rate"
    );
    dense(&bench);
    sparse(&bench);
    elementwise(&bench);
    losses(&bench);
}

struct Bench {
    quick: bool,
    filter: Option<String>,
    /// The kernels so far, with what they are measured in and 10⁹ of it per second of CPU time.
    rates: RefCell<Vec<(String, &'static str, f64)>>,
}

/// A kernel below this share of its recorded fraction is too slow.
const LEAST: f64 = 0.8;

/// What the dense products and the sparse loops of this process use.
fn cpu_kind() -> &'static str {
    match () {
        () if simd::has_amx() => "amx",
        () if simd::has_avx512() => "avx512",
        () if simd::has_avx2() => "avx2",
        () => "plain",
    }
}

/// Each kernel's rate as a fraction of the rate of a large dense product, or of the bandwidth of y += a·x.
fn fractions(bench: &Bench) -> Vec<(String, f64)> {
    const SIDE: usize = 1536;
    const LENGTH: usize = 1 << 25;
    let (a, b, mut c) = (numbers(SIDE * SIDE), numbers(SIDE * SIDE), numbers(SIDE * SIDE));
    let (x, mut y) = (numbers(LENGTH), numbers(LENGTH));
    let reference = Bench { quick: false, filter: None, rates: RefCell::default() };
    let mut measure = || {
        reference.run("peak", Flops(2.0 * (SIDE * SIDE * SIDE) as f64), || {
            matmul::nn(SIDE, SIDE, SIDE, &a, &b, &mut c, false);
        });
        reference.run("bandwidth", Bytes(3.0 * LENGTH as f64 * REAL), || rows::axpy(1e-3, &x, &mut y));
    };
    // Before and after the kernels, because other load comes and goes.
    measure();
    dense(bench);
    sparse(bench);
    elementwise(bench);
    losses(bench);
    measure();
    let rates = reference.rates.take();
    let best = |unit: &str| {
        let of_unit = rates.iter().filter(|(_, found, _)| *found == unit);
        of_unit.map(|(_, _, rate)| *rate).fold(0.0, f64::max)
    };
    bench.rates.take().into_iter().map(|(name, unit, rate)| (name, rate / best(unit))).collect()
}

fn print_record(fractions: &[(String, f64)]) -> i32 {
    println!("\n{}", cpu_kind());
    fractions.iter().for_each(|(name, fraction)| println!("{fraction:.3} {name}"));
    0
}

/// Compares with the record; 1 if a kernel is too slow.
fn compare(fractions: &[(String, f64)]) -> i32 {
    let (kind, record) = include_str!("kernels/recorded.txt").split_once('\n').expect("a record");
    if kind != cpu_kind() {
        println!("the record holds for {kind} and this is {}; `-- --record` prints another", cpu_kind());
        return 0;
    }
    let recorded = |name: &str| {
        let line =
            record.lines().filter_map(|line| line.split_once(' ')).find(|(_, known)| *known == name)?;
        line.0.parse::<f64>().ok()
    };
    if fractions.iter().any(|(_, fraction)| !fraction.is_finite()) {
        println!("CPU time cannot be read on this system");
        return 0;
    }
    let mut code = 0;
    for (name, fraction) in fractions {
        match recorded(name) {
            Some(before) if *fraction < LEAST * before => {
                println!("TOO SLOW: {name}: {fraction:.3} of the machine's rate, recorded {before:.3}");
                code = 1;
            }
            Some(_) => {}
            None => println!("not recorded: {name}"),
        }
    }
    if code == 0 {
        println!("no kernel is below {LEAST} of its record");
    }
    code
}

enum Work {
    Flops(f64),
    Bytes(f64),
}
use Work::{Bytes, Flops};

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
    }

    /// Smaller sizes if every kernel runs once.
    fn size(&self, n: usize) -> usize {
        if self.quick { n.min(500) } else { n }
    }

    fn run(&self, name: &str, work: Work, mut kernel: impl FnMut()) {
        if !self.wants(name) {
            return;
        }
        let (mut wall, mut cpu) = (Vec::new(), f64::INFINITY);
        let (begin, begin_cpu) = (Instant::now(), cpu_seconds());
        while wall.is_empty()
            || !self.quick && (wall.len() < 5 || begin.elapsed().as_secs_f64() < 1.0 && wall.len() < 200)
        {
            let (from_cpu, from) = (cpu_seconds(), Instant::now());
            kernel();
            wall.push(from.elapsed().as_secs_f64());
            cpu = cpu.min(cpu_seconds() - from_cpu);
        }
        wall.sort_by(f64::total_cmp);
        let (best, median) = (wall[0], wall[wall.len() / 2]);
        let (unit, amount) = match work {
            Flops(flops) => ("flops", flops),
            Bytes(bytes) => ("bytes", bytes),
        };
        // The kernel counts CPU time in ticks, so that single calls may take none of it.
        let mean = (cpu_seconds() - begin_cpu) / wall.len() as f64;
        self.rates.borrow_mut().push((name.to_owned(), unit, amount / mean * 1e-9));
        let rate = match work {
            Flops(flops) => format!("{:.1} GF/s", flops / best * 1e-9),
            Bytes(bytes) => format!("{:.1} GB/s", bytes / best * 1e-9),
        };
        println!("{name:44} {:9.3} {:9.3} {:9.3} {rate:>12}", median * 1e3, best * 1e3, cpu * 1e3);
    }
}

/// CPU time of all threads so far (Linux only).
fn cpu_seconds() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let of_task = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    tasks.flatten().filter_map(|task| of_task(task.path())).sum::<f64>() * 1e-9
}

fn numbers(n: usize) -> Vec<Real> {
    let mut buffer = vec![0.0; n];
    prefer_large_pages(&mut buffer);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    for x in &mut buffer {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *x = (state >> 40) as Real / (1u64 << 23) as Real - 1.0;
    }
    buffer
}

struct Matrix {
    n_cols: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<Real>,
}

impl Matrix {
    fn random(n_rows: usize, n_cols: usize, per_row: usize) -> Self {
        let mut state = 88_172_645_463_325_252u64;
        let mut columns = Vec::with_capacity(n_rows * per_row);
        for _ in 0..n_rows {
            let mut row: Vec<u32> = Vec::with_capacity(per_row);
            while row.len() < per_row {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let column = (state % n_cols as u64) as u32;
                if let Err(at) = row.binary_search(&column) {
                    row.insert(at, column);
                }
            }
            columns.extend(row);
        }
        let values = numbers(columns.len());
        Matrix { n_cols, offsets: (0..=n_rows).map(|row| row * per_row).collect(), columns, values }
    }

    /// A symmetric pattern with a self-loop at every node.
    fn symmetric(n: usize, edges: usize) -> Self {
        let half = Matrix::random(edges, n, 2);
        let mut all: Vec<(u32, u32)> = (0..n as u32).map(|i| (i, i)).collect();
        half.columns.chunks(2).for_each(|edge| all.extend([(edge[0], edge[1]), (edge[1], edge[0])]));
        all.sort_unstable();
        all.dedup();
        let mut offsets = vec![0; n + 1];
        all.iter().for_each(|&(row, _)| offsets[row as usize + 1] += 1);
        (0..n).for_each(|row| offsets[row + 1] += offsets[row]);
        let values = numbers(all.len());
        Matrix { n_cols: n, offsets, columns: all.iter().map(|&(_, column)| column).collect(), values }
    }

    fn view(&self) -> CsrView<'_> {
        CsrView {
            n_rows: self.offsets.len() - 1,
            n_cols: self.n_cols,
            offsets: &self.offsets,
            columns: &self.columns,
            values: Some(&self.values),
        }
    }

    fn transposed(&self) -> Self {
        let whole = controlg::graph::Csr::new(
            self.n_cols,
            self.offsets.clone(),
            self.columns.clone(),
            Some(self.values.clone()),
        )
        .unwrap();
        let transposed = whole.transposed();
        Matrix {
            n_cols: whole.n_rows(),
            offsets: transposed.offsets().to_vec(),
            columns: transposed.columns().to_vec(),
            values: transposed.values().unwrap_or_default().to_vec(),
        }
    }
}

const REAL: f64 = size_of::<Real>() as f64;

type Product = fn(usize, usize, usize, &[Real], &[Real], &mut [Real], bool);
type RoundedProduct = fn(Precision, usize, usize, usize, &[Real], &[Real], &mut [Real], bool);
type HeadDims = &'static [(usize, usize, usize)];

fn dense(bench: &Bench) {
    let forms: [(&str, Product, HeadDims); 3] = [
        (
            "nn",
            matmul::nn,
            &[
                (2708, 512, 512),
                (1433, 512, 512),
                (18333, 512, 512),
                (169343, 128, 256),
                (169343, 256, 256),
                (169343, 256, 20),
                (2708, 2708, 512),
            ],
        ),
        (
            "nt",
            matmul::nt,
            &[(2708, 512, 512), (18333, 512, 512), (169343, 256, 256), (169343, 20, 256), (2708, 512, 2708)],
        ),
        (
            "tn",
            matmul::tn,
            &[
                (512, 1433, 512),
                (512, 2708, 512),
                (512, 18333, 512),
                (128, 169343, 256),
                (256, 169343, 256),
                (256, 169343, 20),
                (2708, 768, 512),
            ],
        ),
    ];
    for (form, product, sizes) in forms {
        for &(m, k, n) in sizes {
            let name = format!("matmul {form} {m}x{k}x{n}");
            if !bench.wants(&name) {
                continue;
            }
            let (m, k, n) = (bench.size(m), bench.size(k), bench.size(n));
            let (a, b, mut c) = (numbers(m * k), numbers(k * n), numbers(m * n));
            let flops = Flops(2.0 * (m * k * n) as f64);
            bench.run(&name, flops, || product(m, k, n, &a, &b, &mut c, false));
        }
    }
    let forms: [(&str, RoundedProduct); 3] =
        [("nn", Precision::nn), ("nt", Precision::nt), ("tn", Precision::tn)];
    for ((form, product), (m, k, n)) in
        forms.into_iter().zip([(2708, 512, 512), (2708, 512, 512), (512, 2708, 512)])
    {
        let (a, b, mut c) = (numbers(m * k), numbers(k * n), numbers(m * n));
        let flops = Flops(2.0 * (m * k * n) as f64);
        bench.run(&format!("matmul bf16 {form} {m}x{k}x{n}"), flops, || {
            product(Precision::Bf16, m, k, n, &a, &b, &mut c, false);
        });
    }
}

fn sparse(bench: &Bench) {
    // Name, rows, columns, entries per row, width.
    for (name, n, m, per_row, width) in [
        ("spmm X.W 2708x1433x512 18 per row", 2708, 1433, 18, 512),
        ("spmm X.W 18333x6805x512 60 per row", 18333, 6805, 60, 512),
        ("spmm Xt.dH 6805x18333x512 161 per row", 6805, 18333, 161, 512),
        ("spmm A.H 2708x2708x512 5 per row", 2708, 2708, 5, 512),
        ("spmm A.H 18333x18333x512 10 per row", 18333, 18333, 10, 512),
        ("spmm A.X 169343x169343x128 15 per row", 169343, 169343, 15, 128),
        ("spmm A.H 169343x169343x256 15 per row", 169343, 169343, 15, 256),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let (n, m) = (bench.size(n), bench.size(m));
        let s = Matrix::random(n, m, per_row);
        let (h, mut out) = (numbers(m * width), numbers(n * width));
        let bytes = ((s.columns.len() + n) * width) as f64 * REAL;
        bench.run(name, Bytes(bytes), || spmm::spmm(s.view(), &h, width, &mut out, false));
        if name.contains("X.W 18333") {
            let keep: Vec<bool> = (0..m).map(|j| j % 10 < 7).collect();
            let selection = select::Selection { keep_cols: Some(&keep), ..Default::default() };
            let run = || select::spmm_select(s.view(), selection, &h, width, &mut out, false);
            bench.run("spmm_select X.W 18333x6805x512 0.7 kept", Bytes(bytes * 0.7), run);
        }
    }
    let (n, width, n_pairs) = (bench.size(18333), 512, 163_788);
    if bench.wants("pair") {
        let z = numbers(n * width);
        let ends = Matrix::random(n_pairs, n, 2);
        let (us, vs): (Vec<u32>, Vec<u32>) = ends.columns.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
        let mut out = numbers(n_pairs);
        let bytes = Bytes((2 * n_pairs * width) as f64 * REAL);
        bench.run("pair_dot 18333x512 163788 pairs", bytes, || pair_dot(&z, width, &us, &vs, &mut out));
        let mut graph = PairGraph::default();
        bench.run("pair graph rebuild 163788 pairs", Bytes((4 * n_pairs) as f64 * 8.0), || {
            graph.rebuild(n, &us, &vs)
        });
        graph.rebuild(n, &us, &vs);
        let mut dz = numbers(n * width);
        let bytes = Bytes((2 * n_pairs * width) as f64 * REAL);
        bench.run("pair backward 18333x512 163788 pairs", bytes, || {
            graph.backward(&z, width, &out, &mut dz, false)
        });
    }
    if bench.wants("attention") {
        let (n, heads, width) = (bench.size(18333), 4, 128);
        let s = Matrix::symmetric(n, n * 9 / 2);
        let reverse = attention::reverse_entries(s.view());
        let wide = heads * width;
        let (h, a, d) = (numbers(n * wide), numbers(wide), numbers(n * wide));
        let layer = AttentionInput {
            pattern: s.view(),
            reverse: &reverse,
            heads,
            width,
            a_src: &a,
            a_dst: &a,
            slope: 0.2,
            factors: None,
        };
        let entries = s.columns.len();
        let (mut alpha, mut pre, mut out) =
            (numbers(entries * heads), numbers(entries * heads), numbers(n * wide));
        let bytes = ((entries + 2 * n) * wide) as f64 * REAL;
        let name = "attention forward 18333x4x128 10 per row";
        bench.run(name, Bytes(bytes), || attention::forward(layer, &h, &mut alpha, &mut pre, &mut out));
        let (mut dh, mut ds, mut dd) = (numbers(n * wide), numbers(wide), numbers(wide));
        bench.run("attention backward 18333x4x128 10 per row", Bytes(2.0 * bytes), || {
            attention::backward(layer, &h, &alpha, &pre, &d, &mut dh, &mut ds, &mut dd);
        });
    }
}

fn elementwise(bench: &Bench) {
    let (n, cols) = (bench.size(169_343), 256);
    let size = (n * cols) as f64 * REAL;
    let names =
        ["bias_act", "batch_norm", "layer_norm", "row_normalize", "column_sums", "dot", "all_finite", "axpy"];
    if names.iter().any(|name| bench.wants(name)) || bench.filter.as_ref().is_none_or(|f| f.contains('_')) {
        let (x, mut y, mut d) = (numbers(n * cols), numbers(n * cols), numbers(n * cols));
        let line = numbers(cols);
        bench.run("bias_act prelu 169343x256", Bytes(2.0 * size), || {
            rowwise::bias_act(n, cols, &x, Some(&line), Act::Prelu, 0.25, &mut y);
        });
        bench.run("bias_act_in_place prelu 169343x256", Bytes(2.0 * size), || {
            rowwise::bias_act_in_place(n, cols, &mut y, Some(&line), Act::Prelu, 1.0);
        });
        bench.run("bias_act_backward prelu 169343x256", Bytes(3.0 * size), || {
            let (mut dbias, mut dslope) = (line.clone(), 0.0);
            let saved = SavedActivation::Output(&x);
            rowwise::bias_act_backward_in_place(
                n,
                cols,
                saved,
                Some(&line),
                Act::Prelu,
                0.9,
                &mut d,
                Some(&mut dbias),
                Some(&mut dslope),
            );
        });
        d.copy_from_slice(&x);
        let (mut mean, mut inv) = (line.clone(), line.clone());
        bench.run("batch_norm prelu 169343x256", Bytes(4.0 * size), || {
            norm::batch_norm(n, cols, &x, &line, &line, Act::Prelu, 0.25, &mut y, &mut mean, &mut inv);
        });
        let (mut dg, mut db) = (line.clone(), line.clone());
        bench.run("batch_norm_backward prelu 169343x256, with a copy", Bytes(7.0 * size), || {
            y.copy_from_slice(&d);
            norm::batch_norm_backward(
                n,
                cols,
                &x,
                &mean,
                &inv,
                &line,
                &line,
                Act::Prelu,
                0.25,
                &mut y,
                &mut dg,
                &mut db,
                None,
            );
        });
        let (mut mean, mut inv) = (numbers(n), numbers(n));
        bench.run("layer_norm 169343x256", Bytes(2.0 * size), || {
            layer_norm::layer_norm(
                n,
                cols,
                &x,
                &line,
                &line,
                (Act::Identity, 0.0),
                &mut y,
                &mut mean,
                &mut inv,
            );
        });
        bench.run("layer_norm_backward 169343x256, with a copy", Bytes(5.0 * size), || {
            y.copy_from_slice(&d);
            let after = (SavedActivation::Output(&d), Act::Identity, 0.0);
            layer_norm::layer_norm_backward(n, cols, &x, &mean, &inv, &line, after, &mut y, &mut dg, &mut db);
        });
        bench.run("row_normalize 169343x256", Bytes(2.0 * size), || {
            rows::row_normalize(n, cols, &x, &mut y, &mut mean)
        });
        bench.run("row_normalize_backward 169343x256", Bytes(3.0 * size), || {
            rows::row_normalize_backward(n, cols, &x, &mean, &d, &mut y, false);
        });
        bench.run("column_sums 169343x256", Bytes(size), || reduce::column_sums(n, cols, &x, &mut dg, false));
        bench.run("dot 169343x256", Bytes(2.0 * size), || {
            std::hint::black_box(reduce::dot(&x, &d));
        });
        bench.run("all_finite 169343x256", Bytes(size), || {
            std::hint::black_box(reduce::all_finite(&x));
        });
        bench.run("axpy 169343x256", Bytes(3.0 * size), || rows::axpy(0.1, &x, &mut y));
        let index: Vec<u32> = (0..n as u32).step_by(2).collect();
        bench.run("gather_rows 84672 of 169343x256", Bytes(size), || {
            rows::gather_rows(cols, &x, &index, &mut y[..index.len() * cols]);
        });
    }
    for (name, n) in [("adamw 1734144", 1_734_144), ("adamw 3747328", 3_747_328)] {
        let (mut p, g, mut m, mut v) = (numbers(n), numbers(n), numbers(n), numbers(n));
        v.iter_mut().for_each(|v| *v = v.abs());
        let how = AdamWParams { step: 7, lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.0 };
        bench.run(name, Bytes(7.0 * n as f64 * REAL), || adamw(how, &mut p, &g, &mut m, &mut v));
    }
}

fn losses(bench: &Bench) {
    let (n, width) = (bench.size(2708), 512);
    let (p, q, mut dp, mut dq) =
        (numbers(n * width), numbers(n * width), numbers(n * width), numbers(n * width));
    let flops = 6.0 * (n * n * width) as f64;
    let how = Contrast { temperature: 20.0, intra_view: false, both_directions: false };
    bench.run("infonce 2708x512", Flops(flops), || {
        infonce(Precision::Full, n, width, &p, &q, how, &mut dp, &mut dq);
    });
    let how = Contrast { intra_view: true, both_directions: true, ..how };
    bench.run("infonce 2708x512 intra-view both directions", Flops(4.0 * flops), || {
        infonce(Precision::Full, n, width, &p, &q, how, &mut dp, &mut dq);
    });
    bench.run("barlow 2708x512", Flops(flops / n as f64 * width as f64), || {
        correlate::barlow(Precision::Full, n, width, &p, &q, 0.01, &mut dp, &mut dq);
    });
    let mut std = numbers(width);
    bench.run("standardize 2708x512", Bytes((4 * n * width) as f64 * REAL), || {
        correlate::standardize(n, width, &p, false, 1e-5, &mut dp, &mut std);
    });
    let logits = numbers(163_788);
    let mut d = numbers(163_788);
    bench.run("bce_with_logits 163788", Bytes(2.0 * 163_788.0 * REAL), || {
        bce_with_logits(&logits, 81_894, Averaging::Joint, &mut d);
    });
    let n = bench.size(169_343);
    let (logits, mut d, targets) = (numbers(n * 20), numbers(n * 20), vec![3u32; n]);
    bench.run("softmax_cross_entropy 169343x20", Bytes((2 * n * 20) as f64 * REAL), || {
        softmax_cross_entropy(n, 20, &logits, &targets, &mut d);
    });
    for (name, n, d, per_row) in [
        ("recon sparse 1354x1433x512 18 per row", 2708, 1433, 18),
        ("recon sparse 9166x6805x512 60 per row", 18333, 6805, 60),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let (n, d, h) = (bench.size(n), bench.size(d), 512);
        let x = Matrix::random(n, d, per_row);
        let xt = x.transposed();
        let index: Vec<u32> = (0..n as u32).step_by(2).collect();
        let m = index.len();
        let (r, wt, bias) = (numbers(m * h), numbers(d * h), numbers(d));
        let (mut dr, mut dwt, mut db) = (numbers(m * h), numbers(d * h), numbers(d));
        let task = SparseReconInput {
            x: x.view(),
            xt: xt.view(),
            index: &index,
            r: &r,
            wt: &wt,
            bias: Some(&bias),
            distance: Distance::Squared,
        };
        let flops = Flops(4.0 * (h * h * (d + m)) as f64 + 4.0 * (m * per_row * h) as f64);
        bench.run(name, flops, || {
            recon::sparse(task, &mut dr, Some(&mut dwt), Some(&mut db));
        });
    }
}
