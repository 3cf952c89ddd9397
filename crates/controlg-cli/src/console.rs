//! Terminal output: results on stdout, log messages and progress on stderr.

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;

use controlg::{Error, Result};

use crate::args::CommonArgs;

/// A path in a JSON document, with replacements for what is not UTF-8.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Output settings of this process.
pub(crate) struct Console {
    /// Print results as JSON instead of text.
    pub(crate) json: bool,
    quiet: bool,
    /// Print nothing at all.
    silent: bool,
}

impl Console {
    /// The output of rank 0, or of another rank, which prints nothing.
    pub(crate) fn new(common: &CommonArgs, is_first: bool) -> Self {
        Console { json: common.json, quiet: common.quiet || !is_first, silent: !is_first }
    }

    /// Prints a result as JSON or as text.
    pub(crate) fn result(&self, json: &impl serde::Serialize, text: impl Display) -> Result<()> {
        if self.silent {
            return Ok(());
        }
        let mut line = if self.json {
            serde_json::to_string_pretty(json)
                .map_err(|error| Error::Failed(format!("cannot write the result as JSON: {error}")))?
        } else {
            text.to_string()
        };
        if !line.ends_with('\n') {
            line.push('\n');
        }
        let mut out = std::io::stdout().lock();
        match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            // The reader has closed the pipe (`controlg list | head`).
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Error::io("writing to standard output", error)),
            Ok(()) => Ok(()),
        }
    }

    /// Replaces the status shown on the terminal. Text that would wrap or scroll is cut, since it could not be replaced.
    pub(crate) fn status(&self, text: impl Display) {
        if !self.quiet {
            let size = terminal_size::terminal_size_of(std::io::stderr());
            let (width, height) = size.map_or((80, 24), |(w, h)| (usize::from(w.0), usize::from(h.0)));
            let text = text.to_string();
            let fits = |line: &str| line.chars().take(width.saturating_sub(1)).collect::<String>();
            let lines: Vec<String> = text.lines().take(height.saturating_sub(1).max(1)).map(fits).collect();
            // Leave the cursor where the next status starts.
            let back = if lines.len() > 1 { format!("\x1b[{}A\r", lines.len() - 1) } else { String::new() };
            let _ = write!(std::io::stderr(), "\r\x1b[J{}{back}", lines.join("\r\n"));
        }
    }

    /// Prints a log message unless `--quiet` is set.
    pub(crate) fn log(&self, text: impl Display) {
        if !self.quiet {
            // A closed stderr is not an error.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}
