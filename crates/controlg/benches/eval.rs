//! Evaluation time: all three tasks on real graphs, and a linear probe of the size of ogbn-arxiv.
//!
//! `CONTROLG_DATA=… cargo bench --bench eval [-- cora coauthor-cs:dense:nc arxiv-size …]`; the default is Cora and Coauthor-CS. A
//! suffix after a colon selects one kind of embeddings (`dense`, `raw`, `sgc`) or one task. The dense embeddings are smoothed
//! features multiplied by a random matrix with 512 columns, which are about as hard to fit as trained ones.

use std::time::Instant;

use controlg::data::{self, EdgeSplit, LoadOptions, Split};
use controlg::eval::{self, ProbeSettings, Score, floors};
use controlg::graph::{Features, Graph};
use controlg::kernels::{matmul, spmm};
use controlg::rng::Stream;
use controlg::{Labels, Real};

const WIDTH: usize = 512;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return; // `cargo test` also runs benches
    }
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let names = if names.is_empty() { vec!["cora".into(), "coauthor-cs".into()] } else { names };
    for name in names {
        if name == "arxiv-size" {
            arxiv_size();
        } else {
            let mut parts = name.split(':');
            real(parts.next().unwrap_or_default(), &parts.collect::<Vec<_>>());
        }
    }
}

fn real(name: &str, only: &[&str]) {
    let kinds = ["dense", "raw", "sgc"];
    let one_of = |word: &str, words: &[&str]| !words.iter().any(|w| only.contains(w)) || only.contains(&word);
    let set = match data::load(name, &LoadOptions::default()) {
        Ok(set) => set,
        Err(error) => return println!("{name}: {error}"),
    };
    let labels = set.labels.expect("a labeled graph");
    let own = data::select_splits(name, &set.splits, &labels, None, 0).expect("splits");
    let pairs = EdgeSplit::draw(&set.graph, 0).expect("enough edges");
    let training = pairs.training_graph(&set.graph).expect("the same nodes");
    let settings = ProbeSettings::default();
    for (kind, make) in
        [("dense", dense as fn(&Graph) -> Features), ("raw", floors::raw), ("sgc", floors::sgc)]
    {
        if !one_of(kind, &kinds) {
            continue;
        }
        let wants = |task: &str| one_of(task, &["nc", "cluster", "lp"]);
        let embeddings = timed(name, kind, "made", || make(&set.graph));
        if wants("nc") {
            show(timed(name, kind, "nc", || eval::evaluate_nc(&embeddings, &labels, &own, &settings)));
        }
        if wants("cluster") {
            show(timed(name, kind, "cluster", || eval::evaluate_cluster(&embeddings, &labels, &set.graph)));
        }
        if wants("lp") {
            let embeddings = make(&training);
            show(timed(name, kind, "lp", || eval::evaluate_lp(&embeddings, &set.graph, &pairs)));
        }
    }
    println!("peak memory so far: {:.0} MB", peak_mb().unwrap_or(f64::NAN));
}

fn show(score: controlg::Result<Score>) {
    println!("    {}", serde_json::to_string(&score.expect("a score")).expect("JSON"));
}

fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

/// A linear probe with as many nodes, columns and classes as ogbn-arxiv.
fn arxiv_size() {
    let (n, d, n_classes) = (169_343, 256, 40);
    let mut stream = Stream::new(0, "bench", "arxiv", 0);
    let centers: Vec<Real> = (0..n_classes * d).map(|_| 0.2 * stream.normal() as Real).collect();
    let classes: Vec<u32> = (0..n).map(|_| stream.below(n_classes) as u32).collect();
    let mut data = vec![0.0; n * d];
    for (row, &class) in data.chunks_exact_mut(d).zip(&classes) {
        let center = &centers[class as usize * d..][..d];
        row.iter_mut().zip(center).for_each(|(x, c)| *x = c + stream.normal() as Real);
    }
    let part = |from: u32, to: u32| (from..to).collect::<Vec<u32>>();
    let parts = [part(0, 90_941), part(90_941, 120_740), part(120_740, n as u32)];
    let split = Split::new("ogb-time", 0, parts, n).expect("a split");
    let embeddings = Features::dense(n, d, data).unwrap();
    let labels = Labels::numbered(classes);
    let settings = ProbeSettings::default();
    show(timed("arxiv-size", "dense", "nc", || eval::evaluate_nc(&embeddings, &labels, &[split], &settings)));
}

/// Smoothed features times a random matrix.
fn dense(graph: &Graph) -> Features {
    let features = floors::sgc(graph);
    let (n, d) = (features.n_rows(), features.n_cols());
    let mut stream = Stream::new(0, "bench", "projection", 0);
    let matrix: Vec<Real> = (0..d * WIDTH).map(|_| stream.normal() as Real).collect();
    let mut data = vec![0.0; n * WIDTH];
    match &features {
        Features::Dense(dense) => matmul::nn(n, d, WIDTH, dense.data(), &matrix, &mut data, false),
        Features::Sparse(csr) => spmm::spmm(csr.sparse(), &matrix, WIDTH, &mut data, false),
    }
    Features::dense(n, WIDTH, data).unwrap()
}

fn timed<T>(name: &str, kind: &str, what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{name}, {kind}, {what}: {:.2} s", start.elapsed().as_secs_f64());
    result
}
