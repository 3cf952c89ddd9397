//! Time per optimizer step, measured in this process.

use std::time::Instant;

use super::{Input, Training};
use crate::config::{self, Config};
use crate::coordinator::METHODS;
use crate::error::Result;
use crate::graph::Graph;

/// Blocks timed together; enough to include periodic work such as sensing.
const BLOCKS: usize = 10;
/// Minimum time of all measurements, in milliseconds.
const ENOUGH_MS: f64 = 500.0;

/// Several measurements of the milliseconds per optimizer step of a method with these settings (`key=value`), on top of the
/// presets. What happens between steps, such as sensing, is part of them; what happens before the first step is not.
pub fn step_times(graph: &Graph, data: &str, method: &str, settings: &[String]) -> Result<Vec<f64>> {
    // Data set and method select the presets.
    let mut table = Config::preset(data);
    table.insert("method".to_owned(), method.into());
    // A weight search before training is not part of a step: use the shortest.
    for (key, least) in [("generations", 1), ("population", 2), ("steps", 1)] {
        config::set(&mut table, &format!("mix.autossl-es.{key}={least}"))?;
    }
    settings.iter().try_for_each(|setting| config::set(&mut table, setting))?;
    let config = Config::from_table(table)?;
    let input = Input::new(graph, &config)?;
    let mut training = Training::new(&input, &config)?;
    let mut advance = |blocks: usize| -> Result<Option<f64>> {
        let (start, before) = (Instant::now(), training.progress().steps);
        for _ in 0..blocks {
            training.advance()?;
        }
        let taken = training.progress().steps - before;
        Ok((taken > 0).then(|| 1e3 * start.elapsed().as_secs_f64() / taken as f64))
    };
    // Warm up, so that buffers are allocated; a scheduler begins with rounds of one step per objective.
    let mixes = METHODS.iter().any(|known| known.name == method && known.mixes());
    let (first, blocks) = if mixes { (2, 3) } else { (config.train.warmup_rounds + 2, BLOCKS) };
    advance(first)?;
    let (mut found, start) = (Vec::new(), Instant::now());
    while found.is_empty() || 1e3 * start.elapsed().as_secs_f64() < ENOUGH_MS {
        match advance(blocks)? {
            Some(ms) => found.push(ms),
            None => break,
        }
    }
    Ok(found)
}
