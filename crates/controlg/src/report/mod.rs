//! Pages and figures of a run or a comparison, drawn from the record and the results alone.
//!
//! A figure is made once, as SVG: the page shows it in its own colors, `--figures` writes it as a file. The page's script
//! adds only what needs a pointer: why a block went to its objective, and other colors of the map.

mod axis;
mod chart;
mod comparison;
mod figures;
mod history;
mod map;
mod narrative;
mod page;
mod tensorboard;

pub use figures::Figure;
pub use map::EmbeddingMap;
pub use tensorboard::EventFile;

use std::path::Path;

use crate::audit;
use crate::compare::{JsonlStore, Manifest, ResultCell};
use crate::error::Result;
use crate::graph::Graph;
use crate::run_files;
use crate::trace;
use history::History;
use page::Page;

/// A page and the figures on it.
pub struct RenderedReport {
    /// The page, one HTML file that needs nothing else.
    pub page: String,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// Draws a run's folder, or its record. `map` is the map of its embeddings with the graph, where both are at hand.
pub fn of_run(run: &Path, map: Option<(&EmbeddingMap, &Graph)>) -> Result<RenderedReport> {
    let record = if run.is_dir() { run.join(run_files::TRACE) } else { run.to_owned() };
    let history = History::new(trace::read(&record)?)?;
    let verdict = audit::audit(&record).map_err(|error| error.to_string());
    let mut figures = figures::of_run(&history);
    let mut page = Page::new(&format!("{} on {}", history.run.method, history.run.data));
    match &verdict {
        Ok(_) => page.verdict(true, "audit: every decision follows from the record"),
        Err(what) => page.verdict(false, &format!("audit: {what}")),
    }
    page.story(&narrative::of_run(&history, &verdict));
    page.numbers(&scores(run));
    let mut under =
        vec![("schedule", "<div id=\"why\" aria-live=\"polite\"><p>No block is chosen yet.</p></div>\n")];
    if let Some((map, graph)) = map {
        figures.push(map.figure(graph));
        under.push(("map", "<div class=\"layers\"></div><div class=\"groups\"></div>\n"));
        page.data("layers", map.for_page());
    }
    page.figures(&figures, &under);
    if !history.mixes() && !history.blocks.is_empty() {
        page.data("blocks", page::reasons(&history));
    }
    page.details("Settings", &history.run.config.to_toml()?);
    Ok(RenderedReport { page: page.finish(), figures })
}

/// Draws a comparison's folder.
pub fn of_comparison(folder: &Path) -> Result<RenderedReport> {
    let kept = Manifest::read(folder)?;
    let cells = kept.cells(&JsonlStore::<ResultCell>::read(folder, "results")?)?;
    let report = kept.report(&cells)?;
    let figures = comparison::figures(&report, &cells);
    let mut page = Page::new(&format!(
        "{} methods on {}",
        kept.comparison.methods.len(),
        kept.comparison.data.join(", ")
    ));
    page.story(&comparison::story(&report));
    page.figures(&figures, &[]);
    page.html(&format!("<div class=\"tables\">\n{}</div>\n", report.fragment()));
    Ok(RenderedReport { page: page.finish(), figures })
}

/// What `metrics.json` of a run says, where there is one.
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
