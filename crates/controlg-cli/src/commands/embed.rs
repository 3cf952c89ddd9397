//! `controlg embed`: a trained encoder on a graph that changed or is new.

use std::path::{Path, PathBuf};

use controlg::config::{self, Config};
use controlg::data::{self, LoadOptions};
use controlg::train;
use controlg::{Result, run_files};
use serde_json::json;

use crate::args::CommonArgs;
use crate::output::Output;

pub(super) fn run(
    run: &Path,
    data: &str,
    out: Option<&PathBuf>,
    common: &CommonArgs,
    output: &Output,
) -> Result<()> {
    let config = Config::from_table(config::read(&run.join(run_files::CONFIG))?)?;
    let options =
        LoadOptions { data_dir: common.data_dir.clone(), features: config.features, stay_on_disk: true };
    let dataset = data::load(data, &options)?;
    dataset.notes.iter().for_each(|note| output.remark(format_args!("note: {note}")));
    let graph = dataset.graph;
    let folder = match out {
        Some(out) => out.clone(),
        None => run.join("embed"),
    };
    let (nodes, width) = (graph.n_nodes(), train::embed_into(run, &graph, &folder)?);
    let text = format!("{}: {nodes} nodes, {width} columns", folder.display());
    output.result(&json!({ "out": folder, "nodes": nodes, "width": width }), text)
}
