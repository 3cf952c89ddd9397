//! Runs jobs in parallel.
//!
//! One thread per job is most efficient, so the default is one job per core. When fewer jobs than cores are left, each
//! gets more threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Job;
use crate::error::{Error, Result};

/// Progress of a comparison.
pub struct JobProgress<'p, T> {
    /// The job that has just finished.
    pub job: &'p Job,
    /// Its outcome.
    pub outcome: &'p Result<T>,
    /// Number of finished jobs.
    pub done: usize,
    /// Number of all jobs.
    pub total: usize,
    /// Estimated remaining time.
    pub left: Duration,
}

/// Runs jobs, `parallel` at a time, on `cores` cores. `run` gets a job and its number of threads. `on_end` is called after
/// every job, one call at a time; an error in `on_end` stops the comparison, an error in a job does not.
pub fn run_jobs<T: Send>(
    jobs: Vec<Job>,
    parallel: usize,
    cores: usize,
    run: impl Fn(&Job, usize) -> Result<T> + Sync,
    on_end: impl FnMut(JobProgress<'_, T>) -> Result<()> + Send,
) -> Result<()> {
    let total = jobs.len();
    let parallel = parallel.clamp(1, total.max(1));
    let queue = Mutex::new(VecDeque::from(jobs));
    let finished =
        Mutex::new((JobTimes { parallel, done: 0, times: BTreeMap::new(), stopped: false }, on_end));
    let worker = || -> Result<()> {
        loop {
            let (job, waiting) = {
                let mut queue = queue.lock().map_err(poisoned)?;
                let Some(job) = queue.pop_front() else { return Ok(()) };
                (job, queue.len())
            };
            let threads = cores / parallel.min(waiting + 1);
            let start = Instant::now();
            let outcome = run(&job, threads.max(1));
            let mut guard = finished.lock().map_err(poisoned)?;
            let (times, on_end) = &mut *guard;
            if times.stopped {
                return Ok(());
            }
            times.add(&job, start.elapsed());
            let left = times.remaining(queue.lock().map_err(poisoned)?.iter());
            let progress = JobProgress { job: &job, outcome: &outcome, done: times.done, total, left };
            if let Err(error) = on_end(progress) {
                times.stopped = true;
                queue.lock().map_err(poisoned)?.clear();
                return Err(error);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..parallel).map(|_| scope.spawn(worker)).collect();
        let ends: Vec<Result<()>> =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(poisoned(())))).collect();
        ends.into_iter().collect()
    })
}

/// Durations of finished jobs, used to estimate the remaining time.
struct JobTimes {
    parallel: usize,
    done: usize,
    /// Total seconds and number of jobs by data set and method.
    times: BTreeMap<(String, String), (f64, usize)>,
    /// Whether `on_end` has failed; later outcomes are dropped.
    stopped: bool,
}

impl JobTimes {
    fn add(&mut self, job: &Job, time: Duration) {
        self.done += 1;
        let sum = self.times.entry((job.data.clone(), job.method.clone())).or_default();
        *sum = (sum.0 + time.as_secs_f64(), sum.1 + 1);
    }

    /// Estimates a job by the mean of its data set and method, or by the overall mean.
    fn remaining<'j>(&self, jobs: impl Iterator<Item = &'j Job>) -> Duration {
        let all = self.times.values().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mean = |(seconds, n): (f64, usize)| seconds / n.max(1) as f64;
        let each = jobs.map(|job| {
            self.times.get(&(job.data.clone(), job.method.clone())).map_or(mean(all), |known| mean(*known))
        });
        Duration::from_secs_f64(each.sum::<f64>() / self.parallel as f64)
    }
}

fn poisoned<E>(_: E) -> Error {
    Error::Failed("internal error (a bug in controlg): a job of the comparison panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::compare::EmbeddingSource;
    use crate::config::EdgeScope;

    fn jobs(n: u64) -> Vec<Job> {
        let job = |seed| Job {
            data: "a".into(),
            method: "raw".into(),
            pool: String::new(),
            seed,
            edges: EdgeScope::All,
            tasks: Vec::new(),
            source: EmbeddingSource::Floor("raw"),
            settings: Vec::new(),
        };
        (0..n).map(job).collect()
    }

    #[test]
    fn runs_every_job_once_despite_failures() {
        let mut seen = Vec::new();
        let run = |job: &Job, _| match job.seed {
            3 => Err(Error::Failed("no".into())),
            seed => Ok(seed),
        };
        run_jobs(jobs(9), 4, 4, run, |progress| {
            seen.push((progress.job.seed, progress.outcome.is_ok()));
            assert_eq!((progress.done, progress.total), (seen.len(), 9));
            Ok(())
        })
        .unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..9).map(|seed| (seed, seed != 3)).collect::<Vec<_>>());
    }

    #[test]
    fn last_jobs_share_all_cores() {
        let threads = Mutex::new(Vec::new());
        run_jobs(
            jobs(3),
            1,
            4,
            |_, n| {
                threads.lock().unwrap().push(n);
                Ok(())
            },
            |_| Ok(()),
        )
        .unwrap();
        assert_eq!(*threads.lock().unwrap(), [4, 4, 4]);
        let least = AtomicUsize::new(usize::MAX);
        run_jobs(
            jobs(2),
            2,
            4,
            |_, n| {
                least.fetch_min(n, Ordering::Relaxed);
                Ok(())
            },
            |_| Ok(()),
        )
        .unwrap();
        assert_eq!(least.into_inner(), 2);
    }

    #[test]
    fn an_error_in_on_end_stops_the_comparison() {
        let done = AtomicUsize::new(0);
        let run = |_: &Job, _| {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let end = run_jobs(jobs(50), 1, 1, run, |_| Err(Error::Failed("the disk is full".into())));
        assert!(end.is_err());
        assert_eq!(done.into_inner(), 1);
    }
}
