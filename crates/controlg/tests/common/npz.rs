//! Hand-made array files, valid and invalid.

use std::io::{Cursor, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The bytes of a `.npy` with this header, which need not match the body.
pub fn npy(descr: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), body].concat()
}

pub fn i32s(numbers: &[i32]) -> Vec<u8> {
    let body: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy("<i4", &format!("({},)", numbers.len()), &body)
}

pub fn i64s(numbers: &[i64]) -> Vec<u8> {
    let body: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy("<i8", &format!("({},)", numbers.len()), &body)
}

pub fn f32s(numbers: &[f32]) -> Vec<u8> {
    let body: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy("<f4", &format!("({},)", numbers.len()), &body)
}

pub fn mask(entries: &[u8]) -> Vec<u8> {
    npy("|u1", &format!("({},)", entries.len()), entries)
}

/// An archive of arrays.
#[derive(Clone)]
pub struct Npz {
    pub members: Vec<(String, Vec<u8>)>,
    pub method: CompressionMethod,
}

impl Npz {
    /// A path graph of three nodes with four features, labels, names and a pickled object array.
    pub fn gnn_benchmark() -> Self {
        let names: Vec<u8> = ["a\0", "bc", "d\0"].iter().flat_map(|name| name.bytes()).collect();
        Npz::new([
            ("adj_data", f32s(&[1.0; 4])),
            ("adj_indices", i32s(&[1, 0, 2, 1])),
            ("adj_indptr", i32s(&[0, 1, 3, 4])),
            ("adj_shape", i64s(&[3, 3])),
            ("attr_data", f32s(&[1.0, 5.0, 2.0])),
            ("attr_indices", i32s(&[1, 3, 0])),
            ("attr_indptr", i32s(&[0, 1, 1, 3])),
            ("attr_shape", i64s(&[3, 4])),
            ("labels", i64s(&[0, 1, 1])),
            ("node_names", npy("|S2", "(3,)", &names)),
            ("class_names", npy("|O", "(2,)", b"\x80\x02cos\nsystem\n.")),
        ])
    }

    /// A path graph of four nodes in the layout of heterophilous-graphs: three features, two classes, two splits.
    pub fn heterophilous() -> Self {
        let features: Vec<u8> = [1.0f32, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let edges: Vec<u8> = [0i64, 1, 1, 2, 3, 2].iter().flat_map(|x| x.to_le_bytes()).collect();
        let masks = |entries: [u8; 8]| npy("|b1", "(2, 4)", &entries);
        Npz::new([
            ("node_features", npy("<f4", "(4, 3)", &features)),
            ("node_labels", i64s(&[0, 1, 1, 0])),
            ("edges", npy("<i8", "(3, 2)", &edges)),
            ("train_masks", masks([1, 1, 0, 0, 0, 0, 1, 1])),
            ("val_masks", masks([0, 0, 1, 0, 1, 0, 0, 0])),
            ("test_masks", masks([0, 0, 0, 1, 0, 1, 0, 0])),
        ])
    }

    pub fn masks(masks: [[u8; 3]; 3]) -> Self {
        let [train, val, test] = masks.map(|entries| mask(&entries));
        Npz::new([("train_mask", train), ("val_mask", val), ("test_mask", test)]).deflated()
    }

    pub fn new<const N: usize>(members: [(&str, Vec<u8>); N]) -> Self {
        let members = members.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        Npz { members, method: CompressionMethod::Stored }
    }

    pub fn deflated(self) -> Self {
        Npz { method: CompressionMethod::Deflated, ..self }
    }

    /// Replaces or adds a member.
    pub fn with(mut self, name: &str, bytes: Vec<u8>) -> Self {
        self.members.retain(|(known, _)| known != name);
        self.members.push((name.to_owned(), bytes));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.members.retain(|(known, _)| known != name);
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(self.method);
        for (name, bytes) in &self.members {
            archive.start_file(format!("{name}.npy"), options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.bytes()).unwrap();
    }
}
