//! A trained encoder, kept in a run's folder and used on any graph with the same features.

use std::path::Path;

use super::input::{Input, normalised_graph};
use super::model::{second_name, with_second};
use super::tensors::Tensors;
use super::{Model, folder};
use crate::config::{self, Config};
use crate::encoder;
use crate::error::{Error, Result};
use crate::graph::norm::ColumnScale;
use crate::graph::{Dense, Graph, Prepared};
use crate::objective::{self, Second};
use crate::rng::Stream;
use crate::tensor::{ColumnStats, Params, Pool};

/// The embeddings of a graph by the encoder of a finished run. Batch norms and scaled columns use the statistics of the
/// graph that was trained on: a node's embedding does not depend on who else is embedded beyond its neighbourhood, and
/// the same graph gives the same bytes again.
pub fn embed(run: &Path, graph: &Graph) -> Result<Dense> {
    let config = Config::from_table(config::read(&run.join(folder::CONFIG))?)?;
    let path = run.join(folder::MODEL);
    embed_with(&config, &path, &Tensors::read(&path)?, graph)
}

/// The same with settings and model at hand; `path` is what errors call the model.
pub(super) fn embed_with(
    config: &Config,
    path: &Path,
    tensors: &Tensors<'_>,
    graph: &Graph,
) -> Result<Dense> {
    let width = tensors.words.get("features").and_then(|text| text.parse::<usize>().ok());
    let width = width.ok_or_else(|| Error::input(path, "features", "nothing", "the number of features"))?;
    if graph.n_features() != width {
        let expected = format!("{width}, as in the graph that {} was trained on", path.display());
        return Err(Error::value("features", format_args!("{} columns", graph.n_features()), expected));
    }

    let encoder = encoder::build(config.encoder.clone())?;
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
    let graph = normalised_graph(graph.clone(), config.normalise, scale.as_ref())?;
    let prepared = Prepared::new(&graph);
    let z = encoder::embed_with(&*encoder, &params, group, &prepared, &stats, &Pool::new());
    let [name] = &config.objectives[..] else { return Ok(z) };
    let mut objective = objective::build(name, config.objective.get(name).cloned().unwrap_or_default())?;
    if objective.second() != Some(Second::Learned) {
        return Ok(z);
    }
    objective.check(&graph)?;
    objective.prepare(&graph)?;
    let second = params.add_group(&second_name(name));
    encoder.init(width, &mut params, second, &mut Stream::new(config.seed, "init", "encoder", 0));
    tensors.fill(&path, &mut params, second)?;
    Ok(with_second(z, &*objective, &*encoder, &params, second, &prepared))
}

/// Everything that [`embed`] needs, with heads.
pub(super) fn model_file<'t>(
    model: &'t Model<'_>,
    stats: &'t [ColumnStats],
    input: &'t Input,
) -> Tensors<'t> {
    let mut tensors = Tensors::default();
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

fn read_stats(path: &Path, tensors: &Tensors<'_>) -> Result<Vec<ColumnStats>> {
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
