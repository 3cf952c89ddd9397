//! One run of a comparison, and the tasks that it is judged by.

use sha2::{Digest, Sha256};

use crate::config::{Config, EdgeScope};
use crate::error::Result;
use crate::eval::Task;
use crate::files::hex;

/// One run and what it is judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The data set.
    pub data: String,
    /// The method or floor.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// The edges that it sees.
    pub edges: EdgeScope,
    /// The tasks, all of which allow these edges.
    pub tasks: Vec<Task>,
    /// What is judged.
    pub subject: Subject,
    /// What a grid search chose, as `key=value`.
    pub settings: Vec<String>,
}

/// What is judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// Embeddings that need no run.
    Floor(&'static str),
    /// The embeddings of a run with these settings.
    Run(Box<Config>),
}

impl Subject {
    /// What a line of the results says of its settings.
    pub fn hash(&self) -> Result<String> {
        match self {
            Subject::Floor(name) => Ok(hex(Sha256::digest(name.as_bytes()))),
            Subject::Run(config) => config.hash(),
        }
    }
}

impl Job {
    /// A name for its folder: plain, and another one for other settings.
    pub fn folder_name(&self) -> Result<String> {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let data = self.data.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("graph");
        let data: String = data.chars().take(80).map(plain).collect();
        let edges = if self.edges == EdgeScope::Train { "-lp" } else { "" };
        Ok(format!("{data}-{}-{}{edges}-{}", self.method, self.seed, &self.subject.hash()?[..8]))
    }

    /// What is being done, in a few words.
    pub fn title(&self) -> String {
        format!("{} {} seed {}", self.data, self.method, self.seed)
    }
}
