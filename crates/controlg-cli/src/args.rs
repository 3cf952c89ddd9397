//! What can be typed: nothing here does anything.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use controlg::compare::{Budget, Shard};
use controlg::data::FeatureSource;
use controlg::eval::{EmbeddingNormalization, Probe, Task};

/// Pretrains a graph neural network on one graph with several self-supervised objectives, and shows why it
/// scheduled them as it did.
#[derive(Parser)]
#[command(name = "controlg", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(clap::Args)]
pub(crate) struct CommonArgs {
    /// Print one JSON document on standard output, and nothing else there.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Number of threads; all cores when not given. Results do not depend on it.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Say nothing but the result and errors.
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// The folder in which data sets are looked up by name [default: $CONTROLG_DATA, else the user's cache folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// See it work: pretrain on the embedded synthetic graph, judge the embeddings, draw the report.
    Demo {
        /// The folder to write.
        #[arg(long, default_value = "controlg-demo", value_name = "DIR")]
        out: PathBuf,
    },
    /// Pretrain an encoder on a graph, and write its embeddings and the record of every decision.
    Pretrain(PretrainArgs),
    /// Judge the embeddings of a run, or anybody's: node classification, link prediction, clustering.
    Evaluate(EvaluateArgs),
    /// Run methods on data sets with several seeds, and make the tables; goes on where it was stopped.
    Compare(CompareArgs),
    /// Draw a run or a comparison as one self-contained HTML page.
    Report {
        /// A run's folder, or a comparison's.
        folder: PathBuf,
        /// The page to write [default: report.html in the folder].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Also write each figure alone as SVG, and its numbers as CSV.
        #[arg(long, value_name = "DIR")]
        figures: Option<PathBuf>,
    },
    /// Derive every decision of a run again from its record; exit code 1 at the first that differs.
    Audit {
        /// A run's folder, or its trace.jsonl.
        run: PathBuf,
    },
    /// Embed a graph, new nodes included, with the encoder of a run.
    Embed {
        /// A run's folder.
        run: PathBuf,
        /// A known name or a path; its features must be those of the graph trained on.
        data: String,
        /// The folder to write [default: RUN/embed].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print what completes commands in a shell, or the manual pages.
    #[command(subcommand)]
    Generate(Generate),
    /// Data sets: which there are, what is in them, getting them, changing their format.
    #[command(subcommand)]
    Data(Data),
    /// What there is to choose from.
    List {
        /// Which list.
        what: List,
    },
}

#[derive(Subcommand)]
pub(crate) enum Generate {
    /// Completions for a shell, on standard output.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// One manual page a command, into a folder.
    Man {
        /// The folder to write.
        folder: PathBuf,
    },
}

#[derive(clap::Args)]
pub(crate) struct PretrainArgs {
    /// A known name (`cora`, `synthetic`) or a path; may come from the run file instead.
    #[arg(required_unless_present = "config")]
    pub(crate) data: Option<String>,
    /// Who decides which objective learns next; `controlg list methods` [default: controlg].
    #[arg(long, value_name = "M")]
    pub(crate) method: Option<String>,
    /// The objectives that take part [default: all five].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) objectives: Option<Vec<String>>,
    /// Where every draw starts [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// What the embeddings are for, nc, lp or cluster: link prediction may see the training edges only [default: nc].
    #[arg(long = "for", value_name = "TASK")]
    pub(crate) task: Option<Task>,
    /// Where node features come from [default: given].
    #[arg(long, value_parser = feature_source())]
    pub(crate) features: Option<FeatureSource>,
    /// The run's folder [default: runs/DATA-METHOD-SEED, with --for lp runs/DATA-METHOD-SEED-lp].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// A run file; what it does not say comes from the data set's preset.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One setting, e.g. train.epochs=4; `controlg list config` shows all.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Go on with the run in the folder, from its last checkpoint.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Serve the report of the run while it goes on, to this machine only [default port: a free one].
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub(crate) watch: Option<u16>,
    /// Also write an event file for TensorBoard, into RUN/tensorboard.
    #[arg(long)]
    pub(crate) tensorboard: bool,
    /// The most memory that the run may take, e.g. 4GB: steps see smaller parts of the graph where they must; a limit that
    /// is too small is refused.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Print what the run will come to, memory, steps and time, after trying a few steps; nothing is written.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A number of bytes: 4GB, 512MB, 1.5GiB, or a plain number.
fn size(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..at].trim(), text[at..].trim().to_ascii_lowercase());
    let unit: f64 = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        _ => return Err("expected a size such as 4GB, 512MB or 1.5GiB".to_owned()),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * unit) as u64),
        _ => Err("expected a size such as 4GB, 512MB or 1.5GiB".to_owned()),
    }
}

#[derive(clap::Args)]
pub(crate) struct EvaluateArgs {
    /// A run's folder, a file of embeddings (.npy, .npz, .parquet, .csv), or a floor: raw or sgc (./raw is a path).
    pub(crate) subject: PathBuf,
    /// The graph they belong to [default: the run's].
    #[arg(long, value_name = "DATA")]
    pub(crate) data: Option<String>,
    /// Which tasks, of nc, lp and cluster [default: all that the run and the labels allow].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tasks: Vec<Task>,
    /// The protocol of node classification; `controlg list protocols` [default: the data set's].
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Option<String>,
    /// The probe of node classification: lbfgs, fitted to the end, or adam-es, stopped early as much of the literature
    /// does.
    #[arg(long, default_value = "lbfgs")]
    pub(crate) probe: Probe,
    /// What is done to the embeddings before the probe: l2, none or zscore.
    #[arg(long, default_value = "l2")]
    pub(crate) embedding: EmbeddingNormalization,
    /// The seed of drawn splits [default: the run's, else 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Where the node features of the floors come from [default: given].
    #[arg(long, value_parser = feature_source())]
    pub(crate) features: Option<FeatureSource>,
}

#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// Known names or paths.
    #[arg(long, required = true, value_name = "A,B", value_delimiter = ',')]
    pub(crate) data: Vec<String>,
    /// The methods; the floors raw, untrained and sgc, and every objective alone, are added.
    #[arg(long, required = true, value_name = "M,N", value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// How many seeds: 0, 1, …
    #[arg(long, default_value = "5", value_name = "N")]
    pub(crate) seeds: NonZeroUsize,
    /// Which tasks, of nc, lp and cluster.
    #[arg(long, default_value = "nc,cluster", value_name = "A,B", value_delimiter = ',')]
    pub(crate) tasks: Vec<Task>,
    /// The folder of the results and tables.
    #[arg(long, default_value = "comparison", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Do the i-th of n parts only; `DIR/results-i-of-n.jsonl` of all parts in one folder are merged by the next
    /// comparison without this.
    #[arg(long, value_name = "i/n")]
    pub(crate) shard: Option<Shard>,
    /// One setting of all runs, e.g. train.epochs=4.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Where node features come from, those of the floors too [default: given].
    #[arg(long, value_parser = feature_source())]
    pub(crate) features: Option<FeatureSource>,
    /// What is counted against the steps that a method's settings give it: steps, or evaluations of objectives.
    #[arg(long, default_value = "steps")]
    pub(crate) budget: Budget,
    /// Choose settings first, on validation, from the values in a file; `paper` for the paper's grids.
    #[arg(long, value_name = "FILE")]
    pub(crate) grid: Option<PathBuf>,
    /// Try no more than this many combinations of a grid for a method, drawn at random.
    #[arg(long, value_name = "N")]
    pub(crate) grid_limit: Option<NonZeroUsize>,
    /// Put the paper's numbers beside ours.
    #[arg(long, value_name = "WHAT")]
    pub(crate) against: Option<Against>,
    /// The method that differences are taken to [default: the first].
    #[arg(long, value_name = "M")]
    pub(crate) reference: Option<String>,
    /// The probe of node classification: lbfgs or adam-es.
    #[arg(long, default_value = "lbfgs")]
    pub(crate) probe: Probe,
    /// What is done to the embeddings before the probe: l2, none or zscore.
    #[arg(long, default_value = "l2")]
    pub(crate) embedding: EmbeddingNormalization,
    /// How many runs go at once [default: one a core, fewer where memory is short].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Leave out the objectives alone that were not asked for.
    #[arg(long)]
    pub(crate) skip_singles: bool,
    /// Keep the embeddings and models of the runs, not their settings, records and scores only.
    #[arg(long)]
    pub(crate) keep_runs: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// The paper's tables.
    Paper,
}

#[derive(Subcommand)]
pub(crate) enum Data {
    /// The data sets known by name, and whether their files are there.
    List,
    /// What is in a graph.
    Info {
        /// A known name (`cora`, `synthetic:nodes=10000`) or a path.
        data: String,
        /// Where node features come from.
        #[arg(long, default_value = "given", value_parser = feature_source())]
        features: FeatureSource,
    },
    /// Download data sets from their public addresses, checked by their hashes.
    Fetch {
        /// Known names.
        #[arg(required = true)]
        names: Vec<String>,
        /// Replace files that are there but have other content.
        #[arg(long)]
        force: bool,
    },
    /// Write a graph in another format.
    Convert {
        /// A known name or a path.
        data: String,
        /// The folder to write; it must be new or empty.
        out: PathBuf,
        /// The format to write.
        #[arg(long, value_enum, default_value_t)]
        to: Target,
        /// Where node features come from.
        #[arg(long, default_value = "given", value_parser = feature_source())]
        features: FeatureSource,
    },
}

/// Parses the value of `--features`.
fn feature_source() -> impl TypedValueParser<Value = FeatureSource> {
    let value = |source: FeatureSource, help: &'static str| PossibleValue::new(source.name()).help(help);
    PossibleValuesParser::new([
        value(FeatureSource::Given, "Read from the files; structural if the files have none"),
        value(FeatureSource::Structural, "Computed from the edges alone"),
    ])
    .try_map(|name| name.parse::<FeatureSource>())
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Target {
    /// The own-folder format: edges.csv, ids.txt, features, labels.csv, splits.csv.
    #[default]
    Folder,
    /// The binary format; features can stay on disk: graph.json, adjacency.*, features.*.
    #[value(alias = "mapped")]
    Binary,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum List {
    /// Ways to share the steps among the objectives.
    Methods,
    /// Self-supervised tasks.
    Objectives,
    /// Graph neural networks.
    Encoders,
    /// Ways to judge embeddings.
    Protocols,
    /// Data sets known by name.
    Datasets,
    /// The keys of the run file.
    Config,
}
