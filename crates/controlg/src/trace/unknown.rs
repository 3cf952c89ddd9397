//! Fields that do not belong to a line of a record.

use serde_json::Value;

use super::Record;

/// Names that are kept from version 0.1, which are read as other names.
const OLD_NAMES: [&str; 2] = ["normalise", "cosine"];

/// The first field of a line that is none of its record, as a path such as `config.train.extra`.
///
/// A parser that ignores unknown fields cannot tell, so the fields of the line are compared with those of the parsed record
/// when it is written again.
pub(super) fn field(line: &str, record: &Record) -> Option<String> {
    let (Ok(Value::Object(mut given)), Ok(known)) =
        (serde_json::from_str(line), serde_json::to_value(record))
    else {
        return None;
    };
    given.remove("seal");
    first_unknown(&Value::Object(given), &known)
}

fn first_unknown(given: &Value, known: &Value) -> Option<String> {
    let (Value::Object(given), Value::Object(known)) = (given, known) else { return None };
    given.iter().find_map(|(name, value)| match known.get(name) {
        Some(known) => first_unknown(value, known).map(|inner| format!("{name}.{inner}")),
        None if OLD_NAMES.contains(&name.as_str()) => None,
        None => Some(name.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_no_line_has_are_found_at_any_depth() {
        let unknown = |line: &str| field(line, &serde_json::from_str(line).unwrap());
        let warm_up = "{\"kind\":\"warmup\",\"round\":0,\"step\":0,\"loss\":[1.5],\"ms\":2.0";
        assert_eq!(unknown(&format!("{warm_up},\"seal\":\"00\"}}")), None);
        assert_eq!(unknown(&format!("{warm_up},\"score\":1}}")).as_deref(), Some("score"));
        let (given, known) = ("{\"a\":{\"b\":1,\"c\":{\"d\":2}}}", "{\"a\":{\"b\":1,\"c\":{}}}");
        let [given, known] = [given, known].map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(first_unknown(&given, &known).as_deref(), Some("a.c.d"));
    }
}
