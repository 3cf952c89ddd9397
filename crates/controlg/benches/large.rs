//! Helper of the large-graph benchmark (`benches/large`): generates random graphs of any size and exports mini-batches.
//!
//! `large generate NODES DIR` writes a graph in the binary format: average degree 10, three of five edges within communities of
//! 1000 nodes, 128 features that are noise around the features of the community. Node ids are permuted, so that the nodes of a
//! community are scattered over the file. `large batches DATA STEPS DIR [KEY=VALUE]…` writes the nodes and the induced edges of
//! the first mini-batches of a run, so that PyTorch Geometric can train on the same batches.

use std::io::Write;
use std::path::Path;

use controlg::config::{self, Config};
use controlg::data::arrays::write_npy;
use controlg::data::binary::BinaryWriter;
use controlg::data::{self, LoadOptions};
use controlg::graph::{EdgeList, Ids};
use controlg::rng::Stream;
use controlg::train;
use controlg::{Real, Result};
use rayon::prelude::*;

const DEGREE: usize = 10;
const FEATURES: usize = 128;
const COMMUNITY: usize = 1000;
/// Nodes per random stream.
const CHUNK: usize = 1 << 13;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["generate", nodes, out] => generate(nodes.parse().expect("a number of nodes"), Path::new(out)),
        ["batches", data, steps, out, ref sets @ ..] => {
            batches(data, steps.parse().expect("a number of steps"), Path::new(out), sets)
        }
        _ => {
            println!(
                "usage: large generate NODES DIR, or large batches DATA STEPS DIR [KEY=VALUE]… (see benches/large)"
            );
            Ok(())
        }
    };
    done.expect("the graph can be written");
}

fn generate(nodes: usize, out: &Path) -> Result<()> {
    let permutation = Permutation::new(nodes);
    let chunks: Vec<usize> = (0..nodes.div_ceil(CHUNK)).collect();
    let pairs: Vec<(u32, u32)> = chunks
        .par_iter()
        .flat_map_iter(|&chunk| {
            let mut stream = Stream::new(0, "large", "edges", chunk as u64);
            let span = chunk * CHUNK..nodes.min((chunk + 1) * CHUNK);
            span.flat_map(|node| (0..DEGREE / 2).map(move |edge| (node, edge)))
                .map(|(node, edge)| {
                    let community = node / COMMUNITY * COMMUNITY;
                    let size = COMMUNITY.min(nodes - community);
                    let other = match edge % 2 {
                        0 => community + stream.below(size),
                        _ => stream.below(nodes),
                    };
                    (permutation.apply(node), permutation.apply(other))
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(nodes).unwrap();
    let mut writer = BinaryWriter::new(out, FEATURES, vec!["a random graph of benches/large".to_owned()])?;
    writer.adjacency(&adjacency)?;
    drop(adjacency);
    writer.ids(&Ids::Numbered(nodes))?;
    writer.dense(|to| {
        for some in chunks.chunks(64) {
            let rows: Vec<Vec<u8>> =
                some.par_iter().map(|&chunk| features(nodes, chunk, &permutation)).collect();
            rows.iter().try_for_each(|rows| to.write_all(rows))?;
        }
        Ok(())
    })?;
    writer.publish(out)
}

/// The features of a chunk of nodes: noise plus the features of the community.
fn features(nodes: usize, chunk: usize, permutation: &Permutation) -> Vec<u8> {
    let mut stream = Stream::new(0, "large", "features", chunk as u64);
    let mut bytes = Vec::with_capacity(CHUNK * FEATURES * 4);
    for node in chunk * CHUNK..nodes.min((chunk + 1) * CHUNK) {
        let mut own = (permutation.invert(node) / COMMUNITY) as u64 + 1;
        for _ in 0..FEATURES / 4 {
            own = own.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (noise, shift) = (stream.bits(), own >> 32);
            for byte in 0..4 {
                let part = |bits: u64| ((bits >> (8 * byte)) & 255) as f32 / 128.0 - 1.0;
                bytes.extend_from_slice(&(part(noise) + part(shift)).to_le_bytes());
            }
        }
    }
    bytes
}

/// An invertible permutation of 0..n: multiplication modulo n.
struct Permutation {
    n: usize,
    factor: usize,
    inverse: usize,
}

impl Permutation {
    fn new(n: usize) -> Self {
        // The first number from 0.6·n on that is coprime to n, and its inverse (extended Euclidean algorithm).
        let start = (n * 3 / 5).max(1);
        let factor = (start..).find(|&factor| gcd(factor, n) == 1).unwrap_or(1);
        let (mut old, mut new) = ((factor as i128, 1i128), (n as i128, 0i128));
        while new.0 != 0 {
            let whole = old.0 / new.0;
            (old, new) = (new, (old.0 - whole * new.0, old.1 - whole * new.1));
        }
        Permutation { n, factor, inverse: old.1.rem_euclid(n as i128) as usize }
    }

    fn apply(&self, node: usize) -> u32 {
        (node as u128 * self.factor as u128 % self.n as u128) as u32
    }

    fn invert(&self, node: usize) -> usize {
        (node as u128 * self.inverse as u128 % self.n as u128) as usize
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Arrays for `pyg_side.py`: `nodes-K.npy` and `edges-K.npy` (pairs of indices within the batch, in both directions).
fn batches(data: &str, steps: u64, out: &Path, sets: &[&str]) -> Result<()> {
    let graph = data::load(data, &LoadOptions::default())?.graph;
    let mut table = Config::preset("any");
    for set in sets {
        config::set(&mut table, set)?;
    }
    let batches = train::sample_batches(&graph, &Config::from_table(table)?, 0..steps)?;
    std::fs::create_dir_all(out).expect("the folder can be created");
    for (step, batch) in batches.iter().enumerate() {
        let nodes: Vec<Real> = batch.nodes.iter().map(|&node| node as Real).collect();
        write_npy(&out.join(format!("nodes-{step}.npy")), nodes.len(), 1, &nodes)?;
        let edges: Vec<Real> =
            batch.graph.edges().flat_map(|(u, v)| [u, v, v, u]).map(|node| node as Real).collect();
        write_npy(&out.join(format!("edges-{step}.npy")), edges.len() / 2, 2, &edges)?;
    }
    writeln!(std::io::stdout(), "{} batches", batches.len()).expect("an open output");
    Ok(())
}
