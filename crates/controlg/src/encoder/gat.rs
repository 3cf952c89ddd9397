//! Graph attention network: neighbors weighted by learned attention, heads concatenated (Veličković et al., 2018).

use serde::{Deserialize, Serialize};

use super::layer::take_params;
use super::{Block, BlockSource, Encoder, LayerSettings, Norms, Pass, layer};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::View;
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range, Scalar};
use crate::tensor::{Activation, Attention, AttentionParams, Init, Params, Tape, Var};

/// The entry in the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "gat",
    summary: "graph attention: neighbors weighted by a learned score, several heads side by side",
    paper: "Veličković et al., Graph Attention Networks, ICLR 2018",
    keys: KEYS,
    defaults: || setting::table_of(&GatSettings::default()),
    build: |table| Ok(Box::new(Gat::new(setting::settings("encoder", KEYS, table)?)?)),
};

const KEYS: &[Key] = &{
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
        Key::new("heads", Range::Whole(1, 1024), "attention heads, concatenated; must divide the widths"),
        Key::new("negative_slope", Range::Number(0.0, 1.0), "slope of the leaky ReLU on the scores"),
        Key::new(
            "attention_dropout",
            Range::Below(0.0, 1.0),
            "dropout rate on the attention weights",
        ),
        Key::new(
            "init",
            Range::OneOf(&["uniform", "normal"]),
            "weight initialization: Xavier uniform, or Xavier normal with a gain of √2 as in the authors' code",
        )
        .added_later(Scalar::Text("uniform")),
    ]
};

/// The settings of a graph attention network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GatSettings {
    /// Those of every encoder.
    #[serde(flatten)]
    pub common: LayerSettings,
    /// Number of heads; divides the widths.
    pub heads: usize,
    /// Slope of the leaky ReLU on the scores.
    pub negative_slope: f64,
    /// Dropout rate on the attention weights, below 1.
    pub attention_dropout: f64,
    /// Weight initialization.
    pub init: GatInit,
}

/// Weight initialization after Glorot and Bengio (2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GatInit {
    /// Xavier uniform.
    Uniform,
    /// Xavier normal with a gain of √2.
    Normal,
}

impl Default for GatSettings {
    fn default() -> Self {
        GatSettings {
            common: LayerSettings::default(),
            heads: 4,
            negative_slope: 0.2,
            attention_dropout: 0.0,
            init: GatInit::Uniform,
        }
    }
}

/// A stack of attention layers. Parameters of a layer: weight (in × out), source and target vectors (heads ×
/// out/heads), then bias, norm and slope as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Gat {
    settings: GatSettings,
}

impl Gat {
    /// A network with these settings.
    pub fn new(settings: GatSettings) -> Result<Self> {
        setting::check("encoder", KEYS, &settings)?;
        settings.common.check()?;
        let heads = settings.heads;
        let widths = (0..settings.common.layers).map(|layer| settings.common.out_width(layer));
        if let Some(width) = widths.rev().find(|width| !width.is_multiple_of(heads)) {
            let widths = format!("a number that divides the width {width}");
            return Err(Error::value("encoder.heads", heads, widths));
        }
        Ok(Gat { settings })
    }

    fn attention(&self) -> Attention {
        Attention {
            heads: self.settings.heads,
            negative_slope: self.settings.negative_slope as Real,
            dropout: self.settings.attention_dropout,
        }
    }
}

impl Encoder for Gat {
    fn width(&self) -> usize {
        self.settings.common.width
    }

    fn channels(&self) -> Vec<usize> {
        self.settings.common.channels()
    }

    fn has_feature_channel(&self) -> bool {
        self.settings.common.has_feature_channel()
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let (common, heads) = (&self.settings.common, self.settings.heads);
        let mut from = n_features;
        for layer in 0..common.layers {
            let to = common.out_width(layer);
            let vectors = (heads, to / heads);
            let shapes = [
                ("weight", (from, to), from + to),
                // The authors' code stores the vectors of all heads as one 1 × heads × width tensor, with fan-in `to`.
                ("source", vectors, to + to / heads),
                ("target", vectors, to + to / heads),
            ];
            for (name, shape, fans) in shapes {
                let init = match self.settings.init {
                    GatInit::Uniform => Init::XavierUniform,
                    GatInit::Normal => Init::xavier_normal(fans),
                };
                params.add(group, &format!("{layer}.{name}"), shape, init, stream);
            }
            common.init_epilogue(layer, params, group, stream);
            from = to;
        }
        common.init_channel(n_features, params, group, stream);
    }

    fn project_rows<'a>(&self, tape: &mut Tape<'a>, group: usize, rows: BlockSource<'a>) -> Var {
        self.settings.common.project_rows::<3>(tape, group, rows)
    }

    fn layers(&self) -> usize {
        self.settings.common.layers
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.settings.common.has_batch_norm(layer)
    }

    fn transform<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        let ([weight, ..], _) = self.settings.common.layer_params::<3>(tape, group, layer);
        Some(rows.product(tape, weight))
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
        let ([_, source, target], epilogue) = self.settings.common.layer_params::<3>(tape, group, layer);
        let (bias, activation) = epilogue.fused();
        let (operator, own) = (block.operator(), block.own());
        let params = AttentionParams { source, target, bias, activation };
        tape.attention_rows(operator, own, rows, params, self.attention())
    }

    fn post<'a>(&self, tape: &mut Tape<'a>, group: usize, layer: usize, h: Var, mut norms: Norms<'_>) -> Var {
        self.settings.common.epilogue_of::<3>(tape, group, layer).apply(tape, h, &mut norms)
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let common = &self.settings.common;
        let attention = self.attention();
        let mut next = tape.group(group).into_iter();
        let input = common.drop_features(view, &mut pass);
        let mut outputs: Vec<Var> = Vec::new();
        for layer in 0..common.layers {
            let [weight, source, target] = take_params(&mut next);
            let epilogue = common.epilogue(layer, &mut next);
            let (bias, activation) = epilogue.fused();
            let projected = match outputs.last().copied() {
                None => tape.project(&input, weight, pass.token),
                Some(h) => {
                    let dropped = common.drop_inputs(tape, h, &mut pass);
                    let projected = tape.linear(dropped, weight, None, Activation::Identity);
                    common.release(tape, h);
                    projected
                }
            };
            let (operator, dropout) = (view.operator(), pass.dropout.as_deref_mut());
            let params = AttentionParams { source, target, bias, activation };
            let product = tape.attention(operator, projected, params, attention, dropout);
            tape.release(projected);
            outputs.push(epilogue.apply(tape, product, &mut pass.norms));
        }
        common.jump(tape, &mut next, &input, &mut pass, outputs)
    }
}
