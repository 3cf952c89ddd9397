//! What all layer types share: widths, norm, activation, dropout, and the order of their parameters.

use serde::{Deserialize, Serialize};

use super::{BlockSource, Norms, Pass};
use crate::error::{Error, Result};
use crate::graph::View;
use crate::rng::Stream;
use crate::setting::{self, Key, Range, Scalar};
use crate::tensor::{Activation, ColumnStats, Init, Params, Tape, Var};

/// The settings of every encoder, by name.
pub(super) const KEYS: &[Key; 9] = &[
    Key::new("layers", Range::Whole(1, 16), "number of layers"),
    Key::new("width", Range::Whole(1, 65_536), "embedding width"),
    Key::new(
        "hidden",
        Range::Whole(0, 65_536),
        "width of the layers before the last, with jump = concat of all layers; 0 for equal widths",
    ),
    Key::new("norm", Range::OneOf(&["batch", "layer", "none"]), "normalization after each layer's product"),
    Key::new("activation", Range::OneOf(&["prelu", "relu", "elu", "identity"]), "activation after the norm"),
    Key::new(
        "last",
        Range::OneOf(&["activation", "linear"]),
        "whether the last layer ends with norm and activation, or is linear",
    ),
    Key::new("dropout", Range::Below(0.0, 1.0), "dropout rate on the inputs of all layers but the first"),
    Key::new("feature_dropout", Range::Below(0.0, 1.0), "dropout rate on the entries of the features")
        .added_later(Scalar::Number(0.0)),
    Key::new(
        "jump",
        Range::OneOf(&["last", "concat"]),
        "embedding: the last layer, or a projection of the features and all layers side by side",
    )
    .added_later(Scalar::Text("last")),
];

/// The settings of every encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerSettings {
    /// Number of layers, 1 to 16.
    pub layers: usize,
    /// Embedding width.
    pub width: usize,
    /// Width of the layers before the last, or of all layers with [`Jump::Concat`]; 0 for equal widths.
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
    /// What the embedding consists of.
    pub jump: Jump,
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
            jump: Jump::Last,
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
    /// x
    Identity,
}

/// Jumping knowledge (Xu et al., 2018): which layers make up the embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jump {
    /// The last layer.
    Last,
    /// A projection of the node's own features, the feature channel, and all layers, side by side. Features that
    /// neighbors do not share survive there, as heterophilous graphs require.
    Concat,
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
        setting::check("encoder", KEYS, self)?;
        if self.has_feature_channel() && self.layers * self.layer_share().max(1) >= self.width {
            let layers = match self.hidden {
                0 => format!("{} layers", self.layers),
                hidden => format!("{} layers of width {hidden}", self.layers),
            };
            let expected = format!("room for {layers} and the features beside each other");
            return Err(Error::value("encoder.width", self.width, expected));
        }
        Ok(())
    }

    /// Output width of a layer. The feature channel counts as the layer after the last.
    pub(super) fn out_width(&self, layer: usize) -> usize {
        match self.jump {
            Jump::Last if layer + 1 < self.layers && self.hidden > 0 => self.hidden,
            Jump::Last => self.width,
            Jump::Concat if layer < self.layers => self.layer_share(),
            // What the layers leave.
            Jump::Concat => self.width - self.layers * self.layer_share(),
        }
    }

    /// The width of each layer in a concatenated embedding. It is a multiple of eight, or of four, where possible, as vector
    /// units and attention heads prefer.
    fn layer_share(&self) -> usize {
        match self.hidden {
            0 => {
                let share = self.width / (self.layers + 1);
                [8, 4].into_iter().find(|&step| share >= step).map_or(share, |step| share - share % step)
            }
            hidden => hidden,
        }
    }

    /// Whether the embedding has a feature channel.
    pub(super) fn has_feature_channel(&self) -> bool {
        self.jump == Jump::Concat
    }

    /// The widths of the parts of the embedding.
    pub(super) fn channels(&self) -> Vec<usize> {
        match self.jump {
            Jump::Last => vec![self.width],
            Jump::Concat => std::iter::once(self.layers)
                .chain(0..self.layers)
                .map(|layer| self.out_width(layer))
                .collect(),
        }
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
        layer + 1 >= self.layers && self.last == LastLayer::Linear
    }

    /// Whether the second layer may aggregate right after the first layer's activation: no norm or dropout lies between them,
    /// and aggregating before the second layer's weights is no wider than after them.
    pub(super) fn allows_early_propagation(&self) -> bool {
        self.layers > 1
            && self.jump == Jump::Last
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
            ActivationKind::Identity => Activation::Identity,
        };
        LayerEpilogue { norm, bias, affine, activation }
    }

    /// Declares the parameters of the feature channel, if there is one.
    pub(super) fn init_channel(
        &self,
        n_features: usize,
        params: &mut Params,
        group: usize,
        stream: &mut Stream,
    ) {
        if self.has_feature_channel() {
            let name = format!("{}.weight", self.layers);
            params.add(group, &name, (n_features, self.out_width(self.layers)), Init::XavierUniform, stream);
            self.init_epilogue(self.layers, params, group, stream);
        }
    }

    /// The embedding from the outputs of all layers. `view` is the input of the first layer.
    pub(super) fn jump<'a>(
        &self,
        tape: &mut Tape<'a>,
        next: &mut impl Iterator<Item = Var>,
        view: &View<'a>,
        pass: &mut Pass<'_>,
        layers: Vec<Var>,
    ) -> Var {
        if !self.has_feature_channel() {
            return *layers.last().expect("at least one layer");
        }
        let [weight] = take_params(next);
        let epilogue = self.epilogue(self.layers, next);
        let product = tape.project(view, weight, pass.token);
        let mut parts = vec![epilogue.finish(tape, product, &mut pass.norms)];
        parts.extend(layers);
        let z = tape.concat_columns(&parts);
        parts.into_iter().for_each(|part| tape.release(part));
        z
    }

    /// Frees the output of a layer after the next one has used it, unless it is part of the embedding.
    pub(super) fn release(&self, tape: &mut Tape<'_>, h: Var) {
        if self.jump == Jump::Last {
            tape.release(h);
        }
    }

    /// The first `PER_LAYER` parameters of a layer, and its epilogue.
    pub(super) fn layer_params<const PER_LAYER: usize>(
        &self,
        tape: &mut Tape<'_>,
        group: usize,
        layer: usize,
    ) -> ([Var; PER_LAYER], LayerEpilogue) {
        let mut next = self.params_from::<PER_LAYER>(tape, group, layer);
        (take_params(&mut next), self.epilogue(layer, &mut next))
    }

    /// The weight of the feature channel, and its epilogue.
    fn channel_params<const PER_LAYER: usize>(
        &self,
        tape: &mut Tape<'_>,
        group: usize,
    ) -> (Var, LayerEpilogue) {
        let mut next = self.params_from::<PER_LAYER>(tape, group, self.layers);
        let [weight] = take_params(&mut next);
        (weight, self.epilogue(self.layers, &mut next))
    }

    /// The parameters of a group from a layer on. Each layer has `PER_LAYER` parameters before its epilogue.
    fn params_from<const PER_LAYER: usize>(
        &self,
        tape: &mut Tape<'_>,
        group: usize,
        layer: usize,
    ) -> impl Iterator<Item = Var> + use<PER_LAYER> {
        let mut next = tape.group(group).into_iter();
        for before in 0..layer {
            take_params::<PER_LAYER>(&mut next);
            self.epilogue(before, &mut next);
        }
        next
    }

    /// The epilogue of a layer, or of the feature channel, which counts as the layer after the last.
    pub(super) fn epilogue_of<const PER_LAYER: usize>(
        &self,
        tape: &mut Tape<'_>,
        group: usize,
        layer: usize,
    ) -> LayerEpilogue {
        if layer == self.layers {
            return self.channel_params::<PER_LAYER>(tape, group).1;
        }
        self.layer_params::<PER_LAYER>(tape, group, layer).1
    }

    /// The feature channel of some nodes, up to its norm.
    pub(super) fn project_rows<'a, const PER_LAYER: usize>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        rows: BlockSource<'a>,
    ) -> Var {
        let (weight, epilogue) = self.channel_params::<PER_LAYER>(tape, group);
        let product = rows.product(tape, weight);
        epilogue.apply_fused(tape, product)
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

/// The next parameters of a group.
pub(super) fn take_params<const N: usize>(next: &mut impl Iterator<Item = Var>) -> [Var; N] {
    [(); N].map(|()| next.next().expect("all parameters are declared"))
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

    /// Applies bias, norm and activation to a product without any of them.
    pub(super) fn finish(&self, tape: &mut Tape<'_>, product: Var, norms: &mut Norms<'_>) -> Var {
        let h = self.apply_fused(tape, product);
        self.apply(tape, h, norms)
    }

    /// Applies what is usually fused into the product.
    pub(super) fn apply_fused(&self, tape: &mut Tape<'_>, product: Var) -> Var {
        match self.fused() {
            (None, Activation::Identity) => product,
            (bias, activation) => {
                let h = tape.activate(product, bias, activation);
                tape.release(product);
                h
            }
        }
    }

    /// Applies what follows the product with its fused bias and activation.
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
