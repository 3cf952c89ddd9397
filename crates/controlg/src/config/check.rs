//! Checks of single settings, before the data set is known.

use toml::{Table, Value};

use super::method::MethodSource;
use super::{Custom, keys, legacy};
use crate::encoder::ENCODERS;
use crate::error::Result;
use crate::objective;
use crate::registry;

/// Checks the names and values of settings, each for itself. Whether they fit together depends on the presets of the
/// data set and is checked by [`Config::from_table`](super::Config::from_table).
///
/// ```
/// let table = "method = 'controlg'\ntrain.lr = 0.01".parse().unwrap();
/// controlg::config::check(table)?;
/// let error = controlg::config::check("method = 'contrlg'".parse().unwrap()).unwrap_err();
/// assert!(error.to_string().contains("did you mean 'controlg'"));
/// # Ok::<(), controlg::Error>(())
/// ```
pub fn check(mut table: Table) -> Result<()> {
    legacy::to_new_names(&mut table);
    keys::check_settings(&table)?;
    if let Some(Value::String(method)) = table.get("method") {
        MethodSource::find(method, &Custom::default())?;
    }
    for name in table.get("objectives").and_then(Value::as_array).into_iter().flatten() {
        name.as_str().map_or(Ok(()), |name| objective::find(name).map(drop))?;
    }
    match table.get("encoder").and_then(|encoder| encoder.get("kind")) {
        Some(Value::String(kind)) => registry::find("encoder", ENCODERS, kind).map(drop),
        _ => Ok(()),
    }
}
