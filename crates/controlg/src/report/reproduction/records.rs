//! Figures of the paper that are drawn from the record of a run.

use std::fmt::Write;
use std::path::Path;

use crate::audit;
use crate::compare::table::html_escape;
use crate::error::Result;
use crate::report::figures::{self, Figure};
use crate::report::run_trace::RunTrace;
use crate::reproduce::{Diagnostics, ReproduceSettings, ReproduceTarget};
use crate::{run_files, trace};

/// The figures of a run of `controlg`, and what they show in numbers.
pub(super) struct RecordFigures {
    pub(super) diagnostics: Diagnostics,
    pub(super) figures: Vec<Figure>,
}

/// The runs whose records are there.
pub(super) fn of_runs(folder: &Path, settings: &ReproduceSettings) -> Result<Vec<RecordFigures>> {
    let mut records = Vec::new();
    for part in ReproduceTarget::find(ReproduceTarget::FIGURES)?.parts(settings) {
        let runs = part.jobs()?.into_iter().filter(|job| job.method == "controlg");
        for job in runs {
            let path = folder.join("runs").join(job.folder_name()?).join(run_files::TRACE);
            if path.exists() {
                records.extend(of_record(&path, part.data())?);
            }
        }
    }
    Ok(records)
}

/// `None` for a record without blocks.
fn of_record(path: &Path, data: &str) -> Result<Option<RecordFigures>> {
    let trace = RunTrace::new(trace::read(path)?)?;
    if trace.blocks.is_empty() {
        return Ok(None);
    }
    let entropies: Vec<f64> =
        trace.blocks.iter().map(|block| figures::normalized_entropy(&block.plan)).collect();
    let quarter = entropies.len().div_ceil(4);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let entropy = (mean(&entropies[..quarter]), mean(&entropies[entropies.len() - quarter..]));
    // The figures of a run that is still going on are shown, but prove nothing.
    let tracking_error = audit::audit(path).ok().and_then(|summary| summary.tracking_error);
    let diagnostics = Diagnostics { data: data.to_owned(), entropy, tracking_error };
    Ok(Some(RecordFigures { diagnostics, figures: figures::of_run(&trace) }))
}

/// What the caption of the schedule says about interaction.
const POINTING: &str =
    "; point at a block, or focus the chart and use the arrow keys, to see why it was chosen";

impl RecordFigures {
    /// Prefix of the names of the figures.
    pub(super) fn name(&self) -> String {
        let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '-' };
        format!("{}-", self.diagnostics.data.chars().map(plain).collect::<String>())
    }

    /// The figures as an HTML fragment.
    pub(super) fn html(&self) -> String {
        let mut out = format!(
            "<h2>A run of controlg on {}</h2>\n<div class=\"figures\">\n",
            html_escape(&self.diagnostics.data)
        );
        for figure in &self.figures {
            // Only the page of a run has the script for this.
            let caption = figure.caption.replace(POINTING, "");
            let _ = writeln!(
                out,
                "<figure id=\"{}{}\">\n<figcaption>\n<h3>{}</h3>\n<p>{}</p>\n</figcaption>\n{}</figure>",
                self.name(),
                figure.name,
                html_escape(&figure.title),
                html_escape(&caption),
                figure.image.inline(&format!("{}. {caption}", figure.title)),
            );
        }
        out + "</div>\n"
    }
}
