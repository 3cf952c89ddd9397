//! `metrics.json`: the scores of a run, one object per task.
//!
//! Each object has a seal, which shows that it was changed. Objects of older versions have none.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::files;

/// Reads the scores by task, without their seals. None if the file does not exist.
pub fn read_metrics(path: &Path) -> Result<Map<String, Value>> {
    if path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(Map::new());
    }
    let bad = |place: &str, found: String| {
        let expected = "scores that controlg evaluate wrote; without this file, it writes them again";
        Error::input(path, place, found, expected)
    };
    let mut all: Map<String, Value> =
        serde_json::from_slice(&files::read(path)?).map_err(|error| bad("", error.to_string()))?;
    for (task, score) in &mut all {
        if !files::remove_seal(task, score) {
            return Err(bad(task, "a score that was changed".to_owned()));
        }
    }
    Ok(all)
}

/// Adds scores to the file, keeping those of other tasks.
pub fn add_metrics(path: &Path, scores: &Map<String, Value>) -> Result<()> {
    let mut all = read_metrics(path)?;
    all.extend(scores.clone());
    for (task, score) in &mut all {
        files::add_seal(task, score);
    }
    let text = serde_json::to_string_pretty(&all).map_err(|error| Error::Failed(error.to_string()))?;
    files::atomic_write_bytes(path, text + "\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn scores(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn scores_of_tasks_are_added_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.json");
        assert!(read_metrics(&path).unwrap().is_empty());
        // As older versions wrote it.
        fs::write(&path, r#"{"nc": {"value": 80.0}, "cluster": {"value": 0.1}}"#).unwrap();
        add_metrics(&path, &scores(r#"{"nc": {"value": 81.25, "floors": {"sgc": 1e-7}}}"#)).unwrap();
        let expected =
            scores(r#"{"nc": {"value": 81.25, "floors": {"sgc": 1e-7}}, "cluster": {"value": 0.1}}"#);
        assert_eq!(read_metrics(&path).unwrap(), expected);
        let text = fs::read_to_string(&path).unwrap();
        // echo -n 'cluster{"value":0.1}' | sha256sum
        assert!(text.contains("\"seal\": \"c0080ccf28235526\""), "{text}");
    }

    #[test]
    fn a_flipped_bit_in_a_score_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.json");
        let right = scores(r#"{"nc": {"value": 81.25, "probe": "lbfgs"}, "lp": {"value": 95.0}}"#);
        add_metrics(&path, &right).unwrap();
        files::with_flipped_bits(&path, |flipped| match read_metrics(&path) {
            Err(error) => assert_eq!(error.exit_code(), 2, "{flipped}: {error}"),
            // White space, or the key of a seal.
            Ok(found) => right
                .iter()
                .for_each(|(task, score)| assert_eq!(found[task]["value"], score["value"], "{flipped}")),
        });
        let message = |text: &str| {
            fs::write(&path, text).unwrap();
            read_metrics(&path).unwrap_err().to_string()
        };
        let text = fs::read_to_string(&path).unwrap();
        assert!(message(&text.replace("95.0", "96.0")).contains("lp: found a score that was changed"));
        assert!(message(&text.replace("\"lp\"", "\"cluster\"")).contains("was changed"), "another task");
        assert!(message("broken").contains("metrics.json"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(read_metrics(&path).unwrap_err().to_string().contains("found a folder, expected a file"));
    }
}
