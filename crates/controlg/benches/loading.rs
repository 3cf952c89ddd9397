//! Time to load or generate graphs: `cargo bench --bench loading`.
//!
//! Real data sets (if `CONTROLG_DATA` is set) next to the time to read their bytes, which is a lower bound; then synthetic graphs.
//! Best of three.

use std::path::Path;
use std::time::Instant;

use controlg::data::{FeatureSource, LoadOptions, load};

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return; // `cargo test` also runs benches
    }
    println!("{:<52} {:>9} {:>10} {:>11} {:>11}", "graph", "load ms", "bytes ms", "nodes", "edges");
    match std::env::var_os("CONTROLG_DATA") {
        None => println!("skipped: real data sets (set CONTROLG_DATA)"),
        Some(folder) => {
            for name in ["cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor", "coauthor-cs"] {
                measure(name, FeatureSource::Given, Some(&Path::new(&folder).join(name)));
            }
            measure("ogbn-arxiv", FeatureSource::Structural, Some(&Path::new(&folder).join("ogbn-arxiv")));
        }
    }
    for name in
        ["synthetic", "synthetic:nodes=100000,degree=20", "synthetic:nodes=1000000,degree=20,features=128"]
    {
        measure(name, FeatureSource::Given, None);
    }
    if let Some(peak) = peak_mb() {
        println!("peak memory: {peak:.0} MB");
    }
}

fn measure(name: &str, features: FeatureSource, folder: Option<&Path>) {
    let options = LoadOptions { features, ..LoadOptions::default() };
    let mut graph = None;
    let load_ms = best_ms(|| graph = load(name, &options).map(|data| data.graph).ok());
    let bytes_ms = folder.map(|folder| best_ms(|| read_all(folder)));
    match graph {
        None => println!("{name:<52} cannot be loaded"),
        Some(graph) => println!(
            "{name:<52} {load_ms:>9.1} {:>10} {:>11} {:>11}",
            bytes_ms.map_or(String::new(), |ms| format!("{ms:.1}")),
            graph.n_nodes(),
            graph.n_edges()
        ),
    }
}

fn best_ms(mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..3).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

fn read_all(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            read_all(&entry.path());
        } else {
            std::hint::black_box(std::fs::read(entry.path()).map_or(0, |bytes| bytes.len()));
        }
    }
}

/// Peak memory of the process (Linux only).
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}
