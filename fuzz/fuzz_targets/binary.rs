#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load(&["graph.json", "adjacency.offsets.u64", "adjacency.columns.u32", "features.f32"], bytes));
