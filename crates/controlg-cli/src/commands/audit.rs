//! `controlg audit`: checks that every decision of a run follows from its record.

use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};

use controlg::audit::{self, AuditSummary, Replay, ReplaySummary, SearchSummary};
use controlg::config::{self, Config};
use controlg::data;
use controlg::{Error, Result, run_files};
use serde_json::json;

use super::run_options;
use crate::args::{AuditArgs, CommonArgs};
use crate::console::{Console, shown};

pub(super) fn run(args: &AuditArgs, common: &CommonArgs, console: &Console) -> Result<()> {
    match checked(args, common) {
        Ok((summary, replayed)) => {
            let mut json = serde_json::to_value(&summary).unwrap_or_default();
            json["follows"] = true.into();
            let mut text = text(&summary);
            if let Some(replayed) = replayed {
                text += &replay_text(&replayed);
                json["replay"] = serde_json::to_value(replayed).unwrap_or_default();
            }
            if let Some(key) = &args.sign {
                let path = audit::sign(&args.run, key)?;
                // Writing to a String cannot fail.
                let _ = writeln!(text, "signed: {}", path.display());
                json["signature"] = json!(shown(&path));
            }
            if let Some(key) = &args.verify {
                let _ = writeln!(text, "the signature is that of {}", key.display());
                json["verified"] = true.into();
            }
            console.result(&json, text)
        }
        Err(error) => {
            // With --json a failed audit is also printed as JSON; exit code and error line stay the same.
            if console.json && error.exit_code() == 1 {
                console.result(&json!({ "follows": false, "error": error.to_string() }), "")?;
            }
            Err(error)
        }
    }
}

/// Everything that the arguments ask to be checked.
fn checked(args: &AuditArgs, common: &CommonArgs) -> Result<(AuditSummary, Option<ReplaySummary>)> {
    if let Some(key) = &args.verify {
        audit::verify(&args.run, key)?;
    }
    let summary = audit::audit(&args.run)?;
    let AuditSummary { steps, total_steps, .. } = summary;
    if !summary.complete && !args.partial {
        return Err(Error::Check {
            file: summary.record,
            place: String::new(),
            found: format!("a record of {steps} of {total_steps} steps (--partial accepts it)"),
            expected: "one of all steps".to_owned(),
        });
    }
    let replayed = args.replay.then(|| replay(args, common)).transpose()?;
    Ok((summary, replayed))
}

fn replay(args: &AuditArgs, common: &CommonArgs) -> Result<ReplaySummary> {
    if !args.run.is_dir() {
        return Err(Error::input(&args.run, "", "a record", "a run folder, to train again"));
    }
    let config = Config::from_table(config::read(&args.run.join(run_files::CONFIG))?)?;
    let options = run_options(common, &config);
    let graph = data::load(args.data.as_ref().unwrap_or(&config.data), &options)?.graph;
    // Not to be foreseen by whoever made the record; the chosen blocks are printed.
    let seed = RandomState::new().build_hasher().finish();
    Replay { blocks: args.blocks, seed, tolerance: args.tolerance }.run(&args.run, &graph)
}

fn replay_text(summary: &ReplaySummary) -> String {
    let ReplaySummary { blocks, steps, files } = summary;
    let mut text = format!("trained again, {steps} steps: the same numbers in {}", listed(blocks));
    if !files.is_empty() {
        let _ = write!(text, ", the same {}", files.join(", "));
    }
    text + "\n"
}

/// Few blocks by their numbers, else how many.
fn listed(blocks: &[usize]) -> String {
    match blocks {
        [] => "no block".to_owned(),
        [..] if blocks.len() > 20 => format!("{} blocks", blocks.len()),
        [one] => format!("block {one}"),
        several => {
            let numbers: Vec<String> = several.iter().map(usize::to_string).collect();
            format!("blocks {}", numbers.join(", "))
        }
    }
}

fn text(summary: &AuditSummary) -> String {
    let AuditSummary { blocks, sensings, steps, total_steps, .. } = summary;
    let mixes = !summary.weights.is_empty();
    let verdict = match (mixes, summary.complete) {
        (true, _) => "the record is consistent",
        (false, true) => "every decision follows from the record",
        (false, false) => "every decision so far follows from the record",
    };
    let mut text = format!("{}: {verdict}\n", summary.record.display());
    let state = if summary.complete { "complete" } else { "unfinished" };
    let _ = writeln!(
        text,
        "{}: {state}, {steps} of {total_steps} steps, {blocks} blocks, {sensings} sensings",
        summary.method
    );
    if !summary.files.is_empty() {
        let _ = writeln!(text, "files that belong to the record: {}", summary.files.join(", "));
    }
    for note in &summary.notes {
        let _ = writeln!(text, "note: {note}");
    }
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
