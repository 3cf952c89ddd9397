//! Link prediction: a logistic decoder on the products of the two ends' embeddings.
//!
//! Rows are scaled to length 1, the decoder reads z_u ⊙ z_v, it is fitted on the training edges and as many
//! non-edges, and its penalty is chosen by the area on the validation pairs; equals go to the larger one.

use super::design::Design;
use super::lbfgs::{LbfgsOutcome, LbfgsSettings};
use super::logistic::{PENALTIES, each_scores, fit_grid};
use super::metrics::{average_precision, roc_auc};
use super::normalize::unit_rows;
use crate::Real;
use crate::data::EdgeSplit;
use crate::error::{Error, Result};
use crate::graph::Features;

/// What came of the pairs, as shares of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkJudgment {
    /// Area under the ROC curve on the validation pairs.
    pub(super) val: f64,
    /// Area under the ROC curve on the test pairs.
    pub(super) test: f64,
    /// Average precision on the test pairs.
    pub(super) average_precision: f64,
    /// The penalty that was chosen.
    pub(super) chosen: f64,
    /// How many fits of the grid ran out of iterations.
    pub(super) exhausted: usize,
}

/// Judges embeddings by the edges they foretell.
pub(super) fn judge(embeddings: &Features, split: &EdgeSplit) -> Result<LinkJudgment> {
    let unit = unit_rows(embeddings);
    let (pairs, edge) = both(&split.train, &split.train_negatives);
    let targets: Vec<u32> = edge.iter().map(|&edge| edge.into()).collect();
    let design = Design::of_pairs(&unit, &pairs);
    let fits = fit_grid(&design, &targets, 1, &PENALTIES, LbfgsSettings::default());
    drop(design);

    let models: Vec<&[f64]> = fits.iter().map(|fit| &fit.parameters[..]).collect();
    let (pairs, edge) = both(&split.val, &split.val_negatives);
    let areas: Option<Vec<f64>> = scores(&unit, &pairs, &models).iter().map(|s| roc_auc(s, &edge)).collect();
    let areas = areas.ok_or_else(no_area)?;
    let best = (1..areas.len()).fold(0, |best, at| if areas[at] >= areas[best] { at } else { best });

    let (pairs, edge) = both(&split.test, &split.test_negatives);
    let scores = scores(&unit, &pairs, &models[best..=best]).remove(0);
    Ok(LinkJudgment {
        val: areas[best],
        test: roc_auc(&scores, &edge).ok_or_else(no_area)?,
        average_precision: average_precision(&scores, &edge).ok_or_else(no_area)?,
        chosen: PENALTIES[best],
        exhausted: fits.iter().filter(|fit| fit.outcome == LbfgsOutcome::Exhausted).count(),
    })
}

/// The scores of the pairs by each model.
fn scores(unit: &Features, pairs: &[(u32, u32)], models: &[&[f64]]) -> Vec<Vec<Real>> {
    let mut scores = vec![Vec::with_capacity(pairs.len()); models.len()];
    each_scores(&Design::of_pairs(unit, pairs), models, 1, |_, slab| {
        for row in slab.chunks_exact(models.len()) {
            scores.iter_mut().zip(row).for_each(|(scores, &score)| scores.push(score));
        }
    });
    scores
}

/// Edges and non-edges in one list, and which is which.
fn both(edges: &[(u32, u32)], others: &[(u32, u32)]) -> (Vec<(u32, u32)>, Vec<bool>) {
    let pairs = [edges, others].concat();
    let edge = (0..pairs.len()).map(|at| at < edges.len()).collect();
    (pairs, edge)
}

fn no_area() -> Error {
    Error::value(EdgeSplit::PROTOCOL, "a part without edges or without other pairs", "both in every part")
}
