//! What all layer types share: widths, norm, activation, dropout, and the order of their parameters.

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
    Key::new("width", Range::Whole(1, 65_536), "embedding width"),
    Key::new("hidden", Range::Whole(0, 65_536), "hidden width between layers; 0 for the embedding width"),
    Key::new("norm", Range::OneOf(&["batch", "layer", "none"]), "normalization after each layer's product"),
    Key::new("activation", Range::OneOf(&["prelu", "relu", "elu"]), "activation after the norm"),
    Key::new(
        "last",
        Range::OneOf(&["activation", "linear"]),
        "whether the last layer ends with norm and activation, or is linear",
    ),
    Key::new("dropout", Range::Below(0.0, 1.0), "dropout rate on the inputs of all layers but the first"),
    Key::new("feature_dropout", Range::Below(0.0, 1.0), "dropout rate on the entries of the features")
        .added_later(Scalar::Number(0.0)),
];

/// The settings of every encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerSettings {
    /// Number of layers, 1 to 16.
    pub layers: usize,
    /// Embedding width.
    pub width: usize,
    /// Hidden width between layers; 0 for the same as `width`.
    pub hidden: usize,
    /// Normalization after each layer's product.
    pub norm: Norm,
    /// Activation after the norm.
    pub activation: ActivationKind,
    /// Whether the last layer ends with norm and activation.
    pub last: LastLayer,
    /// Dropout rate on the inputs of all layers but the first, below 1.
    pub dropout: f64,
    /// Dropout rate on the entries of the features, below 1.
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
    /// Batch norm, over the nodes of the pass.
    Batch,
    /// Layer norm, within each node.
    Layer,
    /// None.
    None,
}

/// The activation of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivationKind {
    /// x, or a·x where x < 0, with one learned a per layer, initially 0.25.
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
    /// Norm and activation like the other layers.
    Activation,
    /// Product and bias only.
    Linear,
}

impl LayerSettings {
    /// The names and ranges of the settings.
    pub const KEYS: &[Key] = KEYS;

    /// Rejects settings outside their ranges.
    pub fn check(&self) -> Result<()> {
        setting::check("encoder", KEYS, self)
    }

    /// Output width of a layer.
    pub(super) fn out_width(&self, layer: usize) -> usize {
        if layer + 1 < self.layers && self.hidden > 0 { self.hidden } else { self.width }
    }

    /// The norm of a layer.
    fn norm_of(&self, layer: usize) -> Norm {
        if self.is_linear(layer) { Norm::None } else { self.norm }
    }

    /// Whether a layer ends with a batch norm.
    pub(super) fn has_batch_norm(&self, layer: usize) -> bool {
        self.norm_of(layer) == Norm::Batch
    }

    fn is_linear(&self, layer: usize) -> bool {
        layer + 1 == self.layers && self.last == LastLayer::Linear
    }

    /// Whether the second layer may aggregate right after the first layer's activation: no norm or dropout lies between them,
    /// and aggregating before the second layer's weights is no wider than after them.
    pub(super) fn allows_early_propagation(&self) -> bool {
        self.layers > 1
            && self.norm_of(0) == Norm::None
            && self.dropout == 0.0
            && self.out_width(0) <= self.out_width(1)
    }

    /// Declares the parameters of a layer's epilogue, in the order in which [`LayerSettings::epilogue`] reads them.
    pub(super) fn init_epilogue(&self, layer: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let row = (1, self.out_width(layer));
        let mut add = |name: &str, shape, value| {
            params.add(group, &format!("{layer}.{name}"), shape, Init::Constant(value), stream);
        };
        // A batch norm subtracts the mean, so a bias before it has no effect.
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

    /// A layer's epilogue, with its parameters taken from `next` in the order of their declaration.
    pub(super) fn epilogue(&self, layer: usize, next: &mut impl Iterator<Item = Var>) -> LayerEpilogue {
        let mut take = || next.next().expect("all parameters are declared");
        let norm = self.norm_of(layer);
        let bias = (norm != Norm::Batch).then(&mut take);
        let affine = (norm != Norm::None).then(|| (take(), take()));
        let activation = match self.activation {
            _ if self.is_linear(layer) => Activation::Identity,
            ActivationKind::Prelu => Activation::Prelu(take()),
            ActivationKind::Relu => Activation::Relu,
            ActivationKind::Elu => Activation::Elu,
        };
        LayerEpilogue { norm, bias, affine, activation }
    }

    /// The input of the first layer, with feature dropout if the pass has dropout.
    pub(super) fn drop_features<'a>(&self, view: &View<'a>, pass: &mut Pass<'_>) -> View<'a> {
        match &mut pass.dropout {
            Some(stream) if self.feature_dropout > 0.0 => {
                view.clone().with_feature_dropout(self.feature_dropout, stream.bits())
            }
            _ => view.clone(),
        }
    }

    /// The input of a later layer, with dropout if the pass has dropout.
    pub(super) fn drop_inputs(&self, tape: &mut Tape<'_>, h: Var, pass: &mut Pass<'_>) -> Var {
        match &mut pass.dropout {
            Some(stream) => tape.dropout(h, self.dropout, stream),
            None => h,
        }
    }
}

/// Bias, norm and activation of a layer.
pub(super) struct LayerEpilogue {
    norm: Norm,
    bias: Option<Var>,
    affine: Option<(Var, Var)>,
    activation: Activation,
}

impl LayerEpilogue {
    /// Bias and activation that are fused into the layer's product: both without a norm, else the bias alone.
    pub(super) fn fused(&self) -> (Option<Var>, Activation) {
        match self.norm {
            Norm::None => (self.bias, self.activation),
            _ => (self.bias, Activation::Identity),
        }
    }

    /// Applies what follows the product.
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
