//! Downloads data sets from their public URLs.
//!
//! A file is downloaded to `NAME.part` and renamed once its size and hash match. An interrupted download resumes where
//! it stopped. A valid existing file is kept; a file with a different hash is overwritten only with `force`.

mod digest;
mod http;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zip::ZipArchive;

use super::catalog::KnownDataset;
use crate::error::{Error, Result};

pub use digest::Checksum;

/// A file of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteFile<'a> {
    /// The path in the folder of the data set.
    pub path: &'a str,
    /// The size, if it is known.
    pub exact_bytes: Option<u64>,
    /// The maximum size.
    pub most_bytes: u64,
    /// The expected hash.
    pub check: Checksum<'a>,
    /// The source.
    pub origin: FetchOrigin<'a>,
    /// Whether loading the graph needs it.
    pub required: bool,
}

/// The source of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOrigin<'a> {
    /// A URL.
    Url(&'a str),
    /// A member of a zip archive.
    Member {
        /// The URL of the archive.
        url: &'a str,
        /// The full name of the member.
        name: &'a str,
    },
}

impl FetchOrigin<'_> {
    /// The URL of the file, or of the archive that contains it.
    pub fn url(&self) -> &str {
        match self {
            FetchOrigin::Url(url) | FetchOrigin::Member { url, .. } => url,
        }
    }

    /// Instructions for downloading the file by hand.
    pub fn by_hand(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            FetchOrigin::Url(url) => format!("download {url} to {path}"),
            FetchOrigin::Member { url, name } => {
                format!("download {url} and extract {name} to {path}")
            }
        }
    }
}

/// Options of [`fetch`].
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Overwrite existing files with a different hash.
    pub force: bool,
    /// A mirror: replaces scheme and host of every URL.
    pub base: Option<String>,
    /// Timeout for connecting, DNS included.
    pub connect_timeout: Duration,
    /// Timeout for each read.
    pub read_timeout: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions {
            force: false,
            base: None,
            connect_timeout: Duration::from_secs(20),
            read_timeout: Duration::from_secs(60),
        }
    }
}

/// The progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadProgress<'a> {
    /// The file or archive, relative to the folder of the data set.
    pub file: &'a str,
    /// Bytes downloaded.
    pub done: u64,
    /// Total size, if known.
    pub total: Option<u64>,
}

/// The result of [`fetch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchReport {
    /// The folder of the data set.
    pub folder: PathBuf,
    /// Downloaded files, in list order.
    pub fetched: Vec<String>,
    /// Files that existed already.
    pub kept: Vec<String>,
}

/// The maximum size of an archive relative to the total of its known members; leaves room for the others.
const ARCHIVE_FACTOR: f64 = 1.5;

/// Downloads the missing files of a data set into its folder in `data_dir`.
pub fn fetch(
    known: &KnownDataset,
    data_dir: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<FetchReport> {
    if known.files.is_empty() {
        return Err(Error::value(
            "data set",
            format_args!("'{}', which is generated", known.name),
            "a data set with files",
        ));
    }
    fetch_files(known.files, &known.folder_in(data_dir), options, progress)
}

/// Downloads the missing files of a list into a folder.
pub fn fetch_files(
    files: &[RemoteFile<'_>],
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<FetchReport> {
    let mut report = FetchReport { folder: folder.to_owned(), fetched: Vec::new(), kept: Vec::new() };
    let mut missing = Vec::new();
    for file in files {
        if is_present(file, folder, options.force)? {
            report.kept.push(file.path.to_owned());
        } else {
            missing.push(*file);
        }
    }
    if let Some(file) = missing.iter().find(|file| file.check == Checksum::Unknown) {
        let path = folder.join(file.path);
        let expected = format!("a file: {}", file.origin.by_hand(&path));
        return Err(Error::input(&path, "", "no such file, and no checksum to download it by", expected));
    }
    let mut archives = BTreeSet::new();
    for file in &missing {
        match file.origin {
            FetchOrigin::Url(_) => fetch_one(file, folder, options, progress)?,
            FetchOrigin::Member { url, .. } if archives.insert(url) => {
                fetch_archive(url, files, &missing, folder, options, progress)?;
            }
            FetchOrigin::Member { .. } => {}
        }
        report.fetched.push(file.path.to_owned());
    }
    Ok(report)
}

/// Whether a valid file exists. An existing file with a different hash is an error unless `force` is set.
fn is_present(file: &RemoteFile<'_>, folder: &Path, force: bool) -> Result<bool> {
    let path = folder.join(file.path);
    if !path.exists() {
        return Ok(false);
    }
    let found = file.check.of(&path).map_err(|error| Error::reading(&path, error))?;
    let expected = file.check.expected();
    if found != expected && !force {
        let expected = format!("{expected}; move the file away, or overwrite it with --force");
        return Err(Error::input(&path, "", found, expected));
    }
    Ok(found == expected)
}

fn fetch_one(
    file: &RemoteFile<'_>,
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<()> {
    let path = folder.join(file.path);
    let part = part_of(&path)?;
    let url = on_mirror(file.origin.url(), options);
    let sizes = (file.exact_bytes, file.most_bytes);
    let mut report = |done, total| progress(DownloadProgress { file: file.path, done, total });
    let done = http::download(&url, &part, sizes, options, &mut report);
    done.and_then(|()| move_into_place(file, &part, &path)).map_err(|failure| {
        failure.discard_part(&part);
        failure.into_error(&url, file.origin.by_hand(&path))
    })
}

/// Downloads an archive and extracts the missing files.
fn fetch_archive(
    url: &str,
    files: &[RemoteFile<'_>],
    missing: &[RemoteFile<'_>],
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<()> {
    let name = url.rsplit('/').next().unwrap_or(url);
    let part = part_of(&folder.join(name))?;
    let members = files.iter().filter(|file| file.origin.url() == url);
    let most = members.map(|file| file.most_bytes).sum::<u64>() as f64 * ARCHIVE_FACTOR;
    let address = on_mirror(url, options);
    let mut report = |done, total| progress(DownloadProgress { file: name, done, total });
    let fail = |failure: FetchFailure, by_hand: String| {
        failure.discard_part(&part);
        failure.into_error(&address, by_hand)
    };
    let by_hand = |file: &RemoteFile<'_>| file.origin.by_hand(&folder.join(file.path));
    let first = missing.iter().find(|file| file.origin.url() == url).map(by_hand).unwrap_or_default();
    http::download(&address, &part, (None, most as u64 + (1 << 20)), options, &mut report)
        .map_err(|failure| fail(failure, first))?;
    for file in missing {
        if let FetchOrigin::Member { url: from, name } = file.origin
            && from == url
        {
            extract_member(file, name, &part, folder).map_err(|failure| fail(failure, by_hand(file)))?;
        }
    }
    fs::remove_file(&part).map_err(|error| Error::io(format_args!("removing {}", part.display()), error))
}

fn extract_member(
    file: &RemoteFile<'_>,
    name: &str,
    archive: &Path,
    folder: &Path,
) -> std::result::Result<(), FetchFailure> {
    let path = folder.join(file.path);
    let part = with_suffix(&path, ".part");
    let disk = |error| FetchFailure::Disk(part.clone(), error);
    let damaged = |error: &dyn std::fmt::Display| FetchFailure::Wrong {
        found: format!("an archive without a valid member {name} ({error})"),
        expected: "an archive with it".to_owned(),
    };
    let opened = fs::File::open(archive).map_err(|error| FetchFailure::Disk(archive.to_owned(), error))?;
    let mut archive = ZipArchive::new(io::BufReader::new(opened)).map_err(|error| damaged(&error))?;
    let member = archive.by_name(name).map_err(|error| damaged(&error))?;
    if let Some(parent) = part.parent() {
        fs::create_dir_all(parent).map_err(disk)?;
    }
    let mut out = fs::File::create(&part).map_err(disk)?;
    let copied = io::copy(&mut io::Read::take(member, file.most_bytes + 1), &mut out);
    let outcome = match copied {
        Err(error) => Err(damaged(&error)),
        Ok(bytes) if bytes > file.most_bytes => Err(FetchFailure::TooMuch { most: file.most_bytes }),
        Ok(_) => out.sync_all().map_err(disk).and_then(|()| move_into_place(file, &part, &path)),
    };
    if outcome.is_err() {
        let _ = fs::remove_file(&part); // useless, and the error to report is the first one
    }
    outcome
}

/// Renames a downloaded file if its hash is right.
fn move_into_place(file: &RemoteFile<'_>, part: &Path, path: &Path) -> std::result::Result<(), FetchFailure> {
    let found = file.check.of(part).map_err(|error| FetchFailure::Disk(part.to_owned(), error))?;
    let expected = file.check.expected();
    if found != expected {
        return Err(FetchFailure::Wrong { found, expected });
    }
    fs::rename(part, path).map_err(|error| FetchFailure::Disk(path.to_owned(), error))
}

/// Why a download failed.
#[derive(Debug)]
enum FetchFailure {
    Unreachable(String),
    Server(String),
    Broken { have: u64, why: String },
    Cut { have: u64, total: u64 },
    TooMuch { most: u64 },
    Wrong { found: String, expected: String },
    Disk(PathBuf, io::Error),
}

impl FetchFailure {
    /// Removes the partial file if the download cannot be resumed from it.
    fn discard_part(&self, part: &Path) {
        if matches!(self, FetchFailure::TooMuch { .. } | FetchFailure::Wrong { .. }) {
            let _ = fs::remove_file(part); // best effort: a part that remains does no harm
        }
    }

    fn into_error(self, url: &str, by_hand: String) -> Error {
        let again = "run the command again to resume";
        Error::Failed(match self {
            FetchFailure::Unreachable(why) => format!("cannot reach {url} ({why}); {by_hand}"),
            FetchFailure::Server(why) => format!("cannot download {url}: {why}; {by_hand}"),
            FetchFailure::Broken { have, why } => {
                format!("the connection to {url} broke after {have} bytes ({why}); {again}, or {by_hand}")
            }
            FetchFailure::Cut { have, total } => {
                format!("the connection to {url} broke after {have} of {total} bytes; {again}, or {by_hand}")
            }
            FetchFailure::TooMuch { most } => {
                format!("{url}: found more than {most} bytes, expected at most {most}")
            }
            FetchFailure::Wrong { found, expected } => format!("{url}: found {found}, expected {expected}"),
            FetchFailure::Disk(path, error) => {
                return Error::io(format_args!("writing {}", path.display()), error);
            }
        })
    }
}

fn on_mirror(url: &str, options: &FetchOptions) -> String {
    let Some(base) = &options.base else { return url.to_owned() };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    format!("{}{path}", base.trim_end_matches('/'))
}

/// The path of the partial file. Creates its folder.
fn part_of(path: &Path) -> Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
    Ok(with_suffix(path, ".part"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
