//! Jobs done several at once.
//!
//! A small run on one core wastes nothing on keeping cores in step, so as many jobs go at once as there are cores, each
//! with one thread; when fewer are left than cores, each gets more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Job;
use crate::error::{Error, Result};

/// How far a comparison is.
pub struct JobProgress<'p, T> {
    /// The job that has just ended.
    pub job: &'p Job,
    /// What it gave.
    pub outcome: &'p Result<T>,
    /// Jobs that have ended.
    pub done: usize,
    /// Jobs in all.
    pub total: usize,
    /// How long the rest may take.
    pub left: Duration,
}

/// Runs the jobs, `at_once` at a time on `cores` cores. What each gives is handed to `on_end` as it ends, one at a time; an
/// error of `on_end` ends the comparison, one of a job does not.
pub fn work<T: Send>(
    jobs: Vec<Job>,
    at_once: usize,
    cores: usize,
    run: impl Fn(&Job, usize) -> Result<T> + Sync,
    on_end: impl FnMut(JobProgress<'_, T>) -> Result<()> + Send,
) -> Result<()> {
    let total = jobs.len();
    let at_once = at_once.clamp(1, total.max(1));
    let queue = Mutex::new(VecDeque::from(jobs));
    let ended = Mutex::new((Ended { at_once, done: 0, times: BTreeMap::new(), is_over: false }, on_end));
    let worker = || -> Result<()> {
        loop {
            let (job, waiting) = {
                let mut queue = queue.lock().map_err(poisoned)?;
                let Some(job) = queue.pop_front() else { return Ok(()) };
                (job, queue.len())
            };
            let threads = cores / at_once.min(waiting + 1);
            let start = Instant::now();
            let outcome = run(&job, threads.max(1));
            let mut guard = ended.lock().map_err(poisoned)?;
            let (ended, on_end) = &mut *guard;
            if ended.is_over {
                return Ok(());
            }
            ended.add(&job, start.elapsed());
            let left = ended.left(queue.lock().map_err(poisoned)?.iter());
            let progress = JobProgress { job: &job, outcome: &outcome, done: ended.done, total, left };
            if let Err(error) = on_end(progress) {
                ended.is_over = true;
                queue.lock().map_err(poisoned)?.clear();
                return Err(error);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(worker)).collect();
        let ends: Vec<Result<()>> =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(poisoned(())))).collect();
        ends.into_iter().collect()
    })
}

/// How long jobs took, to foretell the rest.
struct Ended {
    at_once: usize,
    done: usize,
    /// Seconds and number of the jobs of a data set and method.
    times: BTreeMap<(String, String), (f64, usize)>,
    /// Whether the comparison was ended: what still comes in is not handed on.
    is_over: bool,
}

impl Ended {
    fn add(&mut self, job: &Job, time: Duration) {
        self.done += 1;
        let sum = self.times.entry((job.data.clone(), job.method.clone())).or_default();
        *sum = (sum.0 + time.as_secs_f64(), sum.1 + 1);
    }

    /// Jobs of a kind that was met take as long as those did, others as long as any.
    fn left<'j>(&self, jobs: impl Iterator<Item = &'j Job>) -> Duration {
        let all = self.times.values().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mean = |(seconds, n): (f64, usize)| seconds / n.max(1) as f64;
        let each = jobs.map(|job| {
            self.times.get(&(job.data.clone(), job.method.clone())).map_or(mean(all), |known| mean(*known))
        });
        Duration::from_secs_f64(each.sum::<f64>() / self.at_once as f64)
    }
}

fn poisoned<E>(_: E) -> Error {
    Error::Failed("a job of the comparison ended in a mistake of controlg itself".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::compare::Subject;
    use crate::config::EdgeScope;

    fn jobs(n: u64) -> Vec<Job> {
        let job = |seed| Job {
            data: "a".into(),
            method: "raw".into(),
            seed,
            edges: EdgeScope::All,
            tasks: Vec::new(),
            subject: Subject::Floor("raw"),
            settings: Vec::new(),
        };
        (0..n).map(job).collect()
    }

    #[test]
    fn every_job_is_done_once_and_a_failure_stops_no_other() {
        let mut seen = Vec::new();
        let run = |job: &Job, _| match job.seed {
            3 => Err(Error::Failed("no".into())),
            seed => Ok(seed),
        };
        work(jobs(9), 4, 4, run, |progress| {
            seen.push((progress.job.seed, progress.outcome.is_ok()));
            assert_eq!((progress.done, progress.total), (seen.len(), 9));
            Ok(())
        })
        .unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..9).map(|seed| (seed, seed != 3)).collect::<Vec<_>>());
    }

    #[test]
    fn the_last_jobs_share_all_cores() {
        let threads = Mutex::new(Vec::new());
        work(
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
        work(
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
    fn a_result_that_cannot_be_kept_ends_the_comparison() {
        let done = AtomicUsize::new(0);
        let run = |_: &Job, _| {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let end = work(jobs(50), 1, 1, run, |_| Err(Error::Failed("the disk is full".into())));
        assert!(end.is_err());
        assert_eq!(done.into_inner(), 1);
    }
}
