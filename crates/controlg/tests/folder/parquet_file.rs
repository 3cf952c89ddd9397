//! Writes small Parquet files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// A column of a Parquet file.
pub(crate) enum Col<'a> {
    Integers(&'a [i64]),
    Floats(&'a [f64]),
    Text(&'a [&'a str]),
    Lists(&'a [&'a [f32]]),
}

pub(crate) fn write_parquet(path: &Path, compression: Compression, columns: &[(&str, Col<'_>)]) {
    let fields = columns.iter().map(|(name, column)| match column {
        Col::Integers(_) => format!("required int64 {name};"),
        Col::Floats(_) => format!("optional double {name};"),
        Col::Text(_) => format!("required binary {name} (UTF8);"),
        Col::Lists(_) => {
            format!("optional group {name} (LIST) {{ repeated group list {{ optional float element; }} }}")
        }
    });
    let schema = format!("message t {{ {} }}", fields.collect::<String>());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut writer = SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, column) in columns {
        let mut out = group.next_column().unwrap().unwrap();
        match column {
            Col::Integers(values) => {
                out.typed::<Int64Type>().write_batch(values, None, None).unwrap();
            }
            Col::Floats(values) => {
                let def: Vec<i16> = values.iter().map(|x| i16::from(!x.is_nan())).collect();
                let there: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
                out.typed::<DoubleType>().write_batch(&there, Some(&def), None).unwrap();
            }
            Col::Text(values) => {
                let values: Vec<ByteArray> = values.iter().map(|&x| ByteArray::from(x)).collect();
                out.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
            }
            Col::Lists(lists) => {
                let (mut values, mut def, mut rep) = (Vec::new(), Vec::new(), Vec::new());
                for list in *lists {
                    if list.is_empty() {
                        def.push(1);
                        rep.push(0);
                    }
                    for (at, &x) in list.iter().enumerate() {
                        def.push(3);
                        rep.push(i16::from(at > 0));
                        values.push(x);
                    }
                }
                out.typed::<FloatType>().write_batch(&values, Some(&def), Some(&rep)).unwrap();
            }
        }
        out.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}
