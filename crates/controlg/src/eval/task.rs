//! Downstream tasks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A downstream task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Node classification, scored by accuracy. Training uses all edges.
    Nc,
    /// Link prediction, scored by ROC-AUC. Training uses the training edges of the seed's split.
    Lp,
    /// Clustering, scored by NMI with the classes. Training uses all edges.
    Cluster,
}

impl Task {
    /// Names on the command line.
    pub const NAMES: [&str; 3] = ["nc", "lp", "cluster"];

    /// Name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Name in words.
    pub fn title(self) -> &'static str {
        ["Node classification", "Link prediction", "Clustering"][self as usize]
    }

    /// Name of the metric.
    pub fn metric(self) -> &'static str {
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
