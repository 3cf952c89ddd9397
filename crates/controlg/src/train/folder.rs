//! A run's folder: settings, record, checkpoints, embeddings, model.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::checkpoint::{self, Owner};
use super::{Input, Timings, Training, embed, memory};
use crate::config::{self, Config};
use crate::data::arrays;
use crate::error::{Error, Result};
use crate::files;
use crate::graph::{Dense, Graph, Ids};
use crate::trace::{End, Record, Writer};

/// The names of a run's files.
pub(super) const CONFIG: &str = "config.toml";
pub(super) const MODEL: &str = "model.safetensors";
pub(super) const TRACE: &str = "trace.jsonl";
const CHECKPOINTS: &str = "checkpoint";

/// The longest time between two checkpoints within an epoch.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that is about to start, or to go on.
pub struct Folder<'a> {
    path: &'a Path,
    config: &'a Config,
}

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The folder.
    pub run: PathBuf,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps done before it was resumed.
    pub resumed_at: u64,
    /// Seconds since it was started or resumed.
    pub seconds: f64,
    /// Where they went.
    pub timings: Timings,
    /// The most memory that was taken, in bytes, where the system tells.
    pub peak_bytes: Option<u64>,
}

/// What happens during a run, for those who watch.
pub enum Event<'e> {
    /// How much memory the run will take, in bytes.
    Memory(u64),
    /// A checkpoint that could not be used.
    Damaged(&'e Error),
    /// The run goes on after this many steps.
    Resumed(u64),
    /// A line of the record.
    Line(&'e Record),
}

impl<'a> Folder<'a> {
    /// A folder for a run with these settings. One that holds a run already is refused unless `resume` is set and its
    /// settings are the same.
    pub fn open(path: &'a Path, config: &'a Config, resume: bool) -> Result<Self> {
        let existing = path.join(CONFIG);
        if existing.exists() {
            if !resume {
                let expected = "a new folder, or --resume to go on with this run";
                return Err(Error::input(path, "", "a run", expected));
            }
            let before = Config::from_table(config::read(&existing)?)?;
            if let Some((key, was, is)) = config::first_difference(&before, config)? {
                return Err(Error::input(
                    &existing,
                    key,
                    format_args!("{was}, but now {is}"),
                    "the same settings",
                ));
            }
        } else if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) && !resume {
            return Err(Error::input(path, "", "a folder with other files", "a new or empty folder"));
        }
        Ok(Folder { path, config })
    }

    /// Trains to the end and writes everything.
    pub fn pretrain(&self, graph: &Graph, mut on_event: impl FnMut(Event<'_>)) -> Result<Outcome> {
        let start = Instant::now();
        let input = Input::new(graph, self.config)?;
        let mut training = Training::new(&input, self.config)?;
        let owner = Owner::of(self.config, &input.graph)?;
        on_event(Event::Memory(memory::estimate(graph, &input.graph, &training)));

        fs::create_dir_all(self.path)
            .map_err(|error| Error::io(format_args!("creating {}", self.path.display()), error))?;
        files::whole_bytes(&self.path.join(CONFIG), self.config.to_toml()?)?;
        let checkpoints = self.path.join(CHECKPOINTS);
        let found = checkpoint::restore(&checkpoints, &mut training, &owner, |damage| {
            on_event(Event::Damaged(damage));
        })?;
        let resumed_at = training.progress().steps;
        let mut trace = match found {
            Some(end) => {
                on_event(Event::Resumed(resumed_at));
                Writer::open(&self.path.join(TRACE), end)?
            }
            None => {
                let mut trace = Writer::open(&self.path.join(TRACE), End::default())?;
                let header = training.header();
                trace.append(&header)?;
                on_event(Event::Line(&header));
                trace
            }
        };

        let mut last = Instant::now();
        while let Some(records) = training.advance()? {
            for record in &records {
                trace.append(record)?;
                on_event(Event::Line(record));
            }
            if training.at_epoch_end() || last.elapsed() > PATIENCE {
                checkpoint::save(&checkpoints, &training, &owner, &trace.sync()?)?;
                last = Instant::now();
            }
        }
        checkpoint::save(&checkpoints, &training, &owner, &trace.sync()?)?;
        self.write_results(&training, &input, &owner)?;
        Ok(Outcome {
            run: self.path.to_owned(),
            steps: training.progress().steps,
            resumed_at,
            seconds: start.elapsed().as_secs_f64(),
            timings: training.timings().clone(),
            peak_bytes: memory::peak(),
        })
    }

    fn write_results(&self, training: &Training<'_>, input: &Input, owner: &Owner) -> Result<()> {
        let (embeddings, stats) = training.model().embed()?;
        let mut model = embed::model_file(training.model(), &stats, input);
        owner.sign(&mut model);
        model.write(&self.path.join(MODEL))?;
        write_embeddings(self.path, &embeddings, input.graph.ids())
    }
}

/// Writes `embeddings.npy`, `embeddings.parquet` and `ids.txt`.
pub fn write_embeddings(folder: &Path, embeddings: &Dense, ids: &Ids) -> Result<()> {
    let (n, width) = (embeddings.n_rows(), embeddings.n_cols());
    let names: String = (0..n).map(|node| format!("{}\n", ids.get(node))).collect();
    files::whole_bytes(&folder.join("ids.txt"), names)?;
    files::whole(&folder.join("embeddings.parquet"), |beside| {
        arrays::write_embeddings_parquet(beside, ids, embeddings)
    })?;
    files::whole(&folder.join("embeddings.npy"), |beside| {
        arrays::write_npy(beside, n, width, embeddings.data())
    })
}
