//! One module per command: calls to the library and formatting of the results.

mod audit;
mod auto_search;
pub(crate) mod compare;
mod data;
mod demo;
mod embed;
mod evaluate;
mod generate;
mod list;
mod pretrain;
pub(crate) mod report;
mod reproduce;

use controlg::collective::Ranks;
use controlg::config::Config;
use controlg::data::{FeatureSource, LoadOptions};
use controlg::{Error, Result};

use crate::args::{Args, Command, CommonArgs};
use crate::console::Console;

/// Runs the chosen command.
pub(crate) fn run(args: &Args, ranks: Ranks<'_>) -> Result<()> {
    let console = Console::new(&args.common, ranks.is_first());
    if !ranks.is_alone() && !matches!(args.command, Command::Pretrain(_)) {
        let found = format!("{} ranks", ranks.size());
        return ranks.agree(Err(Error::value("command", found, "one process, or pretrain")));
    }
    match &args.command {
        Command::Demo { out, preset } => demo::run(out, *preset, &args.common, &console),
        Command::Data(command) => data::run(command, &args.common, &console),
        Command::Pretrain(command) => pretrain::run(command, &args.common, &console, ranks),
        Command::Evaluate(command) => evaluate::run(command, &args.common, &console),
        Command::Compare(command) => compare::run(command, &args.common, &console),
        Command::RunJob => compare::run_job(&args.common, &console),
        Command::Reproduce(command) => reproduce::run(command, &args.common, &console),
        Command::Report { folder, out, figures, force } => {
            report::run(folder, out.as_ref(), figures.as_ref(), *force, &args.common, &console)
        }
        Command::Audit(command) => audit::run(command, &args.common, &console),
        Command::Embed { run, data, out, force } => {
            embed::run(run, data, out.as_ref(), *force, &args.common, &console)
        }
        Command::Generate(command) => generate::run(command, &console),
        Command::List { what, data, preset } => list::run(*what, data.as_deref(), *preset, &console),
    }
}

/// Options that load the graph of a run; features stay on disk if the format allows it.
fn run_options(common: &CommonArgs, config: &Config) -> LoadOptions {
    let Config { features, directed, .. } = *config;
    LoadOptions { directed, stay_on_disk: true, ..load_options(common, features) }
}

/// Options that load a whole data set into memory.
fn load_options(common: &CommonArgs, features: FeatureSource) -> LoadOptions {
    let (data_dir, copy) = (common.data_dir.clone(), common.data_copy.clone());
    LoadOptions { data_dir, copy, features, ..LoadOptions::default() }
}
