//! Stored settings: complete tables of this or an older version, such as the `config.toml` of a run.
//!
//! A setting that was [added later](Key::added_later) is missing in tables that were stored before it existed. Such a
//! table means the value that its run had implicitly, whatever the presets and defaults are today. A user's run file, on
//! the other hand, leaves settings to the presets and defaults. The two are told apart here, by their content: stored
//! tables are complete.

use toml::{Table, Value};

use super::keys::{self, TopSettings};
use super::resolve::single_objectives;
use super::{EmbedSettings, TrainSettings, legacy};
use crate::coordinator::{ControlSettings, METHODS, Method, PlanSettings, SenseSettings};
use crate::encoder::ENCODERS;
use crate::objective;
use crate::setting::Key;

/// Gives a complete table the implied values of all settings that were added later and that it lacks. Leaves other tables
/// as they are. Returns whether the table is complete.
pub(super) fn imply_if_complete(table: &mut Table) -> bool {
    let mut renamed = table.clone();
    legacy::to_new_names(&mut renamed);
    let complete = is_complete(&renamed);
    if complete {
        imply(&mut renamed);
        *table = renamed;
    }
    complete
}

/// Whether a table has every setting of its run that is not added later: the top-level ones, and those of the tables
/// `encoder`, `train`, `sense`, `plan`, `control` and of the objectives and the mixing method that take part.
fn is_complete(table: &Table) -> bool {
    let has_all = |inner: &Table, keys: &[Key]| {
        keys.iter().all(|key| key.added_later.is_some() || inner.contains_key(key.name))
    };
    has_all(table, keys::TOP)
        && tables_of(table).iter().all(|(path, keys)| {
            let none = Table::new();
            has_all(find(table, path).unwrap_or(&none), keys)
        })
}

/// Gives a table the implied values of all settings that were added later and that it lacks.
pub(super) fn imply(table: &mut Table) {
    let add = |inner: &mut Table, keys: &[Key]| {
        for key in keys.iter().filter(|key| !inner.contains_key(key.name)).collect::<Vec<_>>() {
            if let Some(implied) = key.added_later {
                inner.insert(key.name.to_owned(), implied.to_value());
            }
        }
    };
    add(table, keys::TOP);
    for (path, keys) in tables_of(table) {
        if keys.iter().any(|key| key.added_later.is_some())
            && let Some(inner) = find_or_insert(table, &path)
        {
            add(inner, keys);
        }
    }
}

/// The tables that a run with these settings has, with their keys. Encoders and objectives of the user's own have none.
fn tables_of(table: &Table) -> Vec<(Vec<String>, &'static [Key])> {
    let defaults = TopSettings::default();
    let method = table.get("method").and_then(Value::as_str).unwrap_or(&defaults.method);
    let kind = table.get("encoder").and_then(|encoder| encoder.get("kind")).and_then(Value::as_str);
    let objectives: Vec<String> = match table.get("objectives") {
        _ if single_objectives().contains(&method) => vec![method.to_owned()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => defaults.objectives.clone(),
    };
    let fixed: [(&str, &'static [Key]); 5] = [
        ("train", TrainSettings::KEYS),
        ("embed", EmbedSettings::KEYS),
        ("sense", SenseSettings::KEYS),
        ("plan", PlanSettings::KEYS),
        ("control", ControlSettings::KEYS),
    ];
    let mut tables: Vec<(Vec<String>, &'static [Key])> =
        fixed.into_iter().map(|(name, keys)| (vec![name.to_owned()], keys)).collect();
    let kind = kind.unwrap_or(super::resolve::DEFAULT_ENCODER);
    tables.extend(
        ENCODERS
            .iter()
            .filter(|entry| entry.name == kind)
            .map(|entry| (vec!["encoder".to_owned()], entry.keys)),
    );
    for entry in objective::all().filter(|entry| objectives.iter().any(|name| name == entry.name)) {
        tables.push((vec!["objective".to_owned(), entry.name.to_owned()], entry.keys));
    }
    for entry in METHODS.iter().filter_map(Method::mixer).filter(|entry| entry.name == method) {
        tables.push((vec!["mix".to_owned(), entry.name.to_owned()], entry.keys));
    }
    tables
}

fn find<'t>(table: &'t Table, path: &[String]) -> Option<&'t Table> {
    path.iter().try_fold(table, |table, name| table.get(name)?.as_table())
}

/// The table at a path, made if missing; `None` if a value stands there.
fn find_or_insert<'t>(table: &'t mut Table, path: &[String]) -> Option<&'t mut Table> {
    path.iter().try_fold(table, |table, name| {
        table.entry(name.clone()).or_insert_with(|| Table::new().into()).as_table_mut()
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Config, RecordedConfig, read, set};
    use super::*;

    /// The stored settings of a run, without those that were added later.
    fn stored(text: &str) -> Table {
        let config = Config::from_table(text.parse().unwrap()).unwrap();
        let mut table: Table = config.to_toml().unwrap().parse().unwrap();
        for (path, keys) in tables_of(&table) {
            let Some(inner) = find_or_insert(&mut table, &path) else { continue };
            inner.retain(|name, _| !keys.iter().any(|key| key.name == name && key.added_later.is_some()));
        }
        table
    }

    #[test]
    fn stored_settings_take_implied_values_and_no_presets() {
        // The preset of graphmae sets two settings that were added later.
        let mut table = stored("data = 'cora'\nmethod = 'graphmae'");
        assert!(!table["encoder"].as_table().unwrap().contains_key("feature_dropout"));
        let config = Config::from_table(table.clone()).unwrap();
        assert_eq!(config.encoder.settings()["feature_dropout"].as_float(), Some(0.0));
        assert!(!config.train.coupled_decay);
        // One missing setting makes it a run file of the user's, which takes the preset.
        table["train"].as_table_mut().unwrap().remove("lr");
        let config = Config::from_table(table).unwrap();
        assert_eq!(config.encoder.settings()["feature_dropout"].as_float(), Some(0.2));
        assert!(config.train.coupled_decay);
    }

    #[test]
    fn stored_settings_take_implied_values_and_no_new_defaults() {
        let mask = |table: Table| {
            Config::from_table(table).unwrap().objective["p_link"].settings()["mask"].as_float()
        };
        let table = stored("data = 'my/graph'");
        assert!(!table["objective"]["p_link"].as_table().unwrap().contains_key("mask"));
        assert!(!table.contains_key("embed") || table["embed"].as_table().unwrap().is_empty());
        assert_eq!(mask(table), Some(0.0));
        assert_eq!(mask("data = 'my/graph'".parse().unwrap()), Some(0.7), "the default");
        assert_eq!(mask("data = 'my/graph'\npreset = 'paper'".parse().unwrap()), Some(0.0));
        // So does a record of version 0.1, whose objectives had no such setting, and so do overrides of a stored run.
        let text = include_str!("../../tests/fixtures/v0.1/run/config.toml");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        let mut stored_run = read(&path).unwrap();
        set(&mut stored_run, "method=mgda").unwrap();
        assert!(!is_complete(&stored_run), "mgda has settings of its own");
        assert_eq!(mask(stored_run), Some(0.0));
        let recorded: RecordedConfig =
            serde_json::from_value(serde_json::to_value(text.parse::<Table>().unwrap()).unwrap()).unwrap();
        assert_eq!(recorded.objective["p_link"]["mask"].as_float(), Some(0.0));
        assert_eq!(recorded.embed.smooth, 0);
    }

    #[test]
    fn every_part_of_a_run_must_be_complete() {
        let complete = stored("data = 'cora'\nmethod = 'cagrad'\nobjectives = ['p_link', 'p_par']");
        assert!(is_complete(&complete));
        for path in [
            &["seed"][..],
            &["sense"],
            &["plan", "gamma"],
            &["control", "kp"],
            &["encoder", "width"],
            &["objective", "p_par"],
            &["objective", "p_par", "parts"],
            &["mix", "cagrad", "c"],
        ] {
            let (last, tables) = path.split_last().unwrap();
            let mut table = complete.clone();
            let inner = tables.iter().fold(&mut table, |table, name| table[*name].as_table_mut().unwrap());
            assert!(inner.remove(*last).is_some(), "{path:?}");
            assert!(!is_complete(&table), "{path:?}");
            assert!(!imply_if_complete(&mut table), "{path:?}");
        }
        // Objectives that do not take part have no table.
        assert!(!complete["objective"].as_table().unwrap().contains_key("p_recon"));
    }

    #[test]
    fn old_names_are_recognized() {
        let text = include_str!("../../tests/fixtures/v0.1/run/config.toml");
        let mut table: Table = text.parse().unwrap();
        // The name is kept from version 0.1: the fixture has it.
        assert!(table.contains_key("normalise"));
        table["train"].as_table_mut().unwrap().remove("fanout");
        assert!(imply_if_complete(&mut table));
        assert_eq!(table["normalize"].as_str(), Some("rows"));
        assert_eq!(table["train"]["fanout"].as_integer(), Some(8));
    }
}
