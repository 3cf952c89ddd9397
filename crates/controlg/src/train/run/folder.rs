//! A run's folder: settings, record, checkpoints, embeddings, model.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::checkpoint::{self, RunIdentity};
use crate::Real;
use crate::config::{self, Config};
use crate::data::FeatureSource;
use crate::data::arrays;
use crate::error::{Error, Result};
use crate::files;
use crate::graph::{Dense, Graph, Ids, StoredFeatures};
use crate::run_files;
use crate::trace::{Record, RecordWriter, TraceEnd};
use crate::train::{Input, Timings, Training, embed, memory};

/// The longest time between two checkpoints within an epoch.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that is about to start, or to go on.
pub struct RunFolder<'a> {
    path: &'a Path,
    config: &'a Config,
}

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// The folder.
    pub run: PathBuf,
    /// Where the node features came from.
    pub features: FeatureSource,
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
pub enum RunEvent<'e> {
    /// How much memory the run will take, in bytes.
    Memory(u64),
    /// A checkpoint that could not be used.
    Damaged(&'e Error),
    /// The run goes on after this many steps.
    Resumed(u64),
    /// A line of the record.
    Line(&'e Record),
}

impl<'a> RunFolder<'a> {
    /// A folder for a run with these settings. One that holds a run already is refused unless `resume` is set and its
    /// settings are the same.
    pub fn open(path: &'a Path, config: &'a Config, resume: bool) -> Result<Self> {
        let existing = path.join(run_files::CONFIG);
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
        Ok(RunFolder { path, config })
    }

    /// Trains to the end and writes everything.
    pub fn pretrain(&self, graph: &Graph, mut on_event: impl FnMut(RunEvent<'_>)) -> Result<RunSummary> {
        let start = Instant::now();
        on_event(RunEvent::Memory(memory::need(graph, self.config)?.total()));
        let input = Input::new(graph, self.config)?;
        let mut training = Training::new(&input, self.config)?;
        let owner = RunIdentity::of(self.config, &input)?;

        fs::create_dir_all(self.path)
            .map_err(|error| Error::io(format_args!("creating {}", self.path.display()), error))?;
        files::atomic_write_bytes(&self.path.join(run_files::CONFIG), self.config.to_toml()?)?;
        let checkpoints = self.path.join(run_files::CHECKPOINTS);
        let found = checkpoint::restore(&checkpoints, &mut training, &owner, |damage| {
            on_event(RunEvent::Damaged(damage));
        })?;
        let resumed_at = training.progress().steps;
        let mut trace = match found {
            Some(end) => {
                on_event(RunEvent::Resumed(resumed_at));
                RecordWriter::open(&self.path.join(run_files::TRACE), end)?
            }
            None => {
                let mut trace = RecordWriter::open(&self.path.join(run_files::TRACE), TraceEnd::default())?;
                let header = training.header();
                trace.append(&header)?;
                on_event(RunEvent::Line(&header));
                trace
            }
        };

        let save = |training: &Training<'_>, end: &TraceEnd| {
            // What was learned from features that have changed since is not kept.
            input.graph.stored_features().map_or(Ok(()), StoredFeatures::check)?;
            checkpoint::save(&checkpoints, training, &owner, end)
        };
        let mut last = Instant::now();
        while let Some(records) = training.advance()? {
            for record in &records {
                trace.append(record)?;
                on_event(RunEvent::Line(record));
            }
            if training.at_epoch_end() || last.elapsed() > PATIENCE {
                save(&training, &trace.sync()?)?;
                last = Instant::now();
            }
        }
        save(&training, &trace.sync()?)?;
        self.write_results(&training, &input, &owner)?;
        Ok(RunSummary {
            run: self.path.to_owned(),
            features: if input.structural { FeatureSource::Structural } else { FeatureSource::Given },
            steps: training.progress().steps,
            resumed_at,
            seconds: start.elapsed().as_secs_f64(),
            timings: training.timings().clone(),
            peak_bytes: memory::peak(),
        })
    }

    fn write_results(&self, training: &Training<'_>, input: &Input, owner: &RunIdentity) -> Result<()> {
        let (model, graph) = (training.model(), &input.graph);
        let about = EmbeddingShape { n: graph.n_nodes(), width: model.width(), structural: owner.structural };
        let stats = stream_embeddings(self.path, about, graph.ids(), |rows| model.embed_to(self.path, rows))?;
        let mut model = embed::model_file(model, &stats, input);
        owner.sign(&mut model);
        model.write(&self.path.join(run_files::MODEL))
    }
}

/// Writes `embeddings.npy`, `embeddings.parquet` and `ids.txt`.
pub fn write_embeddings(folder: &Path, embeddings: &Dense, ids: &Ids) -> Result<()> {
    let about = EmbeddingShape { n: embeddings.n_rows(), width: embeddings.n_cols(), structural: false };
    stream_embeddings(folder, about, ids, |rows| rows(embeddings.data()))
}

/// Embeddings that will be written.
#[derive(Clone, Copy)]
pub(in crate::train) struct EmbeddingShape {
    pub(in crate::train) n: usize,
    pub(in crate::train) width: usize,
    /// Whether the node features are made from the edges.
    pub(in crate::train) structural: bool,
}

/// [`write_embeddings`] for embeddings that come some rows at a time.
pub(in crate::train) fn stream_embeddings<T>(
    folder: &Path,
    EmbeddingShape { n, width, structural }: EmbeddingShape,
    ids: &Ids,
    make: impl FnOnce(&mut dyn FnMut(&[Real]) -> Result<()>) -> Result<T>,
) -> Result<T> {
    files::atomic_write(&folder.join(run_files::IDS), |beside| {
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(fs::File::create(beside)?);
            (0..n).try_for_each(|node| writeln!(file, "{}", ids.get(node)))?;
            file.flush()
        };
        write().map_err(|error| Error::io(format_args!("writing {}", beside.display()), error))
    })?;
    let mut made = None;
    files::atomic_write(&folder.join(run_files::EMBEDDINGS_NPY), |npy| {
        files::atomic_write(&folder.join(run_files::EMBEDDINGS_PARQUET), |parquet| {
            let mut npy = arrays::NpyWriter::new(npy, n, width)?;
            let mut parquet =
                arrays::ParquetEmbeddings::new(parquet, ids, width, structural.then_some("structural"))?;
            made = Some(make(&mut |rows| {
                npy.append(rows)?;
                parquet.append(rows)
            })?);
            npy.finish()?;
            parquet.finish()
        })
    })?;
    made.ok_or_else(|| Error::Failed("nothing was written".to_owned()))
}
