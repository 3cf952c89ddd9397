//! Data sets from their public addresses.
//!
//! A file is written beside its place as `NAME.part`, goes on where a broken download stopped, and takes its place
//! only when its size and hash are right. A file that is there and right is kept; one that is there and wrong is
//! never overwritten unless the user says so.

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

/// One file of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteFile<'a> {
    /// Its place in the folder of the data set.
    pub path: &'a str,
    /// Its size, where it is known.
    pub exact_bytes: Option<u64>,
    /// The most bytes that it may have.
    pub most_bytes: u64,
    /// How it is told to be right.
    pub check: Checksum<'a>,
    /// Where it comes from.
    pub origin: FetchOrigin<'a>,
    /// Whether the graph cannot be read without it.
    pub needed: bool,
}

/// Where a file comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOrigin<'a> {
    /// An address of its own.
    Url(&'a str),
    /// A member of a zip archive.
    Member {
        /// The address of the archive.
        url: &'a str,
        /// The member's full name.
        name: &'a str,
    },
}

impl FetchOrigin<'_> {
    /// The address of the file or of the archive that holds it.
    pub fn url(&self) -> &str {
        match self {
            FetchOrigin::Url(url) | FetchOrigin::Member { url, .. } => url,
        }
    }

    /// How a user puts the file at a path without us.
    pub fn by_hand(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            FetchOrigin::Url(url) => format!("download {url} and put it at {path}"),
            FetchOrigin::Member { url, name } => {
                format!("download {url} and put its member {name} at {path}")
            }
        }
    }
}

/// How to fetch.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Overwrite files that are there and wrong.
    pub force: bool,
    /// Takes the place of the scheme and host of every address: a mirror with the same paths.
    pub base: Option<String>,
    /// How long finding and reaching a server may take.
    pub connect: Duration,
    /// How long a server may keep silent.
    pub stall: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions {
            force: false,
            base: None,
            connect: Duration::from_secs(20),
            stall: Duration::from_secs(60),
        }
    }
}

/// How far a download is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadProgress<'a> {
    /// The file or archive that is being downloaded, by its place in the data set's folder.
    pub file: &'a str,
    /// Bytes that are there.
    pub done: u64,
    /// Bytes that there will be, where that is known.
    pub total: Option<u64>,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchReport {
    /// The folder of the data set.
    pub folder: PathBuf,
    /// Files that were fetched, in the order of the list.
    pub fetched: Vec<String>,
    /// Files that were there and right.
    pub kept: Vec<String>,
}

/// The most bytes of an archive: all that its members may have, and half as much again for what we do not use.
const ARCHIVE_SHARE: f64 = 1.5;

/// Fetches what is missing of a data set into the folder of its name.
pub fn fetch(
    known: &KnownDataset,
    data_dir: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<FetchReport> {
    if known.files.is_empty() {
        return Err(Error::value(
            "data set",
            format_args!("'{}', which is made here", known.name),
            "one with files",
        ));
    }
    fetch_files(known.files, &data_dir.join(known.name), options, progress)
}

/// Fetches what is missing of a list of files into a folder.
pub fn fetch_files(
    files: &[RemoteFile<'_>],
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<FetchReport> {
    let mut report = FetchReport { folder: folder.to_owned(), fetched: Vec::new(), kept: Vec::new() };
    let mut missing = Vec::new();
    for file in files {
        if is_there(file, folder, options.force)? {
            report.kept.push(file.path.to_owned());
        } else {
            missing.push(*file);
        }
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

/// Whether the file is there and right; an error when it is there and wrong.
fn is_there(file: &RemoteFile<'_>, folder: &Path, force: bool) -> Result<bool> {
    let path = folder.join(file.path);
    if !path.exists() {
        return Ok(false);
    }
    let found = file.check.of(&path).map_err(|error| Error::reading(&path, error))?;
    match found == file.check.expected() {
        true => Ok(true),
        false if force => Ok(false),
        false => Err(Error::input(
            &path,
            "",
            found,
            format_args!("{}; move it away, or fetch with --force", file.check.expected()),
        )),
    }
}

fn fetch_one(
    file: &RemoteFile<'_>,
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<()> {
    let path = folder.join(file.path);
    let part = part_of(&path)?;
    let url = at_base(file.origin.url(), options);
    let sizes = (file.exact_bytes, file.most_bytes);
    let mut tell = |done, total| progress(DownloadProgress { file: file.path, done, total });
    let done = http::download(&url, &part, sizes, options, &mut tell);
    done.and_then(|()| settle(file, &part, &path)).map_err(|trouble| {
        trouble.forget(&part);
        trouble.into_error(&url, file.origin.by_hand(&path))
    })
}

/// Downloads an archive and takes the missing files out of it.
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
    let most = members.map(|file| file.most_bytes).sum::<u64>() as f64 * ARCHIVE_SHARE;
    let address = at_base(url, options);
    let mut tell = |done, total| progress(DownloadProgress { file: name, done, total });
    let fail = |trouble: FetchFailure, by_hand: String| {
        trouble.forget(&part);
        trouble.into_error(&address, by_hand)
    };
    let by_hand = |file: &RemoteFile<'_>| file.origin.by_hand(&folder.join(file.path));
    let first = missing.iter().find(|file| file.origin.url() == url).map(by_hand).unwrap_or_default();
    http::download(&address, &part, (None, most as u64 + (1 << 20)), options, &mut tell)
        .map_err(|trouble| fail(trouble, first))?;
    for file in missing {
        if let FetchOrigin::Member { url: from, name } = file.origin
            && from == url
        {
            take_member(file, name, &part, folder).map_err(|trouble| fail(trouble, by_hand(file)))?;
        }
    }
    fs::remove_file(&part).map_err(|error| Error::io(format_args!("removing {}", part.display()), error))
}

fn take_member(
    file: &RemoteFile<'_>,
    name: &str,
    archive: &Path,
    folder: &Path,
) -> std::result::Result<(), FetchFailure> {
    let path = folder.join(file.path);
    let part = with_ending(&path, ".part");
    let disk = |error| FetchFailure::Disk(part.clone(), error);
    let damaged = |error: &dyn std::fmt::Display| FetchFailure::Wrong {
        found: format!("an archive without a whole member {name} ({error})"),
        expected: "one that has it".to_owned(),
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
        Ok(_) => out.sync_all().map_err(disk).and_then(|()| settle(file, &part, &path)),
    };
    if outcome.is_err() {
        let _ = fs::remove_file(&part); // what is left of it is of no use, and the error matters more
    }
    outcome
}

/// Moves a downloaded file to its place when it is the right one.
fn settle(file: &RemoteFile<'_>, part: &Path, path: &Path) -> std::result::Result<(), FetchFailure> {
    let found = file.check.of(part).map_err(|error| FetchFailure::Disk(part.to_owned(), error))?;
    let expected = file.check.expected();
    if found != expected {
        return Err(FetchFailure::Wrong { found, expected });
    }
    fs::rename(part, path).map_err(|error| FetchFailure::Disk(path.to_owned(), error))
}

/// Why a download did not succeed.
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
    /// Removes what was downloaded when going on from it makes no sense.
    fn forget(&self, part: &Path) {
        if matches!(self, FetchFailure::TooMuch { .. } | FetchFailure::Wrong { .. }) {
            let _ = fs::remove_file(part); // the error to come says what is wrong; a part that stays does no harm
        }
    }

    fn into_error(self, url: &str, by_hand: String) -> Error {
        let again = "run it again to go on from there";
        Error::Failed(match self {
            FetchFailure::Unreachable(why) => format!("could not reach {url} ({why}); {by_hand}"),
            FetchFailure::Server(why) => format!("could not fetch {url}: {why}; {by_hand}"),
            FetchFailure::Broken { have, why } => {
                format!("the connection to {url} broke after {have} bytes ({why}); {again}, or {by_hand}")
            }
            FetchFailure::Cut { have, total } => {
                format!("the connection to {url} broke after {have} of {total} bytes; {again}, or {by_hand}")
            }
            FetchFailure::TooMuch { most } => {
                format!("{url}: found more than {most} bytes, expected at most that")
            }
            FetchFailure::Wrong { found, expected } => format!("{url}: found {found}, expected {expected}"),
            FetchFailure::Disk(path, error) => {
                return Error::io(format_args!("writing {}", path.display()), error);
            }
        })
    }
}

fn at_base(url: &str, options: &FetchOptions) -> String {
    let Some(base) = &options.base else { return url.to_owned() };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    format!("{}{path}", base.trim_end_matches('/'))
}

/// The place of a download, its folder made.
fn part_of(path: &Path) -> Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .map_err(|error| Error::io(format_args!("making {}", folder.display()), error))?;
    Ok(with_ending(path, ".part"))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
