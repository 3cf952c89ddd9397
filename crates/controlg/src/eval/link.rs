//! Link prediction with a logistic decoder on Hadamard products of embeddings.
//!
//! Rows are L2-normalized and the decoder reads z_u ⊙ z_v. It is fitted on the training edges and as many negative pairs.
//! The L2 penalty is chosen by ROC-AUC on the validation pairs; ties go to the larger penalty.

use super::design_matrix::DesignMatrix;
use super::lbfgs::{LbfgsOutcome, LbfgsSettings};
use super::logistic::{PENALTIES, fit_grid, for_each_scores};
use super::metrics::{average_precision, roc_auc};
use crate::Real;
use crate::data::EdgeSplit;
use crate::error::{Error, Result};
use crate::graph::Features;
use crate::graph::norm::unit_rows;

/// Link-prediction metrics, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkResult {
    /// ROC-AUC on the validation pairs.
    pub(super) val: f64,
    /// ROC-AUC on the test pairs.
    pub(super) test: f64,
    /// Average precision on the test pairs.
    pub(super) average_precision: f64,
    /// Chosen penalty.
    pub(super) chosen: f64,
    /// Number of fits that reached the iteration limit.
    pub(super) exhausted: usize,
}

/// Fits the decoder and scores the test pairs.
pub(super) fn evaluate_links(embeddings: &Features, split: &EdgeSplit) -> Result<LinkResult> {
    let unit = unit_rows(embeddings);
    let (pairs, edge) = labeled_pairs(&split.train, &split.train_negatives);
    let targets: Vec<u32> = edge.iter().map(|&edge| edge.into()).collect();
    let design = DesignMatrix::of_pairs(&unit, &pairs);
    let fits = fit_grid(&design, &targets, 1, &PENALTIES, LbfgsSettings::default());
    drop(design);

    let models: Vec<&[f64]> = fits.iter().map(|fit| &fit.parameters[..]).collect();
    let (pairs, edge) = labeled_pairs(&split.val, &split.val_negatives);
    let areas: Option<Vec<f64>> = scores(&unit, &pairs, &models).iter().map(|s| roc_auc(s, &edge)).collect();
    let areas = areas.ok_or_else(no_auc)?;
    let best = (1..areas.len()).fold(0, |best, at| if areas[at] >= areas[best] { at } else { best });

    let (pairs, edge) = labeled_pairs(&split.test, &split.test_negatives);
    let scores = scores(&unit, &pairs, &models[best..=best]).remove(0);
    Ok(LinkResult {
        val: areas[best],
        test: roc_auc(&scores, &edge).ok_or_else(no_auc)?,
        average_precision: average_precision(&scores, &edge).ok_or_else(no_auc)?,
        chosen: PENALTIES[best],
        exhausted: fits.iter().filter(|fit| fit.outcome == LbfgsOutcome::Exhausted).count(),
    })
}

/// Scores of the pairs under each model.
fn scores(unit: &Features, pairs: &[(u32, u32)], models: &[&[f64]]) -> Vec<Vec<Real>> {
    let mut scores = vec![Vec::with_capacity(pairs.len()); models.len()];
    for_each_scores(&DesignMatrix::of_pairs(unit, pairs), models, 1, |_, block| {
        for row in block.chunks_exact(models.len()) {
            scores.iter_mut().zip(row).for_each(|(scores, &score)| scores.push(score));
        }
    });
    scores
}

/// Positive and negative pairs in one list, with their labels.
fn labeled_pairs(edges: &[(u32, u32)], negatives: &[(u32, u32)]) -> (Vec<(u32, u32)>, Vec<bool>) {
    let pairs = [edges, negatives].concat();
    let edge = (0..pairs.len()).map(|at| at < edges.len()).collect();
    (pairs, edge)
}

fn no_auc() -> Error {
    Error::value(EdgeSplit::PROTOCOL, "a part without edges or without negative pairs", "both in every part")
}
