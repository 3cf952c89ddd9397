//! The digests of results at the end of a record.

use std::path::Path;

use super::{Record, read};
use crate::error::{Error, Result};
use crate::{files, run_files};

/// Compares results of a run, given by their names, with their digests in its record. Records of older versions have none.
pub fn check_results(run: &Path, names: &[&str]) -> Result<()> {
    let record = run.join(run_files::TRACE);
    if !record.exists() {
        return Ok(());
    }
    let Some(Record::End(end)) = read(&record)?.pop().map(|line| line.record) else { return Ok(()) };
    for (name, expected) in names.iter().filter_map(|name| Some((name, end.files.get(*name)?))) {
        let path = run.join(name);
        let found = files::sha256(&path)?;
        if found != *expected {
            let expected = format!("{expected} from {}", run_files::TRACE);
            return Err(Error::input(&path, "SHA-256", found, expected));
        }
    }
    Ok(())
}
