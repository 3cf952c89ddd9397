//! A trained model in memory: embeddings, parameters, settings and record.

use std::fs;
use std::path::Path;

use super::embed::embed_with;
use super::input::Input;
use super::run::feature_match::{self, MatchedGraph, is_structural};
use super::run::files::{EmbeddingShape, stream_embeddings};
use super::run::model_file::{RunIdentity, model_file};
use super::run::results::end_line;
use super::run::safetensors::TensorFile;
use super::training::{Timings, Training};
use crate::config::{self, Config, Custom};
use crate::coordinator::FlatWatch;
use crate::data::{self, limits};
use crate::error::{Error, Result};
use crate::files;
use crate::graph::{Dense, Features, Graph, Ids};
use crate::run_files;
use crate::trace::{self, Record, RecordBuffer};

/// A pretrained encoder with everything known about its run. [`pretrain`](super::pretrain) returns one.
///
/// ```
/// use controlg::config::Config;
///
/// let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
/// let config = Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
/// let model = controlg::pretrain(&graph, &config)?;
///
/// let z = model.embeddings();
/// assert_eq!((z.n_rows(), z.n_cols()), (200, 16));
/// # Ok::<(), controlg::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TrainedModel {
    parts: TrainedModelParts,
    record: Vec<Record>,
    timings: Option<Timings>,
}

/// The plain data of a [`TrainedModel`], to store it elsewhere than in a run folder.
#[derive(Clone, Debug)]
pub struct TrainedModelParts {
    /// All settings.
    pub config: Config,
    /// The record as the lines of `trace.jsonl`.
    pub record: String,
    /// Encoder and heads as the bytes of `model.safetensors`.
    pub model: Vec<u8>,
    /// n × width.
    pub embeddings: Dense,
    /// The node ids, in the order of the rows.
    pub ids: Ids,
}

impl TrainedModel {
    /// The model of a training loop that has come to its end, or was stopped, with the record of all its lines so far.
    ///
    /// ```
    /// use controlg::config::Config;
    /// use controlg::trace::RecordBuffer;
    /// use controlg::train::{Input, TrainedModel, Training};
    ///
    /// let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// let config = Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30).build()?;
    /// let input = Input::new(&graph, &config)?;
    /// let mut training = Training::new(&input, &config)?;
    /// let mut record = RecordBuffer::default();
    /// record.append(&training.header())?;
    /// while let Some(lines) = training.advance()? {
    ///     for line in &lines {
    ///         record.append(line)?;
    ///     }
    /// }
    /// let model = TrainedModel::from_training(&training, &input, record)?;
    /// assert_eq!(model.embeddings().n_rows(), 200);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn from_training(
        training: &Training<'_>,
        input: &Input,
        record: RecordBuffer,
    ) -> Result<TrainedModel> {
        let config = training.config().clone();
        let (embeddings, stats) = training.model().embed_as(&config.embed)?;
        let mut model = model_file(training.model(), &stats, input);
        RunIdentity::of(&config, input)?.sign(&mut model)?;
        let (model, record, ids) = (model.to_bytes()?, record.into_text(), input.graph.ids().clone());
        let parts = TrainedModelParts { config, record, model, embeddings, ids };
        Ok(TrainedModel { timings: Some(training.timings().clone()), ..TrainedModel::from_parts(parts)? })
    }

    /// Assembles a model from its parts. Fails if the record cannot be parsed.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// use controlg::TrainedModel;
    ///
    /// let parts = model.clone().into_parts(); // for example to send them over a network
    /// let copy = TrainedModel::from_parts(parts)?;
    /// assert_eq!(copy.embeddings(), model.embeddings());
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn from_parts(parts: TrainedModelParts) -> Result<TrainedModel> {
        let lines = trace::parse(Path::new(run_files::TRACE), &parts.record)?;
        let record = lines.into_iter().map(|line| line.record).collect();
        Ok(TrainedModel { parts, record, timings: None })
    }

    /// Takes the model apart.
    pub fn into_parts(self) -> TrainedModelParts {
        self.parts
    }

    /// The embeddings of the training graph: n × width, rows in the order of [`TrainedModel::ids`].
    pub fn embeddings(&self) -> &Dense {
        &self.parts.embeddings
    }

    /// The node ids, in the order of the rows of the embeddings.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// assert_eq!(model.ids().get(7), "7");
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn ids(&self) -> &Ids {
        &self.parts.ids
    }

    /// All settings of the run, including defaults.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// assert_eq!(model.config().train.epochs, 1);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn config(&self) -> &Config {
        &self.parts.config
    }

    /// The record of the run: a header, then one entry per warm-up round, sensing and block.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// use controlg::trace::Record;
    ///
    /// let blocks = model.record().iter().filter(|line| matches!(line, Record::Block(_)));
    /// assert!(blocks.count() > 0);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn record(&self) -> &[Record] {
        &self.record
    }

    /// Whether training was stopped before its last step; see [`pretrain_until`](super::pretrain_until).
    pub fn is_partial(&self) -> bool {
        let config = &self.parts.config;
        let mut watch = FlatWatch::default();
        for line in &self.record {
            if let Record::Block(block) = line
                && !block.held_out.is_empty()
            {
                watch.observe(&block.held_out);
            }
        }
        self.steps_done() < config.total_steps() && !watch.stops_after(config.train.stop_when_flat)
    }

    /// Number of steps in the record.
    fn steps_done(&self) -> u64 {
        let Config { objectives, train, .. } = &self.parts.config;
        let done = |line: &Record| match line {
            Record::Block(block) => Some(block.step + block.steps),
            Record::Warmup(line) if line.round < train.warmup_rounds => {
                Some(line.step + objectives.len() as u64)
            }
            Record::Warmup(line) => Some(line.step),
            _ => None,
        };
        self.record.iter().rev().find_map(done).unwrap_or(0)
    }

    /// How the training time was spent; `None` for a model that was loaded.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// assert!(model.timings().is_some_and(|timings| timings.training > 0.0));
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn timings(&self) -> Option<&Timings> {
        self.timings.as_ref()
    }

    /// Embeds another graph with the same features, for example one with new nodes. Named feature columns may be in another
    /// order ([`TrainedModel::match_features`]). Batch norms and feature scaling use
    /// the statistics of the training graph, so the training graph gives the same bytes again.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// let larger = controlg::data::load("synthetic:nodes=300", &Default::default())?.graph;
    /// assert_eq!(model.embed(&larger)?.n_rows(), 300);
    /// assert_eq!(&model.embed(&graph)?, model.embeddings());
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn embed(&self, graph: &Graph) -> Result<Dense> {
        embed_from_bytes(&self.parts.config, &self.parts.model, graph)
    }

    /// The graph with its feature columns in the order of the training graph, as [`TrainedModel::embed`] uses it, and a note
    /// if the order was another one.
    ///
    /// # Errors
    /// If the graph has other features: other names if both graphs have names, else another number of columns.
    ///
    /// ```
    /// use controlg::Graph;
    /// use controlg::graph::Features;
    ///
    /// # let graph = controlg::data::load("synthetic:nodes=200,features=2", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let graph = graph.with_feature_names(vec!["age".into(), "height".into()])?;
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// assert_eq!(model.feature_names()?.unwrap(), ["age", "height"]);
    /// let features = Features::dense(2, 2, vec![1.7, 31.0, 1.8, 45.0])?;
    /// let other = Graph::from_edges(2, &[(0, 1)], features)?;
    /// let other = other.with_feature_names(vec!["height".into(), "age".into()])?;
    /// let matched = model.match_features(&other)?;
    /// assert_eq!(matched.graph.feature_names().unwrap(), ["age", "height"]);
    /// assert!(matched.note.is_some());
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn match_features(&self, graph: &Graph) -> Result<MatchedGraph> {
        match_features_from_bytes(&self.parts.model, graph)
    }

    /// The names of the feature columns that the model was trained on, if they have any.
    pub fn feature_names(&self) -> Result<Option<Vec<String>>> {
        let path = Path::new(run_files::MODEL);
        feature_match::trained_names(path, &TensorFile::parse(path, &self.parts.model)?)
    }

    /// Writes a run folder, which `controlg audit`, `evaluate`, `embed` and `report` accept. It has no checkpoints, so
    /// the run cannot be resumed. A folder that is not empty is an error.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// # let home = tempfile::tempdir().unwrap();
    /// # let dir = home.path().join("run");
    /// use controlg::TrainedModel;
    ///
    /// model.save(&dir)?;
    /// let loaded = TrainedModel::load(&dir)?;
    /// assert_eq!(loaded.embed(&graph)?, *model.embeddings());
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn save(&self, dir: impl AsRef<Path>) -> Result<()> {
        let (dir, parts) = (dir.as_ref(), &self.parts);
        if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::input(dir, "", "a folder with other files", "a new or empty folder"));
        }
        fs::create_dir_all(dir)
            .map_err(|error| Error::io(format_args!("creating {}", dir.display()), error))?;
        files::atomic_write_bytes(&dir.join(run_files::CONFIG), parts.config.to_toml()?)?;
        files::atomic_write_bytes(&dir.join(run_files::MODEL), &parts.model)?;
        let (n, width) = (parts.embeddings.n_rows(), parts.embeddings.n_cols());
        let structural = is_structural(&TensorFile::parse(&dir.join(run_files::MODEL), &parts.model)?);
        let shape = EmbeddingShape { n, width, structural };
        stream_embeddings(dir, shape, &parts.ids, |rows| rows(parts.embeddings.data()))?;
        let record = match self.record.first() {
            Some(Record::Run(header)) if header.data_hash.is_some() => {
                trace::with_end(&parts.record, end_line(dir, self.steps_done())?)?
            }
            _ => parts.record.clone(),
        };
        files::atomic_write_bytes(&dir.join(run_files::TRACE), record)
    }

    /// [`TrainedModel::save`] that may replace the run in a folder. Files that are not those of a run are an error, and
    /// nothing is deleted then.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let model = controlg::pretrain(&graph, &config)?;
    /// # let home = tempfile::tempdir().unwrap();
    /// # let dir = home.path().join("run");
    /// model.save(&dir)?;
    /// assert!(model.save(&dir).is_err());
    /// model.save_over(&dir)?;
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn save_over(&self, dir: impl AsRef<Path>) -> Result<()> {
        let dir = dir.as_ref();
        let failed = |error| Error::io(format_args!("replacing {}", dir.display()), error);
        let Ok(entries) = fs::read_dir(dir) else { return self.save(dir) };
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            if !run_files::ALL.iter().any(|known| *known == name) {
                let found = format_args!("{}, which is no file of a run", name.display());
                return Err(Error::input(dir, "", found, "a run, or a new or empty folder"));
            }
        }
        // The new run is complete before the old one goes.
        let beside = |role: &str| {
            let name = dir.file_name().unwrap_or_default().display();
            dir.with_file_name(format!(".{name}.{role}-{}", std::process::id()))
        };
        let (new, old) = (beside("new"), beside("old"));
        let replaced = self.save(&new).and_then(|()| {
            fs::rename(dir, &old).and_then(|()| fs::rename(&new, dir)).map_err(failed)?;
            fs::remove_dir_all(&old).map_err(failed)
        });
        if replaced.is_err() {
            let _ = fs::remove_dir_all(&new); // what went wrong first is the error
        }
        replaced
    }

    /// Reads the folder of a finished run, written by [`TrainedModel::save`] or `controlg pretrain`.
    pub fn load(dir: impl AsRef<Path>) -> Result<TrainedModel> {
        TrainedModel::load_with(dir, &Custom::default())
    }

    /// [`TrainedModel::load`] for a run with encoders, objectives or coordinators of your own: pass them again under the
    /// same names.
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let home = tempfile::tempdir().unwrap();
    /// # let dir = home.path().join("run");
    /// use controlg::TrainedModel;
    /// use controlg::config::{Config, Custom};
    /// use controlg::encoder::{Gcn, LayerSettings};
    ///
    /// let encoder = Gcn::new(LayerSettings { width: 16, ..LayerSettings::default() })?;
    /// let config = Config::for_data("my graph")?.custom_encoder("my_encoder", encoder.clone());
    /// controlg::pretrain(&graph, &config.epochs(1).steps_per_epoch(30))?.save(&dir)?;
    ///
    /// let mut custom = Custom::default();
    /// custom.add_encoder("my_encoder", encoder);
    /// let model = TrainedModel::load_with(&dir, &custom)?;
    /// assert_eq!(&model.embed(&graph)?, model.embeddings());
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn load_with(dir: impl AsRef<Path>, custom: &Custom) -> Result<TrainedModel> {
        let dir = dir.as_ref();
        let config = Config::from_table_with(config::read(&dir.join(run_files::CONFIG))?, custom)?;
        trace::check_results(dir, &run_files::RESULTS)?;
        let names = limits::read_text(&dir.join(run_files::IDS))?;
        let ids = Ids::from_names(names.lines().map(str::to_owned).collect());
        let path = dir.join(run_files::EMBEDDINGS_NPY);
        let embeddings = match data::read_embeddings(&path, &ids, run_files::IDS)? {
            Features::Dense(dense) => dense,
            Features::Sparse(_) => return Err(Error::input(&path, "", "sparse rows", "dense rows")),
        };
        let record = limits::read_text(&dir.join(run_files::TRACE))?;
        let model = limits::read_bytes(&dir.join(run_files::MODEL))?;
        TrainedModel::from_parts(TrainedModelParts { config, record, model, embeddings, ids })
    }
}

/// The embeddings of a graph by the settings and the bytes of `model.safetensors`; see [`TrainedModel::embed`].
pub fn embed_from_bytes(config: &Config, model: &[u8], graph: &Graph) -> Result<Dense> {
    let path = Path::new(run_files::MODEL);
    embed_with(config, path, &TensorFile::parse(path, model)?, graph)
}

/// [`TrainedModel::match_features`] for the bytes of `model.safetensors`.
pub fn match_features_from_bytes(model: &[u8], graph: &Graph) -> Result<MatchedGraph> {
    let path = Path::new(run_files::MODEL);
    feature_match::match_features(path, &TensorFile::parse(path, model)?, graph)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::train::{RunFolder, pretrain, pretrain_until};

    #[test]
    fn a_model_in_memory_equals_a_run_folder() {
        let graph = crate::data::load("synthetic:nodes=120", &Default::default()).unwrap().graph;
        let config = Config::for_data("my graph").unwrap().width(8).epochs(1).steps_per_epoch(30);
        let config = config.set("objective.p_par.parts", 4).unwrap().build().unwrap();
        let model = pretrain(&graph, &config).unwrap();
        assert_eq!(model.embed(&graph).unwrap(), *model.embeddings());

        let home = tempfile::tempdir().unwrap();
        let (saved, folder) = (home.path().join("saved"), home.path().join("folder"));
        model.save(&saved).unwrap();
        assert!(model.save(&saved).unwrap_err().to_string().contains("a new or empty folder"));
        RunFolder::open(&folder, &config, false).unwrap().pretrain(&graph, |_| {}).unwrap();
        for name in [
            run_files::CONFIG,
            run_files::EMBEDDINGS_NPY,
            run_files::EMBEDDINGS_PARQUET,
            run_files::IDS,
            run_files::MODEL,
        ] {
            assert_eq!(fs::read(saved.join(name)).unwrap(), fs::read(folder.join(name)).unwrap(), "{name}");
        }
        let loaded = TrainedModel::load(&folder).unwrap();
        // The record of a folder ends with the digests of its files.
        assert_eq!(loaded.record().len(), model.record().len() + 1);
        let (loaded, model) = (loaded.into_parts(), model.into_parts());
        assert_eq!((loaded.embeddings, loaded.model), (model.embeddings, model.model));
        assert!(crate::audit::audit(&saved).unwrap().blocks > 0);
        // A flipped bit in the embeddings.
        let path = folder.join(run_files::EMBEDDINGS_NPY);
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
        let message = TrainedModel::load(&folder).unwrap_err().to_string();
        assert!(message.contains("embeddings.npy: SHA-256: found"), "{message}");
    }

    #[test]
    fn a_stopped_training_leaves_a_partial_model_with_its_record() {
        let graph = crate::data::load("synthetic:nodes=120", &Default::default()).unwrap().graph;
        let config = Config::for_data("my graph").unwrap().width(8).epochs(2).steps_per_epoch(30);
        let config = config.set("objective.p_par.parts", 4).unwrap().build().unwrap();
        let stop = |line: &Record| match line {
            Record::Block(block) if block.step >= 40 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let model = pretrain_until(&graph, &config, stop).unwrap();
        let whole = pretrain(&graph, &config).unwrap();
        assert!(model.is_partial() && !whole.is_partial());
        assert!(model.record().len() < whole.record().len());
        assert_eq!(model.embed(&graph).unwrap(), *model.embeddings());
        let home = tempfile::tempdir().unwrap();
        model.save(home.path()).unwrap();
        assert_eq!(crate::audit::audit(home.path()).unwrap().steps, 41);
        assert!(TrainedModel::load(home.path()).unwrap().is_partial());
    }

    #[test]
    fn only_a_run_is_replaced() {
        let graph = crate::data::load("synthetic:nodes=60", &Default::default()).unwrap().graph;
        let config = Config::for_data("my graph").unwrap().width(4).epochs(1).steps_per_epoch(30);
        let model = pretrain(&graph, config.set("method", "p_link").unwrap()).unwrap();
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("run");
        model.save_over(&dir).unwrap();
        fs::write(dir.join(run_files::METRICS), "{}").unwrap();
        model.save_over(&dir).unwrap();
        assert!(!dir.join(run_files::METRICS).exists() && dir.join(run_files::MODEL).exists());
        fs::write(dir.join("thesis.tex"), "").unwrap();
        let error = model.save_over(&dir).unwrap_err().to_string();
        assert!(error.contains("thesis.tex, which is no file of a run"), "{error}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
