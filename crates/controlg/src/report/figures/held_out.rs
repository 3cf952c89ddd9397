//! Figures of held-out samples: losses there beside those on training samples, and expected gains.

use super::{Figure, Series, line_plot, long_csv, series_csv, stacked_line_plots};
use crate::report::run_trace::RunTrace;

/// Losses on training samples above losses on held-out samples.
pub(super) fn losses(trace: &RunTrace) -> Option<Figure> {
    let held_out = trace.held_out_losses();
    if held_out.iter().all(Vec::is_empty) {
        return None;
    }
    let parts = [("training", relative(&trace.losses())), ("held out", relative(&held_out))];
    Some(Figure {
        name: "held-out",
        title: "Losses on training and on held-out samples".to_owned(),
        caption: "Loss relative to the first measurement, above on samples that the objective trains on, below on those that it \
                  never does. An objective whose line falls above but not below is memorizing."
            .to_owned(),
        image: stacked_line_plots(trace, &parts),
        csv: long_csv(trace, &[("training", trace.losses()), ("held out", held_out)]),
    })
}

/// Expected gains, if the run was planned by them.
pub(super) fn gains(trace: &RunTrace) -> Option<Figure> {
    if trace.sensings.first()?.sensing.plan.gain.is_empty() {
        return None;
    }
    let lines = trace.per_sensing(|line| &line.sensing.plan.gain);
    let mut plot = line_plot(trace, &lines, "expected gain", false);
    plot.reference_line(0.0, "no gain");
    Some(Figure {
        name: "gains",
        title: "Expected gains".to_owned(),
        caption: "By how much all held-out losses together, each relative to its first value, are expected to fall by the work of \
                  an average step if it is spent on this objective. The planned shares follow the smoothed gains above zero."
            .to_owned(),
        image: plot.finish(true),
        csv: series_csv(trace, &lines),
    })
}

fn relative(lines: &[Series]) -> Vec<Series> {
    let one = |line: &Series| {
        let first = line.first().map_or(1.0, |point| point.1);
        line.iter().map(|(step, loss)| (*step, loss / first)).collect()
    };
    lines.iter().map(one).collect()
}
