//! Evaluation compared with scikit-learn (`fixtures/eval.json`) and with published results, and on invalid input.
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

mod common;

use std::fs;

use common::npz::{Npz, f32s, i64s, npy};
use controlg::data::{self, EdgeSplit, LoadOptions, Split, read_embeddings};
use controlg::eval::{
    EmbeddingNormalization, Probe, ProbeSettings, evaluate_cluster, evaluate_lp, evaluate_nc, floors, kmeans,
    metrics, quality, ranks, stats, validate_cluster,
};
use controlg::graph::{EdgeList, Features, Graph, Ids};
use controlg::rng::Stream;
use controlg::{Labels, Real};
use serde_json::Value;

fn fixture(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("fixtures/eval.json")).unwrap();
    all[part].as_array().unwrap().clone()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn integers(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as u32).collect()
}

fn rows(case: &Value) -> Features {
    let data: Vec<Real> = floats(&case["rows"]).iter().map(|x| (x / 64.0) as Real).collect();
    let width = case["width"].as_u64().unwrap() as usize;
    Features::dense(data.len() / width, width, data).unwrap()
}

/// The best fit on validation; ties go to the larger penalty.
fn best(case: &Value) -> &Value {
    let fits = case["fits"].as_array().unwrap();
    fits.iter().max_by(|a, b| a["val"].as_f64().unwrap().total_cmp(&b["val"].as_f64().unwrap())).unwrap()
}

#[track_caller]
fn assert_close(got: f64, want: &Value, tolerance: f64) {
    let want = want.as_f64().unwrap();
    assert!((got - want).abs() <= tolerance, "got {got}, want {want}");
}

fn graph(n: usize, pairs: Vec<(u32, u32)>) -> Graph {
    let features = Features::dense(n, 1, vec![1.0; n]).unwrap();
    Graph::new(EdgeList { pairs, weights: None }.into_adjacency(n).unwrap().0, features, Ids::Numbered(n))
        .unwrap()
}

#[test]
fn ranking_metrics_match_scikit_learn() {
    for case in fixture("rankings") {
        let scores: Vec<Real> = floats(&case["scores"]).iter().map(|&x| x as Real).collect();
        let positive: Vec<bool> =
            case["positive"].as_array().unwrap().iter().map(|x| x.as_bool().unwrap()).collect();
        assert_close(metrics::roc_auc(&scores, &positive).unwrap(), &case["roc_auc"], 1e-9);
        assert_close(
            metrics::average_precision(&scores, &positive).unwrap(),
            &case["average_precision"],
            1e-9,
        );
    }
}

#[test]
fn measures_without_labels_match_scikit_learn() {
    for case in fixture("quality") {
        let Features::Dense(z) = rows(&case) else { panic!("dense rows") };
        let pairs: Vec<Vec<u32>> = case["pairs"].as_array().unwrap().iter().map(integers).collect();
        let of = |pairs: &[Vec<u32>]| pairs.iter().map(|pair| (pair[0], pair[1])).collect();
        let pairs = quality::PairSample { edges: of(&pairs[..60]), non_edges: of(&pairs[60..]) };
        assert_close(quality::edge_auc(&z, &pairs).unwrap(), &case["edge_auc"], 1e-9);
        assert_close(quality::effective_rank(&z).unwrap(), &case["effective_rank"], 1e-4);
        let unit: Vec<Real> = z
            .data()
            .chunks_exact(z.n_cols())
            .flat_map(|row| {
                let length = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                row.iter().map(move |&x| (f64::from(x) / length) as Real)
            })
            .collect();
        let unit = Features::dense(z.n_rows(), z.n_cols(), unit).unwrap();
        let index = quality::calinski_harabasz(&unit, &integers(&case["clusters"])).unwrap();
        assert_close(index, &case["calinski_harabasz"], 1e-4);
    }
    for case in fixture("correlations") {
        let found = ranks::spearman(&floats(&case["x"]), &floats(&case["y"])).unwrap();
        assert_close(found, &case["spearman"], 1e-9);
    }
}

#[test]
fn clustering_metrics_match_scikit_learn() {
    for case in fixture("partitions") {
        let (u, v) = (integers(&case["u"]), integers(&case["v"]));
        assert_close(metrics::normalized_mutual_info(&u, &v), &case["nmi"], 1e-9);
        assert_close(metrics::adjusted_rand_index(&u, &v), &case["ari"], 1e-9);
        assert_close(metrics::macro_f1(&u, &v), &case["macro_f1"], 1e-9);
        assert_close(metrics::accuracy(&u, &v), &case["accuracy"], 1e-9);
    }
}

#[test]
fn probe_matches_scikit_learn() {
    for case in fixture("probes") {
        let sizes = integers(&case["sizes"]);
        let (val, test) = (sizes[0]..sizes[0] + sizes[1], sizes[0] + sizes[1]..sizes.iter().sum());
        let parts = [(0..sizes[0]).collect(), val.clone().collect(), test.clone().collect()];
        let split = Split::new("own", 0, parts, test.end as usize).unwrap();
        let labels = Labels::numbered(integers(&case["labels"]));
        let score = evaluate_nc(&rows(&case), &labels, &[split], &ProbeSettings::default()).unwrap();
        let want = best(&case);
        let one_node = 100.0 / test.len() as f64 + 1e-9;
        assert!((score.value - 100.0 * want["test"].as_f64().unwrap() / test.len() as f64).abs() <= one_node);
        let validation = score.metric("validation").unwrap();
        let one_val = 100.0 / val.len() as f64 + 1e-9;
        assert!((validation - 100.0 * want["val"].as_f64().unwrap() / val.len() as f64).abs() <= one_val);
        assert_eq!(score.more["penalties"][0].as_f64(), want["penalty"].as_f64());
    }
}

#[test]
fn link_decoder_matches_scikit_learn() {
    for case in fixture("decoders") {
        let pairs = |part: &str| -> Vec<(u32, u32)> {
            case["pairs"][part]
                .as_array()
                .unwrap()
                .iter()
                .map(integers)
                .map(|ends| (ends[0], ends[1]))
                .collect()
        };
        let split = EdgeSplit {
            seed: 0,
            train: pairs("train"),
            val: pairs("val"),
            test: pairs("test"),
            train_negatives: pairs("train_negatives"),
            val_negatives: pairs("val_negatives"),
            test_negatives: pairs("test_negatives"),
        };
        let embeddings = rows(&case);
        let score = evaluate_lp(&embeddings, &graph(embeddings.n_rows(), pairs("train")), &split).unwrap();
        let want = best(&case);
        assert_eq!(score.metric("penalty"), want["penalty"].as_f64());
        assert_close(score.value / 100.0, &want["test"], 1e-3);
        assert_close(score.metric("validation").unwrap() / 100.0, &want["val"], 1e-3);
    }
}

/// For overlapping clusters the best of 10 initializations varies by a few percent between random states, in scikit-learn
/// too. The test compares means over 20 states, and single states if scikit-learn's agree.
#[test]
fn kmeans_inertia_matches_scikit_learn() {
    for case in fixture("kmeans") {
        let k = case["k"].as_u64().unwrap() as usize;
        let points = rows(&case);
        let inertia =
            |state| kmeans::cluster(&points, k, state, &kmeans::KMeansSettings::default()).unwrap().inertia;
        let (ours, theirs): (Vec<f64>, _) = ((0..20).map(inertia).collect(), floats(&case["inertias"]));
        let ratio = stats::mean(&ours) / stats::mean(&theirs);
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        let (least, most) = theirs.iter().fold((f64::MAX, 0.0f64), |(a, b), &x| (a.min(x), b.max(x)));
        if most < 1.001 * least {
            assert!(ours.iter().all(|x| (x / least - 1.0).abs() < 0.01), "{ours:?}, {least}");
        }
    }
}

/// 120 nodes of three classes with separable embeddings and mostly homophilous edges; node 119 has no label.
fn sample() -> (Features, Labels, Graph) {
    let mut stream = Stream::new(2, "test", "eval", 0);
    let mut classes: Vec<u32> = (0..120).map(|i| i % 3).collect();
    let mut data = Vec::new();
    for &class in &classes {
        let near = |column: u32| if column == class { 2.0 } else { 0.0 };
        data.extend((0..6).map(|column| (near(column) + 0.8 * stream.normal()) as Real));
    }
    let pairs = (0..300)
        .map(|i| (i % 120, (i * 7 + 3 * (i % 11)) % 120))
        .filter(|(u, v)| u % 3 == v % 3 || u % 5 == 0);
    let graph = graph(120, pairs.collect());
    classes[119] = Labels::NONE;
    (Features::dense(120, 6, data).unwrap(), Labels::numbered(classes), graph)
}

fn split(index: usize) -> Split {
    let part =
        |of: usize| (0..119).filter(|i| (i / 3 + index) % 4 == of).map(|i| i as u32).collect::<Vec<_>>();
    let test = [part(2), part(3)].concat();
    Split::new("own", index, [part(0), part(1), test], 120).unwrap()
}

#[test]
fn scores_do_not_depend_on_the_number_of_threads() {
    let (embeddings, labels, graph) = sample();
    let all = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let edges = EdgeSplit::draw(&graph, 1).unwrap();
        let splits = [split(0), split(1), split(2)];
        let scores = pool.install(|| {
            let mut scores = Vec::new();
            for normalize in
                [EmbeddingNormalization::L2, EmbeddingNormalization::None, EmbeddingNormalization::Zscore]
            {
                let settings = ProbeSettings { normalize, ..ProbeSettings::default() };
                scores.push(evaluate_nc(&embeddings, &labels, &splits, &settings).unwrap());
            }
            let early = ProbeSettings { probe: Probe::AdamEs, ..ProbeSettings::default() };
            scores.push(evaluate_nc(&embeddings, &labels, &splits[..1], &early).unwrap());
            scores.push(evaluate_lp(&embeddings, &graph, &edges).unwrap());
            scores.push(evaluate_cluster(&embeddings, &labels, &graph).unwrap());
            scores
        });
        let without_time = scores.into_iter().map(|mut score| {
            score.seconds = 0.0;
            score
        });
        without_time.collect::<Vec<_>>()
    };
    let one = all(1);
    assert_eq!(one, all(3));
    for score in &one[..4] {
        assert!(score.value > 75.0, "{score:?}");
    }
    assert!(one[0].std.is_some() && one[3].std.is_none());
    assert_ne!(one[0].split_hash, one[3].split_hash);
    assert_eq!(
        (one[0].embedding.as_str(), one[2].embedding.as_str(), one[3].probe.as_str()),
        ("l2", "zscore", "adam-es")
    );
    assert!(one[5].value > 50.0 && one[5].metric("accuracy").unwrap() > 75.0, "{:?}", one[5]);
    assert_eq!(one[5].metric("clusters"), Some(3.0));
}

#[test]
fn clusters_are_validated_without_labels_of_test_nodes() {
    let (embeddings, labels, graph) = sample();
    let score = evaluate_cluster(&embeddings, &labels, &graph).unwrap();
    let all = Split::new("own", 0, [vec![], (0..120).collect(), vec![]], 120).unwrap();
    let validation = validate_cluster(&embeddings, &labels, &[all]).unwrap().validation;
    assert!((validation - score.value).abs() < 1e-9, "{validation}, {score:?}");
    // Other classes of the test nodes: the clusters and the score stay.
    let half = [split(0), split(1)];
    let mut classes = labels.classes().to_vec();
    let test: Vec<usize> =
        (0..120).filter(|&n| half.iter().all(|split| !split.val.contains(&(n as u32)))).collect();
    let labeled = test.iter().filter(|&&node| labels.get(node).is_some());
    labeled.for_each(|&node| classes[node] = (classes[node] + 1) % 3);
    let relabeled = Labels::new(classes, labels.names().to_vec());
    let expected = validate_cluster(&embeddings, &labels, &half).unwrap();
    assert!(expected.validation > 50.0 && test.len() > 40, "{expected:?}, {}", test.len());
    assert_eq!(validate_cluster(&embeddings, &relabeled, &half).unwrap(), expected);
    let no_nodes = Split::new("own", 0, [vec![0], vec![], vec![1]], 120).unwrap();
    let error = validate_cluster(&embeddings, &labels, &[no_nodes]).unwrap_err();
    assert!(error.exit_code() == 2 && error.to_string().contains("validation nodes"), "{error}");
}

#[test]
fn rejects_invalid_input() {
    let (embeddings, labels, graph) = sample();
    let settings = ProbeSettings::default();
    let nc = |embeddings: &Features, splits: &[Split]| {
        let error = evaluate_nc(embeddings, &labels, splits, &settings).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    };
    let few = Features::dense(119, 6, vec![0.0; 119 * 6]).unwrap();
    assert!(nc(&few, &[split(0)]).contains("119 rows, expected 120"));
    let same = Features::dense(120, 1, vec![1.0; 120]).unwrap();
    assert!(nc(&same, &[split(0)]).contains("the same row for every node"));
    assert!(nc(&embeddings, &[]).contains("no split"));
    let other = Split { protocol: "geomgcn-10".into(), ..split(1) };
    assert!(nc(&embeddings, &[split(0), other]).contains("splits of own and of geomgcn-10"));
    let one_class = Split::new("own", 0, [vec![0, 3], vec![6], vec![1]], 120).unwrap();
    assert!(nc(&embeddings, &[one_class]).contains("training nodes of class '0' only"));
    let unlabeled = Labels::new(vec![Labels::NONE; 120], vec![]);
    let error = evaluate_cluster(&embeddings, &unlabeled, &graph).unwrap_err().to_string();
    assert!(error.contains("0 classes among the labels"), "{error}");
}

#[test]
fn reads_embeddings_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ids = Ids::from_names(["b", "a"].map(str::to_owned).to_vec());
    let want = Features::dense(2, 2, vec![3.0, 4.0, 1.0, 2.0]).unwrap();
    let body: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let matrix = npy("<f4", "(2, 2)", &body);
    fs::write(at("a.csv"), "nid,x,y\na,1,2\nb,3,4\n").unwrap();
    Npz::new([("emb", matrix.clone()), ("ids", npy("|S1", "(2,)", b"ab"))]).write(&at("a.npz"));
    fs::write(at("a.npy"), &matrix).unwrap();
    fs::write(at("ids.txt"), "a\nb\n").unwrap();
    for name in ["a.csv", "a.npz", "a.npy"] {
        assert_eq!(read_embeddings(&at(name), &ids, "mine").unwrap(), want, "{name}");
    }
    // Without ids, rows are in node order.
    fs::remove_file(at("ids.txt")).unwrap();
    Npz::new([("z", matrix)]).write(&at("b.npz"));
    for name in ["a.npy", "b.npz"] {
        assert_eq!(read_embeddings(&at(name), &ids, "mine").unwrap().row(0), [(0, 1.0), (1, 2.0)], "{name}");
    }
}

#[test]
fn rejects_embeddings_of_other_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ids = Ids::Numbered(3);
    let message = |name: &str| {
        let error = read_embeddings(&at(name), &ids, "mine").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let (file, message) =
            error.to_string().split_once(": ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert!(file.ends_with(name));
        message
    };
    let body = |n: usize| npy("<f4", &format!("({n}, 1)"), &vec![0u8; 4 * n]);
    let both = |n: usize, ids: &[i64]| Npz::new([("emb", body(n)), ("nid", i64s(ids))]);
    both(3, &[2, 0, 7]).write(&at("other.npz"));
    assert_eq!(message("other.npz"), "row 2: found node '7', expected an id from 0 to 2, as in mine");
    both(3, &[2, 0, 2]).write(&at("twice.npz"));
    assert_eq!(message("twice.npz"), "row 2: found duplicate id '2', expected each id once");
    both(2, &[2, 0]).write(&at("few.npz"));
    assert_eq!(message("few.npz"), "found no row for node '1', expected one row for each id in mine");
    both(2, &[2, 0, 1]).write(&at("ragged.npz"));
    assert_eq!(message("ragged.npz"), "found 2 rows and 3 ids, expected one id per row");
    Npz::new([("a", body(3)), ("b", body(3))]).write(&at("which.npz"));
    assert!(message("which.npz").contains("found the arrays a, b"));
    Npz::new([("a", f32s(&[1.0, f32::NAN, 2.0]))]).write(&at("flat.npz"));
    assert!(message("flat.npz").contains("two dimensions"));
    fs::write(at("short.npy"), body(2)).unwrap();
    assert_eq!(message("short.npy"), "found 2 rows, expected 3, one for each id in mine");
    fs::write(at("nan.npy"), npy("<f4", "(3, 1)", &[0, 0, 0xc0, 0x7f].repeat(3))).unwrap();
    assert_eq!(message("nan.npy"), "row 0, column 0: found NaN, expected a finite number");
    fs::write(at("notes.pdf"), "").unwrap();
    assert!(message("notes.pdf").contains("expected .npy, .npz, .parquet"));
}

/// Cora with its public split.
fn cora(test_name: &str) -> Option<(Graph, Labels, Split)> {
    let options = LoadOptions { data_dir: Some(common::real_data(test_name)?), ..LoadOptions::default() };
    let set = data::load("cora", &options).unwrap();
    let split = set.splits.iter().find(|split| split.protocol == "planetoid-public").unwrap().clone();
    Some((set.graph, set.labels.unwrap(), split))
}

#[test]
fn floors_on_cora_match_the_literature() {
    let Some((graph, labels, split)) = cora("floors_on_cora_match_the_literature") else {
        return;
    };
    let accuracy = |embeddings: &Features, normalize: EmbeddingNormalization| {
        let settings = ProbeSettings { normalize, ..ProbeSettings::default() };
        evaluate_nc(embeddings, &labels, std::slice::from_ref(&split), &settings).unwrap().value
    };
    for normalize in [EmbeddingNormalization::L2, EmbeddingNormalization::None] {
        let (raw, sgc) =
            (accuracy(&floors::raw(&graph), normalize), accuracy(&floors::sgc(&graph), normalize));
        assert!((55.0..61.0).contains(&raw), "raw features, {}: {raw}", normalize.name());
        assert!((79.0..83.0).contains(&sgc), "smoothed features, {}: {sgc}", normalize.name());
    }
}

#[test]
fn early_stopping_probe_on_cora() {
    let Some((graph, labels, split)) = cora("early_stopping_probe_on_cora") else { return };
    let settings = ProbeSettings { probe: Probe::AdamEs, ..ProbeSettings::default() };
    let score = evaluate_nc(&floors::sgc(&graph), &labels, &[split], &settings).unwrap();
    assert!((78.0..84.0).contains(&score.value), "{score:?}");
}
