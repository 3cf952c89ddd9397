//! What embeddings are judged by.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A downstream task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Node classification, by accuracy. All edges are seen.
    Nc,
    /// Link prediction, by the area under the ROC curve. The training edges of the seed's split are seen.
    Lp,
    /// Clustering, by mutual information with the classes. All edges are seen.
    Cluster,
}

impl Task {
    /// The names, as users type them.
    pub const NAMES: [&str; 3] = ["nc", "lp", "cluster"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// What its value is, in words.
    pub fn measure(self) -> &'static str {
        ["accuracy", "ROC-AUC", "NMI"][self as usize]
    }
}

impl FromStr for Task {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "nc" => Ok(Task::Nc),
            "lp" => Ok(Task::Lp),
            "cluster" => Ok(Task::Cluster),
            _ => Err(Error::unknown("task", name, Self::NAMES)),
        }
    }
}
