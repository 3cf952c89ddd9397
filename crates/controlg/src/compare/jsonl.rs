//! A file that only grows: one JSON object a line, each there as a whole or not at all.
//!
//! Several machines share a comparison by writing a file each, `results-2-of-3.jsonl`; put into one folder, the next
//! comparison without a shard takes them over into `results.jsonl`.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Shard;
use crate::error::{Error, Result};

/// The lines of a folder's files of one kind, and the file that new ones go to.
#[derive(Debug)]
pub struct JsonlStore<T> {
    path: PathBuf,
    file: File,
    all: Vec<T>,
}

impl<T: Serialize + DeserializeOwned + Clone> JsonlStore<T> {
    /// Reads `stem.jsonl` and the files of all shards in a folder, which is made where it is missing.
    ///
    /// A last line that was cut off is dropped; anything else that is no line of ours is an error.
    pub fn open(folder: &Path, stem: &str, shard: Option<Shard>) -> Result<JsonlStore<T>> {
        fs::create_dir_all(folder)
            .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
        let name = match shard {
            Some(Shard { index, of }) => format!("{stem}-{index}-of-{of}.jsonl"),
            None => format!("{stem}.jsonl"),
        };
        let path = folder.join(name);
        let Found { own, kept, news } = find(folder, stem, &path)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|file| file.set_len(kept).map(|()| file))
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        let mut lines = JsonlStore { path, file, all: own };
        match shard {
            None => lines.append(&news)?,
            Some(_) => lines.all.extend(news),
        }
        Ok(lines)
    }

    /// The lines that [`JsonlStore::open`] would have without a shard; nothing is written, so that whoever only looks disturbs
    /// no comparison that goes on.
    pub fn read(folder: &Path, stem: &str) -> Result<Vec<T>> {
        let Found { mut own, news, .. } = find(folder, stem, &folder.join(format!("{stem}.jsonl")))?;
        own.extend(news);
        Ok(own)
    }

    /// All lines there are, in the order in which they came.
    pub fn all(&self) -> &[T] {
        &self.all
    }

    /// Writes lines, together and at once, to the disk. What could not be written whole is taken back, so that the file
    /// never has half a line before others.
    pub fn append(&mut self, new: &[T]) -> Result<()> {
        let text = new.iter().map(as_line).collect::<Result<String>>()?;
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

/// What a folder has of one kind of lines.
struct Found<T> {
    /// The lines of the file that is asked for.
    own: Vec<T>,
    /// How many of its bytes they are.
    kept: u64,
    /// Lines that other files have and it has not.
    news: Vec<T>,
}

fn find<T: Serialize + DeserializeOwned>(folder: &Path, stem: &str, path: &Path) -> Result<Found<T>> {
    let (own, kept) = if path.exists() { read::<T>(path)? } else { (Vec::new(), 0) };
    let known: Vec<String> = own.iter().map(as_line).collect::<Result<_>>()?;
    let mut news = Vec::new();
    for other in beside(folder, stem)? {
        if other != path {
            for line in read::<T>(&other)?.0 {
                if !known.contains(&as_line(&line)?) {
                    news.push(line);
                }
            }
        }
    }
    Ok(Found { own, kept, news })
}

/// The lines of a file, and how many of its bytes they are.
fn read<T: DeserializeOwned>(path: &Path) -> Result<(Vec<T>, u64)> {
    let bytes = fs::read(path).map_err(|error| Error::reading(path, error))?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = Vec::new();
    for (number, line) in bytes[..whole].split(|&byte| byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let parsed = serde_json::from_slice(line).map_err(|error| {
            Error::input(path, format_args!("line {}", number + 1), error, "a line that controlg wrote")
        })?;
        lines.push(parsed);
    }
    Ok((lines, whole as u64))
}

/// `stem.jsonl` and `stem-i-of-n.jsonl` in a folder, by name.
fn beside(folder: &Path, stem: &str) -> Result<Vec<PathBuf>> {
    let doing = || format!("reading {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Error::io(doing(), error))? {
        let path = entry.map_err(|error| Error::io(doing(), error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let middle = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(".jsonl"));
        if middle.is_some_and(|middle| middle.is_empty() || middle.contains("-of-")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn as_line<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map(|line| line + "\n")
        .map_err(|error| Error::Failed(format!("a result that JSON cannot hold: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_dropped_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        fs::write(&path, "[1,2]\n[3,4]\n[5,").unwrap();
        let mut lines = JsonlStore::<(u8, u8)>::open(folder.path(), "results", None).unwrap();
        assert_eq!(lines.all(), [(1, 2), (3, 4)]);
        lines.append(&[(7, 8)]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1,2]\n[3,4]\n[7,8]\n");
    }

    #[test]
    fn who_only_looks_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (own, shard) = (folder.path().join("results.jsonl"), folder.path().join("results-1-of-2.jsonl"));
        fs::write(&own, "[1,2]\n[3,").unwrap();
        fs::write(&shard, "[1,2]\n[5,6]\n").unwrap();
        assert_eq!(JsonlStore::<(u8, u8)>::read(folder.path(), "results").unwrap(), [(1, 2), (5, 6)]);
        assert_eq!(fs::read_to_string(&own).unwrap(), "[1,2]\n[3,");
    }

    #[test]
    fn a_line_in_the_middle_that_is_not_ours_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("results.jsonl"), "[1,2]\nhello\n[3,4]\n").unwrap();
        let error = JsonlStore::<(u8, u8)>::open(folder.path(), "results", None).unwrap_err().to_string();
        assert!(error.contains("results.jsonl") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn shards_write_their_own_files_and_are_taken_over_once() {
        let folder = tempfile::tempdir().unwrap();
        for index in 1..=2 {
            let shard = Some(Shard { index, of: 2 });
            let mut lines = JsonlStore::<(usize, u8)>::open(folder.path(), "results", shard).unwrap();
            lines.append(&[(index, 0)]).unwrap();
            assert_eq!(lines.all().len(), index, "a shard sees what the others have done");
        }
        for _ in 0..2 {
            let lines = JsonlStore::<(usize, u8)>::open(folder.path(), "results", None).unwrap();
            assert_eq!(lines.all(), [(1, 0), (2, 0)]);
        }
        assert_eq!(fs::read_to_string(folder.path().join("results.jsonl")).unwrap(), "[1,0]\n[2,0]\n");
    }
}
