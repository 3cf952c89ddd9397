//! Figures of gradient weights and of the time a run took.

use std::fmt::Write;

use super::{Figure, line_plot, series_csv};
use crate::report::axis::Axis;
use crate::report::chart::{Plot, WIDTH};
use crate::report::run_trace::RunTrace;

pub(super) fn weights(trace: &RunTrace) -> Option<Figure> {
    if !trace.mixes_gradients() {
        return None;
    }
    let lines = trace.per_block(|block| &block.weight);
    Some(Figure {
        name: "weights",
        title: "Gradient weights".to_owned(),
        caption: "Weight of each objective's encoder gradient in the last step of each block. This method mixes all gradients \
                  in every step instead of choosing one objective."
            .to_owned(),
        image: line_plot(trace, &lines, "weight", false).finish(true),
        csv: series_csv(trace, &lines),
    })
}

pub(super) fn time(trace: &RunTrace) -> Option<Figure> {
    let sum = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 1e3;
    let mut parts: Vec<(String, usize, f64)> = Vec::new();
    for (k, name) in trace.run.objectives.iter().enumerate() {
        let own = trace.blocks.iter().zip(&trace.tasks).filter(|(_, task)| **task == Some(k));
        parts.push((format!("steps on {name}"), k, sum(&mut own.map(|(block, _)| block.ms))));
    }
    if trace.mixes_gradients() {
        parts = vec![("steps".to_owned(), 0, sum(&mut trace.blocks.iter().map(|block| block.ms)))];
    }
    parts.push(("warm-up".to_owned(), 6, sum(&mut trace.warm_up.iter().map(|line| line.ms))));
    parts.push(("sensing".to_owned(), 7, sum(&mut trace.sensings.iter().map(|line| line.ms))));
    parts.retain(|part| part.2 > 0.0);
    let total: f64 = parts.iter().map(|part| part.2).sum();
    if total <= 0.0 {
        return None;
    }
    let mut plot = Plot::new(
        WIDTH,
        60.0 + 28.0 * parts.len() as f64,
        Axis::over("seconds", parts.iter().map(|part| part.2)).including([0.0]),
        Axis::over("", [0.0, parts.len() as f64]),
    )
    .with_row_names(parts.iter().map(|part| part.0.as_str()));
    let mut csv = "part,seconds\n".to_owned();
    for (index, (name, k, seconds)) in parts.iter().enumerate() {
        let row = (parts.len() - index) as f64;
        plot.row_name(row - 0.5, name);
        plot.rect(*k, (0.0, *seconds), (row - 0.85, row - 0.15), 1.0);
        let _ = writeln!(csv, "{name},{seconds}");
    }
    Some(Figure {
        name: "time",
        title: "Time".to_owned(),
        caption: format!(
            "Where the time went: {total:.1} seconds in total, without writing results and evaluation."
        ),
        image: plot.finish(false),
        csv,
    })
}
