//! What can go wrong, in words a user can act on.
//!
//! An error about something the user gave names the file, the place in it, what was found and what would be
//! right, in one line. Libraries return it; the program's `main` prints it and maps it to an exit code.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// The result of everything in this library that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be done.
#[derive(Debug)]
pub enum Error {
    /// A file, folder or value that the user gave does not say what it should.
    Input {
        /// The file or folder, where there is one.
        file: Option<PathBuf>,
        /// The place in it: a line, a key, a node id; empty for the file as a whole.
        place: String,
        /// What stands there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A name that is on none of our lists.
    Unknown {
        /// What kind of thing was asked for: `data set`, `setting`, …
        what: &'static str,
        /// The name as it was given.
        name: String,
        /// The names that would be right.
        known: Vec<String>,
    },
    /// The machine failed us: a disk that is full, a connection that broke.
    Io {
        /// What was being done, with the path or address.
        doing: String,
        /// The operating system's own words.
        source: std::io::Error,
    },
    /// A computation that cannot go on.
    Failed(String),
    /// A check that was asked for and did not hold.
    Check {
        /// The file that was checked.
        file: PathBuf,
        /// The place in it.
        place: String,
        /// What stands there.
        found: String,
        /// What follows from the rest.
        expected: String,
    },
}

impl Error {
    /// Bad content at a place in a file.
    pub fn input(file: &Path, place: impl Display, found: impl Display, expected: impl Display) -> Self {
        Error::Input {
            file: Some(file.to_owned()),
            place: place.to_string(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// A bad value that came from no file: an argument, a setting, an array in memory.
    pub fn value(place: impl Display, found: impl Display, expected: impl Display) -> Self {
        Error::Input {
            file: None,
            place: place.to_string(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// A name that is not on the list of `known` ones.
    pub fn unknown<'a>(
        what: &'static str,
        name: impl Into<String>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Error::Unknown { what, name: name.into(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// A failure of the machine while `doing` something.
    pub fn io(doing: impl Display, source: std::io::Error) -> Self {
        Error::Io { doing: doing.to_string(), source }
    }

    /// A file that cannot be opened or read: a missing one is the user's to mend, anything else the machine's.
    pub fn reading(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::NotFound => Error::input(path, "", "no such file", "a file that exists"),
            std::io::ErrorKind::PermissionDenied => {
                Error::input(path, "", "permission denied", "a readable file")
            }
            _ => Error::io(format_args!("reading {}", path.display()), source),
        }
    }

    /// The program's exit code for this error: 1 for a check that did not hold, 2 for wrong use or bad input, 3 for a
    /// failure at run time.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Check { .. } => 1,
            Error::Input { .. } | Error::Unknown { .. } => 2,
            Error::Io { .. } | Error::Failed(_) => 3,
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a damaged file holds is shown, never obeyed: no line breaks or control characters get through.
        let mut line = String::new();
        match self {
            Error::Input { file, place, found, expected } => {
                if let Some(file) = file {
                    line += &format!("{}: ", file.display());
                }
                if !place.is_empty() {
                    line += &format!("{place}: ");
                }
                line += &format!("found {found}, expected {expected}");
            }
            Error::Unknown { what, name, known } => {
                line += &format!("unknown {what} '{name}'");
                let nearest = known
                    .iter()
                    .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)));
                match nearest {
                    Some(near) if strsim::jaro_winkler(name, near) > 0.8 => {
                        line += &format!(", did you mean '{near}'?");
                    }
                    _ => line += &format!(", expected one of {}", known.join(", ")),
                }
            }
            Error::Io { doing, source } => line += &format!("{doing}: {source}"),
            Error::Failed(words) => line += words,
            Error::Check { file, place, found, expected } => {
                line += &format!("{}: {place}: found {found}, but {expected} follows", file.display());
            }
        }
        for c in line.chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        Ok(())
    }
}

/// What cannot fail needs no error; this lets `impl TryInto<T>` take a `T` itself.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_error_names_file_place_found_and_expected_in_one_line() {
        let error = Error::input(Path::new("edges.csv"), "line 3", "'a\nb'", "two ids");
        assert_eq!(error.to_string(), "edges.csv: line 3: found 'a\\nb', expected two ids");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn unknown_name_suggests_the_nearest() {
        let error = Error::unknown("data set", "coar", ["cora", "citeseer"]);
        assert_eq!(error.to_string(), "unknown data set 'coar', did you mean 'cora'?");
        let error = Error::unknown("data set", "zzz", ["cora", "citeseer"]);
        assert_eq!(error.to_string(), "unknown data set 'zzz', expected one of cora, citeseer");
    }
}
