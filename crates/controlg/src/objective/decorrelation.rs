//! Decorrelation of two views: columns agree between the views and are otherwise uncorrelated. `p_decor` and `cca-ssg` are
//! this objective with different settings.
//!
//! Y⁽ⁱ⁾ = standardized columns of head(Z⁽ⁱ⁾), C = Y⁽¹⁾ᵀY⁽²⁾/B, Cᵢ = Y⁽ⁱ⁾ᵀY⁽ⁱ⁾/B.
//! - `barlow`: L = Σᵢ(1 − Cᵢᵢ)² + λ Σ_{i≠j} Cᵢⱼ² (Barlow Twins).
//! - `cca`: L = −Σᵢ Cᵢᵢ + λ(‖I − C₁‖²_F + ‖I − C₂‖²_F) (CCA-SSG).
//!
//! Z: n×h, head: h→width→width or none, C: width×width. B is the number of nodes.

use serde::{Deserialize, Serialize};

use super::head::Head;
use super::held_out::NodeSplit;
use super::{HeadDims, LossInput, Objective, Purpose, ViewSpec, unsuitable};
use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::rng::Stream;
use crate::setting::{Key, Range};
use crate::tensor::{Params, Tape, Var};

pub(super) const DROP_EDGES: Key =
    Key::new("drop_edges", Range::Below(0.0, 1.0), "fraction of edges dropped in each view");
pub(super) const MASK_FEATURES: Key =
    Key::new("mask_features", Range::Below(0.0, 1.0), "fraction of feature columns masked in each view");

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DecorrelationSettings {
    pub(super) width: usize,
    pub(super) head: Head,
    pub(super) lambda: f64,
    pub(super) all_up_to: usize,
    pub(super) batch: usize,
    pub(super) drop_edges: f64,
    pub(super) mask_features: f64,
    pub(super) loss: CorrelationLoss,
    pub(super) deviation: Deviation,
}

impl Default for DecorrelationSettings {
    fn default() -> Self {
        DecorrelationSettings {
            width: 256,
            head: Head::Mlp,
            lambda: 0.01,
            all_up_to: 20_000,
            batch: 10_000,
            drop_edges: 0.3,
            mask_features: 0.3,
            loss: CorrelationLoss::Barlow,
            deviation: Deviation::Population,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CorrelationLoss {
    Barlow,
    Cca,
}

/// The standard deviation by which columns are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Deviation {
    /// With 1/n.
    Population,
    /// With 1/(n − 1).
    Sample,
}

/// Added to the standard deviations, which are zero for constant columns.
const EPSILON: f64 = 1e-5;

/// Decorrelation, under the name of its objective.
#[derive(Clone)]
pub(super) struct Decorrelation {
    name: &'static str,
    settings: DecorrelationSettings,
    /// The nodes that are held out.
    split: Option<NodeSplit>,
}

impl Decorrelation {
    /// Not prepared for a graph yet.
    pub(super) fn new(name: &'static str, settings: DecorrelationSettings) -> Decorrelation {
        Decorrelation { name, settings, split: None }
    }

    /// The nodes whose columns are compared; `None` for all.
    fn rows(&self, input: &mut LossInput<'_, '_>) -> Option<Vec<u32>> {
        let DecorrelationSettings { all_up_to, batch, .. } = self.settings;
        let Some(split) = &self.split else {
            let n = input.graph.n_nodes();
            return (n > all_up_to).then(|| input.stream.sample(n, batch));
        };
        let nodes = split.nodes(input.purpose == Purpose::HeldOut);
        if nodes.len() <= all_up_to {
            return Some(nodes.to_vec());
        }
        let drawn = input.stream.sample(nodes.len(), batch);
        Some(drawn.into_iter().map(|at| nodes[at as usize]).collect())
    }
}

impl Objective for Decorrelation {
    fn check(&self, graph: &Graph) -> Result<()> {
        match graph.n_nodes() {
            1 => Err(unsuitable(self.name, "one node", "at least two nodes")),
            _ => Ok(()),
        }
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        self.check(&batch.graph)?;
        let split = self.split.as_ref().map(|split| split.on_batch(batch));
        Ok(Box::new(Decorrelation { split, ..self.clone() }))
    }

    fn hold_out(&mut self, graph: &Graph, share: f64, stream: &mut Stream) -> Result<()> {
        self.split = Some(NodeSplit::draw(self.name, graph, share, 2, stream)?);
        Ok(())
    }

    fn n_held_out(&self) -> usize {
        self.split.as_ref().map_or(0, |split| split.held_out.len())
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        self.settings.head.init(dims.width, self.settings.width, params, group, stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        ViewSpec::equal_views(self.settings.drop_edges, self.settings.mask_features)
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, mut input: LossInput<'a, '_>) -> Var {
        let rows = self.rows(&mut input);
        let head = tape.group(input.group);
        let sample = self.settings.deviation == Deviation::Sample;
        let [y1, y2] = [input.z[0], input.z[1]].map(|z| {
            let picked = match &rows {
                Some(rows) => tape.gather(z, rows.clone()),
                None => z,
            };
            let projected = self.settings.head.apply(tape, &head, picked);
            tape.standardize_columns(projected, sample, EPSILON)
        });
        match self.settings.loss {
            CorrelationLoss::Barlow => tape.barlow(y1, y2, self.settings.lambda),
            CorrelationLoss::Cca => tape.cca_ssg(y1, y2, self.settings.lambda),
        }
    }
}
