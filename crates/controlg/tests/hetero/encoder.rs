//! The relational encoder: gradients, blocks of messages, and the case of one relation.

use controlg::Real;
use controlg::encoder::{self, InputDims, Pass};
use controlg::graph::{EdgeDropper, EncoderInput, NodeSet, OperatorSpec, View};
use controlg::rng::Stream;
use controlg::tensor::{Init, Params, Pool, Tape, Var};

use crate::bench::network;
use crate::differences::{check_params, forever};
use crate::{small, with_and_without_types};

fn inputs(shapes: &[(usize, usize)]) -> Params {
    let mut params = Params::new();
    let group = params.add_group("inputs");
    let mut stream = Stream::new(5, "init", "", 0);
    for (at, &shape) in shapes.iter().enumerate() {
        let id = params.add(group, &at.to_string(), shape, Init::Constant(0.0), &mut stream);
        params.get_mut(id).iter_mut().for_each(|x| *x = stream.normal() as Real);
    }
    params
}

#[test]
fn gradients_of_messages_and_combined_weights() {
    let senders = [0..4, 2..6, 0..0, 0..6];
    let shapes = [(6, 3), (3, 2), (3, 2), (3, 2), (3, 2)];
    check_params("messages", &inputs(&shapes), &|tape, v| tape.messages(v[0], &senders, &v[1..5]));
    check_params("sent", &inputs(&[(6, 3)]), &|tape, v| tape.sent(v[0], &senders));
    check_params("combine", &inputs(&[(3, 2), (4, 2), (4, 2)]), &|tape, v| tape.combine(v[0], 1, &v[1..]));
    check_params("concat_rows", &inputs(&[(2, 3), (4, 3)]), &|tape, v| tape.concat_rows(&[v[0], v[1], v[0]]));
}

/// T holds X·W of the senders, direction by direction.
#[test]
fn messages_are_products_of_the_senders_rows() {
    let params = inputs(&[(6, 3), (3, 2), (3, 2)]);
    let pool = Pool::new();
    let mut tape = Tape::forward_only(&params, &pool);
    let v = tape.group(0);
    let messages = tape.messages(v[0], &[1..4, 0..6], &v[1..]);
    let products = [v[1], v[2]].map(|w| tape.matmul(v[0], w));
    let rows = |of: Var, rows: std::ops::Range<usize>| tape.value(of)[rows.start * 2..rows.end * 2].to_vec();
    let expected = [rows(products[0], 1..4), rows(products[1], 0..6)].concat();
    for (found, expected) in tape.value(messages).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5);
    }
}

fn views(
    of: &'static EncoderInput<'static>,
    graph: &'static controlg::graph::Graph,
) -> Vec<(&'static str, View<'static>)> {
    let mut dropper = EdgeDropper::new(OperatorSpec::RELATIONS);
    let dropped = dropper.drop_edges(graph.adjacency(), 0.4, &mut Stream::new(3, "test", "", 0));
    let masked = NodeSet::new(graph.n_nodes(), &[0, 6, 11]);
    vec![
        ("whole", of.whole()),
        ("dropped edges", of.whole().on(dropped)),
        ("masked", of.whole().with_masked(std::sync::Arc::new(masked)).with_columns(vec![true; 8])),
    ]
}

#[test]
fn gradients_through_every_view() {
    for directed in [false, true] {
        let graph = forever(small(directed));
        for table in [
            "layers = 2\nwidth = 4",
            "layers = 2\nwidth = 4\nbases = 2\nnorm = 'layer'\nactivation = 'elu'",
            "layers = 1\nwidth = 4\nnorm = 'none'\nactivation = 'relu'\ndropout = 0.5",
            "layers = 2\nwidth = 11\nhidden = 4\njump = 'concat'\nbases = 1",
        ] {
            let network = network(&format!("kind = 'rgcn'\n{table}"));
            let of = forever(EncoderInput::with_spec(graph, network.operator()));
            let mut params = Params::new();
            let group = params.add_group("encoder");
            network.init_for(InputDims::of(graph), &mut params, group, &mut Stream::new(4, "init", "", 0));
            let mut stream = Stream::new(6, "test", "", 0);
            params.group_mut(0).data_mut().iter_mut().for_each(|x| *x += 0.1 * stream.normal() as Real);
            for (name, view) in views(of, graph) {
                check_params(&format!("{table} {name} {directed}"), &params, &|tape, _| {
                    let mut dropout = Stream::new(0, "test", "dropout", 0);
                    let pass = Pass { dropout: Some(&mut dropout), ..Pass::default() };
                    network.encode(tape, 0, &view, pass)
                });
            }
        }
    }
}

/// With one type and one relation, a relational graph convolution is GraphSAGE: the same parameters give the same bytes.
#[test]
fn one_type_and_one_relation_give_the_bytes_of_sage() {
    for rest in [
        "width = 16",
        "width = 24\njump = 'concat'\nlayers = 3",
        "width = 8\nnorm = 'none'\nactivation = 'relu'",
    ] {
        let [typed, plain] = with_and_without_types();
        let embed = |kind: &str, graph| {
            let network = network(&format!("kind = '{kind}'\n{rest}"));
            let mut params = Params::new();
            let group = params.add_group("encoder");
            network.init_for(InputDims::of(graph), &mut params, group, &mut Stream::new(1, "init", "", 0));
            let input = EncoderInput::with_spec(graph, network.operator());
            encoder::embed(&*network, &params, group, &input, &Pool::new())
        };
        let expected = embed("sage", &plain);
        for (graph, name) in [(&typed, "typed"), (&plain, "plain")] {
            assert!(embed("rgcn", graph) == expected, "{rest} {name}");
        }
        // The other encoders see the graph without types.
        for kind in ["gcn", "sage", "gat"] {
            assert!(embed(kind, &typed) == embed(kind, &plain), "{kind}");
        }
    }
}

/// Relabeling the relations, and the weights with them, changes nothing; exchanging the edges of two relations does.
#[test]
fn relations_have_weights_of_their_own() {
    let graph = forever(small(true));
    let network = network("kind = 'rgcn'\nwidth = 6\nlayers = 1\nnorm = 'none'");
    let mut params = Params::new();
    let group = params.add_group("encoder");
    network.init_for(InputDims::of(graph), &mut params, group, &mut Stream::new(1, "init", "", 0));
    let input = EncoderInput::with_spec(graph, network.operator());
    let before = encoder::embed(&*network, &params, group, &input, &Pool::new());
    // The weights of relation s from a to b: only the b with an edge of s change.
    let entry = params.groups()[0].entries().iter().position(|entry| entry.name == "0.weight.2").unwrap();
    let id = controlg::tensor::ParamId { group, entry };
    params.get_mut(id).iter_mut().for_each(|x| *x += 1.0);
    let after = encoder::embed(&*network, &params, group, &input, &Pool::new());
    let changed: Vec<usize> = (0..12).filter(|&node| before.row(node) != after.row(node)).collect();
    assert_eq!(changed, [5, 6, 8]);
}
