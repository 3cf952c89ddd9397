//! The `controlg` program: what was typed ([`args`]), what it means ([`commands`]), and how it ends.

mod args;
mod commands;
mod output;
mod picture;
mod progress;
mod watch;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // A panic is a mistake of ours, never the user's: one line, no back-trace, the exit code of a failure.
    std::panic::set_hook(Box::new(|info| {
        let what = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        eprintln!("controlg: a mistake in controlg itself: {what}{place}; please report it");
    }));
    let args = args::Args::parse();
    let run = || {
        if let Some(threads) = args.common.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
            pool.map_err(|error| {
                controlg::Error::Failed(format!("cannot start {threads} threads: {error}"))
            })?;
        }
        commands::run(&args)
    };
    match std::panic::catch_unwind(run) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("controlg: {error}");
            ExitCode::from(error.exit_code())
        }
        Err(_) => ExitCode::from(3),
    }
}
