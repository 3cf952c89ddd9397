//! The `controlg` program: what was typed (`args`), what it means (`commands`), and how it ends.
//!
//! A library, so that the Python package can be the program too.

mod args;
mod commands;
mod output;
mod picture;
mod progress;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::sync::OnceLock;

use clap::Parser;

/// How to start this program again; see [`main`].
static AGAIN: OnceLock<Vec<OsString>> = OnceLock::new();

/// Does what was typed, the program's name first, and gives the exit code. `again` are the words that start this
/// program anew, for runs in processes of their own.
pub fn main(typed: Vec<OsString>, again: Vec<OsString>) -> u8 {
    // A panic is a mistake of ours, never the user's: one line, no back-trace, the exit code of a failure.
    std::panic::set_hook(Box::new(|info| {
        let what = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        eprintln!("controlg: a mistake in controlg itself: {what}{place}; please report it");
    }));
    let _ = AGAIN.set(again); // a second call starts the same program
    let args = args::Args::parse_from(typed);
    let run = || {
        if let Some(threads) = args.common.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
            pool.map_err(|error| {
                controlg::Error::Failed(format!("cannot start {threads} threads: {error}"))
            })?;
        }
        commands::run(&args)
    };
    let code = match std::panic::catch_unwind(run) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            eprintln!("controlg: {error}");
            error.exit_code()
        }
        Err(_) => 3,
    };
    // Where the process is not ours, nobody else writes out what is left; where it cannot be, nobody reads it.
    let _ = std::io::stdout().flush();
    code
}

/// The words that start this program anew.
fn again() -> Vec<OsString> {
    AGAIN.get().cloned().unwrap_or_default()
}
