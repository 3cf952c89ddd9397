//! `controlg list`: prints the registries that also parse the names.

use std::fmt::Write;

use controlg::config::{self, Config, Preset};
use controlg::coordinator::METHODS;
use controlg::objective::{self, BASELINES, OBJECTIVES, Objective, STRESS};
use controlg::registry::{Entry, EntrySummary};
use controlg::{Error, Result};

use crate::args::Listing;
use crate::console::Console;

pub(super) fn run(
    what: Listing,
    data: Option<&str>,
    preset: Option<Preset>,
    console: &Console,
) -> Result<()> {
    if !matches!(what, Listing::Config) && (data.is_some() || preset.is_some()) {
        return Err(Error::value("list", "--data or --preset", "them with `list config` only"));
    }
    let summaries: Vec<EntrySummary> = match what {
        Listing::Config => return settings(data, preset, console),
        Listing::Presets => Preset::ALL.iter().map(|preset| preset.summary()).collect(),
        Listing::Methods => {
            let single = |entry: &Entry<dyn Objective>| EntrySummary {
                summary: "single objective",
                ..entry.summary()
            };
            let methods = METHODS.iter().map(|method| method.summary());
            let baselines = BASELINES.iter().map(|entry| entry.summary());
            let singles = OBJECTIVES.iter().map(single);
            let stress = STRESS.iter().map(|entry| entry.summary());
            methods
                .chain(baselines)
                .chain(singles)
                .chain(stress)
                .chain(controlg::eval::floors::SUMMARIES)
                .collect()
        }
        Listing::Objectives => objective::all().map(|entry| entry.summary()).collect(),
        Listing::Encoders => controlg::encoder::ENCODERS.iter().map(|entry| entry.summary()).collect(),
        Listing::Protocols => controlg::data::PROTOCOLS.iter().map(|protocol| protocol.summary()).collect(),
        Listing::Datasets => controlg::data::catalog::ALL.iter().map(|known| known.summary()).collect(),
    };
    console.result(&summaries, table(&summaries))
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

/// All settings with their defaults; with a data set or a preset, the values of a run.
fn settings(data: Option<&str>, preset: Option<Preset>, console: &Console) -> Result<()> {
    let keys = if data.is_some() || preset.is_some() {
        let run = Config::for_data(data.unwrap_or("graph"))?.preset(preset.unwrap_or_default());
        config::documented_values(&run.build()?)?
    } else {
        config::documented()?
    };
    let width = keys.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in &keys {
        let _ = writeln!(text, "{:<width$} = {}  # {} ({})", key.name, key.default, key.doc, key.range);
    }
    console.result(&keys, text)
}
