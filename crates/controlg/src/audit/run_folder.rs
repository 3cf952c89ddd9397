//! Compares the files of a run folder with its record.

use std::path::Path;

use super::AuditSummary;
use crate::config::{self, Config, Custom};
use crate::error::{Error, Result};
use crate::eval;
use crate::files;
use crate::run_files;
use crate::trace::{EndLine, RunLine};
use crate::train;

/// Compares settings, model and results with the record, if there is a folder, and adds to the summary what was compared and
/// what could not be.
pub(super) fn check(
    folder: Option<&Path>,
    header: &RunLine,
    end: Option<&EndLine>,
    custom: &Custom,
    summary: &mut AuditSummary,
) -> Result<()> {
    if header.data_hash.is_none() {
        summary.notes.push(format!(
            "version {} recorded no digests: that embeddings and data belong to this record is not proven",
            header.version
        ));
    }
    if summary.complete && summary.steps < summary.total_steps {
        summary.notes.push(format!("the run was stopped after {} steps", summary.steps));
    }
    let Some(folder) = folder else {
        summary.notes.push("only the record was given: no files of its run were compared".to_owned());
        return Ok(());
    };
    let path = folder.join(run_files::CONFIG);
    let settings = Config::from_table_with(header.config.to_table()?, custom)?;
    if is_there(&path, summary) {
        compare_settings(&path, &settings, custom)?;
        summary.files.push(run_files::CONFIG.to_owned());
    }
    let model = folder.join(run_files::MODEL);
    if summary.complete && model.exists() {
        compare_model(&model, &settings, header)?;
        if end.is_none() {
            summary.files.push(run_files::MODEL.to_owned());
        }
    }
    // No record can name its digest: it is written later. It has seals of its own.
    eval::read_metrics(&folder.join(run_files::METRICS))?;
    for (name, digest) in end.iter().flat_map(|end| &end.files) {
        let path = folder.join(name);
        if is_there(&path, summary) {
            let found = files::sha256(&path)?;
            if found != *digest {
                return Err(differs(&path, "SHA-256", found, digest));
            }
            summary.files.push(name.clone());
        }
    }
    Ok(())
}

/// Whether a file exists; the summary says if not.
fn is_there(path: &Path, summary: &mut AuditSummary) -> bool {
    let exists = path.exists();
    if !exists {
        let name = path.file_name().unwrap_or_default().display();
        summary.notes.push(format!("{name} is not in the folder"));
    }
    exists
}

fn compare_settings(path: &Path, recorded: &Config, custom: &Custom) -> Result<()> {
    let stored = Config::from_table_with(config::read(path)?, custom)?;
    match config::first_difference(&stored, recorded)? {
        Some((key, found, expected)) => Err(differs(path, &key, found, expected)),
        None => Ok(()),
    }
}

fn compare_model(path: &Path, settings: &Config, header: &RunLine) -> Result<()> {
    let (config_hash, data_hash) = train::hashes_of_model(path)?;
    for (place, found, expected) in [
        ("config_hash", config_hash, Some(settings.hash()?)),
        ("data_hash", data_hash, header.data_hash.clone()),
    ] {
        if let (Some(found), Some(expected)) = (found, expected)
            && found != expected
        {
            return Err(differs(path, place, found, expected));
        }
    }
    Ok(())
}

fn differs(
    file: &Path,
    place: &str,
    found: impl std::fmt::Display,
    expected: impl std::fmt::Display,
) -> Error {
    let (file, place) = (file.to_owned(), place.to_owned());
    let expected = format!("{expected} from the record");
    Error::Check { file, place, found: found.to_string(), expected }
}
