//! `p_recon`, masked feature reconstruction: predict the features of masked nodes from their neighbors.
//!
//! The equations are in `autoencoder.rs`. The default decoder is one graph convolution. The initial loss is about 1.

use super::Objective;
use super::autoencoder::{
    ATTENTION_DROPOUT, Autoencoder, AutoencoderSettings, DROP_EDGES, DROPOUT, EXPONENT, MASK, REPLACE, Target,
};
use crate::registry::Entry;
use crate::setting::{self, Key, Range, Scalar};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_recon",
    summary: "masked feature reconstruction: predict masked features from neighbors",
    paper: "Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, KDD 2022",
    keys: KEYS,
    defaults: || setting::table_of(&AutoencoderSettings::default()),
    build: |table| {
        let settings = setting::settings("objective.p_recon", KEYS, table)?;
        Ok(Box::new(Autoencoder::new("p_recon", settings, Target::Own)))
    },
};

const KEYS: &[Key] = &[
    MASK,
    REPLACE,
    EXPONENT,
    DROP_EDGES,
    Key::new(
        "decoder",
        Range::OneOf(&["gcn", "gat", "linear"]),
        "decoder: a graph convolution, graph attention as in graphmae, or the node's own code",
    )
    .added_later(Scalar::Text("gcn")),
    Key::new("remask", Range::Flag, "zero the codes of masked nodes before a decoder that reads neighbors")
        .added_later(Scalar::Flag(true)),
    DROPOUT.added_later(Scalar::Number(0.0)),
    ATTENTION_DROPOUT.added_later(Scalar::Number(0.0)),
    Key::new(
        "init",
        Range::OneOf(&["uniform", "normal"]),
        "initialization of the decoder: Xavier uniform, or as in graphmae",
    )
    .added_later(Scalar::Text("uniform")),
    Key::new(
        "min_norm",
        Range::Number(0.0, 1.0),
        "smallest norm that the cosine divides by, 1e-12 in graphmae; with 0, rows of zeros have no gradient",
    )
    .added_later(Scalar::Number(0.0)),
    Key::new("hidden", Range::Whole(0, 65_536), "width of the decoder's codes; 0 for the embedding width")
        .added_later(Scalar::Whole(0)),
    Key::new(
        "type_weights",
        Range::OneOf(&["nodes", "equal"]),
        "weights of the losses of node types: the number of masked nodes, or equal",
    )
    .added_later(Scalar::Text("nodes")),
];
