//! A reader for just the pickles of the Planetoid files: protocol 2, with NumPy arrays, SciPy's sparse rows and
//! dictionaries of lists in them.
//!
//! A pickle is a program for a small stack machine that may call any function of Python. Here nothing is called:
//! the six names that these files use are on a list, what they would have built is noted down as data, and any
//! other name or opcode is refused. Values live in one flat list and point at each other by number, so that no
//! nesting, however deep, and no cycle can exhaust the stack; each byte of the file makes at most one value of a
//! few dozen bytes.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::arrays::{Array, CsrParts, DType, decode};
use crate::error::{Error, Result};
use crate::graph::Csr;

/// What a pickle holds.
pub struct Pickle<'a> {
    bytes: &'a [u8],
    path: PathBuf,
    values: Vec<Value>,
    root: Id,
}

/// Reads the bytes of a pickle; `path` says where they came from.
pub fn read<'a>(bytes: &'a [u8], path: &Path) -> Result<Pickle<'a>> {
    let mut machine =
        Machine { bytes, path, at: 0, values: vec![], stack: vec![], marks: vec![], memo: HashMap::new() };
    let root = machine.run()?;
    Ok(Pickle { bytes, path: path.to_owned(), values: machine.values, root })
}

impl Pickle<'_> {
    /// The NumPy array that this is.
    pub fn array(&self) -> Result<Array> {
        self.array_at(self.root, "")
    }

    /// The sparse matrix that this is.
    pub fn csr(&self) -> Result<Csr> {
        let Value::Matrix(Some(state)) = self.value(self.root) else {
            return Err(self.error(self.describe(self.root), "a csr_matrix"));
        };
        let Value::Dict(entries) = self.value(*state) else {
            return Err(self.error(self.describe(*state), "a csr_matrix with its parts"));
        };
        let part = |name: &str| {
            let found = entries.iter().rev().find(|(key, _)| self.text(*key) == Some(name.as_bytes()));
            found
                .map(|entry| entry.1)
                .ok_or_else(|| self.error(format_args!("no '{name}'"), "a csr_matrix with its parts"))
        };
        if self.text(part("format")?) != Some(b"csr") {
            return Err(self.error(self.describe(part("format")?), "the format 'csr'"));
        }
        let (n_rows, n_cols) = match self.shape(part("_shape")?)[..] {
            [n_rows, n_cols] => (n_rows, n_cols),
            _ => return Err(self.error("another '_shape'", "rows and columns")),
        };
        let array = |name: &str| self.array_at(part(name)?, name);
        let (indptr, indices) = (array("indptr")?, array("indices")?);
        CsrParts { n_rows, n_cols, indptr, indices, data: array("data")? }.check()
    }

    /// The dictionary of lists that this is: each key with its numbers, in the order of the file.
    pub fn lists(&self) -> Result<Vec<(u32, Vec<u32>)>> {
        let Value::Dict(entries) = self.value(self.root) else {
            return Err(self.error(self.describe(self.root), "a defaultdict of lists"));
        };
        // One list may stand under many keys; the sum is bounded so that no small file can grow a large graph.
        let mut room = self.bytes.len();
        let number = |id: Id| match self.value(id) {
            Value::Int(x) if (0..i64::from(u32::MAX)).contains(x) => Ok(*x as u32),
            _ => Err(self.error(self.describe(id), "a node number")),
        };
        let mut lists = Vec::with_capacity(entries.len());
        for (key, list) in entries {
            let key = number(*key)?;
            let Value::List(items) = self.value(*list) else {
                return Err(self.error(format_args!("{} at key {key}", self.describe(*list)), "a list"));
            };
            room = room.checked_sub(items.len()).ok_or_else(|| {
                self.error(
                    format_args!("more list entries than its {} bytes", self.bytes.len()),
                    "lists of their own",
                )
            })?;
            lists.push((key, items.iter().map(|&item| number(item)).collect::<Result<_>>()?));
        }
        Ok(lists)
    }

    fn array_at(&self, id: Id, name: &str) -> Result<Array> {
        let Value::Array(Some(array)) = self.value(id) else {
            return Err(self.error(self.describe(id), "a NumPy array"));
        };
        let data = decode(array.dtype, &array.shape, array.fortran, &self.bytes[array.data.clone()]);
        let data = data.map_err(|(found, expected)| self.error(found, expected))?;
        Ok(Array::new(array.shape.clone(), data, &self.path, name))
    }

    fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }

    fn text(&self, id: Id) -> Option<&[u8]> {
        match self.value(id) {
            Value::Text(range) => Some(&self.bytes[range.clone()]),
            _ => None,
        }
    }

    fn shape(&self, id: Id) -> Vec<usize> {
        extents(&self.values, id).unwrap_or_default()
    }

    fn describe(&self, id: Id) -> String {
        self.value(id).describe(self.bytes)
    }

    fn error(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
        Error::input(&self.path, "", found, expected)
    }
}

/// A value's number in the list of values.
type Id = u32;

#[derive(Debug)]
enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// Where the text or the raw bytes stand in the file.
    Text(Range<usize>),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Global(Global),
    DType(DType),
    /// A NumPy array; without content until its state is set.
    Array(Option<Box<RawArray>>),
    /// A SciPy matrix and the dictionary that is its state.
    Matrix(Option<Id>),
}

#[derive(Debug)]
struct RawArray {
    shape: Vec<usize>,
    dtype: DType,
    fortran: bool,
    data: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Global {
    Reconstruct,
    NdArray,
    DType,
    CsrMatrix,
    DefaultDict,
    List,
}

/// Every name that these files use.
const GLOBALS: [(&str, Global); 6] = [
    ("numpy.core.multiarray._reconstruct", Global::Reconstruct),
    ("numpy.ndarray", Global::NdArray),
    ("numpy.dtype", Global::DType),
    ("scipy.sparse.csr.csr_matrix", Global::CsrMatrix),
    ("collections.defaultdict", Global::DefaultDict),
    ("__builtin__.list", Global::List),
];

impl Value {
    fn describe(&self, bytes: &[u8]) -> String {
        match self {
            Value::None => "None".into(),
            Value::Bool(_) => "a truth value".into(),
            Value::Int(x) => x.to_string(),
            Value::Text(range) => {
                let start = &bytes[range.start..range.end.min(range.start + 40)];
                format!("'{}'", String::from_utf8_lossy(start))
            }
            Value::Tuple(_) => "a tuple".into(),
            Value::List(_) => "a list".into(),
            Value::Dict(_) => "a dictionary".into(),
            Value::Global(global) => {
                let name = GLOBALS.iter().find(|(_, known)| known == global).map_or("", |(name, _)| name);
                format!("global {name}")
            }
            Value::DType(_) => "a dtype".into(),
            Value::Array(_) => "a NumPy array".into(),
            Value::Matrix(_) => "a csr_matrix".into(),
        }
    }
}

fn extents(values: &[Value], id: Id) -> Option<Vec<usize>> {
    let Value::Tuple(items) = &values[id as usize] else { return None };
    let extent = |&item: &Id| match values[item as usize] {
        Value::Int(x) => usize::try_from(x).ok(),
        _ => None,
    };
    items.iter().map(extent).collect()
}

struct Machine<'a> {
    bytes: &'a [u8],
    path: &'a Path,
    /// The next byte to read.
    at: usize,
    values: Vec<Value>,
    stack: Vec<Id>,
    /// The heights of the stack at which open marks stand.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<'a> Machine<'a> {
    fn run(&mut self) -> Result<Id> {
        if self.bytes.first() != Some(&0x80) {
            return Err(self.error("another first byte", "0x80, with which pickles of protocol 2 begin"));
        }
        loop {
            let opcode = self.take(1)?[0];
            if opcode == b'.' {
                break;
            }
            self.step(opcode)?;
        }
        let root = self.pop()?;
        if self.at != self.bytes.len() || !self.stack.is_empty() {
            return Err(self.error("something left over", "the end of the file"));
        }
        Ok(root)
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            0x80 => match self.take(1)?[0] {
                2 => Ok(()),
                version => Err(self.error(format_args!("protocol {version}"), "protocol 2")),
            },
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'K' => {
                let number = self.number(1)?;
                self.push(Value::Int(number.into()))
            }
            b'M' => {
                let number = self.number(2)?;
                self.push(Value::Int(number.into()))
            }
            b'J' => {
                let number = self.number(4)?;
                self.push(Value::Int((number as i32).into()))
            }
            b'U' => self.text(1),
            b'T' => self.text(4),
            b'c' => self.global(),
            b'q' => self.memoise(1),
            b'r' => self.memoise(4),
            b'h' => {
                let key = self.number(1)?;
                let id = self.memo.get(&key).copied();
                let id = id.ok_or_else(|| self.error(format_args!("memo {key}"), "a number noted before"))?;
                self.stack.push(id);
                Ok(())
            }
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b')' => self.push(Value::Tuple(vec![])),
            b']' => self.push(Value::List(vec![])),
            b'}' => self.push(Value::Dict(vec![])),
            0x85..=0x87 => self.tuple(usize::from(opcode - 0x84)),
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Value::Tuple(items))
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.append(items)
            }
            // The files have no SETITEM, but a dictionary of 1001 entries would: they are written by the thousand.
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set_items(&[key, value])
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                self.set_items(&items)
            }
            0x81 => self.new_object(),
            b'R' => self.reduce(),
            b'b' => self.build(),
            _ => Err(self.error(format_args!("opcode 0x{opcode:02x}"), "an opcode that Planetoid files use")),
        }
    }

    fn global(&mut self) -> Result<()> {
        let (module, name) = (self.line()?, self.line()?);
        let full = format!("{}.{}", String::from_utf8_lossy(module), String::from_utf8_lossy(name));
        match GLOBALS.iter().find(|(known, _)| *known == full) {
            Some((_, global)) => self.push(Value::Global(*global)),
            None => {
                let shown: String = full.chars().take(80).collect();
                Err(self.error(
                    format_args!("global {shown}"),
                    "a constructor of NumPy arrays or sparse matrices",
                ))
            }
        }
    }

    /// `callable(*arguments)`: only the three calls that these files make.
    fn reduce(&mut self) -> Result<()> {
        let (arguments, callable) = (self.pop()?, self.pop()?);
        let (Value::Global(global), Value::Tuple(arguments)) = (self.value(callable), self.value(arguments))
        else {
            return Err(self.refuse("a call", callable));
        };
        let global_of = |id: Id| match self.value(id) {
            Value::Global(global) => Some(*global),
            _ => None,
        };
        let built = match (global, &arguments[..]) {
            // The shape and type given here are placeholders; the state set by BUILD has the real ones.
            (Global::Reconstruct, &[class, _, _]) if global_of(class) == Some(Global::NdArray) => {
                Value::Array(None)
            }
            (Global::DefaultDict, &[factory]) if global_of(factory) == Some(Global::List) => {
                Value::Dict(vec![])
            }
            (Global::DType, &[word, _, _]) => {
                let word = String::from_utf8_lossy(self.text_of(word).unwrap_or_default());
                let dtype = DType::parse(&word).map_err(|(found, expected)| self.error(found, expected))?;
                Value::DType(dtype)
            }
            _ => return Err(self.refuse("a call", callable)),
        };
        self.push(built)
    }

    /// `class.__new__(class)`: only a sparse matrix.
    fn new_object(&mut self) -> Result<()> {
        let (arguments, class) = (self.pop()?, self.pop()?);
        match (self.value(class), self.value(arguments)) {
            (Value::Global(Global::CsrMatrix), Value::Tuple(none)) if none.is_empty() => {
                self.push(Value::Matrix(None))
            }
            _ => Err(self.refuse("a new object", class)),
        }
    }

    /// Sets the state of the object below the state on the stack.
    fn build(&mut self) -> Result<()> {
        let (state, object) = (self.pop()?, self.top()?);
        let built = match (self.value(object), self.value(state)) {
            (Value::Matrix(_), Value::Dict(_)) => Some(Value::Matrix(Some(state))),
            (Value::Array(_), Value::Tuple(items)) => self.array_state(items).map(Value::Array),
            (Value::DType(dtype), Value::Tuple(items)) => self.byte_order(items).map(|big_endian| {
                let mut dtype = *dtype;
                dtype.big_endian = big_endian;
                Value::DType(dtype)
            }),
            _ => None,
        };
        let built = built.ok_or_else(|| self.refuse("a state", object))?;
        self.values[object as usize] = built;
        Ok(())
    }

    /// (version, shape, dtype, Fortran order, bytes), all memory in the file.
    fn array_state(&self, items: &[Id]) -> Option<Option<Box<RawArray>>> {
        let &[_, shape, dtype, fortran, data] = items else { return None };
        let shape = extents(&self.values, shape)?;
        match (self.value(dtype), self.value(fortran), self.value(data)) {
            (Value::DType(dtype), Value::Bool(fortran), Value::Text(data)) => {
                Some(Some(Box::new(RawArray { shape, dtype: *dtype, fortran: *fortran, data: data.clone() })))
            }
            _ => None,
        }
    }

    /// (version, byte order, …): whether the most significant byte comes first.
    fn byte_order(&self, items: &[Id]) -> Option<bool> {
        match self.text_of(*items.get(1)?)? {
            b"<" | b"|" => Some(false),
            b">" => Some(true),
            _ => None,
        }
    }

    fn append(&mut self, mut items: Vec<Id>) -> Result<()> {
        let list = self.top()?;
        match &mut self.values[list as usize] {
            Value::List(list) => list.append(&mut items),
            _ => return Err(self.refuse("an item", list)),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[Id]) -> Result<()> {
        let dict = self.top()?;
        let (pairs, odd) = items.as_chunks::<2>();
        match &mut self.values[dict as usize] {
            Value::Dict(dict) if odd.is_empty() => {
                dict.extend(pairs.iter().map(|&[key, value]| (key, value)))
            }
            _ => return Err(self.refuse("keys and values", dict)),
        }
        Ok(())
    }

    fn tuple(&mut self, count: usize) -> Result<()> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let start = self.stack.len().checked_sub(count).filter(|&start| start >= floor);
        let start = start.ok_or_else(|| self.too_short())?;
        let items = self.stack.split_off(start);
        self.push(Value::Tuple(items))
    }

    fn text(&mut self, length_bytes: usize) -> Result<()> {
        let length = self.number(length_bytes)? as usize;
        let start = self.at;
        self.take(length)?;
        self.push(Value::Text(start..self.at))
    }

    fn memoise(&mut self, key_bytes: usize) -> Result<()> {
        let key = self.number(key_bytes)?;
        let id = self.top()?;
        self.memo.insert(key, id);
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<()> {
        let id = Id::try_from(self.values.len());
        let id = id.map_err(|_| self.error("more than 2^32 values", "a smaller file"))?;
        self.values.push(value);
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> Result<Id> {
        let id = self.top()?;
        self.stack.pop();
        Ok(id)
    }

    fn top(&self) -> Result<Id> {
        let floor = self.marks.last().copied().unwrap_or(0);
        self.stack[floor..].last().copied().ok_or_else(|| self.too_short())
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>> {
        let mark = self.marks.pop().ok_or_else(|| self.too_short())?;
        Ok(self.stack.split_off(mark))
    }

    /// A little-endian number of up to four bytes.
    fn number(&mut self, bytes: usize) -> Result<u32> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    fn line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n');
        let length = length.ok_or_else(|| self.error("the end of the file", "a name"))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let taken = self.bytes[self.at..].get(..count);
        let taken =
            taken.ok_or_else(|| self.error("the end of the file", format_args!("{count} more bytes")))?;
        self.at += count;
        Ok(taken)
    }

    fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }

    fn text_of(&self, id: Id) -> Option<&[u8]> {
        match self.value(id) {
            Value::Text(range) => Some(&self.bytes[range.clone()]),
            _ => None,
        }
    }

    fn too_short(&self) -> Error {
        self.error("too little on the stack", "a whole pickle")
    }

    fn refuse(&self, what: &str, object: Id) -> Error {
        let found = format!("{what} for {}", self.value(object).describe(self.bytes));
        self.error(found, "what Planetoid files hold")
    }

    fn error(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
        Error::input(self.path, format_args!("byte {}", self.at), found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_words(bytes: &[u8]) -> String {
        read(bytes, Path::new("p")).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_dictionary_of_lists() {
        let bytes = b"\x80\x02ccollections\ndefaultdict\nq\x01c__builtin__\nlist\n\x85R(K\x00](K\x01K\x02eK\x01]K\x00au.";
        let lists = read(bytes, Path::new("p")).unwrap().lists().unwrap();
        assert_eq!(lists, [(0, vec![1, 2]), (1, vec![0])]);
    }

    #[test]
    fn nothing_but_the_known_names_and_opcodes() {
        for (bytes, words) in [
            (&b"\x80\x02cos\nsystem\nU\x02id\x85R."[..], "found global os.system"),
            (b"\x80\x02c__builtin__\neval\n.", "found global __builtin__.eval"),
            (b"\x80\x02(S'id'\nios\nsystem\n.", "found opcode 0x53"),
            (b"\x80\x02\x8c\x02os\x8c\x06system\x93.", "found opcode 0x8c"),
            (b"\x80\x04.", "found protocol 4"),
            (b"\x80\x02c__builtin__\nlist\n)R.", "a call for global __builtin__.list"),
            (b"\x80\x02cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R.", "a pickled object array"),
            (b"\x80\x02h\x07.", "memo 7"),
            (b"\x80\x02(.", "too little on the stack"),
            (b"\x80\x02T\xff\xff\xff\xff", "the end of the file"),
        ] {
            let error = read_words(bytes);
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn depth_and_cycles_cannot_exhaust_the_stack() {
        let deep = [b"\x80\x02".to_vec(), b"]".repeat(500_000), b"a".repeat(499_999), b".".to_vec()].concat();
        assert_eq!(read_words(&deep), "");
        let cycle = b"\x80\x02]q\x01h\x01a.";
        assert_eq!(read_words(cycle), "");
    }

    #[test]
    fn a_shared_list_cannot_grow_a_large_graph() {
        let mut bytes = b"\x80\x02]q\x01(".to_vec();
        bytes.extend(b"K\x00".repeat(1000));
        bytes.extend(b"eq\x01"); // still the list
        bytes = [&b"\x80\x02}("[..], b"K\x00", &bytes[2..]].concat();
        bytes.extend(b"K\x00h\x01".repeat(1000));
        bytes.extend(b"u.");
        let pickle = read(&bytes, Path::new("p")).unwrap();
        assert!(pickle.lists().unwrap_err().to_string().contains("more list entries"));
    }

    proptest! {
        #[test]
        fn any_program_of_known_opcodes_ends(ops in prop::collection::vec(
            prop::sample::select(&b"NKMJUTcqrh()]}taesuRb.\x81\x85\x86\x87\x88\x89\x00\x01\x02"[..]), 0..200)) {
            let bytes = [&b"\x80\x02"[..], &ops].concat();
            if let Ok(pickle) = read(&bytes, Path::new("p")) {
                let _ = (pickle.array().is_ok(), pickle.csr().is_ok(), pickle.lists().is_ok());
            }
        }

        #[test]
        fn any_order_of_meaningful_pieces_ends(pieces in prop::collection::vec(prop::sample::select(&[
            &b"cnumpy.core.multiarray\n_reconstruct\n"[..], b"cnumpy\nndarray\n", b"cnumpy\ndtype\n",
            b"cscipy.sparse.csr\ncsr_matrix\n", b"ccollections\ndefaultdict\n", b"c__builtin__\nlist\n",
            b"K\x00\x85", b"K\x02\x85", b"U\x01b", b"\x87R", b"\x85R", b"(K\x01", b"U\x02i4K\x00K\x01\x87R",
            b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb", b"\x89U\x08\x01\x00\x00\x00\x02\x00\x00\x00tb",
            b"q\x01", b"h\x01", b")\x81", b"}", b"(U\x06format", b"U\x03csr", b"U\x06_shapeK\x02K\x02\x86",
            b"U\x06indptr", b"U\x07indices", b"U\x04data", b"ub", b"]", b"a", b"e", b"u", b"s", b"t",
        ][..]), 0..60)) {
            let bytes = [&b"\x80\x02"[..], &pieces.concat(), b"."].concat();
            if let Ok(pickle) = read(&bytes, Path::new("p")) {
                let _ = (pickle.array().is_ok(), pickle.csr().is_ok(), pickle.lists().is_ok());
            }
        }
    }
}
