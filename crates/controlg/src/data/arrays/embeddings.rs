//! Embeddings as Parquet: a column `nid` of ids and a column `emb` with a list of float32 per node.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
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
use crate::files;
use crate::graph::{Dense, Ids};

/// Rows per row group; bounds the memory needed for writing.
pub(crate) const ROW_GROUP: usize = 1 << 16;
/// Values that the Parquet writer takes at a time, rounded up to whole rows; its default.
const WRITE_BATCH: usize = 1024;
/// Batches per call.
const BATCHES: usize = 64;

/// The writer named at the end of the file.
const WRITER: &str = "controlg";

/// Whether a Parquet file was written by controlg. Looks at its last bytes only, where the writer is named.
pub fn is_own_parquet(path: &Path) -> bool {
    let tail = || -> std::io::Result<Vec<u8>> {
        let mut file = files::open(path).map_err(std::io::Error::other)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(64)))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        Ok(tail)
    };
    let tail = tail().unwrap_or_default();
    tail.ends_with(b"PAR1") && tail.windows(WRITER.len()).any(|part| part == WRITER.as_bytes())
}

/// Writes embeddings with their ids. Equal content gives equal bytes.
pub fn write_embeddings_parquet(path: &Path, ids: &Ids, embeddings: &Dense) -> Result<()> {
    let mut writer = ParquetEmbeddings::new(path, ids, embeddings.n_cols(), None)?;
    writer.append(embeddings.data())?;
    writer.finish()
}

/// Writes embeddings with their ids incrementally. The size of the batches does not affect the file.
pub struct ParquetEmbeddings<'i> {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    ids: &'i Ids,
    width: usize,
    /// The next node to write.
    next: usize,
    /// Rows of the incomplete row group.
    pending: Vec<f32>,
}

impl<'i> ParquetEmbeddings<'i> {
    /// Creates the file for one row of `width` values per id. `source` is stored as `feature_source` in the metadata; it
    /// is set if the features were computed.
    pub fn new(path: &Path, ids: &'i Ids, width: usize, source: Option<&str>) -> Result<Self> {
        let open = || -> std::result::Result<_, ParquetError> {
            let properties = WriterProperties::builder()
                .set_compression(Compression::UNCOMPRESSED) // embeddings hardly compress
                .set_dictionary_enabled(false)
                .set_write_batch_size(WRITE_BATCH)
                .set_created_by(WRITER.to_owned())
                .set_key_value_metadata(
                    source.map(|source| vec![KeyValue::new("feature_source".to_owned(), source.to_owned())]),
                )
                .build();
            SerializedFileWriter::new(File::create(path)?, Arc::new(schema()?), Arc::new(properties))
        };
        let file = open().map_err(|error| writing(path, &error))?;
        Ok(ParquetEmbeddings { path: path.to_owned(), file, ids, width, next: 0, pending: Vec::new() })
    }

    /// Appends rows.
    pub fn append(&mut self, mut rows: &[Real]) -> Result<()> {
        let group = ROW_GROUP * self.width;
        while !rows.is_empty() {
            let (now, rest) = rows.split_at(rows.len().min(group - self.pending.len()));
            self.pending.extend(now.iter().map(|&x| f64::from(x) as f32));
            rows = rest;
            if self.pending.len() == group {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.write_group()?;
        }
        self.file.close().map_err(|error| writing(&self.path, &error))?;
        Ok(())
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = self.next..self.next + self.pending.len() / self.width;
        let values = std::mem::take(&mut self.pending);
        write_group(&mut self.file, self.ids, &values, self.width, rows.clone())
            .map_err(|error| writing(&self.path, &error))?;
        self.pending = values;
        self.pending.clear();
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
        // No element is null; the first element of a row starts a new list.
        // The writer forms pages of whole batches: pieces of whole batches give the same bytes as one call, with less memory.
        let batch = WRITE_BATCH.next_multiple_of(width);
        let len = values.len().min(BATCHES * batch);
        let defined = vec![1i16; len];
        let repeated: Vec<i16> = (0..len).map(|at| i16::from(at % width != 0)).collect();
        for piece in values.chunks(len.max(1)) {
            let levels = ..piece.len();
            column.typed::<FloatType>().write_batch(
                piece,
                Some(&defined[levels]),
                Some(&repeated[levels]),
            )?;
        }
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
