//! `cca-ssg`, canonical correlation analysis: columns agree between two views and are uncorrelated within each view.
//!
//! Z̃ᵢ = Zᵢ with standardized columns (sample standard deviation), C = Z̃₁ᵀZ̃₂/n, Cᵢ = Z̃ᵢᵀZ̃ᵢ/n,
//! L = −Σₖ Cₖₖ + λ(‖I − C₁‖²_F + ‖I − C₂‖²_F). Z: n×h. There is no head.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::objective::{HeadDims, LossInput, Objective, ViewSpec, prepared_on, unsuitable};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Params, Tape, Var};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "cca-ssg",
    summary: "canonical correlation: columns agree between two views and are uncorrelated within each",
    paper: "Zhang et al., From Canonical Correlation Analysis to Self-supervised Graph Neural Networks, NeurIPS 2021",
    keys: KEYS,
    defaults: || setting::table_of(&CcaSsgSettings::default()),
    build: |table| Ok(Box::new(CcaSsg { settings: setting::settings("objective.cca-ssg", KEYS, table)? })),
};

const KEYS: &[Key] = &[
    Key::new("lambda", Range::Number(0.0, 1e6), "weight of the within-view decorrelation"),
    Key::new("drop_edges", Range::Below(0.0, 1.0), "fraction of edges dropped in each view"),
    Key::new("mask_features", Range::Below(0.0, 1.0), "fraction of feature columns masked in each view"),
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

#[derive(Clone)]
struct CcaSsg {
    settings: CcaSsgSettings,
}

impl Objective for CcaSsg {
    fn check(&self, graph: &Graph) -> Result<()> {
        match graph.n_nodes() {
            1 => Err(unsuitable("cca-ssg", "one node", "at least two nodes")),
            _ => Ok(()),
        }
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(CcaSsg { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, _: HeadDims, _: &mut Params, _: usize, _: &mut Stream) {}

    fn views(&self) -> Vec<ViewSpec> {
        ViewSpec::equal_views(self.settings.drop_edges, self.settings.mask_features)
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        // The authors divide by the standard deviation without an epsilon, which is 0/0 for a constant column.
        let [y1, y2] = [input.z[0], input.z[1]].map(|z| tape.standardize_columns(z, true, 1e-5));
        tape.cca_ssg(y1, y2, self.settings.lambda)
    }
}
