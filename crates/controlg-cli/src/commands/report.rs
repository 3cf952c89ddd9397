//! `controlg report`: a run or a comparison as a page, and its figures alone.

use std::fs;
use std::path::{Path, PathBuf};

use controlg::compare::Manifest;
use controlg::config::{self, Config};
use controlg::data::{self, LoadOptions};
use controlg::report::{self, Map, RenderedReport};
use controlg::{Error, Result, files, run_files};
use serde_json::json;

use crate::args::CommonArgs;
use crate::output::Output;
use crate::picture::Painter;

pub(super) fn run(
    folder: &Path,
    out: Option<&PathBuf>,
    figures: Option<&PathBuf>,
    common: &CommonArgs,
    output: &Output,
) -> Result<()> {
    let drawn = draw(folder, common, output)?;
    let page = match out {
        Some(path) => path.clone(),
        None if folder.is_dir() => folder.join(run_files::REPORT),
        None => folder.with_file_name(run_files::REPORT),
    };
    files::atomic_write_bytes(&page, &drawn.page)?;
    if let Some(folder) = figures {
        fs::create_dir_all(folder)
            .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
        let painter = Painter::new();
        for figure in &drawn.figures {
            let file = |ending: &str| folder.join(format!("{}.{ending}", figure.name));
            let svg = figure.svg();
            files::atomic_write_bytes(&file("png"), painter.png(&svg)?)?;
            files::atomic_write_bytes(&file("svg"), svg)?;
            files::atomic_write_bytes(&file("csv"), &figure.csv)?;
        }
    }
    let names: Vec<&str> = drawn.figures.iter().map(|figure| figure.name).collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    let size = drawn.page.len().div_ceil(1000);
    let text = format!("{}: {} figure{plural}, {size} KB", page.display(), names.len());
    output.result(&json!({ "page": page, "bytes": drawn.page.len(), "figures": names }), text)
}

pub(super) fn draw(folder: &Path, common: &CommonArgs, output: &Output) -> Result<RenderedReport> {
    if folder.join(Manifest::FILE).exists() {
        return report::of_comparison(folder);
    }
    let record = if folder.is_dir() { folder.join(run_files::TRACE) } else { folder.to_owned() };
    if !record.exists() {
        return Err(Error::input(
            folder,
            "",
            "neither a run nor a comparison",
            "a folder with trace.jsonl or comparison.json",
        ));
    }
    match mapped(folder, common) {
        Ok(Some((map, graph))) => report::of_run(folder, Some((&map, &graph))),
        Ok(None) => report::of_run(folder, None),
        Err(error) => {
            output.remark(format_args!("no map of the embeddings: {error}"));
            report::of_run(folder, None)
        }
    }
}

/// The map of a run's embeddings, where they and the graph are at hand.
fn mapped(run: &Path, common: &CommonArgs) -> Result<Option<(Map, controlg::Graph)>> {
    let embeddings = run.join(run_files::EMBEDDINGS_NPY);
    if !embeddings.exists() {
        return Ok(None);
    }
    let config = Config::from_table(config::read(&run.join(run_files::CONFIG))?)?;
    let options = LoadOptions {
        data_dir: common.data_dir.clone(),
        features: config.features,
        ..LoadOptions::default()
    };
    let dataset = data::load(&config.data, &options)?;
    let embeddings = data::read_embeddings(&embeddings, dataset.graph.ids(), &config.data)?;
    let map = Map::new(&embeddings, &dataset.graph, dataset.labels.as_ref())?;
    Ok(Some((map, dataset.graph)))
}
