//! Append-only JSON Lines files; a line is written completely or not at all.
//!
//! Each line ends with a seal, a hash of the line alone, so that lines may be removed or merged but not changed. Lines of older
//! versions have none.
//!
//! Each shard of a comparison writes its own file, e.g. `results-2-of-3.jsonl`. When all are in one folder, the next
//! comparison without a shard merges them into `results.jsonl`.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Shard;
use crate::error::{Error, Result};
use crate::files;

/// All lines of one kind in a folder, and the file to which new ones are appended.
#[derive(Debug)]
pub struct JsonlStore<T> {
    path: PathBuf,
    file: File,
    all: Vec<T>,
}

impl<T: Serialize + DeserializeOwned + Clone> JsonlStore<T> {
    /// Reads `stem.jsonl` and the files of all shards in a folder; creates the folder if necessary.
    ///
    /// An incomplete last line is dropped; any other line that does not parse or was changed is an error.
    pub fn open(folder: &Path, stem: &str, shard: Option<Shard>) -> Result<JsonlStore<T>> {
        files::create_folder(folder)?;
        let name = match shard {
            Some(Shard { index, of }) => format!("{stem}-{index}-of-{of}.jsonl"),
            None => format!("{stem}.jsonl"),
        };
        let path = folder.join(name);
        let StoredLines { own, own_bytes, others } = read_all(folder, stem, &path)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|file| file.set_len(own_bytes).and_then(|()| files::sync_folder(folder)).map(|()| file))
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        let mut store = JsonlStore { path, file, all: own };
        match shard {
            None => store.append(&others)?,
            Some(_) => store.all.extend(others),
        }
        Ok(store)
    }

    /// Reads the same lines as [`JsonlStore::open`] without a shard, but writes nothing; safe while a comparison is running.
    pub fn read(folder: &Path, stem: &str) -> Result<Vec<T>> {
        let StoredLines { mut own, others, .. } =
            read_all(folder, stem, &folder.join(format!("{stem}.jsonl")))?;
        own.extend(others);
        Ok(own)
    }

    /// All lines, in file order.
    pub fn all(&self) -> &[T] {
        &self.all
    }

    /// Appends lines and flushes them to disk. A failed write is rolled back, so the file never has a partial line in the
    /// middle.
    pub fn append(&mut self, new: &[T]) -> Result<()> {
        let sealed = |value| as_text(value).map(|text| files::sealed("", &text).0 + "\n");
        let text = new.iter().map(sealed).collect::<Result<String>>()?;
        let write = |file: &mut File| {
            let before = file.metadata()?.len();
            let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
            written.or_else(|error| file.set_len(before).and(Err(error)))
        };
        write(&mut self.file)
            .map_err(|error| Error::io(format_args!("writing {}", self.path.display()), error))?;
        self.all.extend_from_slice(new);
        Ok(())
    }
}

/// The lines of one kind in a folder.
struct StoredLines<T> {
    /// Lines of the requested file.
    own: Vec<T>,
    /// Length of these lines in bytes.
    own_bytes: u64,
    /// Lines found only in other files.
    others: Vec<T>,
}

fn read_all<T: Serialize + DeserializeOwned>(
    folder: &Path,
    stem: &str,
    path: &Path,
) -> Result<StoredLines<T>> {
    let (own, own_bytes) = if path.exists() { read_file::<T>(path)? } else { (Vec::new(), 0) };
    let known: Vec<String> = own.iter().map(as_text).collect::<Result<_>>()?;
    let mut others = Vec::new();
    for file in store_files(folder, stem)? {
        if file != path {
            for line in read_file::<T>(&file)?.0 {
                if !known.contains(&as_text(&line)?) {
                    others.push(line);
                }
            }
        }
    }
    Ok(StoredLines { own, own_bytes, others })
}

/// The complete lines of a file and their length in bytes.
fn read_file<T: DeserializeOwned>(path: &Path) -> Result<(Vec<T>, u64)> {
    let bytes = files::read(path)?;
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = Vec::new();
    for (number, line) in bytes[..complete].split(|&byte| byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let bad = |found: &dyn Display| {
            let expected = "a line written by controlg; without this line, the cell runs again";
            Error::input(path, format_args!("line {}", number + 1), found, expected)
        };
        lines.push(serde_json::from_slice(line).map_err(|error| bad(&error))?);
        if !is_unchanged(line) {
            return Err(bad(&"a line that was changed"));
        }
    }
    Ok((lines, complete as u64))
}

/// Whether the seal of a line is valid. Lines of older versions have none.
fn is_unchanged(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    match files::without_seal(line) {
        Some((text, seal)) => seal == files::seal("", &text),
        None => !line.contains(&format!("\"{}\":", files::SEAL)),
    }
}

/// `stem.jsonl` and `stem-i-of-n.jsonl` in a folder, sorted by name.
fn store_files(folder: &Path, stem: &str) -> Result<Vec<PathBuf>> {
    let action = || format!("reading {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Error::io(action(), error))? {
        let path = entry.map_err(|error| Error::io(action(), error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let middle = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(".jsonl"));
        if middle.is_some_and(|middle| middle.is_empty() || middle.contains("-of-")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn as_text<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::Failed(format!("cannot write the result as JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Line {
        a: usize,
        b: usize,
    }

    fn line(a: usize, b: usize) -> Line {
        Line { a, b }
    }

    fn open(folder: &Path) -> Result<JsonlStore<Line>> {
        JsonlStore::open(folder, "results", None)
    }

    /// Lines of older versions.
    const OLD: &str = "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n";

    #[test]
    fn incomplete_last_line_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        fs::write(&path, format!("{OLD}{{\"a\":5,")).unwrap();
        let mut store = open(folder.path()).unwrap();
        assert_eq!(store.all(), [line(1, 2), line(3, 4)]);
        store.append(&[line(7, 8)]).unwrap();
        // echo -n '{"a":7,"b":8}' | sha256sum
        let expected = format!("{OLD}{{\"a\":7,\"b\":8,\"seal\":\"99ab64a724a591f3\"}}\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(open(folder.path()).unwrap().all(), [line(1, 2), line(3, 4), line(7, 8)]);
    }

    #[test]
    fn read_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (own, shard) = (folder.path().join("results.jsonl"), folder.path().join("results-1-of-2.jsonl"));
        fs::write(&own, "{\"a\":1,\"b\":2}\n[3,").unwrap();
        fs::write(&shard, OLD).unwrap();
        let all = JsonlStore::<Line>::read(folder.path(), "results").unwrap();
        assert_eq!(all, [line(1, 2), line(3, 4)]);
        assert_eq!(fs::read_to_string(&own).unwrap(), "{\"a\":1,\"b\":2}\n[3,");
    }

    #[test]
    fn invalid_line_is_reported_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("results.jsonl"), OLD.replace("{\"a\":3", "hello")).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("results.jsonl") && error.contains(":2: "), "{error}");
    }

    #[test]
    fn a_flipped_bit_in_a_line_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let lines = [line(10, 20), line(30, 40)];
        open(folder.path()).unwrap().append(&lines).unwrap();
        files::with_flipped_bits(&path, |flipped| match open(folder.path()) {
            // The key of a seal, or the end of the last line, which then counts as incomplete.
            Ok(store) => assert!(lines.starts_with(store.all()), "{flipped}"),
            Err(error) => assert_eq!(error.exit_code(), 2, "{flipped}: {error}"),
        });
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, whole.replace("40", "41")).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(":2: found a line that was changed"), "{error}");
    }

    #[test]
    fn shards_are_merged_once() {
        let folder = tempfile::tempdir().unwrap();
        for index in 1..=2 {
            let shard = Some(Shard { index, of: 2 });
            let mut store = JsonlStore::<Line>::open(folder.path(), "results", shard).unwrap();
            store.append(&[line(index, 0)]).unwrap();
            assert_eq!(store.all().len(), index, "a shard sees the results of the others");
        }
        for _ in 0..2 {
            assert_eq!(open(folder.path()).unwrap().all(), [line(1, 0), line(2, 0)]);
        }
        assert_eq!(fs::read_to_string(folder.path().join("results.jsonl")).unwrap().lines().count(), 2);
    }
}
