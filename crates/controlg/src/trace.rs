//! The record of a run: JSON Lines from which every decision can be recomputed.
//!
//! The first line is a header with all settings. `warmup` lines hold the losses of the warm-up, `sense` lines the
//! measurements and the plan made from them, `block` lines each decision or the weights of a mixing method, and the last
//! line the digests of the run's other files. Numbers are written so that they read back to the same `f64`; NaN (a gradient
//! that could not be measured) is `null`. Each line ends with a seal, a hash of the line and of the previous seal, which
//! reveals later changes.

mod relation;
mod results;
mod unknown;

pub use relation::RelationLine;
pub use results::check_results;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{FeatureNormalization, RecordedConfig};
use crate::coordinator::{Decision, HeldOutReading, IntegralRule, Reading, SchedulerSettings, Sensing};
use crate::data::limits;
use crate::error::{Error, Result};
use crate::eval::quality::Quality;
use crate::files;

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// The header of a run.
    Run(Box<RunLine>),
    /// The header of a [`RecordedScheduler`](crate::recorded_scheduler::RecordedScheduler).
    Scheduler(Box<SchedulerLine>),
    /// A warm-up round.
    Warmup(WarmupLine),
    /// A sensing.
    Sense(Box<SenseLine>),
    /// A block.
    Block(Box<BlockLine>),
    /// The last line of a run.
    End(EndLine),
}

/// The header of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLine {
    /// The version that wrote it.
    pub version: String,
    /// The data set's name or path.
    pub data: String,
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// The objectives; all arrays are in this order.
    pub objectives: Vec<String>,
    /// Hash of the graph that is trained on. Records that name it end with an [`EndLine`]; older ones do neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    /// The feature normalization that `normalize = auto` chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalize: Option<FeatureNormalization>,
    /// What was chosen for this graph, and why; see [`Input::notes`](crate::train::Input::notes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The relations of a graph with types; empty for a homogeneous graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<RelationLine>,
    /// What the controller's integral accumulates, for runs of the feedback loop; older versions did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integral_rule: Option<IntegralRule>,
    /// All settings.
    pub config: RecordedConfig,
}

/// The header of a [`RecordedScheduler`](crate::recorded_scheduler::RecordedScheduler).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchedulerLine {
    /// The version that wrote it.
    pub version: String,
    /// The objectives; all arrays are in this order.
    pub objectives: Vec<String>,
    /// What the controller's integral accumulates; older versions did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integral_rule: Option<IntegralRule>,
    /// All settings.
    pub settings: SchedulerSettings,
}

/// The losses before a warm-up round, or after the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmupLine {
    /// Number of previous rounds.
    pub round: usize,
    /// Number of previous steps.
    pub step: u64,
    /// Losses on the fixed sensing samples.
    pub loss: Vec<f64>,
    /// Milliseconds of the measurement and of the steps after it.
    pub ms: f64,
}

/// A sensing: measurements and the plan made from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SenseLine {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// The block that follows, counted from 1 in each epoch.
    pub block: usize,
    /// Number of previous steps.
    pub step: u64,
    /// Losses on the fixed sensing samples.
    pub loss: Vec<f64>,
    /// Norms of the gradients at the encoder's parameters.
    #[serde(deserialize_with = "nulls_as_nan")]
    pub grad_norm: Vec<f64>,
    /// Rayleigh quotients.
    #[serde(deserialize_with = "nulls_as_nan")]
    pub rq: Vec<f64>,
    /// The Rayleigh quotients in each relation (rows), in the order of the header; empty for a homogeneous graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "rows_with_nulls_as_nan")]
    pub rq_relation: Vec<Vec<f64>>,
    /// Cosines between the gradients. In the file the key is `gram`, which is part of the format.
    #[serde(rename = "gram", alias = "cosine", deserialize_with = "rows_with_nulls_as_nan")]
    pub cosine: Vec<Vec<f64>>,
    /// Losses on held-out samples; empty if the method does not plan with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "nulls_as_nan")]
    pub held_out: Vec<f64>,
    /// Expected falls of the held-out losses (rows) by a step on each objective (columns).
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "rows_with_nulls_as_nan")]
    pub transfer: Vec<Vec<f64>>,
    /// Floating-point operations of a step on each objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "nulls_as_nan")]
    pub cost: Vec<f64>,
    /// Difficulties, reference points, priorities and planned shares.
    #[serde(flatten)]
    pub sensing: Sensing,
    /// Milliseconds.
    pub ms: f64,
}

/// A block: the decision and its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockLine {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// The block, counted from 1 in each epoch.
    pub block: usize,
    /// Number of previous steps.
    pub step: u64,
    /// Planned shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<f64>,
    /// Planned number of blocks per objective in this epoch, including this block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count_ref: Vec<f64>,
    /// Number of previous blocks per objective in this epoch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<u64>,
    /// Deficits: `count_ref` − `count`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deficit: Vec<f64>,
    /// Running sums of the deficits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub integral: Vec<f64>,
    /// Changes of the deficits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delta: Vec<f64>,
    /// Logits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logit: Vec<f64>,
    /// Probabilities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prob: Vec<f64>,
    /// The uniform random number used for sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<f64>,
    /// The chosen objective; empty for mixing methods.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Mixing methods: the weights of the encoder gradients in the last step of the block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weight: Vec<f64>,
    /// Mixing methods: the mean loss of each objective over the block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<f64>,
    /// Methods with a lookahead: the derivatives of its loss with respect to the weights, at the last lookahead of the
    /// block. They are all zero if the soft clusters are saturated; the method learns nothing then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slope: Vec<f64>,
    /// What the user should know, for example that these derivatives vanish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Steps of the block.
    pub steps: u64,
    /// Mean loss over the block; for mixing methods the sum of `losses`; NaN for a recorded scheduler, which writes the
    /// line before the block is trained.
    #[serde(deserialize_with = "null_as_nan")]
    pub loss: f64,
    /// Losses on held-out samples after the last block of an epoch; empty if nothing is held out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<f64>,
    /// Quality of the embeddings without labels, after the last block of an epoch; `None` if it is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
    /// Milliseconds of the steps.
    pub ms: f64,
}

/// The last line of a run, written when its results are on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndLine {
    /// Number of steps.
    pub steps: u64,
    /// SHA-256 of the files in [`run_files::RESULTS`](crate::run_files::RESULTS), by name.
    pub files: BTreeMap<String, String>,
}

impl SenseLine {
    /// The line of a reading and what was derived from it, without position and time.
    pub fn of(reading: Reading, sensing: Sensing) -> SenseLine {
        let Reading { loss, grad_norm, cosine, rq, rq_relation, held_out } = reading;
        let HeldOutReading { loss: held_out, transfer, cost } = held_out.unwrap_or_default();
        let (epoch, block, step, ms) = (0, 0, 0, 0.0);
        SenseLine {
            epoch,
            block,
            step,
            loss,
            grad_norm,
            rq,
            rq_relation,
            cosine,
            held_out,
            transfer,
            cost,
            sensing,
            ms,
        }
    }

    /// The measurements.
    pub fn reading(&self) -> Reading {
        let held_out = HeldOutReading {
            loss: self.held_out.clone(),
            transfer: self.transfer.clone(),
            cost: self.cost.clone(),
        };
        Reading {
            loss: self.loss.clone(),
            grad_norm: self.grad_norm.clone(),
            cosine: self.cosine.clone(),
            rq: self.rq.clone(),
            rq_relation: self.rq_relation.clone(),
            held_out: (!self.held_out.is_empty()).then_some(held_out),
        }
    }
}

impl BlockLine {
    /// The line of a decision; the caller fills in the result.
    pub fn of(decision: Decision, objectives: &[String]) -> BlockLine {
        let Decision { plan, count_ref, count, deficit, integral, delta, logit, prob, draw, objective } =
            decision;
        BlockLine {
            plan,
            count_ref,
            count,
            deficit,
            integral,
            delta,
            logit,
            prob,
            draw,
            task: objectives[objective].clone(),
            ..BlockLine::default()
        }
    }
}

fn null_as_nan<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

fn nulls_as_nan<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
}

fn rows_with_nulls_as_nan<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Vec<Vec<f64>>, D::Error> {
    let rows = Vec::<Vec<Option<f64>>>::deserialize(from)?;
    Ok(rows.into_iter().map(|row| row.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect()).collect())
}

/// The end of a record: its length and its last seal. Part of every checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEnd {
    /// Length in bytes.
    pub bytes: u64,
    /// The seal of the last line.
    pub seal: String,
}

/// Writes a record to a file.
#[derive(Debug)]
pub struct RecordWriter {
    path: PathBuf,
    file: File,
    end: TraceEnd,
}

impl RecordWriter {
    /// Opens a record to continue after `end`. Lines after it, from an interrupted run, are removed. A record that was changed
    /// before it is an error.
    pub fn open(path: &Path, end: TraceEnd) -> Result<RecordWriter> {
        if end.bytes > 0 {
            check_seals(path, &end)?;
        }
        let open = || {
            let mut file =
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
            file.set_len(end.bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        Ok(RecordWriter { path: path.to_owned(), file, end })
    }

    /// Appends a line in one write.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let (line, seal) = sealed(&self.end.seal, record)?;
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| Error::io(format_args!("writing {}", self.path.display()), error))?;
        self.end = TraceEnd { bytes: self.end.bytes + line.len() as u64, seal };
        Ok(())
    }

    /// Flushes the record to disk and returns its end. A record that someone has removed or changed meanwhile is an error.
    pub fn sync(&self) -> Result<TraceEnd> {
        self.file
            .sync_data()
            .map_err(|error| Error::io(format_args!("writing {}", self.path.display()), error))?;
        let (path, bytes) = (&self.path, self.end.bytes);
        let found = std::fs::metadata(path).map_err(|error| Error::reading(path, error))?.len();
        if found != bytes {
            let expected = format!("{bytes} bytes, which this run has written");
            return Err(Error::input(path, "", format_args!("{found} bytes"), expected));
        }
        Ok(self.end.clone())
    }
}

/// Checks that a record is as long as it was at `end` and has not been changed since.
fn check_seals(path: &Path, end: &TraceEnd) -> Result<()> {
    let bytes = files::read(path)?;
    let Some(before_end) = usize::try_from(end.bytes).ok().and_then(|length| bytes.get(..length)) else {
        let expected = format!("at least {} bytes, as in the checkpoint", end.bytes);
        return Err(Error::input(path, "", format_args!("{} bytes", bytes.len()), expected));
    };
    let mut before = String::new();
    let mut last = 0;
    for (line, number) in before_end.split_inclusive(|&byte| byte == b'\n').zip(1..) {
        last = number;
        let text = std::str::from_utf8(line).ok().and_then(|line| line.strip_suffix('\n'));
        before = match text.and_then(files::without_seal) {
            Some((body, given)) if given == files::seal(&before, &body) => given,
            _ => return Err(changed(path, number)),
        };
    }
    if before == end.seal { Ok(()) } else { Err(changed(path, last)) }
}

fn changed(path: &Path, line: usize) -> Error {
    Error::input(path, format_args!("line {line}"), "a line that was changed", "the line that the run wrote")
}

/// A record in memory.
#[derive(Clone, Debug, Default)]
pub struct RecordBuffer {
    text: String,
    seal: String,
}

impl RecordBuffer {
    /// Appends a line.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let (line, seal) = sealed(&self.seal, record)?;
        self.text.push_str(&line);
        self.seal = seal;
        Ok(())
    }

    /// The text of all lines.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Whether a record names the hash of its graph and ends with an [`EndLine`], as those of older versions do not.
pub(crate) fn names_data(path: &Path) -> Result<bool> {
    let lines = read(path)?;
    Ok(matches!(&lines[0].record, Record::Run(header) if header.data_hash.is_some()))
}

/// The text of a record with this last line, which replaces one that it has.
pub(crate) fn with_end(text: &str, end: EndLine) -> Result<String> {
    let last = text.lines().last().unwrap_or_default();
    let text = if last.starts_with(END) { text.strip_suffix('\n').unwrap_or(text) } else { text };
    let text = text.strip_suffix(last).filter(|_| last.starts_with(END)).unwrap_or(text);
    let before = text.lines().last().and_then(files::without_seal).map(|(_, seal)| seal).unwrap_or_default();
    let (line, _) = sealed(&before, &Record::End(end))?;
    Ok(format!("{text}{line}"))
}

/// The text that starts a last line.
const END: &str = "{\"kind\":\"end\"";

/// The text of a line, and its seal.
fn sealed(before: &str, record: &Record) -> Result<(String, String)> {
    let body = serde_json::to_string(record).map_err(|error| Error::Failed(error.to_string()))?;
    let (line, seal) = files::sealed(before, &body);
    Ok((line + "\n", seal))
}

/// A line read from a record.
#[derive(Clone, Debug)]
pub struct SealedLine {
    /// Line number, counted from 1.
    pub number: usize,
    /// The content.
    pub record: Record,
    /// Whether the seal is valid.
    pub sealed: bool,
    /// A field that no line of this kind has, if there is one.
    pub unknown: Option<String>,
}

/// Reads a record. An incomplete last line, from an interrupted run, is ignored.
pub fn read(path: &Path) -> Result<Vec<SealedLine>> {
    parse(path, &limits::read_text(path)?)
}

/// Parses the text of a record; `path` is its name in error messages.
pub fn parse(path: &Path, text: &str) -> Result<Vec<SealedLine>> {
    let mut before = String::new();
    let mut lines = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let Some(line) = line.strip_suffix('\n') else { break };
        let number = at + 1;
        let record = serde_json::from_str(line).map_err(|error| {
            Error::input(path, format_args!("line {number}"), error, "a line of a record")
        })?;
        let found = files::without_seal(line);
        let sealed = found.as_ref().is_some_and(|(body, given)| *given == files::seal(&before, body));
        before = found.map(|found| found.1).unwrap_or_default();
        let unknown = unknown::field(line, &record);
        lines.push(SealedLine { number, record, sealed, unknown });
    }
    match lines.first().map(|line| &line.record) {
        Some(Record::Run(_) | Record::Scheduler(_)) => Ok(lines),
        Some(_) => Err(Error::input(path, "line 1", "no header", "a line of kind \"run\"")),
        None => Err(Error::input(path, "", "an empty record", "a line of kind \"run\" first")),
    }
}
