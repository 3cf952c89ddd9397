//! Where results and remarks go: results to standard output, remarks to standard error.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use controlg::{Error, Result};

use crate::args::CommonArgs;

/// How this run speaks.
pub(crate) struct Output {
    /// One JSON document instead of text.
    pub(crate) json: bool,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(common: &CommonArgs) -> Self {
        Output { json: common.json, quiet: common.quiet }
    }

    /// Prints a result: as JSON, or as text when that is what the user reads.
    pub(crate) fn result(&self, json: &impl serde::Serialize, text: impl Display) -> Result<()> {
        let mut line = if self.json {
            serde_json::to_string_pretty(json)
                .map_err(|error| Error::Failed(format!("a result that JSON cannot hold: {error}")))?
        } else {
            text.to_string()
        };
        if !line.ends_with('\n') {
            line.push('\n');
        }
        let mut out = std::io::stdout().lock();
        match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            // Whoever reads us has seen enough (`controlg list | head`).
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Error::io("writing to standard output", error)),
            Ok(()) => Ok(()),
        }
    }

    /// Shows on a terminal how far something is, in the place of what was shown before. What would wrap or scroll could
    /// not be replaced: it is cut.
    pub(crate) fn status(&self, text: impl Display) {
        if !self.quiet {
            let size = terminal_size::terminal_size_of(std::io::stderr());
            let (width, height) = size.map_or((80, 24), |(w, h)| (usize::from(w.0), usize::from(h.0)));
            let text = text.to_string();
            let fits = |line: &str| line.chars().take(width.saturating_sub(1)).collect::<String>();
            let lines: Vec<String> = text.lines().take(height.saturating_sub(1).max(1)).map(fits).collect();
            // The cursor waits where the next status begins.
            let back = if lines.len() > 1 { format!("\x1b[{}A\r", lines.len() - 1) } else { String::new() };
            let _ = write!(std::io::stderr(), "\r\x1b[J{}{back}", lines.join("\r\n"));
        }
    }

    /// Says something that is not the result.
    pub(crate) fn remark(&self, text: impl Display) {
        if !self.quiet {
            // A closed standard error is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}
