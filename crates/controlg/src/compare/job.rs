//! One job of a comparison: a run or a floor, and the tasks to evaluate.

use sha2::{Digest, Sha256};

use crate::config::{Config, EdgeScope};
use crate::error::Result;
use crate::eval::Task;
use crate::files::hex;

/// A run or a floor, and the tasks to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Data set.
    pub data: String,
    /// Method or floor.
    pub method: String,
    /// Name of the pool of objectives; empty if the comparison has none, or the job trains no pool.
    pub pool: String,
    /// Seed.
    pub seed: u64,
    /// Training edges.
    pub edges: EdgeScope,
    /// Tasks, all of which allow these edges.
    pub tasks: Vec<Task>,
    /// Source of the embeddings.
    pub source: EmbeddingSource,
    /// Settings chosen by a grid search, as `key=value`.
    pub settings: Vec<String>,
}

/// Source of the embeddings to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub enum EmbeddingSource {
    /// A floor, which needs no training.
    Floor(&'static str),
    /// A run with these settings.
    Run(Box<Config>),
}

impl EmbeddingSource {
    /// The `config_hash` of its results.
    pub fn hash(&self) -> Result<String> {
        match self {
            EmbeddingSource::Floor(name) => Ok(hex(Sha256::digest(name.as_bytes()))),
            EmbeddingSource::Run(config) => config.hash(),
        }
    }
}

impl Job {
    /// Folder name of the run; it contains a hash of the settings.
    pub fn folder_name(&self) -> Result<String> {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let data = self.data.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("graph");
        let data: String = data.chars().take(80).map(plain).collect();
        let edges = if self.edges == EdgeScope::Train { "-lp" } else { "" };
        Ok(format!("{data}-{}-{}{edges}-{}", self.method, self.seed, &self.source.hash()?[..8]))
    }

    /// Whether it trains; floors do not.
    pub fn is_run(&self) -> bool {
        matches!(self.source, EmbeddingSource::Run(_))
    }

    /// Short description for log messages.
    pub fn title(&self) -> String {
        let pool = if self.pool.is_empty() { String::new() } else { format!(", {}", self.pool) };
        format!("{}{pool} {} seed {}", self.data, self.method, self.seed)
    }
}
