//! What all layers have in common: widths, norm, activation, and the order of their parameters.

use serde::{Deserialize, Serialize};

use super::{Norms, Pass};
use crate::error::Result;
use crate::graph::View;
use crate::rng::Stream;
use crate::setting::{self, Key, Range, Scalar};
use crate::tensor::{Activation, ColumnStats, Init, Params, Tape, Var};

/// The settings of every encoder, by name.
pub(super) const KEYS: &[Key; 8] = &[
    Key::new("layers", Range::Whole(1, 16), "number of layers"),
    Key::new("width", Range::Whole(1, 65_536), "columns of the representations"),
    Key::new("hidden", Range::Whole(0, 65_536), "columns between the layers; 0 for the same as width"),
    Key::new("norm", Range::OneOf(&["batch", "layer", "none"]), "what follows each layer's product"),
    Key::new("activation", Range::OneOf(&["prelu", "relu", "elu"]), "what follows the norm"),
    Key::new(
        "last",
        Range::OneOf(&["activation", "linear"]),
        "whether the last layer ends with norm and activation too, or with its product",
    ),
    Key::new("dropout", Range::Below(0.0, 1.0), "share of each later layer's inputs set to zero in training"),
    Key::new(
        "feature_dropout",
        Range::Below(0.0, 1.0),
        "share of the features' entries set to zero in training",
    )
    .added_later(Scalar::Number(0.0)),
];

/// The settings of every encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerSettings {
    /// Number of layers, 1 to 16.
    pub layers: usize,
    /// Columns of the representations.
    pub width: usize,
    /// Columns between the layers; 0 for the same as `width`.
    pub hidden: usize,
    /// What follows each layer's product.
    pub norm: Norm,
    /// What follows the norm.
    pub activation: ActivationKind,
    /// Whether the last layer ends with norm and activation too.
    pub last: LastLayer,
    /// Share of the inputs of each layer but the first that is set to zero in training, below 1.
    pub dropout: f64,
    /// Share of the features' entries that is set to zero in training, below 1.
    pub feature_dropout: f64,
}

impl Default for LayerSettings {
    fn default() -> Self {
        LayerSettings {
            layers: 2,
            width: 512,
            hidden: 0,
            norm: Norm::Batch,
            activation: ActivationKind::Prelu,
            last: LastLayer::Activation,
            dropout: 0.0,
            feature_dropout: 0.0,
        }
    }
}

/// The normalization of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// Over the nodes of the pass.
    Batch,
    /// Within each node.
    Layer,
    /// None.
    None,
}

/// The activation of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivationKind {
    /// x, or a·x where x < 0, with one learned a a layer, 0.25 at first.
    Prelu,
    /// max(x, 0)
    Relu,
    /// x, or eˣ − 1 where x < 0
    Elu,
}

/// How the last layer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LastLayer {
    /// With norm and activation like the others.
    Activation,
    /// With its product and bias.
    Linear,
}

impl LayerSettings {
    /// The settings' names and ranges.
    pub const KEYS: &[Key] = KEYS;

    /// Refuses what no network can have.
    pub fn check(&self) -> Result<()> {
        setting::check("encoder", KEYS, self)
    }

    /// Columns that come out of a layer.
    pub(super) fn out_width(&self, layer: usize) -> usize {
        if layer + 1 < self.layers && self.hidden > 0 { self.hidden } else { self.width }
    }

    /// Numbers that each node's passage through all layers keeps: a layer's output, and before a norm its input.
    pub(super) fn kept_per_node(&self) -> usize {
        let kept =
            |layer: usize| self.out_width(layer) * if self.norm_of(layer) == Norm::None { 1 } else { 2 };
        (0..self.layers).map(kept).sum()
    }

    /// The norm of a layer.
    fn norm_of(&self, layer: usize) -> Norm {
        if self.is_linear(layer) { Norm::None } else { self.norm }
    }

    /// Whether a layer needs statistics over all nodes.
    pub(super) fn has_batch_norm(&self, layer: usize) -> bool {
        self.norm_of(layer) == Norm::Batch
    }

    fn is_linear(&self, layer: usize) -> bool {
        layer + 1 == self.layers && self.last == LastLayer::Linear
    }

    /// Whether nothing lies between the first layer's activation and the second layer's sum over neighbors, and that sum costs
    /// no more before the second layer's weights than after them.
    pub(super) fn is_carried_on(&self) -> bool {
        self.layers > 1
            && self.norm_of(0) == Norm::None
            && self.dropout == 0.0
            && self.out_width(0) <= self.out_width(1)
    }

    /// Declares what follows a layer's product, in the order in which [`Common::ending`] reads it.
    pub(super) fn init_ending(&self, layer: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let row = (1, self.out_width(layer));
        let mut add = |name: &str, shape, value| {
            params.add(group, &format!("{layer}.{name}"), shape, Init::Constant(value), stream);
        };
        // A batch norm subtracts the mean, so a bias before it does nothing.
        if self.norm_of(layer) != Norm::Batch {
            add("bias", row, 0.0);
        }
        if self.norm_of(layer) != Norm::None {
            add("norm.weight", row, 1.0);
            add("norm.bias", row, 0.0);
        }
        if self.activation == ActivationKind::Prelu && !self.is_linear(layer) {
            add("slope", (1, 1), 0.25);
        }
    }

    /// What follows a layer's product, its parameters taken from `next` in the order of their declaration.
    pub(super) fn ending(&self, layer: usize, next: &mut impl Iterator<Item = Var>) -> LayerTail {
        let mut take = || next.next().expect("as many parameters as were declared");
        let norm = self.norm_of(layer);
        let bias = (norm != Norm::Batch).then(&mut take);
        let affine = (norm != Norm::None).then(|| (take(), take()));
        let activation = match self.activation {
            _ if self.is_linear(layer) => Activation::Identity,
            ActivationKind::Prelu => Activation::Prelu(take()),
            ActivationKind::Relu => Activation::Relu,
            ActivationKind::Elu => Activation::Elu,
        };
        LayerTail { norm, bias, affine, activation }
    }

    /// The input of the first layer, with dropout where it is wanted.
    pub(super) fn thinned<'a>(&self, view: &View<'a>, pass: &mut Pass<'_>) -> View<'a> {
        match &mut pass.dropout {
            Some(stream) if self.feature_dropout > 0.0 => {
                view.clone().with_feature_dropout(self.feature_dropout, stream.bits())
            }
            _ => view.clone(),
        }
    }

    /// The input of a layer after the first, with dropout where it is wanted.
    pub(super) fn dropped(&self, tape: &mut Tape<'_>, h: Var, pass: &mut Pass<'_>) -> Var {
        match &mut pass.dropout {
            Some(stream) => tape.dropout(h, self.dropout, stream),
            None => h,
        }
    }
}

/// Bias, norm and activation of a layer.
pub(super) struct LayerTail {
    norm: Norm,
    bias: Option<Var>,
    affine: Option<(Var, Var)>,
    activation: Activation,
}

impl LayerTail {
    /// What the layer's product does itself: everything when there is no norm, else the bias alone.
    pub(super) fn of_product(&self) -> (Option<Var>, Activation) {
        match self.norm {
            Norm::None => (self.bias, self.activation),
            _ => (self.bias, Activation::Identity),
        }
    }

    /// What is left to do after the product.
    pub(super) fn apply(&self, tape: &mut Tape<'_>, h: Var, norms: &mut Norms<'_>) -> Var {
        let Some((gamma, beta)) = self.affine else { return h };
        let out = match (self.norm, norms) {
            (Norm::Layer, _) | (Norm::None, _) => tape.layer_norm(h, gamma, beta, self.activation),
            (Norm::Batch, Norms::Batch) => tape.batch_norm(h, gamma, beta, self.activation, None),
            (Norm::Batch, Norms::Record(record)) => {
                let mut stats = ColumnStats::default();
                let out = tape.batch_norm(h, gamma, beta, self.activation, Some(&mut stats));
                record.push(stats);
                out
            }
            (Norm::Batch, Norms::Given(given)) => {
                let (stats, rest) = given.split_first().expect("statistics of every batch norm");
                *given = rest;
                tape.batch_norm_given(h, gamma, beta, self.activation, stats)
            }
        };
        tape.release(h);
        out
    }
}
