//! Training steps with dense products of bf16 factors.
#![cfg(not(feature = "f64"))] // bf16 factors come from f32 numbers

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use controlg::config::{self, Config};
use controlg::data;
use controlg::error::Error;
use controlg::graph::Graph;
use controlg::kernels::simd;
use controlg::rng::Stream;
use controlg::tensor::{Activation, Grads, Init, Params, Pool, Precision, Tape};
use controlg::trace::Record;
use controlg::train::{self, Input, RunEvent, RunFolder};

const SMALL: [&str; 6] = [
    "encoder.width=64",
    "train.epochs=2",
    "train.batches_per_epoch=30",
    "objective.p_par.parts=4",
    "sense.period=5",
    "seed=3",
];

fn settings(precision: &str) -> Config {
    let mut table = Config::preset("any");
    let precision = format!("train.precision={precision}");
    for set in SMALL.iter().copied().chain([&precision[..]]) {
        config::set(&mut table, set).unwrap();
    }
    Config::from_table(table).unwrap()
}

fn graph() -> Graph {
    data::load("synthetic:nodes=400,degree=6,features=100", &Default::default()).unwrap().graph
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// The embeddings and the bytes of the record after an optional interruption at this step.
fn run(folder: &Path, graph: &Graph, config: &Config, stop_at: Option<u64>) -> Vec<u8> {
    let flag = AtomicBool::new(false);
    if let Some(step) = stop_at {
        let stopped =
            RunFolder::open(folder, config, false).unwrap().stop_when(&flag).pretrain(graph, |event| {
                if let RunEvent::Line(Record::Block(line)) = event
                    && line.step >= step
                {
                    flag.store(true, Ordering::Relaxed);
                }
            });
        assert!(matches!(stopped, Err(Error::Interrupted(_))), "{stopped:?}");
    }
    RunFolder::open(folder, config, true).unwrap().pretrain(graph, |_| {}).unwrap();
    fs::read(folder.join("embeddings.npy")).unwrap()
}

/// One test, because disabling SIMD affects the whole process.
#[test]
fn bf16_runs_are_deterministic_near_f32_and_say_so_where_the_cpu_has_no_bf16() {
    let (graph, home) = (graph(), tempfile::tempdir().unwrap());
    if Precision::Bf16.is_available() {
        factors_are_rounded_forward_and_backward();
        let rounded = settings("bf16");
        let expected = with_threads(1, || run(&home.path().join("one"), &graph, &rounded, None));
        for threads in [2, 4] {
            let folder = home.path().join(threads.to_string());
            let bytes = with_threads(threads, || run(&folder, &graph, &rounded, Some(20)));
            assert!(bytes == expected, "{threads} threads, interrupted");
        }
        let full = run(&home.path().join("full"), &graph, &settings("f32"), None);
        assert!(full != expected, "bf16 products were used");
        let losses = |precision| {
            let mut losses = Vec::new();
            let config = settings(precision);
            train::pretrain_with(&graph, &config, |line| match line {
                Record::Warmup(line) => losses.extend(&line.loss),
                Record::Block(line) if line.step < 30 => losses.push(line.loss),
                _ => {}
            })
            .unwrap();
            losses
        };
        for (step, (a, b)) in losses("f32").into_iter().zip(losses("bf16")).enumerate() {
            assert!((a - b).abs() < 0.05 * a.abs(), "line {step}: {a} with f32, {b} with bf16");
        }
        assert!(Input::new(&graph, &rounded).unwrap().notes.iter().all(|note| !note.contains("bf16")));
    } else {
        // Past the test harness, which captures eprintln! in passing tests.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: the CPU has no bf16 products\n");
    }
    simd::force_plain();
    let notes = |precision| Input::new(&graph, &settings(precision)).unwrap().notes;
    assert!(notes("bf16").iter().any(|note| note.contains("no bf16 products")), "{:?}", notes("bf16"));
    assert!(notes("f32").iter().all(|note| !note.contains("bf16")));
    // Without bf16 products, a run is that of f32.
    let [a, b] = ["f32", "bf16"].map(|precision| {
        run(&home.path().join(format!("plain-{precision}")), &graph, &settings(precision), None)
    });
    assert!(a == b, "full precision");
}

/// Y = X·W and its derivatives against products of rounded factors, summed in f64.
fn factors_are_rounded_forward_and_backward() {
    let (n, k, c) = (90, 70, 40);
    let mut stream = Stream::new(0, "init", "", 0);
    let mut params = Params::new();
    let group = params.add_group("w");
    let w = params.add(group, "weight", (k, c), Init::XavierUniform, &mut stream);
    let mut values = |len: usize| (0..len).map(|_| stream.uniform() as f32 - 0.5).collect::<Vec<f32>>();
    let (x, along) = (values(n * k), values(n * c));
    let (pool, mut grads) = (Pool::new(), Grads::new(&params));
    let mut tape = Tape::new(&params, &pool).with_precision(Precision::Bf16);
    let (x_leaf, weight) = (tape.leaf(n, k, x.clone()), tape.param(w));
    let y = tape.linear(x_leaf, weight, None, Activation::Identity);
    let out = tape.value(y).to_vec();
    let seed = tape.constant(n, c, along.clone());
    let loss = tape.mean_row_dot(y, seed);
    tape.backward(loss, &mut grads);

    let round = |x: f32| {
        let bits = x.to_bits();
        f64::from(f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000))
    };
    let weight = params.get(w);
    let dy = |i: usize, j: usize| round(along[i * c + j] / n as f32);
    let close = |got: &[f32], width: usize, want: &dyn Fn(usize, usize) -> f64| {
        for (at, &got) in got.iter().enumerate() {
            let want = want(at / width, at % width);
            assert!((f64::from(got) - want).abs() < 1e-5 * want.abs().max(0.1), "{got}, expected {want}");
        }
    };
    close(&out, c, &|i, j| (0..k).map(|p| round(x[i * k + p]) * round(weight[p * c + j])).sum());
    let dx = tape.gradient(x_leaf).expect("a gradient");
    close(dx, k, &|i, p| (0..c).map(|j| dy(i, j) * round(weight[p * c + j])).sum());
    let dw = grads.get(w).expect("a gradient");
    close(dw, c, &|p, j| (0..n).map(|i| round(x[i * k + p]) * dy(i, j)).sum());
}
