//! `controlg embed`: applies a trained encoder to a changed or new graph.

use std::path::{Path, PathBuf};

use controlg::config::{self, Config};
use controlg::data;
use controlg::train;
use controlg::{Result, files, run_files};
use serde_json::json;

use super::run_options;
use crate::args::CommonArgs;
use crate::console::{Console, shown};

pub(super) fn run(
    run: &Path,
    data: &str,
    out: Option<&PathBuf>,
    force: bool,
    common: &CommonArgs,
    console: &Console,
) -> Result<()> {
    let config = Config::from_table(config::read(&run.join(run_files::CONFIG))?)?;
    let folder = out.cloned().unwrap_or_else(|| run.join("embed"));
    files::check_output_folder(&folder, force, |names| train::is_own_embeddings(&folder, names))?;
    let options = run_options(common, &config);
    let dataset = data::load(data, &options)?;
    dataset.notes.iter().for_each(|note| console.log(format_args!("note: {note}")));
    let matched = train::match_features(run, &dataset.graph)?;
    matched.note.iter().for_each(|note| console.log(format_args!("note: {note}")));
    let graph = matched.graph;
    let (nodes, width) = (graph.n_nodes(), train::embed_into(run, &graph, &folder)?);
    let text = format!("{}: embeddings of {nodes} nodes, width {width}", folder.display());
    console.result(&json!({ "out": shown(&folder), "nodes": nodes, "width": width }), text)
}
