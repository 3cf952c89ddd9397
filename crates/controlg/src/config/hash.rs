//! The hash of a config: SHA-256 of a canonical TOML document.
//!
//! The document is the run file as version 0.1 wrote it: the same order and the old names ([`legacy`]), without
//! settings that [were added later](Key::added_later) and have the value that older runs had implicitly, and without those that
//! change [only the record](Key::record_only). Stored runs keep their hashes, and comparisons find the results of older versions.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::{Config, EmbedSettings, TrainSettings, legacy};
use crate::coordinator::{ControlSettings, METHODS, Method, PlanSettings, SenseSettings};
use crate::encoder::ENCODERS;
use crate::error::{Error, Result};
use crate::files::hex;
use crate::objective;
use crate::setting::{self, Key};

/// The hash in hexadecimal.
pub(super) fn of(config: &Config) -> Result<String> {
    let text = toml::to_string(&document(config)?).map_err(|error| Error::Failed(error.to_string()))?;
    Ok(hex(Sha256::digest(text)))
}

/// A table that preserves the order of its entries.
#[derive(Debug, Default)]
struct Ordered(Vec<(String, OrderedValue)>);

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum OrderedValue {
    Value(Value),
    Table(Ordered),
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, entry)| map.serialize_entry(name, entry))?;
        map.end()
    }
}

/// The canonical document: settings in the order of version 0.1, tables last.
fn document(config: &Config) -> Result<Ordered> {
    let mut table = setting::table_of(config)?;
    legacy::to_old_names(&mut table);
    let mut document = Ordered::default();
    // The names are kept from version 0.1: hashes are taken over them.
    for name in ["data", "method", "objectives", "seed", "features", "normalise", "edges"] {
        document.take(&mut table, name);
    }
    if config.directed {
        document.take(&mut table, "directed");
    }
    let encoder = inner(&mut table, "encoder");
    let kind = encoder.get("kind").and_then(Value::as_str);
    let entry = ENCODERS.iter().find(|entry| Some(entry.name) == kind);
    let encoder_keys = entry.map_or(&[][..], |entry| entry.keys);
    document.push(
        "encoder",
        Ordered(
            encoder
                .into_iter()
                .filter(|(name, value)| !is_implied(encoder_keys, name, value))
                .map(|(name, value)| (name, OrderedValue::Value(value)))
                .collect(),
        ),
    );
    document.push("train", in_order(TrainSettings::KEYS, inner(&mut table, "train")));
    let keys_of = |name: &str| objective::all().find(|entry| entry.name == name).map(|entry| entry.keys);
    document.push_counted(&mut table, "objective", keys_of);
    document.push("sense", in_order(SenseSettings::KEYS, inner(&mut table, "sense")));
    document.push("plan", in_order(PlanSettings::KEYS, inner(&mut table, "plan")));
    document.push("control", in_order(ControlSettings::KEYS, inner(&mut table, "control")));
    let mixers = || METHODS.iter().filter_map(Method::mixer);
    let keys_of = |name: &str| mixers().find(|entry| entry.name == name).map(|entry| entry.keys);
    document.push_counted(&mut table, "mix", keys_of);
    let embed = in_order(EmbedSettings::KEYS, inner(&mut table, "embed"));
    if !embed.0.is_empty() {
        document.push("embed", embed);
    }
    Ok(document)
}

impl Ordered {
    /// Moves an entry from the table, if present.
    fn take(&mut self, table: &mut Table, name: &str) {
        if let Some(value) = table.remove(name) {
            self.0.push((name.to_owned(), OrderedValue::Value(value)));
        }
    }

    /// Moves a table of tables, if present, without the settings of each that have their implied value.
    fn push_counted(
        &mut self,
        table: &mut Table,
        name: &str,
        keys_of: impl Fn(&str) -> Option<&'static [Key]>,
    ) {
        for (inner, settings) in table.get_mut(name).and_then(Value::as_table_mut).into_iter().flatten() {
            if let (Value::Table(settings), Some(keys)) = (settings, keys_of(inner)) {
                settings.retain(|name, value| !is_implied(keys, name, value));
            }
        }
        self.take(table, name);
    }

    fn push(&mut self, name: &str, table: Ordered) {
        self.0.push((name.to_owned(), OrderedValue::Table(table)));
    }
}

fn inner(table: &mut Table, name: &str) -> Table {
    match table.remove(name) {
        Some(Value::Table(inner)) => inner,
        _ => Table::new(),
    }
}

/// The settings of a table in the order of its keys.
fn in_order(keys: &[Key], mut table: Table) -> Ordered {
    let present = keys.iter().filter_map(|key| Some((key.name, table.remove(key.name)?)));
    let counted = present.filter(|(name, value)| !is_implied(keys, name, value));
    Ordered(counted.map(|(name, value)| (name.to_owned(), OrderedValue::Value(value))).collect())
}

/// Whether a setting was added after version 0.1 and has the value that runs had before, or changes only the record.
fn is_implied(keys: &[Key], name: &str, value: &Value) -> bool {
    keys.iter().any(|key| key.name == name && (key.record_only || key.is_implied(value)))
}
