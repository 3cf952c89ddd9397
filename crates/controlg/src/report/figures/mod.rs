//! Figures of a run: the paper's diagnostics, each with the data it was drawn from.

mod cost;
mod held_out;
mod quality;
mod schedule;
mod sensing;

use std::fmt::Write;

use super::axis::Axis;
use super::chart::{self, Plot, WIDTH};
use super::run_trace::RunTrace;
use super::svg::{SvgImage, stack};

/// A figure with its data.
#[derive(Clone, Debug)]
pub struct Figure {
    /// File name without extension, and HTML id.
    pub name: &'static str,
    /// Title.
    pub title: String,
    /// Caption.
    pub caption: String,
    pub(super) image: SvgImage,
    /// The data as CSV.
    pub csv: String,
}

impl Figure {
    /// The figure as a standalone SVG file.
    pub fn svg(&self) -> String {
        self.image.standalone()
    }
}

/// Points (step, value) of one line.
type Series = Vec<(f64, f64)>;

/// Height of a figure of one plot, and of each of several plots in a figure.
const HEIGHT: f64 = 250.0;
const SMALL_HEIGHT: f64 = 150.0;
/// Number of recent blocks over which shares and deviations are computed.
const WINDOW: usize = 25;

/// All figures for which the record has data, in reading order.
pub(super) fn of_run(trace: &RunTrace) -> Vec<Figure> {
    let figures: [fn(&RunTrace) -> Option<Figure>; 16] = [
        sensing::losses,
        held_out::losses,
        quality::quality,
        schedule::plan,
        held_out::gains,
        cost::weights,
        schedule::schedule,
        schedule::tracking,
        schedule::deficits,
        sensing::difficulty,
        sensing::references,
        sensing::log_hypervolume,
        sensing::conflict,
        cost::time,
        schedule::entropy,
        schedule::drought,
    ];
    figures.iter().filter_map(|figure| figure(trace)).collect()
}

fn line_plot(trace: &RunTrace, lines: &[Series], label: &str, log: bool) -> Plot {
    let y = Axis::over(label, lines.iter().flatten().map(|p| p.1));
    plot_of(trace, lines, if log { y.log() } else { y }, HEIGHT)
}

/// A line plot as high as two plots in a figure, to stand beside them.
fn tall_line_plot(trace: &RunTrace, lines: &[Series], label: &str) -> Plot {
    let y = Axis::over(label, lines.iter().flatten().map(|p| p.1));
    plot_of(trace, lines, y, HEIGHT + SMALL_HEIGHT + 30.0)
}

fn plot_of(trace: &RunTrace, lines: &[Series], y: Axis, height: f64) -> Plot {
    let mut plot = Plot::new(WIDTH, height, Axis::over("step", lines.iter().flatten().map(|p| p.0)), y);
    for (k, (line, name)) in lines.iter().zip(&trace.run.objectives).enumerate() {
        plot.line(k, name, line);
    }
    plot
}

/// Plots of several quantities below each other, with one legend.
fn stacked_line_plots(trace: &RunTrace, parts: &[(&str, Vec<Series>)]) -> SvgImage {
    let last = parts.len().saturating_sub(1);
    let plot = |(at, (label, lines)): (usize, &(&str, Vec<Series>))| {
        let (x_label, extra) = if at == last { ("step", 20.0) } else { ("", 0.0) };
        let x = Axis::over(x_label, lines.iter().flatten().map(|p| p.0));
        let y = Axis::over(label, lines.iter().flatten().map(|p| p.1));
        let mut plot = Plot::new(WIDTH, SMALL_HEIGHT + extra, x, y);
        for (k, (line, name)) in lines.iter().zip(&trace.run.objectives).enumerate() {
            plot.line(k, if at == last { name } else { "" }, line);
        }
        plot.finish(true)
    };
    stack(parts.iter().enumerate().map(plot).collect())
}

/// CSV of one quantity; see [`long_csv`].
fn series_csv(trace: &RunTrace, lines: &[Series]) -> String {
    long_csv(trace, &[("value", lines.to_vec())])
}

/// CSV with one row per point: figure, objective, step, value.
fn long_csv(trace: &RunTrace, parts: &[(&str, Vec<Series>)]) -> String {
    let mut csv = "figure,objective,step,value\n".to_owned();
    for (figure, lines) in parts {
        for (line, name) in lines.iter().zip(&trace.run.objectives) {
            for (step, value) in line {
                let value = if value.is_finite() { value.to_string() } else { String::new() };
                let _ = writeln!(csv, "{figure},{name},{step},{value}");
            }
        }
    }
    csv
}

pub(super) use schedule::{normalized_entropy, raster_range};

/// Colors of the first `k` objectives.
pub(super) fn colors(k: usize) -> Vec<&'static str> {
    (0..k).map(chart::color).collect()
}
