//! Node classification: a linear model on frozen embeddings.
//!
//! `lbfgs` fits to the end for each penalty of the grid, and the penalty is chosen on the validation nodes; equals go
//! to the larger one. `adam-es` stops early, on the epoch that is best on the validation nodes, as GraphMAE, CCA-SSG
//! and ParetoGNN do, for comparison with their numbers: that choice among thousands of models is worth up to a
//! point on small splits.

use super::adam_es;
use super::check;
use super::design::Design;
use super::lbfgs::{LbfgsOutcome, LbfgsSettings};
use super::logistic::{PENALTIES, fit_grid, predict};
use super::metrics::{accuracy, macro_f1};
use super::normalize::EmbeddingNormalization;
use crate::data::{Labels, Split};
use crate::error::{Error, Result};
use crate::graph::Features;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Which linear model judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// Fitted to the end, the penalty chosen on validation.
    #[default]
    Lbfgs,
    /// Adam, the epoch and the decay chosen on validation.
    AdamEs,
}

impl Probe {
    /// The names, as users type them.
    pub const NAMES: [&str; 2] = ["lbfgs", "adam-es"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl FromStr for Probe {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "lbfgs" => Ok(Probe::Lbfgs),
            "adam-es" | "adam_es" => Ok(Probe::AdamEs),
            _ => Err(Error::unknown("probe", name, Self::NAMES)),
        }
    }
}

/// How nodes are classified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeSettings {
    /// Normalization of the embeddings.
    #[serde(rename = "embedding")]
    pub normalize: EmbeddingNormalization,
    /// Which linear model judges.
    pub probe: Probe,
    /// The most iterations of a fit; by default 300, and 100 from 50,000 training nodes on.
    pub max_iterations: Option<usize>,
}

/// What came of one split, as shares of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judgment {
    /// Accuracy on the validation nodes.
    pub(super) val: f64,
    /// Accuracy on the test nodes.
    pub(super) test: f64,
    /// Macro-F1 on the test nodes.
    pub(super) macro_f1: f64,
    /// The penalty, or weight decay, that was chosen.
    pub(super) chosen: f64,
    /// How many fits of the grid ran out of iterations.
    pub(super) exhausted: usize,
}

/// Classifies the nodes of one split by embeddings that are normalized already.
pub(super) fn judge(
    embeddings: &Features,
    labels: &Labels,
    split: &Split,
    settings: &ProbeSettings,
) -> Result<Judgment> {
    check::split(labels, split)?;
    let classes =
        |nodes: &[u32]| nodes.iter().map(|&node| labels.classes()[node as usize]).collect::<Vec<u32>>();
    let parts = ProbeParts {
        train: (Design::of_rows(embeddings, &split.train), classes(&split.train)),
        val: (Design::of_rows(embeddings, &split.val), classes(&split.val)),
        n_classes: labels.n_classes().max(2),
    };
    let choice = match settings.probe {
        Probe::Lbfgs => by_penalty(&parts, settings),
        Probe::AdamEs => adam_es::choose(&parts),
    };
    let test = Design::of_rows(embeddings, &split.test);
    let predicted = predict(&test, &[&choice.model], parts.n_classes).remove(0);
    let truth = classes(&split.test);
    Ok(Judgment {
        val: choice.val,
        test: accuracy(&predicted, &truth),
        macro_f1: macro_f1(&predicted, &truth),
        chosen: choice.setting,
        exhausted: choice.exhausted,
    })
}

/// What models are fitted and chosen on.
pub(super) struct ProbeParts<'a> {
    pub(super) train: (Design<'a>, Vec<u32>),
    pub(super) val: (Design<'a>, Vec<u32>),
    pub(super) n_classes: usize,
}

/// A model, why it was taken, and with what setting it was fitted.
pub(super) struct PenaltyChoice {
    pub(super) model: Vec<f64>,
    pub(super) val: f64,
    pub(super) setting: f64,
    pub(super) exhausted: usize,
}

fn by_penalty(parts: &ProbeParts<'_>, settings: &ProbeSettings) -> PenaltyChoice {
    let (design, targets) = &parts.train;
    let max_iterations = settings.max_iterations.unwrap_or_else(|| iterations_for(targets.len()));
    let limits = LbfgsSettings { max_iterations, ..LbfgsSettings::default() };
    let fits = fit_grid(design, targets, parts.n_classes, &PENALTIES, limits);
    let exhausted = fits.iter().filter(|fit| fit.outcome == LbfgsOutcome::Exhausted).count();
    let models: Vec<&[f64]> = fits.iter().map(|fit| &fit.parameters[..]).collect();
    let (val, truth) = &parts.val;
    let right: Vec<f64> = predict(val, &models, parts.n_classes).iter().map(|p| accuracy(p, truth)).collect();
    // The penalties ascend: the last of equals is the larger one.
    let best = (1..right.len()).fold(0, |best, at| if right[at] >= right[best] { at } else { best });
    PenaltyChoice { model: models[best].to_vec(), val: right[best], setting: PENALTIES[best], exhausted }
}

/// The most iterations of a fit on that many rows.
fn iterations_for(n_rows: usize) -> usize {
    if n_rows >= 50_000 { 100 } else { LbfgsSettings::default().max_iterations }
}
