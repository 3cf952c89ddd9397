//! `p_link`, link prediction: tell edges from non-edges. `x_memorize` is this objective with other settings.
//!
//! L = −mean_{E⁺} log σ(s_uv) − mean_{E⁻} log(1 − σ(s_uv)), with U = relu(norm(Z)·W + b), s_uv = wᵀ(U_u ⊙ U_v) + c.
//! Positives are edges, negatives as many sampled non-edges. Z: n×h, W: h×hidden, w: 1×hidden. The initial loss is about
//! 2 ln 2.
//!
//! A fraction `mask` of the edges is hidden from the encoder, and these are the positives (Li et al., What's Behind the
//! Mask: Understanding Masked Graph Modeling for Graph Autoencoders, KDD 2023). An encoder that sees the edges it is asked for
//! memorizes them instead of learning what makes an edge likely. With `mask = 0` it sees all edges, as in the paper.
//!
//! On a graph with several relations the loss is the mean of one loss per relation, weighted by edges or equally. Negatives of a
//! relation join nodes of its types, and each relation has a w and c of its own.
//!
//! Rows are normalized before the head because plain dot products start with very large logits.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::held_out::{Hidden, PairSplit};
use super::relation_pairs::{self, RelationPairs};
use super::{AugmentedView, HeadDims, LossInput, Objective, Purpose, ViewSpec, unsuitable, weighted_mean};
use crate::error::Result;
use crate::graph::{EdgeDropper, EncoderInput, Graph, Relations, Subgraph};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range, Scalar};
use crate::tensor::{Activation, Averaging, Init, Params, Tape, Var};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_link",
    summary: "link prediction: tell edges from non-edges",
    paper: "Zhang and Chen, Link Prediction Based on Graph Neural Networks, NeurIPS 2018; Ju et al., Multi-task \
            Self-supervised Graph Neural Networks Enable Stronger Task Generalization, ICLR 2023",
    keys: KEYS,
    defaults: || setting::table_of(&LinkSettings::default()),
    build: |table| Ok(Box::new(Link::new("p_link", setting::settings("objective.p_link", KEYS, table)?))),
};

pub(super) const HIDDEN: Key = Key::new("hidden", Range::Whole(1, 65_536), "hidden width of the MLP");
pub(super) const BATCH: Key =
    Key::new("batch", Range::Whole(1, 1 << 30), "edges per step, with as many non-edges");
pub(super) const SENSE_BATCH: Key = Key::new("sense_batch", Range::Whole(1, 1 << 30), "edges per sensing");

const KEYS: &[Key] = &[
    Key::new("decoder", Range::OneOf(&["mlp", "dot"]), "score of a pair: an MLP or the dot product"),
    HIDDEN,
    BATCH,
    SENSE_BATCH,
    Key::new(
        "mean",
        Range::OneOf(&["separate", "joint"]),
        "average positives and negatives separately or jointly",
    ),
    Key::new(
        "mask",
        Range::Below(0.0, 1.0),
        "fraction of edges hidden from the encoder, which are the positives; 0: it sees all edges",
    )
    .added_later(Scalar::Number(0.0)),
    Key::new("dropout", Range::Below(0.0, 1.0), "dropout rate on the hidden layer of the MLP")
        .added_later(Scalar::Number(0.0)),
    Key::new(
        "negatives",
        Range::OneOf(&["uniform", "degree"]),
        "non-edges drawn uniformly, or with nodes in proportion to their degrees",
    )
    .added_later(Scalar::Text("uniform")),
    Key::new(
        "relation_weights",
        Range::OneOf(&["edges", "equal"]),
        "weights of the losses of relations: the number of edges, or equal",
    )
    .added_later(Scalar::Text("edges")),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LinkSettings {
    pub(super) decoder: Decoder,
    pub(super) hidden: usize,
    pub(super) batch: usize,
    pub(super) sense_batch: usize,
    pub(super) mean: PairMean,
    pub(super) mask: f64,
    pub(super) dropout: f64,
    pub(super) negatives: Negatives,
    pub(super) relation_weights: LossWeights,
}

/// How the losses of relations are averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LossWeights {
    /// By the number of edges to predict.
    #[default]
    Edges,
    /// Each relation counts the same.
    Equal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Negatives {
    /// Any pair without an edge is equally likely.
    Uniform,
    /// Nodes are drawn like the ends of random edges. Then the degree alone does not tell positives from negatives.
    Degree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Decoder {
    Mlp,
    Dot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PairMean {
    Separate,
    Joint,
}

impl Default for LinkSettings {
    fn default() -> Self {
        LinkSettings {
            decoder: Decoder::Mlp,
            hidden: 256,
            batch: 8192,
            sense_batch: 50_000,
            mean: PairMean::Separate,
            mask: 0.7,
            dropout: 0.0,
            negatives: Negatives::Uniform,
            relation_weights: LossWeights::Edges,
        }
    }
}

/// Attempts to draw a non-edge by degree before it is drawn uniformly.
const DEGREE_ATTEMPTS: usize = 32;

/// Link prediction, under the name of its objective.
#[derive(Clone)]
pub(super) struct Link {
    name: &'static str,
    settings: LinkSettings,
    /// The edges to train on.
    edges: Vec<(u32, u32)>,
    /// All non-edges to train on of a dense graph, where rejection sampling would be slow; empty otherwise.
    non_edges: Vec<(u32, u32)>,
    /// The pairs that are held out: those edges are hidden in every view.
    split: Option<PairSplit>,
}

impl Objective for Link {
    fn check(&self, graph: &Graph) -> Result<()> {
        if let Some(relations) = graph.several_relations() {
            return self.check_relations(graph, relations);
        }
        let pairs = graph.n_nodes() as u128 * (graph.n_nodes() as u128 - 1) / 2;
        match graph.n_edges() as u128 {
            0 => Err(unsuitable(self.name, "a graph without edges", "at least one edge to predict")),
            all if all == pairs => Err(unsuitable(
                self.name,
                "a graph with every possible edge",
                "a pair of nodes without an edge",
            )),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        u32::try_from(graph.n_edges()).map_err(|_| {
            unsuitable(self.name, format_args!("{} edges", graph.n_edges()), "fewer than 2³²")
        })?;
        self.edges = graph.edges().collect();
        let n = graph.n_nodes() as u32;
        if graph.several_relations().is_none() && 4 * graph.n_edges() as u64 > u64::from(n) * u64::from(n - 1)
        {
            let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
            self.non_edges = pairs.filter(|&(u, v)| !graph.adjacency().contains(u, v)).collect();
        }
        Ok(())
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        let mut on_batch = Link::new(self.name, self.settings.clone());
        on_batch.check(&batch.graph)?;
        on_batch.prepare(&batch.graph)?;
        if let Some(split) = &self.split {
            on_batch.keep_aside(split.on_batch(batch))?;
        }
        Ok(Box::new(on_batch))
    }

    fn hold_out(&mut self, graph: &Graph, share: f64, stream: &mut Stream) -> Result<()> {
        let mut edges: Vec<(u32, u32)> = graph.edges().collect();
        let count = (share * edges.len() as f64).ceil() as usize;
        let drawn = stream.sample(edges.len(), count);
        edges = drawn.into_iter().map(|at| edges[at as usize]).collect();
        edges.sort_unstable();
        // A dense graph may have fewer non-edges; half of them stay for training.
        let most = if self.non_edges.is_empty() { usize::MAX } else { self.non_edges.len() / 2 };
        let mut non_edges = BTreeSet::new();
        if let Some(relations) = graph.several_relations() {
            for (relation, edges) in relation_pairs::by_relation(graph, relations, &edges).iter().enumerate()
            {
                for _ in edges {
                    let pair = relation_pairs::negative(graph, relations, relation, |_| true, stream);
                    non_edges.extend(pair.map(|(u, v)| (u.min(v), u.max(v))));
                }
            }
        }
        while graph.several_relations().is_none() && non_edges.len() < edges.len().min(most) {
            let (u, v) = self.negative(graph, stream);
            non_edges.insert((u.min(v), u.max(v)));
        }
        if non_edges.is_empty() {
            let found = format!("{} non-edges with sense.held_out = {share}", self.non_edges.len());
            return Err(unsuitable(self.name, found, "at least one held out and one to train on"));
        }
        self.keep_aside(PairSplit { edges, non_edges: non_edges.into_iter().collect() })
    }

    fn n_held_out(&self) -> usize {
        self.split.as_ref().map_or(0, |split| split.edges.len().min(split.non_edges.len()))
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        if self.settings.decoder == Decoder::Mlp {
            let hidden = self.settings.hidden;
            params.add(group, "weight", (dims.width, hidden), Init::XavierUniform, stream);
            params.add(group, "bias", (1, hidden), Init::Constant(0.0), stream);
            params.add(group, "score.weight", (dims.n_relations, hidden), Init::XavierUniform, stream);
            params.add(group, "score.bias", (dims.n_relations, 1), Init::Constant(0.0), stream);
        }
    }

    fn prepared_bytes(&self, graph: &Graph) -> usize {
        graph.n_edges() * size_of::<(u32, u32)>()
    }

    fn views(&self) -> Vec<ViewSpec> {
        let custom = self.split.is_some();
        vec![ViewSpec { hide_edges: self.settings.mask, custom, ..ViewSpec::default() }]
    }

    fn augment<'a>(
        &'a self,
        spec: &ViewSpec,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        let edges = self.split.as_ref().map_or(&[][..], |split| &split.edges);
        spec.sample_without(Hidden { nodes: None, edges }, graph, prepared, dropper, stream)
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, mut input: LossInput<'a, '_>) -> Var {
        let edges = match self.settings.mask > 0.0 {
            true => &input.views[0].hidden_edges[..],
            false => &self.edges[..],
        };
        if let Some(relations) = input.graph.several_relations() {
            let pairs = self.pairs_by_relation(relations, edges, &mut input);
            return self.relation_loss(tape, &mut input, pairs);
        }
        let (us, vs, n_positive) = match (input.purpose, &self.split) {
            (Purpose::HeldOut, Some(split)) => held_out_pairs(split, self.settings.sense_batch),
            (Purpose::Training, _) => self.pairs(input.graph, edges, self.settings.batch, input.stream),
            _ => self.pairs(input.graph, edges, self.settings.sense_batch, input.stream),
        };
        let head = tape.group(input.group);
        let u = self.hidden(tape, &mut input, &head);
        let scores = match head[..] {
            [_, _, weight, bias] => {
                let scores = tape.pair_dot_weighted(u, weight, us, vs);
                tape.activate(scores, Some(bias), Activation::Identity)
            }
            _ => tape.pair_dot(u, us, vs),
        };
        tape.binary_cross_entropy(scores, n_positive, self.averaging())
    }
}

impl Link {
    /// Not prepared for a graph yet.
    pub(super) fn new(name: &'static str, settings: LinkSettings) -> Link {
        Link { name, settings, edges: vec![], non_edges: vec![], split: None }
    }

    /// What pairs are scored by: the hidden layer of the MLP, or the embeddings.
    fn hidden<'a>(&self, tape: &mut Tape<'a>, input: &mut LossInput<'a, '_>, head: &[Var]) -> Var {
        if self.settings.decoder == Decoder::Dot {
            return input.z[0];
        }
        let z = tape.normalize_rows(input.z[0]);
        let u = tape.linear(z, head[0], Some(head[1]), Activation::Relu);
        match input.purpose {
            Purpose::Training => tape.dropout(u, self.settings.dropout, input.stream),
            _ => u,
        }
    }

    fn averaging(&self) -> Averaging {
        match self.settings.mean {
            PairMean::Separate => Averaging::Separate,
            PairMean::Joint => Averaging::Joint,
        }
    }

    /// Every relation needs a pair of nodes that no relation joins.
    fn check_relations(&self, graph: &Graph, relations: &Relations) -> Result<()> {
        let edges = relations.n_edges(graph.adjacency());
        if edges.iter().all(|&edges| edges == 0) {
            return Err(unsuitable(self.name, "a graph without edges", "at least one edge to predict"));
        }
        for (at, relation) in
            relations.schema().relations().iter().enumerate().filter(|(at, _)| edges[*at] > 0)
        {
            let stream = &mut Stream::new(0, "objective", self.name, at as u64);
            if relation_pairs::negative(graph, relations, at, |_| true, stream).is_none() {
                let found = format!("every possible edge of {}", relation.name);
                return Err(unsuitable(self.name, found, "a pair of nodes without an edge"));
            }
        }
        Ok(())
    }

    /// Edges and negatives of each relation.
    fn pairs_by_relation(
        &self,
        relations: &Relations,
        edges: &[(u32, u32)],
        input: &mut LossInput<'_, '_>,
    ) -> Vec<RelationPairs> {
        let count = match input.purpose {
            Purpose::Training => self.settings.batch,
            Purpose::Sensing | Purpose::HeldOut => self.settings.sense_batch,
        };
        let (Purpose::HeldOut, Some(split)) = (input.purpose, &self.split) else {
            let is_free = |pair| !self.is_held_out(pair);
            return relation_pairs::sample(input.graph, relations, edges, count, is_free, input.stream);
        };
        let edges = &split.edges[..split.edges.len().min(count)];
        let edges = relation_pairs::by_relation(input.graph, relations, edges);
        let with_negatives = |(relation, edges): (usize, Vec<(u32, u32)>)| {
            let ends = &relations.schema().relations()[relation];
            let types = [ends.src.min(ends.dst), ends.src.max(ends.dst)];
            // Nodes are numbered type by type, so the smaller node has the smaller type.
            let fits = |&&(u, v): &&(u32, u32)| types == [relations.type_of(u), relations.type_of(v)];
            let non_edges = split.non_edges.iter().filter(fits).copied();
            let n_edges = edges.len();
            let (us, vs) = edges.into_iter().chain(non_edges).unzip();
            RelationPairs { relation, us, vs, n_edges }
        };
        edges.into_iter().enumerate().filter(|(_, edges)| !edges.is_empty()).map(with_negatives).collect()
    }

    /// The mean over relations of the loss on their pairs. The MLP has one vector of weights per relation (DistMult; Yang et al.,
    /// 2015).
    fn relation_loss<'a>(
        &self,
        tape: &mut Tape<'a>,
        input: &mut LossInput<'a, '_>,
        pairs: Vec<RelationPairs>,
    ) -> Var {
        let head = tape.group(input.group);
        let u = self.hidden(tape, input, &head);
        let mut terms = Vec::with_capacity(pairs.len());
        for RelationPairs { relation, us, vs, n_edges } in pairs {
            let scores = match head[..] {
                [_, _, weights, biases] => {
                    let [weight, bias] =
                        [weights, biases].map(|rows| tape.gather(rows, vec![relation as u32]));
                    let scores = tape.pair_dot_weighted(u, weight, us, vs);
                    tape.activate(scores, Some(bias), Activation::Identity)
                }
                _ => tape.pair_dot(u, us, vs),
            };
            terms.push((n_edges as f64, tape.binary_cross_entropy(scores, n_edges, self.averaging())));
        }
        weighted_mean(tape, terms, self.settings.relation_weights == LossWeights::Equal)
    }

    /// Takes the held-out pairs from those to train on.
    fn keep_aside(&mut self, split: PairSplit) -> Result<()> {
        // Prepared for batches, it has no edges of the whole graph.
        let is_prepared = !self.edges.is_empty();
        self.edges.retain(|&edge| !split.has_edge(edge));
        if is_prepared && self.edges.is_empty() {
            let found = format!("{} edges, all of them held out", split.edges.len());
            return Err(unsuitable(self.name, found, "at least one edge to train on"));
        }
        self.non_edges.retain(|&pair| !split.has_non_edge(pair));
        self.split = Some(split);
        Ok(())
    }

    /// Samples up to `count` of the edges, or takes all in order if there are no more, and as many non-edges. Returns the
    /// sources, the targets and the number of edges.
    fn pairs(
        &self,
        graph: &Graph,
        edges: &[(u32, u32)],
        count: usize,
        stream: &mut Stream,
    ) -> (Vec<u32>, Vec<u32>, usize) {
        let count = count.min(edges.len());
        let (mut us, mut vs) = (Vec::with_capacity(2 * count), Vec::with_capacity(2 * count));
        let mut add = |(u, v): (u32, u32)| {
            us.push(u);
            vs.push(v);
        };
        if count == edges.len() {
            edges.iter().copied().for_each(&mut add);
        } else {
            let drawn = stream.sample(edges.len(), count);
            drawn.into_iter().map(|edge| edges[edge as usize]).for_each(&mut add);
        }
        (0..count).for_each(|_| add(self.negative(graph, stream)));
        (us, vs, count)
    }

    /// A sampled non-edge u ≠ v.
    fn negative(&self, graph: &Graph, stream: &mut Stream) -> (u32, u32) {
        if !self.non_edges.is_empty() {
            return self.non_edges[stream.below(self.non_edges.len())];
        }
        if self.settings.negatives == Negatives::Degree {
            // Hubs may be adjacent to nearly all likely partners, so the attempts are limited.
            for _ in 0..DEGREE_ATTEMPTS {
                let [u, v] = [(); 2].map(|()| self.random_end(stream));
                if u != v && !graph.adjacency().contains(u, v) && !self.is_held_out((u, v)) {
                    return (u, v);
                }
            }
        }
        loop {
            let n = graph.n_nodes();
            let (u, v) = (stream.below(n) as u32, stream.below(n) as u32);
            if u != v && !graph.adjacency().contains(u, v) && !self.is_held_out((u, v)) {
                return (u, v);
            }
        }
    }

    fn is_held_out(&self, non_edge: (u32, u32)) -> bool {
        self.split.as_ref().is_some_and(|split| split.has_non_edge(non_edge))
    }

    /// A random end of a random edge.
    fn random_end(&self, stream: &mut Stream) -> u32 {
        let at = stream.below(2 * self.edges.len());
        let (u, v) = self.edges[at / 2];
        if at.is_multiple_of(2) { u } else { v }
    }
}

/// Sources, targets and number of edges of the held-out pairs, at most `count` of each kind.
fn held_out_pairs(split: &PairSplit, count: usize) -> (Vec<u32>, Vec<u32>, usize) {
    let edges = &split.edges[..split.edges.len().min(count)];
    let non_edges = &split.non_edges[..split.non_edges.len().min(count)];
    let (us, vs) = edges.iter().chain(non_edges).copied().unzip();
    (us, vs, edges.len())
}
