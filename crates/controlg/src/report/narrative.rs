//! What drove learning and when, in plain words made of the record.

use super::history::{History, at};
use crate::audit;
use crate::data::FeatureSource;

/// Sentences on a run. `verdict` is what an audit of it found.
pub(super) fn of_run(history: &History, verdict: &Result<audit::AuditSummary, String>) -> Vec<String> {
    let mut said = vec![what_ran(history)];
    if history.run.config.features == FeatureSource::Structural {
        said.push("Node features are structural, made from the edges alone.".to_owned());
    }
    said.extend(who_got_what(history));
    said.extend(what_the_plan_followed(history));
    said.extend(who_was_hard(history));
    said.extend(who_pulled_against_whom(history));
    said.extend(what_fell(history));
    if let Ok(summary) = verdict {
        said.extend(how_well_it_tracked(summary));
    }
    said
}

fn what_ran(history: &History) -> String {
    let run = &history.run;
    let steps = history.blocks.last().map_or(0, |block| block.step + block.steps);
    format!(
        "{} on {}, seed {}: {steps} of {} steps in {} blocks, {} sensings.",
        run.method,
        run.data,
        run.seed,
        run.config.total_steps(),
        history.blocks.len(),
        history.sensings.len()
    )
}

fn who_got_what(history: &History) -> Option<String> {
    let n = history.blocks.len() as f64;
    if n == 0.0 || history.k() < 2 || history.mixes() {
        return None;
    }
    let share = |k: usize| history.tasks.iter().filter(|task| **task == Some(k)).count() as f64 / n;
    let (most, least) = extremes((0..history.k()).map(share))?;
    let name = |k: usize| &history.run.objectives[k];
    Some(format!(
        "{} got most of the blocks, {:.0} %, {} the fewest, {:.0} %.",
        name(most),
        100.0 * share(most),
        name(least),
        100.0 * share(least)
    ))
}

/// The stretches during which one objective had the largest planned share, and why.
fn what_the_plan_followed(history: &History) -> Option<String> {
    let first = history.sensings.first()?;
    let top = |values: &[f64]| extremes(values.iter().copied()).map(|(most, _)| most);
    let mut stretches: Vec<(usize, u64, usize)> = Vec::new(); // objective, first step, sensings
    let mut tempered = 0;
    for sensing in &history.sensings {
        let leader = top(&sensing.sensing.plan.plan)?;
        if top(&sensing.sensing.plan.hv_weight)? != leader {
            tempered += 1;
        }
        match stretches.last_mut() {
            Some(last) if last.0 == leader => last.2 += 1,
            _ => stretches.push((leader, sensing.step, 1)),
        }
    }
    let name = |k: usize| &history.run.objectives[k];
    let longest = stretches.iter().max_by_key(|stretch| stretch.2)?;
    let mut text = match stretches.as_slice() {
        [only] => format!("The plan favored {} from the first sensing to the last.", name(only.0)),
        _ => format!(
            "The plan changed its favorite {}; it began with {}, and stayed longest with {} (from step {}, {} sensings in a row).",
            if stretches.len() == 2 { "once".to_owned() } else { format!("{} times", stretches.len() - 1) },
            name(stretches[0].0),
            name(longest.0),
            longest.1,
            longest.2
        ),
    };
    let leader = longest.0;
    let at_start = history.sensings.iter().find(|line| line.step >= longest.1).unwrap_or(first);
    text += &format!(
        " Its normalized loss stood at {:.2} against a reference point of {:.2}: the least fallen, the most to gain.",
        at(&at_start.sensing.state.loss_norm, leader),
        at(&at_start.sensing.state.reference, leader)
    );
    if tempered > 0 {
        text += &format!(
            " At {tempered} of {} sensings difficulty took the first place from the objective with the most to gain.",
            history.sensings.len()
        );
    }
    Some(text)
}

fn who_was_hard(history: &History) -> Option<String> {
    let n = history.sensings.len() as f64;
    let mean = |k: usize| {
        history.sensings.iter().map(|line| at(&line.sensing.state.difficulty, k)).sum::<f64>() / n.max(1.0)
    };
    let (most, _) = extremes((0..history.k()).map(mean))?;
    if n == 0.0 || mean(most) <= 0.0 {
        return None;
    }
    let rq = history.sensings.iter().map(|line| at(&line.rq, most)).sum::<f64>() / n;
    Some(format!(
        "The hardest objective on this graph was {}: difficulty {:.2} on average, with a mean Rayleigh quotient of {rq:.2}.",
        history.run.objectives[most],
        mean(most)
    ))
}

fn who_pulled_against_whom(history: &History) -> Option<String> {
    let n = history.sensings.len() as f64;
    if n == 0.0 || history.k() < 2 {
        return None;
    }
    let mean = |a: usize, b: usize| {
        history.sensings.iter().map(|line| line.cosine.get(a).map_or(0.0, |row| at(row, b))).sum::<f64>() / n
    };
    let pairs = (0..history.k()).flat_map(|a| (0..a).map(move |b| (b, a)));
    let (a, b) = pairs.min_by(|x, y| mean(x.0, x.1).total_cmp(&mean(y.0, y.1)))?;
    let (first, second, cosine) = (&history.run.objectives[a], &history.run.objectives[b], mean(a, b));
    Some(match cosine < 0.0 {
        true => format!("{first} and {second} pulled most against each other (mean cosine {cosine:.2})."),
        false => {
            format!("No two objectives pulled against each other on average (least mean cosine {cosine:.2}).")
        }
    })
}

fn what_fell(history: &History) -> Option<String> {
    let change = |line: &Vec<(f64, f64)>| -> Option<f64> { Some(line.last()?.1 / line.first()?.1 - 1.0) };
    let lines = history.losses();
    let parts: Vec<String> = lines
        .iter()
        .zip(&history.run.objectives)
        .filter_map(|(line, name)| Some(format!("{name} {:+.0} %", 100.0 * change(line)?)))
        .collect();
    (!parts.is_empty()).then(|| format!("Losses from first to last: {}.", parts.join(", ")))
}

fn how_well_it_tracked(summary: &audit::AuditSummary) -> Option<String> {
    let error = summary.tracking_error?;
    let drought = summary.drought_bound.map_or(String::new(), |bound| {
        format!(
            " The longest wait was {} blocks; exploration promises less than {bound:.0} with 99 % certainty.",
            summary.longest_drought
        )
    });
    Some(format!("At the end of an epoch shares were within {error:.3} of the plan.{drought}"))
}

/// The places of the largest and the smallest value.
fn extremes(values: impl Iterator<Item = f64>) -> Option<(usize, usize)> {
    let values: Vec<f64> = values.collect();
    let by = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
    let most = (0..values.len()).rev().max_by(by)?;
    Some((most, (0..values.len()).min_by(by)?))
}
