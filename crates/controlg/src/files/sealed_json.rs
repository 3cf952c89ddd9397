//! JSON files with a seal. Those of older versions have none and are read as they are.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::seal::{SEAL, seal};
use super::{atomic_write_bytes, read};
use crate::error::{Error, Result};

/// Writes a structure as a JSON file with a seal.
pub(crate) fn write_json(path: &Path, content: &impl Serialize) -> Result<()> {
    let failed = |error: serde_json::Error| Error::Failed(error.to_string());
    let mut content = serde_json::to_value(content).map_err(failed)?;
    add_seal("", &mut content);
    atomic_write_bytes(path, serde_json::to_string_pretty(&content).map_err(failed)? + "\n")
}

/// Reads a structure from a JSON file that `expected` describes. One that was changed is an error.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, expected: &str) -> Result<T> {
    let wrong = |place: String, found: &dyn std::fmt::Display| Error::input(path, place, found, expected);
    let unparsed = |error: serde_json::Error| wrong(format!("line {}", error.line().max(1)), &error);
    let bytes = read(path)?;
    let mut content: Value = serde_json::from_slice(&bytes).map_err(unparsed)?;
    if !remove_seal("", &mut content) {
        return Err(wrong(String::new(), &"a file that was changed"));
    }
    // From the bytes, because errors then have a line.
    serde_json::from_slice(&bytes).map_err(unparsed)
}

/// Adds a seal to an object; `before` is what is sealed with it, such as its name.
pub(crate) fn add_seal(before: &str, object: &mut Value) {
    let seal = seal(before, &canonical(object));
    if let Value::Object(object) = object {
        object.insert(SEAL.to_owned(), seal.into());
    }
}

/// Removes the seal of an object. Whether it was valid; objects without a seal are.
pub(crate) fn remove_seal(before: &str, object: &mut Value) -> bool {
    let given = object.as_object_mut().and_then(|object| object.remove(SEAL));
    given.is_none_or(|given| given == seal(before, &canonical(object)))
}

/// A value as text, with sorted keys.
fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<&String, &Value> = fields.iter().collect();
                Value::Object(
                    fields
                        .into_iter()
                        .map(|(key, value)| (key.clone(), sorted(value)))
                        .collect::<Map<_, _>>(),
                )
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.json");
        let plan = BTreeMap::from([("seeds".to_owned(), vec![1.0, 0.1]), ("epochs".to_owned(), vec![1e-7])]);
        let read = || read_json::<BTreeMap<String, Value>>(&path, "a plan");
        write_json(&path, &plan).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        // echo -n '{"epochs":[1e-7],"seeds":[1.0,0.1]}' | sha256sum
        assert!(whole.contains("\"seal\": \"9425d3975af9082a\""), "{whole}");
        assert_eq!(read().unwrap()["seeds"], serde_json::json!([1.0, 0.1]));
        fs::write(&path, whole.replace("0.1", "0.3")).unwrap();
        let message = read().unwrap_err().to_string();
        assert!(message.contains("found a file that was changed, expected a plan"), "{message}");
        fs::write(&path, "{\"seeds\": [2]}").unwrap();
        assert_eq!(read().unwrap()["seeds"], serde_json::json!([2]), "of an older version");
        fs::write(&path, "{\n\"seeds\": [2}").unwrap();
        let message = read().unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let of = |text: &str| canonical(&serde_json::from_str(text).unwrap());
        assert_eq!(
            of("{\"b\": [{\"d\": 1, \"c\": 2}], \"a\": null}"),
            "{\"a\":null,\"b\":[{\"c\":2,\"d\":1}]}"
        );
    }
}
