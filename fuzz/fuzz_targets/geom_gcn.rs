#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controlg_fuzz::load(&["out1_graph_edges.txt", "out1_node_feature_label.txt", "n_split_0.6_0.2_0.npz"], bytes));
