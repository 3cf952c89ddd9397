//! The readout (`[embed]` in the run file).

use serde::{Deserialize, Serialize};

use crate::setting::{Key, Range, Scalar};

/// How embeddings are computed from the representations of the encoder, after training.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EmbedSettings {
    /// The embeddings are Z + Âⁿ·Z with this n; 0 for the representations Z themselves.
    pub smooth: usize,
    /// How the channels are weighted.
    pub channels: ChannelWeights,
    /// Columns of each of the channels that need no training; 0 for none.
    pub features: usize,
    /// Which of these channels there are.
    pub hops: FeatureHops,
}

/// The channels that need no training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureHops {
    /// All three.
    #[default]
    All,
    /// The features of the node itself.
    Own,
    /// Their mean over the neighbors.
    Mean,
    /// The features smoothed over two hops.
    Twice,
}

/// The weights of the channels: the parts of a concatenated representation (`encoder.jump = "concat"`) and those beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelWeights {
    /// As they are.
    #[default]
    Equal,
    /// By how much of the features' signal each hop keeps, without labels.
    Weighted,
}

impl EmbedSettings {
    /// All settings.
    pub const KEYS: &[Key] = &[
        Key::new(
            "smooth",
            Range::Whole(0, 16),
            "embeddings are Z + Âⁿ·Z with this n, over the edges that training saw; 0 for Z",
        )
        .added_later(Scalar::Whole(0)),
        Key::new(
            "channels",
            Range::OneOf(&["equal", "weighted"]),
            "channels as they are, or weighted by how much of the features' signal their hop keeps",
        )
        .added_later(Scalar::Text("equal")),
        Key::new(
            "features",
            Range::Whole(0, 65_536),
            "columns of features, neighbors' mean and two-hop smoothing beside the representations; 0: none",
        )
        .added_later(Scalar::Whole(0)),
        Key::new(
            "hops",
            Range::OneOf(&["all", "own", "mean", "twice"]),
            "which of these channels: the features, neighbors' mean, two-hop smoothing, or all",
        )
        .added_later(Scalar::Text("all")),
    ];
}
