//! Graph convolutional network: H′ = act(norm(Â·H·W + b)), layer by layer (Kipf and Welling, 2017).

use serde::{Deserialize, Serialize};

use super::layer::take_params;
use super::{Block, BlockSource, Encoder, LayerSettings, Norms, Pass, layer};
use crate::error::Result;
use crate::graph::{OperatorKind, OperatorSpec, View};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range, Scalar};
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// The entry in the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "gcn",
    summary: "graph convolutions: neighbors averaged with weights from the degrees",
    paper: "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017",
    keys: KEYS,
    defaults: || setting::table_of(&GcnSettings::default()),
    build: |table| Ok(Box::new(Gcn::with_settings(setting::settings("encoder", KEYS, table)?)?)),
};

pub(super) const KEYS: &[Key; 11] = &{
    let [layers, width, hidden, norm, activation, last, dropout, feature_dropout, jump] = *layer::KEYS;
    [
        layers,
        width,
        hidden,
        norm,
        activation,
        last,
        dropout,
        feature_dropout,
        jump,
        Key::new(
            "operator",
            Range::OneOf(&["symmetric", "mean"]),
            "weights of neighbors: 1/√(dᵤ·dᵥ), or the mean; the default of sage is mean",
        )
        .added_later(Scalar::Text("symmetric")),
        Key::new(
            "self_loops",
            Range::Flag,
            "whether a node is its own neighbor; the default of sage is false",
        )
        .added_later(Scalar::Flag(true)),
    ]
};

/// The settings of a graph convolutional network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GcnSettings {
    /// Those of every encoder.
    #[serde(flatten)]
    pub common: LayerSettings,
    /// How neighbors are weighted.
    pub operator: OperatorKind,
    /// Whether a node is its own neighbor.
    pub self_loops: bool,
}

impl Default for GcnSettings {
    fn default() -> Self {
        let OperatorSpec { kind, self_loops } = OperatorSpec::GCN;
        GcnSettings { common: LayerSettings::default(), operator: kind, self_loops }
    }
}

/// A stack of graph convolutions. Parameters of a layer: weight (in × out), then bias, norm and slope as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Gcn {
    settings: LayerSettings,
    operator: OperatorSpec,
}

impl Gcn {
    /// A network with the usual operator, symmetric with self-loops.
    pub fn new(settings: LayerSettings) -> Result<Self> {
        Gcn::with_settings(GcnSettings { common: settings, ..GcnSettings::default() })
    }

    /// A network with these settings.
    pub fn with_settings(settings: GcnSettings) -> Result<Self> {
        setting::check("encoder", KEYS, &settings)?;
        settings.common.check()?;
        let GcnSettings { common, operator, self_loops } = settings;
        Ok(Gcn { settings: common, operator: OperatorSpec { kind: operator, self_loops } })
    }
}

impl Encoder for Gcn {
    fn width(&self) -> usize {
        self.settings.width
    }

    fn channels(&self) -> Vec<usize> {
        self.settings.channels()
    }

    fn operator(&self) -> OperatorSpec {
        self.operator
    }

    fn has_feature_channel(&self) -> bool {
        self.settings.has_feature_channel()
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let mut from = n_features;
        for layer in 0..self.settings.layers {
            let to = self.settings.out_width(layer);
            params.add(group, &format!("{layer}.weight"), (from, to), Init::XavierUniform, stream);
            self.settings.init_epilogue(layer, params, group, stream);
            from = to;
        }
        self.settings.init_channel(n_features, params, group, stream);
    }

    fn project_rows<'a>(&self, tape: &mut Tape<'a>, group: usize, rows: BlockSource<'a>) -> Var {
        self.settings.project_rows::<1>(tape, group, rows)
    }

    fn layers(&self) -> usize {
        self.settings.layers
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.settings.has_batch_norm(layer)
    }

    fn transform<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        let ([weight], _) = self.settings.layer_params::<1>(tape, group, layer);
        match rows {
            // Â·(X·W), since X is wide and sparse.
            BlockSource::Sparse(x) => Some(tape.propagate(x, weight)),
            // (Â·X)·W in the first layer, as in training; the narrower side in later layers.
            BlockSource::Dense(_) if layer == 0 => None,
            BlockSource::Dense(h) => {
                let (from, to) = tape.shape(weight);
                (to <= from).then(|| tape.linear(h, weight, None, Activation::Identity))
            }
        }
    }

    fn aggregate<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        block: &'a Block,
        rows: Var,
        transformed: bool,
    ) -> Var {
        let ([weight], epilogue) = self.settings.layer_params::<1>(tape, group, layer);
        let (bias, activation) = epilogue.fused();
        if transformed {
            return tape.propagate_act(block.operator(), rows, bias, activation);
        }
        let h = tape.propagate(block.operator(), rows);
        tape.linear(h, weight, bias, activation)
    }

    fn post<'a>(&self, tape: &mut Tape<'a>, group: usize, layer: usize, h: Var, mut norms: Norms<'_>) -> Var {
        self.settings.epilogue_of::<1>(tape, group, layer).apply(tape, h, &mut norms)
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let mut next = tape.group(group).into_iter();
        let input = self.settings.drop_features(view, &mut pass);
        let mut outputs: Vec<Var> = Vec::new();
        // Whether the last output is already Â·H.
        let mut propagated = false;
        for layer in 0..self.settings.layers {
            let [weight] = take_params(&mut next);
            let epilogue = self.settings.epilogue(layer, &mut next);
            let (bias, activation) = epilogue.fused();
            let product = match outputs.last().copied() {
                None => {
                    propagated =
                        self.settings.allows_early_propagation() && tape.fuses_propagation(&input, weight);
                    if propagated {
                        tape.convolve_view_then_propagate(&input, weight, pass.token, bias, activation)
                    } else {
                        tape.convolve_view(&input, weight, pass.token, bias, activation)
                    }
                }
                Some(h) if std::mem::take(&mut propagated) => tape.linear(h, weight, bias, activation),
                Some(h) => {
                    let dropped = self.settings.drop_inputs(tape, h, &mut pass);
                    let product = tape.convolve(view.operator(), dropped, weight, bias, activation);
                    self.settings.release(tape, h);
                    product
                }
            };
            outputs.push(epilogue.apply(tape, product, &mut pass.norms));
        }
        self.settings.jump(tape, &mut next, &input, &mut pass, outputs)
    }
}
