//! The names of the files in a run folder. They are part of the file format and do not change.

/// All settings, resolved: enough to repeat the run.
pub const CONFIG: &str = "config.toml";
/// The record: one JSON object per line; see [`crate::trace`].
pub const TRACE: &str = "trace.jsonl";
/// Embeddings as an n × width NumPy array, rows in the order of [`IDS`].
pub const EMBEDDINGS_NPY: &str = "embeddings.npy";
/// Embeddings as a Parquet table with the columns `nid` and `emb`.
pub const EMBEDDINGS_PARQUET: &str = "embeddings.parquet";
/// Node ids, one per line.
pub const IDS: &str = "ids.txt";
/// Encoder and head parameters.
pub const MODEL: &str = "model.safetensors";
/// What a run leaves besides its settings and its record, which names their digests.
pub const RESULTS: [&str; 4] = [EMBEDDINGS_NPY, EMBEDDINGS_PARQUET, IDS, MODEL];
/// The Ed25519 signature of the record, 64 bytes.
pub const SIGNATURE: &str = "trace.jsonl.sig";
/// The folder of checkpoints.
pub const CHECKPOINTS: &str = "checkpoint";
/// The folder of embeddings at points along the run.
pub const SNAPSHOTS: &str = "snapshots";
/// Scores, one object per downstream task.
pub const METRICS: &str = "metrics.json";
/// The report, a self-contained page.
pub const REPORT: &str = "report.html";
/// The folder of TensorBoard event files.
pub const TENSORBOARD: &str = "tensorboard";
/// The folder of embeddings of other graphs.
pub const EMBED: &str = "embed";
/// The search of `pretrain --auto` that chose the settings; see [`crate::auto`].
pub const AUTO: &str = "auto.json";
/// The folder of the short runs of this search.
pub const AUTO_RUNS: &str = "auto";

/// Everything that a run folder may hold.
pub const ALL: &[&str] = &[
    CONFIG,
    TRACE,
    EMBEDDINGS_NPY,
    EMBEDDINGS_PARQUET,
    IDS,
    MODEL,
    SIGNATURE,
    CHECKPOINTS,
    SNAPSHOTS,
    METRICS,
    REPORT,
    TENSORBOARD,
    EMBED,
    AUTO,
    AUTO_RUNS,
];
