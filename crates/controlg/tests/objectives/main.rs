//! Tests of every objective: gradients, known values, sampling, errors and sensing.
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/differences.rs"]
mod differences;

mod baselines;
mod bench;
mod derivatives;
mod held_out;
mod pool;
mod real;
mod sensing;
mod training;
mod values;

use controlg::objective::all;
use controlg::setting::Range;

/// The settings under which an objective is tested, small enough for finite differences. Objectives not listed here are
/// tested with their defaults.
fn tables(name: &str) -> &'static [&'static str] {
    match name {
        "p_link" => &[
            "hidden = 5",
            "hidden = 5\nmean = 'joint'",
            "hidden = 5\nbatch = 4\nsense_batch = 60",
            "decoder = 'dot'",
            "decoder = 'dot'\nmean = 'joint'\nbatch = 7",
            "hidden = 5\nmask = 0",
            "hidden = 5\nrelation_weights = 'equal'",
            "hidden = 5\nmask = 0.4\ndropout = 0.3\nnegatives = 'degree'",
        ],
        "p_recon" => &[
            "",
            "exponent = 1",
            "mask = 0.8\nexponent = 2.5",
            "replace = 0.5",
            "drop_edges = 0.4",
            "mask = 0.7\nreplace = 0.3\ndrop_edges = 0.2",
            "remask = false\ndropout = 0.3",
            "decoder = 'gat'",
            "decoder = 'gat'\nremask = false\ninit = 'normal'\nmin_norm = 1e-12\ndropout = 0.2\nattention_dropout = 0.1",
            "decoder = 'linear'\ninit = 'normal'\nexponent = 2",
            "hidden = 3",
            "type_weights = 'equal'",
        ],
        "p_minsg" => &[
            "",
            "hops = 1\nbatch = 5",
            "readout = 'ego-mean'\nhops = 2",
            "readout = 'ego-mean'\nego_nodes = 3",
            "readout = 'node'",
            "similarity = 'dot'\ntemperature = 2",
            "head = 'none'",
            "symmetric = true",
            "intra_view = true",
            "symmetric = true\nintra_view = true\nhead = 'none'\nbatch = 8",
            "drop_edges = 0\nmask_features = 0",
            "hidden = 3",
        ],
        "p_decor" => &[
            "width = 5",
            "width = 5\nlambda = 1",
            "width = 3\nall_up_to = 0\nbatch = 8",
            "head = 'none'",
            "head = 'none'\nall_up_to = 11\nbatch = 9\ndrop_edges = 0",
            "width = 5\nloss = 'cca'",
            "head = 'none'\nloss = 'cca'\ndeviation = 'sample'\nall_up_to = 11\nbatch = 9",
            "width = 5\ndeviation = 'sample'",
        ],
        "p_par" => &["parts = 2", "parts = 2\nimbalance = 1.5\nseed = 4"],
        "grace" => &["projector = 5", "projector = 3\nbatch = 7\ntemperature = 1\ndrop_edges_2 = 0"],
        "gca" => {
            &["projector = 5", "projector = 3\nbatch = 7\ncentrality = 'pagerank'\nmask_features_1 = 0.5"]
        }
        "bgrl" => &["predictor = 5"],
        "graphmae" => &[
            "dropout = 0\nattention_dropout = 0",
            "mask = 0.7\nreplace = 0.3\ndrop_edges = 0.2\nexponent = 2.5",
        ],
        "mvgrl" => &["", "alpha = 0.5\nthreshold = 0.01"],
        "x_noise" => &["classes = 3"],
        "x_shuffle" => &["", "mask = 0.7\nseed = 2"],
        "x_memorize" => &["hidden = 5", "hidden = 5\nbatch = 4\nsense_batch = 60"],
        _ => &[""],
    }
}

/// Settings for training on a few hundred nodes.
fn trained_table(name: &str) -> &'static str {
    match name {
        "p_link" | "x_memorize" => "hidden = 32",
        "p_decor" => "width = 32",
        _ => "",
    }
}

#[test]
fn the_settings_cover_every_option() {
    for entry in all() {
        let given: Vec<toml::Table> = tables(entry.name).iter().map(|text| text.parse().unwrap()).collect();
        let defaults = (entry.defaults)().unwrap();
        for key in entry.keys {
            let used: Vec<&toml::Value> =
                given.iter().filter_map(|table| table.get(key.name)).chain(defaults.get(key.name)).collect();
            assert!(!used.is_empty(), "{}.{} has no default", entry.name, key.name);
            if let Range::OneOf(words) = key.range {
                let missing = words.iter().find(|word| !used.iter().any(|used| used.as_str() == Some(word)));
                assert_eq!(missing, None, "{}.{}", entry.name, key.name);
            }
            if let Range::Flag = key.range {
                let both = [true, false].map(|flag| used.iter().any(|used| used.as_bool() == Some(flag)));
                assert_eq!(both, [true; 2], "{}.{}", entry.name, key.name);
            }
        }
    }
}
