//! `cca-ssg`, canonical correlation: the same columns agree in two views, and within a view no two columns do.
//!
//! Z̃ᵢ = Zᵢ with columns of mean 0 and sample deviation 1, C = Z̃₁ᵀZ̃₂/n, Cᵢ = Z̃ᵢᵀZ̃ᵢ/n,
//! L = −Σₖ Cₖₖ + λ(‖I − C₁‖²_F + ‖I − C₂‖²_F). Z: n×h. There is no head.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::objective::{HeadDims, LossInput, Objective, ViewSpec, prepared, unfit};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Params, Tape, Var};

/// On the list of methods of their own.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "cca-ssg",
    summary: "canonical correlation: columns agree between two views and are uncorrelated within each",
    paper: "Zhang et al., From Canonical Correlation Analysis to Self-supervised Graph Neural Networks, NeurIPS 2021",
    keys: KEYS,
    defaults: || setting::table_of(&CcaSsgSettings::default()),
    build: |table| Ok(Box::new(CcaSsg { settings: setting::settings("objective.cca-ssg", KEYS, table)? })),
};

const KEYS: &[Key] = &[
    Key::new("lambda", Range::Number(0.0, 1e6), "weight of the correlations within a view"),
    Key::new("drop_edges", Range::Below(0.0, 1.0), "share of the edges dropped in each view"),
    Key::new("mask_features", Range::Below(0.0, 1.0), "share of the feature columns masked in each view"),
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
            1 => Err(unfit("cca-ssg", "one node", "at least two, to correlate over")),
            _ => Ok(()),
        }
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared(CcaSsg { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, _: HeadDims, _: &mut Params, _: usize, _: &mut Stream) {}

    fn buffers(&self, graph: &Graph, width: usize) -> Vec<(usize, usize)> {
        vec![(graph.n_nodes() * width, 6)]
    }

    fn views(&self) -> Vec<ViewSpec> {
        ViewSpec::equal_views(self.settings.drop_edges, self.settings.mask_features)
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: LossInput<'a, '_>) -> Var {
        // The authors divide by the deviation alone, which makes 0/0 of a constant column.
        let [y1, y2] = [step.z[0], step.z[1]].map(|z| tape.standardize_columns(z, true, 1e-5));
        tape.cca_ssg(y1, y2, self.settings.lambda)
    }
}
