//! AdamW with one state per parameter group, and learning rate schedules.

use std::io::Write;

use crate::Real;
use crate::error::{Error, Result};
use crate::kernels::{adam, reduce, rows};

use super::{Grads, Params};

/// The settings of the optimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimizerSettings {
    /// Learning rate, scaled by the schedule.
    pub rate: f64,
    /// Learning rate schedule.
    pub schedule: Schedule,
    /// Decay rate of the first moment.
    pub beta1: f64,
    /// Decay rate of the second moment.
    pub beta2: f64,
    /// Added to the denominator.
    pub eps: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Whether weight decay is added to the gradient (Adam with L2 regularization) instead of being decoupled (AdamW).
    pub coupled: bool,
    /// Gradient-norm clipping threshold, over all groups with a gradient.
    pub clip: Option<f64>,
}

impl Default for OptimizerSettings {
    fn default() -> Self {
        OptimizerSettings {
            rate: 1e-3,
            schedule: Schedule::default(),
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            coupled: false,
            clip: None,
        }
    }
}

/// A learning rate schedule: a factor per step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Steps of linear warm-up; 0 for none.
    pub warmup: u64,
    /// Decay after the warm-up.
    pub decay: Decay,
}

/// Learning rate decay after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decay {
    /// No decay.
    #[default]
    Constant,
    /// Cosine decay to zero at step `total`, counted from the start.
    Cosine {
        /// The step at which the rate is zero.
        total: u64,
    },
}

impl Schedule {
    /// The factor at a step, counted from 0.
    pub fn share(&self, step: u64) -> f64 {
        if step < self.warmup {
            return (step + 1) as f64 / self.warmup as f64;
        }
        match self.decay {
            Decay::Constant => 1.0,
            Decay::Cosine { total } => {
                let span = total.saturating_sub(self.warmup).max(1) as f64;
                let done = ((step - self.warmup) as f64 / span).min(1.0);
                0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
        }
    }
}

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
///
/// Each group has its own moments and step count. A group without a gradient is skipped: its moments and weights do not
/// decay and its step is not counted.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    settings: OptimizerSettings,
    steps: u64,
    states: Vec<OptimizerState>,
}

#[derive(Clone, Debug, PartialEq)]
struct OptimizerState {
    steps: u64,
    mean: Vec<Real>,
    square: Vec<Real>,
}

impl AdamW {
    /// A new optimizer for these parameters.
    pub fn new(params: &Params, settings: OptimizerSettings) -> Self {
        let state = |len: usize| OptimizerState { steps: 0, mean: vec![0.0; len], square: vec![0.0; len] };
        let states = params.groups().iter().map(|group| state(group.data().len())).collect();
        AdamW { settings, steps: 0, states }
    }

    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The learning rate of the next step.
    pub fn rate(&self) -> f64 {
        self.settings.rate * self.settings.schedule.share(self.steps)
    }

    /// [`AdamW::step`] with the learning rate of the given step, for optimizers that share the steps of a run.
    pub fn step_at(&mut self, step: u64, params: &mut Params, grads: &mut Grads) -> Option<f64> {
        self.steps = step;
        self.step(params, grads)
    }

    /// Updates every group that has a gradient. Clipping and coupled weight decay modify the gradients in place. Returns the
    /// gradient norm before clipping if clipping is on.
    pub fn step(&mut self, params: &mut Params, grads: &mut Grads) -> Option<f64> {
        let norm = self.settings.clip.map(|max_norm| clip(grads, max_norm));
        let rate = self.rate();
        for (group, state) in self.states.iter_mut().enumerate() {
            let Some(gradient) = grads.group_mut(group) else { continue };
            state.steps += 1;
            let values = params.group_mut(group).data_mut();
            if self.settings.coupled {
                rows::axpy(self.settings.weight_decay as Real, values, gradient);
            }
            let settings = adam::AdamWParams {
                step: state.steps,
                lr: rate,
                beta1: self.settings.beta1,
                beta2: self.settings.beta2,
                eps: self.settings.eps,
                decay: if self.settings.coupled { 0.0 } else { self.settings.weight_decay },
            };
            adam::adamw(settings, values, gradient, &mut state.mean, &mut state.square);
        }
        self.steps += 1;
        norm
    }

    /// The settings of the last step for a group, and both moments after it.
    pub(crate) fn last_step(&self, group: usize) -> (adam::AdamWParams, &[Real], &[Real]) {
        let (OptimizerState { steps, mean, square }, settings) = (&self.states[group], &self.settings);
        let share = settings.schedule.share(self.steps.saturating_sub(1));
        let settings = adam::AdamWParams {
            step: *steps,
            lr: settings.rate * share,
            beta1: settings.beta1,
            beta2: settings.beta2,
            eps: settings.eps,
            decay: settings.weight_decay,
        };
        (settings, mean, square)
    }

    /// What a gradient of a group moves its parameters by, up to the sign: the gradient times the learning rate of the given
    /// step and the diagonal preconditioner as it would be in that step. Clipping and weight decay are left out.
    pub(crate) fn preconditioned(&self, step: u64, group: usize, gradient: &[Real], out: &mut [Real]) {
        let (state, settings) = (&self.states[group], &self.settings);
        let settings = adam::AdamWParams {
            step: state.steps + 1,
            lr: settings.rate * settings.schedule.share(step),
            beta1: settings.beta1,
            beta2: settings.beta2,
            eps: settings.eps,
            decay: 0.0,
        };
        adam::preconditioned(settings, gradient, &state.square, out);
    }

    /// The whole state as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_len());
        // Writing to memory cannot fail.
        let _ = self.write_to(&mut bytes);
        bytes
    }

    /// Writes the whole state without building it in memory first.
    pub fn write_to(&self, to: &mut impl Write) -> std::io::Result<()> {
        to.write_all(MAGIC)?;
        let mut number = |n: u64| to.write_all(&n.to_le_bytes());
        number(size_of::<Real>() as u64)?;
        number(self.steps)?;
        number(self.states.len() as u64)?;
        for state in &self.states {
            number(state.steps)?;
            number(state.mean.len() as u64)?;
        }
        let mut values = self.states.iter().flat_map(|state| state.mean.iter().chain(&state.square));
        values.try_for_each(|x| to.write_all(&x.to_le_bytes()))
    }

    /// Number of bytes that [`AdamW::write_to`] writes.
    pub fn byte_len(&self) -> usize {
        let values: usize = self.states.iter().map(|state| 2 * state.mean.len()).sum();
        MAGIC.len() + 8 * (3 + 2 * self.states.len()) + values * size_of::<Real>()
    }

    /// Restores a state saved by [`AdamW::to_bytes`] for the same parameters.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let wrong = |found: &str| Error::value("optimizer state", found, "the state of these parameters");
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("another kind of file"))?;
        let mut number = || {
            let (head, tail) = rest.split_first_chunk::<8>().ok_or_else(|| wrong("an early end"))?;
            rest = tail;
            Ok::<u64, Error>(u64::from_le_bytes(*head))
        };
        if number()? != size_of::<Real>() as u64 {
            return Err(wrong("numbers of another precision"));
        }
        let steps = number()?;
        if number()? != self.states.len() as u64 {
            return Err(wrong("another number of groups"));
        }
        let mut counts = Vec::with_capacity(self.states.len());
        for state in &self.states {
            counts.push(number()?);
            if number()? != state.mean.len() as u64 {
                return Err(wrong("a group of another size"));
            }
        }
        let total: usize = self.states.iter().map(|state| 2 * state.mean.len()).sum();
        if rest.len() != total * size_of::<Real>() {
            return Err(wrong("another length"));
        }
        let mut values = rest.chunks_exact(size_of::<Real>()).map(|chunk| {
            let mut raw = [0; size_of::<Real>()];
            raw.copy_from_slice(chunk);
            Real::from_le_bytes(raw)
        });
        self.steps = steps;
        for (state, count) in self.states.iter_mut().zip(counts) {
            state.steps = count;
            let slots = state.mean.iter_mut().chain(&mut state.square);
            slots.zip(&mut values).for_each(|(slot, value)| *slot = value);
        }
        Ok(())
    }
}

const MAGIC: &[u8] = b"controlg adamw 1";

/// Scales all gradients so that their total norm is at most `max_norm`. Returns the norm before.
fn clip(grads: &mut Grads, max_norm: f64) -> f64 {
    let groups = 0..grads.n_groups();
    let square: f64 = groups.clone().filter_map(|group| grads.group(group)).map(reduce::sum_squares).sum();
    let norm = square.sqrt();
    if norm > max_norm {
        let factor = (max_norm / norm) as Real;
        for group in groups {
            if let Some(gradient) = grads.group_mut(group) {
                rows::scale(factor, gradient);
            }
        }
    }
    norm
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // states are compared bit for bit
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::tensor::Init;

    fn two_groups() -> Params {
        let mut params = Params::new();
        let mut stream = Stream::new(3, "init", "", 0);
        for name in ["encoder", "head"] {
            let group = params.add_group(name);
            params.add(group, "weight", (4, 5), Init::XavierUniform, &mut stream);
        }
        params
    }

    fn gradient(step: u64) -> Vec<Real> {
        let mut stream = Stream::new(step, "test", "", 0);
        (0..20).map(|_| stream.normal() as Real).collect()
    }

    #[test]
    fn a_group_without_a_gradient_is_skipped() {
        let mut params = two_groups();
        let before = params.clone();
        let mut optimizer =
            AdamW::new(&params, OptimizerSettings { weight_decay: 0.1, ..OptimizerSettings::default() });
        let mut grads = Grads::new(&params);
        grads.set_group(0, &gradient(0));
        optimizer.step(&mut params, &mut grads);
        assert_ne!(params.groups()[0], before.groups()[0]);
        assert_eq!(params.groups()[1], before.groups()[1]);
        assert_eq!(optimizer.states[1].steps, 0);
    }

    #[test]
    fn coupled_weight_decay_is_part_of_the_gradient() {
        let run = |decay: f64, coupled, pull: f64| {
            let mut params = two_groups();
            let mut optimizer = AdamW::new(
                &params,
                OptimizerSettings { weight_decay: decay, coupled, ..OptimizerSettings::default() },
            );
            let mut grads = Grads::new(&params);
            for at in 0..3 {
                let values = params.groups()[0].data();
                let pulled: Vec<Real> =
                    gradient(at).iter().zip(values).map(|(g, &p)| (pull as Real).mul_add(p, *g)).collect();
                grads.set_group(0, &pulled);
                optimizer.step(&mut params, &mut grads);
            }
            params.groups()[0].data().to_vec()
        };
        let (coupled, by_hand, decoupled) = (run(0.3, true, 0.0), run(0.0, false, 0.3), run(0.3, false, 0.0));
        let gap = |a: &[Real], b: &[Real]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, Real::max);
        assert!(gap(&coupled, &by_hand) < 1e-6, "{}", gap(&coupled, &by_hand));
        assert!(gap(&coupled, &decoupled) > 1e-4);
    }

    #[test]
    fn a_preconditioned_gradient_is_the_step_without_momentum() {
        let mut params = two_groups();
        let settings = OptimizerSettings { beta1: 0.0, ..OptimizerSettings::default() };
        let mut optimizer = AdamW::new(&params, settings);
        let mut grads = Grads::new(&params);
        for at in 0..4 {
            let mut expected = vec![0.0; 20];
            optimizer.preconditioned(at, 0, &gradient(at), &mut expected);
            let before = params.groups()[0].data().to_vec();
            grads.reset();
            grads.set_group(0, &gradient(at));
            optimizer.step(&mut params, &mut grads);
            for ((before, after), moved) in before.iter().zip(params.groups()[0].data()).zip(expected) {
                assert!((before - after - moved).abs() < 1e-6, "step {at}: {before} {after} {moved}");
            }
        }
    }

    #[test]
    fn a_restored_optimizer_continues_bit_for_bit() {
        let settings =
            OptimizerSettings { weight_decay: 1e-2, clip: Some(1.0), ..OptimizerSettings::default() };
        let mut params = two_groups();
        let mut optimizer = AdamW::new(&params, settings);
        let mut grads = Grads::new(&params);
        let mut step = |optimizer: &mut AdamW, params: &mut Params, at| {
            grads.reset();
            grads.set_group(0, &gradient(at));
            optimizer.step(params, &mut grads);
        };
        (0..3).for_each(|at| step(&mut optimizer, &mut params, at));
        let mut other = AdamW::new(&params, settings);
        other.restore(&optimizer.to_bytes()).unwrap();
        assert_eq!(other, optimizer);
        let mut twin = params.clone();
        step(&mut optimizer, &mut params, 9);
        step(&mut other, &mut twin, 9);
        assert_eq!(params, twin);
        assert_eq!(other.to_bytes(), optimizer.to_bytes());
    }

    #[test]
    fn a_damaged_state_is_rejected_and_changes_nothing() {
        let params = two_groups();
        let mut optimizer = AdamW::new(&params, OptimizerSettings::default());
        let bytes = optimizer.to_bytes();
        let before = optimizer.clone();
        for cut in [0, 5, MAGIC.len() + 3, bytes.len() - 1] {
            assert!(optimizer.restore(&bytes[..cut]).is_err());
        }
        assert_eq!(optimizer, before);
    }

    #[test]
    fn gradients_are_clipped_by_their_total_norm() {
        let params = two_groups();
        let mut grads = Grads::new(&params);
        grads.set_group(0, &[3.0; 20]);
        grads.set_group(1, &[4.0; 20]);
        let length = clip(&mut grads, 1.0);
        assert!((length - 500f64.sqrt()).abs() < 1e-4);
        let after: f64 = (0..2).map(|g| reduce::sum_squares(grads.group(g).unwrap())).sum();
        assert!((after - 1.0).abs() < 1e-5);
    }

    #[test]
    fn schedules_warm_up_and_decay() {
        let plain = Schedule::default();
        assert_eq!(plain.share(0), 1.0);
        let cosine = Schedule { warmup: 4, decay: Decay::Cosine { total: 14 } };
        assert_eq!(cosine.share(0), 0.25);
        assert_eq!(cosine.share(3), 1.0);
        assert_eq!(cosine.share(4), 1.0);
        assert!((cosine.share(9) - 0.5).abs() < 1e-12);
        assert_eq!(cosine.share(14), 0.0);
        assert_eq!(cosine.share(99), 0.0);
    }
}
