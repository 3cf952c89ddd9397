//! Checks the gradients of every op, encoder and loss against central differences. With `--features f64` every entry must
//! agree to 1e-5. In f32 a step that is large enough to measure also crosses kinks, so only three quarters of the entries
//! must agree, to a wider bound.
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

mod common;
#[path = "common/differences.rs"]
mod differences;

use std::sync::Arc;

use common::{dense_features, edges, graph, sparse_features, spread};
use controlg::Real;
use controlg::encoder::{self, Pass};
use controlg::graph::{
    Adjacency, Csr, EdgeDropper, EncoderInput, Features, NodeSet, Operator, OperatorKind, OperatorSpec, View,
    view,
};
use controlg::rng::Stream;
use controlg::tensor::{
    Activation, Attention, AttentionParams, Averaging, Contrast, Distance, Grads, Init, ParamId, Params,
    Pool, Tape, Var,
};
use differences::{Function, WIDE, check_params, forever, value};

/// Parameters of the given shapes with normal values.
fn params(shapes: &[(usize, usize)]) -> Params {
    let mut params = Params::new();
    let group = params.add_group("inputs");
    let mut stream = Stream::new(5, "init", "", 0);
    for (i, &shape) in shapes.iter().enumerate() {
        let id = params.add(group, &i.to_string(), shape, Init::Constant(0.0), &mut stream);
        params.get_mut(id).iter_mut().for_each(|x| *x = stream.normal() as Real);
    }
    params
}

fn check(name: &str, shapes: &[(usize, usize)], function: Function<'_>) {
    check_params(name, &params(shapes), function);
}

fn activations(slope: Var) -> [Activation; 6] {
    [
        Activation::Identity,
        Activation::Relu,
        Activation::Elu,
        Activation::Sigmoid,
        Activation::LeakyRelu(0.2),
        Activation::Prelu(slope),
    ]
}

fn prepared(features: Features) -> &'static EncoderInput<'static> {
    prepared_with(features, OperatorSpec::GCN)
}

fn prepared_with(features: Features, spec: OperatorSpec) -> &'static EncoderInput<'static> {
    forever(EncoderInput::with_spec(forever(graph(edges(), features)), spec))
}

const MEAN: OperatorSpec = OperatorSpec { kind: OperatorKind::Mean, self_loops: false };

#[test]
fn dense_ops() {
    check("matmul", &[(4, 3), (3, 5)], &|t, v| t.matmul(v[0], v[1]));
    check("matmul_transposed", &[(4, 3), (5, 3)], &|t, v| t.matmul_transposed(v[0], v[1]));
    check("weighted_sum", &[(4, 3), (4, 3)], &|t, v| {
        t.weighted_sum(&[(0.3, v[0]), (-2.0, v[1]), (1.0, v[0])])
    });
    check("hadamard", &[(4, 3), (4, 3)], &|t, v| t.hadamard(v[0], v[1]));
    check("hadamard with itself", &[(4, 3)], &|t, v| t.hadamard(v[0], v[0]));
    check("mean_of_rows", &[(4, 3)], &|t, v| t.mean_of_rows(v[0]));
    check("mean_row_dot", &[(4, 3), (4, 3)], &|t, v| t.mean_row_dot(v[0], v[1]));
    check("sum of losses", &[(4, 3), (4, 3)], &|t, v| {
        let (a, b) = (t.mean_row_dot(v[0], v[1]), t.mean_row_dot(v[0], v[0]));
        t.weighted_sum(&[(2.0, a), (-1.0, b)])
    });
}

#[test]
fn activations_on_their_own_and_fused() {
    for which in 0..6 {
        check(&format!("activate {which}"), &[(5, 4), (1, 4), (1, 1)], &|t, v| {
            t.activate(v[0], Some(v[1]), activations(v[2])[which])
        });
        check(&format!("linear {which}"), &[(5, 4), (4, 3), (1, 3), (1, 1)], &|t, v| {
            t.linear(v[0], v[1], Some(v[2]), activations(v[3])[which])
        });
    }
    // A slope that is not positive cannot be inverted, so the op saves its argument.
    for slope in [-0.5, 0.0] {
        let mut params = params(&[(5, 4), (1, 1)]);
        params.get_mut(ParamId { group: 0, entry: 1 })[0] = slope;
        check_params("prelu", &params, &|t, v| t.activate(v[0], None, Activation::Prelu(v[1])));
    }
    check("dropout", &[(5, 4)], &|t, v| t.dropout(v[0], 0.4, &mut Stream::new(0, "test", "", 0)));
}

#[test]
fn row_ops() {
    check("gather", &[(5, 3)], &|t, v| t.gather(v[0], vec![0, 3, 3, 1]));
    check("gather nothing", &[(5, 3)], &|t, v| {
        let none = t.gather(v[0], vec![]);
        let (none, some) = (t.scatter(none, vec![], 5), v[0]);
        t.add(none, some)
    });
    check("scatter", &[(4, 3)], &|t, v| t.scatter(v[0], vec![5, 0, 5, 2], 6));
    let set = forever(NodeSet::new(5, &[1, 4]));
    check("mask_rows", &[(5, 3)], &|t, v| t.mask_rows(v[0], set, None));
    check("mask_rows with a token", &[(5, 3), (1, 3)], &|t, v| t.mask_rows(v[0], set, Some(v[1])));
    check("normalize_rows", &[(5, 3)], &|t, v| t.normalize_rows(v[0]));
}

#[test]
fn column_ops() {
    check("concat_columns", &[(5, 3), (5, 1), (5, 2)], &|t, v| t.concat_columns(&[v[0], v[2], v[1], v[0]]));
    check("slice_columns", &[(5, 4)], &|t, v| t.slice_columns(v[0], 1, 2));
    check("slices that overlap", &[(5, 4)], &|t, v| {
        let (a, b) = (t.slice_columns(v[0], 0, 3), t.slice_columns(v[0], 1, 3));
        t.hadamard(a, b)
    });
}

#[test]
fn norms() {
    for which in 0..6 {
        check(&format!("batch_norm {which}"), &[(7, 3), (1, 3), (1, 3), (1, 1)], &|t, v| {
            t.batch_norm(v[0], v[1], v[2], activations(v[3])[which], None)
        });
        check(&format!("layer_norm {which}"), &[(4, 6), (1, 6), (1, 6), (1, 1)], &|t, v| {
            t.layer_norm(v[0], v[1], v[2], activations(v[3])[which])
        });
    }
    check("standardize_columns", &[(7, 3)], &|t, v| t.standardize_columns(v[0], false, 1e-5));
    check("standardize_columns of a sample", &[(7, 3)], &|t, v| t.standardize_columns(v[0], true, 0.0));
}

#[test]
fn products_with_the_graph() {
    let whole = forever(Operator::gcn(graph(edges(), dense_features(3)).adjacency()));
    let walk = forever(Operator::walk(graph(edges(), dense_features(3)).adjacency()));
    let empty = forever(Operator::gcn(graph(vec![], dense_features(3)).adjacency()));
    let mean = forever(Operator::new(graph(edges(), dense_features(3)).adjacency(), MEAN));
    for (name, operator) in [("gcn", whole), ("walk", walk), ("mean", mean), ("no edges", empty)] {
        check(&format!("propagate {name}"), &[(12, 3)], &|t, v| t.propagate(operator, v[0]));
        check(&format!("walk_mean {name}"), &[(12, 3)], &|t, v| t.walk_mean(operator, v[0], 3));
        check(&format!("walk_mean_at {name}"), &[(12, 3)], &|t, v| {
            t.walk_mean_at(operator, v[0], 3, vec![4, 0, 11, 4])
        });
        for width in [2, 5] {
            check(
                &format!("convolve {name} to {width}"),
                &[(12, 3), (3, width), (1, width), (1, 1)],
                &|t, v| t.convolve(operator, v[0], v[1], Some(v[2]), Activation::Prelu(v[3])),
            );
        }
    }
}

/// All kinds of views.
fn views(
    of: &'static EncoderInput<'static>,
    width: usize,
    spec: OperatorSpec,
) -> Vec<(&'static str, View<'static>)> {
    let mut stream = Stream::new(8, "test", "views", 0);
    let adjacency = forever(graph(edges(), dense_features(2)));
    let dropped =
        || EdgeDropper::new(spec).drop_edges(adjacency.adjacency(), 0.4, &mut Stream::new(3, "test", "", 0));
    let mut columns = view::mask_features(width, 0.4, &mut stream);
    columns[0] = false;
    let masked = Arc::new(NodeSet::new(12, &[0, 4, 7, 11]));
    let mut order: Vec<u32> = (0..12).collect();
    stream.shuffle(&mut order);
    let whole = of.whole();
    vec![
        ("whole", whole.clone()),
        ("edges dropped", whole.clone().on(dropped())),
        ("columns masked", whole.clone().with_columns(columns.clone())),
        ("edges and columns", whole.clone().on(dropped()).with_columns(columns.clone())),
        ("rows masked", whole.clone().with_masked(masked.clone())),
        ("shuffled", whole.clone().with_order(order.clone())),
        ("entries dropped", whole.clone().with_feature_dropout(0.3, 11)),
        (
            "everything",
            whole
                .on(dropped())
                .with_columns(columns)
                .with_masked(masked)
                .with_order(order)
                .with_feature_dropout(0.3, 11),
        ),
    ]
}

#[test]
fn products_with_features() {
    for (kind, features) in [("sparse", sparse_features(6)), ("dense", dense_features(6))] {
        let of = prepared(features);
        for (name, view) in views(of, 6, OperatorSpec::GCN) {
            for width in [2, 4] {
                let shapes = [(6, width), (1, width), (1, 1), (1, 6)];
                check(&format!("convolve_view {kind} {name}"), &shapes, &|t, v| {
                    t.convolve_view(&view, v[0], Some(v[3]), Some(v[1]), Activation::Prelu(v[2]))
                });
            }
            check(
                &format!("convolve and carry {kind} {name}"),
                &[(6, 3), (1, 3), (1, 1), (1, 6)],
                &|t, v| {
                    t.convolve_view_then_propagate(
                        &view,
                        v[0],
                        Some(v[3]),
                        Some(v[1]),
                        Activation::Prelu(v[2]),
                    )
                },
            );
            check(&format!("project {kind} {name}"), &[(6, 3), (1, 6)], &|t, v| {
                t.project(&view, v[0], Some(v[1]))
            });
            check(&format!("project {kind} {name}, no token"), &[(6, 3)], &|t, v| {
                t.project(&view, v[0], None)
            });
        }
    }
}

/// The products above are too small for strips. These are large enough, and equal their parts bit for bit, whose gradients are
/// checked above.
#[test]
fn convolutions_in_strips_equal_their_parts() {
    let (n, width) = (8400, 128);
    let around = |steps: &'static [usize]| {
        let row = move |i: usize| {
            let mut row: Vec<u32> = steps.iter().map(|step| ((i + step) % n) as u32).collect();
            row.sort_unstable();
            row
        };
        Csr::new(n, (0..=n).map(|i| i * steps.len()).collect(), (0..n).flat_map(row).collect(), None).unwrap()
    };
    let run = |threads: usize, in_strips: bool| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        threads.install(|| {
            let neighbors = around(&[1, 7, 50, 333, 8400 - 333, 8400 - 50, 8400 - 7, 8400 - 1]);
            let neighbors = Adjacency::new(neighbors).unwrap();
            let features = Features::Sparse(around(&[0, 13, 170, 900, 2100, 4800, 7700]));
            let of = EncoderInput::with_operator(&features, Operator::gcn(&neighbors));
            let (mut params, pool) = (params(&[(n, width), (1, width), (1, 1)]), Pool::new());
            params.get_mut(ParamId { group: 0, entry: 2 })[0] = 0.3;
            let (view, mut tape) = (of.whole(), Tape::new(&params, &pool));
            let v = tape.group(0);
            assert!(tape.fuses_propagation(&view, v[0]), "a graph large enough for strips");
            let (bias, activation) = (Some(v[1]), Activation::Prelu(v[2]));
            let out = if in_strips {
                tape.convolve_view_then_propagate(&view, v[0], None, bias, activation)
            } else {
                let h = tape.convolve_view(&view, v[0], None, bias, activation);
                tape.propagate(view.operator(), h)
            };
            let value = tape.value(out).to_vec();
            let loss = tape.mean_row_dot(out, out);
            let mut grads = Grads::new(&params);
            tape.backward(loss, &mut grads);
            (value, grads.group(0).expect("gradients").to_vec())
        })
    };
    let parts = run(2, false);
    assert!(parts.1.iter().any(|d| d.abs() > 0.0));
    for threads in [1, 2, 8] {
        assert!(run(threads, true) == parts, "{threads} threads");
    }
}

#[test]
fn attention() {
    for pairs in [edges(), vec![]] {
        let operator = forever(Operator::gcn(graph(pairs, dense_features(2)).adjacency()));
        for heads in [1, 2, 4] {
            let shapes = [(12, 8), (heads, 8 / heads), (heads, 8 / heads), (1, 8), (1, 1)];
            let shape = Attention { heads, negative_slope: 0.2, dropout: 0.0 };
            for dropout in [0.0, 0.3] {
                let shape = Attention { dropout, ..shape };
                check(&format!("attention {heads} {dropout}"), &shapes, &|t, v| {
                    let (bias, prelu) = (Some(v[3]), Activation::Prelu(v[4]));
                    let draws = &mut Stream::new(7, "test", "dropout", 0);
                    let params = AttentionParams { source: v[1], target: v[2], bias, activation: prelu };
                    t.attention(operator, v[0], params, shape, Some(draws))
                });
            }
        }
    }
}

#[test]
fn pairs() {
    let (us, vs) = (forever(vec![0u32, 3, 3, 2, 4, 1]), forever(vec![1u32, 0, 2, 2, 0, 3]));
    check("pair_dot", &[(6, 5)], &|t, v| t.pair_dot(v[0], us, vs));
    check("pair_dot of nothing", &[(6, 5)], &|t, v| {
        let none = t.pair_dot(v[0], vec![], vec![]);
        let loss = t.binary_cross_entropy(none, 0, Averaging::Separate);
        let some = t.mean_row_dot(v[0], v[0]);
        t.add(loss, some)
    });
    for mean in [Averaging::Separate, Averaging::Joint] {
        check("link_loss", &[(6, 5)], &|t, v| t.link_loss(v[0], us, vs, 2, mean));
    }
    check("pair_dot_weighted", &[(6, 19), (1, 19)], &|t, v| t.pair_dot_weighted(v[0], v[1], us, vs));
}

#[test]
fn losses() {
    for mean in [Averaging::Separate, Averaging::Joint] {
        check("binary_cross_entropy", &[(7, 1)], &|t, v| t.binary_cross_entropy(v[0], 3, mean));
    }
    check("cross_entropy", &[(5, 4)], &|t, v| t.cross_entropy(v[0], vec![0, 3, 1, 1, 2]));
    for intra_view in [false, true] {
        for both_directions in [false, true] {
            let how = Contrast { temperature: 0.5, intra_view, both_directions };
            check("info_nce", &[(6, 4), (6, 4)], &|t, v| {
                let (p, q) = (t.normalize_rows(v[0]), t.normalize_rows(v[1]));
                t.info_nce(p, q, how)
            });
        }
    }
    check("barlow", &[(8, 3), (8, 3)], &|t, v| {
        let y = [v[0], v[1]].map(|x| t.standardize_columns(x, false, 1e-5));
        t.barlow(y[0], y[1], 0.01)
    });
    check("cca_ssg", &[(8, 3), (8, 3)], &|t, v| {
        let y = [v[0], v[1]].map(|x| t.standardize_columns(x, true, 0.0));
        t.cca_ssg(y[0], y[1], 0.1)
    });
}

#[test]
fn reconstruction() {
    // Node 4 has no features.
    let sparse = sparse_features(7);
    let both = [prepared(spread(&sparse)), prepared(sparse)];
    let ids = forever(vec![0u32, 2, 4, 9, 11]);
    let cosine = |gamma| Distance::Cosine { gamma, least: 0.0 };
    for distance in [Distance::Squared, cosine(1.0), cosine(3.0)] {
        let mut values = Vec::new();
        for of in both {
            let function: Function<'_> = &|t, v| t.reconstruct(v[0], v[1], Some(v[2]), of, ids, distance);
            let shapes = [(5, 3), (7, 3), (1, 7)];
            check("reconstruct", &shapes, function);
            values.push(value(&params(&shapes), function));
            check("reconstruct without bias", &shapes[..2], &|t, v| {
                t.reconstruct(v[0], v[1], None, of, ids, distance)
            });
            check("feature_distance", &[(5, 7)], &|t, v| t.feature_distance(v[0], of, ids, distance));
        }
        assert!((values[0] - values[1]).abs() < if WIDE { 1e-12 } else { 1e-5 }, "{values:?}");
    }
}

#[test]
fn encoders_through_every_view() {
    let tables = [
        "layers = 2\nwidth = 4",
        "layers = 2\nwidth = 4\nhidden = 8\nnorm = 'layer'\nactivation = 'elu'",
        "layers = 3\nwidth = 4\nnorm = 'none'\nactivation = 'prelu'\nlast = 'linear'",
        "layers = 1\nwidth = 4\nnorm = 'none'\nactivation = 'relu'\ndropout = 0.5\nfeature_dropout = 0.3",
        "layers = 2\nwidth = 11\nhidden = 4\njump = 'concat'\ndropout = 0.3\nfeature_dropout = 0.3",
        "layers = 1\nwidth = 8\nhidden = 4\nnorm = 'none'\nactivation = 'identity'\njump = 'concat'\nlast = 'linear'",
    ];
    let mut kinds = vec!["kind = 'gcn'", "kind = 'sage'", "kind = 'gat'"];
    // Other operators are other numbers in the same ops, so one suite of them is enough.
    if WIDE {
        kinds.extend([
            "kind = 'gcn'\noperator = 'mean'\nself_loops = false",
            "kind = 'gcn'\nself_loops = false",
            "kind = 'sage'\nself_loops = true",
        ]);
    }
    for kind in kinds {
        for table in tables {
            let text = format!("{kind}\n{table}");
            let network = encoder::build(text.parse().expect("a table")).expect("good settings");
            let spec = network.operator();
            for of in [sparse_features(5), dense_features(5)].map(|features| prepared_with(features, spec)) {
                let mut params = Params::new();
                let group = params.add_group("encoder");
                network.init(5, &mut params, group, &mut Stream::new(4, "init", "", 0));
                // Moved away from the zeros of an initialized network, where some derivatives vanish.
                let mut stream = Stream::new(6, "test", "", 0);
                params.group_mut(0).data_mut().iter_mut().for_each(|x| *x += 0.1 * stream.normal() as Real);
                for (name, view) in views(of, 5, spec) {
                    check_params(&format!("{text} {name}"), &params, &|t, _| {
                        let mut dropout = Stream::new(0, "test", "dropout", 0);
                        let pass = Pass { dropout: Some(&mut dropout), ..Pass::default() };
                        network.encode(t, 0, &view, pass)
                    });
                }
            }
        }
    }
}

#[test]
fn backward_in_two_stages_gives_the_same_gradients() {
    let of = prepared(sparse_features(6));
    let params = forever(params(&[(6, 4), (4, 3), (1, 1)]));
    let whole = of.whole();
    let targets: &'static [u32] = &[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2];
    let encode = |tape: &mut Tape<'static>, v: &[Var]| {
        tape.convolve_view(&whole, v[0], None, None, Activation::Prelu(v[2]))
    };
    let mut direct = Grads::new(params);
    let mut tape = Tape::new(params, forever(Pool::new()));
    let v = tape.group(0);
    let z = encode(&mut tape, &v);
    let logits = tape.matmul(z, v[1]);
    let out = tape.cross_entropy(logits, targets);
    tape.backward(out, &mut direct);

    let mut in_parts = Grads::new(params);
    let mut tape = Tape::new(params, forever(Pool::new()));
    let v = tape.group(0);
    let z = encode(&mut tape, &v);
    let mark = tape.mark();
    for _ in 0..2 {
        in_parts.reset();
        let start = tape.detached_leaf(z);
        let logits = tape.matmul(start, v[1]);
        let out = tape.cross_entropy(logits, targets);
        tape.backward(out, &mut in_parts);
        let at_z = tape.take_gradient(start).expect("a gradient at Z");
        tape.truncate(mark);
        tape.backward_from(z, at_z, &mut in_parts);
        assert_eq!(direct.group(0), in_parts.group(0));
    }
}
