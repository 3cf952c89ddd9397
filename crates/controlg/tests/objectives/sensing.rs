//! Sensing changes no state and agrees with separate passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use controlg::coordinator::Reading;
use controlg::encoder::{Block, BlockSource, Encoder, Norms, Pass};
use controlg::graph::{EdgeDropper, EncoderInput, Graph, Subgraph, View};
use controlg::objective::{
    AugmentedView, AuxNetwork, HeadDims, LossInput, OBJECTIVES, Objective, Purpose, ViewSpec, all,
};
use controlg::rng::Stream;
use controlg::tensor::{Grads, Params, Pool, Tape, Var};
use controlg::train::{Model, NamedObjective};
use controlg::{Real, Result};

use crate::bench::{Bench, SEED, block_model, model, network, objective, spec};
use crate::differences::{WIDE, forever};
use crate::trained_table;

const ENCODER: &str = "width = 16";

/// All objectives, those with an auxiliary network included.
fn pool() -> Vec<(&'static str, &'static str)> {
    all().map(|entry| (entry.name, trained_table(entry.name))).collect()
}

/// The objectives of the paper.
fn paper_pool() -> Vec<(&'static str, &'static str)> {
    OBJECTIVES.iter().map(|entry| (entry.name, trained_table(entry.name))).collect()
}

fn small() -> Graph {
    block_model(":nodes=250,degree=1.5,features=80")
}

/// The parameters and optimizer states as bytes.
fn state(model: &Model<'_>) -> Vec<u8> {
    let params = model.params().groups().iter().flat_map(|group| group.data()).flat_map(|x| x.to_le_bytes());
    params.chain(model.optimizers().iter().flat_map(|optimizer| optimizer.to_bytes())).collect()
}

fn bits(reading: &Reading) -> Vec<u64> {
    let gram = reading.cosine.iter().flatten();
    [&reading.loss, &reading.grad_norm, &reading.rq]
        .into_iter()
        .flatten()
        .chain(gram)
        .map(|x| x.to_bits())
        .collect()
}

#[test]
fn sensing_does_not_change_training() {
    let graph = small();
    let [mut sensed, mut plain] = [(); 2].map(|()| model(&graph, ENCODER, &pool(), 3e-3).unwrap());
    for step in 0..2 * pool().len() as u64 {
        let task = step as usize % pool().len();
        let before = state(&sensed);
        let reading = sensed.measure(step).unwrap();
        let losses = sensed.losses(step).unwrap();
        assert_eq!(reading.loss, losses, "step {step}: losses of measure() and losses()");
        assert_eq!(losses, sensed.losses(step + 17).unwrap(), "step {step}: samples are frozen");
        assert_eq!(bits(&reading), bits(&sensed.measure(step).unwrap()), "step {step}: measured twice");
        assert!(before == state(&sensed), "step {step}: sensing changed the state");
        let [first, second] = [&mut sensed, &mut plain].map(|model| model.step(task, step).unwrap());
        assert_eq!(first.to_bits(), second.to_bits(), "step {step}");
        assert!(state(&sensed) == state(&plain), "step {step}: sensing changed the next step");
    }
}

#[test]
fn readings_agree_with_separate_passes() {
    let graph = small();
    let mut model = model(&graph, ENCODER, &pool(), 3e-3).unwrap();
    (0..pool().len()).for_each(|task| assert!(model.step(task, task as u64).is_ok()));
    let reading = model.measure(5).unwrap();
    let params = forever(model.params().clone());
    let mut gradients: Vec<Vec<f64>> = Vec::new();
    for (task, (name, table)) in pool().into_iter().enumerate() {
        let bench = Bench::new(graph.clone(), ENCODER, name, table).sensed_by_model(SEED, name, params);
        let (loss, quotient, gradient) = separate_pass(&bench, params);
        assert_eq!(loss.to_bits(), reading.loss[task].to_bits(), "{name}: loss");
        assert_close(&format!("{name}: rq"), reading.rq[task], quotient);
        assert!((0.0..=2.0).contains(&reading.rq[task]), "{name}: rq {}", reading.rq[task]);
        gradients.push(gradient);
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let norms: Vec<f64> = gradients.iter().map(|g| dot(g, g).sqrt()).collect();
    for (a, (name, _)) in pool().into_iter().enumerate() {
        assert!(norms[a] > 0.0, "{name}: no gradient");
        assert_close(&format!("{name}: norm"), reading.grad_norm[a] / norms[a], 1.0);
        for b in 0..norms.len() {
            let cosine = dot(&gradients[a], &gradients[b]) / (norms[a] * norms[b]);
            assert_close(&format!("{name}: cosine with {b}"), reading.cosine[a][b], cosine);
        }
    }
}

fn assert_close(label: &str, found: f64, expected: f64) {
    let bound = if WIDE { 1e-9 } else { 1e-4 };
    assert!((found - expected).abs() < bound, "{label}: {found} for {expected}");
}

/// Loss, Rayleigh quotient and encoder gradient of one objective, on a separate tape.
fn separate_pass(bench: &Bench, params: &'static Params) -> (f64, f64, Vec<f64>) {
    let mut grads = Grads::new(params);
    let mut tape = Tape::new(params, forever(Pool::new()));
    let augmented = bench.augmented();
    let z = bench.encode(&mut tape, &augmented);
    let loss = bench.loss(&mut tape, &augmented, &z, Purpose::Sensing);
    tape.backward(loss, &mut grads);
    let gradient = grads.group(0).expect("a gradient").iter().map(|&x| f64::from(x)).collect();

    let cut: Vec<Var> = z.iter().map(|&z| tape.detached_leaf(z)).collect();
    let again = bench.loss(&mut tape, &augmented, &cut, Purpose::Sensing);
    tape.backward(again, &mut grads);
    let (mut energy, mut norm) = (0.0, 0.0);
    for &z in &cut {
        let signal = tape.gradient(z).expect("a gradient");
        let width = tape.shape(z).1;
        let at = |node: u32, col: usize| f64::from(signal[node as usize * width + col]);
        let scaled =
            |node: u32, col: usize| at(node, col) / (bench.graph.degree(node as usize) as f64).sqrt();
        for col in 0..width {
            energy +=
                bench.graph.edges().map(|(u, v)| (scaled(u, col) - scaled(v, col)).powi(2)).sum::<f64>();
            norm += (0..bench.graph.n_nodes() as u32).map(|node| at(node, col).powi(2)).sum::<f64>();
        }
    }
    (tape.scalar(loss), energy / (norm + 1e-12), gradient)
}

/// An encoder that counts forward passes.
struct CountingEncoder {
    inner: Box<dyn Encoder>,
    passes: Arc<AtomicUsize>,
}

impl Encoder for CountingEncoder {
    fn width(&self) -> usize {
        self.inner.width()
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        self.inner.init(n_features, params, group, stream);
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, pass: Pass<'_>) -> Var {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.inner.encode(tape, group, view, pass)
    }

    fn layers(&self) -> usize {
        self.inner.layers()
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.inner.has_batch_norm(layer)
    }

    fn transform<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        self.inner.transform(tape, group, layer, rows)
    }

    fn aggregate<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        block: &'a Block,
        rows: Var,
        transformed: bool,
    ) -> Var {
        self.inner.aggregate(tape, group, layer, block, rows, transformed)
    }

    fn post<'a>(&self, tape: &mut Tape<'a>, group: usize, layer: usize, h: Var, norms: Norms<'_>) -> Var {
        self.inner.post(tape, group, layer, h, norms)
    }
}

/// An objective that counts its views: each needs one backward pass through the encoder.
#[derive(Clone)]
struct CountingObjective {
    inner: Box<dyn Objective>,
    backward_passes: Arc<AtomicUsize>,
}

impl Objective for CountingObjective {
    fn check(&self, graph: &Graph) -> Result<()> {
        self.inner.check(graph)
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        self.inner.prepare(graph)
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        self.inner.on_batch(batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        self.inner.init_head(dims, params, group, stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        self.inner.views()
    }

    fn augment<'a>(
        &'a self,
        spec: &ViewSpec,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        self.inner.augment(spec, graph, prepared, dropper, stream)
    }

    fn aux_network(&self) -> Option<AuxNetwork> {
        self.inner.aux_network()
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        self.backward_passes.fetch_add(input.z.len(), Ordering::Relaxed);
        self.inner.loss(tape, input)
    }
}

#[test]
fn sensing_five_objectives_takes_five_forward_and_seven_backward_passes() {
    let graph = small();
    let counts = |pool: &[(&str, &str)]| {
        let (passes, backward_passes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let encoder = Box::new(CountingEncoder { inner: network(ENCODER), passes: passes.clone() });
        let task = |&(name, table): &(&str, &str)| {
            let objective =
                CountingObjective { inner: objective(name, table), backward_passes: backward_passes.clone() };
            NamedObjective { name: name.to_owned(), objective: Box::new(objective) }
        };
        let mut model =
            Model::new(&graph, None, spec(encoder, pool.iter().map(task).collect(), 1e-3)).unwrap();
        model.measure(0).unwrap();
        (passes.load(Ordering::Relaxed), backward_passes.load(Ordering::Relaxed))
    };
    let all = paper_pool();
    assert_eq!(counts(&all), (5, 7), "all five");
    assert_eq!(counts(&[all[0], all[1], all[3]]), (4, 4), "three objectives");
    assert_eq!(counts(&[all[0], all[4]]), (2, 2), "p_link hides edges");
    assert_eq!(counts(&[("p_link", "mask = 0"), all[4]]), (1, 2), "two objectives on the clean graph");
    // Views with different rates cannot be shared.
    assert_eq!(counts(&[all[2], ("p_decor", "width = 32\ndrop_edges = 0.2")]), (4, 4));
    // Those of cca-ssg are drawn like those of p_decor; gca draws its own.
    let rates = "drop_edges = 0.3\nmask_features = 0.3";
    assert_eq!(counts(&[all[3], ("cca-ssg", rates)]), (2, 4));
    let rates = "drop_edges_1 = 0.3\ndrop_edges_2 = 0.3\nmask_features_1 = 0.3\nmask_features_2 = 0.3";
    assert_eq!(counts(&[all[3], ("grace", rates)]), (2, 4));
    assert_eq!(counts(&[all[3], ("gca", rates)]), (4, 4));
    // The auxiliary network of mvgrl encodes both views too, but shares those of the encoder with dgi.
    assert_eq!(counts(&[("dgi", ""), ("mvgrl", "")]), (4, 4));
}

#[test]
fn a_probe_of_all_nodes_agrees_with_the_whole_graph_and_a_smaller_one_keeps_the_heads() {
    let graph = block_model(":nodes=400,features=60");
    let every: Vec<u32> = (0..400).collect();
    let whole = Subgraph::induced(&graph, &every).unwrap();
    let part = Subgraph::balls(&graph, 150, 3, &mut Stream::new(1, "sense", "probe", 0)).unwrap();
    let read = |probe: Option<&Subgraph>| {
        let tasks = pool()
            .into_iter()
            .map(|(name, table)| NamedObjective { name: name.to_owned(), objective: objective(name, table) });
        let mut model = Model::new(&graph, probe, spec(network(ENCODER), tasks.collect(), 1e-3)).unwrap();
        (0..5).for_each(|step| assert!(model.step(step as usize, step).is_ok()));
        (state(&model), model.measure(5).unwrap())
    };
    let (trained, reading) = read(None);
    let (same, on_all) = read(Some(&whole));
    assert!(trained == same && bits(&reading) == bits(&on_all));
    let (same, on_part) = read(Some(&part));
    assert!(trained == same, "a probe changes what is measured, not what is trained");
    assert!(on_part.rq.iter().all(|rq| (0.0..=2.0).contains(rq)));
    // On the probe, p_par still predicts the clusters of the whole graph.
    let par = pool().iter().position(|task| task.0 == "p_par").unwrap();
    assert!(
        (on_part.loss[par] - reading.loss[par]).abs() < 0.3 * reading.loss[par],
        "{on_part:?} {reading:?}"
    );
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    // Large enough that kernels split the work into several chunks.
    let graph = block_model(":nodes=1500,features=300");
    let at = |threads| {
        let pool_of_threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool_of_threads.install(|| {
            let mut model = model(&graph, ENCODER, &pool(), 3e-3).unwrap();
            (0..pool().len()).for_each(|task| assert!(model.step(task, task as u64).is_ok()));
            let (z, _) = model.embed().unwrap();
            let z: Vec<Real> = z.data().to_vec();
            (bits(&model.measure(10).unwrap()), state(&model), z)
        })
    };
    let one = at(1);
    assert!(one == at(2) && one == at(4));
}

#[test]
fn optimizer_states_are_shared_or_separate() {
    let graph = small();
    let tasks = || {
        let task = |(name, table): (&str, &str)| NamedObjective {
            name: name.to_owned(),
            objective: objective(name, table),
        };
        pool().into_iter().map(task).collect::<Vec<_>>()
    };
    let mut separate = spec(network(ENCODER), tasks(), 1e-3);
    separate.per_task_moments = true;
    let (mut separate, mut shared) = (
        Model::new(&graph, None, separate).unwrap(),
        Model::new(&graph, None, spec(network(ENCODER), tasks(), 1e-3)).unwrap(),
    );
    assert_eq!((separate.optimizers().len(), shared.optimizers().len()), (pool().len(), 1));
    // While only one objective has been trained, both are the same.
    for model in [&mut separate, &mut shared] {
        assert!(model.step(0, 0).is_ok() && model.step(0, 1).is_ok());
    }
    assert!(separate.params() == shared.params(), "one objective uses one optimizer state");
    for model in [&mut separate, &mut shared] {
        assert!(model.step(3, 2).is_ok());
    }
    assert!(
        separate.params() != shared.params(),
        "the second objective starts from its own or from the shared state"
    );
    let heads = |model: &Model<'_>| model.params().groups()[3].clone();
    assert!(heads(&separate) == heads(&shared), "heads of untrained objectives do not change");
}

#[test]
fn embeddings_are_those_of_the_clean_graph() {
    let graph = small();
    let mut model = model(&graph, ENCODER, &pool(), 3e-3).unwrap();
    (0..5).for_each(|step| assert!(model.step(step as usize, step).is_ok()));
    let (z, stats) = model.embed().unwrap();
    assert_eq!((z.n_rows(), z.n_cols(), stats.len()), (graph.n_nodes(), 16, 2));
    let direct = controlg::encoder::embed(
        &*network(ENCODER),
        model.params(),
        0,
        &EncoderInput::new(&graph),
        &Pool::new(),
    );
    assert_eq!(z, direct);
    model.measure(5).unwrap();
    assert_eq!(z, model.embed().unwrap().0);
}
