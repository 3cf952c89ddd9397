//! `controlg data`: list, inspect, download and convert data sets.

use std::io::IsTerminal;
use std::path::Path;

use controlg::data::catalog::{self, KnownDataset};
use controlg::data::fetch::{self, DownloadProgress};
use controlg::data::{self, FeatureSource, LoadOptions, binary, convert, info::DatasetInfo};
use controlg::{Error, Result};
use serde_json::json;

use super::load_options;
use crate::args::{CommonArgs, ConvertFormat, DataCommand};
use crate::console::{Console, shown};

pub(super) fn run(command: &DataCommand, common: &CommonArgs, console: &Console) -> Result<()> {
    match command {
        DataCommand::List => list(common, console),
        DataCommand::Info { data, features, directed } => {
            let options = LoadOptions { directed: *directed, ..load_options(common, *features) };
            let info = DatasetInfo::of(&data::load(data, &options)?);
            console.result(&info, &info)
        }
        DataCommand::Fetch { names, force } => fetch(names, *force, common, console),
        DataCommand::Convert { data, out, to, features } => {
            convert(data, out, *to, *features, common, console)
        }
    }
}

fn list(common: &CommonArgs, console: &Console) -> Result<()> {
    let data_dir = catalog::data_dir(&load_options(common, FeatureSource::Given))?;
    let widest = |text: fn(&KnownDataset) -> &str| {
        catalog::ALL.iter().map(|known| text(known).chars().count()).max().unwrap_or(0)
    };
    let (name_width, summary_width) = (widest(|known| known.name), widest(|known| known.summary));
    let mut rows = Vec::new();
    let mut text = String::new();
    for known in catalog::ALL {
        let missing = known.missing(&data_dir);
        let state = match (known.files.is_empty(), missing.first()) {
            (true, _) => "built in".to_owned(),
            (false, None) => "present".to_owned(),
            (false, Some(file)) => format!("missing {}", file.path),
        };
        text += &format!("{:<name_width$}  {:<summary_width$}  {state}\n", known.name, known.summary);
        rows.push(json!({
            "name": known.name,
            "summary": known.summary,
            "paper": known.summary().paper,
            "license": known.license,
            "protocol": known.protocol,
            "present": missing.is_empty(),
            "missing": missing.iter().map(|file| file.path).collect::<Vec<_>>(),
        }));
    }
    text += &format!("\ndata folder: {}\n", data_dir.display());
    console.result(&rows, text)
}

fn fetch(names: &[String], force: bool, common: &CommonArgs, console: &Console) -> Result<()> {
    // Check all names before the first download.
    let find =
        |name: &String| catalog::find(name).ok_or_else(|| Error::unknown("data set", name, catalog::names()));
    let known: Vec<&KnownDataset> = names.iter().map(find).collect::<Result<_>>()?;
    let data_dir = catalog::data_dir(&load_options(common, FeatureSource::Given))?;
    let options = fetch::FetchOptions { force, ..fetch::FetchOptions::default() };
    let (mut rows, mut text) = (Vec::new(), String::new());
    for known in known {
        let mut last = String::new();
        let report = fetch::fetch(known, &data_dir, &options, &mut |progress| {
            show_progress(known.name, progress, &mut last, console);
        });
        if std::io::stderr().is_terminal() {
            console.status("");
        }
        let report = report?;
        let (fetched, kept) = (report.fetched.len(), report.kept.len());
        text += &format!(
            "{}: downloaded {fetched} files to {}, {kept} already present\n",
            known.name,
            report.folder.display()
        );
        rows.push(json!({
            "name": known.name, "folder": shown(&report.folder), "fetched": report.fetched, "kept": report.kept,
        }));
    }
    console.result(&rows, text)
}

/// Updates one line on a terminal; otherwise prints one line per file.
fn show_progress(name: &str, progress: DownloadProgress<'_>, last: &mut String, console: &Console) {
    let DownloadProgress { file, done, total } = progress;
    if std::io::stderr().is_terminal() {
        let total = total.map(|total| format!(" of {:.1}", total as f64 / 1e6)).unwrap_or_default();
        console.status(format_args!("{name}: {file} {:.1}{total} MB", done as f64 / 1e6));
    } else if last != file {
        console.log(format_args!("{name}: downloading {file}"));
    }
    if last != file {
        *last = file.to_owned();
    }
}

fn convert(
    data: &str,
    out: &Path,
    to: ConvertFormat,
    features: FeatureSource,
    common: &CommonArgs,
    console: &Console,
) -> Result<()> {
    let dataset = data::load(data, &load_options(common, features))?;
    let format = match to {
        ConvertFormat::Folder => {
            convert::to_folder(&dataset, out)?;
            "folder"
        }
        ConvertFormat::Binary => {
            binary::to_binary(&dataset, out)?;
            if dataset.labels.is_some() {
                console.log(format_args!(
                    "note: the binary format has no labels and splits; evaluate with --data {data}"
                ));
            }
            "binary"
        }
    };
    let (nodes, edges) = (dataset.graph.n_nodes(), dataset.graph.n_edges());
    let text = format!("{}: wrote {nodes} nodes and {edges} edges of {data}", out.display());
    console.result(&json!({ "out": shown(out), "format": format, "nodes": nodes, "edges": edges }), text)
}
