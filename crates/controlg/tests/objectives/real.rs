//! Training on real data sets.

use controlg::data::{FeatureSource, load_path};
use controlg::graph::norm;
use controlg::objective::OBJECTIVES;

use crate::bench::model;
use crate::common::real_data;
use crate::differences::WIDE;

/// Smaller samples than the defaults, to keep the test fast.
fn quick_table(name: &str) -> &'static str {
    match name {
        "p_minsg" => "batch = 512",
        "p_decor" => "width = 64",
        _ => "",
    }
}

#[test]
fn every_loss_decreases_on_cora_citeseer_and_chameleon() {
    if WIDE {
        return; // slow in f64, and precision does not matter here
    }
    let Some(data) = real_data("every_loss_decreases_on_cora_citeseer_and_chameleon") else { return };
    for name in ["cora", "citeseer", "chameleon"] {
        let graph = load_path(&data.join(name), FeatureSource::Given).unwrap().graph;
        let features = norm::divide_rows_by_sums(graph.features()).unwrap();
        let graph = graph.with_features(features).unwrap();
        for entry in OBJECTIVES {
            let start = std::time::Instant::now();
            let mut model =
                model(&graph, "width = 64", &[(entry.name, quick_table(entry.name))], 3e-3).unwrap();
            let before = model.losses(0).unwrap()[0];
            (0..40).for_each(|step| assert!(model.step(0, step).is_ok()));
            let after = model.losses(40).unwrap()[0];
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("{name} {}: {before:.4} to {after:.4} in {seconds:.2} s", entry.name);
            assert!(after < before, "{name} {}: {before} to {after}", entry.name);
        }
    }
}
