//! What a finished run leaves: embeddings, ids and model, and the last line of the record with their digests.

use std::path::Path;

use super::files::{EmbeddingShape, stream_embeddings};
use super::model_file::{RunIdentity, model_file};
use super::safetensors::TensorFile;
use crate::error::Result;
use crate::files;
use crate::run_files;
use crate::trace::EndLine;
use crate::train::input::Input;
use crate::train::training::Training;

/// Writes the results of a run into a folder. Returns the last line of its record.
pub fn write_results(folder: &Path, training: &Training<'_>, input: &Input) -> Result<EndLine> {
    let identity = RunIdentity::of(training.config(), input)?;
    let (model, graph) = (training.model(), &input.graph);
    let embed = &training.config().embed;
    let shape =
        EmbeddingShape { n: graph.n_nodes(), width: model.width(embed), structural: identity.structural };
    let stats = stream_embeddings(folder, shape, graph.ids(), |rows| model.embed_to(folder, embed, rows))?;
    let mut model = model_file(model, &stats, input);
    identity.sign(&mut model)?;
    model.write(&folder.join(run_files::MODEL))?;
    end_line(folder, training.progress().steps)
}

/// The last line of the record of a run whose results are in a folder.
pub(in crate::train) fn end_line(folder: &Path, steps: u64) -> Result<EndLine> {
    let digest = |name: &str| Ok((name.to_owned(), files::sha256(&folder.join(name))?));
    let files = run_files::RESULTS.into_iter().map(digest).collect::<Result<_>>()?;
    Ok(EndLine { steps, files })
}

/// The hashes of the settings and of the graph that a model was trained with, if it names them.
pub fn hashes_of_model(path: &Path) -> Result<(Option<String>, Option<String>)> {
    let mut tensors = TensorFile::read(path)?;
    Ok((tensors.metadata.remove("config_hash"), tensors.metadata.remove("data_hash")))
}
