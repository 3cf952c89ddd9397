//! `controlg embed`: a trained encoder on a graph that changed or is new.

use std::path::{Path, PathBuf};

use controlg::config::{self, Config};
use controlg::data::{self, LoadOptions};
use controlg::train;
use controlg::{Error, Result};
use serde_json::json;

use crate::args::Common;
use crate::output::Output;

pub(super) fn run(
    run: &Path,
    data: &str,
    out: Option<&PathBuf>,
    common: &Common,
    output: &Output,
) -> Result<()> {
    let config = Config::from_table(config::read(&run.join("config.toml"))?)?;
    let options = LoadOptions { data_dir: common.data_dir.clone(), features: config.feature_source() };
    let graph = data::load(data, &options)?.graph;
    let embeddings = train::embed(run, &graph)?;
    let folder = match out {
        Some(out) => out.clone(),
        None => run.join("embed"),
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
    train::write_embeddings(&folder, &embeddings, graph.ids())?;
    let (nodes, width) = (embeddings.n_rows(), embeddings.n_cols());
    let text = format!("{}: {nodes} nodes, {width} columns", folder.display());
    output.result(&json!({ "out": folder, "nodes": nodes, "width": width }), text)
}
