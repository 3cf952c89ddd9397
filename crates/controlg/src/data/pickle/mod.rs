//! A safe reader for the pickles in Planetoid files: protocol 2 with NumPy arrays, SciPy CSR matrices and dictionaries
//! of lists.
//!
//! A pickle is a program for a stack machine that may call any Python function. This reader calls nothing: it accepts
//! only the six names that these files use, records what they would build as data, and rejects every other name and
//! opcode. Values are stored in one flat list and refer to each other by index, so neither deep nesting nor cycles can
//! overflow the stack. Each byte of the file creates at most one value of a few dozen bytes.

mod vm;

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::arrays::{Array, CsrParts, DType, decode};
use crate::error::{Error, Result};
use crate::graph::Csr;

/// The content of a pickle.
pub struct Pickle<'a> {
    bytes: &'a [u8],
    path: PathBuf,
    values: Vec<PickleValue>,
    root: ValueId,
}

/// Reads the bytes of a pickle. Errors refer to `path`.
pub fn read<'a>(bytes: &'a [u8], path: &Path) -> Result<Pickle<'a>> {
    let (values, root) = vm::run(bytes, path)?;
    Ok(Pickle { bytes, path: path.to_owned(), values, root })
}

impl Pickle<'_> {
    /// The content as a NumPy array.
    pub fn array(&self) -> Result<Array> {
        self.array_at(self.root, "")
    }

    /// The content as a CSR matrix.
    pub fn csr(&self) -> Result<Csr> {
        let PickleValue::Matrix(Some(state)) = self.value(self.root) else {
            return Err(self.error(self.describe(self.root), "a csr_matrix"));
        };
        let PickleValue::Dict(entries) = self.value(*state) else {
            return Err(self.error(self.describe(*state), "the state of a csr_matrix"));
        };
        let part = |name: &str| {
            let found = entries.iter().rev().find(|(key, _)| self.text(*key) == Some(name.as_bytes()));
            found
                .map(|entry| entry.1)
                .ok_or_else(|| self.error(format_args!("no '{name}'"), "the state of a csr_matrix"))
        };
        if self.text(part("format")?) != Some(b"csr") {
            return Err(self.error(self.describe(part("format")?), "the format 'csr'"));
        }
        let (n_rows, n_cols) = match self.shape(part("_shape")?)[..] {
            [n_rows, n_cols] => (n_rows, n_cols),
            _ => return Err(self.error("an invalid '_shape'", "rows and columns")),
        };
        let array = |name: &str| self.array_at(part(name)?, name);
        let (indptr, indices) = (array("indptr")?, array("indices")?);
        CsrParts { n_rows, n_cols, indptr, indices, data: array("data")? }.check()
    }

    /// The content as a dictionary of lists: (key, numbers) in file order.
    pub fn lists(&self) -> Result<Vec<(u32, Vec<u32>)>> {
        let PickleValue::Dict(entries) = self.value(self.root) else {
            return Err(self.error(self.describe(self.root), "a defaultdict of lists"));
        };
        // Many keys may share one list; the total is bounded so that a small file cannot create a large graph.
        let mut room = self.bytes.len();
        let number = |id: ValueId| match self.value(id) {
            PickleValue::Int(x) if (0..i64::from(u32::MAX)).contains(x) => Ok(*x as u32),
            _ => Err(self.error(self.describe(id), "a node number")),
        };
        let mut lists = Vec::with_capacity(entries.len());
        for (key, list) in entries {
            let key = number(*key)?;
            let PickleValue::List(items) = self.value(*list) else {
                return Err(self.error(format_args!("{} at key {key}", self.describe(*list)), "a list"));
            };
            room = room.checked_sub(items.len()).ok_or_else(|| {
                self.error(
                    format_args!("more list entries than bytes ({})", self.bytes.len()),
                    "a separate list for each key",
                )
            })?;
            lists.push((key, items.iter().map(|&item| number(item)).collect::<Result<_>>()?));
        }
        Ok(lists)
    }

    fn array_at(&self, id: ValueId, name: &str) -> Result<Array> {
        let PickleValue::Array(Some(array)) = self.value(id) else {
            return Err(self.error(self.describe(id), "a NumPy array"));
        };
        let data = decode(array.dtype, &array.shape, array.fortran, &self.bytes[array.data.clone()]);
        let data = data.map_err(|(found, expected)| self.error(found, expected))?;
        Ok(Array::new(array.shape.clone(), data, &self.path, name))
    }

    fn value(&self, id: ValueId) -> &PickleValue {
        &self.values[id as usize]
    }

    fn text(&self, id: ValueId) -> Option<&[u8]> {
        match self.value(id) {
            PickleValue::Text(range) => Some(&self.bytes[range.clone()]),
            _ => None,
        }
    }

    fn shape(&self, id: ValueId) -> Vec<usize> {
        extents(&self.values, id).unwrap_or_default()
    }

    fn describe(&self, id: ValueId) -> String {
        self.value(id).describe(self.bytes)
    }

    fn error(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
        Error::input(&self.path, "", found, expected)
    }
}

/// Index into the list of values.
type ValueId = u32;

#[derive(Debug)]
enum PickleValue {
    None,
    Bool(bool),
    Int(i64),
    /// The range of the string or raw bytes in the file.
    Text(Range<usize>),
    Tuple(Vec<ValueId>),
    List(Vec<ValueId>),
    Dict(Vec<(ValueId, ValueId)>),
    Global(PickleGlobal),
    DType(DType),
    /// A NumPy array; `None` until its state is set.
    Array(Option<Box<PickledArray>>),
    /// A SciPy matrix with the dictionary of its state; `None` until it is set.
    Matrix(Option<ValueId>),
}

/// An array whose elements are not decoded yet.
#[derive(Debug)]
struct PickledArray {
    shape: Vec<usize>,
    dtype: DType,
    fortran: bool,
    data: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PickleGlobal {
    Reconstruct,
    NdArray,
    DType,
    CsrMatrix,
    DefaultDict,
    List,
}

/// All names that these files use.
const GLOBALS: [(&str, PickleGlobal); 6] = [
    ("numpy.core.multiarray._reconstruct", PickleGlobal::Reconstruct),
    ("numpy.ndarray", PickleGlobal::NdArray),
    ("numpy.dtype", PickleGlobal::DType),
    ("scipy.sparse.csr.csr_matrix", PickleGlobal::CsrMatrix),
    ("collections.defaultdict", PickleGlobal::DefaultDict),
    ("__builtin__.list", PickleGlobal::List),
];

impl PickleValue {
    fn describe(&self, bytes: &[u8]) -> String {
        match self {
            PickleValue::None => "None".into(),
            PickleValue::Bool(_) => "a boolean".into(),
            PickleValue::Int(x) => x.to_string(),
            PickleValue::Text(range) => {
                let start = &bytes[range.start..range.end.min(range.start + 40)];
                format!("'{}'", String::from_utf8_lossy(start))
            }
            PickleValue::Tuple(_) => "a tuple".into(),
            PickleValue::List(_) => "a list".into(),
            PickleValue::Dict(_) => "a dictionary".into(),
            PickleValue::Global(global) => {
                let name = GLOBALS.iter().find(|(_, known)| known == global).map_or("", |(name, _)| name);
                format!("global {name}")
            }
            PickleValue::DType(_) => "a dtype".into(),
            PickleValue::Array(_) => "a NumPy array".into(),
            PickleValue::Matrix(_) => "a csr_matrix".into(),
        }
    }
}

fn extents(values: &[PickleValue], id: ValueId) -> Option<Vec<usize>> {
    let PickleValue::Tuple(items) = &values[id as usize] else { return None };
    let extent = |&item: &ValueId| match values[item as usize] {
        PickleValue::Int(x) => usize::try_from(x).ok(),
        _ => None,
    };
    items.iter().map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error_message(bytes: &[u8]) -> String {
        read(bytes, Path::new("p")).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_dictionary_of_lists() {
        let bytes = b"\x80\x02ccollections\ndefaultdict\nq\x01c__builtin__\nlist\n\x85R(K\x00](K\x01K\x02eK\x01]K\x00au.";
        let lists = read(bytes, Path::new("p")).unwrap().lists().unwrap();
        assert_eq!(lists, [(0, vec![1, 2]), (1, vec![0])]);
    }

    #[test]
    fn unknown_names_and_opcodes_are_errors() {
        for (bytes, message) in [
            (&b"\x80\x02cos\nsystem\nU\x02id\x85R."[..], "found global os.system"),
            (b"\x80\x02c__builtin__\neval\n.", "found global __builtin__.eval"),
            (b"\x80\x02(S'id'\nios\nsystem\n.", "found opcode 0x53"),
            (b"\x80\x02\x8c\x02os\x8c\x06system\x93.", "found opcode 0x8c"),
            (b"\x80\x04.", "found protocol 4"),
            (b"\x80\x02c__builtin__\nlist\n)R.", "a call for global __builtin__.list"),
            (b"\x80\x02cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R.", "a pickled object array"),
            (b"\x80\x02h\x07.", "memo 7"),
            (b"\x80\x02(.", "a stack underflow"),
            (b"\x80\x02T\xff\xff\xff\xff", "the end of the file"),
        ] {
            let error = error_message(bytes);
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn nesting_and_cycles_do_not_overflow_the_stack() {
        let deep = [b"\x80\x02".to_vec(), b"]".repeat(500_000), b"a".repeat(499_999), b".".to_vec()].concat();
        assert_eq!(error_message(&deep), "");
        let cycle = b"\x80\x02]q\x01h\x01a.";
        assert_eq!(error_message(cycle), "");
    }

    #[test]
    fn a_shared_list_cannot_create_a_large_graph() {
        let mut bytes = b"\x80\x02]q\x01(".to_vec();
        bytes.extend(b"K\x00".repeat(1000));
        bytes.extend(b"eq\x01"); // still the list
        bytes = [&b"\x80\x02}("[..], b"K\x00", &bytes[2..]].concat();
        bytes.extend(b"K\x00h\x01".repeat(1000));
        bytes.extend(b"u.");
        let pickle = read(&bytes, Path::new("p")).unwrap();
        assert!(pickle.lists().unwrap_err().to_string().contains("more list entries"));
    }

    /// Sequences of opcodes as in real files.
    const PIECES: &[&[u8]] = &[
        b"cnumpy.core.multiarray\n_reconstruct\n",
        b"cnumpy\nndarray\n",
        b"cnumpy\ndtype\n",
        b"cscipy.sparse.csr\ncsr_matrix\n",
        b"ccollections\ndefaultdict\n",
        b"c__builtin__\nlist\n",
        b"K\x00\x85",
        b"K\x02\x85",
        b"U\x01b",
        b"\x87R",
        b"\x85R",
        b"(K\x01",
        b"U\x02i4K\x00K\x01\x87R",
        b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
        b"\x89U\x08\x01\x00\x00\x00\x02\x00\x00\x00tb",
        b"q\x01",
        b"h\x01",
        b")\x81",
        b"}",
        b"(U\x06format",
        b"U\x03csr",
        b"U\x06_shapeK\x02K\x02\x86",
        b"U\x06indptr",
        b"U\x07indices",
        b"U\x04data",
        b"ub",
        b"]",
        b"a",
        b"e",
        b"u",
        b"s",
        b"t",
    ];

    proptest! {
        #[test]
        fn any_program_of_known_opcodes_terminates(ops in prop::collection::vec(
            prop::sample::select(&b"NKMJUTcqrh()]}taesuRb.\x81\x85\x86\x87\x88\x89\x00\x01\x02"[..]), 0..200)) {
            let bytes = [&b"\x80\x02"[..], &ops].concat();
            if let Ok(pickle) = read(&bytes, Path::new("p")) {
                let _ = (pickle.array().is_ok(), pickle.csr().is_ok(), pickle.lists().is_ok());
            }
        }

        #[test]
        fn any_order_of_valid_pieces_terminates(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
            let bytes = [&b"\x80\x02"[..], &pieces.concat(), b"."].concat();
            if let Ok(pickle) = read(&bytes, Path::new("p")) {
                let _ = (pickle.array().is_ok(), pickle.csr().is_ok(), pickle.lists().is_ok());
            }
        }
    }
}
