//! The program; all code is in the library next to it.

use std::process::ExitCode;

use controlg::train::memory::{self, ReusingAllocator};

#[global_allocator]
static ALLOCATOR: ReusingAllocator = ReusingAllocator;

fn main() -> ExitCode {
    memory::return_freed_blocks();
    // If the system does not tell the path of this executable, rely on PATH.
    let launcher = std::env::current_exe().map_or("controlg".into(), Into::into);
    ExitCode::from(controlg_cli::main(std::env::args_os().collect(), vec![launcher]))
}
