//! The `controlg` program: argument parsing (`args`), one module per command (`commands`), exit codes.
//!
//! This is a library so that the Python package can provide the same program.

mod args;
mod commands;
mod console;
mod interrupt;
mod launch;
mod png;
mod progress;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::sync::OnceLock;

use clap::Parser;
use controlg::collective::{Collective, Ranks};
use controlg::{Error, Result};

/// Command that starts this program; see [`main`].
static LAUNCHER: OnceLock<Vec<OsString>> = OnceLock::new();

/// The arguments of this program, without its name.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Runs the program with `argv` (program name first) and returns the exit code. `launcher` is the command that starts
/// this program again, used to run jobs in child processes. Started by `mpirun`, it is one of several ranks.
pub fn main(argv: Vec<OsString>, launcher: Vec<OsString>) -> u8 {
    match launch::Launch::detect() {
        Ok(launch) => {
            let exit = run_on_ranks(argv, launcher, Ranks::new(launch.collective()));
            launch.end(exit)
        }
        Err(error) => {
            print_error(&error.to_string());
            error.exit_code()
        }
    }
}

/// [`main`] as one of several ranks, which are all started with the same arguments.
pub fn main_on_ranks(argv: Vec<OsString>, launcher: Vec<OsString>, collective: &dyn Collective) -> u8 {
    run_on_ranks(argv, launcher, Ranks::new(collective)).code
}

/// How a rank ends.
#[derive(Clone, Copy)]
struct Exit {
    code: u8,
    /// Whether all ranks end in this way.
    by_all: bool,
}

fn run_on_ranks(argv: Vec<OsString>, launcher: Vec<OsString>, ranks: Ranks<'_>) -> Exit {
    // A panic is a bug: print one line without a backtrace.
    std::panic::set_hook(Box::new(|info| {
        let message = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        print_error(&format!("internal error (a bug in controlg): {message}{place}; please report it"));
    }));
    let _ = LAUNCHER.set(launcher); // already set on a second call in the same process
    let _ = ARGUMENTS.set(argv.iter().skip(1).cloned().collect());
    let args = match args::Args::try_parse_from(argv) {
        Ok(args) => args,
        Err(usage) if ranks.is_first() => return Exit { code: print_usage(&usage), by_all: true },
        Err(usage) => return Exit { code: if usage.use_stderr() { 2 } else { 0 }, by_all: true },
    };
    let run = || -> Result<()> {
        if let Some(threads) = args.common.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
            pool.map_err(|error| Error::Failed(format!("cannot start {threads} threads: {error}")))?;
        }
        commands::run(&args, ranks)
    };
    let exit = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(Ok(())) => Exit { code: 0, by_all: true },
        Ok(Err(error)) => {
            let by_all = matches!(error, Error::OnRank { .. } | Error::Interrupted(_));
            match ranks.is_first() {
                true => print_error(&error.to_string()),
                // Rank 0 prints what all ranks know.
                false if by_all => {}
                false => print_error(&format!("rank {}: {error}", ranks.rank())),
            }
            Exit { code: error.exit_code(), by_all }
        }
        Err(_) => Exit { code: 3, by_all: false },
    };
    // Under Python the process lives on, so flush here. A closed stdout is not an error.
    let _ = std::io::stdout().flush();
    if exit.by_all {
        // A launcher ends the other ranks when one has failed, but rank 0 is to print first.
        let _ = ranks.barrier();
    }
    exit
}

/// Prints an error in one line, written at once, so that lines of several processes do not mix.
fn print_error(message: &str) {
    let line = format!("controlg: {}\n", controlg::error::bounded(message));
    // A closed stderr is not an error.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Prints help, the version, or what is wrong with the arguments. Returns the exit code.
fn print_usage(usage: &clap::Error) -> u8 {
    if !usage.use_stderr() {
        // A closed stdout is not an error.
        let _ = usage.print();
        return 0;
    }
    let text = usage.render();
    let longest = text.to_string().lines().map(str::len).max().unwrap_or(0);
    if longest > 4096 {
        // Arguments are repeated in the text.
        let lines = text.to_string().lines().map(controlg::error::bounded).collect::<Vec<_>>().join("\n");
        let _ = std::io::stderr().write_all((lines + "\n").as_bytes());
    } else {
        let _ = usage.print();
    }
    2
}

/// Command that starts this program.
fn launcher() -> Vec<OsString> {
    LAUNCHER.get().cloned().unwrap_or_default()
}

/// The arguments of this program, without its name.
fn arguments() -> Vec<OsString> {
    ARGUMENTS.get().cloned().unwrap_or_default()
}
