//! Pools of any objectives: auxiliary networks beside others, and what the embeddings are.

use controlg::Real;
use controlg::graph::EncoderInput;
use controlg::tensor::Pool;
use controlg::train::Model;

use crate::bench::{block_model, model, network};
use crate::trained_table;

const ENCODER: &str = "width = 8\nnorm = 'none'";
const NAMES: [&str; 3] = ["mvgrl", "p_link", "bgrl"];

fn pool() -> Vec<(&'static str, &'static str)> {
    NAMES.iter().map(|&name| (name, trained_table(name))).collect()
}

fn params(model: &Model<'_>, name: &str) -> Vec<Real> {
    let group = model.params().groups().iter().find(|group| group.name() == name);
    group.unwrap_or_else(|| panic!("no group {name}")).data().to_vec()
}

#[test]
fn auxiliary_networks_move_with_the_steps_of_their_own_objective_only() {
    let graph = block_model(":nodes=200,features=60");
    let mut model = model(&graph, ENCODER, &pool(), 1e-2).unwrap();
    for (step, task) in [0, 1, 2, 0, 2].into_iter().enumerate() {
        let aux = ["mvgrl.second", "bgrl.second"];
        let before = aux.map(|name| params(&model, name));
        let encoder = params(&model, "encoder");
        model.step(task, step as u64).unwrap();
        assert_ne!(encoder, params(&model, "encoder"), "every objective trains the encoder");
        for (name, before) in aux.into_iter().zip(before) {
            let own = name.strip_suffix(".second") == Some(NAMES[task]);
            assert_eq!(before != params(&model, name), own, "{name} after a step on {}", NAMES[task]);
        }
    }
}

#[test]
fn the_embeddings_of_a_pool_are_those_of_the_encoder_alone() {
    let graph = block_model(":nodes=200,features=60");
    let encoder_only = |model: &Model<'_>| {
        controlg::encoder::embed(
            &*network(ENCODER),
            model.params(),
            0,
            &EncoderInput::new(&graph),
            &Pool::new(),
        )
    };
    let pooled = model(&graph, ENCODER, &pool(), 1e-2).unwrap();
    assert_eq!(pooled.embed().unwrap().0, encoder_only(&pooled));
    // Trained alone, mvgrl adds its second network.
    let alone = model(&graph, ENCODER, &pool()[..1], 1e-2).unwrap();
    assert_ne!(alone.embed().unwrap().0, encoder_only(&alone));
}
