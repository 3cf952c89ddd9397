//! Run files as TOML tables: reading, overriding single settings, merging and comparing.

use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

use super::{Config, legacy, stored};
use crate::data::limits;
use crate::error::{Error, Result};
use crate::setting;

/// Reads a run file without filling in defaults. If it is complete, as the `config.toml` of a run is, settings that were
/// added later take the values that the run had implicitly: then they stay with it when others are overridden.
pub fn read(path: &Path) -> Result<Table> {
    let mut table = read_toml(path)?;
    stored::imply_if_complete(&mut table);
    Ok(table)
}

/// Reads any TOML file.
pub(crate) fn read_toml(path: &Path) -> Result<Table> {
    let text = limits::read_text(path)?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let place = line.map(|line| format!("line {line}")).unwrap_or_default();
        Error::input(path, place, error.message(), "TOML")
    })
}

/// Applies one `key=value` override, as given to `--set`. Dots in the key select nested tables. A value that is not valid
/// TOML is taken as a string; for `objectives`, `a,b` is a list.
pub fn set(table: &mut Table, assignment: &str) -> Result<()> {
    let Some((key, text)) = assignment.split_once('=') else {
        return Err(Error::value("--set", format_args!("'{assignment}'"), "key=value"));
    };
    let (key, text) = (key.trim(), text.trim());
    if key.is_empty() || key.ends_with('.') {
        return Err(Error::value("--set", format_args!("'{assignment}'"), "key=value"));
    }
    let value = match format!("x = {text}").parse::<Table>() {
        Ok(mut parsed) => parsed.remove("x").unwrap_or_else(|| text.into()),
        Err(_) if key == "objectives" => {
            text.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>().into()
        }
        Err(_) => text.into(),
    };
    insert(table, key, value).map_err(|found| Error::value(format_args!("--set {key}"), found, "a table"))?;
    legacy::to_new_names(table);
    Ok(())
}

/// Inserts a value under a dotted key. The error shows the value that stands where a table is needed.
pub(super) fn insert(table: &mut Table, key: &str, value: Value) -> std::result::Result<(), String> {
    let (mut inner, mut rest) = (table, key);
    while let Some((part, after)) = rest.split_once('.') {
        let entry = inner.entry(part).or_insert_with(|| Table::new().into());
        let found = format!("{part} = {entry}");
        inner = entry.as_table_mut().ok_or(found)?;
        rest = after;
    }
    inner.insert(rest.to_owned(), value);
    Ok(())
}

/// Merges `overrides` into `table`, recursively; overrides win.
pub fn merge(table: &mut Table, overrides: Table) {
    for (key, value) in overrides {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(table)), Value::Table(overrides)) => merge(table, overrides),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// The first setting in which two configs differ, with both values.
pub fn first_difference(a: &Config, b: &Config) -> Result<Option<(String, String, String)>> {
    fn compare(prefix: &str, a: &Table, b: &Table) -> Option<(String, String, String)> {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        keys.into_iter().find_map(|key| {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            let shown = |table: &Table| table.get(key).map_or("nothing".to_owned(), ToString::to_string);
            match (a.get(key), b.get(key)) {
                (Some(Value::Table(a)), Some(Value::Table(b))) => compare(&name, a, b),
                (x, y) if x == y => None,
                _ => Some((name, shown(a), shown(b))),
            }
        })
    }
    Ok(compare("", &setting::table_of(a)?, &setting::table_of(b)?))
}
