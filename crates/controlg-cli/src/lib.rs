//! The `controlg` program: argument parsing (`args`), one module per command (`commands`), exit codes.
//!
//! This is a library so that the Python package can provide the same program.

mod args;
mod commands;
mod console;
mod interrupt;
mod png;
mod progress;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::sync::OnceLock;

use clap::Parser;

/// Command that starts this program; see [`main`].
static LAUNCHER: OnceLock<Vec<OsString>> = OnceLock::new();

/// Runs the program with `argv` (program name first) and returns the exit code. `launcher` is the command that starts
/// this program again, used to run jobs in child processes.
pub fn main(argv: Vec<OsString>, launcher: Vec<OsString>) -> u8 {
    // A panic is a bug: print one line without a backtrace.
    std::panic::set_hook(Box::new(|info| {
        let message = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        print_error(&format!("internal error (a bug in controlg): {message}{place}; please report it"));
    }));
    let _ = LAUNCHER.set(launcher); // already set on a second call in the same process
    let args = match args::Args::try_parse_from(argv) {
        Ok(args) => args,
        Err(usage) => return print_usage(&usage),
    };
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
            print_error(&error.to_string());
            error.exit_code()
        }
        Err(_) => 3,
    };
    // Under Python the process lives on, so flush here. A closed stdout is not an error.
    let _ = std::io::stdout().flush();
    code
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
