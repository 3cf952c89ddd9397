//! GraphSAGE: H′ = act(norm(P·H·W + H·R + b)), with separate weights for the mean over neighbors and for the node itself
//! (Hamilton et al., 2017).
//!
//! The products come before the aggregation in every layer: the features are often wider than the layers.

use serde::{Deserialize, Serialize};

use super::layer::take_params;
use super::{Block, BlockSource, Encoder, GcnSettings, LayerSettings, Norms, Pass, gcn};
use crate::error::Result;
use crate::graph::{OperatorKind, OperatorSpec, View};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key};
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// The entry in the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "sage",
    summary: "GraphSAGE: separate weights for a node and for the mean over its neighbors",
    paper: "Hamilton, Ying and Leskovec, Inductive Representation Learning on Large Graphs, NeurIPS 2017",
    keys: KEYS,
    defaults: || setting::table_of(&SageSettings::default()),
    build: |table| Ok(Box::new(Sage::new(setting::settings("encoder", KEYS, table)?)?)),
};

/// The keys of a GCN. This encoder has had all of them from its beginning: no run had implied values.
const KEYS: &[Key] = &{
    let mut keys = *gcn::KEYS;
    let mut at = 0;
    while at < keys.len() {
        keys[at].added_later = None;
        at += 1;
    }
    keys
};

/// The settings of a GraphSAGE network: those of a GCN with other defaults, the mean over neighbors without self-loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SageSettings(pub GcnSettings);

impl Default for SageSettings {
    fn default() -> Self {
        let common = LayerSettings::default();
        SageSettings(GcnSettings { common, operator: OperatorKind::Mean, self_loops: false })
    }
}

/// A stack of GraphSAGE layers. Parameters of a layer: weight for the neighbors (in × out), weight for the node itself (in ×
/// out), then bias, norm and slope as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Sage {
    settings: LayerSettings,
    operator: OperatorSpec,
}

impl Sage {
    /// A network with these settings.
    pub fn new(SageSettings(settings): SageSettings) -> Result<Self> {
        setting::check("encoder", KEYS, &settings)?;
        settings.common.check()?;
        let GcnSettings { common, operator, self_loops } = settings;
        Ok(Sage { settings: common, operator: OperatorSpec { kind: operator, self_loops } })
    }
}

impl Encoder for Sage {
    fn width(&self) -> usize {
        self.settings.width
    }

    fn channels(&self) -> Vec<usize> {
        self.settings.channels()
    }

    fn operator(&self) -> OperatorSpec {
        self.operator
    }

    fn sees_own_node(&self) -> bool {
        true
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let mut from = n_features;
        for layer in 0..self.settings.layers {
            let to = self.settings.out_width(layer);
            for name in ["weight", "root_weight"] {
                params.add(group, &format!("{layer}.{name}"), (from, to), Init::XavierUniform, stream);
            }
            self.settings.init_epilogue(layer, params, group, stream);
            from = to;
        }
        self.settings.init_channel(n_features, params, group, stream);
    }

    fn layers(&self) -> usize {
        self.settings.layers
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.settings.has_batch_norm(layer)
    }

    fn has_feature_channel(&self) -> bool {
        self.settings.has_feature_channel()
    }

    fn project_rows<'a>(&self, tape: &mut Tape<'a>, group: usize, rows: BlockSource<'a>) -> Var {
        self.settings.project_rows::<2>(tape, group, rows)
    }

    /// Both products side by side.
    fn transform<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        let (weights, _) = self.settings.layer_params::<2>(tape, group, layer);
        let products = weights.map(|weight| rows.clone().product(tape, weight));
        Some(tape.concat_columns(&products))
    }

    fn products(&self) -> usize {
        2
    }

    fn aggregate<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        block: &'a Block,
        rows: Var,
        _: bool,
    ) -> Var {
        let width = self.settings.out_width(layer);
        let neighbors = tape.slice_columns(rows, 0, width);
        let neighbors = tape.propagate(block.operator(), neighbors);
        let own = tape.slice_columns(rows, width, width);
        let own = tape.gather(own, block.own());
        let sum = tape.add(neighbors, own);
        self.settings.layer_params::<2>(tape, group, layer).1.apply_fused(tape, sum)
    }

    fn post<'a>(&self, tape: &mut Tape<'a>, group: usize, layer: usize, h: Var, mut norms: Norms<'_>) -> Var {
        self.settings.epilogue_of::<2>(tape, group, layer).apply(tape, h, &mut norms)
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let mut next = tape.group(group).into_iter();
        let input = self.settings.drop_features(view, &mut pass);
        let mut outputs: Vec<Var> = Vec::new();
        for layer in 0..self.settings.layers {
            let weights: [Var; 2] = take_params(&mut next);
            let epilogue = self.settings.epilogue(layer, &mut next);
            let [neighbors, own] = match outputs.last().copied() {
                None => weights.map(|weight| tape.project(&input, weight, pass.token)),
                Some(h) => {
                    let dropped = self.settings.drop_inputs(tape, h, &mut pass);
                    let products =
                        weights.map(|weight| tape.linear(dropped, weight, None, Activation::Identity));
                    self.settings.release(tape, h);
                    products
                }
            };
            let aggregated = tape.propagate(view.operator(), neighbors);
            tape.release(neighbors);
            let sum = tape.add(aggregated, own);
            tape.release(aggregated);
            tape.release(own);
            outputs.push(epilogue.finish(tape, sum, &mut pass.norms));
        }
        self.settings.jump(tape, &mut next, &input, &mut pass, outputs)
    }
}
