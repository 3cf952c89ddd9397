//! Two augmented views of a graph, a projection head, and the Barlow Twins loss (w5) or InfoNCE (w6).

use controlg::encoder::{ActivationKind, Encoder, Gcn, LastLayer, LayerSettings, Norm, Pass};
use controlg::graph::{EncoderInput, Operator};
use controlg::rng::Stream;
use controlg::tensor::{
    Activation, AdamW, Contrast, Grads, Init, OptimizerSettings, ParamId, Params, Pool, Precision, Tape, Var,
};

use super::{Files, dense_ms, serve, sparse_ms};

const HOPS: usize = 3;
const TEMPERATURE: f64 = 0.2;
const LAMBDA: f64 = 0.01;

/// Hᵢ = prelu(bn(Âᵢ Xᵢ W1)), Zᵢ = prelu(bn(Âᵢ Hᵢ W2)) for both views, the head relu(Z Wp + bp) Wq + bq, and the loss.
pub(super) fn serve_views(files: &Files, workload: &str, precision: Precision) {
    let features = files.features();
    let n = features.n_rows();
    let operator = |name: &str| Operator::symmetric(files.csr(name, n)).expect("a symmetric matrix");
    let input = EncoderInput::with_operator(&features, operator("adj1"));
    let (second, walk) = (operator("adj2"), Operator::general(files.csr("walk", n)));
    let [keep1, keep2] = ["keep1", "keep2"]
        .map(|name| files.reals(name).into_iter().map(|keep| keep > 0.5).collect::<Vec<bool>>());
    let views = [input.whole().with_columns(&keep1[..]), input.whole().on(&second).with_columns(&keep2[..])];
    let anchors = files.ids("anchors");

    let network = Gcn::new(LayerSettings {
        width: files.columns("w1"),
        norm: Norm::Batch,
        activation: ActivationKind::Prelu,
        last: LastLayer::Activation,
        ..LayerSettings::default()
    })
    .expect("good settings");
    let (mut params, mut stream) = (Params::new(), Stream::new(0, "init", "", 0));
    let (encoder, head) = (params.add_group("encoder"), params.add_group("head"));
    network.init(features.n_cols(), &mut params, encoder, &mut stream);
    // Norms and slopes start as on the other sides: γ = 1, β = 0, a = 0.25.
    for (entry, name) in [(0, "w1"), (4, "w2")] {
        params.get_mut(ParamId { group: encoder, entry }).copy_from_slice(&files.reals(name));
    }
    for (weight, bias) in [("wp", "bp"), ("wq", "bq")] {
        for name in [weight, bias] {
            let values = files.reals(name);
            let columns = files.reals(bias).len();
            let shape = (values.len() / columns, columns);
            let id = params.add(head, name, shape, Init::Constant(0.0), &mut stream);
            params.get_mut(id).copy_from_slice(&values);
        }
    }

    let (pool, mut grads) = (Pool::new(), Grads::new(&params));
    let mut optimizer = AdamW::new(&params, OptimizerSettings::default());
    serve(|| {
        let mut tape = Tape::new(&params, &pool).with_precision(precision);
        let z = [0, 1].map(|view| network.encode(&mut tape, encoder, &views[view], Pass::default()));
        let params_of_head = tape.group(head);
        let loss = match workload {
            "w5" => {
                let [y1, y2] = z.map(|z| {
                    let y = project(&mut tape, &params_of_head, z);
                    tape.standardize_columns(y, false, 1e-5)
                });
                tape.barlow(y1, y2, LAMBDA)
            }
            _ => {
                let contexts = tape.walk_mean_at(&walk, z[1], HOPS, &anchors[..]);
                let [p, q] = [tape.gather(z[0], &anchors[..]), contexts].map(|picked| {
                    let y = project(&mut tape, &params_of_head, picked);
                    tape.normalize_rows(y)
                });
                let how = Contrast { temperature: TEMPERATURE, intra_view: false, both_directions: false };
                tape.info_nce(p, q, how)
            }
        };
        let value = tape.scalar(loss);
        grads.reset();
        tape.backward_last(loss, &mut grads);
        optimizer.step(&mut params, &mut grads);
        value
    });
}

fn project(tape: &mut Tape<'_>, params: &[Var], x: Var) -> Var {
    let hidden = tape.linear(x, params[0], Some(params[1]), Activation::Relu);
    tape.linear(hidden, params[2], Some(params[3]), Activation::Identity)
}

/// Milliseconds of the dense and of the sparse products of a step, timed separately.
pub(super) fn parts_of_views(files: &Files, workload: &str) -> (f64, f64) {
    let x = files.csr("x", files.integers("x_shape")[1] as usize);
    let (n, h, out) = (x.n_rows(), files.columns("w1"), files.columns("wp"));
    let rows = if workload == "w5" { n } else { files.ids("anchors").len() };
    let (wide, narrow) = (dense_ms((rows, h, out), true), dense_ms((rows, out, out), true));
    let (loss, walks) = match workload {
        "w5" => (dense_ms((out, n, out), true), 0.0),
        _ => (dense_ms((rows, out, rows), true), 2.0 * HOPS as f64 * sparse_ms(&files.csr("walk", n), h)),
    };
    let adjacency = sparse_ms(&files.csr("adj1", n), h) + sparse_ms(&files.csr("adj2", n), h);
    let features = 2.0 * (sparse_ms(&x, h) + sparse_ms(&x.transposed(), h));
    // Two layers, forward and backward.
    let sparse = 4.0 * adjacency + features + walks;
    (2.0 * dense_ms((n, h, h), true) + 2.0 * (wide + narrow) + loss, sparse)
}
