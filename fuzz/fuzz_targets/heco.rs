#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load(&["pa.txt", "p_feat.npz", "a_feat.npz", "labels.npy", "train_20.npy", "val_20.npy", "test_20.npy"], bytes));
