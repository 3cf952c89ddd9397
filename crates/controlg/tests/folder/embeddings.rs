//! Embeddings matched to nodes by id.

use parquet::basic::Compression;

use super::folder;
use super::parquet_file::{Col, write_parquet};

#[test]
fn embeddings_in_parquet_are_matched_by_nid() {
    let folder = folder(&[]);
    let path = folder.path().join("embeddings.parquet");
    let lists: [&[f32]; 2] = [&[1.0, 2.0], &[3.0, 4.0]];
    let columns = [("nid", Col::Text(&["x", "y"])), ("emb", Col::Lists(&lists))];
    write_parquet(&path, Compression::UNCOMPRESSED, &columns);
    let ids = controlg::graph::Ids::from_names(["y", "x"].map(str::to_owned).to_vec());
    let embeddings = controlg::data::read_embeddings(&path, &ids, "mine").unwrap();
    assert_eq!(embeddings.row(0), [(0, 3.0), (1, 4.0)]);
    let ids = controlg::graph::Ids::from_names(["y", "z"].map(str::to_owned).to_vec());
    let error = controlg::data::read_embeddings(&path, &ids, "mine").unwrap_err().to_string();
    assert!(error.ends_with("row 1: found node 'x', expected an id listed in mine"), "{error}");
}
