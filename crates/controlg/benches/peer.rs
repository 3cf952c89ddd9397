//! The ControlG side of the comparison with PyTorch (`benches/peer`): timed training steps on given arrays.
//!
//! `peer WORKLOAD DIR [bf16]` reads the arrays of w1 to w6, prints `ready`, and answers each line `run N` with one line of JSON:
//! the milliseconds and losses of N steps and the peak memory of the process. `quit` ends it. Steps use the tape, the encoder and
//! the optimizer of the library. `peer parts WORKLOAD DIR` times the products of a step separately; `peer gemm` and
//! `peer bandwidth` measure the machine with our kernels.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;

use controlg::Real;
use controlg::data::arrays::{Array, read_npy};
use controlg::encoder::{ActivationKind, Encoder, Gcn, LastLayer, LayerSettings, Norm, Pass};
use controlg::graph::{Csr, EncoderInput, Features, NodeSet, Operator};
use controlg::kernels::{matmul, rows, spmm};
use controlg::rng::Stream;
use controlg::tensor::{
    Activation, AdamW, Averaging, Buffer, Contrast, Distance, Grads, Init, OptimizerSettings, ParamId,
    Params, Pool, Precision, Tape, Var,
};

#[path = "peer/views.rs"]
mod views;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let words: Vec<String> = arguments.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["gemm"] => say(&serde_json::json!({"gflops": gemm_rate()}).to_string()),
        ["bandwidth"] => say(&serde_json::json!({"gb_s": bandwidth()}).to_string()),
        ["parts", workload, folder] => say(&parts(&Files(folder.into()), workload).to_string()),
        ["w4", folder] => serve_contrast(&Files(folder.into())),
        [pair @ ("w5" | "w6"), folder] => {
            views::serve_views(&Files(folder.into()), pair, Precision::Full);
        }
        [pair @ ("w5" | "w6"), folder, "bf16"] => {
            views::serve_views(&Files(folder.into()), pair, Precision::Bf16);
        }
        [network @ ("w1" | "w2" | "w3"), folder] => serve_network(&Files(folder.into()), network),
        _ => println!(
            "usage: peer [parts] w1|w2|w3|w4|w5|w6 DIR, or peer gemm|bandwidth (started by benches/peer/run)"
        ),
    }
}

/// Serves requests. `step` runs one step and returns the loss before the update.
fn serve(mut step: impl FnMut() -> f64) {
    say("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["run", count] => {
                let (mut ms, mut losses) = (Vec::new(), Vec::new());
                for _ in 0..count.parse().expect("a number of steps") {
                    let start = Instant::now();
                    losses.push(step());
                    ms.push(start.elapsed().as_secs_f64() * 1e3);
                }
                say(&serde_json::json!({"ms": ms, "loss": losses, "peak_mb": peak_mb()}).to_string());
            }
            ["quit"] => return,
            _ => panic!("expected `run N` or `quit`, found {line:?}"),
        }
    }
}

fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().expect("an open output");
}

/// H = prelu(Â X W1 + b1; a1), Z = prelu(Â H W2 + b2; a2), then the workload's head and loss.
fn serve_network(files: &Files, workload: &str) {
    let features = files.features();
    let n = features.n_rows();
    let input = EncoderInput::with_operator(&features, Operator::symmetric(files.csr("adj", n)).unwrap());
    let width = files.reals("b1").len();
    let network = Gcn::new(LayerSettings {
        width,
        norm: Norm::None,
        activation: ActivationKind::Prelu,
        last: LastLayer::Activation,
        ..LayerSettings::default()
    })
    .expect("good settings");
    let mut params = Params::new();
    let (encoder, head) = (params.add_group("encoder"), params.add_group("head"));
    network.init(features.n_cols(), &mut params, encoder, &mut Stream::new(0, "init", "", 0));
    for (entry, name) in ["w1", "b1", "a1", "w2", "b2", "a2"].into_iter().enumerate() {
        params.get_mut(ParamId { group: encoder, entry }).copy_from_slice(&files.reals(name));
    }
    let loss = Head::new(files, workload, n, features.n_cols(), &mut params, head);

    let (pool, mut grads) = (Pool::new(), Grads::new(&params));
    let mut optimizer = AdamW::new(&params, OptimizerSettings::default());
    serve(|| {
        let mut tape = Tape::new(&params, &pool);
        let view = match &loss {
            Head::Reconstruct(masked) => input.whole().with_masked(masked),
            _ => input.whole(),
        };
        let z = network.encode(&mut tape, encoder, &view, Pass::default());
        let out = loss.apply(&mut tape, head, z, &input);
        let value = tape.scalar(out);
        grads.reset();
        tape.backward_last(out, &mut grads);
        optimizer.step(&mut params, &mut grads);
        value
    });
}

enum Head {
    /// Reconstruction of masked features with a linear decoder.
    Reconstruct(NodeSet),
    /// Link prediction by dot products: us, vs and the number of positive pairs, which come first.
    Link(Vec<u32>, Vec<u32>, usize),
    /// Classification.
    Classify(Vec<u32>),
}

impl Head {
    fn new(
        files: &Files,
        workload: &str,
        n: usize,
        n_features: usize,
        params: &mut Params,
        group: usize,
    ) -> Self {
        let mut add = |name: &str, shape, values: &[Real]| {
            let mut stream = Stream::new(0, "init", "", 0);
            let id = params.add(group, name, shape, Init::Constant(0.0), &mut stream);
            params.get_mut(id).copy_from_slice(values);
        };
        match workload {
            "w1" => {
                let weight = files.reals("wd");
                let width = weight.len() / n_features;
                let transposed: Vec<Real> =
                    (0..weight.len()).map(|at| weight[at % width * n_features + at / width]).collect();
                add("weight", (n_features, width), &transposed);
                add("bias", (1, n_features), &files.reals("bd"));
                Head::Reconstruct(NodeSet::new(n, &files.ids("masked")))
            }
            "w2" => {
                let positive = files.reals("y").iter().take_while(|&&y| y > 0.5).count();
                Head::Link(files.ids("us"), files.ids("vs"), positive)
            }
            _ => {
                let (weight, bias) = (files.reals("wc"), files.reals("bc"));
                add("weight", (weight.len() / bias.len(), bias.len()), &weight);
                add("bias", (1, bias.len()), &bias);
                Head::Classify(files.ids("targets"))
            }
        }
    }

    fn apply<'a>(&'a self, tape: &mut Tape<'a>, group: usize, z: Var, of: &'a EncoderInput<'_>) -> Var {
        let params = tape.group(group);
        match self {
            Head::Reconstruct(masked) => {
                let rows = tape.gather(z, masked.ids());
                tape.reconstruct(rows, params[0], Some(params[1]), of, masked.ids(), Distance::Squared)
            }
            Head::Link(us, vs, positive) => tape.link_loss(z, us, vs, *positive, Averaging::Joint),
            Head::Classify(targets) => {
                let logits = tape.linear(z, params[0], Some(params[1]), Activation::Identity);
                tape.cross_entropy(logits, targets)
            }
        }
    }
}

/// InfoNCE on the arrays P and Q, updated by gradient descent.
fn serve_contrast(files: &Files) {
    let mut params = Params::new();
    let group = params.add_group("views");
    let width = files.columns("p");
    for name in ["p", "q"] {
        let values = files.reals(name);
        let shape = (values.len() / width, width);
        let mut stream = Stream::new(0, "init", "", 0);
        let id = params.add(group, name, shape, Init::Constant(0.0), &mut stream);
        params.get_mut(id).copy_from_slice(&values);
    }
    let (pool, mut grads) = (Pool::new(), Grads::new(&params));
    let how = Contrast { temperature: 0.2, intra_view: false, both_directions: false };
    serve(|| {
        let mut tape = Tape::new(&params, &pool);
        let views = tape.group(group);
        let loss = tape.info_nce(views[0], views[1], how);
        let value = tape.scalar(loss);
        grads.reset();
        tape.backward_last(loss, &mut grads);
        if let Some(gradient) = grads.group(group) {
            rows::axpy(-0.1, gradient, params.group_mut(group).data_mut());
        }
        value
    });
}

/// Milliseconds of the dense and of the sparse products of a step, timed separately on matrices of the same shapes.
fn parts(files: &Files, workload: &str) -> serde_json::Value {
    let (mut dense, mut sparse) = (0.0, 0.0);
    if let "w5" | "w6" = workload {
        (dense, sparse) = views::parts_of_views(files, workload);
    } else if workload == "w4" {
        let width = files.columns("p");
        dense += dense_ms((files.reals("p").len() / width, width, files.reals("q").len() / width), true);
    } else {
        let features = files.features();
        let (n, width) = (features.n_rows(), files.reals("b1").len());
        let adjacency = files.csr("adj", n);
        dense += dense_ms((n, width, width), true);
        match &features {
            // Â·X is computed once for all steps, and X needs no gradient.
            Features::Dense(x) => {
                dense += dense_ms((n, x.n_cols(), width), false);
                sparse += 2.0 * sparse_ms(&adjacency, width);
            }
            Features::Sparse(x) => {
                sparse += sparse_ms(x, width) + sparse_ms(&x.transposed(), width);
                sparse += 4.0 * sparse_ms(&adjacency, width);
            }
        }
        if workload == "w3" {
            dense += dense_ms((n, width, files.reals("bc").len()), true);
        }
    }
    serde_json::json!({"dense_ms": dense, "sparse_ms": sparse})
}

/// C = A·B, dB = Aᵀ·dC and, if `both`, dA = dC·Bᵀ.
fn dense_ms((m, k, n): (usize, usize, usize), both: bool) -> f64 {
    // Buffers as in a step: aligned, with huge pages.
    let pool = Pool::new();
    let (mut a, mut b, mut c): (Buffer<'_>, Buffer<'_>, Buffer<'_>) =
        (pool.zeros(m * k), pool.zeros(k * n), pool.zeros(m * n));
    let forward = median_ms(|| matmul::nn(m, k, n, &a, &b, &mut c, false));
    let of_b = median_ms(|| matmul::tn(k, m, n, &a, &c, &mut b, false));
    let of_a = if both { median_ms(|| matmul::nt(m, n, k, &c, &b, &mut a, false)) } else { 0.0 };
    forward + of_b + of_a
}

fn sparse_ms(s: &Csr, width: usize) -> f64 {
    let s = s.sparse();
    let pool = Pool::new();
    let (h, mut out): (Buffer<'_>, Buffer<'_>) = (pool.zeros(s.n_cols * width), pool.zeros(s.n_rows * width));
    median_ms(|| spmm::spmm(s, &h, width, &mut out, false))
}

/// The median of seven runs, in milliseconds.
fn median_ms(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..7).map(|_| fastest(1, &mut work) * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times[3]
}

/// The folder with the arrays.
struct Files(PathBuf);

impl Files {
    fn open(&self, name: &str) -> Array {
        read_npy(&self.0.join(format!("{name}.npy"))).unwrap_or_else(|error| panic!("{error}"))
    }

    fn columns(&self, name: &str) -> usize {
        self.open(name).shape[1]
    }

    fn reals(&self, name: &str) -> Vec<Real> {
        self.open(name).to_reals().unwrap_or_else(|error| panic!("{error}"))
    }

    fn integers(&self, name: &str) -> Vec<i64> {
        self.open(name).to_integers().unwrap_or_else(|error| panic!("{error}"))
    }

    fn ids(&self, name: &str) -> Vec<u32> {
        self.integers(name).into_iter().map(|id| id as u32).collect()
    }

    fn csr(&self, name: &str, n_cols: usize) -> Csr {
        let offsets = self.integers(&format!("{name}_offsets")).into_iter().map(|at| at as usize).collect();
        let columns = self.ids(&format!("{name}_columns"));
        Csr::new(n_cols, offsets, columns, Some(self.reals(&format!("{name}_values")))).unwrap()
    }

    fn features(&self) -> Features {
        if self.0.join("x.npy").exists() {
            let cols = self.columns("x");
            let data = self.reals("x");
            return Features::dense(data.len() / cols, cols, data).unwrap();
        }
        Features::Sparse(self.csr("x", self.integers("x_shape")[1] as usize))
    }
}

/// Peak memory of the process (Linux only; 0 elsewhere).
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()).and_then(|kib| kib.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// GFLOP/s of a 1536³ product, best of five.
fn gemm_rate() -> f64 {
    const N: usize = 1536;
    let (a, b, mut c) = (vec![1.0; N * N], vec![0.5; N * N], vec![0.0; N * N]);
    let best = fastest(5, || matmul::nn(N, N, N, &a, &b, &mut c, false));
    2.0 * (N * N * N) as f64 / best / 1e9
}

/// GB/s read and written by y += a·x over 128 MB each, best of five.
fn bandwidth() -> f64 {
    const N: usize = 1 << 25;
    let (x, mut y) = (vec![1.0; N], vec![0.5; N]);
    let best = fastest(5, || rows::axpy(1e-3, &x, &mut y));
    (3 * N * size_of::<Real>()) as f64 / best / 1e9
}

fn fastest(tries: usize, mut work: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..tries).map(timed).fold(f64::INFINITY, f64::min)
}
