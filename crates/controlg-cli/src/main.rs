//! The program; everything is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Where the system does not say where this program lies, it is looked for by its name.
    let again = std::env::current_exe().map_or("controlg".into(), Into::into);
    ExitCode::from(controlg_cli::main(std::env::args_os().collect(), vec![again]))
}
