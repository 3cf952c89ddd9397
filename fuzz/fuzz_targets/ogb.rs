#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load(&["raw/edge.csv", "raw/node-feat.csv", "raw/node-label.csv", "raw/num-node-list.csv", "split/time/train.csv", "split/time/valid.csv", "split/time/test.csv"], bytes));
