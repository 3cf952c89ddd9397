//! Test fixtures: one objective on a graph, split into its parts, and models with several objectives.

use controlg::config::Recompute;
use controlg::coordinator::RelationWeights;
use controlg::encoder::{self, Encoder, InputDims, Pass};
use controlg::graph::{EdgeDropper, EncoderInput, Graph};
use controlg::objective::{
    self, AugmentedView, AuxNetwork, HeadDims, LossInput, Objective, Purpose, ViewSpec,
};
use controlg::rng::Stream;
use controlg::tensor::{OptimizerSettings, ParamId, Params, Pool, Precision, Tape, Var};
use controlg::train::{Model, ModelSpec, NamedObjective};
use controlg::{Real, Result};

use crate::differences::forever;

pub(crate) fn network(table: &str) -> Box<dyn Encoder> {
    encoder::build(table.parse().expect("a table")).expect("good settings")
}

pub(crate) fn objective(name: &str, table: &str) -> Box<dyn Objective> {
    objective::build(name, table.parse().expect("a table")).expect("good settings")
}

/// An encoder and one objective on a graph, prepared.
pub(crate) struct Bench {
    pub(crate) graph: &'static Graph,
    prepared: &'static EncoderInput<'static>,
    encoder: &'static dyn Encoder,
    objective: &'static dyn Objective,
    /// The parameter groups of the head and of the auxiliary network.
    group: usize,
    aux_group: usize,
    /// The seed, purpose and name of the random streams of views and losses.
    draws: (u64, &'static str, &'static str),
}

impl Bench {
    pub(crate) fn new(graph: Graph, encoder: &str, name: &str, table: &str) -> Bench {
        Bench::holding_out(graph, encoder, name, table, 0.0)
    }

    /// With a share of the samples held out, if it is not 0.
    pub(crate) fn holding_out(graph: Graph, encoder: &str, name: &str, table: &str, share: f64) -> Bench {
        let graph = forever(graph);
        let encoder = &**forever(network(encoder));
        let mut objective = objective(name, table);
        objective.check(graph).expect("a suitable graph");
        objective.prepare(graph).expect("a suitable graph");
        if share > 0.0 {
            let stream = &mut Stream::new(2, "held-out", name, 0);
            objective.hold_out(graph, share, stream).expect("enough samples");
        }
        Bench {
            graph,
            prepared: forever(EncoderInput::with_spec(graph, encoder.operator())),
            encoder,
            objective: &**forever(objective),
            group: 1,
            aux_group: 2,
            draws: (9, "test", "loss"),
        }
    }

    /// The same, with the parameter groups and random streams that sensing in a model with this seed uses.
    pub(crate) fn sensed_by_model(self, seed: u64, name: &'static str, params: &Params) -> Bench {
        let group_of = |name: &str| params.groups().iter().position(|group| group.name() == name);
        let group = group_of(name).expect("a head");
        let aux_group = group_of(&format!("{name}.second")).unwrap_or(group);
        Bench { group, aux_group, draws: (seed, "sense", name), ..self }
    }

    pub(crate) fn views(&self) -> Vec<ViewSpec> {
        self.objective.views()
    }

    /// Parameters of encoder and head, perturbed because some derivatives vanish at initialization.
    pub(crate) fn params(&self) -> Params {
        let mut params = Params::new();
        let group = params.add_group("encoder");
        self.encoder.init_for(
            InputDims::of(self.graph),
            &mut params,
            group,
            &mut Stream::new(4, "init", "", 0),
        );
        self.add_head(&mut params);
        let mut stream = Stream::new(6, "test", "", 0);
        for group in 0..params.groups().len() {
            params.group_mut(group).data_mut().iter_mut().for_each(|x| *x += 0.1 * stream.normal() as Real);
        }
        params
    }

    /// The embeddings as parameters, and the head.
    pub(crate) fn params_at_z(&self) -> Params {
        let whole = forever(self.params());
        let mut tape = Tape::forward_only(whole, forever(Pool::new()));
        let z = self.encode(&mut tape, &self.augmented());
        let mut params = Params::new();
        let group = params.add_group("z");
        for (at, &z) in z.iter().enumerate() {
            let zero = controlg::tensor::Init::Constant(0.0);
            let id =
                params.add(group, &at.to_string(), tape.shape(z), zero, &mut Stream::new(0, "init", "", 0));
            params.get_mut(id).copy_from_slice(tape.value(z));
        }
        self.add_head(&mut params);
        for group in 1..params.groups().len() {
            params.group_mut(group).data_mut().copy_from_slice(whole.groups()[group].data());
        }
        params
    }

    /// The number of groups with gradients; an EMA network comes last.
    pub(crate) fn n_learned(&self) -> usize {
        match self.objective.aux_network() {
            Some(AuxNetwork::Trained) => 3,
            Some(AuxNetwork::Ema { .. }) | None => 2,
        }
    }

    /// Adds the head, and the auxiliary network if there is one.
    fn add_head(&self, params: &mut Params) {
        let InputDims { n_features, n_relations, .. } = InputDims::of(self.graph);
        let dims = HeadDims { n_features, width: self.encoder.width(), n_relations };
        let group = params.add_group("head");
        self.objective.init_head(dims, params, group, &mut Stream::new(5, "init", "", 0));
        if self.objective.aux_network().is_some() {
            let aux = params.add_group("aux");
            self.encoder.init_for(InputDims::of(self.graph), params, aux, &mut Stream::new(8, "init", "", 0));
        }
    }

    /// The views, the same at every call.
    pub(crate) fn augmented(&self) -> Vec<AugmentedView<'static>> {
        let (seed, purpose, _) = self.draws;
        let sample = |spec: &ViewSpec| {
            let mut stream = Stream::new(seed, purpose, "view", u64::from(spec.index));
            self.objective.augment(
                spec,
                self.graph,
                self.prepared,
                &mut EdgeDropper::new(self.encoder.operator()),
                &mut stream,
            )
        };
        self.views().iter().map(sample).collect()
    }

    pub(crate) fn encode(&self, tape: &mut Tape<'static>, augmented: &[AugmentedView<'static>]) -> Vec<Var> {
        augmented
            .iter()
            .map(|augmented| {
                let token = ParamId { group: self.group, entry: 0 };
                let token = augmented.masked.is_some().then(|| tape.param(token));
                self.encoder.encode(tape, 0, &augmented.view, Pass { token, ..Pass::default() })
            })
            .collect()
    }

    pub(crate) fn loss(
        &self,
        tape: &mut Tape<'static>,
        augmented: &[AugmentedView<'static>],
        z: &[Var],
        purpose: Purpose,
    ) -> Var {
        let (seed, stream, name) = self.draws;
        let input = LossInput {
            graph: self.graph,
            prepared: self.prepared,
            group: self.group,
            encoder: self.encoder,
            aux_group: self.aux_group,
            views: augmented,
            z,
            stream: &mut Stream::new(seed, stream, name, 0),
            purpose,
        };
        self.objective.loss(tape, input)
    }

    /// The loss for given embeddings, with the head of [`Bench::params`].
    pub(crate) fn loss_of(&self, z: &[&[Real]]) -> f64 {
        self.loss_with(self.params(), z)
    }

    /// The loss for given embeddings and parameters.
    pub(crate) fn loss_with(&self, params: Params, z: &[&[Real]]) -> f64 {
        let mut tape = Tape::forward_only(forever(params), forever(Pool::new()));
        let n = self.graph.n_nodes();
        let z: Vec<Var> = z.iter().map(|z| tape.constant(n, z.len() / n, z.to_vec())).collect();
        let loss = self.loss(&mut tape, &self.augmented(), &z, Purpose::Training);
        tape.scalar(loss)
    }
}

/// A model with several objectives and their settings.
pub(crate) fn model<'g>(
    graph: &'g Graph,
    encoder: &str,
    pool: &[(&str, &str)],
    lr: f64,
) -> Result<Model<'g>> {
    let objectives = pool
        .iter()
        .map(|&(name, table)| NamedObjective { name: name.to_owned(), objective: objective(name, table) });
    Model::new(graph, None, spec(network(encoder), objectives.collect(), lr))
}

pub(crate) fn spec(encoder: Box<dyn Encoder>, objectives: Vec<NamedObjective>, lr: f64) -> ModelSpec {
    let optimizer = OptimizerSettings { rate: lr, weight_decay: 1e-5, ..OptimizerSettings::default() };
    let recompute = Recompute::Auto;
    ModelSpec {
        encoder: encoder.into(),
        objectives,
        optimizer,
        per_task_moments: false,
        seed: SEED,
        total_steps: 100,
        recompute,
        held_out: 0.0,
        precision: Precision::Full,
        relation_weights: RelationWeights::Edges,
    }
}

/// The seed of all models here.
pub(crate) const SEED: u64 = 3;

/// A stochastic block model with row-normalized features.
pub(crate) fn block_model(settings: &str) -> Graph {
    let data = controlg::data::load(&format!("synthetic{settings}"), &Default::default()).expect("a graph");
    let features = controlg::graph::norm::divide_rows_by_sums(data.graph.features()).unwrap();
    data.graph.with_features(features).expect("features of these nodes")
}
