#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load("heco", bytes));
