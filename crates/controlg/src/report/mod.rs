//! HTML reports and figures of a run or a comparison, generated from the record and the results alone.
//!
//! Figures are SVG: inline on the page, and as files with `--figures`. The script of the page only adds interaction: why a
//! block was given to its objective, the colors of the map, and the search for a node. Statistics of the graph and the map
//! of the embeddings are on the page if the data is at hand.

mod axis;
mod chart;
mod comparison;
mod curves;
mod downsample;
mod figures;
mod map;
mod nearest;
mod own_files;
mod page;
mod reproduction;
mod run_trace;
mod scores;
mod statistics;
mod status;
mod summary;
mod svg;
mod tensorboard;

pub use figures::Figure;
pub use map::EmbeddingMap;
pub use own_files::{is_own_figures, is_own_page};
pub use reproduction::{RenderedReproduction, of_reproduction};
pub use scores::TaskScores;
pub use status::{RunStatus, format_duration};
pub use tensorboard::EventFile;

use std::path::Path;

use crate::audit;
use crate::compare::{JsonlStore, Manifest, ResultCell};
use crate::data::info::DatasetInfo;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::run_files;
use crate::trace;
use page::HtmlPage;
use run_trace::RunTrace;

/// A page and its figures.
pub struct RenderedReport {
    /// Self-contained HTML page.
    pub page: String,
    /// Figures of the page.
    pub figures: Vec<Figure>,
}

/// What the page of a run shows besides the saved files of the run.
#[derive(Default)]
pub struct RunContext<'a> {
    /// A paragraph below the title; may be empty.
    pub intro: &'a str,
    /// Map of the embeddings, and the graph.
    pub map: Option<(&'a EmbeddingMap, &'a Graph)>,
    /// Statistics of the graph.
    pub info: Option<&'a DatasetInfo>,
    /// Scores instead of those in the run's `metrics.json`.
    pub scores: Option<&'a [TaskScores]>,
    /// State of the run, for a live page.
    pub status: Option<&'a RunStatus>,
}

/// Renders a run folder or a record; `map` adds the map of the embeddings.
pub fn of_run(run: &Path, map: Option<(&EmbeddingMap, &Graph)>) -> Result<RenderedReport> {
    of_run_in(run, &RunContext { map, ..RunContext::default() })
}

/// [`of_run`] with more on the page.
pub fn of_run_in(run: &Path, context: &RunContext<'_>) -> Result<RenderedReport> {
    let record = if run.is_dir() { run.join(run_files::TRACE) } else { run.to_owned() };
    let trace = RunTrace::new(trace::read(&record)?)?;
    let verdict = match audit::audit(run) {
        // A file that cannot be read says nothing about the record.
        Err(error @ Error::Io { .. }) => return Err(error),
        verdict => verdict.map_err(|error| error.to_string()),
    };
    let mut figures = figures::of_run(&trace);
    // The settings of a synthetic graph would fill the title; the run in words has them.
    let data = trace.run.data.strip_prefix("synthetic:").map_or(trace.run.data.as_str(), |_| "synthetic");
    let mut page = HtmlPage::new(&format!("{} on {data}", trace.run.method));
    if let Some(status) = context.status {
        page.status(status, &trace);
    }
    page.paragraph(context.intro);
    match &verdict {
        Ok(audit) if audit.complete => page.verdict(true, "audit: every decision follows from the record"),
        Ok(_) => page.verdict(true, "audit: every decision so far follows from the record"),
        Err(what) => page.verdict(false, &format!("audit: {what}")),
    }
    match context.scores {
        Some(given) => page.html(&scores::html(given)),
        None => page.html(&scores::html(&scores::read(run, &trace.run.method)?)),
    }
    if let Some(info) = context.info {
        page.html(&statistics::html(info));
    }
    page.summary("The run in words", &summary::of_run(&trace, &verdict));
    let mut below = vec![(
        "schedule",
        "<div id=\"why\" aria-live=\"polite\"><p>Point at a block to see why it was chosen.</p></div>\n"
            .to_owned(),
    )];
    if let Some((map, graph)) = context.map {
        figures.push(map.figure(graph));
        below.push(("map", map.controls()));
        page.data("layers", map.layer_data());
        page.data("nodes", map.node_data(graph));
    }
    page.figures("Charts", &figures, &below);
    if !trace.mixes_gradients() && !trace.blocks.is_empty() {
        page.data("blocks", page::block_data(&trace));
    }
    page.details("Settings", &trace.run.config.to_toml()?);
    Ok(RenderedReport { page: page.finish(), figures })
}

/// Renders the folder of a comparison.
pub fn of_comparison(folder: &Path) -> Result<RenderedReport> {
    let manifest = Manifest::read(folder)?;
    let cells = manifest.cells(&JsonlStore::<ResultCell>::read(folder, "results")?)?;
    let report = manifest.report(&cells)?;
    let figures = comparison::figures(&report, &cells);
    let mut page = HtmlPage::new(&format!(
        "{} methods on {}",
        manifest.comparison.methods.len(),
        manifest.comparison.data.join(", ")
    ));
    page.summary("In words", &comparison::summary(&report));
    page.figures("Charts", &figures, &[]);
    // Wide tables scroll by themselves, with the keyboard too.
    let scroll = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table>";
    let tables = report.fragment().replace("<table>", scroll).replace("</table>", "</table></div>");
    page.html(&format!("<h2>Tables</h2>\n<div class=\"tables\">\n{tables}</div>\n"));
    Ok(RenderedReport { page: page.finish(), figures })
}

#[cfg(test)]
mod tests;
