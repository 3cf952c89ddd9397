//! One job of a comparison: a run or a floor, and the tasks to evaluate.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::config::{Config, EdgeScope};
use crate::error::{Error, Result};
use crate::eval::{Task, floors};
use crate::files::hex;

/// A run or a floor, and the tasks to evaluate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

    /// The name of a floor, or the run file of a run.
    fn to_text(&self) -> Result<String> {
        match self {
            EmbeddingSource::Floor(name) => Ok((*name).to_owned()),
            EmbeddingSource::Run(config) => config.to_toml(),
        }
    }

    fn from_text(text: &str) -> Result<Self> {
        if let Some(floor) = floors::COMPUTED.into_iter().find(|name| *name == text) {
            return Ok(EmbeddingSource::Floor(floor));
        }
        let table = text.parse().map_err(|_| Error::value("source", text, "a floor or a run file"))?;
        Ok(EmbeddingSource::Run(Box::new(Config::from_table(table)?)))
    }
}

impl Serialize for EmbeddingSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.to_text().map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EmbeddingSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        EmbeddingSource::from_text(&String::deserialize(deserializer)?).map_err(D::Error::custom)
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
