//! The `.npy` format: a magic string, a header written as a Python dictionary, and the raw elements.

use std::path::Path;

use super::{Array, ArrayData};
use crate::data::limits;
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a `.npy` file.
pub fn read_npy(path: &Path) -> Result<Array> {
    parse_npy(&limits::read_bytes(path)?, path, "")
}

/// Parses the bytes of a `.npy`. Errors refer to `path` and `name`, the name in an archive or empty.
pub fn parse_npy(bytes: &[u8], path: &Path, name: &str) -> Result<Array> {
    parse_within(limits::expansion_limit(bytes.len() as u64), bytes, path, name)
}

/// Like [`parse_npy`], but limits the memory of the elements: small integers and short strings take more space in
/// memory than in the file.
pub(super) fn parse_within(limit: u64, bytes: &[u8], path: &Path, name: &str) -> Result<Array> {
    let place = if name.is_empty() { String::new() } else { format!("array '{name}'") };
    let error = |(found, expected): Mismatch| Error::input(path, &place, found, expected);
    let (header, body) = split_header(bytes).map_err(error)?;
    let header = parse_header(header).map_err(error)?;
    let elements = (body.len() / header.dtype.size.max(1)) as u64;
    if elements.saturating_mul(header.dtype.memory_bytes()) > limit {
        let expected = format!("at most {limit} bytes of them in memory");
        return Err(error(mismatch(format!("{elements} elements"), expected)));
    }
    let data = decode(header.dtype, &header.shape, header.fortran, body).map_err(error)?;
    Ok(Array::new(header.shape, data, path, name))
}

/// (found, expected), for an error.
pub(in crate::data) type Mismatch = (String, String);

fn mismatch(found: impl Into<String>, expected: impl Into<String>) -> Mismatch {
    (found.into(), expected.into())
}

/// The text of the header, and the bytes after it.
fn split_header(bytes: &[u8]) -> std::result::Result<(&str, &[u8]), Mismatch> {
    let short = || mismatch(format!("{} bytes", bytes.len()), "a complete .npy header");
    if !bytes.starts_with(MAGIC) {
        return Err(mismatch("other bytes at the start", "\\x93NUMPY, the start of a .npy file"));
    }
    let (length, start) = match bytes.get(6).ok_or_else(short)? {
        1 => {
            let field = bytes.get(8..10).ok_or_else(short)?;
            (usize::from(u16::from_le_bytes([field[0], field[1]])), 10)
        }
        2 | 3 => {
            let field = bytes.get(8..12).ok_or_else(short)?;
            (u32::from_le_bytes([field[0], field[1], field[2], field[3]]) as usize, 12)
        }
        version => return Err(mismatch(format!("version {version} of .npy"), "version 1, 2 or 3")),
    };
    let (header, body) = bytes[start..].split_at_checked(length).ok_or_else(short)?;
    let header = std::str::from_utf8(header).map_err(|_| mismatch("a header that is not UTF-8", "text"))?;
    Ok((header, body))
}

struct NpyHeader {
    dtype: DType,
    fortran: bool,
    shape: Vec<usize>,
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
fn parse_header(text: &str) -> std::result::Result<NpyHeader, Mismatch> {
    const EXPECTED: &str = "{'descr': …, 'fortran_order': …, 'shape': …}";
    let shown: String = text.trim_end().chars().take(100).collect();
    let bad = || mismatch(format!("the header {shown}"), EXPECTED);
    let mut rest = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(bad)?;
    let (mut dtype, mut fortran, mut shape) = (None, None, None);
    loop {
        rest = rest.trim_start_matches([' ', ',', '\n']);
        if rest.is_empty() {
            break;
        }
        let (key, after) = quoted(rest).ok_or_else(bad)?;
        let value = after.trim_start().strip_prefix(':').ok_or_else(bad)?.trim_start();
        rest = match key {
            "descr" => match quoted(value) {
                Some((word, after)) => {
                    dtype = Some(DType::parse(word)?);
                    after
                }
                None if value.starts_with('[') => {
                    return Err(mismatch("a structured array", "a single element type"));
                }
                None => return Err(bad()),
            },
            "fortran_order" => {
                let word =
                    ["True", "False"].into_iter().find(|word| value.starts_with(word)).ok_or_else(bad)?;
                fortran = Some(word == "True");
                &value[word.len()..]
            }
            "shape" => {
                let (inside, after) =
                    value.strip_prefix('(').and_then(|v| v.split_once(')')).ok_or_else(bad)?;
                shape = Some(parse_shape(inside).ok_or_else(bad)?);
                after
            }
            _ => return Err(bad()),
        };
    }
    match (dtype, fortran, shape) {
        (Some(dtype), Some(fortran), Some(shape)) => Ok(NpyHeader { dtype, fortran, shape }),
        _ => Err(bad()),
    }
}

/// A quoted string at the start, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

fn parse_shape(inside: &str) -> Option<Vec<usize>> {
    let extents = inside.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    // Python 2 wrote long integers with the suffix L.
    extents.map(|extent| extent.strip_suffix('L').unwrap_or(extent).parse().ok()).collect()
}

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) struct DType {
    kind: DTypeKind,
    /// Bytes per element.
    size: usize,
    /// Whether the byte order is big-endian.
    pub(in crate::data) big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DTypeKind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Four bytes per character.
    Unicode,
    /// One byte per character.
    Bytes,
}

impl DType {
    /// Parses a NumPy type string such as `<f4`, `|b1` or `U8`; little-endian if it has no byte order.
    pub(in crate::data) fn parse(word: &str) -> std::result::Result<Self, Mismatch> {
        let unknown = || mismatch(format!("the type '{word}'"), "booleans, integers, floats or strings");
        let bare = word.trim_start_matches(['<', '>', '|']);
        let kind = match bare.chars().next().ok_or_else(unknown)? {
            'O' => return Err(mismatch("a pickled object array", "numbers or strings")),
            'b' => DTypeKind::Bool,
            'i' => DTypeKind::Signed,
            'u' => DTypeKind::Unsigned,
            'f' => DTypeKind::Float,
            'U' => DTypeKind::Unicode,
            'S' => DTypeKind::Bytes,
            _ => return Err(unknown()),
        };
        let width: usize = bare[1..].parse().map_err(|_| unknown())?;
        let (known, size) = match kind {
            DTypeKind::Bool => (width == 1, 1),
            DTypeKind::Signed | DTypeKind::Unsigned => (matches!(width, 1 | 2 | 4 | 8), width),
            DTypeKind::Float => (matches!(width, 2 | 4 | 8), width),
            DTypeKind::Unicode => (width <= 1 << 20, width.saturating_mul(4)),
            DTypeKind::Bytes => (width <= 1 << 20, width),
        };
        if known { Ok(DType { kind, size, big_endian: word.starts_with('>') }) } else { Err(unknown()) }
    }
}

impl DType {
    /// The maximum size of a decoded element.
    fn memory_bytes(self) -> u64 {
        match self.kind {
            DTypeKind::Unicode | DTypeKind::Bytes => (size_of::<String>() + self.size.max(16)) as u64,
            _ => 8,
        }
    }
}

/// Decodes the elements of an array into C order. The number of bytes must match the shape.
pub(in crate::data) fn decode(
    dtype: DType,
    shape: &[usize],
    fortran: bool,
    bytes: &[u8],
) -> std::result::Result<ArrayData, Mismatch> {
    let count = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    if count.and_then(|count| count.checked_mul(dtype.size)) != Some(bytes.len()) {
        let declared = format!("{shape:?} elements of {} bytes, as declared in the header", dtype.size);
        return Err(mismatch(format!("{} bytes of data", bytes.len()), declared));
    }
    if dtype.size == 0 && count != Some(0) {
        return Err(mismatch("strings of zero length", "a non-empty string type"));
    }
    let order = if fortran && shape.len() > 1 { c_order(shape, count.unwrap_or(0)) } else { None };
    let elements = RawElements { bytes, size: dtype.size.max(1), big_endian: dtype.big_endian, order };
    Ok(match (dtype.kind, dtype.size) {
        (DTypeKind::Bool, _) => ArrayData::Bool(elements.map(|[x]: [u8; 1]| x != 0)),
        (DTypeKind::Signed, 1) => ArrayData::Int(elements.map(|b| i8::from_le_bytes(b).into())),
        (DTypeKind::Signed, 2) => ArrayData::Int(elements.map(|b| i16::from_le_bytes(b).into())),
        (DTypeKind::Signed, 4) => ArrayData::Int(elements.map(|b| i32::from_le_bytes(b).into())),
        (DTypeKind::Signed, _) => ArrayData::Int(elements.map(i64::from_le_bytes)),
        (DTypeKind::Unsigned, 1) => ArrayData::Int(elements.map(|[x]: [u8; 1]| x.into())),
        (DTypeKind::Unsigned, 2) => ArrayData::Int(elements.map(|b| u16::from_le_bytes(b).into())),
        (DTypeKind::Unsigned, 4) => ArrayData::Int(elements.map(|b| u32::from_le_bytes(b).into())),
        (DTypeKind::Unsigned, _) => {
            let numbers = elements.map(u64::from_le_bytes);
            let numbers = numbers.into_iter().map(i64::try_from).collect::<std::result::Result<_, _>>();
            ArrayData::Int(numbers.map_err(|_| mismatch("a number of at least 2^63", "smaller numbers"))?)
        }
        (DTypeKind::Float, 2) => ArrayData::Float32(elements.map(|b| half(u16::from_le_bytes(b)))),
        (DTypeKind::Float, 4) => ArrayData::Float32(elements.map(f32::from_le_bytes)),
        (DTypeKind::Float, _) => ArrayData::Float64(elements.map(f64::from_le_bytes)),
        (DTypeKind::Unicode, _) => ArrayData::Text(elements.texts(|item, big_endian| {
            let chars = item.chunks_exact(4).map(|c| {
                let bytes = [c[0], c[1], c[2], c[3]];
                if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
            });
            chars.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        })),
        (DTypeKind::Bytes, _) => {
            ArrayData::Text(elements.texts(|item, _| String::from_utf8_lossy(item).into_owned()))
        }
    })
}

/// For each element in C order, its position in Fortran order; `None` if both orders are the same.
fn c_order(shape: &[usize], count: usize) -> Option<Vec<usize>> {
    let extents: Vec<usize> = shape.iter().copied().filter(|&extent| extent != 1).collect();
    if extents.len() < 2 || count == 0 {
        return None;
    }
    let mut strides = vec![1; extents.len()];
    for axis in 1..extents.len() {
        strides[axis] = strides[axis - 1] * extents[axis - 1];
    }
    let position_of = |mut at: usize| {
        let mut position = 0;
        for axis in (0..extents.len()).rev() {
            position += at % extents[axis] * strides[axis];
            at /= extents[axis];
        }
        position
    };
    Some((0..count).map(position_of).collect())
}

/// The raw bytes of the elements.
struct RawElements<'a> {
    bytes: &'a [u8],
    size: usize,
    big_endian: bool,
    order: Option<Vec<usize>>,
}

impl RawElements<'_> {
    /// Converts each element from its little-endian bytes.
    fn map<const N: usize, T>(&self, convert: impl Fn([u8; N]) -> T) -> Vec<T> {
        let (items, _) = self.bytes.as_chunks::<N>();
        let one = |mut item: [u8; N]| {
            if self.big_endian {
                item.reverse();
            }
            convert(item)
        };
        match &self.order {
            None => items.iter().map(|&item| one(item)).collect(),
            Some(order) => order.iter().map(|&at| one(items[at])).collect(),
        }
    }

    fn texts(&self, convert: impl Fn(&[u8], bool) -> String) -> Vec<String> {
        let one = |item: &[u8]| {
            let mut text = convert(item, self.big_endian);
            text.truncate(text.trim_end_matches('\0').len());
            text.shrink_to_fit();
            text
        };
        match &self.order {
            None => self.bytes.chunks_exact(self.size).map(one).collect(),
            Some(order) => order.iter().map(|&at| one(&self.bytes[at * self.size..][..self.size])).collect(),
        }
    }
}

/// Half precision: 1 sign bit, 5 exponent bits, 10 fraction bits.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction > 0.0 => f32::NAN,
        31 => f32::INFINITY,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, body: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), body].concat()
    }

    fn parse(header: &str, body: &[u8]) -> std::result::Result<Array, String> {
        parse_npy(&npy(header, body), Path::new("a.npy"), "").map_err(|error| error.to_string())
    }

    #[test]
    fn all_integer_widths_and_byte_orders_are_read() {
        for (word, body) in [
            ("|i1", vec![1u8, 254]),
            ("<i2", vec![1, 0, 254, 255]),
            (">i2", vec![0, 1, 255, 254]),
            ("<i4", vec![1, 0, 0, 0, 254, 255, 255, 255]),
            (">i8", vec![0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 254]),
        ] {
            let header = format!("{{'descr': '{word}', 'fortran_order': False, 'shape': (2,), }}");
            assert_eq!(parse(&header, &body).unwrap().data, ArrayData::Int(vec![1, -2]), "{word}");
        }
        let header = "{'descr': '<f2', 'fortran_order': False, 'shape': (4,)}";
        let halves = [0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x7b];
        let expected = vec![1.0, -2.0, 5.960_464_5e-8, 65504.0];
        assert_eq!(parse(header, &halves).unwrap().data, ArrayData::Float32(expected));
    }

    #[test]
    fn fortran_order_becomes_c_order() {
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}";
        let array = parse(header, &[1, 4, 2, 5, 3, 6]).unwrap();
        assert_eq!(array.data, ArrayData::Int(vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn padding_of_strings_is_removed() {
        let header = "{'descr': '<U2', 'fortran_order': False, 'shape': (2,)}";
        let body = [b'a', 0, 0, 0, 0, 0, 0, 0, b'b', 0, 0, 0, 0xe9, 0, 0, 0];
        assert_eq!(parse(header, &body).unwrap().to_texts().unwrap(), ["a", "bé"]);
        let header = "{'descr': '|S3', 'fortran_order': False, 'shape': ()}";
        assert_eq!(parse(header, b"csr").unwrap().to_texts().unwrap(), ["csr"]);
    }

    #[test]
    fn headers_that_do_not_match_the_data_are_errors() {
        for (header, message) in [
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000,)}", "8 bytes of data"),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                "8 bytes of data",
            ),
            ("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000000000,)}", "8 bytes of data"),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "a pickled object array"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "a structured array"),
            ("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "the type '<c8'"),
            ("{'descr': '<f8', 'fortran_order': False}", "the header {'descr'"),
        ] {
            let error = parse(header, &[0; 8]).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let empty = parse("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000000000,)}", &[]);
        assert!(empty.unwrap_err().contains("strings of zero length"));
    }
}
