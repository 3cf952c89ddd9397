//! The readout for runs of every kind, and for graphs that are embedded later: `embed.smooth`, Z + Âⁿ·Z, and feature channels.

use controlg::config::{Config, ConfigBuilder};
use controlg::data::{self, EdgeSplit};
use controlg::graph::{Dense, Graph};
use controlg::train::{self, RunFolder};
use controlg::{TrainedModel, pretrain};

const NODES: usize = 300;

fn graph() -> Graph {
    data::load(&format!("synthetic:nodes={NODES},features=40"), &Default::default()).unwrap().graph
}

fn settings(smooth: i64, more: &[(&str, toml::Value)]) -> ConfigBuilder {
    let config = Config::for_data("my graph").unwrap().width(8).epochs(1).steps_per_epoch(30);
    let config = config.set("embed.smooth", smooth).unwrap().set("objective.p_par.parts", 3).unwrap();
    let config = config.set("embed.channels", "equal").unwrap();
    more.iter().fold(config, |config, (name, value)| config.set(name, value.clone()).unwrap())
}

/// Z + Âⁿ·Z from the definitions, by loops over edges.
fn smoothed(z: &Dense, graph: &Graph, steps: usize) -> Vec<f64> {
    let (n, width, adjacency) = (z.n_rows(), z.n_cols(), graph.adjacency());
    let degree = |row: usize| 1.0 + adjacency.entries(row).map(|(_, weight)| f64::from(weight)).sum::<f64>();
    let degrees: Vec<f64> = (0..n).map(degree).collect();
    let z: Vec<f64> = z.data().iter().map(|x| f64::from(*x)).collect();
    let mut h = z.clone();
    for _ in 0..steps {
        let mut next = vec![0.0; n * width];
        for row in 0..n {
            let neighbors =
                adjacency.entries(row).map(|(column, weight)| (column as usize, f64::from(weight)));
            for (column, weight) in neighbors.chain([(row, 1.0)]) {
                let value = weight / (degrees[row] * degrees[column]).sqrt();
                for at in 0..width {
                    next[row * width + at] += value * h[column * width + at];
                }
            }
        }
        h = next;
    }
    z.iter().zip(&h).map(|(z, h)| z + h).collect()
}

fn assert_close(found: &Dense, expected: &[f64]) {
    assert_eq!(found.data().len(), expected.len());
    for (found, expected) in found.data().iter().zip(expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found} {expected}");
    }
}

/// Training does not see the readout, and `embed` gives the bytes of the run again.
fn check(graph: &Graph, visible: &Graph, more: &[(&str, toml::Value)]) {
    let plain = pretrain(graph, settings(0, more)).unwrap();
    for steps in [1, 3] {
        let model = pretrain(graph, settings(steps, more)).unwrap();
        assert_close(model.embeddings(), &smoothed(plain.embeddings(), visible, steps as usize));
        assert_eq!(model.embed(graph).unwrap(), *model.embeddings(), "{more:?}");
    }
}

#[test]
fn full_graph_runs_are_smoothed() {
    let graph = graph();
    check(&graph, &graph, &[]);
    check(&graph, &graph, &[("encoder.kind", "gat".into()), ("encoder.heads", 1.into())]);
    // An objective with a second network, whose representations are added first; and no training at all.
    check(&graph, &graph, &[("method", "mvgrl".into())]);
    check(&graph, &graph, &[("method", "untrained".into())]);
}

#[test]
fn mini_batch_runs_are_smoothed() {
    let graph = graph();
    let batches = [("train.batch", "cluster".into()), ("train.batch_nodes", 100.into())];
    check(&graph, &graph, &batches);
}

#[test]
fn link_prediction_runs_are_smoothed_over_training_edges() {
    let graph = graph();
    let visible = EdgeSplit::draw(&graph, 0).unwrap().training_graph(&graph).unwrap();
    assert!(visible.n_edges() < graph.n_edges());
    check(&graph, &visible, &[("edges", "train".into())]);
}

/// Feature channels beside the representations: 12 + 3 · 16 columns, and the same bytes again for the same graph.
#[test]
fn feature_channels_are_embedded_again() {
    let graph = graph();
    let channels = [("embed.features", 16.into()), ("embed.channels", "weighted".into())];
    let runs: [&[(&str, toml::Value)]; 6] = [
        &[],
        &[("edges", "train".into())],
        &[("method", "untrained".into())],
        &[("method", "mvgrl".into())],
        &[("train.batch", "cluster".into()), ("train.batch_nodes", 100.into())],
        &[("encoder.kind", "sage".into()), ("embed.smooth", 2.into())],
    ];
    for more in runs {
        let config = channels.iter().chain(more);
        let config = config.fold(settings(0, &[("encoder.width", 12.into())]), |config, (name, value)| {
            config.set(name, value.clone()).unwrap()
        });
        let model = pretrain(&graph, config).unwrap();
        assert_eq!(model.embeddings().n_cols(), 12 + 3 * 16, "{more:?}");
        assert_eq!(model.embed(&graph).unwrap(), *model.embeddings(), "{more:?}");
        let home = tempfile::tempdir().unwrap();
        model.save(home.path().join("run")).unwrap();
        let loaded = TrainedModel::load(home.path().join("run")).unwrap();
        assert_eq!(loaded.embed(&graph).unwrap(), *model.embeddings(), "{more:?}");
    }
}

#[test]
fn run_folders_hold_smoothed_embeddings() {
    let (graph, home) = (graph(), tempfile::tempdir().unwrap());
    let config = settings(2, &[]).build().unwrap();
    let run = home.path().join("run");
    RunFolder::open(&run, &config, false).unwrap().pretrain(&graph, |_| {}).unwrap();
    let loaded = TrainedModel::load(&run).unwrap();
    assert_eq!(loaded.config().embed.smooth, 2);
    assert_eq!(loaded.embeddings(), pretrain(&graph, &config).unwrap().embeddings());
    assert_eq!(train::embed(&run, &graph).unwrap(), *loaded.embeddings());
    train::embed_into(&run, &graph, &home.path().join("again")).unwrap();
    let bytes = |folder: &str| std::fs::read(home.path().join(folder).join("embeddings.npy")).unwrap();
    assert!(bytes("run") == bytes("again"));
}

#[test]
fn the_memory_estimate_includes_smoothing() {
    let graph = data::load("synthetic:nodes=20000,degree=40,features=10", &Default::default()).unwrap().graph;
    let embedding = |smooth: i64, batch: &str| {
        let more =
            [("encoder.width", 256.into()), ("train.batch", batch.into()), ("train.quality", false.into())];
        let config = settings(smooth, &more);
        train::memory::need(&graph, &config.build().unwrap()).unwrap().embedding
    };
    // Two more matrices and the operator; in blocks, the rows that a block reaches.
    let matrix = 20_000 * 256 * 4;
    assert!(embedding(2, "full") > 3 * matrix);
    assert!(embedding(2, "cluster") > embedding(0, "cluster") / 2);
    assert!(embedding(2, "cluster") < embedding(2, "full"));
}
