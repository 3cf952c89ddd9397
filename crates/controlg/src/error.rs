//! Errors, with messages that users can act on.
//!
//! An input error names the file, the place in it, what was found and what was expected, in one line. The program prints
//! it and maps it to an exit code.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// The result type of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// The error type of this library.
#[derive(Debug)]
pub enum Error {
    /// Invalid input: a file, folder or value.
    Input {
        /// The file or folder, if any.
        file: Option<PathBuf>,
        /// The place in it: a line, a key, a node id; empty for the whole file.
        place: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// An unknown name.
    Unknown {
        /// The kind of name: `data set`, `setting`, …
        what: &'static str,
        /// The name as given.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// An I/O failure, such as a full disk or a broken connection.
    Io {
        /// What was being done, with the path or address.
        doing: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Work that was stopped on request and can be continued.
    Interrupted(String),
    /// A computation that cannot continue.
    Failed(String),
    /// An error of one rank of a run, which all ranks know; see [`collective`](crate::collective).
    OnRank {
        /// The rank that failed first.
        rank: usize,
        /// Its exit code.
        code: u8,
        /// Its message.
        message: String,
    },
    /// A requested check that failed.
    Check {
        /// The file that was checked.
        file: PathBuf,
        /// The place in it.
        place: String,
        /// What was found.
        found: String,
        /// What the rest of the file implies.
        expected: String,
    },
}

impl Error {
    /// Invalid content of a file.
    pub fn input(file: &Path, place: impl Display, found: impl Display, expected: impl Display) -> Self {
        Error::Input {
            file: Some(file.to_owned()),
            place: place.to_string(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// An invalid value outside of a file: an argument, a setting, an array in memory.
    pub fn value(place: impl Display, found: impl Display, expected: impl Display) -> Self {
        Error::Input {
            file: None,
            place: place.to_string(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// A name that is not among the `known` ones.
    pub fn unknown<'a>(
        what: &'static str,
        name: impl Into<String>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Error::Unknown { what, name: name.into(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// An I/O failure while `doing` something.
    pub fn io(doing: impl Display, source: std::io::Error) -> Self {
        Error::Io { doing: doing.to_string(), source }
    }

    /// A file that cannot be read: an input error if it is missing or not permitted, an I/O failure otherwise.
    pub fn reading(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::NotFound => Error::input(path, "", "no such file", "an existing file"),
            std::io::ErrorKind::PermissionDenied => {
                Error::input(path, "", "permission denied", "a readable file")
            }
            _ => Error::io(format_args!("reading {}", path.display()), source),
        }
    }

    /// The exit code of the program: 1 for a failed check, 2 for wrong usage or invalid input, 3 for a runtime failure,
    /// 130 for an interrupt.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Check { .. } => 1,
            Error::Input { .. } | Error::Unknown { .. } => 2,
            Error::Io { .. } | Error::Failed(_) => 3,
            Error::Interrupted(_) => 130,
            Error::OnRank { code, .. } => *code,
        }
    }
}

/// The start of a message: `file: place: `, or `file:17: ` for a line, which editors and terminals make a link.
fn location(file: Option<&Path>, place: &str) -> String {
    let Some(file) = file.map(Path::display) else {
        return if place.is_empty() { String::new() } else { format!("{place}: ") };
    };
    let line = place.strip_prefix("line ").map(|rest| rest.split_once(", ").unwrap_or((rest, "")));
    match line.filter(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())) {
        Some((number, "")) => format!("{file}:{number}: "),
        Some((number, rest)) => format!("{file}:{number}: {rest}: "),
        None if place.is_empty() => format!("{file}: "),
        None => format!("{file}: {place}: "),
    }
}

/// The name that is probably meant; `None` if all are too different.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let similar = known.map(|known| (strsim::jaro_winkler(name, known), known));
    let nearest = similar.reduce(|best, next| if next.0 < best.0 { best } else { next });
    nearest.filter(|(similarity, _)| *similarity > 0.8).map(|(_, known)| known)
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Control characters from input are escaped, so a message is always one line.
        let mut line = String::new();
        match self {
            Error::Input { file, place, found, expected } => {
                line += &location(file.as_deref(), place);
                line += &format!("found {found}, expected {expected}");
            }
            Error::Unknown { what, name, known } => {
                line += &format!("unknown {what} '{name}'");
                match nearest(name, known.iter().map(String::as_str)) {
                    Some(near) => line += &format!(", did you mean '{near}'?"),
                    None => line += &format!(", expected one of {}", known.join(", ")),
                }
            }
            Error::Io { doing, source } => line += &format!("{doing}: {source}"),
            Error::Failed(words) | Error::Interrupted(words) => line += words,
            Error::OnRank { rank: 0, message, .. } => line += message,
            Error::OnRank { rank, message, .. } => line += &format!("rank {rank}: {message}"),
            Error::Check { file, place, found, expected } => {
                let location = location(Some(file), place);
                line += &format!("{location}found {found}, but {expected} follows");
            }
        }
        let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        f.write_str(&bounded(&line.chars().map(escape).collect::<String>()))
    }
}

/// The longest message, in characters.
const LONGEST: usize = 1000;

/// A message without its middle if it is very long: the start tells the place, the end what was expected.
pub fn bounded(line: &str) -> String {
    let n = line.chars().count();
    if n <= LONGEST {
        return line.to_owned();
    }
    let start: String = line.chars().take(LONGEST / 2).collect();
    let end: String = line.chars().skip(n - LONGEST / 3).collect();
    format!("{start}… ({} characters) …{end}", n - start.chars().count() - end.chars().count())
}

/// Lets functions that take `impl TryInto<T>` accept a `T`.
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
    fn input_errors_name_file_place_found_and_expected_in_one_line() {
        let error = Error::input(Path::new("edges.csv"), "line 3", "'a\nb'", "two ids");
        assert_eq!(error.to_string(), "edges.csv:3: found 'a\\nb', expected two ids");
        assert_eq!(error.exit_code(), 2);
        for (place, location) in [
            ("", "x.csv: "),
            ("line 3, column 2", "x.csv:3: column 2: "),
            ("line of ids", "x.csv: line of ids: "),
            ("row 7", "x.csv: row 7: "),
        ] {
            let message = Error::input(Path::new("x.csv"), place, "a", "b").to_string();
            assert_eq!(message, format!("{location}found a, expected b"));
        }
    }

    #[test]
    fn long_messages_lose_their_middle() {
        let found = format!("'{}'", "é".repeat(100_000));
        let message = Error::input(Path::new("x.csv"), "line 1", found, "a number").to_string();
        assert!(message.starts_with("x.csv:1: found 'éé") && message.ends_with("éé', expected a number"));
        assert!(message.contains("characters) …") && message.chars().count() < 1100, "{}", message.len());
    }

    #[test]
    fn unknown_names_suggest_the_nearest() {
        let error = Error::unknown("data set", "coar", ["cora", "citeseer"]);
        assert_eq!(error.to_string(), "unknown data set 'coar', did you mean 'cora'?");
        let error = Error::unknown("data set", "zzz", ["cora", "citeseer"]);
        assert_eq!(error.to_string(), "unknown data set 'zzz', expected one of cora, citeseer");
    }
}
