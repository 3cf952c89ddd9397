//! `reproduction.json`: the definition of a reproduction.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ReproduceSettings;
use crate::error::{Error, Result};
use crate::files;

/// Definition of a reproduction as stored in its folder; enough to rebuild the tables from `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproductionManifest {
    /// What all targets share.
    pub settings: ReproduceSettings,
    /// Hash of each data set; results with another hash do not belong to this reproduction.
    pub data_hashes: BTreeMap<String, String>,
}

impl ReproductionManifest {
    /// File name.
    pub const FILE: &str = "reproduction.json";

    /// Reads the manifest of a reproduction.
    pub fn read(folder: &Path) -> Result<ReproductionManifest> {
        files::read_json(&folder.join(Self::FILE), "a file written by controlg reproduce")
    }

    /// Writes the manifest.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(Self::FILE), self)
    }

    /// Refuses settings that would put other numbers into the tables of this reproduction. More seeds, data sets and gains
    /// only add to them.
    pub fn check(&self, settings: &ReproduceSettings, folder: &Path) -> Result<()> {
        let of = |one: &ReproduceSettings| (one.preset, one.budget, one.set.clone());
        let words = |one: &ReproduceSettings| {
            let set: String = one.set.iter().map(|setting| format!(" --set {setting}")).collect();
            format!("--preset {} --budget {}{set}", one.preset, one.budget.name())
        };
        if of(&self.settings) == of(settings) {
            return Ok(());
        }
        let expected = format!("{}, as this reproduction was begun, or another --out", words(&self.settings));
        Err(Error::input(&folder.join(Self::FILE), "", words(settings), expected))
    }
}
