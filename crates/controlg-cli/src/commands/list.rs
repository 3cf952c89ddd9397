//! `controlg list`: what there is to choose from, from the same lists that parse it.

use std::fmt::Write;

use controlg::Result;
use controlg::coordinator::METHODS;
use controlg::objective::{BASELINES, OBJECTIVES, Objective};
use controlg::registry::{Entry, EntrySummary};

use crate::args::List;
use crate::output::Output;

pub(super) fn run(what: List, output: &Output) -> Result<()> {
    let summaries: Vec<EntrySummary> = match what {
        List::Config => return config(output),
        List::Methods => {
            let alone = |entry: &Entry<dyn Objective>| EntrySummary {
                summary: "this objective alone",
                ..entry.summary()
            };
            let methods = METHODS.iter().map(|method| method.summary());
            let own = BASELINES.iter().map(|entry| entry.summary());
            let alone = OBJECTIVES.iter().map(alone);
            methods.chain(own).chain(alone).chain(controlg::eval::floors::SUMMARIES).collect()
        }
        List::Objectives => OBJECTIVES.iter().map(|entry| entry.summary()).collect(),
        List::Encoders => controlg::encoder::ENCODERS.iter().map(|entry| entry.summary()).collect(),
        List::Protocols => controlg::data::PROTOCOLS.iter().map(|protocol| protocol.summary()).collect(),
        List::Datasets => controlg::data::catalog::ALL.iter().map(|known| known.summary()).collect(),
    };
    output.result(&summaries, table(&summaries))
}

fn table(summaries: &[EntrySummary]) -> String {
    let width = summaries.iter().map(|summary| summary.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for EntrySummary { name, summary, paper } in summaries {
        let paper = paper.map(|paper| format!(" [{paper}]")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<width$}  {summary}{paper}");
    }
    text
}

fn config(output: &Output) -> Result<()> {
    let keys = controlg::config::documented()?;
    let width = keys.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in &keys {
        let _ = writeln!(text, "{:<width$} = {}  # {} ({})", key.name, key.default, key.doc, key.range);
    }
    output.result(&keys, text)
}
