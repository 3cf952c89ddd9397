//! HTML reports and figures of a run or a comparison, generated from the record and the results alone.
//!
//! Figures are SVG: inline on the page, and as files with `--figures`. The script of the page only adds interaction: why a
//! block was given to its objective, and the colors of the map.

mod axis;
mod chart;
mod comparison;
mod downsample;
mod figures;
mod map;
mod own_files;
mod page;
mod run_trace;
mod summary;
mod svg;
mod tensorboard;

pub use figures::Figure;
pub use map::EmbeddingMap;
pub use own_files::{is_own_figures, is_own_page};
pub use tensorboard::EventFile;

use std::path::Path;

use crate::audit;
use crate::compare::{JsonlStore, Manifest, ResultCell};
use crate::error::Result;
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

/// Renders a run folder or a record; `map` adds the map of the embeddings.
pub fn of_run(run: &Path, map: Option<(&EmbeddingMap, &Graph)>) -> Result<RenderedReport> {
    let record = if run.is_dir() { run.join(run_files::TRACE) } else { run.to_owned() };
    let trace = RunTrace::new(trace::read(&record)?)?;
    let verdict = audit::audit(&record).map_err(|error| error.to_string());
    let mut figures = figures::of_run(&trace);
    let mut page = HtmlPage::new(&format!("{} on {}", trace.run.method, trace.run.data));
    match &verdict {
        Ok(_) => page.verdict(true, "audit: every decision follows from the record"),
        Err(what) => page.verdict(false, &format!("audit: {what}")),
    }
    page.summary(&summary::of_run(&trace, &verdict));
    page.scores(&scores(run));
    let mut below = vec![(
        "schedule",
        "<div id=\"why\" aria-live=\"polite\"><p>Point at a block to see why it was chosen.</p></div>\n",
    )];
    if let Some((map, graph)) = map {
        figures.push(map.figure(graph));
        below.push(("map", "<div class=\"layers\"></div><div class=\"groups\"></div>\n"));
        page.data("layers", map.page_data());
    }
    page.figures(&figures, &below);
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
    page.summary(&comparison::summary(&report));
    page.figures(&figures, &[]);
    page.html(&format!("<div class=\"tables\">\n{}</div>\n", report.fragment()));
    Ok(RenderedReport { page: page.finish(), figures })
}

/// Scores in a run's `metrics.json`, if it exists.
fn scores(run: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(run.join(run_files::METRICS)).unwrap_or_default();
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
    all.iter()
        .filter_map(|(task, score)| {
            let protocol = score.get("protocol")?.as_str()?;
            Some((format!("{task} ({protocol})"), format!("{:.2} %", score.get("value")?.as_f64()?)))
        })
        .collect()
}

#[cfg(test)]
mod tests;
