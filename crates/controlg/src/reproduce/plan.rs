//! All jobs of a reproduction in the order in which they run.

use super::{ReproduceSettings, ReproduceTarget};
use crate::compare::{EmbeddingSource, Job};
use crate::error::Result;

/// When the jobs of a part run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The main tables.
    Main,
    /// The ablation tables.
    Ablations,
    /// Other encoders and pools.
    Sensitivity,
    /// The gain sweep.
    Gains,
    /// Mixing methods with equal steps.
    EqualSteps,
}

/// Seeds that every table gets before any table gets more.
const FIRST_SEEDS: u64 = 3;

impl Stage {
    /// What runs when: a reproduction that is stopped leaves tables with the first seeds.
    const ORDER: [(Stage, bool, &'static str); 9] = [
        (Stage::Main, false, "main tables, seeds 0 to 2"),
        (Stage::Ablations, false, "ablations, seeds 0 to 2"),
        (Stage::Sensitivity, false, "GAT and pool sizes, seeds 0 to 2"),
        (Stage::Gains, false, "gain sweep"),
        (Stage::Main, true, "main tables, further seeds"),
        (Stage::Ablations, true, "ablations, further seeds"),
        (Stage::Sensitivity, true, "GAT and pool sizes, further seeds"),
        (Stage::EqualSteps, false, "equal steps, seeds 0 to 2"),
        (Stage::EqualSteps, true, "equal steps, further seeds"),
    ];

    /// Place in the order of a job with this seed.
    fn place(self, seed: u64) -> usize {
        let further = seed >= FIRST_SEEDS && self != Stage::Gains;
        Stage::ORDER.iter().position(|step| (step.0, step.1) == (self, further)).unwrap_or(Stage::ORDER.len())
    }
}

/// A job and what it is for.
#[derive(Clone, Debug)]
pub struct PlannedJob {
    /// The job.
    pub job: Job,
    /// What runs at that time, in words.
    pub step: &'static str,
    /// The targets whose tables have its results.
    pub targets: Vec<&'static str>,
    place: usize,
}

/// All jobs of some targets, in the order in which they run.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// The jobs; no run is in two of them.
    pub jobs: Vec<PlannedJob>,
}

impl RunPlan {
    /// The plan for these targets.
    pub fn new(targets: &[&'static ReproduceTarget], settings: &ReproduceSettings) -> Result<RunPlan> {
        let mut jobs: Vec<PlannedJob> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for target in targets {
            for part in target.parts(settings) {
                for job in part.jobs()? {
                    let place = part.stage.place(job.seed);
                    let step = Stage::ORDER.get(place).map_or("", |step| step.2);
                    let planned = PlannedJob { job, step, targets: vec![target.name], place };
                    let at = *known.entry(identity(&planned.job)?).or_insert(jobs.len());
                    match jobs.get_mut(at) {
                        Some(same) => same.merge(planned),
                        None => jobs.push(planned),
                    }
                }
            }
        }
        // The sort is stable: within a seed, jobs keep the order of the targets and their data sets.
        jobs.sort_by_key(|planned| (planned.place, planned.job.seed));
        Ok(RunPlan { jobs })
    }

    /// The data sets of all jobs, in the order of their first job.
    pub fn data(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for planned in &self.jobs {
            if !names.contains(&planned.job.data) {
                names.push(planned.job.data.clone());
            }
        }
        names
    }
}

impl PlannedJob {
    /// Adds what another target wants of the same run.
    fn merge(&mut self, other: PlannedJob) {
        for task in other.job.tasks {
            if !self.job.tasks.contains(&task) {
                self.job.tasks.push(task);
            }
        }
        self.targets.extend(
            other.targets.into_iter().filter(|name| !self.targets.contains(name)).collect::<Vec<_>>(),
        );
        if other.place < self.place {
            (self.place, self.step) = (other.place, other.step);
        }
    }
}

/// What makes two jobs the same. The hash of a floor says nothing about data set, seed and edges.
fn identity(job: &Job) -> Result<(String, u64, bool, String)> {
    let by_edges =
        matches!(job.source, EmbeddingSource::Floor(_)) && job.edges == crate::config::EdgeScope::Train;
    Ok((job.data.clone(), job.seed, by_edges, job.source.hash()?))
}
