//! Trains again, and compares what no record can prove: measured losses, gradients and what follows from them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::place::Place;
use crate::config::{Config, Custom};
use crate::error::{Error, Result};
use crate::files;
use crate::graph::Graph;
use crate::rng::Stream;
use crate::run_files;
use crate::trace::{self, EndLine, Record, RunLine, SealedLine, TraceEnd};
use crate::train::{self, Input, Training};

/// How a run is trained again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replay {
    /// Compares this many random blocks instead of all, and trains no further than it must: from the start, or from a
    /// checkpoint of the run that lies before them.
    pub blocks: Option<usize>,
    /// Seed of these blocks.
    pub seed: u64,
    /// Largest relative difference of numbers. CPUs of other types round differently.
    pub tolerance: f64,
}

/// The result of a replay that found no difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplaySummary {
    /// The compared blocks, counted from 1.
    pub blocks: Vec<usize>,
    /// Steps that were trained again.
    pub steps: u64,
    /// The results that have the same bytes again, after a replay of all blocks without tolerance.
    pub files: Vec<String>,
}

impl Replay {
    /// Trains the run in a folder again on its graph. The first difference is an [`Error::Check`].
    ///
    /// ```
    /// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
    /// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
    /// # let home = tempfile::tempdir().unwrap();
    /// # let dir = home.path().join("run");
    /// controlg::pretrain(&graph, &config)?.save(&dir)?;
    /// let summary = controlg::audit::Replay::default().run(&dir, &graph)?;
    /// assert_eq!(summary.steps, 30);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn run(&self, run: &Path, graph: &Graph) -> Result<ReplaySummary> {
        self.run_with(run, graph, &Custom::default())
    }

    /// [`Replay::run`] for a run with encoders, objectives or coordinators of your own.
    pub fn run_with(&self, run: &Path, graph: &Graph, custom: &Custom) -> Result<ReplaySummary> {
        let path = run.join(run_files::TRACE);
        let lines = trace::read(&path)?;
        let Some(Record::Run(header)) = lines.first().map(|line| &line.record) else {
            return Err(Error::input(&path, "line 1", "no run", "the record of a run"));
        };
        let config = Config::from_table_with(header.config.to_table()?, custom)?;
        let input = Input::new(graph, &config)?;
        check_data(run, &path, header, &input)?;
        let recorded = Recorded { run, path: &path, lines: &lines, tolerance: self.tolerance };
        let blocks = self.choose(&lines);
        let mut summary =
            ReplaySummary { blocks: blocks.iter().copied().collect(), steps: 0, files: Vec::new() };
        if self.blocks.is_none() {
            let training = recorded.train_from_start(&input, &config, None, &mut summary)?;
            recorded.compare_results(&training, &input, &mut summary)?;
            return Ok(summary);
        }
        // The blocks before and after the checkpoint from which fewer steps lead to the last of them.
        let mut later = Training::new(&input, &config)?;
        let last = blocks.last().map_or(0, |&last| step_of(&lines, last));
        let end = later.restore_before(&run.join(run_files::CHECKPOINTS), &input, last)?;
        let reached = later.progress().blocks as usize;
        let (before, after): (BTreeSet<usize>, BTreeSet<usize>) =
            blocks.iter().partition(|&&block| block <= reached);
        if !before.is_empty() || end.is_none() {
            let wanted = if end.is_none() { &blocks } else { &before };
            recorded.train_from_start(&input, &config, Some(wanted), &mut summary)?;
        }
        if let Some(end) = end {
            recorded.train(&mut later, recorded.line_at(&end)?, Some(&after), &mut summary)?;
        }
        Ok(summary)
    }

    /// The blocks to compare, counted from 1.
    fn choose(&self, lines: &[SealedLine]) -> BTreeSet<usize> {
        let n = lines.iter().filter(|line| matches!(line.record, Record::Block(_))).count();
        let mut all: Vec<usize> = (1..=n).collect();
        let Some(wanted) = self.blocks else { return all.into_iter().collect() };
        let mut stream = Stream::new(self.seed, "audit", "blocks", 0);
        stream.shuffle(&mut all);
        all.into_iter().take(wanted).collect()
    }
}

/// Number of steps before a block, counted from 1.
fn step_of(lines: &[SealedLine], block: usize) -> u64 {
    let mut blocks = lines.iter().filter_map(|line| match &line.record {
        Record::Block(block) => Some(block.step),
        _ => None,
    });
    blocks.nth(block.saturating_sub(1)).unwrap_or(0)
}

/// The graph must be that of the run.
fn check_data(run: &Path, path: &Path, header: &RunLine, input: &Input) -> Result<()> {
    let model = run.join(run_files::MODEL);
    let recorded = match &header.data_hash {
        Some(hash) => Some(hash.clone()),
        None if model.exists() => train::hashes_of_model(&model)?.1,
        None => None,
    };
    match recorded {
        Some(hash) if hash != input.data_hash => {
            let place = Place { path, line: 1, field: "data_hash".to_owned() };
            Err(place.differs(hash, format_args!("{}, the hash of the given graph,", input.data_hash)))
        }
        _ => Ok(()),
    }
}

/// The run that is trained again.
struct Recorded<'a> {
    run: &'a Path,
    path: &'a Path,
    lines: &'a [SealedLine],
    tolerance: f64,
}

impl Recorded<'_> {
    /// Trains from the start.
    fn train_from_start<'g>(
        &self,
        input: &'g Input,
        config: &Config,
        wanted: Option<&BTreeSet<usize>>,
        summary: &mut ReplaySummary,
    ) -> Result<Training<'g>> {
        let mut training = Training::new(input, config)?;
        self.train(&mut training, 1, wanted, summary)?;
        Ok(training)
    }

    /// Trains until the last wanted block, or to the end, and compares the lines from `at` on.
    fn train(
        &self,
        training: &mut Training<'_>,
        mut at: usize,
        wanted: Option<&BTreeSet<usize>>,
        summary: &mut ReplaySummary,
    ) -> Result<()> {
        let started = training.progress().steps;
        let last = wanted.map(|wanted| wanted.last().copied().unwrap_or(0));
        while last.is_none_or(|last| (training.progress().blocks as usize) < last)
            && at < self.lines.len()
            && !matches!(self.lines[at].record, Record::End(_))
            && let Some(records) = training.advance()?
        {
            let done = training.progress().blocks as usize;
            for record in &records {
                if wanted.is_none_or(|wanted| wanted.contains(&done)) {
                    self.compare(at, record)?;
                }
                at += 1;
            }
        }
        summary.steps += training.progress().steps - started;
        Ok(())
    }

    /// Compares a line with what was trained again.
    fn compare(&self, at: usize, again: &Record) -> Result<()> {
        let json = |error: serde_json::Error| Error::Failed(error.to_string());
        let Some(line) = self.lines.get(at) else {
            let number = self.lines.len() + 1;
            let place = Place { path: self.path, line: number, field: String::new() };
            return Err(place.differs("the end of the record", "another line"));
        };
        let (found, expected) =
            (serde_json::to_value(&line.record).map_err(json)?, serde_json::to_value(again).map_err(json)?);
        match first_difference("", &found, &expected, self.tolerance) {
            Some((field, found, expected)) => {
                let place = Place { path: self.path, line: line.number, field };
                Err(place.differs(found, format_args!("{expected}, trained again,")))
            }
            None => Ok(()),
        }
    }

    /// The index of the first line after the end of the record that a checkpoint saved.
    fn line_at(&self, end: &TraceEnd) -> Result<usize> {
        let text = files::read(self.path)?;
        let before = usize::try_from(end.bytes).ok().and_then(|length| text.get(..length));
        let before = before.ok_or_else(|| {
            let expected = format!("at least {} bytes, as in the checkpoint", end.bytes);
            Error::input(self.path, "", format_args!("{} bytes", text.len()), expected)
        })?;
        Ok(before.iter().filter(|&&byte| byte == b'\n').count())
    }

    /// Writes the results again and compares their digests with those of the record.
    fn compare_results(
        &self,
        training: &Training<'_>,
        input: &Input,
        summary: &mut ReplaySummary,
    ) -> Result<()> {
        let Some(Record::End(recorded)) = self.lines.last().map(|line| &line.record) else { return Ok(()) };
        // A difference anywhere changes all bytes of the embeddings.
        if self.tolerance > 0.0 {
            return Ok(());
        }
        let scratch = ScratchFolder::new()?;
        let EndLine { files, .. } = train::write_results(&scratch.0, training, input)?;
        for (name, digest) in files {
            let found = recorded.files.get(&name).map_or("nothing", String::as_str);
            if found != digest {
                return Err(Error::Check {
                    file: self.run.join(&name),
                    place: "SHA-256".to_owned(),
                    found: found.to_owned(),
                    expected: format!("{digest}, trained again,"),
                });
            }
            summary.files.push(name);
        }
        Ok(())
    }
}

/// A folder for temporary files, removed in the end.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn new() -> Result<ScratchFolder> {
        let path = std::env::temp_dir().join(format!("controlg-replay-{}", std::process::id()));
        fs::create_dir_all(&path)
            .map_err(|error| Error::io(format_args!("creating {}", path.display()), error))?;
        Ok(ScratchFolder(path))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The first field, apart from times, in which a recorded line differs from one that was trained again: its path and the two
/// values. Fields that the version of the record did not have are not compared.
fn first_difference(
    path: &str,
    found: &Value,
    again: &Value,
    tolerance: f64,
) -> Option<(String, String, String)> {
    let differs = || Some((path.to_owned(), found.to_string(), again.to_string()));
    match (found, again) {
        (Value::Object(found), Value::Object(again)) => {
            found.iter().filter(|(name, _)| *name != "ms").find_map(|(name, value)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                first_difference(&path, value, again.get(name).unwrap_or(&Value::Null), tolerance)
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).zip(0..).find_map(|((found, again), at): ((&Value, &Value), usize)| {
                first_difference(&format!("{path}[{at}]"), found, again, tolerance)
            })
        }
        (Value::Number(a), Value::Number(b)) if tolerance > 0.0 => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            if (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1e-3) { None } else { differs() }
        }
        _ if found == again => None,
        _ => differs(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named_and_times_are_not_compared() {
        let found = json!({ "loss": [1.0, 2.0], "plan": { "x": null }, "ms": 3.0 });
        let again = json!({ "loss": [1.0, 2.002], "plan": { "x": null }, "ms": 4.0, "later": 1 });
        let difference = first_difference("", &found, &again, 0.0).unwrap();
        assert_eq!(difference, ("loss[1]".to_owned(), "2.0".to_owned(), "2.002".to_owned()));
        assert_eq!(first_difference("", &found, &again, 0.01), None);
        assert!(first_difference("", &again, &found, 0.01).is_some_and(|(path, ..)| path == "later"));
    }
}
