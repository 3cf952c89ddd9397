//! Sensing: losses and gradient geometry of all objectives on fixed samples.

use super::data::PreparedGraph;
use super::forward::{ENCODER, ForwardContext, ObjectivePass};
use super::held_out;
use crate::Real;
use crate::collective::Ranks;
use crate::error::Result;
use crate::graph::EdgeDropper;
use crate::kernels::reduce;
use crate::objective::{AugmentedView, Objective, Purpose, ViewSpec};
use crate::rng::Stream;
use crate::tensor::{AdamW, Buffer, Grads, Tape, Var};
use crate::trace::RelationLine;

/// What one sensing measures.
pub(in crate::train) struct Measured {
    pub(in crate::train) loss: Vec<f64>,
    /// Rayleigh quotients of the gradients at the representations.
    pub(in crate::train) rq: Vec<f64>,
    /// The same in each relation (rows); empty for a homogeneous graph.
    pub(in crate::train) rq_relation: Vec<Vec<f64>>,
    /// Inner products of the gradients at the encoder's parameters.
    pub(in crate::train) products: Vec<Vec<f64>>,
    /// Losses on held-out samples.
    pub(in crate::train) held_out_loss: Vec<f64>,
    /// Effects of steps on these losses; see [`held_out::transfer`].
    pub(in crate::train) transfer: Vec<Vec<f64>>,
}

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::train) enum Measurement {
    /// Losses.
    Losses,
    /// Losses on held-out samples.
    HeldOutLosses,
    /// Losses and gradients.
    Gradients,
    /// Losses and gradients, also on held-out samples.
    Transfer,
}

impl Measurement {
    fn differentiates(self) -> bool {
        matches!(self, Measurement::Gradients | Measurement::Transfer)
    }

    fn purposes(self) -> &'static [Purpose] {
        match self {
            Measurement::Losses | Measurement::Gradients => &[Purpose::Sensing],
            Measurement::HeldOutLosses => &[Purpose::HeldOut],
            Measurement::Transfer => &[Purpose::Sensing, Purpose::HeldOut],
        }
    }
}

/// The purpose of the random streams of views and losses. Held-out losses have views of their own: a training step draws new
/// ones too, and gradients of the same views would agree more than those of two draws.
fn draws(purpose: Purpose) -> &'static str {
    if purpose == Purpose::HeldOut { "held-out loss" } else { "sense" }
}

/// Objectives with the same views, which share their forward passes.
pub(in crate::train) struct ViewGroup {
    views: Vec<ViewSpec>,
    members: Vec<usize>,
}

/// Groups objectives by their views.
pub(in crate::train) fn group_views(objectives: &[Box<dyn Objective>]) -> Vec<ViewGroup> {
    let mut groups: Vec<ViewGroup> = Vec::new();
    for (task, objective) in objectives.iter().enumerate() {
        let views = objective.views();
        let shareable = views.iter().all(ViewSpec::is_shareable);
        match groups.iter_mut().find(|group| shareable && group.views == views) {
            Some(group) => group.members.push(task),
            None => groups.push(ViewGroup { views, members: vec![task] }),
        }
    }
    groups
}

/// A sensing at a training step.
pub(in crate::train) struct Sensor<'m> {
    pub(in crate::train) context: ForwardContext<'m>,
    pub(in crate::train) data: &'m PreparedGraph<'m>,
    pub(in crate::train) groups: &'m [ViewGroup],
    pub(in crate::train) relations: &'m [RelationLine],
    pub(in crate::train) optimizers: &'m [AdamW],
    pub(in crate::train) step: u64,
    pub(in crate::train) measurement: Measurement,
    /// The ranks, which measure the groups in turns.
    pub(in crate::train) ranks: Ranks<'m>,
}

/// The encoder gradients of all objectives. Those that are not measured are empty.
struct EncoderGrads<'m> {
    trained: Vec<Buffer<'m>>,
    held_out: Vec<Buffer<'m>>,
}

impl<'m> Sensor<'m> {
    /// Measures all objectives. `grads` is working memory.
    pub(in crate::train) fn measure_all(
        &self,
        grads: &mut Grads,
        dropper: &mut EdgeDropper,
    ) -> Result<Measured> {
        let (k, pool) = (self.context.names.len(), self.context.pool);
        let mut measured = Measured {
            loss: vec![0.0; k],
            rq: vec![0.0; k],
            rq_relation: vec![vec![0.0; k]; self.relations.len()],
            products: Vec::new(),
            held_out_loss: vec![0.0; k],
            transfer: Vec::new(),
        };
        let empty = || (0..k).map(|_| pool.take(0)).collect();
        let mut gradients = EncoderGrads { trained: empty(), held_out: empty() };
        let own = self.turns().into_iter().enumerate().filter(|&(turn, _)| self.ranks.has_turn(turn));
        let done = own.into_iter().try_for_each(|(_, (purpose, group))| {
            self.measure_group(group, purpose, grads, dropper, &mut measured, &mut gradients)
        });
        if !self.ranks.is_alone() {
            self.ranks.agree(done)?;
            self.collect(&mut measured, &mut gradients)?;
        } else {
            done?;
        }
        let EncoderGrads { trained, held_out } = gradients;
        measured.products = inner_products(&trained);
        if self.measurement.differentiates() {
            let len = trained.iter().map(Buffer::len).max().unwrap_or(0);
            pool.count_flops((k * (k + 1) * len) as u64);
        }
        if self.measurement == Measurement::Transfer {
            measured.transfer = held_out::transfer(&held_out, &trained, self.optimizers, self.step, pool);
        }
        if !self.ranks.is_alone() {
            self.share(&mut measured)?;
        }
        Ok(measured)
    }

    /// What is measured, in order.
    fn turns(&self) -> Vec<(Purpose, &'m ViewGroup)> {
        let of = |&purpose: &Purpose| self.groups.iter().map(move |group| (purpose, group));
        self.measurement.purposes().iter().flat_map(of).collect()
    }

    /// Collects the measurements of all ranks at rank 0.
    fn collect(&self, measured: &mut Measured, gradients: &mut EncoderGrads<'m>) -> Result<()> {
        let mut own = Vec::new();
        for (purpose, member) in self.members_of(self.ranks.rank()) {
            let (loss, rq, gradient) = match purpose {
                Purpose::HeldOut => (measured.held_out_loss[member], 0.0, &gradients.held_out[member]),
                _ => (measured.loss[member], measured.rq[member], &gradients.trained[member]),
            };
            let by_relation = measured.rq_relation.iter().map(|row| row[member]);
            own.extend([loss, rq].into_iter().chain(by_relation).flat_map(f64::to_le_bytes));
            own.extend((gradient.len() as u64).to_le_bytes());
            own.extend(gradient.iter().flat_map(|x| x.to_le_bytes()));
        }
        for (rank, bytes) in self.ranks.gather(0, &own)?.iter().enumerate().skip(1) {
            let (mut rest, _) = bytes.as_chunks::<{ size_of::<Real>() }>();
            let mut take = |len: usize| {
                let (taken, after) = rest.split_at(len);
                rest = after;
                taken.as_flattened()
            };
            for (purpose, member) in self.members_of(rank) {
                let n_relations = measured.rq_relation.len();
                let (head, _) = take((3 + n_relations) * size_of::<f64>() / size_of::<Real>()).as_chunks();
                let number = |at: usize| f64::from_le_bytes(head[at]);
                let (loss, rq) = (number(0), number(1));
                let mut gradient = self.context.pool.take(u64::from_le_bytes(head[2 + n_relations]) as usize);
                let (values, _) = take(gradient.len()).as_chunks();
                gradient.iter_mut().zip(values).for_each(|(x, raw)| *x = Real::from_le_bytes(*raw));
                if purpose == Purpose::HeldOut {
                    measured.held_out_loss[member] = loss;
                    gradients.held_out[member] = gradient;
                } else {
                    (measured.loss[member], measured.rq[member]) = (loss, rq);
                    for (relation, row) in measured.rq_relation.iter_mut().enumerate() {
                        row[member] = number(2 + relation);
                    }
                    gradients.trained[member] = gradient;
                }
            }
        }
        Ok(())
    }

    /// What a rank measures, in order.
    fn members_of(&self, rank: usize) -> Vec<(Purpose, usize)> {
        let turns = self.turns().into_iter().skip(rank).step_by(self.ranks.size());
        turns
            .flat_map(|(purpose, group)| group.members.iter().map(move |&member| (purpose, member)))
            .collect()
    }

    /// Gives all ranks what rank 0 has measured.
    fn share(&self, measured: &mut Measured) -> Result<()> {
        let Measured { loss, rq, rq_relation, products, held_out_loss, transfer } = measured;
        let lists = [loss, rq, held_out_loss].into_iter().chain(rq_relation).chain(products).chain(transfer);
        let lists: Vec<&mut Vec<f64>> = lists.collect();
        let mut numbers: Vec<f64> = lists.iter().flat_map(|list| list.iter().copied()).collect();
        self.ranks.broadcast_numbers(&mut numbers)?;
        let mut numbers = numbers.into_iter();
        lists
            .into_iter()
            .for_each(|list| list.iter_mut().zip(&mut numbers).for_each(|(to, from)| *to = from));
        Ok(())
    }

    fn measure_group(
        &self,
        group: &ViewGroup,
        purpose: Purpose,
        grads: &mut Grads,
        dropper: &mut EdgeDropper,
        measured: &mut Measured,
        encoder_grads: &mut EncoderGrads<'m>,
    ) -> Result<()> {
        let (seed, pool) = (self.context.seed, self.context.pool);
        let first = self.pass(group.members[0], purpose);
        let augment = |spec: &ViewSpec| {
            let mut stream = Stream::new(seed, draws(purpose), "view", u64::from(spec.index));
            first.augment(spec, dropper, &mut stream)
        };
        let augmented: Vec<AugmentedView<'_>> = group.views.iter().map(augment).collect();
        let mut tape = if self.measurement.differentiates() {
            Tape::new(self.context.params, pool)
        } else {
            Tape::forward_only(self.context.params, pool)
        };
        let encoded: Vec<Var> = augmented.iter().map(|view| first.encode(&mut tape, view, None)).collect();
        let z: Vec<Var> = encoded.iter().map(|&z| tape.detached_leaf(z)).collect();
        tape.freeze_params();
        for &member in &group.members {
            let head = HeadLoss { pass: self.pass(member, purpose), augmented: &augmented };
            let (value, rq, gradient) = self.measure_head(head, &mut tape, (&encoded, &z), grads)?;
            if purpose == Purpose::HeldOut {
                measured.held_out_loss[member] = value;
                encoder_grads.held_out[member] = gradient;
            } else {
                (measured.loss[member], measured.rq[member]) = (value, rq.mean);
                measured.rq_relation.iter_mut().zip(rq.by_relation).for_each(|(row, rq)| row[member] = rq);
                encoder_grads.trained[member] = gradient;
            }
        }
        Ok(())
    }

    /// The loss of one objective, and with gradients its Rayleigh quotient and the gradient at the encoder. `encoded` are the
    /// representations of the views and `z` the leaves that heads start from.
    fn measure_head(
        &self,
        head: HeadLoss<'_, 'm>,
        tape: &mut Tape<'m>,
        (encoded, z): (&[Var], &[Var]),
        grads: &mut Grads,
    ) -> Result<(f64, Roughness, Buffer<'m>)> {
        let (seed, pool) = (self.context.seed, self.context.pool);
        let HeadLoss { pass, augmented } = head;
        let mark = tape.mark();
        let mut stream = Stream::new(seed, draws(pass.purpose), pass.name(), 0);
        let (loss, value) = pass.loss(tape, augmented, z, &mut stream, self.step)?;
        if !self.measurement.differentiates() {
            tape.truncate(mark);
            return Ok((value, Roughness::default(), pool.take(0)));
        }
        grads.reset();
        tape.backward_since(mark, loss, grads);
        let z_grads: Vec<Option<Buffer<'_>>> = z.iter().map(|&z| tape.take_gradient(z)).collect();
        let blocks: Vec<&[Real]> = z_grads.iter().filter_map(|grad| grad.as_deref()).collect();
        let measures_rq = !tape.is_shape_only() && pass.purpose == Purpose::Sensing;
        let rq = if measures_rq { self.roughness(&blocks) } else { Roughness::default() };
        if pass.purpose == Purpose::Sensing {
            let numbers: usize = z_grads.iter().flatten().map(Buffer::len).sum();
            let per_number = 2 + 3 * self.data.graph.n_edges() / self.data.graph.n_nodes().max(1);
            pool.count_flops((per_number * numbers) as u64);
        }
        for (&encoded, z_grad) in encoded.iter().zip(z_grads) {
            if let Some(z_grad) = z_grad {
                tape.backward_from(encoded, z_grad, grads);
            }
        }
        Ok((value, rq, pool.copy(grads.group(ENCODER).unwrap_or_default())))
    }

    /// The Rayleigh quotient of a gradient: that of the graph, or the weighted mean of those of its relations.
    fn roughness(&self, gradient: &[&[Real]]) -> Roughness {
        let by_relation = self.data.laplacian.rayleigh_by_relation(gradient);
        let mean = match self.relations {
            [] => self.data.laplacian.rayleigh(gradient),
            relations => relations.iter().zip(&by_relation).map(|(relation, rq)| relation.weight * rq).sum(),
        };
        Roughness { mean, by_relation }
    }

    fn pass(&self, task: usize, purpose: Purpose) -> ObjectivePass<'m> {
        ObjectivePass {
            context: self.context,
            task,
            objective: &*self.data.objectives[task],
            data: self.data,
            purpose,
        }
    }
}

/// The Rayleigh quotient of a gradient.
#[derive(Default)]
struct Roughness {
    mean: f64,
    /// In each relation; empty for a homogeneous graph.
    by_relation: Vec<f64>,
}

/// One objective's loss of the views of its group.
struct HeadLoss<'s, 'm> {
    pass: ObjectivePass<'m>,
    augmented: &'s [AugmentedView<'m>],
}

/// The K × K inner products. A gradient that did not reach the encoder is empty and counts as zero.
fn inner_products(gradients: &[Buffer<'_>]) -> Vec<Vec<f64>> {
    let k = gradients.len();
    let mut products = vec![vec![0.0; k]; k];
    for a in 0..k {
        for b in a..k {
            if gradients[a].len() == gradients[b].len() {
                products[a][b] = reduce::dot(&gradients[a], &gradients[b]);
            }
            products[b][a] = products[a][b];
        }
    }
    products
}
