//! Ctrl-C and termination signals.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use controlg::{Error, Result};

/// Exit code of an interrupted program, as shells report it.
const INTERRUPTED: i32 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

/// Makes the first signal set the returned flag, so that work can stop in good order. A second signal ends the process.
pub(crate) fn stop_flag() -> Result<&'static AtomicBool> {
    handle(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    })?;
    Ok(&STOP)
}

/// Makes a signal print a message and end the process.
pub(crate) fn exit_with(message: String) -> Result<()> {
    handle(move || {
        // A closed stderr is not an error.
        let _ = writeln!(std::io::stderr(), "\r\x1b[Kcontrolg: {message}");
        std::process::exit(INTERRUPTED);
    })
}

fn handle(action: impl FnMut() + 'static + Send) -> Result<()> {
    match ctrlc::set_handler(action) {
        // A second command in the same process keeps the first handler.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(Error::Failed(format!("cannot handle signals: {error}"))),
    }
}
