//! Loads arbitrary bytes as the files of a graph, a record or a model. The only failure allowed is a one-line input error.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Once;

use controlg::data::{FeatureSource, load_path};
use serde_json::Value;
use sha2::Digest;

mod folder;

use folder::Folder;

// The small valid graphs that the tests break.
#[path = "../../crates/controlg/tests/common/npz.rs"]
pub mod npz;
#[path = "../../crates/controlg/tests/common/samples.rs"]
pub mod samples;

/// The files of a graph in each data format. What comes after `.npz/` is a member of that archive.
pub const FORMATS: [(&str, &[&str]); 14] = [
    (
        "planetoid",
        &[
            "ind.toy.graph",
            "ind.toy.allx",
            "ind.toy.tx",
            "ind.toy.y",
            "ind.toy.ally",
            "ind.toy.ty",
            "ind.toy.test.index",
            "ind.toy.x",
        ],
    ),
    ("geom_gcn", &["out1_graph_edges.txt", "out1_node_feature_label.txt", "toy_split_0.6_0.2_0.npz"]),
    ("wikics", &["data.json"]),
    (
        "gnn_benchmark",
        &[
            "toy.npz/adj_data",
            "toy.npz/adj_indices",
            "toy.npz/adj_indptr",
            "toy.npz/adj_shape",
            "toy.npz/attr_data",
            "toy.npz/attr_indices",
            "toy.npz/attr_indptr",
            "toy.npz/attr_shape",
            "toy.npz/labels",
            "toy.npz/node_names",
            "toy.npz/class_names",
        ],
    ),
    (
        "heterophilous",
        &[
            "toy.npz/node_features",
            "toy.npz/node_labels",
            "toy.npz/edges",
            "toy.npz/train_masks",
            "toy.npz/val_masks",
            "toy.npz/test_masks",
        ],
    ),
    ("archive", &["toy.npz"]),
    (
        "ogb",
        &[
            "raw/edge.csv",
            "raw/node-feat.csv",
            "raw/node-label.csv",
            "raw/num-node-list.csv",
            "split/time/train.csv",
            "split/time/valid.csv",
            "split/time/test.csv",
        ],
    ),
    ("folder", &["edges.csv", "features.csv", "labels.csv", "splits.csv"]),
    ("parquet", &["edges.parquet"]),
    (
        "typed_folder",
        &[
            "nodes/author.csv",
            "nodes/paper.csv",
            "edges/author-writes-paper.csv",
            "edges/paper-cites-paper.csv",
            "splits.csv",
        ],
    ),
    (
        "heco",
        &[
            "pa.txt",
            "ps.txt",
            "p_feat.npz",
            "a_feat.npz",
            "labels.npy",
            "train_20.npy",
            "val_20.npy",
            "test_20.npy",
        ],
    ),
    (
        "magnn",
        &[
            "adjM.npz",
            "node_types.npy",
            "features_0.npz",
            "features_1.npz",
            "features_2.npz",
            "labels.npy",
            "train_val_test_idx.npz",
        ],
    ),
    ("graphstorm", &["graph.json", "author.csv", "paper.csv", "writes.csv"]),
    ("binary", &["graph.json", "adjacency.offsets.u64", "adjacency.columns.u32", "features.f32"]),
];

thread_local! {
    static FOLDER: RefCell<Folder> = RefCell::default();
}

/// Splits the bytes into one piece per file of the format, writes the pieces into a folder and loads it.
pub fn load(format: &str, bytes: &[u8]) {
    static ONE_THREAD: Once = Once::new();
    ONE_THREAD.call_once(|| {
        // Waking other threads for graphs of a few nodes takes longer than loading them.
        rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("one pool");
    });
    let files = FORMATS.iter().find(|known| known.0 == format).expect("a known format").1;
    let Some(pieces) = split(files.len(), bytes) else { return };
    FOLDER.with_borrow_mut(|folder| {
        let mut members = Vec::new();
        for (file, piece) in files.iter().zip(&pieces) {
            match file.split_once(".npz/") {
                // An empty member is left out.
                Some(_) if piece.is_empty() => {}
                Some((_, member)) => members.push((member.to_owned(), piece.to_vec())),
                None if *file == "graph.json" && format == "binary" => {
                    folder.write(file, &with_true_hashes(files, &pieces));
                }
                None => folder.write(file, piece),
            }
        }
        if !members.is_empty() {
            let method = zip::CompressionMethod::Stored;
            folder.write("toy.npz", &npz::Npz { members, method }.bytes());
        }
        // A single file is recognized by itself and in its folder; a description of tables by itself.
        let by_itself = format == "graphstorm" || (files.len() == 1 && bytes.len() % 2 == 0);
        check(&if by_itself { folder.path().join(files[0]) } else { folder.path().to_owned() });
    });
}

/// The header of a binary folder with the sizes and hashes that the files have, which would else hide all other damage.
fn with_true_hashes(files: &[&str], pieces: &[&[u8]]) -> Vec<u8> {
    let Ok(mut header) = serde_json::from_slice::<Value>(pieces[0]) else { return pieces[0].to_vec() };
    for (file, piece) in files.iter().zip(pieces).skip(1) {
        if let Some(info) =
            header.get_mut("files").and_then(|known| known.get_mut(file)).and_then(Value::as_object_mut)
        {
            info.insert("bytes".into(), piece.len().into());
            let hash = sha2::Sha256::digest(piece);
            info.insert(
                "sha256".into(),
                hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
            );
        }
    }
    header.to_string().into_bytes()
}

/// Pieces for so many files: their lengths, two bytes for each but the last, come before them. Too long a length takes all
/// that is left.
fn split(n_files: usize, bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (lengths, mut rest) = bytes.split_at_checked(2 * (n_files - 1))?;
    let mut pieces = Vec::new();
    for length in lengths.chunks_exact(2) {
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        let (piece, tail) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    pieces.push(rest);
    Some(pieces)
}

/// The bytes that [`load`] splits into these pieces.
pub fn join(pieces: &[Vec<u8>]) -> Vec<u8> {
    let lengths = pieces.iter().take(pieces.len() - 1);
    let lengths = lengths.flat_map(|piece| u16::try_from(piece.len()).expect("a short piece").to_le_bytes());
    lengths.chain(pieces.concat()).collect()
}

fn check(path: &Path) {
    if let Err(error) = load_path(path, FeatureSource::Given) {
        check_message(&error);
    }
}

/// An error about input, in one line of bounded length.
pub fn check_message(error: &controlg::Error) {
    let message = error.to_string();
    assert!(!message.contains('\n') && message.len() < 8192, "{message}");
    assert_eq!(error.exit_code(), 2, "{message}");
}
