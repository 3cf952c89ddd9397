//! `controlg data`: what there is, what is in it, get it, change its format.

use std::io::IsTerminal;
use std::path::Path;

use controlg::data::catalog::{self, KnownDataset};
use controlg::data::fetch::{self, DownloadProgress};
use controlg::data::{self, FeatureSource, binary, convert, info::DatasetInfo};
use controlg::{Error, Result};
use serde_json::json;

use super::load_options;
use crate::args::{CommonArgs, Data, Target};
use crate::output::Output;

pub(super) fn run(command: &Data, common: &CommonArgs, output: &Output) -> Result<()> {
    match command {
        Data::List => list(common, output),
        Data::Info { data, features } => {
            let info = DatasetInfo::of(&data::load(data, &load_options(common, *features))?);
            output.result(&info, &info)
        }
        Data::Fetch { names, force } => fetch(names, *force, common, output),
        Data::Convert { data, out, to, features } => convert(data, out, *to, *features, common, output),
    }
}

fn list(common: &CommonArgs, output: &Output) -> Result<()> {
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
            (true, _) => "needs no files".to_owned(),
            (false, None) => "here".to_owned(),
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
    text += &format!("\nlooked for in {}\n", data_dir.display());
    output.result(&rows, text)
}

fn fetch(names: &[String], force: bool, common: &CommonArgs, output: &Output) -> Result<()> {
    // All names are looked up before the first byte is asked for.
    let find =
        |name: &String| catalog::find(name).ok_or_else(|| Error::unknown("data set", name, catalog::names()));
    let known: Vec<&KnownDataset> = names.iter().map(find).collect::<Result<_>>()?;
    let data_dir = catalog::data_dir(&load_options(common, FeatureSource::Given))?;
    let options = fetch::FetchOptions { force, ..fetch::FetchOptions::default() };
    let (mut rows, mut text) = (Vec::new(), String::new());
    for known in known {
        let mut last = String::new();
        let report = fetch::fetch(known, &data_dir, &options, &mut |progress| {
            show_progress(known.name, progress, &mut last, output);
        });
        if std::io::stderr().is_terminal() {
            output.status("");
        }
        let report = report?;
        let (fetched, kept) = (report.fetched.len(), report.kept.len());
        text += &format!(
            "{}: {fetched} files fetched, {kept} already there: {}\n",
            known.name,
            report.folder.display()
        );
        rows.push(json!({
            "name": known.name, "folder": report.folder, "fetched": report.fetched, "kept": report.kept,
        }));
    }
    output.result(&rows, text)
}

/// On a terminal one line that grows; elsewhere a line a file.
fn show_progress(name: &str, progress: DownloadProgress<'_>, last: &mut String, output: &Output) {
    let DownloadProgress { file, done, total } = progress;
    if std::io::stderr().is_terminal() {
        let total = total.map(|total| format!(" of {:.1}", total as f64 / 1e6)).unwrap_or_default();
        output.status(format_args!("{name}: {file} {:.1}{total} MB", done as f64 / 1e6));
    } else if last != file {
        output.remark(format_args!("{name}: fetching {file}"));
    }
    if last != file {
        *last = file.to_owned();
    }
}

fn convert(
    data: &str,
    out: &Path,
    to: Target,
    features: FeatureSource,
    common: &CommonArgs,
    output: &Output,
) -> Result<()> {
    let dataset = data::load(data, &load_options(common, features))?;
    let format = match to {
        Target::Folder => {
            convert::to_folder(&dataset, out)?;
            "folder"
        }
        Target::Binary => {
            binary::to_binary(&dataset, out)?;
            if dataset.labels.is_some() {
                output
                    .remark(format_args!("labels and splits stay with {data}: evaluate with --data {data}"));
            }
            "binary"
        }
    };
    let (nodes, edges) = (dataset.graph.n_nodes(), dataset.graph.n_edges());
    let text = format!("{}: {nodes} nodes and {edges} edges of {data}", out.display());
    output.result(&json!({ "out": out, "format": format, "nodes": nodes, "edges": edges }), text)
}
