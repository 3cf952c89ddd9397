//! A trained encoder, kept in a run's folder and used on any graph with the same features.

use std::path::{Path, PathBuf};

use super::Model;
use super::input::{Input, normalized_graph};
use super::model::{add_aux, aux_name};
use super::run::checkpoint::{FEATURE_SOURCE, STRUCTURAL};
use super::run::folder;
use super::run::safetensors::TensorFile;
use crate::Real;
use crate::config::{self, BatchMode, Config, EdgeScope};
use crate::data::EdgeSplit;
use crate::encoder::{self, Network};
use crate::error::{Error, Result};
use crate::graph::norm::ColumnScale;
use crate::graph::{Dense, EncoderInput, Graph};
use crate::objective::AuxNetwork;
use crate::rng::Stream;
use crate::run_files;
use crate::tensor::{ColumnStats, Params, Pool};

/// The embeddings of a graph by the encoder of a finished run. Batch norms and scaled columns use the statistics of the
/// graph that was trained on: a node's embedding does not depend on who else is embedded beyond its neighborhood, and
/// the same graph gives the same bytes again.
///
/// Of a run that was kept from some edges of a graph, as one for link prediction is, the embeddings of that graph are too.
pub fn embed(run: &Path, graph: &Graph) -> Result<Dense> {
    let (config, path) = settings_and_model(run)?;
    embed_with(&config, &path, &TensorFile::read(&path)?, graph)
}

/// The same into a folder, as [`folder::write_embeddings`] does; large graphs pass through it some rows at a time. Gives
/// the number of columns.
pub fn embed_into(run: &Path, graph: &Graph, folder: &Path) -> Result<usize> {
    let (config, path) = settings_and_model(run)?;
    let tensors = TensorFile::read(&path)?;
    trained_features(&path, &tensors, graph)?;
    let width = config.encoder.width();
    std::fs::create_dir_all(folder)
        .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
    let structural = graph.has_features_from_edges();
    let about = folder::EmbeddingShape { n: graph.n_nodes(), width, structural };
    folder::stream_embeddings(folder, about, graph.ids(), |rows| {
        embed_rows(&config, &path, &tensors, graph, folder, rows)
    })?;
    Ok(width)
}

fn settings_and_model(run: &Path) -> Result<(Config, PathBuf)> {
    Ok((Config::from_table(config::read(&run.join(run_files::CONFIG))?)?, run.join(run_files::MODEL)))
}

/// The same with settings and model at hand; `path` is what errors call the model.
pub(super) fn embed_with(
    config: &Config,
    path: &Path,
    tensors: &TensorFile<'_>,
    graph: &Graph,
) -> Result<Dense> {
    let (mut data, n) = (Vec::new(), graph.n_nodes());
    embed_rows(config, path, tensors, graph, &std::env::temp_dir(), &mut |rows| {
        data.extend_from_slice(rows);
        Ok(())
    })?;
    Ok(Dense::from_parts(n, data.len() / n, data))
}

fn embed_rows(
    config: &Config,
    path: &Path,
    tensors: &TensorFile<'_>,
    graph: &Graph,
    folder: &Path,
    rows: &mut dyn FnMut(&[Real]) -> Result<()>,
) -> Result<()> {
    let width = trained_features(path, tensors, graph)?;
    let graph = &seen(config, tensors, graph)?;
    let encoder = &*config.encoder;
    let mut params = Params::new();
    let group = params.add_group("encoder");
    encoder.init(width, &mut params, group, &mut Stream::new(config.seed, "init", "encoder", 0));
    tensors.fill(path, &mut params, group)?;
    let stats = read_stats(path, tensors)?;
    let scale = match tensors.contains("features/mean") {
        true => Some(ColumnScale {
            mean: tensors.doubles(path, "features/mean", width)?,
            deviation: tensors.doubles(path, "features/deviation", width)?,
        }),
        false => None,
    };
    let mut alone = match &config.objectives[..] {
        [name] => Some((name, config.objective[name].clone_box())),
        _ => None,
    };
    let second = alone.as_mut().filter(|(_, objective)| objective.second() == Some(AuxNetwork::Trained));
    let in_blocks = graph.stored_features().is_some() || graph.n_nodes() > BatchMode::WHOLE_UP_TO;
    if in_blocks && second.is_none() {
        let graph = normalized_graph(graph.clone(), config.normalize, scale.as_ref())?;
        let network = Network { encoder, params: &params, group };
        return encoder::embed_in_blocks(network, &graph, Some(&stats), folder, rows).map(drop);
    }
    let graph = normalized_graph(graph.resident()?, config.normalize, scale.as_ref())?;
    let prepared = EncoderInput::new(&graph);
    let z = encoder::embed_with(encoder, &params, group, &prepared, &stats, &Pool::new());
    let Some((name, objective)) = second else { return rows(z.data()) };
    objective.check(&graph)?;
    objective.prepare(&graph)?;
    let second = params.add_group(&aux_name(name));
    encoder.init(width, &mut params, second, &mut Stream::new(config.seed, "init", "encoder", 0));
    tensors.fill(path, &mut params, second)?;
    rows(add_aux(z, &**objective, encoder, &params, second, &prepared).data())
}

/// The part of a graph that its run was allowed to see, where it is that run's own; else all of it.
fn seen(config: &Config, tensors: &TensorFile<'_>, graph: &Graph) -> Result<Graph> {
    if config.edges == EdgeScope::All {
        return Ok(graph.clone());
    }
    // A graph too small or too full to be parted is another one.
    let own = Input::new(graph, config)
        .is_ok_and(|input| tensors.words.get("data_hash") == Some(&input.graph.fingerprint()));
    match own {
        true => EdgeSplit::draw(graph, config.seed)?.training_graph(graph),
        false => Ok(graph.clone()),
    }
}

/// Whether a model was trained on features that were made of edges.
pub(super) fn is_structural(tensors: &TensorFile<'_>) -> bool {
    tensors.words.get(FEATURE_SOURCE).is_some_and(|source| source == STRUCTURAL)
}

/// The number of features that a model was trained on, which a graph must have.
fn trained_features(path: &Path, tensors: &TensorFile<'_>, graph: &Graph) -> Result<usize> {
    let width = tensors.words.get("features").and_then(|text| text.parse::<usize>().ok());
    let width = width.ok_or_else(|| Error::input(path, "features", "nothing", "the number of features"))?;
    if graph.n_features() != width {
        let expected = format!("{width}, as in the graph that {} was trained on", path.display());
        return Err(Error::value("features", format_args!("{} columns", graph.n_features()), expected));
    }
    if is_structural(tensors) && !graph.has_features_from_edges() {
        let expected = format!("structural ones, as {} was trained on", path.display());
        return Err(Error::value("features", "features of the graph's own", expected));
    }
    Ok(width)
}

/// Everything that [`embed`] needs, with heads.
pub(super) fn model_file<'t>(
    model: &'t Model<'_>,
    stats: &'t [ColumnStats],
    input: &'t Input,
) -> TensorFile<'t> {
    let mut tensors = TensorFile::default();
    tensors.add_params(model.params());
    for (at, ColumnStats { mean, inverse_std }) in stats.iter().enumerate() {
        tensors.add(format!("norm/{at}.mean"), &[mean.len()], mean);
        tensors.add(format!("norm/{at}.inverse_std"), &[inverse_std.len()], inverse_std);
    }
    if let Some(ColumnScale { mean, deviation }) = &input.scale {
        tensors.add_doubles("features/mean".to_owned(), mean);
        tensors.add_doubles("features/deviation".to_owned(), deviation);
    }
    tensors.words.insert("features".to_owned(), input.graph.n_features().to_string());
    tensors
}

fn read_stats(path: &Path, tensors: &TensorFile<'_>) -> Result<Vec<ColumnStats>> {
    let mut stats = Vec::new();
    while let Some(len) = tensors.len_of(&format!("norm/{}.mean", stats.len())) {
        let at = stats.len();
        stats.push(ColumnStats {
            mean: tensors.values(path, &format!("norm/{at}.mean"), len)?,
            inverse_std: tensors.values(path, &format!("norm/{at}.inverse_std"), len)?,
        });
    }
    Ok(stats)
}
