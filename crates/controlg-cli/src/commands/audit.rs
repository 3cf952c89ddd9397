//! `controlg audit`: checks that every decision of a run follows from its record.

use std::fmt::Write;
use std::path::Path;

use controlg::Result;
use controlg::audit::{self, AuditSummary, SearchSummary};
use serde_json::json;

use crate::console::Console;

pub(super) fn run(run: &Path, console: &Console) -> Result<()> {
    let summary = match audit::audit(run) {
        Ok(summary) => summary,
        Err(error) => {
            // With --json a failed audit is also printed as JSON; exit code and error line stay the same.
            if console.json && error.exit_code() == 1 {
                console.result(&json!({ "follows": false, "error": error.to_string() }), "")?;
            }
            return Err(error);
        }
    };
    let mut json = serde_json::to_value(&summary).unwrap_or_default();
    json["follows"] = true.into();
    console.result(&json, text(&summary))
}

fn text(summary: &AuditSummary) -> String {
    let AuditSummary { blocks, sensings, steps, total_steps, .. } = summary;
    let mixes = !summary.weights.is_empty();
    let verdict = if mixes { "the record is consistent" } else { "every decision follows from the record" };
    let mut text = format!("{}: {verdict}\n", summary.record.display());
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{}: {blocks} blocks, {sensings} sensings, {steps} of {total_steps} steps",
        summary.method
    );
    if let Some(search) = &summary.search {
        let SearchSummary { candidates, runs, failed, winner, .. } = search;
        let failed = if *failed > 0 { format!(", {failed} of which failed") } else { String::new() };
        let _ = writeln!(
            text,
            "the choice of candidate {winner} among {candidates} follows from {runs} short runs{failed}"
        );
    }
    let width = summary.objectives.iter().map(String::len).max().unwrap_or(0);
    for (name, weight) in summary.objectives.iter().zip(&summary.weights) {
        let _ = writeln!(text, "  {name:<width$}  mean weight {weight:.3}");
    }
    if mixes {
        return text;
    }
    for (k, name) in summary.objectives.iter().enumerate() {
        let planned = summary.planned.get(k).map(|share| format!("planned {share:.3}, ")).unwrap_or_default();
        let _ = writeln!(text, "  {name:<width$}  {planned}realized {:.3}", summary.realized[k]);
    }
    if let Some(error) = summary.tracking_error {
        let _ = writeln!(text, "largest tracking error at the end of an epoch: {error:.3}");
    }
    if let Some(deficit) = summary.worst_deficit {
        let _ = writeln!(text, "largest deficit: {deficit:.2} blocks");
    }
    let bound = summary.drought_bound.map(|bound| format!(" (99 % bound: {bound:.0})")).unwrap_or_default();
    let _ = writeln!(text, "longest wait of an objective: {} blocks{bound}", summary.longest_drought);
    text
}
