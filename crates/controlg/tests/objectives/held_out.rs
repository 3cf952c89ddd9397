//! Held-out samples: training never uses them, and gains measured on them predict real steps.

use controlg::graph::Graph;
use controlg::objective::{Purpose, STRESS};
use controlg::tensor::{Grads, OptimizerSettings, Pool, Tape};
use controlg::train::{Model, ModelSpec, NamedObjective};
use controlg::{Real, Result};

use crate::bench::{Bench, block_model, network, objective, spec};
use crate::common::{edges, graph, sparse_features};
use crate::differences::forever;
use crate::trained_table;

const PAPER: [&str; 5] = ["p_link", "p_recon", "p_minsg", "p_decor", "p_par"];

fn model<'g>(graph: &'g Graph, names: &[&str], share: f64, seed: u64) -> Result<Model<'g>> {
    let named = |name: &&str| NamedObjective {
        name: (*name).to_owned(),
        objective: objective(name, trained_table(name)),
    };
    // Without momentum one step has its whole effect at once.
    let optimizer = OptimizerSettings { rate: 1e-4, beta1: 0.0, ..OptimizerSettings::default() };
    let spec = spec(network("width = 32"), names.iter().map(named).collect(), 0.0);
    Model::new(graph, None, ModelSpec { optimizer, seed, held_out: share, ..spec })
}

/// The nodes where the gradient of a loss with respect to the first view's embeddings is not zero.
fn support(bench: &Bench, purpose: Purpose) -> Vec<bool> {
    let params = forever(bench.params_at_z());
    let mut grads = Grads::new(params);
    let mut tape = Tape::new(params, forever(Pool::new()));
    let z = tape.group(0);
    let n = tape.shape(z[0]).0;
    let loss = bench.loss(&mut tape, &bench.augmented(), &z, purpose);
    tape.backward(loss, &mut grads);
    let width = 4;
    let first: Vec<Real> = grads.group(0).expect("a gradient")[..n * width].to_vec();
    first.chunks(width).map(|row| row.iter().any(|&x| x != 0.0)).collect()
}

#[test]
fn training_and_held_out_losses_use_different_nodes() {
    for (name, table, every_node) in [
        ("p_recon", "decoder = 'linear'", false),
        ("p_minsg", "readout = 'node'\nhead = 'none'", true),
        ("p_decor", "width = 5", true),
        ("p_par", "parts = 2", true),
        ("x_noise", "classes = 3", true),
    ] {
        let graph = graph(edges(), sparse_features(6));
        let bench = Bench::holding_out(graph, "width = 4", name, table, 0.3);
        let [training, sensing, held_out] =
            [Purpose::Training, Purpose::Sensing, Purpose::HeldOut].map(|purpose| support(&bench, purpose));
        let count = |nodes: &[bool]| nodes.iter().filter(|used| **used).count();
        assert_eq!(count(&held_out), 4, "{name}");
        for other in [&training, &sensing] {
            assert!(other.iter().zip(&held_out).all(|(a, b)| !(a & b)), "{name}");
            assert!(count(other) == 8 || !every_node, "{name}: {other:?}");
        }
    }
}

#[test]
fn held_out_edges_are_hidden_and_no_positives() {
    for (name, table, hidden) in
        [("p_link", "mask = 0.5", 5), ("p_link", "mask = 0", 0), ("x_memorize", "", 0)]
    {
        let graph = graph(edges(), sparse_features(6));
        let all = graph.n_edges();
        let bench = Bench::holding_out(graph, "width = 4", name, table, 0.3);
        let view = &bench.augmented()[0];
        let operator = view.view.operator();
        let seen = bench.graph.edges().filter(|&(u, v)| operator.matrix().row(u as usize).contains(&v));
        // 5 of 14 edges are held out, and half of the others are hidden to be predicted.
        assert_eq!((view.hidden_edges.len(), seen.count()), (hidden, all - 5 - hidden), "{name} {table}");
    }
}

#[test]
fn the_split_depends_on_the_seed_alone() {
    let graph = block_model(":nodes=200,features=60");
    let losses = |names: &[&str], seed| model(&graph, names, 0.1, seed).unwrap().held_out_losses(0).unwrap();
    let five = losses(&PAPER, 1).unwrap();
    assert!(five.iter().all(|loss| loss.is_finite()));
    assert_eq!(losses(&["p_par"], 1).unwrap()[0].to_bits(), five[4].to_bits());
    assert_ne!(losses(&["p_par"], 2).unwrap()[0].to_bits(), five[4].to_bits());
    assert_eq!(model(&graph, &PAPER, 0.0, 1).unwrap().held_out_losses(0).unwrap(), None);
}

#[test]
fn measuring_held_out_losses_changes_nothing() {
    let graph = block_model(":nodes=200,features=60");
    let names: Vec<&str> = PAPER.into_iter().chain(STRESS.iter().map(|entry| entry.name)).collect();
    let [mut measured, mut plain] = [(); 2].map(|()| model(&graph, &names, 0.05, 3).unwrap());
    for step in 0..names.len() as u64 {
        let reading = measured.measure_with_held_out(step).unwrap();
        let held_out = reading.held_out.clone().unwrap();
        assert_eq!(measured.held_out_losses(step).unwrap().unwrap(), held_out.loss, "step {step}");
        assert_eq!(measured.measure_with_held_out(step).unwrap(), reading, "step {step}: measured twice");
        let task = step as usize;
        let [a, b] = [&mut measured, &mut plain].map(|model| model.step(task, step).unwrap());
        assert_eq!(a.to_bits(), b.to_bits(), "step {step}");
        assert_eq!(format!("{:?}", measured.params()), format!("{:?}", plain.params()), "step {step}");
        assert!(held_out.cost.iter().all(|&cost| cost > 0.0));
    }
}

/// A random class can be learned by heart only: its loss falls where it is trained and rises where it is held out.
#[test]
fn memorizing_shows_in_the_held_out_loss() {
    let graph = block_model(":nodes=300,features=200");
    let named = NamedObjective { name: "x_noise".to_owned(), objective: objective("x_noise", "") };
    let spec = spec(network("width = 32"), vec![named], 1e-2);
    let mut model = Model::new(&graph, None, ModelSpec { held_out: 0.2, ..spec }).unwrap();
    let both =
        |model: &mut Model<'_>| [model.losses(0).unwrap()[0], model.held_out_losses(0).unwrap().unwrap()[0]];
    let before = both(&mut model);
    (0..80).for_each(|step| assert!(model.step(0, step).is_ok()));
    let after = both(&mut model);
    assert!(after[0] < before[0] - 0.5, "{before:?} {after:?}");
    assert!(after[1] > before[1], "{before:?} {after:?}");
}

/// U_k · c_k/c̄ = Σ_j T_jk/s_j against the fall of Σ_j L_j/s_j on held-out samples after a real optimizer step of the encoder,
/// the mean over several training samples.
#[test]
fn gains_predict_the_fall_of_held_out_losses_after_a_step() {
    const DRAWS: u64 = 12;
    /// The rounding of losses in f32. In f64 the same cases are compared: below it the draw of one sample decides the sign.
    const ROUNDING: f64 = 1e-6;
    let graph = block_model(":nodes=300,features=100");
    let (mut right, mut cases, mut errors, mut fixed_sample_errors) = (0, 0, Vec::new(), Vec::new());
    for seed in 0..4 {
        let mut model = model(&graph, &PAPER, 0.1, seed).unwrap();
        let scale = model.held_out_losses(0).unwrap().unwrap();
        for round in 0..6 {
            // Some training between the comparisons, also of the second moments.
            for step in 0..10 * PAPER.len() as u64 {
                model.step(step as usize % PAPER.len(), 1000 * round + step).unwrap();
            }
            let transfer = model.measure_with_held_out(0).unwrap().held_out.unwrap().transfer;
            let total = |model: &mut Model<'_>| -> f64 {
                let losses = model.held_out_losses(0).unwrap().unwrap();
                losses.iter().zip(&scale).map(|(loss, scale)| loss / scale).sum()
            };
            let before = total(&mut model);
            let (params, optimizer) = (model.params().clone(), model.optimizers()[0].to_bytes());
            for task in 0..PAPER.len() {
                let predicted: f64 = (0..PAPER.len()).map(|j| transfer[j][task] / scale[j]).sum();
                let mut fall = 0.0;
                for draw in 0..DRAWS {
                    model.step(task, 100_000 + 1000 * round + draw).unwrap();
                    // Gains are those of the encoder: the heads stay as they were.
                    for group in 1..params.groups().len() {
                        model
                            .params_mut()
                            .group_mut(group)
                            .data_mut()
                            .copy_from_slice(params.groups()[group].data());
                    }
                    fall += (before - total(&mut model)) / DRAWS as f64;
                    model.params_mut().group_mut(0).data_mut().copy_from_slice(params.groups()[0].data());
                    model.optimizers_mut()[0].restore(&optimizer).unwrap();
                }
                if fall.abs().max(predicted.abs()) < ROUNDING {
                    continue;
                }
                let error = (fall - predicted).abs() / fall.abs().max(predicted.abs());
                cases += 1;
                right += usize::from((fall > 0.0) == (predicted > 0.0));
                errors.push(error);
                if PAPER[task] == "p_par" {
                    fixed_sample_errors.push(error);
                }
            }
        }
    }
    let median = |errors: &mut Vec<f64>| {
        errors.sort_by(f64::total_cmp);
        errors[errors.len() / 2]
    };
    let (all, fixed) = (median(&mut errors), median(&mut fixed_sample_errors));
    println!("sign right in {right} of {cases} cases, median relative error {all:.3}, of p_par {fixed:.3}");
    assert!(cases >= 80 && 100 * right >= 95 * cases, "sign right in {right} of {cases} cases");
    // What is left is the noise of one sample: p_par, whose samples are the same at every step, has little.
    assert!(all < 0.4 && fixed < 0.02, "median relative error {all}, of p_par {fixed}");
}

#[test]
fn objectives_that_hold_out_nothing_are_named() {
    let graph = block_model(":nodes=100,features=60");
    let error = model(&graph, &["p_par", "dgi"], 0.1, 0).err().expect("dgi holds out nothing").to_string();
    assert_eq!(
        error,
        "sense.held_out: found 0.1 with objective dgi, which can hold out no samples, expected 0, or objectives that can"
    );
}
