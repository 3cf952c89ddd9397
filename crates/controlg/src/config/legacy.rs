//! Names of version 0.1. Run files, records and flags with the old spelling are read, and hashes of settings are taken
//! over it, so that stored runs keep theirs.

use toml::{Table, Value};

/// Settings that were renamed: the table (`mix.*` for every mixing method), today's name, the old one.
const KEYS: &[(&str, &str, &str)] = &[
    ("", "normalize", "normalise"),
    ("mix.*", "normalize", "normalise"),
    ("mix.*", "init_normalized", "init_normalised"),
];

/// Values that were renamed: the table, the setting, today's word, the old one.
const VALUES: &[(&str, &str, &str, &str)] =
    &[("train", "batch", "cluster", "parts"), ("train", "batch", "neighbor", "neighbours")];

/// Replaces old names in a table of the run file and in the tables within it.
pub(super) fn modernize(table: &mut Table) {
    rename("", table, |(_, new, old)| (old, new), |(_, _, new, old)| (old, new));
}

/// The same settings under their old names.
pub(super) fn antedate(table: &mut Table) {
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
    fn old_names_become_new_ones_and_back() {
        let old: Table =
            "normalise = 'rows'\ntrain.batch = 'neighbours'\nmix.mgda.normalise = 'l2'".parse().unwrap();
        let new: Table =
            "normalize = 'rows'\ntrain.batch = 'neighbor'\nmix.mgda.normalize = 'l2'".parse().unwrap();
        let mut table = old.clone();
        modernize(&mut table);
        assert_eq!(table, new);
        antedate(&mut table);
        assert_eq!(table, old);
    }
}
