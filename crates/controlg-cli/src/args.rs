//! Command-line arguments: parsing only, no side effects.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use controlg::compare::{Budget, ChooseBy, PoolSuite, Shard};
use controlg::config::Preset;
use controlg::data::FeatureSource;
use controlg::eval::{EmbeddingNormalization, Probe, Task};

use crate::commands::compare::engine::Engine;

/// Pretrain graph neural networks with several self-supervised objectives and a feedback scheduler.
#[derive(Parser)]
#[command(name = "controlg", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct CommonArgs {
    /// Print the result as one JSON document on stdout.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Number of threads [default: all cores]; results do not depend on it.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Print only the result and errors.
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Folder of named data sets [default: $CONTROLG_DATA or the cache folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// A copy of the graph's folder or file, which is read instead; used by engines.
    #[arg(long, global = true, value_name = "PATH", hide = true)]
    pub(crate) data_copy: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Pretrain on a synthetic graph, evaluate and write a report, in about a minute.
    Demo {
        /// Output folder.
        #[arg(long, default_value = "controlg-demo", value_name = "DIR")]
        out: PathBuf,
        /// Base of the settings: tuned or paper [default: tuned].
        #[arg(long, value_name = "NAME")]
        preset: Option<Preset>,
    },
    /// Pretrain an encoder on a graph; write embeddings, model and record.
    Pretrain(PretrainArgs),
    /// Evaluate embeddings: node classification, link prediction, clustering.
    Evaluate(EvaluateArgs),
    /// Compare methods over data sets and seeds; continues an interrupted comparison.
    Compare(CompareArgs),
    /// Run one job of a comparison, described on stdin; used by engines.
    #[command(hide = true)]
    RunJob,
    /// Make the tables and figures of the paper; continues an interrupted reproduction.
    Reproduce(ReproduceArgs),
    /// Render a run or a comparison as one self-contained HTML page.
    Report {
        /// Folder of a run or of a comparison.
        folder: PathBuf,
        /// Output file [default: report.html in the folder].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Also write every figure as SVG and PNG, and its data as CSV.
        #[arg(long, value_name = "DIR")]
        figures: Option<PathBuf>,
        /// Replace files that controlg did not write.
        #[arg(long)]
        force: bool,
    },
    /// Recompute every decision of a run from its record; exit code 1 on a mismatch.
    Audit(AuditArgs),
    /// Embed a graph, including unseen nodes, with a trained encoder.
    Embed {
        /// Run folder.
        run: PathBuf,
        /// Name or path of a graph with the same features as the training graph.
        data: String,
        /// Output folder [default: RUN/embed].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Write into a folder with other files.
        #[arg(long)]
        force: bool,
    },
    /// Generate shell completions or man pages.
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// List, inspect, download and convert data sets.
    #[command(subcommand)]
    Data(DataCommand),
    /// List what can be chosen, and all settings.
    List {
        /// One of methods, objectives, encoders, protocols, datasets, presets, config.
        #[arg(hide_possible_values = true)] // they would not fit on the line
        what: Listing,
        /// Show the settings of runs on this graph (with `config`).
        #[arg(long, value_name = "DATA")]
        data: Option<String>,
        /// Show the settings of this preset: tuned or paper (with `config`).
        #[arg(long, value_name = "NAME")]
        preset: Option<Preset>,
    },
}

#[derive(Subcommand)]
pub(crate) enum GenerateCommand {
    /// Print completions for a shell on stdout.
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
    /// Write one man page per command.
    Man {
        /// Output folder.
        folder: PathBuf,
    },
}

#[derive(clap::Args)]
pub(crate) struct PretrainArgs {
    /// Name (`cora`, `synthetic`) or path of a graph; may also come from --config or --resume.
    #[arg(required_unless_present_any = ["config", "resume"])]
    pub(crate) data: Option<String>,
    /// Method; see `controlg list methods` [default: controlg].
    #[arg(long, value_name = "M")]
    pub(crate) method: Option<String>,
    /// Objectives to train with [default: all five].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) objectives: Option<Vec<String>>,
    /// Random seed [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Downstream task: nc, cluster, or lp (training edges only) [default: nc].
    #[arg(long, alias = "for", value_name = "TASK")] // alias kept from version 0.1
    pub(crate) task: Option<Task>,
    /// Stop when no held-out loss has fallen for N epochs.
    #[arg(long, value_name = "N")]
    pub(crate) stop_when_flat: Option<NonZeroUsize>,
    /// Choose settings by short runs, without labels.
    #[arg(long, conflicts_with = "memory")]
    pub(crate) auto: bool,
    /// Also keep the embeddings at N points along the run, and at its start.
    #[arg(long, value_name = "N")]
    pub(crate) snapshots: Option<NonZeroUsize>,
    /// Node features [default: given].
    #[arg(long, value_name = "SOURCE", value_parser = feature_source())]
    pub(crate) features: Option<FeatureSource>,
    /// Keep the direction of edges: forward and reverse become two relations.
    #[arg(long)]
    pub(crate) directed: bool,
    /// Run folder [default: runs/DATA-METHOD-SEED, plus -lp for --task lp].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run file (TOML); missing keys come from the data set's preset.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Base of the settings: tuned or paper [default: tuned].
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<Preset>,
    /// Override a setting, e.g. train.epochs=4; see `controlg list config`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Continue the run in --out from its last checkpoint, with its settings.
    #[arg(long, conflicts_with = "force")]
    pub(crate) resume: bool,
    /// Replace a run in the output folder.
    #[arg(long)]
    pub(crate) force: bool,
    /// Serve a live report on localhost [default port: any free one].
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub(crate) watch: Option<u16>,
    /// Also write a TensorBoard event file to RUN/tensorboard.
    #[arg(long)]
    pub(crate) tensorboard: bool,
    /// Memory limit, e.g. 4GB; shrinks the mini-batches to fit.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,
    /// Estimate memory, steps and time from a few steps; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(clap::Args)]
pub(crate) struct EvaluateArgs {
    /// Run folder, embeddings (.npy, .npz, .parquet, .csv), or a floor (raw, sgc, mean, hops).
    pub(crate) subject: PathBuf,
    /// Graph of the embeddings [default: the run's].
    #[arg(long, value_name = "DATA")]
    pub(crate) data: Option<String>,
    /// Tasks among nc, lp, cluster [default: all that can be judged].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tasks: Vec<Task>,
    /// Node-classification protocol; see `controlg list protocols`.
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Option<String>,
    /// Linear probe: lbfgs, or adam-es (early stopping).
    #[arg(long, default_value = "lbfgs")]
    pub(crate) probe: Probe,
    /// Normalization before the probe: l2, none or zscore.
    // Alias kept from version 0.1.
    #[arg(long, alias = "embedding", value_name = "HOW", default_value = "l2")]
    pub(crate) normalize: EmbeddingNormalization,
    /// Seed of random splits [default: the run's, else 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Do not score the floors (raw, untrained, sgc, mean, hops) next to a run.
    #[arg(long)]
    pub(crate) no_floors: bool,
    /// Print and store validation figures only, for tuning.
    #[arg(long)]
    pub(crate) validation_only: bool,
    /// Validation figures and cost along a run with `--snapshots`.
    #[arg(long, conflicts_with = "validation_only")]
    pub(crate) curve: bool,
    /// Features of floors [default: given].
    #[arg(long, value_name = "SOURCE", value_parser = feature_source())]
    pub(crate) features: Option<FeatureSource>,
    /// Keep the direction of edges of the graph of embeddings or a floor.
    #[arg(long)]
    pub(crate) directed: bool,
}

#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// Data sets, by name or path.
    #[arg(long, required = true, value_name = "A,B", value_delimiter = ',')]
    pub(crate) data: Vec<String>,
    /// Methods; the floors and the single objectives are added.
    #[arg(long, required = true, value_name = "M,N", value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// Objectives to train with [default: all five].
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "pool")]
    pub(crate) objectives: Option<Vec<String>>,
    /// Train pools with bad objectives in them: stress.
    #[arg(long, value_name = "SUITE", conflicts_with = "grid")]
    pub(crate) pool: Option<PoolSuite>,
    /// Number of seeds (0, 1, …).
    #[arg(long, default_value = "5", value_name = "N")]
    pub(crate) seeds: NonZeroUsize,
    /// Tasks among nc, lp, cluster.
    #[arg(long, default_value = "nc,cluster", value_name = "A,B", value_delimiter = ',')]
    pub(crate) tasks: Vec<Task>,
    /// Protocols of nc, each a column [default: that of the data set].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) protocol: Vec<String>,
    /// Output folder.
    #[arg(long, default_value = "comparison", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Run only the i-th of n shards; a run without --shard merges them.
    #[arg(long, value_name = "i/n")]
    pub(crate) shard: Option<Shard>,
    /// Run on a cluster: slurm, ray or ray=ADDRESS.
    #[arg(long, value_name = "ENGINE", conflicts_with = "shard")]
    pub(crate) engine: Option<Engine>,
    /// Tasks of the Slurm job array [default: one per run, at most 100].
    #[arg(long, value_name = "N", requires = "engine")]
    pub(crate) array: Option<NonZeroUsize>,
    /// Option of sbatch, e.g. --partition=long.
    #[arg(long, value_name = "OPTION", requires = "engine", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
    /// Print the Slurm scripts; submit nothing.
    #[arg(long, requires = "engine")]
    pub(crate) dry_run: bool,
    /// Base of the settings: tuned or paper [default: tuned, or as before].
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<Preset>,
    /// Override a setting of every run, e.g. train.epochs=4.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Node features [default: given].
    #[arg(long, value_name = "SOURCE", value_parser = feature_source())]
    pub(crate) features: Option<FeatureSource>,
    /// Budget shared by all methods: steps or evaluations.
    #[arg(long, default_value = "steps")]
    pub(crate) budget: Budget,
    /// Tune settings on validation first: a file of values, or `paper`.
    #[arg(long, value_name = "FILE")]
    pub(crate) grid: Option<PathBuf>,
    /// Sample at most N combinations of the grid per method.
    #[arg(long, value_name = "N")]
    pub(crate) grid_limit: Option<NonZeroUsize>,
    /// Seeds of each combination of the grid.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) grid_seeds: NonZeroUsize,
    /// Choose by each task, or once by the mean of all.
    #[arg(long, value_name = "HOW", default_value = "task")]
    pub(crate) grid_by: ChooseBy,
    /// Stop after the grid search; compute no test scores.
    #[arg(long, requires = "grid")]
    pub(crate) validation_only: bool,
    /// Show the paper's numbers next to ours.
    #[arg(long, value_name = "WHAT")]
    pub(crate) against: Option<Against>,
    /// Reference method for paired differences [default: the first].
    #[arg(long, value_name = "M")]
    pub(crate) reference: Option<String>,
    /// Linear probe: lbfgs or adam-es.
    #[arg(long, default_value = "lbfgs")]
    pub(crate) probe: Probe,
    /// Normalization before the probe: l2, none or zscore.
    // Alias kept from version 0.1.
    #[arg(long, alias = "embedding", value_name = "HOW", default_value = "l2")]
    pub(crate) normalize: EmbeddingNormalization,
    /// Parallel runs [default: one per core, fewer if memory is short].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Do not add the single objectives.
    #[arg(long, alias = "skip-singles")] // alias kept from version 0.1
    pub(crate) no_singles: bool,
    /// Also measure validation quality and cost at N points along every run.
    #[arg(long, value_name = "N", conflicts_with = "validation_only")]
    pub(crate) curve: Option<NonZeroUsize>,
    /// Keep the embeddings and models of all runs.
    #[arg(long)]
    pub(crate) keep_runs: bool,
}

#[derive(clap::Args)]
pub(crate) struct ReproduceArgs {
    /// `list`, `all`, or tables and figures, e.g. nc lp gat.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Number of seeds (0, 1, …).
    #[arg(long, default_value = "5", value_name = "N")]
    pub(crate) seeds: NonZeroU64,
    /// Budget shared by all methods: steps or evaluations.
    #[arg(long, default_value = "evaluations")]
    pub(crate) budget: Budget,
    /// Base of the settings: tuned or paper [default: tuned].
    #[arg(long, value_name = "NAME", default_value = "tuned", hide_default_value = true)]
    pub(crate) preset: Preset,
    /// Override a setting of every run, e.g. train.epochs=20.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Data sets, by name or path [default: the paper's].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) data: Vec<String>,
    /// Configurations of the gain sweep.
    #[arg(long, default_value = "200", value_name = "N")]
    pub(crate) gain_configs: NonZeroUsize,
    /// Output folder.
    #[arg(long, default_value = "reproduction", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Run only the i-th of n shards; a run without --shard merges them.
    #[arg(long, value_name = "i/n")]
    pub(crate) shard: Option<Shard>,
    /// Print the plan and what it takes; run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Parallel runs [default: one per core, fewer if memory is short].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// The tables of the paper.
    Paper,
}

#[derive(Subcommand)]
pub(crate) enum DataCommand {
    /// List the known data sets and whether their files are present.
    List,
    /// Show statistics of a graph.
    Info {
        /// Name (`cora`, `synthetic:nodes=10000`) or path.
        data: String,
        /// Node features.
        #[arg(long, value_name = "SOURCE", value_parser = feature_source(), default_value = "given")]
        features: FeatureSource,
        /// Keep the direction of edges.
        #[arg(long)]
        directed: bool,
    },
    /// Download data sets and verify their SHA-256 hashes.
    Fetch {
        /// Names of known data sets.
        #[arg(required = true)]
        names: Vec<String>,
        /// Replace existing files whose content differs.
        #[arg(long)]
        force: bool,
    },
    /// Convert a graph to another format.
    Convert {
        /// Name or path.
        data: String,
        /// Output folder; must be new or empty.
        out: PathBuf,
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        to: ConvertFormat,
        /// Node features.
        #[arg(long, value_name = "SOURCE", value_parser = feature_source(), default_value = "given")]
        features: FeatureSource,
    },
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum ConvertFormat {
    /// Text files: edges.csv, ids.txt, features, labels.csv, splits.csv.
    #[default]
    Folder,
    /// Raw arrays; features can stay on disk during training.
    #[value(alias = "mapped")] // alias kept from version 0.1
    Binary,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Listing {
    /// Scheduling and mixing methods, baselines and floors.
    Methods,
    /// Self-supervised objectives.
    Objectives,
    /// Graph neural networks.
    Encoders,
    /// Splits and how embeddings are scored on them.
    Protocols,
    /// Known data sets.
    Datasets,
    /// Bases of the settings, chosen by --preset.
    Presets,
    /// Settings of the run file.
    Config,
}

#[derive(clap::Args)]
pub(crate) struct AuditArgs {
    /// Run folder, or its trace.jsonl.
    pub(crate) run: PathBuf,
    /// Accept the record of an unfinished run.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Train again and compare what the record cannot prove.
    #[arg(long, conflicts_with = "partial")]
    pub(crate) replay: bool,
    /// Compare only N random blocks.
    #[arg(long, value_name = "N", requires = "replay")]
    pub(crate) blocks: Option<usize>,
    /// Largest relative difference in a replay.
    #[arg(long, value_name = "X", requires = "replay", default_value_t = 0.0)]
    pub(crate) tolerance: f64,
    /// Name or path of the run's graph, if it has moved.
    #[arg(long, requires = "replay")]
    pub(crate) data: Option<String>,
    /// Sign the record with an Ed25519 private key (PEM).
    #[arg(long, value_name = "KEY", conflicts_with = "partial")]
    pub(crate) sign: Option<PathBuf>,
    /// Verify the signature with an Ed25519 public key (PEM).
    #[arg(long, value_name = "KEY", conflicts_with = "sign")]
    pub(crate) verify: Option<PathBuf>,
}

/// Parser of `--features`.
fn feature_source() -> impl TypedValueParser<Value = FeatureSource> {
    let value = |source: FeatureSource, help: &'static str| PossibleValue::new(source.name()).help(help);
    PossibleValuesParser::new([
        value(FeatureSource::Given, "Read from the files; structural if the files have none"),
        value(FeatureSource::Structural, "Computed from the edges alone"),
    ])
    .try_map(|name| name.parse::<FeatureSource>())
}

/// Parses a number of bytes: 4GB, 512MB, 1.5GiB, or a plain number.
fn parse_size(text: &str) -> Result<u64, String> {
    let unit_start = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..unit_start].trim(), text[unit_start..].trim().to_ascii_lowercase());
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
