//! Names of version 0.1. Run files, records and overrides with old names are accepted, and hashes are computed over the old
//! names, so that stored runs keep their hashes.

use toml::{Table, Value};

/// Renamed settings: table (`mix.*` for every mixing method), new name, old name.
const KEYS: &[(&str, &str, &str)] = &[
    ("", "normalize", "normalise"),
    ("mix.*", "normalize", "normalise"),
    ("mix.*", "init_normalized", "init_normalised"),
];

/// Renamed values: table, setting, new value, old value.
const VALUES: &[(&str, &str, &str, &str)] =
    &[("train", "batch", "cluster", "parts"), ("train", "batch", "neighbor", "neighbours")];

/// Replaces old names by new ones, recursively.
pub(super) fn to_new_names(table: &mut Table) {
    rename("", table, |(_, new, old)| (old, new), |(_, _, new, old)| (old, new));
    keep_absolute_variance(table);
}

/// `mix.autossl.variance` was absolute before there was a relative one. A table that gives only the former still means it.
fn keep_absolute_variance(table: &mut Table) {
    if let Some(Value::Table(mix)) = table.get_mut("mix")
        && let Some(Value::Table(autossl)) = mix.get_mut("autossl")
        && autossl.contains_key("variance")
    {
        autossl.entry("relative_variance").or_insert(Value::Float(0.0));
    }
}

/// Replaces new names by old ones, recursively.
pub(super) fn to_old_names(table: &mut Table) {
    rename("", table, |(_, new, old)| (new, old), |(_, _, new, old)| (new, old));
}

type KeyRow = (&'static str, &'static str, &'static str);
type ValueRow = (&'static str, &'static str, &'static str, &'static str);
type FromTo = (&'static str, &'static str);

fn rename(place: &str, table: &mut Table, key: fn(KeyRow) -> FromTo, value: fn(ValueRow) -> FromTo) {
    for &row in VALUES.iter().filter(|row| row.0 == place) {
        let (from, to) = value(row);
        if let Some(word) = table.get_mut(row.1).filter(|word| word.as_str() == Some(from)) {
            *word = to.into();
        }
    }
    for &row in KEYS.iter().filter(|row| row.0 == place) {
        let (from, to) = key(row);
        if let Some(moved) = table.remove(from) {
            table.insert(to.to_owned(), moved);
        }
    }
    for (name, inner) in table.iter_mut() {
        let Value::Table(inner) = inner else { continue };
        let place = match place {
            "" => name.clone(),
            "mix" => "mix.*".to_owned(),
            outer => format!("{outer}.{name}"),
        };
        rename(&place, inner, key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variance_alone_is_absolute() {
        let relative = |text: &str| {
            let mut table: Table = text.parse().unwrap();
            to_new_names(&mut table);
            table["mix"]["autossl"].get("relative_variance").and_then(Value::as_float)
        };
        assert_eq!(relative("mix.autossl.variance = 1"), Some(0.0));
        assert_eq!(relative("mix.autossl.variance = 1\nmix.autossl.relative_variance = 0.5"), Some(0.5));
        assert_eq!(relative("mix.autossl.clusters = 7"), None);
    }

    #[test]
    fn old_names_become_new_ones_and_back() {
        let old: Table =
            "normalise = 'rows'\ntrain.batch = 'neighbours'\nmix.mgda.normalise = 'l2'".parse().unwrap();
        let new: Table =
            "normalize = 'rows'\ntrain.batch = 'neighbor'\nmix.mgda.normalize = 'l2'".parse().unwrap();
        let mut table = old.clone();
        to_new_names(&mut table);
        assert_eq!(table, new);
        to_old_names(&mut table);
        assert_eq!(table, old);
    }
}
