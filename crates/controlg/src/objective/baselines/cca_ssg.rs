//! `cca-ssg`, canonical correlation analysis: columns agree between two views and are uncorrelated within each view.
//!
//! The equations are in `decorrelation.rs`. There is no head, and columns are divided by the sample standard deviation.
//! The authors divide without an epsilon, which is 0/0 for a constant column.

use serde::{Deserialize, Serialize};

use crate::objective::Objective;
use crate::objective::decorrelation::{
    CorrelationLoss, DROP_EDGES, Decorrelation, DecorrelationSettings, Deviation, MASK_FEATURES,
};
use crate::objective::head::Head;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "cca-ssg",
    summary: "canonical correlation: columns agree between two views and are uncorrelated within each",
    paper: "Zhang et al., From Canonical Correlation Analysis to Self-supervised Graph Neural Networks, NeurIPS 2021",
    keys: KEYS,
    defaults: || setting::table_of(&CcaSsgSettings::default()),
    build: |table| {
        let settings: CcaSsgSettings = setting::settings("objective.cca-ssg", KEYS, table)?;
        Ok(Box::new(Decorrelation::new("cca-ssg", settings.into())))
    },
};

const KEYS: &[Key] = &[
    Key::new("lambda", Range::Number(0.0, 1e6), "weight of the within-view decorrelation"),
    DROP_EDGES,
    MASK_FEATURES,
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct CcaSsgSettings {
    lambda: f64,
    drop_edges: f64,
    mask_features: f64,
}

impl Default for CcaSsgSettings {
    fn default() -> Self {
        CcaSsgSettings { lambda: 1e-3, drop_edges: 0.2, mask_features: 0.2 }
    }
}

impl From<CcaSsgSettings> for DecorrelationSettings {
    fn from(settings: CcaSsgSettings) -> Self {
        let CcaSsgSettings { lambda, drop_edges, mask_features } = settings;
        DecorrelationSettings {
            head: Head::None,
            lambda,
            all_up_to: usize::MAX,
            drop_edges,
            mask_features,
            loss: CorrelationLoss::Cca,
            deviation: Deviation::Sample,
            ..DecorrelationSettings::default()
        }
    }
}
