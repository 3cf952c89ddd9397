#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load(&["ind.n.graph", "ind.n.allx", "ind.n.tx", "ind.n.y", "ind.n.ally", "ind.n.ty", "ind.n.test.index", "ind.n.x"], bytes));
