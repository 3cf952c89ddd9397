//! The objectives of the paper on a graph with types: gradients, type-correct negatives, and the case of one relation.

use controlg::objective::{OBJECTIVES, Purpose};
use controlg::train::Model;

use crate::bench::{Bench, model};
use crate::differences::check_groups;
use crate::{small, with_and_without_types};

/// Settings small enough for finite differences.
fn tables(name: &str) -> &'static [&'static str] {
    match name {
        "p_link" => {
            &["hidden = 5", "hidden = 5\nrelation_weights = 'equal'\nbatch = 6", "decoder = 'dot'\nmask = 0"]
        }
        "p_recon" => &["", "type_weights = 'equal'\ndrop_edges = 0.3", "decoder = 'linear'"],
        "p_minsg" => &["batch = 8", "batch = 8\nmetapaths = 'a-b-a, b-c-b-a'"],
        "p_decor" => &["width = 5"],
        _ => &["parts = 2"],
    }
}

#[test]
fn gradients_with_respect_to_parameters() {
    for directed in [false, true] {
        for encoder in ["kind = 'rgcn'\nwidth = 4", "width = 4"] {
            for entry in OBJECTIVES {
                for table in tables(entry.name) {
                    let bench = Bench::new(small(directed), encoder, entry.name, table);
                    for purpose in [Purpose::Training, Purpose::Sensing] {
                        let name = format!("{} {table:?} {encoder:?} {purpose:?}", entry.name);
                        check_groups(&name, &bench.params(), bench.n_learned(), &|tape, _| {
                            let augmented = bench.augmented();
                            let z = bench.encode(tape, &augmented);
                            bench.loss(tape, &augmented, &z, purpose)
                        });
                    }
                }
            }
        }
    }
}

fn pool() -> Vec<(&'static str, &'static str)> {
    OBJECTIVES.iter().map(|entry| (entry.name, "")).collect()
}

fn losses(model: &mut Model<'_>, steps: u64) -> Vec<u64> {
    let step = |step: u64| model.step(step as usize % OBJECTIVES.len(), step).unwrap().to_bits();
    (0..steps).map(step).collect()
}

/// Steps on a graph with one type and one relation are those on the graph without types, bit by bit.
#[test]
fn one_type_and_one_relation_train_like_no_types() {
    let [typed, plain] = with_and_without_types();
    for encoder in ["width = 12", "kind = 'sage'\nwidth = 12", "kind = 'rgcn'\nwidth = 12"] {
        let [a, b] = [&typed, &plain].map(|graph| {
            let mut model = model(graph, encoder, &pool(), 1e-3).unwrap();
            let losses = losses(&mut model, 15);
            (losses, model.embed().unwrap().0, model.measure(15).unwrap().rq)
        });
        assert!(a == b, "{encoder}");
    }
    let [sage, rgcn] = ["sage", "rgcn"].map(|kind| {
        losses(&mut model(&typed, &format!("kind = '{kind}'\nwidth = 12"), &pool(), 1e-3).unwrap(), 15)
    });
    assert_eq!(sage, rgcn);
}

/// With features that tell the communities of a block model, every loss falls.
#[test]
fn every_objective_trains() {
    let graph = crate::run::bipartite(160);
    for entry in OBJECTIVES {
        let mut model = model(&graph, "kind = 'rgcn'\nwidth = 16", &[(entry.name, "")], 1e-2).unwrap();
        let before = model.losses(0).unwrap()[0];
        (0..60).for_each(|step| {
            model.step(0, step).unwrap();
        });
        let after = model.losses(60).unwrap()[0];
        assert!(after < 0.95 * before, "{}: {before} {after}", entry.name);
    }
}

#[test]
fn wrong_meta_paths_are_errors() {
    let message = |graph: &controlg::graph::Graph, paths: &str| {
        let table = format!("metapaths = '{paths}'");
        model(graph, "width = 4", &[("p_minsg", &table)], 1e-3).err().unwrap().to_string()
    };
    let place = "objective.p_minsg.metapaths";
    let typed = small(false);
    assert_eq!(
        message(&typed, "a-d"),
        format!("{place}: found the node type d in 'a-d', expected types of the graph (a, b, c)")
    );
    let expected = "expected two or more types, each joined with the next by a relation";
    assert_eq!(message(&typed, "a-b-a,a-c"), format!("{place}: found 'a-c', {expected}"));
    let [_, plain] = with_and_without_types();
    assert_eq!(
        message(&plain, "a-b"),
        format!("{place}: found \"a-b\" on a graph without node types, expected \"\"")
    );
}

#[test]
fn a_relational_encoder_refuses_objectives_with_an_operator_of_their_own() {
    let graph = small(false);
    for (name, table) in [("mvgrl", ""), ("p_recon", "decoder = 'gat'")] {
        let error = model(&graph, "kind = 'rgcn'\nwidth = 4", &[(name, table)], 1e-3).err().unwrap();
        let expected = format!(
            "encoder.kind: found a relational encoder, expected an encoder without relations, such as gcn, for {name}"
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.exit_code(), 2);
    }
}
