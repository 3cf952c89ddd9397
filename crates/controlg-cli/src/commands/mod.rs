//! What each command means: calls to the library, and what is printed of their results.

mod audit;
mod compare;
mod data;
mod demo;
mod embed;
mod evaluate;
mod generate;
mod list;
mod pretrain;
mod report;

use controlg::Result;
use controlg::data::{FeatureSource, LoadOptions};

use crate::args::{Args, Command, CommonArgs};
use crate::output::Output;

/// Does what was asked for.
pub(crate) fn run(args: &Args) -> Result<()> {
    let output = Output::new(&args.common);
    match &args.command {
        Command::Demo { out } => demo::run(out, &args.common, &output),
        Command::Data(command) => data::run(command, &args.common, &output),
        Command::Pretrain(command) => pretrain::run(command, &args.common, &output),
        Command::Evaluate(command) => evaluate::run(command, &args.common, &output),
        Command::Compare(command) => compare::run(command, &args.common, &output),
        Command::Report { folder, out, figures } => {
            report::run(folder, out.as_ref(), figures.as_ref(), &args.common, &output)
        }
        Command::Audit { run } => audit::run(run, &output),
        Command::Embed { run, data, out } => embed::run(run, data, out.as_ref(), &args.common, &output),
        Command::Generate(what) => generate::run(what, &output),
        Command::List { what } => list::run(*what, &output),
    }
}

fn load_options(common: &CommonArgs, features: FeatureSource) -> LoadOptions {
    LoadOptions { data_dir: common.data_dir.clone(), features, stay_on_disk: false }
}
