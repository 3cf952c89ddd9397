//! Pools of objectives: suites that show what a method does with objectives that are bad for the graph.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Comparison, ResultCell};
use crate::error::{Error, Result};

/// A named set of objectives that runs of a comparison train.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectivePool {
    /// The name in tables.
    pub name: String,
    /// The objectives.
    pub objectives: Vec<String>,
}

/// A suite of pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolSuite {
    /// The paper's objectives alone, with one and with three bad ones, and two of them with three bad ones.
    Stress,
}

impl FromStr for PoolSuite {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "stress" => Ok(PoolSuite::Stress),
            _ => Err(Error::unknown("suite of pools", name, ["stress"])),
        }
    }
}

impl PoolSuite {
    /// The pools in the order of the tables.
    pub fn pools(self) -> Vec<ObjectivePool> {
        let PoolSuite::Stress = self;
        let five = ["p_link", "p_recon", "p_minsg", "p_decor", "p_par"];
        let bad = ["x_noise", "x_shuffle", "x_memorize"];
        let pool = |name: &str, parts: [&[&str]; 2]| ObjectivePool {
            name: name.to_owned(),
            objectives: parts.concat().into_iter().map(str::to_owned).collect(),
        };
        vec![
            pool("five", [&five, &[]]),
            pool("five+1bad", [&five, &bad[..1]]),
            pool("five+3bad", [&five, &bad]),
            pool("two+3bad", [&["p_recon", "p_minsg"], &bad]),
        ]
    }
}

/// The columns of a comparison over pools: one per data set and pool.
pub(super) fn columns(comparison: &Comparison) -> Vec<String> {
    let of_data = |data: &String| comparison.pools.iter().map(|pool| column(data, pool)).collect::<Vec<_>>();
    comparison.data.iter().flat_map(of_data).collect()
}

/// Results with the names of columns as their data sets. What trains no pool counts for all.
pub(super) fn by_column(pools: &[ObjectivePool], cells: &[ResultCell]) -> Vec<ResultCell> {
    let of_pools = |cell: &ResultCell| {
        let own = pools.iter().filter(|pool| cell.pool.is_empty() || cell.pool == pool.name);
        own.map(|pool| ResultCell { data: column(&cell.data, pool), ..cell.clone() }).collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_pools).collect()
}

fn column(data: &str, pool: &ObjectivePool) -> String {
    format!("{data}, {}", pool.name)
}
