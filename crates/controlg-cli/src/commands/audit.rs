//! `controlg audit`: does every decision of a run follow from its record?

use std::fmt::Write;
use std::path::Path;

use controlg::Result;
use controlg::audit::{self, AuditSummary};
use serde_json::json;

use crate::output::Output;

pub(super) fn run(run: &Path, output: &Output) -> Result<()> {
    let summary = match audit::audit(run) {
        Ok(summary) => summary,
        Err(error) => {
            // Who asked for JSON gets the verdict there too; the exit code and the error line stay the same.
            if output.json && error.exit_code() == 1 {
                output.result(&json!({ "follows": false, "error": error.to_string() }), "")?;
            }
            return Err(error);
        }
    };
    let mut json = serde_json::to_value(&summary).unwrap_or_default();
    json["follows"] = true.into();
    output.result(&json, text(&summary))
}

fn text(summary: &AuditSummary) -> String {
    let AuditSummary { blocks, sensings, steps, total_steps, .. } = summary;
    let verdict =
        if summary.weights.is_empty() { "every decision follows" } else { "every line is as it must be" };
    let mut text = format!("{}: {verdict}\n", summary.record.display());
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{}: {blocks} blocks, {sensings} sensings, {steps} of {total_steps} steps",
        summary.method
    );
    let width = summary.objectives.iter().map(String::len).max().unwrap_or(0);
    for (name, weight) in summary.objectives.iter().zip(&summary.weights) {
        let _ = writeln!(text, "  {name:<width$}  mean weight {weight:.3}");
    }
    if !summary.weights.is_empty() {
        return text;
    }
    for (k, name) in summary.objectives.iter().enumerate() {
        let planned = summary.planned.get(k).map(|share| format!("planned {share:.3}, ")).unwrap_or_default();
        let _ = writeln!(text, "  {name:<width$}  {planned}realized {:.3}", summary.realized[k]);
    }
    if let Some(error) = summary.tracking_error {
        let _ = writeln!(text, "largest gap between plan and share at an epoch's end: {error:.3}");
    }
    if let Some(deficit) = summary.worst_deficit {
        let _ = writeln!(text, "worst deficit: {deficit:.2} blocks");
    }
    let bound =
        summary.drought_bound.map(|bound| format!(" (bound at 99 %: {bound:.0})")).unwrap_or_default();
    let _ = writeln!(text, "longest drought: {} blocks{bound}", summary.longest_drought);
    text
}
