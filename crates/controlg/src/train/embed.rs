//! Embeds graphs with the encoder of a finished run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::input::Input;
use super::model::{add_aux, aux_name};
use super::normalization::normalized_graph;
use super::readout::EmbeddingReadout;
use super::run::feature_match::{self, MatchedGraph};
use super::run::files::{EmbeddingShape, stream_embeddings};
use super::run::model_file::{normalization, read_readout, read_stats};
use super::run::safetensors::TensorFile;
use crate::Real;
use crate::config::{self, BatchMode, Config, EdgeScope};
use crate::data::EdgeSplit;
use crate::encoder::{self, InputDims, Network};
use crate::error::{Error, Result};
use crate::files::{self, FolderLock};
use crate::graph::norm::ColumnScale;
use crate::graph::{Dense, EncoderInput, Graph};
use crate::objective::AuxNetwork;
use crate::rng::Stream;
use crate::run_files;
use crate::tensor::{Params, Pool};

/// The embeddings of a graph by the encoder of a finished run. The graph needs the same features as the training graph;
/// if both have feature names, the columns may be in another order (see [`match_features`]).
///
/// Batch norms and feature scaling use the statistics of the training graph: a node's embedding depends only on its
/// neighborhood, and the training graph gives the same bytes again.
///
/// A run for link prediction does not use the held-out edges of its own graph here either.
pub fn embed(run: &Path, graph: &Graph) -> Result<Dense> {
    let (config, path) = config_and_model(run)?;
    embed_with(&config, &path, &read_model(&config, &path)?, graph)
}

/// [`embed`] into a folder, with the files of [`super::write_embeddings`]. Large graphs are processed some rows at a
/// time. Returns the embedding width.
pub fn embed_into(run: &Path, graph: &Graph, folder: &Path) -> Result<usize> {
    let (config, path) = config_and_model(run)?;
    let tensors = read_model(&config, &path)?;
    let graph = &feature_match::match_features(&path, &tensors, graph)?.graph;
    let readout = EmbeddingReadout::new(graph, &*config.encoder, &config.embed);
    let width = readout.like(&read_readout(&path, &tensors)?).width();
    files::create_folder(folder)?;
    let _lock = FolderLock::take(folder, Duration::ZERO)?;
    let structural = graph.has_features_from_edges();
    let shape = EmbeddingShape { n: graph.n_nodes(), width, structural };
    stream_embeddings(folder, shape, graph.ids(), |rows| {
        embed_rows(&config, &path, &tensors, graph, folder, rows)
    })?;
    Ok(width)
}

/// The graph with its feature columns in the order of a finished run, as [`embed`] uses it, and a note for the user if
/// the order was another one. Columns are compared by name if the graph and the run have names, else by number.
///
/// # Errors
/// If the graph has other features than the run.
pub fn match_features(run: &Path, graph: &Graph) -> Result<MatchedGraph> {
    let path = run.join(run_files::MODEL);
    feature_match::match_features(&path, &TensorFile::read(&path)?, graph)
}

fn config_and_model(run: &Path) -> Result<(Config, PathBuf)> {
    Ok((Config::from_table(config::read(&run.join(run_files::CONFIG))?)?, run.join(run_files::MODEL)))
}

/// Reads the model of a run. Other settings than those it was trained with are an error.
fn read_model(config: &Config, path: &Path) -> Result<TensorFile<'static>> {
    let tensors = TensorFile::read(path)?;
    match tensors.metadata.get("config_hash") {
        Some(hash) if *hash != config.hash()? => {
            let expected = format!("those of {}", run_files::CONFIG);
            Err(Error::input(path, "config_hash", "a model of other settings", expected))
        }
        _ => Ok(tensors),
    }
}

/// [`embed`] with loaded settings and model; `path` is the name of the model in error messages.
pub(super) fn embed_with(
    config: &Config,
    path: &Path,
    tensors: &TensorFile<'_>,
    graph: &Graph,
) -> Result<Dense> {
    let graph = &feature_match::match_features(path, tensors, graph)?.graph;
    let (mut data, n) = (Vec::new(), graph.n_nodes());
    embed_rows(config, path, tensors, graph, &std::env::temp_dir(), &mut |rows| {
        data.extend_from_slice(rows);
        Ok(())
    })?;
    Ok(Dense::from_parts(n, data.len() / n, data))
}

/// The embeddings of a graph with matched features, some rows at a time.
fn embed_rows(
    config: &Config,
    path: &Path,
    tensors: &TensorFile<'_>,
    graph: &Graph,
    folder: &Path,
    rows: &mut dyn FnMut(&[Real]) -> Result<()>,
) -> Result<()> {
    let graph = &visible_graph(config, tensors, graph)?;
    let in_blocks = graph.stored_features().is_some() || graph.n_nodes() > BatchMode::WHOLE_UP_TO;
    let graph = if in_blocks { graph.clone() } else { graph.resident()? };
    let graph = normalized_like(config, path, tensors, graph)?;
    let state = read_readout(path, tensors)?;
    let readout = EmbeddingReadout::new(&graph, &*config.encoder, &config.embed).like(&state);
    let encode = |rows: &mut dyn FnMut(&[Real]) -> Result<()>| {
        encode_rows(config, path, tensors, &graph, in_blocks.then_some(folder), rows)
    };
    if in_blocks {
        return readout.apply_in_blocks(&state, folder, rows, encode);
    }
    let mut z = Vec::new();
    encode(&mut |block| {
        z.extend_from_slice(block);
        Ok(())
    })?;
    rows(&readout.apply(&state, z)?)
}

/// The graph with its features normalized like those of the training graph.
fn normalized_like(config: &Config, path: &Path, tensors: &TensorFile<'_>, graph: Graph) -> Result<Graph> {
    let n_features = graph.n_features();
    let scale = if tensors.contains("features/mean") {
        let mean = tensors.doubles(path, "features/mean", n_features)?;
        Some(ColumnScale { mean, deviation: tensors.doubles(path, "features/deviation", n_features)? })
    } else {
        None
    };
    normalized_graph(graph, normalization(path, tensors, config.normalize)?, scale.as_ref())
}

/// The representations of a normalized graph, some rows at a time; in blocks if there is a folder for temporary files.
fn encode_rows(
    config: &Config,
    path: &Path,
    tensors: &TensorFile<'_>,
    graph: &Graph,
    blocks: Option<&Path>,
    rows: &mut dyn FnMut(&[Real]) -> Result<()>,
) -> Result<()> {
    let dims = InputDims::of(graph);
    let encoder = &*config.encoder;
    let mut params = Params::new();
    let group = params.add_group("encoder");
    encoder.init_for(dims, &mut params, group, &mut Stream::new(config.seed, "init", "encoder", 0));
    tensors.fill(path, &mut params, group)?;
    let stats = read_stats(path, tensors)?;
    let mut single = match &config.objectives[..] {
        [name] => Some((name, config.objective[name].clone_box())),
        _ => None,
    };
    let with_aux =
        single.as_mut().filter(|(_, objective)| objective.aux_network() == Some(AuxNetwork::Trained));
    if let (Some(folder), None, true) = (blocks, &with_aux, encoder.embeds_in_blocks()) {
        let network = Network { encoder, params: &params, group };
        return encoder::embed_in_blocks(network, graph, Some(&stats), folder, rows).map(drop);
    }
    let graph = &graph.resident()?;
    let prepared = EncoderInput::with_spec(graph, encoder.operator());
    let z = encoder::embed_with(encoder, &params, group, &prepared, &stats, &Pool::new());
    let Some((name, objective)) = with_aux else { return rows(z.data()) };
    objective.check(graph)?;
    objective.prepare(graph)?;
    let aux_group = params.add_group(&aux_name(name));
    encoder.init_for(dims, &mut params, aux_group, &mut Stream::new(config.seed, "init", "encoder", 0));
    tensors.fill(path, &mut params, aux_group)?;
    rows(add_aux(z, &**objective, encoder, &params, aux_group, &prepared).data())
}

/// The training edges of a graph if it is the graph of a link-prediction run; else the graph itself.
fn visible_graph(config: &Config, tensors: &TensorFile<'_>, graph: &Graph) -> Result<Graph> {
    if config.edges == EdgeScope::All {
        return Ok(graph.clone());
    }
    // A graph whose edges cannot be split is not the one of the run.
    let own = Input::new(graph, config)
        .is_ok_and(|input| tensors.metadata.get("data_hash") == Some(&input.data_hash));
    if own { EdgeSplit::draw(graph, config.seed)?.training_graph(graph) } else { Ok(graph.clone()) }
}
