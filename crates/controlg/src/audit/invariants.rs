//! Invariants of the methods, checked on recorded numbers.

use super::place::{Place, PlaceOf};
use super::settings::AuditSettings;
use crate::coordinator::{ControlMode, PlanMode, Sensing, WeightBounds, min_norm};
use crate::error::Result;
use crate::eval::quality::Quality;
use crate::trace::{BlockLine, SenseLine};

/// One finite number per objective.
pub(super) fn finite(values: &[f64], count: usize, place: &Place<'_>) -> Result<()> {
    if values.len() != count || values.iter().any(|x| !x.is_finite()) {
        return Err(place.differs(format_args!("{values:?}"), format_args!("{count} finite numbers")));
    }
    Ok(())
}

/// The quality is measured when it is due, and its numbers are possible: an index above 0, an area in [0, 1], a rank of 1 or more.
pub(super) fn quality(found: Option<&Quality>, is_due: bool, place: &Place<'_>) -> Result<()> {
    let number = |value: Option<f64>, low: f64, high: f64| match value {
        Some(value) => within(&[value], low, high, place),
        None => Ok(()),
    };
    match found {
        Some(quality) if is_due => {
            number(quality.calinski_harabasz, 0.0, f64::MAX)?;
            number(quality.edge_auc, 0.0, 1.0)?;
            number(quality.effective_rank, 1.0 - 1e-6, f64::MAX)
        }
        Some(_) => Err(place.differs("a measurement", "none after this block")),
        None if is_due => Err(place.differs("nothing", "a measurement after the epoch")),
        None => Ok(()),
    }
}

/// The measurements are possible: Rayleigh quotients in [0, 2], cosines in [−1, 1] with ones on the diagonal.
pub(super) fn measured(line: &SenseLine, k: usize, place: PlaceOf<'_, '_>) -> Result<()> {
    finite(&line.loss, k, &place("loss"))?;
    let shape = line.grad_norm.len() == k && line.rq.len() == k && line.cosine.len() == k;
    if !shape || line.cosine.iter().any(|row| row.len() != k) {
        return Err(place("gram").differs("arrays of a different length", format_args!("{k} objectives")));
    }
    within(&line.rq, 0.0, 2.0 + 1e-9, &place("rq"))?;
    within(&line.grad_norm, 0.0, f64::INFINITY, &place("grad_norm"))?;
    for a in 0..k {
        within(&line.cosine[a], -1.0, 1.0, &place("gram"))?;
        let unit = line.grad_norm[a] > 0.0;
        for b in 0..k {
            let (found, back) = (line.cosine[a][b], line.cosine[b][a]);
            let expected = if a == b && unit { 1.0 } else { back };
            if (found - expected).abs() > 1e-9 {
                return Err(place(&format!("gram[{a}][{b}]")).differs(found, expected));
            }
        }
    }
    Ok(())
}

/// The Rayleigh quotients are the weighted means of those of the relations.
pub(super) fn relations(line: &SenseLine, k: usize, weights: &[f64], place: PlaceOf<'_, '_>) -> Result<()> {
    if line.rq_relation.len() != weights.len() {
        let expected = format_args!("{}, one per relation", weights.len());
        return Err(place("rq_relation").differs(format_args!("{} rows", line.rq_relation.len()), expected));
    }
    for row in &line.rq_relation {
        finite(row, k, &place("rq_relation"))?;
        within(row, 0.0, 2.0 + 1e-9, &place("rq_relation"))?;
    }
    if weights.is_empty() {
        return Ok(());
    }
    for (objective, &found) in line.rq.iter().enumerate() {
        let mean: f64 =
            weights.iter().zip(&line.rq_relation).map(|(weight, row)| weight * row[objective]).sum();
        if (found - mean).abs() > 1e-9 {
            return Err(place(&format!("rq[{objective}]")).differs(found, mean));
        }
    }
    Ok(())
}

/// The measurements on held-out samples are there if the planner needs them: finite numbers, positive costs.
pub(super) fn held_out(line: &SenseLine, k: usize, expected: bool, place: PlaceOf<'_, '_>) -> Result<()> {
    let count = if expected { k } else { 0 };
    finite(&line.held_out, count, &place("held_out"))?;
    finite(&line.cost, count, &place("cost"))?;
    within(&line.cost, f64::MIN_POSITIVE, f64::INFINITY, &place("cost"))?;
    if line.transfer.len() != count {
        let expected = format_args!("{count} rows");
        return Err(place("transfer").differs(format_args!("{} rows", line.transfer.len()), expected));
    }
    line.transfer.iter().try_for_each(|row| finite(row, count, &place("transfer")))
}

/// The weights are the min-norm point of the simplex, conflicts are in [0, 1], difficulties are within their bounds,
/// reference points never decrease and keep their distance, and shares sum to one and respect the floor.
pub(super) fn sensed(
    line: &SenseLine,
    before: Option<&Sensing>,
    audited: &AuditSettings,
    place: PlaceOf<'_, '_>,
) -> Result<()> {
    let Sensing { sensed, state, plan } = &line.sensing;
    let (k, settings) = (audited.k(), &audited.scheduler);
    let reading = line.reading();
    let used: Vec<usize> = (0..k).filter(|&a| reading.usable(a)).collect();
    if !used.is_empty() {
        sums_to_one(&sensed.lambda, &place("lambda"))?;
    }
    // With more objectives the min-norm point is approximated.
    if !used.is_empty() && used.len() <= min_norm::EXACT_UP_TO {
        optimal(&line.cosine, &sensed.lambda, &used, &place("lambda"))?;
    }
    within(&sensed.lambda, 0.0, 1.0, &place("lambda"))?;
    within(&sensed.conf, 0.0, 1.0, &place("conf"))?;
    let (least, most) = (settings.sense.difficulty_min, settings.sense.difficulty_max);
    within(&state.difficulty, least, most, &place("difficulty"))?;
    within(&plan.hv_weight, f64::MIN_POSITIVE, f64::INFINITY, &place("hv_weight"))?;
    for a in 0..k {
        let slack = state.reference[a] - state.loss_norm[a];
        if slack < settings.plan.delta * (1.0 - 1e-9) {
            let expected = format!("at least plan.delta = {} above the loss", settings.plan.delta);
            return Err(place("reference").differs(state.reference[a], expected));
        }
        if let Some(before) = before.filter(|before| state.reference[a] < before.state.reference[a]) {
            let expected = format!("at least {}, as before", before.state.reference[a]);
            return Err(place("reference").differs(state.reference[a], expected));
        }
    }
    sums_to_one(&plan.plan, &place("plan"))?;
    let floor = if settings.plan.mode == PlanMode::Uniform || k == 1 { 0.0 } else { settings.plan.floor };
    within(&plan.plan, floor - 1e-12, 1.0 + 1e-12, &place("plan"))
}

/// Deficits sum to one, counts add up, the probabilities are valid, and the max-deficit rule keeps its bounds.
pub(super) fn decided(line: &BlockLine, audited: &AuditSettings, place: PlaceOf<'_, '_>) -> Result<()> {
    let (k, control) = (audited.k() as f64, &audited.scheduler.control);
    if !line.prob.is_empty() {
        sums_to_one(&line.prob, &place("prob"))?;
        let explored = control.mode == ControlMode::Pid && !line.deficit.is_empty();
        let least = if explored { control.explore / k } else { 0.0 };
        within(&line.prob, least - 1e-12, 1.0 + 1e-12, &place("prob"))?;
    }
    if line.deficit.is_empty() {
        return Ok(());
    }
    sums_to_one(&line.deficit, &place("deficit"))?;
    place("count").same(line.count.iter().sum::<u64>(), line.block as u64 - 1)?;
    if control.mode == ControlMode::MaxDeficit {
        // d = N − N^ref after the block satisfies −(K − 1) < d < 1.
        for (a, (reference, &count)) in line.count_ref.iter().zip(&line.count).enumerate() {
            let served = u64::from(audited.objectives[a] == line.task);
            let ahead = (count + served) as f64 - reference;
            if ahead >= 1.0 || ahead <= -(k - 1.0) && k > 1.0 {
                let expected = format!("less than 1 block ahead and {} behind", k - 1.0);
                return Err(place("count").differs(format_args!("{ahead} blocks ahead"), expected));
            }
        }
    }
    Ok(())
}

/// A block of a mixing method: no chosen objective, losses add up, weights are within the bounds of the method.
pub(super) fn mixed(line: &BlockLine, k: usize, bounds: &WeightBounds, place: PlaceOf<'_, '_>) -> Result<()> {
    place("task").same(line.task.as_str(), "")?;
    finite(&line.losses, k, &place("losses"))?;
    place("loss").close(&[line.loss], &[line.losses.iter().sum()])?;
    finite(&line.weight, k, &place("weight"))?;
    within(&line.weight, bounds.min - 1e-9, bounds.max + 1e-9, &place("weight"))?;
    bounds.sum.map_or(Ok(()), |sum| sums_to(sum, &line.weight, &place("weight")))
}

fn sums_to_one(values: &[f64], place: &Place<'_>) -> Result<()> {
    sums_to(1.0, values, place)
}

fn sums_to(expected: f64, values: &[f64], place: &Place<'_>) -> Result<()> {
    let sum: f64 = values.iter().sum();
    if (sum - expected).abs() < 1e-9 {
        Ok(())
    } else {
        Err(place.differs(format_args!("a sum of {sum}"), format_args!("a sum of {expected}")))
    }
}

fn within(values: &[f64], least: f64, most: f64, place: &Place<'_>) -> Result<()> {
    // NaN marks a value that could not be measured and passes.
    match values.iter().find(|&&x| x < least || x > most) {
        Some(x) => Err(place.differs(x, format_args!("{least} to {most}"))),
        None => Ok(()),
    }
}

/// The KKT conditions of the min-norm point: (Qλ)_k ≥ λᵀQλ for all k, with equality where λ_k > 0.
fn optimal(cosine: &[Vec<f64>], lambda: &[f64], used: &[usize], place: &Place<'_>) -> Result<()> {
    let slope = |a: usize| used.iter().map(|&b| cosine[a][b] * lambda[b]).sum::<f64>();
    let value: f64 = used.iter().map(|&a| lambda[a] * slope(a)).sum();
    for &a in used {
        let gap = slope(a) - value;
        if gap < -1e-7 || (lambda[a] > 1e-7 && gap > 1e-7) {
            return Err(place.differs(format_args!("weights {lambda:?}"), "those of the min-norm point"));
        }
    }
    Ok(())
}
