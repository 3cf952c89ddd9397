//! The quality of the embeddings without labels, by epoch.

use std::fmt::Write;

use super::{Figure, SMALL_HEIGHT, Series};
use crate::eval::quality::Quality;
use crate::report::axis::Axis;
use crate::report::chart::{Plot, WIDTH};
use crate::report::run_trace::RunTrace;
use crate::report::svg::stack;

/// A measure: the label of its axis, the name in the CSV, and its value.
type QualityLine = (&'static str, &'static str, fn(&Quality) -> Option<f64>);

const MEASURES: [QualityLine; 3] = [
    ("Calinski–Harabasz", "calinski_harabasz", |quality| quality.calinski_harabasz),
    ("edge AUC", "edge_auc", |quality| quality.edge_auc),
    ("effective rank", "effective_rank", |quality| quality.effective_rank),
];

/// The three measures below each other.
pub(super) fn quality(trace: &RunTrace) -> Option<Figure> {
    let measured: Vec<(f64, &Quality)> = trace
        .blocks
        .iter()
        .filter_map(|block| Some(((block.step + block.steps) as f64, block.quality.as_ref()?)))
        .collect();
    let mut csv = "measure,step,value\n".to_owned();
    let mut lines: Vec<(&str, Series)> = Vec::new();
    for (label, name, of) in MEASURES {
        let line: Series =
            measured.iter().filter_map(|(step, quality)| Some((*step, of(quality)?))).collect();
        line.iter().for_each(|(step, value)| {
            let _ = writeln!(csv, "{name},{step},{value}");
        });
        if !line.is_empty() {
            lines.push((label, line));
        }
    }
    let last = lines.len().checked_sub(1)?;
    let plot = |(at, (label, line)): (usize, &(&str, Series))| {
        let (x_label, extra) = if at == last { ("step", 20.0) } else { ("", 0.0) };
        let x = Axis::over(x_label, measured.iter().map(|point| point.0)).with_margin();
        let y = Axis::over(label, line.iter().map(|point| point.1)).with_margin();
        let mut plot = Plot::new(WIDTH, SMALL_HEIGHT + extra, x, y);
        plot.line(at, "", line);
        line.iter().for_each(|&point| plot.dot(at, point, 3.0, &format!("step {}: {:.4}", point.0, point.1)));
        plot.finish(true)
    };
    Some(Figure {
        name: "quality",
        title: "Quality of the embeddings without labels".to_owned(),
        caption: "After every epoch: how well the embeddings fall into ten clusters, how well they tell edges that this \
                  measurement hides from the encoder from pairs without an edge, and in how many directions they vary. A \
                  fall of the effective rank to a few directions is a sign of collapse; its rise says nothing."
            .to_owned(),
        image: stack(lines.iter().enumerate().map(plot).collect()),
        csv,
    })
}
