//! Embeddings as Parquet: column `nid` with the ids, column `emb` with a list of float32 for each node.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::error::{Error, Result};
use crate::graph::{Dense, Ids};

/// Rows of a group: bounds what is held in memory while writing.
const GROUP: usize = 1 << 16;

/// Writes embeddings with their ids. The same content gives the same bytes.
pub fn write_embeddings_parquet(path: &Path, ids: &Ids, embeddings: &Dense) -> Result<()> {
    let write = || -> std::result::Result<(), ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED) // noise does not compress
            .set_dictionary_enabled(false)
            .set_created_by("controlg".to_owned())
            .build();
        let mut file =
            SerializedFileWriter::new(File::create(path)?, Arc::new(schema()?), Arc::new(properties))?;
        for first in (0..embeddings.n_rows()).step_by(GROUP) {
            write_group(&mut file, ids, embeddings, first..embeddings.n_rows().min(first + GROUP))?;
        }
        file.close()?;
        Ok(())
    };
    write().map_err(|error| Error::Failed(format!("writing {}: {error}", path.display())))
}

fn write_group(
    file: &mut SerializedFileWriter<File>,
    ids: &Ids,
    embeddings: &Dense,
    rows: std::ops::Range<usize>,
) -> std::result::Result<(), ParquetError> {
    let width = embeddings.n_cols();
    let mut group = file.next_row_group()?;
    if let Some(mut column) = group.next_column()? {
        let names: Vec<ByteArray> = rows.clone().map(|node| ByteArray::from(ids.get(node).as_bytes())).collect();
        column.typed::<ByteArrayType>().write_batch(&names, None, None)?;
        column.close()?;
    }
    if let Some(mut column) = group.next_column()? {
        let values: Vec<f32> = embeddings.data()[rows.start * width..rows.end * width]
            .iter()
            .map(|&x| f64::from(x) as f32)
            .collect();
        // Every element is there; a row's first starts a new list.
        let defined = vec![1i16; values.len()];
        let repeated: Vec<i16> = (0..values.len()).map(|at| i16::from(at % width != 0)).collect();
        column.typed::<FloatType>().write_batch(&values, Some(&defined), Some(&repeated))?;
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
