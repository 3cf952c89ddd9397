#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load(&["adjM.npz", "node_types.npy", "features_0.npz", "features_1.npz", "features_2.npz", "labels.npy", "train_val_test_idx.npz"], bytes));
