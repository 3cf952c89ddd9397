//! Writes the inputs that fuzzing starts from, small valid files of every format: `cargo run --example seeds`.

use std::fs;
use std::path::Path;

use controlg::config::{Config, ObjectiveKind};
use controlg::data::binary::to_binary;
use controlg::data::{FeatureSource, LoadOptions, load, load_path};
use controlg_fuzz::npz::Npz;
use controlg_fuzz::samples::{self, Files};
use controlg_fuzz::{FORMATS, join};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let archive = |npz: Npz| -> Files {
        let name = |member: &str| -> &'static str { format!("toy.npz/{member}").leak() };
        npz.members.iter().map(|(member, bytes)| (name(member), bytes.clone())).collect()
    };
    let home = tempfile::tempdir()?;
    let graphs: [(&str, Files); 13] = [
        ("planetoid", samples::planetoid()),
        ("geom_gcn", samples::geom_gcn()),
        ("wikics", samples::wiki_cs()),
        ("gnn_benchmark", archive(Npz::gnn_benchmark())),
        ("heterophilous", archive(Npz::heterophilous())),
        ("archive", samples::gnn_benchmark()),
        ("ogb", ogb()),
        ("folder", folder()),
        ("typed_folder", samples::typed_folder()),
        ("heco", samples::heco()),
        ("magnn", samples::magnn()),
        ("graphstorm", graphstorm()),
        ("binary", binary(home.path())?),
    ];
    for (format, files) in &graphs {
        let names = FORMATS.iter().find(|known| known.0 == *format).ok_or("an unknown format")?.1;
        let piece =
            |name: &&str| files.iter().find(|file| file.0 == *name).map_or(Vec::new(), |file| file.1.clone());
        write(format, "toy", &join(&names.iter().map(piece).collect::<Vec<_>>()))?;
    }

    let run = home.path().join("run");
    let graph = load("synthetic:nodes=60,features=4", &LoadOptions::default())?.graph;
    let few = [ObjectiveKind::Link, ObjectiveKind::Decor];
    let config = Config::for_data("synthetic")?.objectives(few).width(4).epochs(1).steps_per_epoch(30);
    controlg::pretrain(&graph, &config)?.save(&run)?;
    let old = Path::new("../crates/controlg/tests/fixtures/v0.1/run");
    for (version, run) in [("0.1", old), ("0.2", &*run)] {
        let record = fs::read_to_string(run.join("trace.jsonl"))?;
        let lines: String = record.lines().take(12).map(|line| format!("{line}\n")).collect();
        write("record", version, lines.as_bytes())?;
    }
    // A model of version 0.1 has no digest, which would hide all other damage.
    write("model", "0.1", &fs::read(old.join("model.safetensors"))?)?;
    write("parquet", "embeddings", &fs::read(old.join("embeddings.parquet"))?)
}

/// The sample of the tests without compression, whose checksums would hide all other damage.
fn ogb() -> Files {
    vec![
        ("raw/edge.csv", b"0,1\n1,2\n2,1\n".to_vec()),
        ("raw/node-feat.csv", b"0.5,1\n-2,0\n1e-3,4\n".to_vec()),
        ("raw/node-label.csv", b"0\n1\n0\n".to_vec()),
        ("raw/num-node-list.csv", b"3\n".to_vec()),
        ("split/time/train.csv", b"2\n0\n".to_vec()),
        ("split/time/valid.csv", b"1\n".to_vec()),
        ("split/time/test.csv", Vec::new()),
    ]
}

fn folder() -> Files {
    vec![
        ("edges.csv", b"src,dst,weight\nann,bob,1\nbob,carl,0.5\n\"d,e\",ann,2\n".to_vec()),
        ("features.csv", b"id,age,height\nann,31,1.7\nbob,45,1.8\ncarl,27,1.9\n\"d,e\",60,\n".to_vec()),
        ("labels.csv", b"id,label\nann,x\nbob,y\ncarl,x\n".to_vec()),
        ("splits.csv", b"id,split\nann,train\nbob,val\ncarl,test\n".to_vec()),
    ]
}

fn graphstorm() -> Files {
    let description = r#"{"nodes": [
{"node_type": "author", "node_id_col": "id", "files": "author.csv"},
{"node_type": "paper", "node_id_col": "id", "files": ["paper.csv"],
 "features": [{"feature_col": "year"}, {"feature_col": ["pages"], "transform": {"name": "no-op"}}],
 "labels": [{"label_col": "venue", "task_type": "classification", "split_pct": [0.8, 0.1, 0.1]}]}],
"edges": [{"relation": ["author", "writes", "paper"], "source_id_col": "a", "dest_id_col": "p", "files": "writes.csv"}]}"#;
    vec![
        ("graph.json", description.into()),
        ("author.csv", b"id\nann\nbob\n".to_vec()),
        ("paper.csv", b"id,year,pages,venue\np1,2019,8,x\np2,2021,9,y\n".to_vec()),
        ("writes.csv", b"a,p\nann,p1\nbob,p1\nbob,p2\n".to_vec()),
    ]
}

/// A binary folder with dense features.
fn binary(home: &Path) -> controlg::Result<Files> {
    let (csv, out) = (home.join("csv"), home.join("binary"));
    samples::write(
        &csv,
        &vec![
            ("edges.csv", b"src,dst\n0,1\n1,2\n2,0\n".to_vec()),
            ("features.csv", b"id,a,b\n0,0.5,1\n1,2,3\n2,-1,4\n".to_vec()),
        ],
    );
    to_binary(&load_path(&csv, FeatureSource::Given)?, &out)?;
    let names = FORMATS.iter().find(|known| known.0 == "binary").map_or(&[][..], |known| known.1);
    Ok(names.iter().filter_map(|name| Some((*name, fs::read(out.join(name)).ok()?))).collect())
}

fn write(target: &str, name: &str, bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new("seeds").join(target);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), bytes)?)
}
