//! A summary of a run in sentences, generated from its record.

use super::run_trace::{RunTrace, value_at};
use crate::audit;
use crate::data::FeatureSource;
use crate::data::info::grouped;

/// Sentences that summarize a run; `verdict` is the result of its audit.
pub(super) fn of_run(trace: &RunTrace, verdict: &Result<audit::AuditSummary, String>) -> Vec<String> {
    let mut sentences = vec![run_size(trace)];
    if trace.run.config.features == FeatureSource::Structural {
        sentences.push("The node features are structural, computed from the edges alone.".to_owned());
    }
    sentences.extend(block_shares(trace));
    sentences.extend(plan_leaders(trace));
    sentences.extend(hardest_objective(trace));
    sentences.extend(strongest_conflict(trace));
    sentences.extend(loss_changes(trace));
    if let Ok(summary) = verdict {
        sentences.extend(plan_tracking(summary));
    }
    sentences
}

fn run_size(trace: &RunTrace) -> String {
    let run = &trace.run;
    format!(
        "{} on {}, seed {}: {} of {} steps in {:.1} seconds, {} blocks, {} sensings.",
        run.method,
        run.data,
        run.seed,
        grouped(trace.steps_done() as usize),
        grouped(run.config.total_steps() as usize),
        trace.seconds(),
        grouped(trace.blocks.len()),
        grouped(trace.sensings.len())
    )
}

fn block_shares(trace: &RunTrace) -> Option<String> {
    let n = trace.blocks.len() as f64;
    if n == 0.0 || trace.n_objectives() < 2 || trace.mixes_gradients() {
        return None;
    }
    let share = |k: usize| trace.tasks.iter().filter(|task| **task == Some(k)).count() as f64 / n;
    let (most, least) = extremes((0..trace.n_objectives()).map(share))?;
    let name = |k: usize| &trace.run.objectives[k];
    Some(format!(
        "{} received the most blocks ({:.0} %), {} the fewest ({:.0} %).",
        name(most),
        100.0 * share(most),
        name(least),
        100.0 * share(least)
    ))
}

/// Periods in which one objective had the largest planned share, and why.
fn plan_leaders(trace: &RunTrace) -> Option<String> {
    let first = trace.sensings.first()?;
    let top = |values: &[f64]| extremes(values.iter().copied()).map(|(most, _)| most);
    let mut periods: Vec<(usize, u64, usize)> = Vec::new(); // objective, first step, number of sensings
    let mut overruled = 0;
    for sensing in &trace.sensings {
        let leader = top(&sensing.sensing.plan.plan)?;
        if top(&sensing.sensing.plan.hv_weight)? != leader {
            overruled += 1;
        }
        match periods.last_mut() {
            Some(last) if last.0 == leader => last.2 += 1,
            _ => periods.push((leader, sensing.step, 1)),
        }
    }
    let name = |k: usize| &trace.run.objectives[k];
    let longest = periods.iter().max_by_key(|period| period.2)?;
    let mut text = if let [only] = periods.as_slice() {
        format!("The plan favored {} from the first to the last sensing.", name(only.0))
    } else {
        let changes = match periods.len() - 1 {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        let favorites = match (name(periods[0].0), name(longest.0)) {
            (first, longest) if first == longest => format!("{first} at first and longest"),
            (first, longest) => format!("{first} at first, and longest {longest}"),
        };
        format!(
            "The favorite of the plan changed {changes}. It was {favorites} ({} consecutive sensings from step {}).",
            longest.2, longest.1
        )
    };
    let leader = longest.0;
    let at_start = trace.sensings.iter().find(|line| line.step >= longest.1).unwrap_or(first);
    text += &format!(
        " At that point its normalized loss was {:.2} (reference point {:.2}): it had decreased least and had the most to gain.",
        value_at(&at_start.sensing.state.loss_norm, leader),
        value_at(&at_start.sensing.state.reference, leader)
    );
    if overruled > 0 {
        text += &format!(
            " At {overruled} of {} sensings the plan favored another objective than the one with the most to gain, because of difficulty.",
            trace.sensings.len()
        );
    }
    Some(text)
}

fn hardest_objective(trace: &RunTrace) -> Option<String> {
    let n = trace.sensings.len() as f64;
    let mean = |k: usize| {
        trace.sensings.iter().map(|line| value_at(&line.sensing.state.difficulty, k)).sum::<f64>()
            / n.max(1.0)
    };
    let (most, _) = extremes((0..trace.n_objectives()).map(mean))?;
    if n == 0.0 || mean(most) <= 0.0 {
        return None;
    }
    let rq = trace.sensings.iter().map(|line| value_at(&line.rq, most)).sum::<f64>() / n;
    Some(format!(
        "The most difficult objective was {}: mean difficulty {:.2}, mean Rayleigh quotient {rq:.2}.",
        trace.run.objectives[most],
        mean(most)
    ))
}

fn strongest_conflict(trace: &RunTrace) -> Option<String> {
    let n = trace.sensings.len() as f64;
    if n == 0.0 || trace.n_objectives() < 2 {
        return None;
    }
    let mean = |a: usize, b: usize| {
        let cosines =
            trace.sensings.iter().map(|line| line.cosine.get(a).map_or(0.0, |row| value_at(row, b)));
        cosines.sum::<f64>() / n
    };
    let pairs = (0..trace.n_objectives()).flat_map(|a| (0..a).map(move |b| (b, a)));
    let (a, b) = pairs.min_by(|x, y| mean(x.0, x.1).total_cmp(&mean(y.0, y.1)))?;
    let (first, second, cosine) = (&trace.run.objectives[a], &trace.run.objectives[b], mean(a, b));
    Some(if cosine < 0.0 {
        format!("The gradients of {first} and {second} conflicted most (mean cosine {cosine:.2}).")
    } else {
        format!("No two objectives had conflicting gradients on average (lowest mean cosine {cosine:.2}).")
    })
}

fn loss_changes(trace: &RunTrace) -> Option<String> {
    let change = |line: &Vec<(f64, f64)>| -> Option<f64> { Some(line.last()?.1 / line.first()?.1 - 1.0) };
    let lines = trace.losses();
    let changes: Vec<String> = lines
        .iter()
        .zip(&trace.run.objectives)
        .filter_map(|(line, name)| Some(format!("{name} {:+.0} %", 100.0 * change(line)?)))
        .collect();
    (!changes.is_empty()).then(|| format!("Change of the losses: {}.", changes.join(", ")))
}

fn plan_tracking(summary: &audit::AuditSummary) -> Option<String> {
    let error = summary.tracking_error?;
    let wait = summary.drought_bound.map_or(String::new(), |bound| {
        format!(
            " The longest wait of an objective was {} blocks; with exploration it is below {bound:.0} with 99 % probability.",
            summary.longest_drought
        )
    });
    Some(format!("At the end of each epoch the shares were within {error:.3} of the plan.{wait}"))
}

/// Indices of the largest and the smallest value.
fn extremes(values: impl Iterator<Item = f64>) -> Option<(usize, usize)> {
    let values: Vec<f64> = values.collect();
    let by = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
    let most = (0..values.len()).rev().max_by(by)?;
    Some((most, (0..values.len()).min_by(by)?))
}
