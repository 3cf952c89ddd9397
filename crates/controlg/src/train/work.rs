//! What a run has cost, up to every point of its record: floating-point operations, evaluations of objectives, seconds.
//!
//! Operations are counted from shapes ([`Pool::flops`](crate::tensor::Pool::flops)), not timed, so they are the same on every
//! machine: forward and backward passes of steps, sensings, warm-up and held-out losses, the optimizer, and what a mixing method
//! computes with gradients. Not counted: drawing views, k-means inside a lookahead or a weight search, and what only describes the
//! run (`train.quality`). With mini-batches, every step counts as the first one.

use serde::{Deserialize, Serialize};

use super::batch::BatchLoader;
use super::input::Input;
use super::model::{Model, ModelSpec, PartOperations};
use crate::config::Config;
use crate::coordinator::{ActiveMethod, Mixer};
use crate::error::Result;
use crate::graph::Graph;
use crate::trace::{BlockLine, Record, SealedLine};

/// The cost of a run up to some step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunWork {
    /// Optimizer steps.
    pub step: u64,
    /// Floating-point operations, including those of sensing.
    pub operations: f64,
    /// The part of them that measures: warm-up losses, sensings, held-out losses, lookaheads, the search for weights.
    pub measuring: f64,
    /// Evaluations of an objective, as in [`Config::evaluations_on`] but not rounded.
    pub evaluations: f64,
    /// Seconds of steps and sensings.
    pub seconds: f64,
}

/// Counts the cost of a run from its settings, its graph and its record.
pub struct WorkCounter {
    parts: PartOperations,
    mixer: Option<Box<dyn Mixer>>,
    objectives: Vec<String>,
    warmup_rounds: usize,
    /// Evaluations that the sensing of one objective counts as.
    sensed_share: f64,
}

impl WorkCounter {
    /// A counter for the runs with these settings on a graph.
    pub fn new(graph: &Graph, config: &Config) -> Result<WorkCounter> {
        let mut config = config.clone();
        config.train.quality = false;
        let input = Input::new(graph, &config)?;
        let method = config.build_method()?;
        let loader = BatchLoader::new(&input.graph, &config)?;
        let spec = ModelSpec::from_config(&config, &method);
        let parts = Model::shape_only(&input.graph, input.probe.as_ref(), loader, spec)?.part_operations()?;
        Ok(WorkCounter {
            parts,
            mixer: match method {
                ActiveMethod::Mix(mixer) => Some(mixer),
                ActiveMethod::Schedule(_) => None,
            },
            sensed_share: config.sensed_share(graph.n_nodes()),
            warmup_rounds: config.train.warmup_rounds,
            objectives: config.objectives,
        })
    }

    /// The cost after every warm-up round and every block of a record.
    pub fn along(&self, lines: &[SealedLine]) -> Vec<RunWork> {
        let (k, parts) = (self.objectives.len() as f64, &self.parts);
        let mut work = RunWork::default();
        let mut after = Vec::new();
        let measure = |work: &mut RunWork, operations: f64, evaluations: f64| {
            work.operations += operations;
            work.measuring += operations;
            work.evaluations += evaluations;
        };
        for line in lines {
            match &line.record {
                Record::Run(_) | Record::Scheduler(_) | Record::End(_) => continue,
                Record::Warmup(line) => {
                    measure(&mut work, parts.losses, k);
                    work.seconds += line.ms / 1e3;
                    if line.round < self.warmup_rounds {
                        work.operations += parts.step.iter().sum::<f64>();
                        work.evaluations += k;
                        work.step = line.step + self.objectives.len() as u64;
                    }
                    after.push(work);
                }
                Record::Sense(line) => {
                    let (operations, passes) = match line.held_out.is_empty() {
                        true => (parts.sensing, 1.0),
                        false => (parts.sensing_held_out, 2.0),
                    };
                    measure(&mut work, operations, passes * k * self.sensed_share);
                    work.seconds += line.ms / 1e3;
                }
                Record::Block(line) => {
                    self.add_block(&mut work, line);
                    if !line.held_out.is_empty() {
                        measure(&mut work, parts.held_out, k);
                    }
                    after.push(work);
                }
            }
        }
        after
    }

    /// The cost up to a step: that after the first round or block that has reached it. `None` beyond the end of the record.
    pub fn at_step(after: &[RunWork], step: u64) -> Option<RunWork> {
        match step {
            0 => Some(RunWork::default()),
            _ => after.iter().find(|work| work.step >= step).copied(),
        }
    }

    fn add_block(&self, work: &mut RunWork, line: &BlockLine) {
        let steps = line.steps as f64;
        work.step = line.step + line.steps;
        work.seconds += line.ms / 1e3;
        let Some(mixer) = &self.mixer else {
            let task = self.objectives.iter().position(|name| *name == line.task);
            work.operations += steps * task.map_or(0.0, |task| self.parts.step[task]);
            work.evaluations += steps;
            return;
        };
        let k = self.objectives.len() as f64;
        let per_step = self.mixed_step(&**mixer);
        work.operations += steps * per_step;
        work.evaluations += steps * k;
        // A lookahead differentiates one pass over the graph: three times the work of the pass.
        let lookaheads = (line.step..line.step + line.steps).filter(|&step| mixer.lookahead(step).is_some());
        let mut extra = 3.0 * self.parts.representations * lookaheads.count() as f64;
        if line.step == 0
            && let Some(search) = mixer.weight_search()
        {
            extra += search.total_steps() as f64 * per_step;
            work.evaluations += search.total_steps() as f64 * k;
        }
        work.operations += extra;
        work.measuring += extra;
    }

    /// A step of a mixing method: all gradients, what it computes with them, their weighted sum, and the optimizer's step.
    fn mixed_step(&self, mixer: &dyn Mixer) -> f64 {
        let (parts, needs, k) = (&self.parts, mixer.needs(), self.objectives.len() as f64);
        let gram = if needs.gram { k * (k + 1.0) / 2.0 } else { 0.0 };
        let representations = if needs.nodes { parts.representations } else { 0.0 };
        parts.gradients + (gram + k) * parts.encoder_product + representations + parts.optimizer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::trace;
    use std::path::Path;

    fn run(method: &str, set: &[&str]) -> (Config, Vec<RunWork>, PartOperations, Vec<SealedLine>) {
        let mut table = Config::preset("own");
        let method = format!("method={method}");
        let usual = [
            &method[..],
            "encoder.width=12",
            "train.epochs=3",
            "train.batches_per_epoch=20",
            "train.warmup_rounds=2",
            "objective.p_par.parts=4",
        ];
        usual.iter().chain(set).for_each(|one| config::set(&mut table, one).unwrap());
        let config = Config::from_table(table).unwrap();
        let graph = crate::data::load("synthetic:nodes=200", &Default::default()).unwrap().graph;
        let model = crate::pretrain(&graph, config.clone()).unwrap();
        let lines = trace::parse(Path::new("record"), &model.into_parts().record).unwrap();
        let counter = WorkCounter::new(&graph, &config).unwrap();
        let along = counter.along(&lines);
        (config, along, counter.parts, lines)
    }

    #[test]
    fn every_method_counts_the_evaluations_that_its_settings_promise() {
        let smaller = ["sense.whole_up_to=0", "sense.probe_nodes=50"];
        for (method, set) in [
            ("random", &[][..]),
            ("round-robin", &[]),
            ("controlg", &[]),
            ("controlg-gain", &[]),
            ("controlg-gain", &smaller),
            ("uniform", &[]),
            ("uniform", &["sense.held_out=0.1"]),
            ("cagrad", &[]),
            ("autossl", &[]),
            ("autossl-es", &["mix.autossl-es.generations=1", "mix.autossl-es.population=2"]),
        ] {
            let (config, along, ..) = run(method, set);
            let last = along.last().unwrap();
            assert_eq!(last.step, config.total_steps(), "{method}");
            let promised = config.evaluations_on(200) as f64;
            assert!((0.0..1.0).contains(&(promised - last.evaluations)), "{method}: {promised} {last:?}");
            assert!(along.windows(2).all(|pair| pair[0].operations < pair[1].operations), "{method}");
            assert!(last.seconds > 0.0 && last.measuring < last.operations);
            let measures = config.sensings() > 0 || !set.is_empty() || method.starts_with("autossl");
            assert_eq!(last.measuring > 0.0, measures, "{method}");
        }
    }

    #[test]
    fn a_schedule_counts_the_steps_on_each_objective() {
        let (_, along, parts, lines) = run("random", &[]);
        let names = ["p_link", "p_recon", "p_minsg", "p_decor", "p_par"];
        let mut sum = 0.0;
        for (line, work) in lines
            .iter()
            .filter_map(|line| match &line.record {
                Record::Block(block) => Some(block),
                _ => None,
            })
            .zip(&along)
        {
            let task = names.iter().position(|name| *name == line.task).unwrap();
            sum += line.steps as f64 * parts.step[task];
            assert!((work.operations - sum).abs() < 1e-6 * sum);
            assert_eq!(WorkCounter::at_step(&along, work.step), Some(*work));
        }
        assert_eq!(WorkCounter::at_step(&along, 0), Some(RunWork::default()));
        assert_eq!(WorkCounter::at_step(&along, 1000), None);
    }

    #[test]
    fn a_mixed_step_costs_about_as_much_as_a_step_on_each_objective() {
        let (config, along, parts, _) = run("uniform", &[]);
        let (steps, separate) = (config.total_steps() as f64, parts.step.iter().sum::<f64>());
        let ratio = along.last().unwrap().operations / (steps * separate);
        assert!((0.5..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn sensing_on_a_subgraph_costs_less() {
        let (_, _, whole, _) = run("controlg-gain", &["sense.whole_up_to=50000"]);
        let (_, _, part, _) = run("controlg-gain", &["sense.whole_up_to=0", "sense.probe_nodes=50"]);
        assert_eq!(whole.step, part.step);
        assert!(part.sensing_held_out < whole.sensing_held_out);
        // Held-out losses take views and backward passes of their own.
        assert!(whole.sensing < whole.sensing_held_out && whole.losses < whole.sensing);
        assert!(whole.held_out > 0.0 && whole.held_out < whole.sensing_held_out);
    }
}
