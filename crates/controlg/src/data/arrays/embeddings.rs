//! Embeddings as Parquet: column `nid` with the ids, column `emb` with a list of float32 for each node.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Dense, Ids};

/// Rows of a group: bounds what is held in memory while writing.
const GROUP: usize = 1 << 16;

/// Writes embeddings with their ids. The same content gives the same bytes.
pub fn write_embeddings_parquet(path: &Path, ids: &Ids, embeddings: &Dense) -> Result<()> {
    let mut writer = ParquetEmbeddings::new(path, ids, embeddings.n_cols(), None)?;
    writer.append(embeddings.data())?;
    writer.end()
}

/// Embeddings that are written with their ids some rows at a time; how many at a time changes nothing in the file.
pub struct ParquetEmbeddings<'i> {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    ids: &'i Ids,
    width: usize,
    /// The next node whose row is written.
    next: usize,
    /// Rows of a group that is not whole yet.
    waiting: Vec<f32>,
}

impl<'i> ParquetEmbeddings<'i> {
    /// Rows of this width, one for each id in its order. Where the features did not come from the user, the file's
    /// metadata says from what: `feature_source`.
    pub fn new(path: &Path, ids: &'i Ids, width: usize, source: Option<&str>) -> Result<Self> {
        let open = || -> std::result::Result<_, ParquetError> {
            let properties = WriterProperties::builder()
                .set_compression(Compression::UNCOMPRESSED) // noise does not compress
                .set_dictionary_enabled(false)
                .set_created_by("controlg".to_owned())
                .set_key_value_metadata(
                    source.map(|source| vec![KeyValue::new("feature_source".to_owned(), source.to_owned())]),
                )
                .build();
            SerializedFileWriter::new(File::create(path)?, Arc::new(schema()?), Arc::new(properties))
        };
        let file = open().map_err(|error| writing(path, &error))?;
        Ok(ParquetEmbeddings { path: path.to_owned(), file, ids, width, next: 0, waiting: Vec::new() })
    }

    /// Writes the next rows.
    pub fn append(&mut self, mut rows: &[Real]) -> Result<()> {
        let whole = GROUP * self.width;
        while !rows.is_empty() {
            let (now, rest) = rows.split_at(rows.len().min(whole - self.waiting.len()));
            self.waiting.extend(now.iter().map(|&x| f64::from(x) as f32));
            rows = rest;
            if self.waiting.len() == whole {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Ends the file.
    pub fn end(mut self) -> Result<()> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        self.file.close().map_err(|error| writing(&self.path, &error))?;
        Ok(())
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = self.next..self.next + self.waiting.len() / self.width;
        let values = std::mem::take(&mut self.waiting);
        write_group(&mut self.file, self.ids, &values, self.width, rows.clone())
            .map_err(|error| writing(&self.path, &error))?;
        self.waiting = values;
        self.waiting.clear();
        self.next = rows.end;
        Ok(())
    }
}

fn writing(path: &Path, error: &ParquetError) -> Error {
    Error::Failed(format!("writing {}: {error}", path.display()))
}

fn write_group(
    file: &mut SerializedFileWriter<File>,
    ids: &Ids,
    values: &[f32],
    width: usize,
    rows: std::ops::Range<usize>,
) -> std::result::Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    if let Some(mut column) = group.next_column()? {
        let names: Vec<ByteArray> = rows.map(|node| ByteArray::from(ids.get(node).as_bytes())).collect();
        column.typed::<ByteArrayType>().write_batch(&names, None, None)?;
        column.close()?;
    }
    if let Some(mut column) = group.next_column()? {
        // Every element is there; a row's first starts a new list.
        let defined = vec![1i16; values.len()];
        let repeated: Vec<i16> = (0..values.len()).map(|at| i16::from(at % width != 0)).collect();
        column.typed::<FloatType>().write_batch(values, Some(&defined), Some(&repeated))?;
        column.close()?;
    }
    group.close()?;
    Ok(())
}

fn schema() -> std::result::Result<Type, ParquetError> {
    let ids = Type::primitive_type_builder("nid", Physical::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(ConvertedType::UTF8)
        .build()?;
    let element = Type::primitive_type_builder("element", Physical::FLOAT)
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    let emb = Type::group_type_builder("emb")
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![Arc::new(list)])
        .build()?;
    Type::group_type_builder("schema").with_fields(vec![Arc::new(ids), Arc::new(emb)]).build()
}
