//! `controlg report`: renders a run or a comparison as an HTML page, and its figures as files.

use std::fs;
use std::path::{Path, PathBuf};

use controlg::compare::Manifest;
use controlg::config::{self, Config};
use controlg::data::{self, info::DatasetInfo};
use controlg::report::{self, EmbeddingMap, RenderedReport, RunContext};
use controlg::reproduce::ReproductionManifest;
use controlg::{Error, Graph, Result, files, run_files};
use serde_json::json;

use super::load_options;
use crate::args::CommonArgs;
use crate::console::{Console, shown};
use crate::png::PngRenderer;

pub(super) fn run(
    folder: &Path,
    out: Option<&PathBuf>,
    figures: Option<&PathBuf>,
    force: bool,
    common: &CommonArgs,
    console: &Console,
) -> Result<()> {
    let page = match out {
        Some(path) => path.clone(),
        None if folder.is_dir() => folder.join(run_files::REPORT),
        None => folder.with_file_name(run_files::REPORT),
    };
    files::check_output_file(&page, force, report::is_own_page)?;
    if let Some(folder) = figures {
        files::check_output_folder(folder, force, |names| report::is_own_figures(folder, names))?;
    }
    let rendered = render(folder, common, console)?;
    files::atomic_write_bytes(&page, &rendered.page)?;
    if let Some(folder) = figures {
        fs::create_dir_all(folder)
            .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
        let renderer = PngRenderer::new();
        for figure in &rendered.figures {
            let file = |extension: &str| folder.join(format!("{}.{extension}", figure.name));
            let svg = figure.svg();
            files::atomic_write_bytes(&file("png"), renderer.render(&svg)?)?;
            files::atomic_write_bytes(&file("svg"), svg)?;
            files::atomic_write_bytes(&file("csv"), &figure.csv)?;
        }
    }
    let names: Vec<&str> = rendered.figures.iter().map(|figure| figure.name).collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    let size = rendered.page.len().div_ceil(1000);
    let text = format!("{}: {} figure{plural}, {size} KB", page.display(), names.len());
    console.result(&json!({ "page": shown(&page), "bytes": rendered.page.len(), "figures": names }), text)
}

/// Renders the folder of a run or of a comparison.
fn render(folder: &Path, common: &CommonArgs, console: &Console) -> Result<RenderedReport> {
    if folder.join(Manifest::FILE).exists() {
        return report::of_comparison(folder);
    }
    if folder.join(ReproductionManifest::FILE).exists() {
        return Ok(report::of_reproduction(folder)?.report);
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
    let data = RunData::load_or_note(folder, common, console)?;
    report::of_run_in(folder, &data.as_ref().map(RunData::context).unwrap_or_default())
}

/// The graph of a run and the map of its embeddings.
pub(crate) struct RunData {
    map: EmbeddingMap,
    graph: Graph,
    info: DatasetInfo,
}

impl RunData {
    /// `None` if the run has no embeddings yet, or if the graph is not at hand. A file that is there but cannot be read is an
    /// error.
    pub(crate) fn load_or_note(
        run: &Path,
        common: &CommonArgs,
        console: &Console,
    ) -> Result<Option<RunData>> {
        RunData::load(run, common).or_else(|error| match error {
            Error::Io { .. } => Err(error),
            _ => {
                console
                    .log(format_args!("note: the report has no statistics of the graph and no map: {error}"));
                Ok(None)
            }
        })
    }

    fn load(run: &Path, common: &CommonArgs) -> Result<Option<RunData>> {
        let embeddings = run.join(run_files::EMBEDDINGS_NPY);
        if !embeddings.exists() {
            return Ok(None);
        }
        let config = Config::from_table(config::read(&run.join(run_files::CONFIG))?)?;
        let dataset = data::load(&config.data, &load_options(common, config.features))?;
        let info = DatasetInfo::of(&dataset);
        let embeddings = data::read_embeddings(&embeddings, dataset.graph.ids(), &config.data)?;
        let map = EmbeddingMap::new(&embeddings, &dataset.graph, dataset.labels.as_ref())?;
        Ok(Some(RunData { map, graph: dataset.graph, info }))
    }

    /// What the page of the run shows of this.
    pub(crate) fn context(&self) -> RunContext<'_> {
        RunContext { map: Some((&self.map, &self.graph)), info: Some(&self.info), ..RunContext::default() }
    }
}
