#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load(&["nodes/a.csv", "nodes/b.csv", "edges/a-r-b.csv", "edges/b-s-b.csv", "splits.csv"], bytes));
