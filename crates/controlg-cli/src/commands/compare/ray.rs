//! `compare --engine ray`: every job is a Ray task.
//!
//! Ray is a Python library, so a helper process of the Python package (`controlg._ray`) talks to it: one JSON document per line in
//! each direction. A task runs `controlg run-job` on some node of the cluster, which returns the result cells, or the validation
//! scores of a trial; this process appends them to the results as in any comparison. A node that does not see the files of a
//! graph gets a copy of them once.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use controlg::compare::{Comparison, Job};
use controlg::data::{FeatureSource, SourceFiles};
use controlg::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::MemoryByData;
use super::job_runner::JobRunner;
use crate::args::CommonArgs;
use crate::commands::load_options;
use crate::commands::pretrain::exit_with_parent;
use crate::console::Console;

/// What a job computes.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum Evaluation {
    /// Result cells.
    Test,
    /// The validation scores of a trial.
    Validation,
}

/// A job as a worker gets it.
#[derive(Serialize, Deserialize)]
struct JobSpec {
    comparison: Comparison,
    job: Job,
    evaluation: Evaluation,
    folder: PathBuf,
    data_dir: Option<PathBuf>,
    keep: bool,
    threads: usize,
}

/// A task for the helper.
#[derive(Serialize)]
struct RayTask<'t> {
    id: u64,
    title: String,
    cpus: usize,
    /// Bytes that Ray reserves.
    memory: usize,
    /// Standard input of the job.
    spec: String,
    /// The files of its graph; `None` if it is generated.
    data: Option<&'t DataFiles>,
}

/// The files of a graph, as the helper gets them.
#[derive(Serialize)]
struct DataFiles {
    folder: PathBuf,
    files: Vec<PathBuf>,
    /// What `--data-copy` names in a copy of the folder.
    entry: PathBuf,
}

impl DataFiles {
    fn find(data: &str, common: &CommonArgs) -> Result<Option<DataFiles>> {
        let Some(found) = SourceFiles::find(data, &load_options(common, FeatureSource::Given))? else {
            return Ok(None);
        };
        let SourceFiles { folder, files, entry } = found;
        Ok(Some(DataFiles { folder: absolute(&folder)?, files, entry }))
    }
}

/// What the helper says of a task, or of itself.
#[derive(Deserialize)]
struct Reply {
    id: Option<u64>,
    /// Standard output of the job.
    output: Option<String>,
    error: Option<String>,
}

type Waiting = Arc<Mutex<HashMap<u64, Sender<std::result::Result<String, String>>>>>;

/// A connection to a Ray cluster. Its tasks end when it is dropped.
pub(in crate::commands) struct RayCluster {
    helper: Child,
    /// Closed when no more tasks will come.
    tasks: Mutex<Option<ChildStdin>>,
    waiting: Waiting,
    next: AtomicU64,
    memory: MemoryByData,
    /// The files of the graphs that are not generated.
    files: BTreeMap<String, DataFiles>,
    threads: usize,
}

impl RayCluster {
    /// The most tasks at a time that are handed to Ray, each of which has a thread here that waits.
    pub(super) const MOST_TASKS: usize = 512;

    /// Connects to the cluster at an address, or else starts a local one.
    pub(super) fn connect(
        address: Option<&str>,
        data: &[String],
        memory: MemoryByData,
        common: &CommonArgs,
    ) -> Result<RayCluster> {
        let mut files = BTreeMap::new();
        for name in data {
            files.extend(DataFiles::find(name, common)?.map(|found| (name.clone(), found)));
        }
        let launcher = crate::launcher();
        let [python, module @ ..] = &launcher[..] else {
            return Err(Error::Failed("the path of this program is unknown".to_owned()));
        };
        if module != ["-m", "controlg"].map(OsString::from) {
            let expected = "the Python package: pip install controlg[ray], then python -m controlg compare …";
            return Err(Error::value("--engine ray", "the program without Python", expected));
        }
        let mut command = Command::new(python);
        command.args(["-m", "controlg._ray"]).args(address).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut helper = command.spawn().map_err(|error| Error::io("starting Python", error))?;
        let (Some(tasks), Some(replies)) = (helper.stdin.take(), helper.stdout.take()) else {
            return Err(Error::Failed("Python was started without pipes".to_owned()));
        };
        let mut replies = BufReader::new(replies);
        let first = read_reply(&mut replies)?;
        if let Some(error) = first.and_then(|reply| reply.error) {
            return Err(Error::value("--engine ray", error, "a Ray cluster"));
        }
        let waiting = Waiting::default();
        let heard = waiting.clone();
        std::thread::spawn(move || pass_on(replies, &heard));
        Ok(RayCluster {
            helper,
            tasks: Mutex::new(Some(tasks)),
            waiting,
            next: AtomicU64::new(0),
            memory,
            files,
            threads: common.threads.map_or(1, NonZeroUsize::get),
        })
    }

    /// Runs a job as a task and waits for what it prints: cells, or the scores of a trial.
    pub(super) fn run<T: DeserializeOwned>(
        &self,
        runner: &JobRunner<'_>,
        job: &Job,
        evaluation: Evaluation,
    ) -> Result<T> {
        let spec = JobSpec {
            comparison: runner.comparison.clone(),
            job: job.clone(),
            evaluation,
            folder: absolute(runner.folder)?,
            data_dir: runner.common.data_dir.as_deref().map(absolute).transpose()?,
            keep: runner.keep,
            threads: self.threads,
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let need = self.memory.on(&job.data);
        let memory = need + need / 4 + (200 << 20);
        let spec = to_json(&spec)?;
        let data = self.files.get(&job.data);
        let task = to_json(&RayTask { id, title: job.title(), cpus: self.threads, memory, spec, data })?;
        let (sender, outcome) = channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        let lost = || Error::Failed("the connection to Ray is lost".to_owned());
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let to_helper = tasks.as_mut().ok_or_else(lost)?;
        writeln!(to_helper, "{task}").and_then(|()| to_helper.flush()).map_err(|_| lost())?;
        drop(tasks);
        let output = outcome.recv().map_err(|_| lost())?.map_err(Error::Failed)?;
        serde_json::from_str(&output)
            .map_err(|error| Error::Failed(format!("cannot parse the result of a Ray task: {error}")))
    }
}

impl Drop for RayCluster {
    fn drop(&mut self) {
        // The helper stops its tasks and ends when its input does.
        drop(self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.helper.wait();
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::io("finding the current folder", error))
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Failed(error.to_string()))
}

/// The next reply; `None` at the end.
fn read_reply(replies: &mut BufReader<ChildStdout>) -> Result<Option<Reply>> {
    let mut line = String::new();
    let read = replies.read_line(&mut line).map_err(|error| Error::io("reading from Ray", error))?;
    if read == 0 {
        return Ok(None);
    }
    let wrong = |error| Error::Failed(format!("cannot parse what controlg._ray says: {error}"));
    serde_json::from_str(&line).map(Some).map_err(wrong)
}

/// Passes replies on to those who wait for them. At the end, they learn that there will be none.
fn pass_on(mut replies: BufReader<ChildStdout>, waiting: &Waiting) {
    while let Ok(Some(Reply { id, output, error })) = read_reply(&mut replies) {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = id.and_then(|id| waiting.remove(&id)) {
            let outcome = output.ok_or_else(|| error.unwrap_or_default());
            let _ = sender.send(outcome); // nobody waits any more
        }
    }
    waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// `controlg run-job`: runs the job that is described on stdin and prints its result cells.
pub(in crate::commands) fn run_job(common: &CommonArgs, console: &Console) -> Result<()> {
    exit_with_parent();
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| Error::io("reading stdin", error))?;
    let wrong = |error: &dyn std::fmt::Display| Error::value("stdin", error, "a job of controlg compare");
    let spec: JobSpec = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let common = CommonArgs { data_dir: spec.data_dir, ..common.clone() };
    let runner = JobRunner {
        comparison: &spec.comparison,
        folder: &spec.folder,
        common: &common,
        keep: spec.keep,
        ray: None,
    };
    match spec.evaluation {
        Evaluation::Test => print(&runner.run(&spec.job, spec.threads)?, console),
        Evaluation::Validation => print(&runner.validate(&spec.job, spec.threads)?, console),
    }
}

fn print(result: &impl Serialize, console: &Console) -> Result<()> {
    console.result(result, to_json(result)?)
}
