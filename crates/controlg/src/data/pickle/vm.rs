//! The pickle virtual machine: turns opcodes into values and calls nothing.

use std::collections::HashMap;
use std::path::Path;

use super::{GLOBALS, PickleGlobal, PickleValue, PickledArray, ValueId, extents};
use crate::data::arrays::DType;
use crate::error::{Error, Result};

/// Runs the program; returns all values and the index of the result.
pub(super) fn run(bytes: &[u8], path: &Path) -> Result<(Vec<PickleValue>, ValueId)> {
    let mut vm =
        PickleVm { bytes, path, at: 0, values: vec![], stack: vec![], marks: vec![], memo: HashMap::new() };
    let root = vm.run()?;
    Ok((vm.values, root))
}

struct PickleVm<'a> {
    bytes: &'a [u8],
    path: &'a Path,
    /// The next byte to read.
    at: usize,
    values: Vec<PickleValue>,
    stack: Vec<ValueId>,
    /// The stack heights of open marks.
    marks: Vec<usize>,
    memo: HashMap<u32, ValueId>,
}

impl<'a> PickleVm<'a> {
    fn run(&mut self) -> Result<ValueId> {
        if self.bytes.first() != Some(&0x80) {
            return Err(self.error("another first byte", "0x80, the start of a protocol 2 pickle"));
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
            return Err(self.error("data after the end of the pickle", "the end of the file"));
        }
        Ok(root)
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            0x80 => match self.take(1)?[0] {
                2 => Ok(()),
                version => Err(self.error(format_args!("protocol {version}"), "protocol 2")),
            },
            b'N' => self.push(PickleValue::None),
            0x88 => self.push(PickleValue::Bool(true)),
            0x89 => self.push(PickleValue::Bool(false)),
            b'K' => {
                let number = self.number(1)?;
                self.push(PickleValue::Int(number.into()))
            }
            b'M' => {
                let number = self.number(2)?;
                self.push(PickleValue::Int(number.into()))
            }
            b'J' => {
                let number = self.number(4)?;
                self.push(PickleValue::Int((number as i32).into()))
            }
            b'U' => self.text(1),
            b'T' => self.text(4),
            b'c' => self.global(),
            b'q' => self.memoize(1),
            b'r' => self.memoize(4),
            b'h' => {
                let key = self.number(1)?;
                let id = self.memo.get(&key).copied();
                let id = id.ok_or_else(|| self.error(format_args!("memo {key}"), "an entry of the memo"))?;
                self.stack.push(id);
                Ok(())
            }
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b')' => self.push(PickleValue::Tuple(vec![])),
            b']' => self.push(PickleValue::List(vec![])),
            b'}' => self.push(PickleValue::Dict(vec![])),
            0x85..=0x87 => self.tuple(usize::from(opcode - 0x84)),
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(PickleValue::Tuple(items))
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.append(items)
            }
            // Pickle writes items in batches of 1000; SETITEM occurs if a single item is left.
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
            _ => Err(self.error(format_args!("opcode 0x{opcode:02x}"), "an opcode used in Planetoid files")),
        }
    }

    fn global(&mut self) -> Result<()> {
        let (module, name) = (self.line()?, self.line()?);
        let full = format!("{}.{}", String::from_utf8_lossy(module), String::from_utf8_lossy(name));
        match GLOBALS.iter().find(|(known, _)| *known == full) {
            Some((_, global)) => self.push(PickleValue::Global(*global)),
            None => {
                let shown: String = full.chars().take(80).collect();
                Err(self.error(
                    format_args!("global {shown}"),
                    "a constructor of NumPy arrays or sparse matrices",
                ))
            }
        }
    }

    /// `callable(*arguments)`: only the three calls in these files.
    fn reduce(&mut self) -> Result<()> {
        let (arguments, callable) = (self.pop()?, self.pop()?);
        let (PickleValue::Global(global), PickleValue::Tuple(arguments)) =
            (self.value(callable), self.value(arguments))
        else {
            return Err(self.unsupported("a call", callable));
        };
        let global_of = |id: ValueId| match self.value(id) {
            PickleValue::Global(global) => Some(*global),
            _ => None,
        };
        let built = match (global, &arguments[..]) {
            // Shape and type are placeholders here; BUILD sets the real ones.
            (PickleGlobal::Reconstruct, &[class, _, _])
                if global_of(class) == Some(PickleGlobal::NdArray) =>
            {
                PickleValue::Array(None)
            }
            (PickleGlobal::DefaultDict, &[factory]) if global_of(factory) == Some(PickleGlobal::List) => {
                PickleValue::Dict(vec![])
            }
            (PickleGlobal::DType, &[word, _, _]) => {
                let word = String::from_utf8_lossy(self.text_of(word).unwrap_or_default());
                let dtype = DType::parse(&word).map_err(|(found, expected)| self.error(found, expected))?;
                PickleValue::DType(dtype)
            }
            _ => return Err(self.unsupported("a call", callable)),
        };
        self.push(built)
    }

    /// `class.__new__(class)`: only for a CSR matrix.
    fn new_object(&mut self) -> Result<()> {
        let (arguments, class) = (self.pop()?, self.pop()?);
        match (self.value(class), self.value(arguments)) {
            (PickleValue::Global(PickleGlobal::CsrMatrix), PickleValue::Tuple(none)) if none.is_empty() => {
                self.push(PickleValue::Matrix(None))
            }
            _ => Err(self.unsupported("a new object", class)),
        }
    }

    /// Sets the state of an object: the stack holds the object and, above it, the state.
    fn build(&mut self) -> Result<()> {
        let (state, object) = (self.pop()?, self.top()?);
        let built = match (self.value(object), self.value(state)) {
            (PickleValue::Matrix(_), PickleValue::Dict(_)) => Some(PickleValue::Matrix(Some(state))),
            (PickleValue::Array(_), PickleValue::Tuple(items)) => {
                self.array_state(items).map(PickleValue::Array)
            }
            (PickleValue::DType(dtype), PickleValue::Tuple(items)) => {
                self.byte_order(items).map(|big_endian| {
                    let mut dtype = *dtype;
                    dtype.big_endian = big_endian;
                    PickleValue::DType(dtype)
                })
            }
            _ => None,
        };
        let built = built.ok_or_else(|| self.unsupported("a state", object))?;
        self.values[object as usize] = built;
        Ok(())
    }

    /// The state of an array: (version, shape, dtype, Fortran order, bytes).
    fn array_state(&self, items: &[ValueId]) -> Option<Option<Box<PickledArray>>> {
        let &[_, shape, dtype, fortran, data] = items else { return None };
        let shape = extents(&self.values, shape)?;
        match (self.value(dtype), self.value(fortran), self.value(data)) {
            (PickleValue::DType(dtype), PickleValue::Bool(fortran), PickleValue::Text(data)) => {
                Some(Some(Box::new(PickledArray {
                    shape,
                    dtype: *dtype,
                    fortran: *fortran,
                    data: data.clone(),
                })))
            }
            _ => None,
        }
    }

    /// The state of a dtype: (version, byte order, …). Returns whether it is big-endian.
    fn byte_order(&self, items: &[ValueId]) -> Option<bool> {
        match self.text_of(*items.get(1)?)? {
            b"<" | b"|" => Some(false),
            b">" => Some(true),
            _ => None,
        }
    }

    fn append(&mut self, mut items: Vec<ValueId>) -> Result<()> {
        let list = self.top()?;
        match &mut self.values[list as usize] {
            PickleValue::List(list) => list.append(&mut items),
            _ => return Err(self.unsupported("an item", list)),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[ValueId]) -> Result<()> {
        let dict = self.top()?;
        let (pairs, odd) = items.as_chunks::<2>();
        match &mut self.values[dict as usize] {
            PickleValue::Dict(dict) if odd.is_empty() => {
                dict.extend(pairs.iter().map(|&[key, value]| (key, value)))
            }
            _ => return Err(self.unsupported("keys and values", dict)),
        }
        Ok(())
    }

    fn tuple(&mut self, count: usize) -> Result<()> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let start = self.stack.len().checked_sub(count).filter(|&start| start >= floor);
        let start = start.ok_or_else(|| self.underflow())?;
        let items = self.stack.split_off(start);
        self.push(PickleValue::Tuple(items))
    }

    fn text(&mut self, length_bytes: usize) -> Result<()> {
        let length = self.number(length_bytes)? as usize;
        let start = self.at;
        self.take(length)?;
        self.push(PickleValue::Text(start..self.at))
    }

    fn memoize(&mut self, key_bytes: usize) -> Result<()> {
        let key = self.number(key_bytes)?;
        let id = self.top()?;
        self.memo.insert(key, id);
        Ok(())
    }

    fn push(&mut self, value: PickleValue) -> Result<()> {
        let id = ValueId::try_from(self.values.len());
        let id = id.map_err(|_| self.error("more than 2^32 values", "a smaller file"))?;
        self.values.push(value);
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> Result<ValueId> {
        let id = self.top()?;
        self.stack.pop();
        Ok(id)
    }

    fn top(&self) -> Result<ValueId> {
        let floor = self.marks.last().copied().unwrap_or(0);
        self.stack[floor..].last().copied().ok_or_else(|| self.underflow())
    }

    fn pop_to_mark(&mut self) -> Result<Vec<ValueId>> {
        let mark = self.marks.pop().ok_or_else(|| self.underflow())?;
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

    fn value(&self, id: ValueId) -> &PickleValue {
        &self.values[id as usize]
    }

    fn text_of(&self, id: ValueId) -> Option<&[u8]> {
        match self.value(id) {
            PickleValue::Text(range) => Some(&self.bytes[range.clone()]),
            _ => None,
        }
    }

    fn underflow(&self) -> Error {
        self.error("a stack underflow", "a valid pickle")
    }

    fn unsupported(&self, what: &str, object: ValueId) -> Error {
        let found = format!("{what} for {}", self.value(object).describe(self.bytes));
        self.error(found, "content of a Planetoid file")
    }

    fn error(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
        Error::input(self.path, format_args!("byte {}", self.at), found, expected)
    }
}
