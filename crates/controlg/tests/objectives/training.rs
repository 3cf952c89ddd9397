//! Reproducible draws, finite and falling losses, graphs that objectives reject.

use controlg::graph::{Features, Graph};
use controlg::objective::all;

use crate::bench::{block_model, model};
use crate::common::{graph, numbers};
use crate::{tables, trained_table};

const ENCODER: &str = "width = 32";

fn pool_of_all() -> Vec<(&'static str, &'static str)> {
    all().map(|entry| (entry.name, trained_table(entry.name))).collect()
}

/// A graph with normally distributed features.
fn dense(n: usize, edges: Vec<(u32, u32)>) -> Graph {
    graph(edges, Features::dense(n, 6, numbers(1, n * 6)).unwrap())
}

#[test]
fn losses_depend_on_the_seed_but_not_on_the_other_objectives() {
    let graph = block_model(":nodes=200,features=60");
    let mut pools = [pool_of_all(), pool_of_all()];
    pools[1].reverse();
    for entry in all() {
        let alone = vec![(entry.name, trained_table(entry.name))];
        let mut seen = Vec::new();
        for pool in [&alone, &alone, &pools[0], &pools[1]] {
            let task = pool.iter().position(|member| member.0 == entry.name).unwrap();
            let mut model = model(&graph, ENCODER, pool, 1e-3).unwrap();
            let mut losses = vec![model.losses(0).unwrap()[task]];
            losses.extend((0..4).map(|step| model.step(task, step).unwrap()));
            losses.push(model.losses(4).unwrap()[task]);
            // The encoder, its head and its auxiliary network.
            let groups = model.params().groups().iter();
            let own = [entry.name, &format!("{}.second", entry.name), "encoder"];
            let params =
                groups.filter(|group| own.contains(&group.name())).map(|group| group.data().to_vec());
            seen.push((losses, params.collect::<Vec<_>>()));
        }
        let first = seen[0].clone();
        assert!(seen.into_iter().all(|other| other == first), "{}", entry.name);
    }
}

#[test]
fn every_step_draws_anew() {
    let graph = block_model(":nodes=200,features=60");
    for entry in all() {
        let mut losses: Vec<f64> = Vec::new();
        for step in 0..2 {
            let mut model = model(&graph, ENCODER, &[(entry.name, trained_table(entry.name))], 0.0).unwrap();
            losses.push(model.step(0, step).unwrap());
        }
        // The partition and the random classes do not change between steps.
        let fresh = !["p_par", "x_noise"].contains(&entry.name);
        assert_eq!(losses[0].to_bits() != losses[1].to_bits(), fresh, "{}: {losses:?}", entry.name);
    }
}

#[test]
fn sparse_graphs_and_empty_features_give_finite_losses() {
    let path = (0..29).map(|u| (u, u + 1)).collect();
    let star = (1..25).map(|leaf| (0, leaf)).collect();
    let blank = graph(vec![(0, 1), (2, 3)], Features::dense(24, 6, vec![0.0; 24 * 6]).unwrap());
    let graphs = [
        ("one edge", dense(40, vec![(3, 7)])),
        ("three nodes", dense(3, vec![(0, 1)])),
        ("a path", dense(30, path)),
        ("a star and isolated nodes", dense(40, star)),
        ("no features", blank),
    ];
    for (kind, graph) in &graphs {
        for entry in all() {
            for norm in ["batch", "none"] {
                let parts = if entry.name == "p_par" { "parts = 2" } else { trained_table(entry.name) };
                let encoder = format!("width = 8\nnorm = '{norm}'");
                let mut model = model(graph, &encoder, &[(entry.name, parts)], 1e-2).unwrap();
                for step in 0..5 {
                    let loss = model.step(0, step).unwrap();
                    assert!(loss.is_finite(), "{} on {kind}, {norm}, step {step}: {loss}", entry.name);
                }
                let params = model.params().groups().iter().flat_map(|group| group.data());
                assert!(params.clone().all(|x| x.is_finite()), "{} on {kind}, {norm}", entry.name);
                let reading = model.measure(5).unwrap();
                let found = [reading.loss[0], reading.grad_norm[0], reading.rq[0]];
                assert!(found.iter().all(|x| x.is_finite()), "{} on {kind}, {norm}: {found:?}", entry.name);
            }
        }
    }
}

#[test]
fn negatives_of_a_nearly_complete_graph_are_drawn_quickly() {
    let pairs = (0..1200).flat_map(|u| (0..u).map(move |v| (v, u))).filter(|&pair| pair != (7, 900));
    let graph = dense(1200, pairs.collect());
    let mut model = model(&graph, "width = 8", &[("p_link", "hidden = 5")], 1e-3).unwrap();
    assert!(model.step(0, 0).unwrap().is_finite());
}

#[test]
fn every_loss_falls_in_fifty_steps() {
    let graph = block_model(":nodes=300,features=200");
    for entry in all() {
        for table in tables(entry.name) {
            let mut model = model(&graph, ENCODER, &[(entry.name, table)], 3e-3).unwrap();
            let before = model.losses(0).unwrap()[0];
            (0..50).for_each(|step| assert!(model.step(0, step).is_ok()));
            let after = model.losses(50).unwrap()[0];
            assert!(after < before, "{} {table:?}: {before} to {after}", entry.name);
        }
    }
}

#[test]
fn a_nan_loss_is_an_error_and_changes_nothing() {
    let graph = dense(12, vec![(0, 1), (2, 3)]);
    let mut model =
        model(&graph, "width = 8\nnorm = 'none'", &[("p_link", "decoder = 'dot'")], 1e-3).unwrap();
    model.params_mut().group_mut(0).data_mut()[0] = controlg::Real::NAN;
    let (params, state) = (format!("{:?}", model.params()), model.optimizers()[0].to_bytes());
    let message = "the loss of p_link became NaN at step 7; a smaller train.lr or train.clip may help";
    assert_eq!(model.step(0, 7).unwrap_err().to_string(), message);
    assert_eq!(model.measure(7).unwrap_err().to_string(), message);
    assert_eq!((params, state), (format!("{:?}", model.params()), model.optimizers()[0].to_bytes()));
}

#[test]
fn unsuitable_graphs_are_errors_that_name_the_objective() {
    let complete = (0..4).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    let wide_star = || (1..2300).map(|leaf| (0, leaf)).collect();
    let cases = [
        (
            "p_link",
            "",
            dense(5, vec![]),
            "objective p_link: found a graph without edges, expected at least one edge to predict",
        ),
        (
            "p_link",
            "",
            dense(4, complete),
            "objective p_link: found a graph with every possible edge, expected a pair of nodes without an edge",
        ),
        (
            "p_recon",
            "mask = 0.1",
            dense(9, vec![(0, 1)]),
            "objective p_recon: found 9 nodes with objective.p_recon.mask = 0.1, expected at least one masked node",
        ),
        (
            "p_minsg",
            "",
            dense(1, vec![]),
            "objective p_minsg: found one node, expected at least two nodes to contrast",
        ),
        (
            "p_minsg",
            "readout = 'ego-mean'",
            dense(2300, wide_star()),
            "objective.p_minsg.readout: found ego-mean with neighborhoods of more than 5000000 nodes in total, expected \
             walk-mean, or a limit such as objective.p_minsg.ego_nodes = 64",
        ),
        ("p_decor", "", dense(1, vec![]), "objective p_decor: found one node, expected at least two nodes"),
        ("p_par", "", dense(1, vec![]), "objective p_par: found one node, expected at least two nodes"),
    ];
    for (name, table, graph, message) in &cases {
        let Err(error) = model(graph, "width = 4", &[(name, table)], 1e-3) else {
            panic!("{name} accepted the graph, expected: {message}")
        };
        assert_eq!((error.to_string().as_str(), error.exit_code()), (*message, 2));
    }
    let limited = "readout = 'ego-mean'\nego_nodes = 64";
    assert!(model(&dense(2300, wide_star()), "width = 4", &[("p_minsg", limited)], 1e-3).is_ok());
}

#[test]
fn settings_out_of_range_are_errors_that_name_them() {
    for (name, table, message) in [
        (
            "p_minsg",
            "temperature = 0",
            "objective.p_minsg.temperature: found 0.0, expected a number from 0.001 to 100",
        ),
        ("p_decor", "batch = 1", "objective.p_decor.batch: found 1, expected 2 to 1073741824"),
        ("p_par", "parts = 1", "objective.p_par.parts: found 1, expected 2 to 1048576"),
        ("p_link", "decoder = 'net'", "objective.p_link.decoder: found \"net\", expected mlp, dot"),
        (
            "p_recon",
            "maks = 0.5",
            "unknown setting 'objective.p_recon.maks', did you mean 'objective.p_recon.mask'?",
        ),
        ("p_recon", "mask = 1", "objective.p_recon.mask: found 1.0, expected at least 0.000001 and below 1"),
        ("p_lnik", "", "unknown objective 'p_lnik', did you mean 'p_link'?"),
    ] {
        let Err(error) = controlg::objective::build(name, table.parse().unwrap()) else {
            panic!("{name} {table}")
        };
        assert_eq!(error.to_string(), message);
    }
}
