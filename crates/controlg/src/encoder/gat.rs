//! Graph attention network: neighbors weighted by learned attention, heads side by side (Veličković et al., 2018).

use serde::{Deserialize, Serialize};

use super::layer::LayerTail;
use super::{Block, BlockSource, Encoder, LayerSettings, Norms, Pass, layer};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::View;
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range, Scalar};
use crate::tensor::{Activation, Attention, Init, Params, Tape, Var};

/// On the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "gat",
    summary: "graph attention: neighbors weighted by a learned score, several heads side by side",
    paper: "Veličković et al., Graph Attention Networks, ICLR 2018",
    keys: KEYS,
    defaults: || setting::table_of(&GatSettings::default()),
    build: |table| Ok(Box::new(Gat::new(setting::settings("encoder", KEYS, table)?)?)),
};

const KEYS: &[Key] = &{
    let [layers, width, hidden, norm, activation, last, dropout, feature_dropout] = *layer::KEYS;
    [
        layers,
        width,
        hidden,
        norm,
        activation,
        last,
        dropout,
        feature_dropout,
        Key::new("heads", Range::Whole(1, 1024), "attention heads side by side; divides the widths"),
        Key::new("negative_slope", Range::Number(0.0, 1.0), "slope of the leaky ReLU on the scores"),
        Key::new(
            "attention_dropout",
            Range::Below(0.0, 1.0),
            "share of the attention set to zero in training",
        ),
        Key::new(
            "init",
            Range::OneOf(&["uniform", "normal"]),
            "how weights start: Xavier's uniform numbers, or normal ones with a gain of √2, as its authors have",
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
    /// Share of the attention that is set to zero in training, below 1.
    pub attention_dropout: f64,
    /// How weights start.
    pub init: GatInit,
}

/// How weights start, after Glorot and Bengio (2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GatInit {
    /// Uniform.
    Uniform,
    /// Normal, √2 as wide.
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
/// out/heads), then bias, norm and slope as settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Gat {
    settings: GatSettings,
}

impl Gat {
    /// A network with these settings.
    pub fn new(settings: GatSettings) -> Result<Self> {
        setting::check("encoder", KEYS, &settings)?;
        let heads = settings.heads;
        let divides = |width: usize| heads > 0 && width.is_multiple_of(heads);
        if !divides(settings.common.width) || !divides(settings.common.hidden) {
            let widths = format!("a number that divides the width {}", settings.common.width);
            return Err(Error::value("encoder.heads", heads, widths));
        }
        Ok(Gat { settings })
    }

    fn shape(&self) -> Attention {
        Attention {
            heads: self.settings.heads,
            negative_slope: self.settings.negative_slope as Real,
            dropout: self.settings.attention_dropout,
        }
    }

    /// Weight, source and target vectors of a layer, and what follows its product.
    fn parts(&self, tape: &mut Tape<'_>, group: usize, layer: usize) -> ([Var; 3], LayerTail) {
        let mut next = tape.group(group).into_iter();
        let mut part = |layer| {
            let own = [(); 3].map(|()| next.next().expect("as many parameters as were declared"));
            (own, self.settings.common.ending(layer, &mut next))
        };
        for before in 0..layer {
            part(before);
        }
        part(layer)
    }
}

impl Encoder for Gat {
    fn width(&self) -> usize {
        self.settings.common.width
    }

    fn kept_per_node(&self) -> usize {
        let projected: usize =
            (0..self.settings.common.layers).map(|l| self.settings.common.out_width(l)).sum();
        self.settings.common.kept_per_node() + projected
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let (common, heads) = (&self.settings.common, self.settings.heads);
        let mut from = n_features;
        for layer in 0..common.layers {
            let to = common.out_width(layer);
            let vectors = (heads, to / heads);
            let shapes = [
                ("weight", (from, to), from + to),
                // The vectors of all heads are one tensor of 1 × heads × width there: as many in as `to`.
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
            common.init_ending(layer, params, group, stream);
            from = to;
        }
    }

    fn layers(&self) -> usize {
        self.settings.common.layers
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.settings.common.has_batch_norm(layer)
    }

    fn alone<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        let ([weight, ..], _) = self.parts(tape, group, layer);
        Some(match rows {
            BlockSource::Sparse(x) => tape.propagate(x, weight),
            BlockSource::Dense(h) => tape.linear(h, weight, None, Activation::Identity),
        })
    }

    fn together<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        block: &'a Block,
        rows: Var,
        _: bool,
    ) -> Var {
        let ([_, source, target], ending) = self.parts(tape, group, layer);
        let (bias, activation) = ending.of_product();
        let (operator, own) = (block.operator(), block.own());
        tape.attention_rows(operator, own, rows, source, target, self.shape(), bias, activation)
    }

    fn finish<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        h: Var,
        mut norms: Norms<'_>,
    ) -> Var {
        self.parts(tape, group, layer).1.apply(tape, h, &mut norms)
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let common = &self.settings.common;
        let shape = self.shape();
        let mut next = tape.group(group).into_iter();
        let mut h = None;
        for layer in 0..common.layers {
            let mut take = || next.next().expect("as many parameters as were declared");
            let (weight, source, target) = (take(), take(), take());
            let ending = common.ending(layer, &mut next);
            let (bias, activation) = ending.of_product();
            let projected = match h {
                None => tape.project(&common.thinned(view, &mut pass), weight, pass.token),
                Some(h) => {
                    let input = common.dropped(tape, h, &mut pass);
                    let projected = tape.linear(input, weight, None, Activation::Identity);
                    tape.release(h);
                    projected
                }
            };
            let (operator, draws) = (view.operator(), pass.dropout.as_deref_mut());
            let product = tape.attention(operator, projected, source, target, shape, bias, activation, draws);
            tape.release(projected);
            h = Some(ending.apply(tape, product, &mut pass.norms));
        }
        h.expect("at least one layer")
    }
}
