//! Settings of the run file: names, ranges, descriptions, and how tables are read.
//!
//! The list of [`Key`]s of each table drives validation, error messages and `controlg list config`.

use std::fmt::{self, Display};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name within its table.
    pub name: &'static str,
    /// The allowed values.
    pub range: Range,
    /// A one-line description.
    pub doc: &'static str,
    /// For a setting that was added after runs had been stored: the value that those runs had implicitly. It may differ
    /// from the default. A setting with this value is left out of the hash of a config, so the hashes of stored runs do
    /// not change; and stored settings that lack it take this value.
    pub added_later: Option<Scalar>,
    /// Whether the setting changes nothing but what is recorded. It is left out of the hash of a config, whatever its value.
    pub record_only: bool,
}

/// A value of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A whole number.
    Whole(i64),
    /// A floating-point number.
    Number(f64),
    /// A string.
    Text(&'static str),
    /// True or false.
    Flag(bool),
}

impl Scalar {
    /// The value as TOML.
    pub fn to_value(self) -> toml::Value {
        match self {
            Scalar::Whole(whole) => whole.into(),
            Scalar::Number(number) => number.into(),
            Scalar::Text(text) => text.into(),
            Scalar::Flag(flag) => flag.into(),
        }
    }

    /// Whether a TOML value is this one, bit for bit.
    pub fn equals(self, value: &toml::Value) -> bool {
        match self {
            Scalar::Whole(whole) => value.as_integer() == Some(whole),
            Scalar::Number(number) => value.as_float().is_some_and(|x| x.to_bits() == number.to_bits()),
            Scalar::Text(text) => value.as_str() == Some(text),
            Scalar::Flag(flag) => value.as_bool() == Some(flag),
        }
    }
}

/// The allowed values of a setting. Bounds are inclusive unless noted.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// A whole number.
    Whole(u64, u64),
    /// A number.
    Number(f64, f64),
    /// A number with an exclusive upper bound.
    Below(f64, f64),
    /// A number, or a list with one number per objective.
    Gain(f64, f64),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// Any string.
    Text,
    /// A list of names.
    Names,
    /// True or false.
    Flag,
}

impl Key {
    /// Defines a setting.
    pub const fn new(name: &'static str, range: Range, doc: &'static str) -> Key {
        Key { name, range, doc, added_later: None, record_only: false }
    }

    /// Marks a setting that was added after runs had been stored, which all ran with the `implied` value.
    pub const fn added_later(self, implied: Scalar) -> Key {
        Key { added_later: Some(implied), ..self }
    }

    /// Marks a setting that changes nothing but what is recorded.
    pub const fn record_only(self) -> Key {
        Key { record_only: true, ..self }
    }

    /// Whether a value is the one that runs had before the setting existed.
    pub fn is_implied(&self, value: &toml::Value) -> bool {
        self.added_later.is_some_and(|implied| implied.equals(value))
    }
}

impl Range {
    /// Whether a value is allowed.
    pub fn contains(&self, value: &toml::Value) -> bool {
        let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
        match *self {
            Range::Whole(least, most) => value
                .as_integer()
                .and_then(|whole| u64::try_from(whole).ok())
                .is_some_and(|whole| (least..=most).contains(&whole)),
            Range::Number(least, most) => number(value).is_some_and(|x| (least..=most).contains(&x)),
            Range::Below(least, most) => number(value).is_some_and(|x| (least..most).contains(&x)),
            Range::Gain(least, most) => match value {
                toml::Value::Array(each) => each.iter().all(|gain| Range::Number(least, most).contains(gain)),
                one => Range::Number(least, most).contains(one),
            },
            Range::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Range::Text => value.is_str(),
            Range::Names => value.as_array().is_some_and(|names| names.iter().all(toml::Value::is_str)),
            Range::Flag => value.is_bool(),
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Whole(least, most) if *most >= i64::MAX as u64 => write!(f, "a whole number from {least}"),
            Range::Whole(least, most) => write!(f, "{least} to {most}"),
            Range::Number(least, most) => write!(f, "a number from {least} to {most}"),
            Range::Below(least, most) => write!(f, "at least {least} and below {most}"),
            Range::Gain(least, most) => {
                write!(f, "a number from {least} to {most}, or a list with one per objective")
            }
            Range::OneOf(words) => f.write_str(&words.join(", ")),
            Range::Text => f.write_str("text"),
            Range::Names => f.write_str("a list of names"),
            Range::Flag => f.write_str("true or false"),
        }
    }
}

/// Reads settings from a table of the run file. Missing settings take their defaults; an unknown name or a value out of
/// range is an error. `place` is the name of the table.
pub fn settings<T>(place: &str, keys: &[Key], table: toml::Table) -> Result<T>
where
    T: Default + Serialize + DeserializeOwned,
{
    let mut merged = table_of(&T::default())?;
    merged.extend(checked(place, keys, table)?);
    T::deserialize(merged).map_err(|error| Error::value(place, "invalid settings", error.message()))
}

/// Checks the names and values of a table.
pub fn checked(place: &str, keys: &[Key], table: toml::Table) -> Result<toml::Table> {
    let check = |(name, value): (String, toml::Value)| {
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            return Err(unknown(place, &name, keys));
        };
        let value = coerced(key.range, value);
        check_one(place, key, &value)?;
        Ok((name, value))
    };
    table.into_iter().map(check).collect()
}

/// Checks the values of settings.
pub fn check(place: &str, keys: &[Key], settings: &impl Serialize) -> Result<()> {
    let table = table_of(settings)?;
    keys.iter()
        .filter_map(|key| Some((key, table.get(key.name)?)))
        .try_for_each(|(key, value)| check_one(place, key, value))
}

/// Converts settings to a table.
pub fn table_of(settings: &impl Serialize) -> Result<toml::Table> {
    toml::Table::try_from(settings).map_err(|error| Error::Failed(error.to_string()))
}

/// The error for an unknown setting.
pub fn unknown(place: &str, name: &str, keys: &[Key]) -> Error {
    let prefix = if place.is_empty() { String::new() } else { format!("{place}.") };
    // Compare names without the common prefix, which would make all of them similar.
    let near = keys.iter().any(|key| strsim::jaro_winkler(name, key.name) > 0.8);
    let names = keys.iter().map(|key| key.name);
    if near {
        let nearest =
            names.max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)));
        let known = format!("{prefix}{}", nearest.unwrap_or_default());
        return Error::unknown("setting", format!("{prefix}{name}"), [known.as_str()]);
    }
    let place = if place.is_empty() { "run file" } else { place };
    let known: Vec<&str> = names.collect();
    Error::value(
        place,
        format_args!("an unknown setting '{name}'"),
        format_args!("one of {}", known.join(", ")),
    )
}

fn check_one(place: &str, key: &Key, value: &toml::Value) -> Result<()> {
    if key.range.contains(value) {
        return Ok(());
    }
    let prefix = if place.is_empty() { String::new() } else { format!("{place}.") };
    Err(Error::value(format_args!("{prefix}{}", key.name), value, key.range))
}

/// Converts integers to floats where a float is expected.
fn coerced(range: Range, value: toml::Value) -> toml::Value {
    match (range, value) {
        (Range::Number(..) | Range::Below(..) | Range::Gain(..), toml::Value::Integer(whole)) => {
            toml::Value::Float(whole as f64)
        }
        (Range::Gain(..), toml::Value::Array(each)) => {
            toml::Value::Array(each.into_iter().map(|one| coerced(range, one)).collect())
        }
        (_, value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
    #[serde(default)]
    struct Both {
        width: usize,
        rate: f64,
    }

    const KEYS: &[Key] = &[
        Key::new("width", Range::Whole(0, 9), "a width"),
        Key::new("rate", Range::Number(0.0, 5.0), "a rate"),
    ];

    fn parse(text: &str) -> Result<Both> {
        settings("encoder", KEYS, text.parse().unwrap())
    }

    #[test]
    fn missing_settings_take_defaults_and_integers_become_floats() {
        assert_eq!(parse("rate = 2").unwrap(), Both { width: 0, rate: 2.0 });
    }

    #[test]
    fn unknown_names_and_wrong_values_are_reported() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert_eq!(message("widht = 2"), "unknown setting 'encoder.widht', did you mean 'encoder.width'?");
        assert_eq!(
            message("zzz = 2"),
            "encoder: found an unknown setting 'zzz', expected one of width, rate"
        );
        assert_eq!(message("width = 'a'"), "encoder.width: found \"a\", expected 0 to 9");
        assert_eq!(message("width = -1"), "encoder.width: found -1, expected 0 to 9");
        assert_eq!(message("rate = nan"), "encoder.rate: found nan, expected a number from 0 to 5");
    }

    #[test]
    fn gains_are_one_number_or_a_list() {
        let range = Range::Gain(0.0, 1.0);
        let value = |text: &str| format!("x = {text}").parse::<toml::Table>().unwrap()["x"].clone();
        assert!(range.contains(&value("0.5")) && range.contains(&value("[0.1, 1]")));
        assert!(!range.contains(&value("[0.1, 2.0]")) && !range.contains(&value("'a'")));
    }
}
