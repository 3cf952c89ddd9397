//! The `controlg` program.

fn main() {}
