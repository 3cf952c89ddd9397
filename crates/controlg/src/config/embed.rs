//! The readout (`[embed]` in the run file).

use serde::{Deserialize, Serialize};

use crate::setting::{Key, Range, Scalar};

/// How embeddings are computed from the representations of the encoder, after training.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EmbedSettings {
    /// The embeddings are Z + Âⁿ·Z with this n; 0 for the representations Z themselves.
    pub smooth: usize,
    /// How the channels of a concatenated representation are weighted.
    pub channels: ChannelWeights,
}

/// The weights of the channels of a concatenated representation (`encoder.jump = "concat"`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelWeights {
    /// As they are.
    #[default]
    Equal,
    /// By how clearly each channel clusters, without labels.
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
            "with encoder.jump = concat: channels as they are, or weighted by how clearly they cluster",
        )
        .added_later(Scalar::Text("equal")),
    ];
}
