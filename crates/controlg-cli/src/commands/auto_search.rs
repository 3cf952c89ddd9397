//! `controlg pretrain --auto`: chooses settings by short runs before the full one.

use std::fmt;
use std::path::{Path, PathBuf};

use controlg::auto::{AutoFolder, AutoSearch};
use controlg::config::Config;
use controlg::graph::Graph;
use controlg::train::RunEstimate;
use controlg::{Result, run_files};
use serde::Serialize;

use super::pretrain::{default_folder, given_settings};
use crate::args::{CommonArgs, PretrainArgs};
use crate::console::Console;
use crate::interrupt;

/// A search that has not ended, in its folder.
pub(super) struct PendingSearch {
    pub(super) folder: PathBuf,
    /// The user's settings; `None` to continue the search in the folder with its own.
    given: Option<toml::Table>,
}

/// The search that a command asks for or continues; `None` if there is none, or if its full run has begun.
pub(super) fn pending(
    args: &PretrainArgs,
    common: &CommonArgs,
    console: &Console,
) -> Result<Option<PendingSearch>> {
    let unfinished =
        |folder: &Path| folder.join(run_files::AUTO).exists() && !folder.join(run_files::CONFIG).exists();
    let has_graph = args.data.is_some() || args.config.is_some();
    if args.resume && !has_graph {
        let folder = args.out.clone().filter(|folder| unfinished(folder));
        return Ok(folder.map(|folder| PendingSearch { folder, given: None }));
    }
    if !args.auto {
        return Ok(None);
    }
    let given = given_settings(args, common, console)?;
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => default_folder(&Config::from_table(given.clone())?),
    };
    let begun = args.resume && folder.join(run_files::CONFIG).exists();
    Ok((!begun).then_some(PendingSearch { folder, given: Some(given) }))
}

impl PendingSearch {
    /// The search as planned or as far as it has come. A folder that it may not be in is an error.
    pub(super) fn open(&self, args: &PretrainArgs) -> Result<AutoFolder<'_>> {
        match &self.given {
            None => AutoFolder::resume(&self.folder),
            Some(given) => AutoFolder::open(&self.folder, given, args.resume, args.force),
        }
    }

    /// Runs the search and returns the settings of the full run.
    pub(super) fn run(&self, args: &PretrainArgs, graph: &Graph, console: &Console) -> Result<Config> {
        let search = self.open(args)?.stop_when(interrupt::stop_flag()?);
        console.log(format_args!("auto: {}", search.search().describe()));
        search.run(graph, |event| console.log(format_args!("{event}")))
    }
}

/// The plan of a search and the estimate of a full run, for `--dry-run`.
#[derive(Serialize)]
pub(super) struct AutoEstimate {
    auto: AutoSearch,
    /// The full run with the first candidate.
    run: RunEstimate,
}

impl AutoEstimate {
    pub(super) fn new(search: &AutoSearch, graph: &Graph) -> Result<AutoEstimate> {
        let run = RunEstimate::new(graph, &search.full_config(0)?)?;
        Ok(AutoEstimate { auto: search.clone(), run })
    }
}

impl fmt::Display for AutoEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "auto:    {}", self.auto.describe())?;
        for (at, candidate) in self.auto.candidates.iter().enumerate() {
            writeln!(f, "         {}: {}", at + 1, candidate.settings.join(" "))?;
        }
        writeln!(f, "         a full run with candidate 1:")?;
        write!(f, "{}", self.run)
    }
}
