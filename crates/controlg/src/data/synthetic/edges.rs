//! Edges of a degree-corrected block model.
//!
//! A node's pull is Pareto-distributed, which gives degrees a heavy tail. Every node first draws one partner, so
//! that none is left alone; the other edges draw both ends by pull. A partner is of the same class with the
//! probability `homophily`, else of any other class.

use rayon::prelude::*;

use super::alias::Alias;
use super::{CHUNK, SyntheticSettings};
use crate::rng::Stream;

/// The distinct edges (smaller, larger), ascending: exactly `nodes · degree / 2` of them unless the classes leave
/// too few pairs to choose from.
pub(super) fn draw(settings: &SyntheticSettings, classes: &[u32]) -> Vec<(u32, u32)> {
    let target = (settings.nodes as f64 * settings.degree / 2.0).round() as usize;
    if settings.nodes < 2 || target == 0 {
        return Vec::new();
    }
    let partners = Partners::new(settings, classes);
    let mut edges: Vec<u64> = Vec::new();
    // Repeated pairs are drawn again; a graph whose classes cannot hold the edges ends with fewer.
    for round in 0..20 {
        let missing = target - edges.len();
        let fresh: Vec<u64> = (0..missing.div_ceil(CHUNK))
            .into_par_iter()
            .flat_map_iter(|chunk| {
                let name = if round == 0 { "edges" } else { "edges again" };
                let mut stream =
                    Stream::new(settings.seed, "synthetic", name, ((round as u64) << 40) + chunk as u64);
                let partners = &partners;
                (chunk * CHUNK..missing.min((chunk + 1) * CHUNK)).filter_map(move |edge| {
                    let first = if round == 0 && edge < settings.nodes { Some(edge as u32) } else { None };
                    partners.edge(first, &mut stream)
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

/// Who draws whom.
struct Partners<'a> {
    classes: &'a [u32],
    homophily: f64,
    everyone: Alias,
    /// The nodes of each class and their pulls.
    of_class: Vec<(Vec<u32>, Alias)>,
}

impl<'a> Partners<'a> {
    fn new(settings: &SyntheticSettings, classes: &'a [u32]) -> Self {
        let mut pulls = vec![0.0; settings.nodes];
        let most = (settings.nodes as f64).sqrt();
        pulls.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, pulls)| {
            let mut stream = Stream::new(settings.seed, "synthetic", "pulls", chunk as u64);
            for pull in pulls {
                *pull = (1.0 - stream.uniform()).powf(-0.5).min(most);
            }
        });
        let mut nodes = vec![Vec::new(); settings.classes];
        for (node, &class) in classes.iter().enumerate() {
            nodes[class as usize].push(node as u32);
        }
        let of_class = nodes
            .into_par_iter()
            .map(|nodes| {
                let pulls: Vec<f64> = nodes.iter().map(|&node| pulls[node as usize]).collect();
                let alias = Alias::new(&pulls);
                (nodes, alias)
            })
            .collect();
        let homophily = if settings.classes == 1 { 1.0 } else { settings.homophily };
        Partners { classes, homophily, everyone: Alias::new(&pulls), of_class }
    }

    /// One edge as smaller << 32 | larger; `None` when no partner was found in a fair number of tries.
    fn edge(&self, first: Option<u32>, stream: &mut Stream) -> Option<u64> {
        let u = first.unwrap_or_else(|| self.everyone.draw(stream) as u32);
        let class = self.classes[u as usize];
        let same = stream.uniform() < self.homophily;
        for _ in 0..100 {
            let v = if same {
                let (nodes, alias) = &self.of_class[class as usize];
                nodes[alias.draw(stream)]
            } else {
                self.everyone.draw(stream) as u32
            };
            if v != u && (self.classes[v as usize] == class) == same {
                return Some(u64::from(u.min(v)) << 32 | u64::from(u.max(v)));
            }
        }
        None
    }
}
