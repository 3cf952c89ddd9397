//! `p_minsg`, node-subgraph contrast: match each node in one view with its neighborhood in another.
//!
//! L = −(1/B) Σ_v log( e^{cos(p_v, q_v)/τ} / Σ_u e^{cos(p_v, q_u)/τ} ), p = head(z⁽¹⁾), q = head(c⁽²⁾), over B nodes,
//! with the contexts of the other nodes as negatives. c is a readout of the neighborhood in the second view:
//! `walk-mean` C = (I + P + … + P^hops)·Z/(hops + 1) with P = D⁻¹A of the clean graph (an isolated node is its own
//! context), `ego-mean` the mean over the exact k-hop neighborhood, `node` Z itself. Z: n×h. The initial loss is about
//! ln B.
//!
//! On a graph with node types, `metapaths` replaces the readout; see `metapaths.rs`.
//!
//! On dense graphs the exact neighborhood is nearly the whole graph and all contexts coincide; the walk keeps them apart.

use serde::{Deserialize, Serialize};

use super::head::Head;
use super::held_out::NodeSplit;
use super::metapaths::MetaPaths;
use super::{HeadDims, LossInput, Objective, Purpose, ViewSpec, unsuitable};
use crate::error::{Error, Result};
use crate::graph::{Csr, Graph, Operator, OperatorKind, Subgraph};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range, Scalar};
use crate::tensor::{Contrast, Params, Tape, Var};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_minsg",
    summary: "node-subgraph contrast: match each node with its neighborhood in another view",
    paper: "Ju et al., Multi-task Self-supervised Graph Neural Networks Enable Stronger Task Generalization, ICLR 2023",
    keys: KEYS,
    defaults: || setting::table_of(&MinsgSettings::default()),
    build: |table| {
        let settings = setting::settings("objective.p_minsg", KEYS, table)?;
        Ok(Box::new(Minsg { settings, operator: None, metapaths: None, split: None }))
    },
};

const KEYS: &[Key] = &[
    Key::new(
        "readout",
        Range::OneOf(&["walk-mean", "ego-mean", "node"]),
        "context of a node: mean along walks, mean over the exact k-hop neighborhood, or the node itself",
    ),
    Key::new("hops", Range::Whole(1, 10), "number of hops of the context"),
    Key::new(
        "ego_nodes",
        Range::Whole(0, 1 << 20),
        "maximum number of nodes per neighborhood, sampled; 0 for no limit",
    ),
    Key::new("similarity", Range::OneOf(&["cosine", "dot"]), "similarity of two rows"),
    Key::new("head", Range::OneOf(&["mlp", "none"]), "projection head: a two-layer MLP or none"),
    Key::new("batch", Range::Whole(2, 1 << 20), "nodes per step and per sensing"),
    Key::new("temperature", Range::Number(1e-3, 100.0), "softmax temperature of the similarities"),
    Key::new("symmetric", Range::Flag, "also match contexts with their nodes"),
    Key::new("intra_view", Range::Flag, "also use nodes of the same view as negatives"),
    Key::new("drop_edges", Range::Below(0.0, 1.0), "fraction of edges dropped in each view"),
    Key::new("mask_features", Range::Below(0.0, 1.0), "fraction of feature columns masked in each view"),
    Key::new("hidden", Range::Whole(0, 65_536), "width of the projection head; 0 for the embedding width")
        .added_later(Scalar::Whole(0)),
    Key::new(
        "metapaths",
        Range::Text,
        "meta-paths of the context such as \"paper-author-paper,paper-paper\", instead of the readout; \"\": walks over all relations",
    )
    .added_later(Scalar::Text("")),
];

/// Maximum total size of all exact neighborhoods.
const MAX_ENTRIES: usize = 5_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct MinsgSettings {
    readout: Readout,
    hops: usize,
    ego_nodes: usize,
    similarity: Similarity,
    head: Head,
    batch: usize,
    temperature: f64,
    symmetric: bool,
    intra_view: bool,
    drop_edges: f64,
    mask_features: f64,
    hidden: usize,
    metapaths: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Readout {
    WalkMean,
    EgoMean,
    Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Similarity {
    Cosine,
    Dot,
}

impl Default for MinsgSettings {
    fn default() -> Self {
        MinsgSettings {
            readout: Readout::WalkMean,
            hops: 3,
            ego_nodes: 0,
            similarity: Similarity::Cosine,
            head: Head::Mlp,
            batch: 2048,
            temperature: 0.2,
            symmetric: false,
            intra_view: false,
            drop_edges: 0.3,
            mask_features: 0.3,
            hidden: 0,
            metapaths: String::new(),
        }
    }
}

#[derive(Clone)]
struct Minsg {
    settings: MinsgSettings,
    /// One step of the walk, or the mean over neighborhoods.
    operator: Option<Operator>,
    /// The meta-paths of the context, if they are given.
    metapaths: Option<MetaPaths>,
    /// The anchors that are held out.
    split: Option<NodeSplit>,
}

impl Objective for Minsg {
    fn check(&self, graph: &Graph) -> Result<()> {
        match graph.n_nodes() {
            1 => Err(unsuitable("p_minsg", "one node", "at least two nodes to contrast")),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        if !self.settings.metapaths.is_empty() {
            self.metapaths = Some(MetaPaths::new(&self.settings.metapaths, graph)?);
            return Ok(());
        }
        let MinsgSettings { readout, hops, ego_nodes, .. } = self.settings;
        self.operator = match readout {
            Readout::WalkMean => Some(walk(graph.adjacency())),
            Readout::EgoMean => Some(ego_mean(graph.adjacency(), hops, ego_nodes)?),
            Readout::Node => None,
        };
        Ok(())
    }

    fn prepare_shapes(&mut self, graph: &Graph) -> Result<()> {
        if !self.settings.metapaths.is_empty() {
            return self.prepare(graph);
        }
        let entries = self.operator_entries(graph);
        self.operator =
            entries.map(|entries| Operator::shape_only(graph.n_nodes(), entries, OperatorKind::Symmetric));
        Ok(())
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        self.check(&batch.graph)?;
        let split = self.split.as_ref().map(|split| split.on_batch(batch));
        let mut on_batch = Minsg { settings: self.settings.clone(), operator: None, metapaths: None, split };
        on_batch.prepare(&batch.graph)?;
        Ok(Box::new(on_batch))
    }

    fn hold_out(&mut self, graph: &Graph, share: f64, stream: &mut Stream) -> Result<()> {
        self.split = Some(NodeSplit::draw("p_minsg", graph, share, 2, stream)?);
        Ok(())
    }

    fn n_held_out(&self) -> usize {
        self.split.as_ref().map_or(0, |split| split.held_out.len())
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        let out = if self.settings.hidden > 0 { self.settings.hidden } else { dims.width };
        self.settings.head.init(dims.width, out, params, group, stream);
    }

    fn prepared_bytes(&self, graph: &Graph) -> usize {
        if !self.settings.metapaths.is_empty() {
            let metapaths = MetaPaths::new(&self.settings.metapaths, graph);
            return metapaths.map_or(0, |metapaths| metapaths.memory_bytes());
        }
        let Some(entries) = self.operator_entries(graph) else { return 0 };
        // A column index and a value per entry, twice because of the transpose.
        2 * (entries * (size_of::<u32>() + size_of::<crate::Real>()) + graph.n_nodes() * size_of::<usize>())
    }

    fn views(&self) -> Vec<ViewSpec> {
        ViewSpec::equal_views(self.settings.drop_edges, self.settings.mask_features)
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, mut input: LossInput<'a, '_>) -> Var {
        let (anchors, n_held_out) = self.anchors(&mut input);
        let head = tape.group(input.group);
        let contexts = self.contexts(tape, input.z[1], &anchors);
        let [p, q] = [tape.gather(input.z[0], anchors), contexts].map(|picked| {
            let projected = self.settings.head.apply(tape, &head, picked);
            match self.settings.similarity {
                Similarity::Cosine => tape.normalize_rows(projected),
                Similarity::Dot => projected,
            }
        });
        let contrast = Contrast {
            temperature: self.settings.temperature,
            intra_view: self.settings.intra_view,
            both_directions: self.settings.symmetric,
        };
        match n_held_out {
            0 => tape.info_nce(p, q, contrast),
            n => held_out_contrast(tape, p, q, n, contrast),
        }
    }
}

/// The loss of the first `n` pairs of rows with all rows as negatives: as many as in training, so that the levels of both
/// losses compare.
fn held_out_contrast(tape: &mut Tape<'_>, p: Var, q: Var, n: usize, contrast: Contrast) -> Var {
    let first: Vec<u32> = (0..n as u32).collect();
    let mut direction = |from: Var, to: Var| {
        let anchors = tape.gather(from, first.clone());
        let scores = tape.matmul_transposed(anchors, to);
        let scores = tape.scale(scores, 1.0 / contrast.temperature);
        tape.cross_entropy(scores, first.clone())
    };
    let forth = direction(p, q);
    if !contrast.both_directions {
        return forth;
    }
    let back = direction(q, p);
    tape.weighted_sum(&[(0.5, forth), (0.5, back)])
}

impl Minsg {
    /// The nodes to contrast, and how many of them, the first ones, are held-out anchors. The others are then their negatives
    /// only.
    fn anchors(&self, input: &mut LossInput<'_, '_>) -> (Vec<u32>, usize) {
        let batch = self.settings.batch;
        let Some(split) = &self.split else {
            return (input.stream.sample(input.graph.n_nodes(), batch), 0);
        };
        let held_out = match input.purpose {
            Purpose::HeldOut => &split.held_out[..split.held_out.len().min(batch)],
            Purpose::Training | Purpose::Sensing => &[],
        };
        let others = input.stream.sample(split.trained.len(), batch - held_out.len());
        let others = others.into_iter().map(|at| split.trained[at as usize]);
        (held_out.iter().copied().chain(others).collect(), held_out.len())
    }

    /// Entries of the operator, at most; `None` if there is none.
    fn operator_entries(&self, graph: &Graph) -> Option<usize> {
        let MinsgSettings { readout, ego_nodes, .. } = self.settings;
        match readout {
            Readout::WalkMean => Some(graph.adjacency().n_entries()),
            Readout::EgoMean => Some(MAX_ENTRIES.min(graph.n_nodes().saturating_mul(ego_nodes.max(1)))),
            Readout::Node => None,
        }
    }

    /// The context of every anchor.
    fn contexts<'a>(&'a self, tape: &mut Tape<'a>, z: Var, anchors: &[u32]) -> Var {
        let anchors = anchors.to_vec();
        if let Some(metapaths) = &self.metapaths {
            let contexts = metapaths.contexts(tape, z);
            return tape.gather(contexts, anchors);
        }
        match (&self.operator, self.settings.readout) {
            (None, _) => tape.gather(z, anchors),
            (Some(operator), Readout::WalkMean) => {
                tape.walk_mean_at(operator, z, self.settings.hops, anchors)
            }
            (Some(operator), _) => {
                let all = tape.propagate(operator, z);
                tape.gather(all, anchors)
            }
        }
    }
}

/// D⁻¹A, with a self-loop at isolated nodes.
fn walk(adjacency: &Csr) -> Operator {
    operator_from_rows(adjacency.n_rows(), |node, row| {
        let total: f64 = adjacency.entries(node).map(|(_, weight)| f64::from(weight)).sum();
        row.extend(adjacency.entries(node).map(|(other, weight)| (other, f64::from(weight) / total)));
        if row.is_empty() {
            row.push((node as u32, 1.0));
        }
        Ok(())
    })
    .expect("the rows of a walk cannot fail")
}

/// The mean over the `hops`-hop neighborhood, including the node itself; over `max_nodes` sampled ones if it has more and
/// `max_nodes` is not 0.
fn ego_mean(adjacency: &Csr, hops: usize, max_nodes: usize) -> Result<Operator> {
    let (mut seen, mut total) = (vec![u32::MAX; adjacency.n_rows()], 0);
    operator_from_rows(adjacency.n_rows(), |node, row| {
        let mut nodes = vec![node as u32];
        seen[node] = node as u32;
        let mut reached = 0;
        for _ in 0..hops {
            let frontier = reached..nodes.len();
            reached = nodes.len();
            for at in frontier {
                for &next in adjacency.row(nodes[at] as usize) {
                    if std::mem::replace(&mut seen[next as usize], node as u32) != node as u32 {
                        nodes.push(next);
                    }
                }
            }
        }
        if max_nodes > 0 && nodes.len() > max_nodes {
            let mut stream = Stream::new(0, "sense", "p_minsg/ball", node as u64);
            let picked = stream.sample(nodes.len(), max_nodes);
            nodes = picked.into_iter().map(|at| nodes[at as usize]).collect();
        }
        total += nodes.len();
        if total > MAX_ENTRIES {
            return Err(Error::value(
                "objective.p_minsg.readout",
                format_args!("ego-mean with neighborhoods of more than {MAX_ENTRIES} nodes in total"),
                "walk-mean, or a limit such as objective.p_minsg.ego_nodes = 64",
            ));
        }
        nodes.sort_unstable();
        let share = 1.0 / nodes.len() as f64;
        row.extend(nodes.into_iter().map(|other| (other, share)));
        Ok(())
    })
}

/// Builds an operator row by row from (column, value) pairs.
fn operator_from_rows(
    n: usize,
    mut fill: impl FnMut(usize, &mut Vec<(u32, f64)>) -> Result<()>,
) -> Result<Operator> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut row = Vec::new();
    for node in 0..n {
        row.clear();
        fill(node, &mut row)?;
        columns.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| entry.1 as crate::Real));
        offsets.push(columns.len());
    }
    Ok(Operator::general(Csr::from_parts(n, offsets, columns, Some(values))))
}
