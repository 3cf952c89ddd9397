//! Parquet tables: integers, floats, booleans, text, and lists of numbers.
//!
//! Unsigned 64-bit integers become text, so that ids above 2⁶³ survive. [`parquet_limits`] checks the declared sizes
//! before anything is allocated, and the Parquet crate runs under a [`panic_guard`].

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;

use super::dialect::Dialect;
use super::parquet_limits::{self, ExpansionBudget};
use super::{CellData, Column, Table, panic_guard};
use crate::Real;
use crate::error::{Error, Result};
use crate::files;

/// Rows decoded at a time.
const BATCH: usize = 4096;

pub(super) fn read(path: &Path, wanted: &(dyn Fn(&str) -> bool + Sync)) -> Result<Table> {
    let bytes = files::read(path)?;
    let damaged = |found: String| Error::input(path, "", found, "a valid Parquet file");
    parquet_limits::check_footer(&bytes).map_err(damaged)?;
    match panic_guard::catch(move || decode(path, bytes.into(), wanted)) {
        Ok(Ok(table)) => Ok(table),
        Ok(Err(ParquetFailure::Input(error))) => Err(error),
        Ok(Err(ParquetFailure::Damage(message))) => Err(damaged(message)),
        Err(message) => Err(damaged(format!("a damaged file ({message})"))),
    }
}

/// Why a file cannot be read: unsupported content, or a damaged file.
enum ParquetFailure {
    Input(Error),
    Damage(String),
}

impl From<parquet::errors::ParquetError> for ParquetFailure {
    fn from(error: parquet::errors::ParquetError) -> Self {
        ParquetFailure::Damage(error.to_string())
    }
}

impl From<String> for ParquetFailure {
    fn from(message: String) -> Self {
        ParquetFailure::Damage(message)
    }
}

type ParquetResult<T> = std::result::Result<T, ParquetFailure>;

fn decode(path: &Path, bytes: Bytes, wanted: &dyn Fn(&str) -> bool) -> ParquetResult<Table> {
    let reader = SerializedFileReader::new(bytes.clone())?;
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let mut budget = ExpansionBudget::for_file(bytes.len());
    let (mut columns, mut unused) = (Vec::new(), Vec::new());
    for (at, descriptor) in schema.columns().iter().enumerate() {
        let name = descriptor.path().parts().first().cloned().unwrap_or_default();
        if !wanted(&name) {
            unused.push(name);
            continue;
        }
        let mut column = Column { cells: empty_cells(path, &name, descriptor)?, name, missing: Vec::new() };
        for group in metadata.row_groups() {
            read_chunk(&bytes, group, at, &mut column, &mut budget)?;
        }
        columns.push(column);
    }
    let n_rows = columns.first().map_or(0, Column::len);
    if let Some(column) = columns.iter().find(|column| column.len() != n_rows) {
        let (name, len) = (&column.name, column.len());
        return Err(ParquetFailure::Damage(format!(
            "{len} cells in column '{name}', but {n_rows} in the first column"
        )));
    }
    unused.dedup();
    Ok(Table { path: path.to_owned(), n_rows, columns, unused, dialect: Dialect::default(), rows: None })
}

/// Empty storage for the type of a column.
fn empty_cells(path: &Path, name: &str, descriptor: &ColumnDescriptor) -> ParquetResult<CellData> {
    let number = match descriptor.physical_type() {
        Type::BOOLEAN | Type::INT32 | Type::INT64 => Some(CellData::Integers(Vec::new())),
        Type::FLOAT | Type::DOUBLE => Some(CellData::Reals(Vec::new())),
        _ => None,
    };
    let is_text = descriptor.physical_type() == Type::BYTE_ARRAY || is_u64(descriptor);
    match (descriptor.max_rep_level(), descriptor.path().parts().len(), number) {
        (0, 1, _) if is_text => Ok(CellData::Text { text: String::new(), ends: Vec::new() }),
        (0, 1, Some(cells)) => Ok(cells),
        (1, _, Some(_)) => Ok(CellData::Lists { values: Vec::new(), ends: Vec::new() }),
        _ => {
            let found = format!("column '{name}' of type {}", kind(descriptor));
            let expected = "numbers, text or lists of numbers";
            Err(ParquetFailure::Input(Error::input(path, "schema", found, expected)))
        }
    }
}

fn kind(descriptor: &ColumnDescriptor) -> String {
    let nested = if descriptor.path().parts().len() > 1 { "nested " } else { "" };
    format!("{nested}{}", descriptor.physical_type())
}

fn is_u64(descriptor: &ColumnDescriptor) -> bool {
    descriptor.physical_type() == Type::INT64
        && (descriptor.converted_type() == ConvertedType::UINT_64
            || matches!(descriptor.logical_type_ref(), Some(LogicalType::Integer(kind)) if !kind.is_signed))
}

/// Appends one row group of a column.
fn read_chunk(
    file: &Bytes,
    group: &RowGroupMetaData,
    at: usize,
    column: &mut Column,
    budget: &mut ExpansionBudget,
) -> ParquetResult<()> {
    let chunk = group.column(at);
    let (start, len) = chunk.byte_range();
    let pages = file.get_bytes(start, usize::try_from(len).map_err(|error| error.to_string())?)?;
    parquet_limits::check_pages(&pages, matches!(chunk.compression(), Compression::GZIP(_)), budget)?;

    let rows = usize::try_from(group.num_rows()).map_err(|_| "a negative number of rows".to_owned())?;
    let descriptor = chunk.column_descr_ptr();
    let page_reader = SerializedPageReader::new(Arc::new(file.clone()), chunk, rows, None)?;
    let unsigned = is_u64(&descriptor);
    let small_unsigned = descriptor.converted_type() == ConvertedType::UINT_32;
    let full = descriptor.max_def_level();
    let null = descriptor.self_type().is_optional().then_some(full - 1);
    let levels = ColumnLevels { full, null, lists: descriptor.max_rep_level() > 0 };
    let before = column.len();
    match get_column_reader(descriptor, Box::new(page_reader)) {
        ColumnReader::BoolColumnReader(r) => {
            read_batches(r, levels, column, budget, |&x| ParquetValue::Signed(x.into()))?
        }
        ColumnReader::Int32ColumnReader(r) if small_unsigned => {
            read_batches(r, levels, column, budget, |&x| ParquetValue::Signed((x as u32).into()))?;
        }
        ColumnReader::Int32ColumnReader(r) => {
            read_batches(r, levels, column, budget, |&x| ParquetValue::Signed(x.into()))?
        }
        ColumnReader::Int64ColumnReader(r) if unsigned => {
            read_batches(r, levels, column, budget, |&x| ParquetValue::Unsigned(x as u64))?;
        }
        ColumnReader::Int64ColumnReader(r) => {
            read_batches(r, levels, column, budget, |&x| ParquetValue::Signed(x))?
        }
        ColumnReader::FloatColumnReader(r) => {
            read_batches(r, levels, column, budget, |&x| ParquetValue::Real(x.into()))?
        }
        ColumnReader::DoubleColumnReader(r) => {
            read_batches(r, levels, column, budget, |&x| ParquetValue::Real(x))?
        }
        ColumnReader::ByteArrayColumnReader(r) => {
            read_batches(r, levels, column, budget, |x| ParquetValue::Text(x))?
        }
        _ => return Err(ParquetFailure::Damage("a column whose type differs from the schema".to_owned())),
    }
    match column.len() - before {
        read if read == rows => Ok(()),
        read => {
            Err(ParquetFailure::Damage(format!("{read} cells in column '{}' for {rows} rows", column.name)))
        }
    }
}

/// The definition and repetition levels that mark empty cells and lists.
#[derive(Clone, Copy)]
struct ColumnLevels {
    /// The definition level of a present value.
    full: i16,
    /// The definition level of a null in a list.
    null: Option<i16>,
    lists: bool,
}

enum ParquetValue<'a> {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Text(&'a ByteArray),
}

fn read_batches<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    levels: ColumnLevels,
    column: &mut Column,
    budget: &mut ExpansionBudget,
    value: impl Fn(&T::T) -> ParquetValue<'_>,
) -> ParquetResult<()> {
    let (mut def, mut rep, mut values) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        def.clear();
        rep.clear();
        values.clear();
        let (rows, _, n_levels) = reader.read_records(BATCH, Some(&mut def), Some(&mut rep), &mut values)?;
        if rows == 0 && n_levels == 0 {
            return Ok(());
        }
        let mut values = values.iter();
        for level in 0..n_levels {
            let present = def.get(level).is_none_or(|&def| def == levels.full);
            let cell = if present { values.next().map(&value) } else { None };
            if levels.lists {
                let starts = rep.get(level).is_none_or(|&rep| rep == 0);
                let null = def.get(level).is_some_and(|&def| Some(def) == levels.null);
                push_item(column, starts, cell, null);
            } else {
                push_cell(column, cell, budget)?;
            }
        }
    }
}

fn push_item(column: &mut Column, starts: bool, item: Option<ParquetValue<'_>>, null: bool) {
    let CellData::Lists { values, ends } = &mut column.cells else { return };
    let item = match item {
        Some(ParquetValue::Signed(x)) => Some(x as Real),
        Some(ParquetValue::Unsigned(x)) => Some(x as Real),
        Some(ParquetValue::Real(x)) => Some(x as Real),
        _ => null.then_some(Real::NAN),
    };
    values.extend(item);
    match ends.last_mut() {
        Some(end) if !starts => *end = values.len(),
        _ => ends.push(values.len()),
    }
}

fn push_cell(
    column: &mut Column,
    cell: Option<ParquetValue<'_>>,
    budget: &mut ExpansionBudget,
) -> ParquetResult<()> {
    let row = column.len();
    if cell.is_none() || !column.missing.is_empty() {
        column.missing.resize(row, false);
        column.missing.push(cell.is_none());
    }
    match (&mut column.cells, cell) {
        (CellData::Integers(values), Some(ParquetValue::Signed(x))) => values.push(x),
        (CellData::Integers(values), _) => values.push(0),
        (CellData::Reals(values), Some(ParquetValue::Real(x))) => values.push(x),
        (CellData::Reals(values), _) => values.push(f64::NAN),
        (CellData::Text { text, ends }, cell) => {
            match cell {
                Some(ParquetValue::Text(bytes)) => {
                    budget.charge(bytes.len() as u64)?;
                    let cell = std::str::from_utf8(bytes.data());
                    text.push_str(cell.map_err(|_| {
                        format!("text that is not UTF-8 in row {} of column '{}'", row + 1, column.name)
                    })?);
                }
                Some(ParquetValue::Unsigned(x)) => text.push_str(&x.to_string()),
                _ => {}
            }
            ends.push(text.len());
        }
        (CellData::Lists { .. }, _) => {}
    }
    Ok(())
}
