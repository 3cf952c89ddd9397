//! Figures of what is sensed: losses, difficulty, conflict and reference points.

use std::fmt::Write;

use super::{Figure, HEIGHT, Series, line_plot, long_csv, series_csv, stacked_line_plots};
use crate::report::axis::Axis;
use crate::report::chart::{Plot, WIDTH};
use crate::report::run_trace::{RunTrace, value_at};

pub(super) fn losses(trace: &RunTrace) -> Option<Figure> {
    let lines = trace.losses();
    let relative: Vec<Series> = lines
        .iter()
        .map(|line| {
            let first = line.first().map_or(1.0, |point| point.1);
            line.iter().map(|(x, y)| (*x, y / first)).collect()
        })
        .collect();
    if relative.iter().all(Vec::is_empty) {
        return None;
    }
    let mut plot = line_plot(trace, &relative, "loss / first loss", true);
    plot.reference_line(1.0, "first loss");
    Some(Figure {
        name: "losses",
        title: "Loss of each objective".to_owned(),
        caption: format!(
            "{} A falling line is an objective that is being learned; a flat one has little left to learn, or gets few steps.",
            if trace.sensings.is_empty() {
                "Training loss relative to the first step."
            } else {
                "Loss on the run's fixed samples, relative to the first measurement."
            }
        ),
        image: plot.finish(true),
        csv: series_csv(trace, &lines),
    })
}

pub(super) fn difficulty(trace: &RunTrace) -> Option<Figure> {
    trace.sensings.first()?;
    let relations = trace.run.relations.iter().enumerate().map(|(at, relation)| {
        let label = format!("Rayleigh quotient, {}", relation.name);
        (label, trace.per_sensing(move |line| line.rq_relation.get(at).map_or(&[][..], Vec::as_slice)))
    });
    let relations: Vec<(String, Vec<Series>)> = relations.collect();
    let mut parts = vec![("Rayleigh quotient", trace.per_sensing(|line| &line.rq))];
    parts.extend(relations.iter().map(|(label, lines)| (&label[..], lines.clone())));
    parts.extend([
        ("conflict", trace.per_sensing(|line| &line.sensing.sensed.conf)),
        ("difficulty", trace.per_sensing(|line| &line.sensing.state.difficulty)),
    ]);
    Some(Figure {
        name: "difficulty",
        title: "Difficulty and conflict".to_owned(),
        caption: "What the run senses, for each objective. A high Rayleigh quotient means that its gradient changes sharply \
                  along the edges; conflict means that it points away from the gradients of the others. The difficulty is \
                  computed from both and reduces the planned share."
            .to_owned(),
        image: stacked_line_plots(trace, &parts),
        csv: long_csv(trace, &parts),
    })
}

pub(super) fn conflict(trace: &RunTrace) -> Option<Figure> {
    let (k, n) = (trace.n_objectives(), trace.sensings.len() as f64);
    if n == 0.0 || k < 2 {
        return None;
    }
    let mean = |a: usize, b: usize, of: fn(f64) -> f64| {
        let cosines =
            trace.sensings.iter().map(|line| line.cosine.get(a).map_or(f64::NAN, |row| value_at(row, b)));
        cosines.map(of).sum::<f64>() / n
    };
    let names = &trace.run.objectives;
    let axis = || Axis::over("", [0.0, k as f64]);
    let mut plot = Plot::new(WIDTH.max(70.0 * k as f64), 44.0 + 54.0 * k as f64, axis(), axis())
        .with_row_names(names.iter().map(String::as_str));
    let mut csv = "first,second,mean_conflict,mean_cosine\n".to_owned();
    for (a, first) in names.iter().enumerate() {
        let row = (k - a) as f64;
        plot.row_name(row - 0.5, first);
        for (b, second) in names.iter().enumerate() {
            let (conflict, cosine) = (mean(a, b, |cosine| (-cosine).max(0.0)), mean(a, b, |cosine| cosine));
            let _ = writeln!(csv, "{first},{second},{conflict},{cosine}");
            if a == b {
                continue;
            }
            let x = b as f64;
            plot.rect(3, (x + 0.03, x + 0.97), (row - 0.97, row - 0.03), 0.04 + 0.9 * conflict.min(1.0));
            plot.text((x + 0.5, row - 0.58), "middle", &format!("{conflict:.2}"));
        }
    }
    for (b, name) in names.iter().enumerate() {
        let short = name.strip_prefix("p_").unwrap_or(name);
        let short: String = short.chars().take(9).collect();
        plot.text((b as f64 + 0.5, -0.34), "middle", &short);
    }
    Some(Figure {
        name: "conflict",
        title: "Gradient conflict".to_owned(),
        caption: "Mean over all sensings of [−cos]₊, the negative part of the cosine between the encoder gradients of two \
                  objectives. The larger, the more a step for one undoes of the other; at zero they never oppose each other."
            .to_owned(),
        image: plot.finish_without_axes(),
        csv,
    })
}

/// The log-hypervolume φ at every sensing.
pub(super) fn log_hypervolume(trace: &RunTrace) -> Option<Figure> {
    let line: Series = trace
        .sensings
        .iter()
        .filter_map(|sensing| Some((sensing.step as f64, sensing.sensing.plan.log_hv?)))
        .collect();
    if line.is_empty() {
        return None;
    }
    let y = Axis::over("log-hypervolume", line.iter().map(|p| p.1));
    let mut plot = Plot::new(WIDTH, HEIGHT, Axis::over("step", line.iter().map(|p| p.0)), y);
    plot.line(0, "φ", &line);
    Some(Figure {
        name: "log-hypervolume",
        title: "Log-hypervolume".to_owned(),
        caption: "φ = Σ log(r − L̃) over the objectives: the progress of all of them as one number, which the planner tries to \
                  raise. It falls when a loss rises."
            .to_owned(),
        image: plot.finish(true),
        csv: "step,log_hv\n".to_owned() + &line.iter().map(|(x, y)| format!("{x},{y}\n")).collect::<String>(),
    })
}

pub(super) fn references(trace: &RunTrace) -> Option<Figure> {
    trace.sensings.first()?;
    let parts = [
        ("normalized loss", trace.per_sensing(|line| &line.sensing.state.loss_norm)),
        ("reference point", trace.per_sensing(|line| &line.sensing.state.reference)),
        ("sensitivity", trace.per_sensing(|line| &line.sensing.plan.hv_weight)),
    ];
    Some(Figure {
        name: "references",
        title: "Reference points and log-hypervolume sensitivities".to_owned(),
        caption: "The planner compares each normalized loss with its reference point. The closer the two, the more the \
                  log-hypervolume gains from reducing that loss: this gain is the sensitivity, and it raises the planned share."
            .to_owned(),
        image: stacked_line_plots(trace, &parts),
        csv: long_csv(trace, &parts),
    })
}
