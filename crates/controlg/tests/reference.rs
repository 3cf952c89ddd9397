//! Compares values and gradients with PyTorch and PyTorch Geometric. `fixtures/make_reference.py` writes the references.
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

mod common;

use std::collections::BTreeMap;

use common::{edges, graph};
use controlg::Real;
use controlg::encoder::{self, Pass};
use controlg::graph::{EncoderInput, Features, Operator, OperatorSpec};
use controlg::rng::Stream;
use controlg::tensor::{
    Activation, AdamW, Attention, AttentionParams, Averaging, Contrast, Distance, Grads, Init,
    OptimizerSettings, ParamId, Params, Pool, Tape, Var,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

#[derive(Deserialize)]
struct Case {
    inputs: BTreeMap<String, Matrix>,
    weights: Matrix,
    output: Matrix,
    gradients: BTreeMap<String, Matrix>,
}

fn fixture(name: &str) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_str(include_str!("fixtures/reference.json")).expect("JSON");
    all[name].clone()
}

fn reals(data: &[f64]) -> Vec<Real> {
    data.iter().map(|&x| x as Real).collect()
}

fn assert_near(name: &str, expected: &[f64], found: &[Real]) {
    assert_eq!(expected.len(), found.len(), "{name}");
    for (&e, &f) in expected.iter().zip(found) {
        assert!((e - f64::from(f)).abs() < 1e-5 * e.abs().max(1.0), "{name}: expected {e}, found {f}");
    }
}

/// Runs a case and compares its output and the gradients of the named inputs.
fn check(name: &str, order: &[&str], function: impl for<'a> Fn(&mut Tape<'a>, &'a Data, &[Var]) -> Var) {
    check_with(OperatorSpec::GCN, name, order, function);
}

/// The same with an operator for the view of the whole graph.
fn check_with(
    spec: OperatorSpec,
    name: &str,
    order: &[&str],
    function: impl for<'a> Fn(&mut Tape<'a>, &'a Data, &[Var]) -> Var,
) {
    let case: Case = serde_json::from_value(fixture(name)).expect("a case");
    let mut params = Params::new();
    let group = params.add_group("inputs");
    let mut stream = Stream::new(0, "init", "", 0);
    for input in order {
        let matrix = &case.inputs[*input];
        let id = params.add(group, input, (matrix.rows, matrix.cols), Init::Constant(0.0), &mut stream);
        params.get_mut(id).copy_from_slice(&reals(&matrix.data));
    }
    let features = match case.inputs.get("x") {
        Some(x) => Features::dense(x.rows, x.cols, reals(&x.data)).unwrap(),
        None => common::dense_features(2),
    };
    let graph = graph(edges(), features);
    let operator = Operator::gcn(graph.adjacency());
    let data = Data { prepared: EncoderInput::with_spec(&graph, spec), operator };

    let (pool, mut grads) = (Pool::new(), Grads::new(&params));
    let mut tape = Tape::new(&params, &pool);
    let inputs = tape.group(0);
    let out = function(&mut tape, &data, &inputs);
    if tape.shape(out) == (1, 1) {
        let value = tape.scalar(out);
        assert!((value - case.output.data[0]).abs() < 1e-5 * value.abs().max(1.0), "{name}: {value}");
        tape.backward(out, &mut grads);
    } else {
        assert_near(name, &case.output.data, tape.value(out));
        tape.backward_from(out, pool.copy(&reals(&case.weights.data)), &mut grads);
    }
    for (entry, input) in order.iter().enumerate() {
        let found = grads.get(ParamId { group, entry }).expect("a gradient");
        assert_near(&format!("{name}, gradient of {input}"), &case.gradients[*input].data, found);
    }
}

/// The features `x` of the case on the common graph.
struct Data<'g> {
    prepared: EncoderInput<'g>,
    operator: Operator,
}

#[test]
fn gcn_convolution() {
    check("gcn", &["x", "weight", "bias"], |t, d, v| {
        t.convolve(&d.operator, v[0], v[1], Some(v[2]), Activation::Identity)
    });
    check("gcn", &["weight", "bias"], |t, d, v| {
        t.convolve_view(&d.prepared.whole(), v[0], None, Some(v[1]), Activation::Identity)
    });
}

#[test]
fn gat_convolution_with_four_heads() {
    check("gat", &["x", "weight", "source", "target", "bias"], |t, d, v| {
        let h = t.matmul(v[0], v[1]);
        let shape = Attention { heads: 4, negative_slope: 0.2, dropout: 0.0 };
        let (bias, activation) = (Some(v[4]), Activation::Identity);
        let params = AttentionParams { source: v[2], target: v[3], bias, activation };
        t.attention(&d.operator, h, params, shape, None)
    });
}

/// Whole networks, with their parameters in the order of their declaration.
#[test]
fn networks_over_the_mean_of_neighbors() {
    let sage = "kind = 'sage'\nlayers = 1\nwidth = 6\nlast = 'linear'";
    let concat = "operator = 'mean'\nself_loops = false\nlayers = 2\nwidth = 11\nhidden = 4\nnorm = 'none'\n\
                  activation = 'elu'\njump = 'concat'";
    let parameters = ["weight", "bias", "last_weight", "last_bias", "own_weight", "own_bias"];
    for (name, table, order) in
        [("sage", sage, &["weight", "root_weight", "bias"][..]), ("mean_concat", concat, &parameters)]
    {
        let network = encoder::build(table.parse().expect("a table")).expect("good settings");
        check_with(network.operator(), name, order, |t, d, _| {
            network.encode(t, 0, &d.prepared.whole(), Pass::default())
        });
    }
}

#[test]
fn norms_and_activation() {
    check("batch_norm", &["x", "gamma", "beta"], |t, _, v| {
        t.batch_norm(v[0], v[1], v[2], Activation::Identity, None)
    });
    check("layer_norm", &["x", "gamma", "beta"], |t, _, v| {
        t.layer_norm(v[0], v[1], v[2], Activation::Identity)
    });
    check("prelu", &["x", "slope"], |t, _, v| t.activate(v[0], None, Activation::Prelu(v[1])));
}

#[test]
fn losses() {
    let one_way = Contrast { temperature: 0.2, intra_view: false, both_directions: false };
    let grace = Contrast { temperature: 0.4, intra_view: true, both_directions: true };
    for (name, how) in [("info_nce", one_way), ("grace", grace)] {
        check(name, &["p", "q"], |t, _, v| {
            let (p, q) = (t.normalize_rows(v[0]), t.normalize_rows(v[1]));
            t.info_nce(p, q, how)
        });
    }
    check("barlow", &["a", "b"], |t, _, v| {
        let y = [v[0], v[1]].map(|x| t.standardize_columns(x, false, 1e-5));
        t.barlow(y[0], y[1], 0.01)
    });
    check("scaled_cosine", &["r", "weight", "bias"], |t, d, v| {
        let all: Vec<u32> = (0..12).collect();
        t.reconstruct(v[0], v[1], Some(v[2]), &d.prepared, all, Distance::Cosine { gamma: 3.0, least: 0.0 })
    });
    check("cross_entropy", &["logits"], |t, _, v| {
        t.cross_entropy(v[0], (0..12).map(|i| i % 5).collect::<Vec<u32>>())
    });
    check("link", &["scores"], |t, _, v| t.binary_cross_entropy(v[0], 4, Averaging::Joint));
}

#[test]
fn ten_steps_of_adamw() {
    #[derive(Deserialize)]
    struct Run {
        start: Matrix,
        gradients: Vec<Vec<f64>>,
        values: Vec<Vec<f64>>,
    }
    let run: Run = serde_json::from_value(fixture("adamw")).expect("a run");
    let mut params = Params::new();
    let group = params.add_group("inputs");
    let shape = (run.start.rows, run.start.cols);
    let id = params.add(group, "x", shape, Init::Constant(0.0), &mut Stream::new(0, "init", "", 0));
    params.get_mut(id).copy_from_slice(&reals(&run.start.data));
    let settings = OptimizerSettings { rate: 0.05, weight_decay: 0.1, ..OptimizerSettings::default() };
    let mut optimizer = AdamW::new(&params, settings);
    let mut grads = Grads::new(&params);
    for (gradient, value) in run.gradients.iter().zip(&run.values) {
        grads.set_group(group, &reals(gradient));
        optimizer.step(&mut params, &mut grads);
        assert_near("adamw", value, params.get(id));
    }
}
