//! A small valid graph in each format, as a list of files. Tests break one of the files.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::npz::Npz;

/// The files of a graph: path in the folder, and content.
pub type Files = Vec<(&'static str, Vec<u8>)>;

/// Creates the files of a sample.
pub type MakeSample = fn() -> Files;

/// A valid graph in every format.
pub const SAMPLES: [(&str, MakeSample); 9] = [
    ("planetoid", planetoid),
    ("geom-gcn", geom_gcn),
    ("wiki-cs", wiki_cs),
    ("gnn-benchmark", gnn_benchmark),
    ("heterophilous", heterophilous),
    ("ogb", ogb),
    ("typed-folder", typed_folder),
    ("heco", heco),
    ("magnn", magnn),
];

pub fn write(folder: &Path, files: &Files) {
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Six nodes: four rows in allx, node 5 in the test set, node 4 without features and label.
pub fn planetoid() -> Files {
    let one_hot = |rows: i32, entries: &[i32]| pickle(&pickled_array(&[rows, 2], "i4", &le(entries)));
    let allx = pickled_csr(4, 5, &[0, 1, 3, 3, 4], &[4, 0, 2, 1], &[1.0, 0.5, 1.0, 2.0]);
    vec![
        ("ind.toy.graph", pickled_graph(&[&[1, 2, 1], &[0], &[0, 5], &[3], &[5], &[2, 4]])),
        ("ind.toy.allx", allx),
        ("ind.toy.tx", pickled_csr(1, 5, &[0, 2], &[3, 1], &[7.0, 1.0])),
        ("ind.toy.y", one_hot(2, &[1, 0, 0, 1])),
        ("ind.toy.ally", one_hot(4, &[1, 0, 0, 1, 1, 0, 1, 0])),
        ("ind.toy.ty", one_hot(1, &[0, 1])),
        ("ind.toy.test.index", b"5\n".to_vec()),
        ("geom-gcn-splits/toy_split_0.6_0.2_0.npz", masks([1, 0, 0, 0, 0, 0]).bytes()),
    ]
}

/// Masks of the six nodes: the given training mask, node 1 for validation and node 2 for testing.
pub fn masks(train: [u8; 6]) -> Npz {
    let mask = |entries: [u8; 6]| super::npz::mask(&entries);
    let (val, test) = (mask([0, 1, 0, 0, 0, 0]), mask([0, 0, 1, 0, 0, 0]));
    Npz::new([("train_mask", mask(train)), ("val_mask", val), ("test_mask", test)]).deflated()
}

pub fn geom_gcn() -> Files {
    vec![
        ("out1_graph_edges.txt", b"node_id\tnode_id\n0\t1\n1\t1\n2\t0\n".to_vec()),
        (
            "out1_node_feature_label.txt",
            b"node_id\tfeature\tlabel\n2\t0,0,1\t0\n0\t1,1,0\t1\n1\t0,0,0\t0\n".to_vec(),
        ),
        ("toy_split_0.6_0.2_0.npz", Npz::masks([[1, 0, 0], [0, 1, 0], [0, 0, 1]]).bytes()),
    ]
}

pub fn wiki_cs() -> Files {
    vec![("data.json", WIKI_CS.into())]
}

pub const WIKI_CS: &str = r#"{"features": [[0.5, -1.0], [0.0, 2e-3], [1, 1]], "labels": [1, 0, 1],
"links": [[1, 1, 0], [2], []], "train_masks": [[true, false, false]], "val_masks": [[false, true, false]],
"stopping_masks": [[true, true, true]], "test_mask": [false, false, true]}"#;

pub fn gnn_benchmark() -> Files {
    vec![("toy.npz", Npz::gnn_benchmark().bytes())]
}

pub fn heterophilous() -> Files {
    vec![("toy.npz", Npz::heterophilous().bytes())]
}

pub fn ogb() -> Files {
    vec![
        ("raw/edge.csv.gz", gz(b"0,1\n1,2\n2,1\n")),
        ("raw/node-label.csv.gz", gz(b"0\n1\n0\n")),
        ("raw/num-node-list.csv.gz", gz(b"3\n")),
        ("raw/num-edge-list.csv.gz", gz(b"3\n")),
        ("raw/node-feat.csv", b"0.5,1\n-2,0\n1e-3,4\n".to_vec()),
        ("split/time/train.csv.gz", gz(b"2\n0\n")),
        ("split/time/valid.csv", b"1\n".to_vec()),
        ("split/time/test.csv", b"".to_vec()),
    ]
}

pub fn typed_folder() -> Files {
    vec![
        ("nodes/author.csv", b"id\nann\nbob\n".to_vec()),
        ("nodes/paper.csv", b"id,label,year\np1,x,2001\np2,y,2002\np3,,2003\n".to_vec()),
        ("edges/author-writes-paper.csv", b"src,dst\nann,p1\nbob,p2\n".to_vec()),
        ("edges/paper-cites-paper.csv", b"src,dst\np1,p2\np3,p1\n".to_vec()),
        ("splits.csv", b"id,split\npaper:p1,train\npaper:p2,test\n".to_vec()),
    ]
}

/// A CSR matrix of floats as SciPy saves it.
fn scipy_csr(shape: [i64; 2], indptr: &[i32], indices: &[i32], data: &[f32]) -> Npz {
    Npz::new([
        ("shape", super::npz::i64s(&shape)),
        ("indptr", super::npz::i32s(indptr)),
        ("indices", super::npz::i32s(indices)),
        ("data", super::npz::f32s(data)),
    ])
}

/// Three papers, two authors and two subjects.
pub fn heco() -> Files {
    let papers = scipy_csr([3, 4], &[0, 1, 2, 4], &[0, 2, 1, 3], &[1.0, 1.0, 2.0, 1.0]);
    let authors = Npz::new([
        ("shape", super::npz::i64s(&[2, 3])),
        ("row", super::npz::i32s(&[1, 0])),
        ("col", super::npz::i32s(&[2, 0])),
        ("data", super::npz::f32s(&[1.0, 3.0])),
    ]);
    vec![
        ("pa.txt", b"0\t0\n1\t1\n2\t1\n".to_vec()),
        ("ps.txt", b"0\t1\n1\t0\n2\t0\n".to_vec()),
        ("p_feat.npz", papers.bytes()),
        ("a_feat.npz", authors.bytes()),
        ("labels.npy", super::npz::f32s(&[1.0, 0.0, 1.0])),
        ("train_20.npy", super::npz::i32s(&[0])),
        ("val_20.npy", super::npz::i32s(&[1])),
        ("test_20.npy", super::npz::i32s(&[2])),
    ]
}

/// Two movies, one director and two actors.
pub fn magnn() -> Files {
    let adjacency = scipy_csr([5, 5], &[0, 2, 4, 6, 7, 8], &[2, 3, 2, 4, 0, 1, 0, 1], &[1.0; 8]);
    let features = |rows: i64| {
        let offsets: Vec<i32> = (0..=rows as i32).collect();
        scipy_csr([rows, 2], &offsets, &vec![1; rows as usize], &vec![1.0; rows as usize]).bytes()
    };
    let index = super::npz::i64s;
    let split = Npz::new([("train_idx", index(&[0])), ("val_idx", index(&[])), ("test_idx", index(&[1]))]);
    vec![
        ("adjM.npz", adjacency.bytes()),
        ("node_types.npy", super::npz::i32s(&[0, 0, 1, 2, 2])),
        ("features_0.npz", features(2)),
        ("features_1.npz", features(1)),
        ("features_2.npz", features(2)),
        ("labels.npy", super::npz::i64s(&[0, 1])),
        ("train_val_test_idx.npz", split.bytes()),
    ]
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn le(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A complete pickle with the opcodes of one value.
pub fn pickle(value: &[u8]) -> Vec<u8> {
    [b"\x80\x02", value, b"."].concat()
}

/// The opcodes of a NumPy array as written by Python 2.
pub fn pickled_array(shape: &[i32], dtype: &str, body: &[u8]) -> Vec<u8> {
    let mut ops =
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(".to_vec();
    shape.iter().for_each(|extent| ops.extend([&b"J"[..], &extent.to_le_bytes()].concat()));
    ops.extend(b"tcnumpy\ndtype\nU\x02");
    ops.extend(dtype.as_bytes());
    ops.extend(b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T");
    ops.extend((body.len() as u32).to_le_bytes());
    ops.extend(body);
    ops.extend(b"tb");
    ops
}

pub fn pickled_csr(rows: u8, columns: u8, indptr: &[i32], indices: &[i32], data: &[f32]) -> Vec<u8> {
    let floats: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let parts = [
        &b"cscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06formatU\x03csrU\x06_shape"[..],
        &[b'K', rows, b'K', columns, 0x86],
        b"U\x06indptr",
        &pickled_array(&[indptr.len() as i32], "i4", &le(indptr)),
        b"U\x07indices",
        &pickled_array(&[indices.len() as i32], "i4", &le(indices)),
        b"U\x04data",
        &pickled_array(&[data.len() as i32], "f4", &floats),
        b"ub",
    ];
    pickle(&parts.concat())
}

pub fn pickled_graph(lists: &[&[i32]]) -> Vec<u8> {
    let mut ops = b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(".to_vec();
    for (node, list) in lists.iter().enumerate() {
        ops.extend([b'K', node as u8]);
        ops.extend(b"](");
        list.iter().for_each(|x| ops.extend([&b"J"[..], &x.to_le_bytes()].concat()));
        ops.push(b'e');
    }
    ops.push(b'u');
    pickle(&ops)
}
