//! `controlg data` and `controlg list` end to end: output and exit codes.

mod common;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn controlg(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(args).env_remove("CONTROLG_DATA").env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn run(args: &[&str]) -> Output {
    controlg(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The single stderr line of a command that must fail with this exit code.
fn failure(args: &[&str], code: i32) -> String {
    let output = run(args);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {words}");
    assert!(output.stdout.is_empty(), "{args:?} printed a result");
    assert_eq!(words.lines().count(), 1, "{args:?}: {words}");
    words
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn path(folder: &Path) -> &str {
    folder.to_str().unwrap()
}

#[test]
fn info_has_every_documented_key() {
    let info = json(&["data", "info", "synthetic", "--json"]);
    for key in [
        "name",
        "format",
        "nodes",
        "edges",
        "self_loops_dropped",
        "duplicates_dropped",
        "weights_summed",
        "weights_averaged",
        "directed",
        "features",
        "feature_nonzeros",
        "classes",
        "homophily",
        "isolated",
        "components",
        "degree",
        "splits",
        "memory_bytes",
    ] {
        assert!(info.get(key).is_some(), "{key} is missing");
    }
    for key in ["min", "median", "mean", "max"] {
        assert!(info["degree"].get(key).is_some(), "degree.{key} is missing");
    }
    for key in ["protocol", "index", "train", "val", "test"] {
        assert!(info["splits"][0].get(key).is_some(), "splits[0].{key} is missing");
    }
    assert_eq!((&info["nodes"], &info["edges"]), (&2708.into(), &5281.into()));
}

#[test]
fn info_does_not_depend_on_the_number_of_threads() {
    let at = |threads| run(&["data", "info", "synthetic:nodes=50000", "--json", "--threads", threads]).stdout;
    assert_eq!(at("1"), at("3"));
}

#[test]
fn custom_graph_keeps_its_ids() {
    let folder = folder(&[
        ("edges.csv", "src,dst\nann,bob\nbob,carl\ncarl,ann\ncarl,dora\n"),
        ("features.csv", "id,age,height\nann,31,1.7\nbob,45,1.8\ncarl,27,1.9\ndora,60,1.6\n"),
        ("labels.csv", "id,label\nann,red\nbob,red\ncarl,blue\n"),
    ]);
    let info = json(&["data", "info", path(folder.path()), "--json"]);
    assert_eq!((&info["nodes"], &info["edges"], &info["classes"]), (&4.into(), &4.into(), &2.into()));
    let out = folder.path().join("copy");
    json(&["data", "convert", path(folder.path()), path(&out), "--json"]);
    assert_eq!(fs::read_to_string(out.join("ids.txt")).unwrap(), "ann\nbob\ncarl\ndora\n");
    let mut again = json(&["data", "info", path(&out), "--json"]);
    again["name"] = info["name"].clone();
    assert_eq!(info, again);
}

#[test]
fn graph_without_labels_or_features() {
    let folder = folder(&[("edges.csv", "src,dst\n1,2\n2,3\n")]);
    let info = json(&["data", "info", path(folder.path()), "--json"]);
    assert_eq!((&info["classes"], &info["homophily"]), (&Value::Null, &Value::Null));
    assert!(info["notes"][0].as_str().unwrap().contains("structural"));
    let text = String::from_utf8(run(&["data", "info", path(folder.path())]).stdout).unwrap();
    assert!(text.contains("no labels") && text.contains("structural"), "{text}");
}

#[test]
fn info_says_what_became_of_duplicate_edges() {
    let weighted = folder(&[("edges.csv", "src,dst,weight\na,b,1\na,b,2\nb,c,1\nb,b,1\n")]);
    let info = json(&["data", "info", path(weighted.path()), "--json"]);
    assert_eq!((&info["weights_summed"], &info["duplicates_dropped"]), (&1.into(), &1.into()));
    let text = String::from_utf8(run(&["data", "info", path(weighted.path())]).stdout).unwrap();
    assert!(text.contains("1 self-loop dropped, 1 duplicate merged (weights summed), weighted"), "{text}");
    let plain = folder(&[("edges.csv", "src,dst\na,b\na,b\n")]);
    let text = String::from_utf8(run(&["data", "info", path(plain.path())]).stdout).unwrap();
    assert!(text.contains("1 undirected, 1 duplicate dropped\n"), "{text}");
}

#[test]
fn errors_are_one_line_with_exit_code_2() {
    let wrong = folder(&[("edges.csv", "src,dst\n1,2\n2\n")]);
    assert!(failure(&["data", "info", path(wrong.path())], 2).contains("edges.csv:3"));
    assert!(failure(&["data", "info", "coar"], 2).ends_with("did you mean 'cora'?\n"));
    let word = failure(&["data", "info", "my-grph"], 2);
    assert!(word.contains("found no data set of this name, and no folder or file here"), "{word}");
    assert!(failure(&["data", "info", "./nowhere"], 2).contains("no such file or folder"));
    let empty = folder(&[]);
    assert!(
        failure(&["data", "info", path(empty.path())], 2)
            .contains("found an empty folder, expected a folder with edges.csv")
    );
    assert!(failure(&["data", "info", "synthetic:nodes=-1"], 2).contains("an integer"));
    assert!(failure(&["data", "fetch", "cora", "nope"], 2).contains("unknown data set 'nope'"));
    assert!(failure(&["data", "fetch", "synthetic"], 2).contains("which is generated"));
    let full = folder(&[("precious.txt", "mine")]);
    failure(&["data", "convert", "synthetic", path(full.path())], 2);
    assert_eq!(fs::read_to_string(full.path().join("precious.txt")).unwrap(), "mine");
    // Usage errors have the same exit code.
    assert_eq!(run(&["data", "infos"]).status.code(), Some(2));
    assert_eq!(run(&["data", "list", "--threads", "0"]).status.code(), Some(2));
}

#[test]
fn missing_files_are_reported_with_their_source() {
    let empty = folder(&[]);
    for (name, file, address) in [
        ("cora", "cora/ind.cora.", "githubusercontent"),
        ("wikics", "wikics/data.json", "wiki-cs-dataset"),
        ("ogbn-arxiv", "ogbn-arxiv/raw/", "snap.stanford.edu"),
    ] {
        let words = failure(&["data", "info", name, "--data-dir", path(empty.path())], 2);
        for part in [file, address, &format!("controlg data fetch {name}")] {
            assert!(words.contains(part), "{part} is not in: {words}");
        }
    }
}

#[test]
fn lists_have_name_summary_and_paper() {
    for what in ["methods", "objectives", "encoders", "protocols", "datasets", "presets"] {
        let list = json(&["list", what, "--json"]);
        for entry in list.as_array().unwrap() {
            assert!(entry["name"].is_string() && entry["summary"].is_string(), "{entry}");
            assert!(entry["paper"].is_string() || entry["paper"].is_null(), "{entry}");
        }
    }
    let names = |what| -> Vec<String> {
        let list = json(&["list", what, "--json"]);
        list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        names("datasets"),
        "cora citeseer pubmed chameleon chameleon-filtered squirrel squirrel-filtered actor wikics coauthor-cs ogbn-arxiv \
         acm dblp imdb synthetic"
            .split(' ')
            .collect::<Vec<_>>()
    );
    assert_eq!(names("encoders"), ["gcn", "sage", "gat", "rgcn"]);
    assert!(names("protocols").contains(&"planetoid-public".to_owned()));
    let rows = json(&["data", "list", "--json"]);
    assert_eq!(rows.as_array().unwrap().len(), 15);
    assert_eq!(names("presets"), ["tuned", "paper"]);
}

#[test]
fn settings_are_listed_with_defaults_or_with_the_values_of_a_run() {
    let value = |arguments: &[&str], name: &str| {
        let list = json(&[&["list", "config", "--json"], arguments].concat());
        let found = list.as_array().unwrap().iter().find(|key| key["name"] == name).cloned();
        found.map(|key| key["default"].as_str().unwrap().to_owned())
    };
    assert_eq!(value(&[], "train.lr").unwrap(), "0.001");
    assert_eq!(value(&["--data", "chameleon", "--preset", "paper"], "train.lr").unwrap(), "0.01");
    assert_eq!(value(&["--preset", "paper"], "normalize").unwrap(), "\"rows\"");
    assert_eq!(value(&[], "preset").unwrap(), "\"tuned\"");
    // Settings that the run does not have are not shown.
    assert!(value(&[], "mix.cagrad.c").is_some() && value(&["--data", "cora"], "mix.cagrad.c").is_none());
    let output = run(&["list", "config", "--preset", "papr"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean 'paper'"));
    assert!(failure(&["list", "methods", "--data", "cora"], 2).contains("list config"));
}

#[test]
fn closed_pipe_is_not_an_error() {
    let mut child =
        controlg(&["list", "datasets"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(status.success() && words.is_empty(), "{status}: {words}");
}

fn real_data(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CONTROLG_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        common::skipped(format_args!("{test} needs the real data sets (set CONTROLG_DATA)"));
    }
    folder
}

#[test]
fn graphs_with_duplicate_nodes_name_their_filtered_version() {
    let Some(data) = real_data("graphs_with_duplicate_nodes_name_their_filtered_version") else { return };
    let note = "many nodes are duplicates, which leak labels from training to test nodes; chameleon-filtered";
    let info = json(&["data", "info", "chameleon", "--json", "--data-dir", path(&data)]);
    assert!(info["notes"][0].as_str().unwrap().starts_with(note), "{info}");
    let output =
        run(&["evaluate", "raw", "--data", "chameleon", "--tasks", "cluster", "--data-dir", path(&data)]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains(&format!("note: chameleon: {note}")), "{words}");
    let output = run(&["evaluate", "raw", "--data", "cora", "--tasks", "cluster", "--data-dir", path(&data)]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("duplicates"));
}

/// name, nodes, edges, self loops, features, classes, isolated, homophily to 4 digits, first split.
type Row = (&'static str, u64, u64, u64, u64, u64, u64, &'static str, (&'static str, u64, u64, u64));

#[test]
fn public_data_sets_have_their_published_statistics() {
    let Some(data) = real_data("public_data_sets_have_their_published_statistics") else { return };
    let rows: [Row; 7] = [
        ("cora", 2708, 5278, 0, 1433, 7, 0, "0.8100", ("planetoid-public", 140, 500, 1000)),
        ("citeseer", 3327, 4552, 124, 3703, 6, 48, "0.7355", ("planetoid-public", 120, 500, 1000)),
        ("pubmed", 19717, 44324, 3, 500, 3, 0, "0.8024", ("planetoid-public", 60, 500, 1000)),
        ("chameleon", 2277, 31371, 50, 2325, 5, 0, "0.2299", ("geomgcn-10", 1092, 729, 456)),
        ("squirrel", 5201, 198353, 140, 2089, 5, 0, "0.2221", ("geomgcn-10", 2496, 1664, 1041)),
        ("actor", 7600, 26659, 93, 932, 5, 0, "0.2167", ("geomgcn-10", 3648, 2432, 1520)),
        ("coauthor-cs", 18333, 81894, 0, 6805, 15, 0, "0.8081", ("random-10-10-80", 1833, 1833, 14667)),
    ];
    for (name, nodes, edges, loops, features, classes, isolated, homophily, split) in rows {
        let info = json(&["data", "info", name, "--json", "--data-dir", path(&data)]);
        let found = |key: &str| info[key].as_u64().unwrap();
        assert_eq!((found("nodes"), found("edges")), (nodes, edges), "{name}");
        assert_eq!((found("self_loops_dropped"), found("isolated")), (loops, isolated), "{name}");
        assert_eq!((found("features"), found("classes")), (features, classes), "{name}");
        assert_eq!(format!("{:.4}", info["homophily"].as_f64().unwrap()), homophily, "{name}");
        let first = &info["splits"][0];
        let size = |part: &str| first[part].as_u64().unwrap();
        assert_eq!(first["protocol"], split.0, "{name}");
        assert_eq!((size("train"), size("val"), size("test")), (split.1, split.2, split.3), "{name}");
    }
}

#[test]
fn ogbn_arxiv_loads_with_structural_features() {
    let Some(data) = real_data("ogbn_arxiv_loads_with_structural_features") else { return };
    if data.join("ogbn-arxiv/raw/node-feat.csv.gz").exists() {
        return;
    }
    let words = failure(&["data", "info", "ogbn-arxiv", "--data-dir", path(&data)], 2);
    assert!(words.contains("node-feat.csv.gz") && words.contains("--features structural"), "{words}");
    let args =
        ["data", "info", "ogbn-arxiv", "--features", "structural", "--json", "--data-dir", path(&data)];
    let info = json(&args);
    assert_eq!((&info["nodes"], &info["edges"]), (&169_343.into(), &1_157_799.into()));
    assert_eq!(format!("{:.4}", info["homophily"].as_f64().unwrap()), "0.6542");
    let split = &info["splits"][0];
    assert_eq!(
        (&split["train"], &split["val"], &split["test"]),
        (&90_941.into(), &29_799.into(), &48_603.into())
    );
}
