//! The record of a run: one JSON object a line, enough to derive every decision again.
//!
//! The first line says what was run, `warmup` lines hold the losses before the first plan, `sense` lines what was
//! measured and made of it, `block` lines each decision, or the weights of a method that mixes. Numbers are written so
//! that they read back to the same f64; one that is none (a gradient that could not be measured) is `null`. Each line
//! ends with a seal, a hash over it and the seal before, so that a line that was changed later shows.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::config::RecordedConfig;
use crate::coordinator::{Decision, Reading, SchedulerSettings, Sensing};
use crate::data::limits;
use crate::error::{Error, Result};
use crate::files;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// What was run.
    Run(Box<RunLine>),
    /// What decided in somebody's own loop.
    Scheduler(Box<SchedulerLine>),
    /// A round of the warm-up.
    Warmup(WarmupLine),
    /// A sensing.
    Sense(Box<SenseLine>),
    /// A block.
    Block(Box<BlockLine>),
}

/// The first line.
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
    /// The objectives; all arrays are in their order.
    pub objectives: Vec<String>,
    /// All settings.
    pub config: RecordedConfig,
}

/// The first line of the record of a scheduler in somebody's own loop ([`crate::recorded_scheduler`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchedulerLine {
    /// The version that wrote it.
    pub version: String,
    /// The objectives; all arrays are in their order.
    pub objectives: Vec<String>,
    /// All settings.
    pub settings: SchedulerSettings,
}

/// The losses before a round of the warm-up, or after the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmupLine {
    /// Rounds done before.
    pub round: usize,
    /// Steps done before.
    pub step: u64,
    /// The losses on the frozen samples.
    pub loss: Vec<f64>,
    /// Milliseconds of the measurement and the steps after it.
    pub ms: f64,
}

/// A sensing: what was measured, and what was made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SenseLine {
    /// The epoch, from 1.
    pub epoch: usize,
    /// The block that it precedes, from 1 in each epoch.
    pub block: usize,
    /// Steps done before.
    pub step: u64,
    /// Losses on the frozen samples.
    pub loss: Vec<f64>,
    /// Norms of the gradients at the encoder's parameters.
    #[serde(deserialize_with = "with_gaps")]
    pub grad_norm: Vec<f64>,
    /// Rayleigh quotients.
    #[serde(deserialize_with = "with_gaps")]
    pub rq: Vec<f64>,
    /// Cosines between the gradients. In the file the key is `gram`, which is part of the format.
    #[serde(rename = "gram", alias = "cosine", deserialize_with = "rows_with_gaps")]
    pub cosine: Vec<Vec<f64>>,
    /// What was made of it.
    #[serde(flatten)]
    pub sensing: Sensing,
    /// Milliseconds.
    pub ms: f64,
}

/// A block: the decision, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockLine {
    /// The epoch, from 1.
    pub epoch: usize,
    /// The block, from 1 in each epoch.
    pub block: usize,
    /// Steps done before.
    pub step: u64,
    /// The planned shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<f64>,
    /// Blocks that each objective should have had in this epoch, this one included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count_ref: Vec<f64>,
    /// Blocks that each objective has had in this epoch before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<u64>,
    /// Deficits.
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
    /// The uniform number that was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<f64>,
    /// The objective that was chosen; empty where the method mixes all of them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Of a method that mixes: the weights of the objectives' gradients at the encoder, in the last step of the block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weight: Vec<f64>,
    /// Of a method that mixes: the mean losses of the objectives over the block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<f64>,
    /// Of a method that looks ahead: the derivatives by the weights of what it looks at, at the last look of the block.
    /// They are all zero where its soft clusters are saturated: then it learns nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slope: Vec<f64>,
    /// Steps of the block.
    pub steps: u64,
    /// Mean loss over them; where the method mixes, the plain sum of `losses`; `null` in somebody's own loop, where the
    /// line is written before the block is trained.
    #[serde(deserialize_with = "with_gap")]
    pub loss: f64,
    /// Milliseconds of the steps.
    pub ms: f64,
}

impl SenseLine {
    /// What was measured.
    pub fn reading(&self) -> Reading {
        Reading {
            loss: self.loss.clone(),
            grad_norm: self.grad_norm.clone(),
            cosine: self.cosine.clone(),
            rq: self.rq.clone(),
        }
    }
}

impl BlockLine {
    /// A decision as a line; `objectives` gives the task its name, what came of it is filled in by the caller.
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

fn with_gap<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

fn with_gaps<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
}

fn rows_with_gaps<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<Vec<f64>>, D::Error> {
    let rows = Vec::<Vec<Option<f64>>>::deserialize(from)?;
    Ok(rows.into_iter().map(|row| row.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect()).collect())
}

/// Where a record ends: how long it is, and its last seal. Part of every checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEnd {
    /// Bytes of all lines.
    pub bytes: u64,
    /// The last line's seal.
    pub seal: String,
}

/// A record that is being written.
#[derive(Debug)]
pub struct RecordWriter {
    path: PathBuf,
    file: File,
    end: TraceEnd,
}

impl RecordWriter {
    /// Opens a record to go on after `end`; what stands behind it, from a run that was cut off, is removed.
    pub fn open(path: &Path, end: TraceEnd) -> Result<RecordWriter> {
        let open = || {
            let mut file =
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
            let length = file.metadata()?.len();
            if length >= end.bytes {
                file.set_len(end.bytes)?;
                file.seek(SeekFrom::End(0))?;
            }
            Ok((file, length))
        };
        let (file, length) =
            open().map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        if length < end.bytes {
            let found = format!("{length} bytes");
            return Err(Error::input(
                path,
                "",
                found,
                format_args!("at least the {} of the checkpoint", end.bytes),
            ));
        }
        Ok(RecordWriter { path: path.to_owned(), file, end })
    }

    /// Adds a line, in one piece.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let (line, seal) = sealed(&self.end.seal, record)?;
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| Error::io(format_args!("writing {}", self.path.display()), error))?;
        self.end = TraceEnd { bytes: self.end.bytes + line.len() as u64, seal };
        Ok(())
    }

    /// Where the record ends now; everything before is on the disk.
    pub fn sync(&self) -> Result<TraceEnd> {
        self.file
            .sync_data()
            .map_err(|error| Error::io(format_args!("writing {}", self.path.display()), error))?;
        Ok(self.end.clone())
    }
}

/// A record that is kept in memory.
#[derive(Clone, Debug, Default)]
pub struct RecordBuffer {
    text: String,
    seal: String,
}

impl RecordBuffer {
    /// Adds a line.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let (line, seal) = sealed(&self.seal, record)?;
        self.text.push_str(&line);
        self.seal = seal;
        Ok(())
    }

    /// All lines.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// A line with its end, and its seal.
fn sealed(before: &str, record: &Record) -> Result<(String, String)> {
    let body = serde_json::to_string(record).map_err(|error| Error::Failed(error.to_string()))?;
    let seal = seal(before, &body);
    let open = body.strip_suffix('}').unwrap_or(&body);
    Ok((format!("{open}{SEAL}{seal}\"}}\n"), seal))
}

/// What stands before a line's seal.
const SEAL: &str = ",\"seal\":\"";

/// The seal of a line: 16 hexadecimal digits of SHA-256 over the seal before and the line without its seal.
fn seal(before: &str, body: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(body);
    files::hex(&hash.finalize()[..8])
}

/// A line that was read.
#[derive(Clone, Debug)]
pub struct SealedLine {
    /// Its number, from 1.
    pub number: usize,
    /// What it says.
    pub record: Record,
    /// Whether it is as it was written, judged by its seal.
    pub sealed: bool,
}

/// Reads a record. A last line without its end, from a run that was cut off, is left out.
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
            Error::input(path, format_args!("line {number}"), error, "a line of a run's record")
        })?;
        let found = line.rsplit_once(SEAL).and_then(|(open, rest)| {
            let given = rest.strip_suffix("\"}")?;
            Some((format!("{open}}}"), given.to_owned()))
        });
        let sealed = found.as_ref().is_some_and(|(body, given)| *given == seal(&before, body));
        before = found.map(|found| found.1).unwrap_or_default();
        lines.push(SealedLine { number, record, sealed });
    }
    match lines.first().map(|line| &line.record) {
        Some(Record::Run(_) | Record::Scheduler(_)) => Ok(lines),
        Some(_) => Err(Error::input(path, "line 1", "no header", "a line of kind \"run\"")),
        None => Err(Error::input(path, "", "an empty record", "a line of kind \"run\" first")),
    }
}
