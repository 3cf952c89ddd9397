#![no_main]

use std::sync::LazyLock;

use controlg::Graph;
use controlg::graph::Features;
use controlg::train::match_features_from_bytes;

static GRAPH: LazyLock<Graph> = LazyLock::new(|| {
    let features = Features::dense(3, 2, vec![1.0; 6]).expect("two features");
    Graph::from_edges(3, &[(0, 1), (1, 2)], features).expect("a path")
});

// The bytes of a model, which has the format of checkpoints.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = match_features_from_bytes(bytes, &GRAPH) {
        controlg_fuzz::check_message(&error);
    }
});
