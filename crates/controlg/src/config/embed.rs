//! The readout (`[embed]` in the run file).

use serde::{Deserialize, Serialize};

use crate::setting::{Key, Range, Scalar};

/// How embeddings are computed from the representations of the encoder, after training.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EmbedSettings {
    /// The embeddings are Z + Âⁿ·Z with this n; 0 for the representations Z themselves.
    pub smooth: usize,
}

impl EmbedSettings {
    /// All settings.
    pub const KEYS: &[Key] = &[Key::new(
        "smooth",
        Range::Whole(0, 16),
        "embeddings are Z + Âⁿ·Z with this n, over the edges that training saw; 0 for Z",
    )
    .added_later(Scalar::Whole(0))];
}
