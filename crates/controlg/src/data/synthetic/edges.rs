//! Edges of a degree-corrected stochastic block model.
//!
//! Each node has a Pareto-distributed weight, which gives the degrees a heavy tail. Every node first draws one
//! neighbor, so that no node is isolated; for the remaining edges both endpoints are drawn by weight. The neighbor has
//! the same class with probability `homophily`; a node of a paired class, the partner class instead.

use rayon::prelude::*;

use super::alias::AliasTable;
use super::{CHUNK, SyntheticSettings};
use crate::rng::Stream;

/// Draws distinct edges (u, v) with u < v, in ascending order: exactly `nodes · degree / 2`, or fewer if the classes
/// do not have enough pairs.
pub(super) fn draw(settings: &SyntheticSettings, classes: &[u32]) -> Vec<(u32, u32)> {
    let target = (settings.nodes as f64 * settings.degree / 2.0).round() as usize;
    if settings.nodes < 2 || target == 0 {
        return Vec::new();
    }
    let sampler = EdgeSampler::new(settings, classes);
    let mut edges: Vec<u64> = Vec::new();
    // Duplicates are drawn again, up to 20 times.
    for round in 0..20 {
        let missing = target - edges.len();
        let fresh: Vec<u64> = (0..missing.div_ceil(CHUNK))
            .into_par_iter()
            .flat_map_iter(|chunk| {
                let name = if round == 0 { "edges" } else { "edges again" };
                let mut stream =
                    Stream::new(settings.seed, "synthetic", name, ((round as u64) << 40) + chunk as u64);
                let sampler = &sampler;
                (chunk * CHUNK..missing.min((chunk + 1) * CHUNK)).filter_map(move |edge| {
                    let first = if round == 0 && edge < settings.nodes { Some(edge as u32) } else { None };
                    sampler.edge(first, &mut stream)
                })
            })
            .collect();
        edges.extend(fresh);
        edges.par_sort_unstable();
        edges.dedup();
        if edges.len() == target {
            break;
        }
    }
    edges.into_iter().map(|edge| ((edge >> 32) as u32, edge as u32)).collect()
}

/// Samples endpoints of edges.
struct EdgeSampler<'a> {
    classes: &'a [u32],
    homophily: f64,
    /// Classes below this one are paired: 0 with 1, 2 with 3, and so on.
    paired: u32,
    all_nodes: AliasTable,
    /// The nodes of each class with their weights.
    of_class: Vec<(Vec<u32>, AliasTable)>,
}

impl<'a> EdgeSampler<'a> {
    fn new(settings: &SyntheticSettings, classes: &'a [u32]) -> Self {
        let mut weights = vec![0.0; settings.nodes];
        let largest = (settings.nodes as f64).sqrt();
        weights.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, weights)| {
            // The stream names are part of the generated graph: they never change.
            let mut stream = Stream::new(settings.seed, "synthetic", "pulls", chunk as u64);
            for weight in weights {
                *weight = (1.0 - stream.uniform()).powf(-0.5).min(largest);
            }
        });
        let mut nodes = vec![Vec::new(); settings.classes];
        for (node, &class) in classes.iter().enumerate() {
            nodes[class as usize].push(node as u32);
        }
        let of_class = nodes
            .into_par_iter()
            .map(|nodes| {
                let weights: Vec<f64> = nodes.iter().map(|&node| weights[node as usize]).collect();
                let alias = AliasTable::new(&weights);
                (nodes, alias)
            })
            .collect();
        let homophily = if settings.classes == 1 { 1.0 } else { settings.homophily };
        let paired = 2 * (settings.paired * settings.classes as f64 / 2.0).floor() as u32;
        EdgeSampler { classes, homophily, paired, all_nodes: AliasTable::new(&weights), of_class }
    }

    /// Draws an edge (u, v) with u < v as `u << 32 | v`; `None` if no neighbor was found in 100 tries.
    fn edge(&self, first: Option<u32>, stream: &mut Stream) -> Option<u64> {
        let u = first.unwrap_or_else(|| self.all_nodes.sample(stream) as u32);
        let class = self.classes[u as usize];
        let class = if class < self.paired { class ^ 1 } else { class };
        let same = stream.uniform() < self.homophily;
        for _ in 0..100 {
            let v = if same {
                let (nodes, alias) = &self.of_class[class as usize];
                nodes[alias.sample(stream)]
            } else {
                self.all_nodes.sample(stream) as u32
            };
            if v != u && (self.classes[v as usize] == class) == same {
                return Some(u64::from(u.min(v)) << 32 | u64::from(u.max(v)));
            }
        }
        None
    }
}
