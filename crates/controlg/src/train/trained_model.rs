//! A finished run in memory: what its folder holds, for those who want no folder or want it later.

use std::fs;
use std::path::Path;

use super::embed::embed_with;
use super::input::Input;
use super::run::files::{EmbeddingShape, stream_embeddings};
use super::run::model_file::{RunIdentity, is_structural, model_file};
use super::run::safetensors::TensorFile;
use super::training::Training;
use crate::config::{self, Config};
use crate::data::{self, limits};
use crate::error::{Error, Result};
use crate::files;
use crate::graph::{Dense, Features, Graph, Ids};
use crate::run_files;

/// A finished run.
#[derive(Clone, Debug)]
pub struct TrainedModel {
    /// The settings, complete.
    pub config: Config,
    /// The record, all lines of it; [`crate::trace::RecordBuffer`] makes one.
    pub record: String,
    /// Encoder and heads, as `model.safetensors` holds them.
    pub model: Vec<u8>,
    /// One row a node.
    pub embeddings: Dense,
    /// The nodes' names, in the order of the rows.
    pub ids: Ids,
}

impl TrainedModel {
    /// Takes over what a training has come to.
    pub fn of(training: &Training<'_>, input: &Input, record: String) -> Result<TrainedModel> {
        let config = training.config().clone();
        let (embeddings, stats) = training.model().embed()?;
        let mut model = model_file(training.model(), &stats, input);
        RunIdentity::of(&config, input)?.sign(&mut model);
        let model = model.to_bytes()?;
        Ok(TrainedModel { config, record, model, embeddings, ids: input.graph.ids().clone() })
    }

    /// The embeddings of a graph, new nodes included; see [`super::embed`].
    pub fn embed(&self, graph: &Graph) -> Result<Dense> {
        embed_by(&self.config, &self.model, graph)
    }

    /// Writes a run's folder, all but the checkpoint: there is nothing to go on with. A folder with files is refused.
    pub fn write(&self, to: &Path) -> Result<()> {
        if fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::input(to, "", "a folder with other files", "a new or empty folder"));
        }
        fs::create_dir_all(to)
            .map_err(|error| Error::io(format_args!("creating {}", to.display()), error))?;
        files::atomic_write_bytes(&to.join(run_files::CONFIG), self.config.to_toml()?)?;
        files::atomic_write_bytes(&to.join(run_files::TRACE), &self.record)?;
        files::atomic_write_bytes(&to.join(run_files::MODEL), &self.model)?;
        let (n, width) = (self.embeddings.n_rows(), self.embeddings.n_cols());
        let structural = is_structural(&TensorFile::parse(&to.join(run_files::MODEL), &self.model)?);
        let about = EmbeddingShape { n, width, structural };
        stream_embeddings(to, about, &self.ids, |rows| rows(self.embeddings.data()))
    }

    /// Reads the folder of a finished run.
    pub fn read(from: &Path) -> Result<TrainedModel> {
        let config = Config::from_table(config::read(&from.join(run_files::CONFIG))?)?;
        let names = limits::read_text(&from.join(run_files::IDS))?;
        let ids = Ids::from_names(names.lines().map(str::to_owned).collect());
        let path = from.join(run_files::EMBEDDINGS_NPY);
        let embeddings = match data::read_embeddings(&path, &ids, run_files::IDS)? {
            Features::Dense(dense) => dense,
            Features::Sparse(_) => return Err(Error::input(&path, "", "sparse rows", "dense ones")),
        };
        let record = limits::read_text(&from.join(run_files::TRACE))?;
        let model = limits::read_bytes(&from.join(run_files::MODEL))?;
        Ok(TrainedModel { config, record, model, embeddings, ids })
    }
}

/// The embeddings of a graph by settings and model as [`TrainedModel`] keeps them.
pub fn embed_by(config: &Config, model: &[u8], graph: &Graph) -> Result<Dense> {
    let path = Path::new("the model");
    embed_with(config, path, &TensorFile::parse(path, model)?, graph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::RecordBuffer;

    #[test]
    fn a_run_in_memory_is_the_run_of_a_folder() {
        let graph = crate::data::load("synthetic:nodes=120", &Default::default()).unwrap().graph;
        let mut table = Config::preset("my graph");
        for small in
            ["encoder.width=8", "train.epochs=1", "train.batches_per_epoch=30", "objective.p_par.parts=4"]
        {
            config::set(&mut table, small).unwrap();
        }
        let config = Config::from_table(table).unwrap();
        let input = Input::new(&graph, &config).unwrap();
        let mut training = Training::new(&input, &config).unwrap();
        let mut sheet = RecordBuffer::default();
        sheet.append(&training.header()).unwrap();
        while let Some(records) = training.advance().unwrap() {
            records.iter().for_each(|record| sheet.append(record).unwrap());
        }
        let run = TrainedModel::of(&training, &input, sheet.into_text()).unwrap();
        assert_eq!(run.embed(&graph).unwrap(), run.embeddings);

        let home = tempfile::tempdir().unwrap();
        let (ours, folder) = (home.path().join("ours"), home.path().join("folder"));
        run.write(&ours).unwrap();
        assert!(run.write(&ours).unwrap_err().to_string().contains("a new or empty folder"));
        super::super::RunFolder::open(&folder, &config, false).unwrap().pretrain(&graph, |_| {}).unwrap();
        for name in ["config.toml", "embeddings.npy", "embeddings.parquet", "ids.txt", "model.safetensors"] {
            assert_eq!(fs::read(ours.join(name)).unwrap(), fs::read(folder.join(name)).unwrap(), "{name}");
        }
        let back = TrainedModel::read(&folder).unwrap();
        assert_eq!((back.embeddings, back.model), (run.embeddings, run.model));
        assert!(crate::audit::audit(&ours).unwrap().blocks > 0);
    }
}
