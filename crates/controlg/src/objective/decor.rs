//! `p_decor`, decorrelation: embedding columns agree between two views and are uncorrelated with each other.
//!
//! The equations are in `decorrelation.rs`. With the default loss, that of Barlow Twins, the initial value is in the tens,
//! so it dominates a plain sum of losses.

use super::Objective;
use super::decorrelation::{DROP_EDGES, Decorrelation, DecorrelationSettings, MASK_FEATURES};
use crate::registry::Entry;
use crate::setting::{self, Key, Range, Scalar};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_decor",
    summary: "decorrelation: columns agree between two views and are otherwise uncorrelated",
    paper: "Zbontar et al., Barlow Twins: Self-Supervised Learning via Redundancy Reduction, ICML 2021",
    keys: KEYS,
    defaults: || setting::table_of(&DecorrelationSettings::default()),
    build: |table| {
        let settings = setting::settings("objective.p_decor", KEYS, table)?;
        Ok(Box::new(Decorrelation::new("p_decor", settings)))
    },
};

const KEYS: &[Key] = &[
    Key::new("width", Range::Whole(1, 65_536), "output width of the projection head"),
    Key::new("head", Range::OneOf(&["mlp", "none"]), "projection head: a two-layer MLP or none"),
    Key::new(
        "lambda",
        Range::Number(0.0, 1e6),
        "weight of the off-diagonal correlations, or of the decorrelation within views (cca)",
    ),
    Key::new("all_up_to", Range::Whole(0, 1 << 40), "number of nodes up to which all nodes are used"),
    Key::new("batch", Range::Whole(2, 1 << 30), "nodes sampled per step on larger graphs"),
    DROP_EDGES,
    MASK_FEATURES,
    Key::new("loss", Range::OneOf(&["barlow", "cca"]), "loss of Barlow Twins or of CCA-SSG")
        .added_later(Scalar::Text("barlow")),
    Key::new(
        "deviation",
        Range::OneOf(&["population", "sample"]),
        "standard deviation of the columns: with 1/n, or with 1/(n - 1) as in CCA-SSG",
    )
    .added_later(Scalar::Text("population")),
];
