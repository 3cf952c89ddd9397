//! All benchmark formats: real data sets against published statistics and an independent reader, and small files
//! written here.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

use controlg::data::arrays::write_csr_npz;
use controlg::data::{Dataset, FeatureSource, LoadOptions, catalog, fetch, load, load_path};
use controlg::graph::{Csr, Features, stats};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// Published statistics of a data set. Splits are (protocol, number of splits, sizes).
struct Counts {
    name: &'static str,
    format: &'static str,
    nodes: usize,
    edges: usize,
    self_loops: usize,
    features: usize,
    classes: usize,
    homophily: &'static str,
    isolated: usize,
    splits: &'static [(&'static str, usize, [usize; 3])],
}

const COUNTS: [Counts; 7] = [
    Counts {
        name: "cora",
        format: "planetoid",
        nodes: 2708,
        edges: 5278,
        self_loops: 0,
        features: 1433,
        classes: 7,
        homophily: "0.8100",
        isolated: 0,
        splits: &[("planetoid-public", 1, [140, 500, 1000]), ("geomgcn-10", 10, [1192, 796, 497])],
    },
    Counts {
        name: "citeseer",
        format: "planetoid",
        nodes: 3327,
        edges: 4552,
        self_loops: 124,
        features: 3703,
        classes: 6,
        homophily: "0.7355",
        isolated: 48,
        splits: &[
            ("planetoid-public", 1, [120, 500, 1000]),
            ("geomgcn-10", 4, [1596, 1065, 666]),
            ("geomgcn-10", 2, [1017, 679, 424]),
            ("geomgcn-10", 4, [1596, 1065, 666]),
        ],
    },
    Counts {
        name: "pubmed",
        format: "planetoid",
        nodes: 19717,
        edges: 44324,
        self_loops: 3,
        features: 500,
        classes: 3,
        homophily: "0.8024",
        isolated: 0,
        splits: &[("planetoid-public", 1, [60, 500, 1000]), ("geomgcn-10", 10, [9463, 6310, 3944])],
    },
    Counts {
        name: "chameleon",
        format: "geom-gcn",
        nodes: 2277,
        edges: 31371,
        self_loops: 50,
        features: 2325,
        classes: 5,
        homophily: "0.2299",
        isolated: 0,
        splits: &[("geomgcn-10", 10, [1092, 729, 456])],
    },
    Counts {
        name: "squirrel",
        format: "geom-gcn",
        nodes: 5201,
        edges: 198353,
        self_loops: 140,
        features: 2089,
        classes: 5,
        homophily: "0.2221",
        isolated: 0,
        splits: &[("geomgcn-10", 10, [2496, 1664, 1041])],
    },
    Counts {
        name: "actor",
        format: "geom-gcn",
        nodes: 7600,
        edges: 26659,
        self_loops: 93,
        features: 932,
        classes: 5,
        homophily: "0.2167",
        isolated: 0,
        splits: &[("geomgcn-10", 10, [3648, 2432, 1520])],
    },
    Counts {
        name: "coauthor-cs",
        format: "gnn-benchmark",
        nodes: 18333,
        edges: 81894,
        self_loops: 0,
        features: 6805,
        classes: 15,
        homophily: "0.8081",
        isolated: 0,
        splits: &[],
    },
];

#[test]
fn real_data_sets_have_the_published_statistics() {
    let Some(data) = common::real_data("real_data_sets_have_the_published_statistics") else {
        return;
    };
    for counts in &COUNTS {
        let start = std::time::Instant::now();
        let set = load_path(&data.join(counts.name), FeatureSource::Given).unwrap();
        eprintln!("{} in {:.3} s", counts.name, start.elapsed().as_secs_f64());
        check_counts(&set, counts);
    }
}

fn check_counts(set: &Dataset, counts: &Counts) {
    let name = counts.name;
    let labels = set.labels.as_ref().unwrap();
    let homophily = stats::homophily(&set.graph, |node| labels.get(node)).unwrap();
    assert_eq!(set.format, counts.format, "{name}");
    assert_eq!(set.graph.n_nodes(), counts.nodes, "{name}");
    assert_eq!(set.graph.n_edges(), counts.edges, "{name}");
    assert_eq!(set.edge_counts.self_loops, counts.self_loops, "{name}");
    assert_eq!(set.graph.n_features(), counts.features, "{name}");
    assert!(matches!(set.graph.features(), Features::Sparse(_)), "{name}");
    assert_eq!(labels.n_classes(), counts.classes, "{name}");
    assert_eq!(format!("{homophily:.4}"), counts.homophily, "{name}");
    assert_eq!(stats::isolated(&set.graph), counts.isolated, "{name}");
    let expected: Vec<(&str, [usize; 3])> =
        counts.splits.iter().flat_map(|&(protocol, n, sizes)| vec![(protocol, sizes); n]).collect();
    let found: Vec<(&str, [usize; 3])> = set
        .splits
        .iter()
        .map(|split| (&split.protocol[..], [split.train.len(), split.val.len(), split.test.len()]))
        .collect();
    assert_eq!(found, expected, "{name}");
    for split in &set.splits {
        let rank =
            set.splits.iter().filter(|s| s.protocol == split.protocol && s.index < split.index).count();
        assert_eq!(split.index, rank, "{name}: splits are numbered from 0");
    }
}

#[test]
fn planetoid_nodes_match_an_independent_reader() {
    let Some(data) = common::real_data("planetoid_nodes_match_an_independent_reader") else {
        return;
    };
    let fixture: Value = serde_json::from_str(include_str!("fixtures/planetoid.json")).unwrap();
    for (name, expected) in fixture.as_object().unwrap() {
        let set = load_path(&data.join(name), FeatureSource::Given).unwrap();
        let labels = set.labels.as_ref().unwrap();
        for node in expected["nodes"].as_array().unwrap() {
            let at = node["node"].as_u64().unwrap() as usize;
            let row = set.graph.features().row(at);
            let sum: f64 = row.iter().map(|&(_, x)| f64::from(x)).sum();
            let column_sum: f64 = row.iter().map(|&(column, x)| f64::from(column + 1) * f64::from(x)).sum();
            assert_eq!(row.len() as u64, node["feature_count"].as_u64().unwrap(), "{name} {at}");
            assert_close(sum, &node["feature_sum"]);
            assert_close(column_sum, &node["column_sum"]);
            assert_eq!(json!(labels.classes()[at]), node["class"], "{name} {at}");
            assert_eq!(json!(set.graph.neighbors(at)), node["neighbors"], "{name} {at}");
        }
        assert_eq!(set.graph.features().n_nonzeros() as u64, expected["feature_count"].as_u64().unwrap());
        let n_bare = expected["bare"].as_array().unwrap().len();
        let noted =
            set.notes.iter().any(|note| note.starts_with(&format!("{n_bare} nodes have no features")));
        assert_eq!(noted, n_bare > 0, "{name}: {:?}", set.notes);

        let count = |nodes: &[u32]| {
            let mut counts = vec![0; labels.n_classes()];
            nodes.iter().for_each(|&node| counts[labels.classes()[node as usize] as usize] += 1);
            json!(counts)
        };
        let all: Vec<u32> = (0..set.graph.n_nodes() as u32).collect();
        let public = &set.splits[0];
        assert_eq!(
            json!({"all": count(&all), "train": count(&public.train), "val": count(&public.val), "test": count(&public.test)}),
            expected["label_counts"],
            "{name}"
        );
    }
}

fn assert_close(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
}

#[test]
fn arxiv_without_features_loads_with_structural_ones_or_names_the_missing_file() {
    let name = "arxiv_without_features_loads_with_structural_ones_or_names_the_missing_file";
    let Some(data) = common::real_data(name) else { return };
    let folder = data.join("ogbn-arxiv");
    let start = std::time::Instant::now();
    let set = load_path(&folder, FeatureSource::Structural).unwrap();
    eprintln!("ogbn-arxiv without features in {:.3} s", start.elapsed().as_secs_f64());
    let labels = set.labels.as_ref().unwrap();
    assert_eq!((set.graph.n_nodes(), set.graph.n_edges(), labels.n_classes()), (169_343, 1_157_799, 40));
    let homophily = stats::homophily(&set.graph, |node| labels.get(node)).unwrap();
    assert_eq!(format!("{homophily:.4}"), "0.6542");
    let [split] = &set.splits[..] else { panic!("one split") };
    assert_eq!(split.protocol, "ogb-time");
    assert_eq!([split.train.len(), split.val.len(), split.test.len()], [90_941, 29_799, 48_603]);
    if !folder.join("raw/node-feat.csv.gz").exists() {
        let error = load_path(&folder, FeatureSource::Given).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.exit_code(), 2);
        for part in ["raw/node-feat.csv.gz", "no such file", "snap.stanford.edu", "--features structural"] {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn a_small_wiki_cs_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = json!({
        "features": [[0.5, -1.0], [0.0, 2e-3], [1, 1]],
        "labels": [1, 0, 1],
        "links": [[1, 1, 0], [2], []],
        "train_masks": [[true, false, false], [false, true, false]],
        "stopping_masks": [[false, false, false], [false, false, false]],
        "val_masks": [[false, true, false], [true, false, false]],
        "test_mask": [false, false, true],
    });
    let file = folder.path().join("data.json");
    fs::write(&file, data.to_string()).unwrap();
    for path in [folder.path(), &file] {
        let set = load_path(path, FeatureSource::Given).unwrap();
        assert_eq!((set.format, set.graph.n_nodes(), set.graph.n_edges()), ("wiki-cs", 3, 2));
        assert_eq!((set.edge_counts.self_loops, set.edge_counts.duplicates), (1, 1));
        assert_eq!(set.graph.features().row(1), [(1, 2e-3)]);
        assert_eq!(set.labels.unwrap().classes(), [1, 0, 1]);
        let splits: Vec<_> =
            set.splits.iter().map(|s| (&s.protocol[..], s.index, &s.train[..], &s.val[..])).collect();
        assert_eq!(splits, [("wikics-20", 0, &[0][..], &[1][..]), ("wikics-20", 1, &[1], &[0])]);
        assert!(set.splits.iter().all(|split| split.test == [2]));
    }
}

#[test]
fn a_small_ogb_folder_is_read_compressed_and_plain() {
    for packed in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| put_csv(folder.path(), name, text, packed);
        put("raw/edge", "0,1\n1,2\n2,1\n");
        put("raw/node-label", "0\n1\n0\n");
        put("raw/num-node-list", "3\n");
        put("raw/num-edge-list", "3\n");
        put("raw/node-feat", "0.5,1\n-2,0\n1e-3,4\n");
        put("split/time/train", "2\n0\n");
        put("split/time/valid", "1\n");
        put("split/time/test", "");
        put("split/random/train", "1\n");
        put("split/random/valid", "");
        put("split/random/test", "0\n2\n");
        let set = load_path(folder.path(), FeatureSource::Given).unwrap();
        assert_eq!((set.format, set.graph.n_nodes(), set.graph.n_edges()), ("ogb", 3, 2));
        assert_eq!(set.graph.features().row(2), [(0, 1e-3), (1, 4.0)]);
        let splits: Vec<_> =
            set.splits.iter().map(|s| (&s.protocol[..], &s.train[..], &s.test[..])).collect();
        assert_eq!(splits, [("ogb-random", &[1][..], &[0, 2][..]), ("ogb-time", &[0, 2], &[])]);
        let structural = load_path(folder.path(), FeatureSource::Structural).unwrap();
        assert!(structural.notes.iter().any(|note| note.contains("structural")), "{:?}", structural.notes);
    }
}

fn put_csv(folder: &Path, name: &str, text: &str, packed: bool) {
    let path = folder.join(if packed { format!("{name}.csv.gz") } else { format!("{name}.csv") });
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if packed {
        let mut file = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
        file.write_all(text.as_bytes()).unwrap();
        file.finish().unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_small_gnn_benchmark_archive_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.npz");
    common::npz::Npz::gnn_benchmark().write(&file);
    for path in [folder.path(), &file] {
        let set = load_path(path, FeatureSource::Given).unwrap();
        assert_eq!((set.format, set.graph.n_nodes(), set.graph.n_edges()), ("gnn-benchmark", 3, 2));
        assert_eq!(set.graph.features().row(2), [(0, 2.0), (3, 5.0)]);
        assert_eq!(set.labels.unwrap().classes(), [0, 1, 1]);
        assert_eq!((0..3).map(|i| set.graph.ids().get(i).into_owned()).collect::<Vec<_>>(), ["a", "bc", "d"]);
    }
}

#[test]
fn a_small_heterophilous_archive_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("chameleon-filtered");
    fs::create_dir(&home).unwrap();
    let file = home.join("chameleon_filtered.npz");
    common::npz::Npz::heterophilous().deflated().write(&file);
    let options = LoadOptions { data_dir: Some(folder.path().to_owned()), ..LoadOptions::default() };
    let by_name = load("chameleon-filtered", &options).unwrap();
    assert!(by_name.notes.is_empty(), "{:?}", by_name.notes);
    let by_path = [home.as_path(), &file].map(|path| load_path(path, FeatureSource::Given).unwrap());
    for set in by_path.into_iter().chain([by_name]) {
        assert_eq!((set.format, set.graph.n_nodes(), set.graph.n_edges()), ("heterophilous", 4, 3));
        assert!(matches!(set.graph.features(), Features::Sparse(_)), "most values are zero");
        assert_eq!(set.graph.features().row(3), [(0, 0.5), (2, 1.0)]);
        assert_eq!(set.labels.unwrap().classes(), [0, 1, 1, 0]);
        let splits: Vec<_> = set.splits.iter().map(|s| (&s.train[..], &s.val[..], &s.test[..])).collect();
        assert_eq!(splits, [(&[0, 1][..], &[2][..], &[3][..]), (&[2, 3], &[0], &[1])]);
        assert!(set.splits.iter().all(|split| split.protocol == "platonov-10"));
    }
    // Structural features do not read those of the archive; without masks there are no splits.
    let mut archive = common::npz::Npz::heterophilous();
    archive.members.retain(|(name, _)| !name.contains("masks") && !name.contains("features"));
    archive.write(&file);
    let set = load_path(&file, FeatureSource::Structural).unwrap();
    assert_eq!((set.format, set.splits.len(), set.graph.n_edges()), ("heterophilous", 0, 3));
    // A missing file is named with its source; without a checksum it is not downloaded.
    let error = load("squirrel-filtered", &options).unwrap_err().to_string();
    assert!(error.contains("squirrel_filtered.npz") && error.contains("download https://"), "{error}");
    assert!(!error.contains("data fetch"), "{error}");
    let known = catalog::find("squirrel-filtered").unwrap();
    let error = fetch::fetch(known, folder.path(), &fetch::FetchOptions::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("no checksum"), "{error}");
    let kept = fetch::fetch(
        catalog::find("chameleon-filtered").unwrap(),
        folder.path(),
        &fetch::FetchOptions::default(),
        &mut |_| {},
    );
    assert_eq!(kept.unwrap().kept, ["chameleon_filtered.npz"]);
}

#[test]
fn a_small_geom_gcn_folder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("out1_graph_edges.txt"), "node_id\tnode_id\n0\t1\n1\t1\n2\t0\n").unwrap();
    let nodes = "node_id\tfeature\tlabel\n2\t3,1\t0\n0\t7\t1\n1\t0,2,5\t0\n";
    fs::write(folder.path().join("out1_node_feature_label.txt"), nodes).unwrap();
    for index in [1, 0] {
        let masks = [[1, 0, 0], [0, 1, 0], [0, 0, 0]];
        common::npz::Npz::masks(masks).write(&folder.path().join(format!("toy_split_0.6_0.2_{index}.npz")));
    }
    let set = load_path(folder.path(), FeatureSource::Given).unwrap();
    assert_eq!(
        (set.format, set.graph.n_edges(), set.edge_counts.self_loops, set.graph.n_features()),
        ("geom-gcn", 2, 1, 8)
    );
    assert_eq!(set.graph.features().row(2), [(1, 1.0), (3, 1.0)]);
    assert_eq!(set.labels.unwrap().classes(), [1, 0, 0]);
    let splits: Vec<_> =
        set.splits.iter().map(|s| (s.index, &s.train[..], &s.val[..], s.test.len())).collect();
    assert_eq!(splits, [(0, &[0][..], &[1][..], 0), (1, &[0], &[1], 0)]);
}

#[test]
fn a_written_sparse_matrix_has_the_layout_of_scipy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("features.npz");
    write_csr_npz(&path, &Csr::new(4, vec![0, 1, 3], vec![3, 0, 1], Some(vec![1.0, 2.0, 0.5])).unwrap())
        .unwrap();
    let mut file = controlg::data::arrays::NpzFile::open(&path).unwrap();
    let mut names = file.names().to_vec();
    names.sort();
    assert_eq!(names, ["data", "format", "indices", "indptr", "shape"]);
    assert_eq!(file.array("shape").unwrap().to_integers().unwrap(), [2, 4]);
    assert_eq!(file.csr("").unwrap().row(1), [0, 1]);
}
