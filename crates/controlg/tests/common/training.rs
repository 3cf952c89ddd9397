//! A small training run that uses most tensor operations.

use controlg::encoder::{self, Encoder, Pass};
use controlg::graph::{EdgeDropper, EncoderInput, Features, Graph, Ids, NodeSet, OperatorSpec, view};
use controlg::rng::Stream;
use controlg::tensor::{
    Activation, AdamW, Averaging, Contrast, Distance, Grads, Init, OptimizerSettings, Params, Pool, Tape,
};
use controlg::{Real, graph::EdgeList};

const WIDTH: usize = 48;

/// A random graph with sparse features.
pub(crate) fn random_graph(n: usize, n_features: usize) -> Graph {
    let mut stream = Stream::new(11, "test", "graph", 0);
    let pairs = (0..4 * n).map(|_| (stream.below(n) as u32, stream.below(n) as u32)).collect();
    let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(n).unwrap();
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for _ in 0..n {
        let mut row = stream.sample(n_features, 9);
        row.sort_unstable();
        columns.extend(row);
        offsets.push(columns.len());
    }
    let values = vec![1.0 / 9.0; columns.len()];
    let features = Features::sparse(n_features, offsets, columns, Some(values)).unwrap();
    Graph::new(adjacency, features, Ids::Numbered(n)).expect("a valid graph")
}

/// The state of the training run.
pub(crate) struct Run<'g> {
    graph: &'g Graph,
    prepared: EncoderInput<'g>,
    network: Box<dyn Encoder>,
    params: Params,
    grads: Grads,
    optimizer: AdamW,
    pool: Pool,
    dropper: EdgeDropper,
    steps: u64,
}

impl<'g> Run<'g> {
    pub(crate) fn new(graph: &'g Graph, kind: &str) -> Self {
        let table = format!("kind = '{kind}'\nwidth = {WIDTH}\nnorm = 'batch'");
        let network = encoder::build(table.parse().expect("a table")).expect("valid settings");
        let (mut params, mut stream) = (Params::new(), Stream::new(0, "init", "", 0));
        let d = graph.n_features();
        let group = params.add_group("encoder");
        network.init(d, &mut params, group, &mut stream);
        for name in ["link", "recon", "contrast", "decor", "par"] {
            let group = params.add_group(name);
            let shape = if name == "recon" { (d, WIDTH) } else { (WIDTH, WIDTH) };
            params.add(group, "weight", shape, Init::XavierUniform, &mut stream);
            params.add(
                group,
                "bias",
                (1, if name == "recon" { d } else { WIDTH }),
                Init::Constant(0.0),
                &mut stream,
            );
        }
        let recon = 2;
        params.add(recon, "token", (1, d), Init::Constant(0.0), &mut stream);
        let grads = Grads::new(&params);
        let settings =
            OptimizerSettings { weight_decay: 1e-5, clip: Some(10.0), ..OptimizerSettings::default() };
        let optimizer = AdamW::new(&params, settings);
        let (pool, dropper) = (Pool::new(), EdgeDropper::new(OperatorSpec::GCN));
        Run {
            graph,
            prepared: EncoderInput::new(graph),
            network,
            params,
            grads,
            optimizer,
            pool,
            dropper,
            steps: 0,
        }
    }

    #[allow(dead_code)] // not every suite uses it
    pub(crate) fn params(&self) -> &[Real] {
        self.params.groups()[0].data()
    }

    /// One step on one of five losses, round-robin; returns the loss.
    pub(crate) fn step(&mut self) -> f64 {
        let Run { graph, prepared, network, params, grads, optimizer, pool, dropper, steps } = self;
        let n = graph.n_nodes();
        let which = *steps as usize % 5;
        let mut stream = Stream::new(0, "train", "", *steps);
        let mut tape = Tape::new(params, pool);
        let head = tape.group(1 + which);
        let mut augmented = || {
            let dropped = dropper.drop_edges(graph.adjacency(), 0.3, &mut stream);
            let columns = view::mask_features(graph.n_features(), 0.3, &mut stream);
            prepared.whole().on(dropped).with_columns(columns)
        };
        let loss = match which {
            0 | 4 => {
                let z = network.encode(&mut tape, 0, &prepared.whole(), Pass::default());
                let u = tape.normalize_rows(z);
                let u = tape.linear(u, head[0], Some(head[1]), Activation::Relu);
                if which == 4 {
                    tape.cross_entropy(u, (0..n as u32).map(|v| v % WIDTH as u32).collect::<Vec<_>>())
                } else {
                    let (us, vs): (Vec<u32>, Vec<u32>) = graph.edges().take(2 * n).unzip();
                    let positive = us.len() / 2;
                    let scores = tape.pair_dot(u, us, vs);
                    tape.binary_cross_entropy(scores, positive, Averaging::Separate)
                }
            }
            1 => {
                let masked = std::sync::Arc::new(NodeSet::sample(n, 0.5, &mut stream));
                let view = prepared.whole().with_masked(masked.clone());
                let pass = Pass { token: Some(head[2]), ..Pass::default() };
                let z = network.encode(&mut tape, 0, &view, pass);
                let z = tape.mask_rows(z, masked.clone(), None);
                let r = tape.propagate(prepared.operator(), z);
                let ids = masked.ids().to_vec();
                let r = tape.gather(r, ids.clone());
                tape.reconstruct(
                    r,
                    head[0],
                    Some(head[1]),
                    prepared,
                    ids,
                    Distance::Cosine { gamma: 3.0, least: 0.0 },
                )
            }
            _ => {
                let views = [augmented(), augmented()];
                let z = [0, 1].map(|i| {
                    let z = network.encode(&mut tape, 0, &views[i], Pass::default());
                    tape.linear(z, head[0], Some(head[1]), Activation::Elu)
                });
                if which == 2 {
                    let p = z.map(|z| tape.normalize_rows(z));
                    let how = Contrast { temperature: 0.2, intra_view: true, both_directions: true };
                    tape.info_nce(p[0], p[1], how)
                } else {
                    let y = z.map(|z| tape.standardize_columns(z, false, 1e-5));
                    tape.barlow(y[0], y[1], 0.01)
                }
            }
        };
        let value = tape.scalar(loss);
        grads.reset();
        tape.backward_last(loss, grads);
        optimizer.step(params, grads);
        *steps += 1;
        value
    }
}
