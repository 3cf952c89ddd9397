//! Linear probe: node classification on frozen embeddings.
//!
//! `lbfgs` fits every L2 penalty of the grid to convergence and chooses the penalty on the validation nodes; ties go to
//! the larger one. `adam-es` uses early stopping on the validation nodes, like GraphMAE, CCA-SSG and ParetoGNN, for
//! comparison with their numbers. Selecting among thousands of epochs can gain up to one point on small splits.

use super::adam_es;
use super::check;
use super::design_matrix::DesignMatrix;
use super::lbfgs::{LbfgsOutcome, LbfgsSettings};
use super::logistic::{PENALTIES, fit_grid, predict};
use super::metrics::{accuracy, macro_f1};
use super::normalize::EmbeddingNormalization;
use crate::data::{Labels, Split};
use crate::error::{Error, Result};
use crate::graph::Features;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Optimizer of the linear probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// L-BFGS to convergence; penalty chosen on validation.
    #[default]
    Lbfgs,
    /// Adam; epoch and weight decay chosen on validation.
    AdamEs,
}

impl Probe {
    /// Names on the command line.
    pub const NAMES: [&str; 2] = ["lbfgs", "adam-es"];

    /// Name.
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

/// Settings of the linear probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeSettings {
    /// Normalization of the embeddings.
    #[serde(rename = "embedding")]
    pub normalize: EmbeddingNormalization,
    /// Optimizer.
    pub probe: Probe,
    /// Maximum number of L-BFGS iterations; by default 300, or 100 for 50,000 and more training nodes.
    pub max_iterations: Option<usize>,
}

/// Metrics of one split, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SplitResult {
    /// Accuracy on the validation nodes.
    pub(super) val: f64,
    /// Accuracy on the test nodes.
    pub(super) test: f64,
    /// Macro-F1 on the test nodes.
    pub(super) macro_f1: f64,
    /// Chosen penalty or weight decay.
    pub(super) chosen: f64,
    /// Number of fits that reached the iteration limit.
    pub(super) exhausted: usize,
}

/// Fits the probe on one split of normalized embeddings.
pub(super) fn evaluate_split(
    embeddings: &Features,
    labels: &Labels,
    split: &Split,
    settings: &ProbeSettings,
) -> Result<SplitResult> {
    check::split(labels, split)?;
    // The model has one output per class with a training node. The other classes get numbers that it never predicts.
    let trained = check::trained_classes(labels, split);
    let n_outputs = trained.len().max(2);
    let output = |class: u32| trained.binary_search(&class).map_or(n_outputs as u32 + class, |at| at as u32);
    let classes = |nodes: &[u32]| {
        nodes.iter().map(|&node| output(labels.classes()[node as usize])).collect::<Vec<u32>>()
    };
    let data = ProbeData {
        train: (DesignMatrix::of_rows(embeddings, &split.train), classes(&split.train)),
        val: (DesignMatrix::of_rows(embeddings, &split.val), classes(&split.val)),
        n_classes: n_outputs,
    };
    let choice = match settings.probe {
        Probe::Lbfgs => choose_penalty(&data, settings),
        Probe::AdamEs => adam_es::choose(&data),
    };
    let test = DesignMatrix::of_rows(embeddings, &split.test);
    let predicted = predict(&test, &[&choice.model], data.n_classes).remove(0);
    let truth = classes(&split.test);
    Ok(SplitResult {
        val: choice.val,
        test: accuracy(&predicted, &truth),
        macro_f1: macro_f1(&predicted, &truth),
        chosen: choice.setting,
        exhausted: choice.exhausted,
    })
}

/// Training and validation data.
pub(super) struct ProbeData<'a> {
    pub(super) train: (DesignMatrix<'a>, Vec<u32>),
    pub(super) val: (DesignMatrix<'a>, Vec<u32>),
    pub(super) n_classes: usize,
}

/// The selected model with its validation accuracy and setting.
pub(super) struct SelectedModel {
    pub(super) model: Vec<f64>,
    pub(super) val: f64,
    pub(super) setting: f64,
    pub(super) exhausted: usize,
}

fn choose_penalty(data: &ProbeData<'_>, settings: &ProbeSettings) -> SelectedModel {
    let (design, targets) = &data.train;
    let max_iterations = settings.max_iterations.unwrap_or_else(|| max_iterations_for(targets.len()));
    let lbfgs = LbfgsSettings { max_iterations, ..LbfgsSettings::default() };
    let fits = fit_grid(design, targets, data.n_classes, &PENALTIES, lbfgs);
    let exhausted = fits.iter().filter(|fit| fit.outcome == LbfgsOutcome::Exhausted).count();
    let models: Vec<&[f64]> = fits.iter().map(|fit| &fit.parameters[..]).collect();
    let (val, truth) = &data.val;
    let accuracies: Vec<f64> =
        predict(val, &models, data.n_classes).iter().map(|p| accuracy(p, truth)).collect();
    // Penalties are ascending, so the last of ties is the larger one.
    let best =
        (1..accuracies.len()).fold(0, |best, at| if accuracies[at] >= accuracies[best] { at } else { best });
    SelectedModel { model: models[best].to_vec(), val: accuracies[best], setting: PENALTIES[best], exhausted }
}

/// Default iteration limit for this number of training nodes.
fn max_iterations_for(n_rows: usize) -> usize {
    if n_rows >= 50_000 { 100 } else { LbfgsSettings::default().max_iterations }
}
