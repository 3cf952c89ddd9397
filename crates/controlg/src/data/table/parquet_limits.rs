//! Memory limits for Parquet files, checked before the Parquet crate allocates anything.
//!
//! The crate allocates what a page header declares: the uncompressed size, the number of dictionary entries, the number
//! of values. So all page headers are read here first, and the declared sizes are charged to an [`ExpansionBudget`]
//! proportional to the file. The delta encodings of text have counts inside the compressed page, which cannot be
//! checked from outside; common writers do not use them by default, and they are rejected.
//!
//! Page headers are structs in Thrift's compact protocol. A field with an unexpected type is rejected: the crate looks
//! at field numbers only and would read a different header.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use crate::data::limits;

/// The maximum number of columns and groups in a schema. The crate recurses once per nesting level.
pub(super) const MAX_SCHEMA_ELEMENTS: usize = 1 << 14;

/// Bytes that may still be allocated for a file.
pub(super) struct ExpansionBudget {
    left: u64,
    limit: u64,
}

impl ExpansionBudget {
    pub(super) fn for_file(bytes: usize) -> Self {
        let limit = limits::expansion_limit(bytes as u64);
        ExpansionBudget { left: limit, limit }
    }

    /// Subtracts bytes from the budget; an error if too few are left.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), String> {
        let limit = self.limit;
        self.left =
            self.left.checked_sub(bytes).ok_or_else(|| format!("more than {limit} bytes unpacked"))?;
        Ok(())
    }
}

/// Checks the size of the schema in the footer of a file.
pub(super) fn check_footer(file: &[u8]) -> Result<(), String> {
    let tail = file.len().checked_sub(8).filter(|_| file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    let tail = tail.ok_or("no PAR1 at the start and the end")?;
    let footer = u32::from_le_bytes(std::array::from_fn(|i| file[tail + i])) as usize;
    let start = tail.checked_sub(footer).ok_or("a footer longer than the file")?;
    let mut thrift = ThriftReader { bytes: &file[start..tail], at: 0 };
    let count = thrift.schema_size().ok_or("a footer without a schema")?;
    if count > MAX_SCHEMA_ELEMENTS as u64 {
        return Err(format!("a schema of {count} elements, more than {MAX_SCHEMA_ELEMENTS}"));
    }
    Ok(())
}

/// Charges the declared sizes of the pages of a column chunk. Decompresses `gzip` pages once, because the crate does
/// not stop at the declared size.
pub(super) fn check_pages(chunk: &[u8], gzip: bool, budget: &mut ExpansionBudget) -> Result<(), String> {
    let mut thrift = ThriftReader { bytes: chunk, at: 0 };
    while thrift.at < chunk.len() {
        let header =
            thrift.page_header().ok_or_else(|| format!("a damaged page header at byte {}", thrift.at))?;
        let packed = usize::try_from(header.packed).ok().and_then(|size| thrift.take(size));
        let packed = packed.ok_or_else(|| format!("a page of {} bytes", header.packed))?;
        let unpacked = u64::try_from(header.unpacked).map_err(|_| "a page of negative size")?;
        let values = u64::try_from(header.values).map_err(|_| "a negative number of values")?;
        budget.charge(unpacked)?;
        // An entry of a text dictionary is kept as a slice with its owner; a value as at most eight bytes.
        budget.charge(values.saturating_mul(if header.is_dictionary { 40 } else { 8 }))?;
        if REJECTED_ENCODINGS.contains(&header.encoding) {
            return Err(format!("encoding {} (delta-encoded text), which is not supported", header.encoding));
        }
        if gzip {
            let levels = usize::try_from(header.levels).ok().and_then(|size| packed.get(size..));
            let mut plain = MultiGzDecoder::new(levels.unwrap_or(packed)).take(unpacked + 1);
            // The crate reports pages that cannot be decompressed.
            if io::copy(&mut plain, &mut io::sink()).is_ok_and(|size| size > unpacked) {
                return Err("a page larger than its header declares".to_owned());
            }
        }
    }
    Ok(())
}

/// DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY.
const REJECTED_ENCODINGS: [i64; 2] = [6, 7];

#[derive(Default)]
struct PageHeader {
    unpacked: i64,
    packed: i64,
    values: i64,
    encoding: i64,
    /// Bytes of levels before the values, which are never compressed in version 2 pages.
    levels: i64,
    is_dictionary: bool,
}

/// The part of Thrift's compact protocol that page headers use. `None` means damaged input.
struct ThriftReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl<'a> ThriftReader<'a> {
    fn page_header(&mut self) -> Option<PageHeader> {
        let mut header = PageHeader::default();
        let mut last = 0;
        loop {
            let (field, kind) = self.field(last)?;
            last = field;
            match (field, kind) {
                (_, STOP) => return Some(header),
                (1 | 4, I32) => self.skip(I32, 1)?,
                (2, I32) => header.unpacked = self.zigzag()?,
                (3, I32) => header.packed = self.zigzag()?,
                // Data page, index page, dictionary page, data page of version 2.
                (5, STRUCT) => self.data_header(&mut header, 2)?,
                (6, STRUCT) => self.skip(STRUCT, 8)?,
                (7, STRUCT) => {
                    header.is_dictionary = true;
                    self.data_header(&mut header, 2)?;
                }
                (8, STRUCT) => self.data_header(&mut header, 4)?,
                (1..=8, _) => return None,
                _ => self.skip(kind, 8)?,
            }
        }
    }

    /// Reads the number of values and the encoding: fields 1 and `encoding` in all three kinds of header.
    fn data_header(&mut self, header: &mut PageHeader, encoding: i16) -> Option<()> {
        let mut last = 0;
        loop {
            let (field, kind) = self.field(last)?;
            last = field;
            match (field, kind) {
                (_, STOP) => return Some(()),
                (1, I32) => header.values = self.zigzag()?,
                (2..=6, I32) if field == encoding => header.encoding = self.zigzag()?,
                (5 | 6, I32) => header.levels = header.levels.checked_add(self.zigzag()?)?,
                (2..=4, I32) => self.skip(I32, 1)?,
                (3 | 7, TRUE | FALSE) => {}
                (5 | 8, STRUCT) => self.skip(STRUCT, 8)?,
                (1..=8, _) => return None,
                _ => self.skip(kind, 8)?,
            }
        }
    }

    /// The number of schema elements. A footer starts with the version, then the list of elements.
    fn schema_size(&mut self) -> Option<u64> {
        if self.field(0)? != (1, I32) {
            return None;
        }
        self.zigzag()?;
        if self.field(1)? != (2, LIST) {
            return None;
        }
        self.list_header().map(|(count, _)| count)
    }

    /// Number and type of the next field, given the number of the previous one.
    fn field(&mut self, last: i16) -> Option<(i16, u8)> {
        let byte = self.byte()?;
        match (byte >> 4, byte & 15) {
            (_, STOP) => Some((last, STOP)),
            (0, kind) => Some((i16::try_from(self.zigzag()?).ok()?, kind)),
            (step, kind) => Some((last.checked_add(i16::from(step))?, kind)),
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            TRUE | FALSE => {}
            3 => self.take(1).map(drop)?,
            4..=6 => self.zigzag().map(drop)?,
            7 => self.take(8).map(drop)?,
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.take(length)?;
            }
            LIST | 10 => {
                let (count, kind) = self.list_header()?;
                for _ in 0..count {
                    // In a list, unlike a field, a boolean takes a byte, so every iteration consumes input.
                    if kind == TRUE || kind == FALSE {
                        self.take(1).map(drop)?
                    } else {
                        self.skip(kind, depth)?
                    }
                }
            }
            STRUCT => {
                let mut last = 0;
                loop {
                    let (field, kind) = self.field(last)?;
                    last = field;
                    if kind == STOP {
                        break;
                    }
                    self.skip(kind, depth)?;
                }
            }
            _ => return None, // maps do not occur in page headers
        }
        Some(())
    }

    fn list_header(&mut self) -> Option<(u64, u8)> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
        Some((count, byte & 15))
    }

    fn zigzag(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page: type 0, both sizes, then a header with `values` values in the given encoding (0 is PLAIN).
    fn page(unpacked: u8, packed: &[u8], values: u8, encoding: u8) -> Vec<u8> {
        let zigzag = |x: u8| x * 2;
        let mut bytes = vec![0x15, 0, 0x15, zigzag(unpacked), 0x15, zigzag(packed.len() as u8)];
        bytes.extend([0x2c, 0x15, zigzag(values), 0x15, zigzag(encoding), 0x15, 6, 0x15, 6, 0, 0]);
        bytes.extend(packed);
        bytes
    }

    #[test]
    fn declared_sizes_are_charged_page_by_page() {
        let chunk = [page(50, b"abc", 10, 0), page(50, b"", 10, 0)].concat();
        let mut budget = ExpansionBudget { left: 260, limit: 260 };
        assert_eq!(check_pages(&chunk, false, &mut budget), Ok(()));
        assert_eq!(budget.left, 0);
        let mut budget = ExpansionBudget { left: 259, limit: 259 };
        assert_eq!(check_pages(&chunk, false, &mut budget), Err("more than 259 bytes unpacked".into()));
    }

    #[test]
    fn pages_that_cannot_be_checked_are_rejected() {
        let mut budget = ExpansionBudget::for_file(100);
        assert!(check_pages(&page(5, b"abc", 1, 7), false, &mut budget).unwrap_err().contains("encoding 7"));
        let mut other_type = page(5, b"abc", 1, 0);
        other_type[2] = 0x16; // the unpacked size as i64
        assert!(check_pages(&other_type, false, &mut budget).unwrap_err().contains("damaged page header"));
        assert!(
            check_pages(&page(5, b"abc", 1, 0)[..18], false, &mut budget)
                .unwrap_err()
                .contains("a page of 3 bytes")
        );
    }
}
