//! Attacks on the program: it is killed at any moment, its disk fails or is full, two of it write to one folder, and its files
//! are damaged. Whatever happens, it gives the right bytes, or exits with an error in one line, and the same command repeated
//! in peace gives the right bytes.
//!
//! The short form runs with all tests. The long form has 20 times as many cases: `CONTROLG_FAULTS=long cargo test -p
//! controlg-cli --test faults -- --nocapture`. Every test prints how many cases it tried.
#![cfg(unix)]

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod hostile;
mod io;
mod kills;
mod writers;
