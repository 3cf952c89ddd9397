//! The record as a TensorBoard event file.
//!
//! Such a file is a row of records: their length, a check sum of it, the bytes of an `Event` in protocol-buffer form, a
//! check sum of those. Only the few fields that scalars need are written. TensorBoard keeps scalars in single precision.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::trace::{BlockLine, Record, SenseLine};

/// An event file that grows with the record.
pub struct EventFile {
    path: PathBuf,
    file: BufWriter<File>,
    objectives: Vec<String>,
}

impl EventFile {
    /// Starts a file in a folder, which is made, in the place of one that is there.
    pub fn create(folder: &Path, objectives: &[String]) -> Result<EventFile> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
        let path = folder.join("events.out.tfevents.0.controlg");
        let file = File::create(&path)
            .map_err(|error| Error::io(format_args!("creating {}", path.display()), error))?;
        let mut events = EventFile { path, file: BufWriter::new(file), objectives: objectives.to_vec() };
        let mut event = Message::default();
        event.double(1, seconds());
        event.bytes(3, b"brain.Event:2");
        events.write(&event.0)?;
        Ok(events)
    }

    /// Adds what a line of the record says; the file is whole after every line.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let (step, scalars) = match record {
            Record::Run(_) | Record::Scheduler(_) => return Ok(()),
            Record::Warmup(line) => (line.step, self.each("loss", &line.loss)),
            Record::Sense(line) => (line.step, self.of_sensing(line)),
            Record::Block(line) => (line.step, self.of_block(line)),
        };
        let mut summary = Message::default();
        for (tag, value) in scalars {
            let mut scalar = Message::default();
            scalar.bytes(1, tag.as_bytes());
            scalar.float(2, value as f32);
            summary.bytes(1, &scalar.0);
        }
        let mut event = Message::default();
        event.double(1, seconds());
        event.number(2, step);
        event.bytes(5, &summary.0);
        self.write(&event.0)
    }

    fn of_sensing(&self, line: &SenseLine) -> Vec<(String, f64)> {
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
        .flat_map(|(name, values)| self.each(name, values))
        .collect()
    }

    fn of_block(&self, line: &BlockLine) -> Vec<(String, f64)> {
        let mut scalars = match line.task.is_empty() {
            true => self.each("train", &line.losses),
            false => vec![(format!("train/{}", line.task), line.loss)],
        };
        scalars.extend(self.each("control/deficit", &line.deficit));
        scalars.extend(self.each("control/probability", &line.prob));
        scalars.extend(self.each("weight", &line.weight));
        scalars
    }

    fn each(&self, name: &str, values: &[f64]) -> Vec<(String, f64)> {
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

/// A message in protocol-buffer form: fields, each a number and a value.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
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

/// Castagnoli's check sum, bit by bit: events are short.
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

/// The form in which the format stores check sums.
fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_sums_of_the_standard() {
        // RFC 3720, B.4: thirty-two zeros, and the numbers from 0 to 31.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn numbers_in_seven_bits_a_byte() {
        let mut message = Message::default();
        message.number(2, 300);
        assert_eq!(message.0, [0x10, 0xac, 0x02]);
    }
}
