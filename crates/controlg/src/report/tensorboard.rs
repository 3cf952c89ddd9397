//! Writes the record as a TensorBoard event file.
//!
//! The file is a sequence of TFRecords: length, checksum of the length, an `Event` protocol buffer, checksum of the
//! event. Only the fields needed for scalars are written. TensorBoard stores scalars in single precision.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::trace::{BlockLine, Record, SenseLine};

/// An event file.
pub struct EventFile {
    path: PathBuf,
    file: BufWriter<File>,
    objectives: Vec<String>,
}

impl EventFile {
    /// Creates the file in a folder; replaces an existing one.
    pub fn create(folder: &Path, objectives: &[String]) -> Result<EventFile> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
        let path = folder.join("events.out.tfevents.0.controlg");
        let file = File::create(&path)
            .map_err(|error| Error::io(format_args!("creating {}", path.display()), error))?;
        let mut events = EventFile { path, file: BufWriter::new(file), objectives: objectives.to_vec() };
        let mut event = ProtoMessage::default();
        event.double(1, seconds());
        event.bytes(3, b"brain.Event:2");
        events.write(&event.0)?;
        Ok(events)
    }

    /// Appends the scalars of a line of the record and flushes the file.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let (step, scalars) = match record {
            Record::Run(_) | Record::Scheduler(_) | Record::End(_) => return Ok(()),
            Record::Warmup(line) => (line.step, self.per_objective("loss", &line.loss)),
            Record::Sense(line) => (line.step, self.sensing_scalars(line)),
            Record::Block(line) => (line.step, self.block_scalars(line)),
        };
        let mut summary = ProtoMessage::default();
        for (tag, value) in scalars {
            let mut scalar = ProtoMessage::default();
            scalar.bytes(1, tag.as_bytes());
            scalar.float(2, value as f32);
            summary.bytes(1, &scalar.0);
        }
        let mut event = ProtoMessage::default();
        event.double(1, seconds());
        event.number(2, step);
        event.bytes(5, &summary.0);
        self.write(&event.0)
    }

    fn sensing_scalars(&self, line: &SenseLine) -> Vec<(String, f64)> {
        let sensing = &line.sensing;
        [
            ("loss", &line.loss),
            ("sense/rayleigh", &line.rq),
            ("sense/conflict", &sensing.sensed.conf),
            ("sense/difficulty", &sensing.state.difficulty),
            ("plan/sensitivity", &sensing.plan.hv_weight),
            ("plan/share", &sensing.plan.plan),
        ]
        .into_iter()
        .flat_map(|(name, values)| self.per_objective(name, values))
        .collect()
    }

    fn block_scalars(&self, line: &BlockLine) -> Vec<(String, f64)> {
        let mut scalars = if line.task.is_empty() {
            self.per_objective("train", &line.losses)
        } else {
            vec![(format!("train/{}", line.task), line.loss)]
        };
        scalars.extend(self.per_objective("control/deficit", &line.deficit));
        scalars.extend(self.per_objective("control/probability", &line.prob));
        scalars.extend(self.per_objective("weight", &line.weight));
        scalars
    }

    fn per_objective(&self, name: &str, values: &[f64]) -> Vec<(String, f64)> {
        self.objectives.iter().zip(values).map(|(task, value)| (format!("{name}/{task}"), *value)).collect()
    }

    fn write(&mut self, event: &[u8]) -> Result<()> {
        let length = (event.len() as u64).to_le_bytes();
        let mut record = length.to_vec();
        record.extend(masked(crc32c(&length)).to_le_bytes());
        record.extend(event);
        record.extend(masked(crc32c(event)).to_le_bytes());
        self.file
            .write_all(&record)
            .and_then(|()| self.file.flush())
            .map_err(|error| Error::io(format_args!("writing {}", self.path.display()), error))
    }
}

fn seconds() -> f64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// An encoded protocol-buffer message.
#[derive(Default)]
struct ProtoMessage(Vec<u8>);

impl ProtoMessage {
    fn key(&mut self, field: u64, wire: u64) {
        self.varint(field << 3 | wire);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
    }
}

/// CRC-32C (Castagnoli), bit by bit; events are short.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
        }
    }
    !sum
}

/// Masked CRC as stored in TFRecords.
fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_matches_rfc_3720() {
        // RFC 3720, B.4: thirty-two zeros, and the numbers from 0 to 31.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn encodes_varints() {
        let mut message = ProtoMessage::default();
        message.number(2, 300);
        assert_eq!(message.0, [0x10, 0xac, 0x02]);
    }
}
