//! Masked autoencoders: reconstruct the features of masked nodes. `p_recon`, `graphmae` and `x_shuffle` are this objective
//! with different settings.
//!
//! L = (1/|M|) Σ_{v∈M} (1 − cos(x̂_v, x_v))^γ, the scaled cosine error of GraphMAE, over the masked nodes M. The codes are
//! R = Z·W₀ with R_v = 0 for v ∈ M (re-masking), and the decoder is one layer:
//! - `gcn`: x̂ = Â·R·W₁ᵀ + b.
//! - `gat`: x̂_i = Σⱼ αᵢⱼ W₁rⱼ + b, αᵢⱼ the softmax over i's neighbors and itself of leaky(a·W₁rᵢ + a′·W₁rⱼ). Attention
//!   commutes with W₁: attending over codes with the vector a·W₁ gives x̂ = W₁ Σⱼ αᵢⱼ rⱼ.
//! - `linear`: x̂_v = W₁r_v + b, from the node's own code, which is not masked again.
//!
//! On a graph with node types the loss is the mean of one loss per type, each over the columns of its features, weighted by the
//! number of masked nodes or equally.
//!
//! Z: n×h, W₀: h×h, W₁: d×h, a, a′: d. With sparse features x̂ is never materialized; see [`Tape::reconstruct`].

use std::ops;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::held_out::{Hidden, NodeSplit};
use super::{
    AugmentedView, HeadDims, LossInput, Objective, Purpose, ViewSpec, check_masked_nodes, unsuitable,
    weighted_mean,
};
use crate::Real;
use crate::error::Result;
use crate::graph::{EdgeDropper, EncoderInput, Graph, NodeSet, Relations, Subgraph, TypeFeatures};
use crate::rng::Stream;
use crate::setting::{Key, Range};
use crate::tensor::{Activation, Attention, AttentionParams, Distance, Init, Params, Tape, Var};

pub(super) const MASK: Key =
    Key::new("mask", Range::Below(1e-6, 1.0), "fraction of nodes whose features are masked");
pub(super) const REPLACE: Key = Key::new(
    "replace",
    Range::Below(0.0, 1.0),
    "fraction of masked nodes that get another node's features instead of the token",
);
pub(super) const EXPONENT: Key =
    Key::new("exponent", Range::Number(1.0, 10.0), "exponent of the scaled cosine error");
pub(super) const DROP_EDGES: Key =
    Key::new("drop_edges", Range::Below(0.0, 1.0), "fraction of edges dropped, for encoder and decoder");
pub(super) const DROPOUT: Key =
    Key::new("dropout", Range::Below(0.0, 1.0), "dropout on the decoder's inputs");
pub(super) const ATTENTION_DROPOUT: Key =
    Key::new("attention_dropout", Range::Below(0.0, 1.0), "dropout on the decoder's attention weights");

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AutoencoderSettings {
    pub(super) mask: f64,
    pub(super) replace: f64,
    pub(super) exponent: f64,
    pub(super) drop_edges: f64,
    pub(super) decoder: FeatureDecoder,
    pub(super) remask: bool,
    pub(super) dropout: f64,
    pub(super) attention_dropout: f64,
    pub(super) init: DecoderInit,
    pub(super) min_norm: f64,
    pub(super) hidden: usize,
    pub(super) type_weights: TypeWeights,
}

/// How the losses of node types are averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TypeWeights {
    /// By the number of masked nodes.
    #[default]
    Nodes,
    /// Each type counts the same.
    Equal,
}

impl Default for AutoencoderSettings {
    fn default() -> Self {
        AutoencoderSettings {
            mask: 0.5,
            replace: 0.0,
            exponent: 3.0,
            drop_edges: 0.0,
            decoder: FeatureDecoder::Gcn,
            remask: true,
            dropout: 0.0,
            attention_dropout: 0.0,
            init: DecoderInit::Uniform,
            min_norm: 0.0,
            hidden: 0,
            type_weights: TypeWeights::Nodes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FeatureDecoder {
    Gcn,
    Gat,
    Linear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DecoderInit {
    /// Xavier uniform.
    Uniform,
    /// PyTorch's for a linear layer (W₀), Xavier normal with a gain of √2 (the others): the authors' initialization.
    Normal,
}

/// Whose features a masked node is reconstructed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Its own.
    Own,
    /// Those of another node, by a random permutation of the nodes.
    Permuted { seed: u64 },
}

/// A masked autoencoder, under the name of its objective.
#[derive(Clone)]
pub(super) struct Autoencoder {
    name: &'static str,
    settings: AutoencoderSettings,
    target: Target,
    /// For each node the one whose features are its target; empty if that is itself.
    source: Vec<u32>,
    /// The nodes whose features are held out: masked in every view.
    split: Option<NodeSplit>,
}

impl Autoencoder {
    /// Not prepared for a graph yet.
    pub(super) fn new(name: &'static str, settings: AutoencoderSettings, target: Target) -> Autoencoder {
        Autoencoder { name, settings, target, source: vec![], split: None }
    }

    /// The masked nodes that are reconstructed for this purpose.
    fn reconstructed(&self, masked: &[u32], purpose: Purpose) -> Vec<u32> {
        let Some(split) = &self.split else { return masked.to_vec() };
        masked.iter().copied().filter(|&node| split.contains(node) == (purpose == Purpose::HeldOut)).collect()
    }
}

impl Objective for Autoencoder {
    fn check(&self, graph: &Graph) -> Result<()> {
        let all_learned = |relations: &Relations| types_to_reconstruct(relations).next().is_none();
        let has_types = graph.relations().is_some_and(|relations| relations.schema().types().len() > 1);
        if has_types && self.target != Target::Own {
            return Err(unsuitable(self.name, "several node types", "nodes with the same features"));
        }
        if graph.relations().is_some_and(all_learned) {
            return Err(unsuitable(self.name, "no node type with features", "features to reconstruct"));
        }
        check_masked_nodes(self.name, self.settings.mask, graph)
    }

    fn needs_square_operator(&self) -> bool {
        self.settings.decoder == FeatureDecoder::Gat
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        if let Target::Permuted { seed } = self.target {
            let n = graph.n_nodes();
            self.source = Stream::new(seed, "objective", self.name, 0).sample(n, n);
        }
        Ok(())
    }

    fn prepared_bytes(&self, graph: &Graph) -> usize {
        if self.target == Target::Own { 0 } else { graph.n_nodes() * size_of::<u32>() }
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        let split = self.split.as_ref().map(|split| split.on_batch(batch));
        let mut on_batch = Autoencoder { split, ..self.clone() };
        on_batch.check(&batch.graph)?;
        on_batch.prepare(&batch.graph)?;
        Ok(Box::new(on_batch))
    }

    fn hold_out(&mut self, graph: &Graph, share: f64, stream: &mut Stream) -> Result<()> {
        self.split = Some(NodeSplit::draw(self.name, graph, share, 1, stream)?);
        Ok(())
    }

    fn n_held_out(&self) -> usize {
        self.split.as_ref().map_or(0, |split| split.held_out.len())
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        let HeadDims { n_features, width, .. } = dims;
        let normal = self.settings.init == DecoderInit::Normal;
        let init = |fans: usize| if normal { Init::xavier_normal(fans) } else { Init::XavierUniform };
        let first = if normal { Init::Uniform(1.0 / (width as f64).sqrt()) } else { Init::XavierUniform };
        params.add(group, "token", (1, n_features), Init::Constant(0.0), stream);
        let code = if self.settings.hidden > 0 { self.settings.hidden } else { width };
        params.add(group, "0.weight", (width, code), first, stream);
        if self.settings.decoder == FeatureDecoder::Gat {
            params.add(group, "1.source", (1, n_features), init(2 * n_features), stream);
            params.add(group, "1.target", (1, n_features), init(2 * n_features), stream);
        }
        params.add(group, "1.weight", (n_features, code), init(n_features + code), stream);
        params.add(group, "1.bias", (1, n_features), Init::Constant(0.0), stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        let AutoencoderSettings { mask, replace, drop_edges, .. } = self.settings;
        vec![ViewSpec { mask_nodes: mask, replace, drop_edges, ..ViewSpec::default() }]
    }

    fn augment<'a>(
        &'a self,
        spec: &ViewSpec,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        let hidden = Hidden { nodes: self.split.as_ref(), edges: &[] };
        spec.sample_without(hidden, graph, prepared, dropper, stream)
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let head = tape.group(input.group);
        let view = &input.views[0];
        let masked = view.masked.as_ref().expect("its view masks nodes");
        let mut dropout = (input.purpose == Purpose::Training).then_some(input.stream);
        let mut r = tape.matmul(input.z[0], head[1]);
        if self.settings.remask && self.settings.decoder != FeatureDecoder::Linear {
            r = tape.mask_rows(r, masked.clone(), None);
        }
        if let Some(stream) = &mut dropout {
            r = tape.dropout(r, self.settings.dropout, stream);
        }
        let [.., weight, bias] = head[..] else { unreachable!("a head of at least four matrices") };
        let r = match self.settings.decoder {
            FeatureDecoder::Linear => r,
            FeatureDecoder::Gcn => tape.propagate_nodes(&view.view, r),
            FeatureDecoder::Gat => {
                let [source, target] = [head[2], head[3]].map(|a| tape.matmul(a, weight));
                let shape =
                    Attention { heads: 1, negative_slope: 0.2, dropout: self.settings.attention_dropout };
                let params = AttentionParams { source, target, bias: None, activation: Activation::Identity };
                tape.attention(view.view.operator(), r, params, shape, dropout)
            }
        };
        let ids = self.reconstructed(masked.ids(), input.purpose);
        let targets = match self.target {
            Target::Own => ids.clone(),
            Target::Permuted { .. } => ids.iter().map(|&node| self.source[node as usize]).collect(),
        };
        let distance = Distance::Cosine { gamma: self.settings.exponent, least: self.settings.min_norm };
        let relations = input.graph.relations().filter(|relations| relations.schema().types().len() > 1);
        let Some(relations) = relations else {
            let r = tape.gather(r, ids);
            return tape.reconstruct(r, weight, Some(bias), input.prepared, targets, distance);
        };
        let mut terms = Vec::new();
        for node_type in types_to_reconstruct(relations) {
            let nodes = relations.nodes(node_type);
            let of_type = |node: &&u32| nodes.contains(&(**node as usize));
            let ids: Vec<u32> = ids.iter().filter(of_type).copied().collect();
            if ids.is_empty() {
                continue;
            }
            let columns = relations.schema().types()[node_type].columns.clone();
            let (weight, bias) = restricted(tape, weight, bias, columns);
            let (r, count) = (tape.gather(r, ids.clone()), ids.len() as f64);
            terms.push((count, tape.reconstruct(r, weight, Some(bias), input.prepared, ids, distance)));
        }
        weighted_mean(tape, terms, self.settings.type_weights == TypeWeights::Equal)
    }
}

/// The types with features. One-hot columns stand for learned embeddings, which there is nothing to reconstruct of.
fn types_to_reconstruct(relations: &Relations) -> impl Iterator<Item = usize> + '_ {
    let types = relations.schema().types().iter().enumerate();
    types.filter(|(_, node_type)| node_type.features != TypeFeatures::OneHot).map(|(at, _)| at)
}

/// The decoder of the features in some columns: weight (d×h) and bias (1×d) are zero elsewhere.
fn restricted<'a>(tape: &mut Tape<'a>, weight: Var, bias: Var, columns: ops::Range<usize>) -> (Var, Var) {
    let d = tape.shape(weight).0;
    let others: Vec<u32> = (0..d as u32).filter(|column| !columns.contains(&(*column as usize))).collect();
    let kept = tape.constant(
        1,
        d,
        (0..d).map(|at| if columns.contains(&at) { 1.0 } else { 0.0 }).collect::<Vec<Real>>(),
    );
    (tape.mask_rows(weight, Arc::new(NodeSet::new(d, &others)), None), tape.hadamard(bias, kept))
}
