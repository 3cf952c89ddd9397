use std::fs;

use super::*;
use crate::config::{self, Config};

/// Folder of a short run.
fn run(method: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut table = Config::preset("synthetic:nodes=120");
    for small in [
        "encoder.width=8",
        "train.epochs=2",
        "train.batches_per_epoch=30",
        "objective.p_par.parts=3",
        "objective.p_decor.width=8",
        &format!("method={method}"),
    ] {
        config::set(&mut table, small).unwrap();
    }
    let config = Config::from_table(table).unwrap();
    let graph = crate::data::load(&config.data, &Default::default()).unwrap().graph;
    let out = folder.path().join("run");
    crate::train::RunFolder::open(&out, &config, false).unwrap().pretrain(&graph, |_| {}).unwrap();
    folder
}

fn names(report: &RenderedReport) -> Vec<&'static str> {
    report.figures.iter().map(|figure| figure.name).collect()
}

#[test]
fn every_figure_has_marks_and_data() {
    let folder = run("controlg");
    let path = folder.path().join("run");
    let dataset = crate::data::load("synthetic:nodes=120", &Default::default()).unwrap();
    let embeddings = path.join("embeddings.npy");
    let embeddings = crate::data::read_embeddings(&embeddings, dataset.graph.ids(), "synthetic").unwrap();
    let map = EmbeddingMap::new(&embeddings, &dataset.graph, dataset.labels.as_ref()).unwrap();
    let report = of_run(&path, Some((&map, &dataset.graph))).unwrap();
    let all = [
        "losses",
        "plan",
        "schedule",
        "tracking",
        "deficits",
        "difficulty",
        "references",
        "conflict",
        "time",
        "entropy",
        "drought",
        "map",
    ];
    assert_eq!(names(&report), all);
    for figure in &report.figures {
        assert!(figure.svg().matches("class=\"mark\"").count() > 0, "{}", figure.name);
        assert!(!figure.svg().contains("NaN") && !figure.svg().contains("inf"), "{}", figure.name);
        assert!(figure.csv.lines().count() > 1, "{}", figure.name);
    }
    assert!(report.page.contains("every decision follows") && report.page.len() < 3_000_000);
    // The page loads no other resources.
    assert!(
        !report.page.contains("src=") && !report.page.contains("href=") && !report.page.contains("@import")
    );
}

#[test]
fn methods_have_the_figures_their_records_allow() {
    assert_eq!(
        names(&of_run(&run("random").path().join("run"), None).unwrap()),
        ["losses", "schedule", "time", "drought"]
    );
    assert_eq!(
        names(&of_run(&run("p_link").path().join("run"), None).unwrap()),
        ["losses", "schedule", "time"]
    );
    assert_eq!(
        names(&of_run(&run("uniform").path().join("run"), None).unwrap()),
        ["losses", "weights", "time"]
    );
}

#[test]
fn a_modified_record_shows_the_audit_error() {
    let folder = run("controlg");
    let path = folder.path().join("run/trace.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"draw\":0.", "\"draw\":0.1", 1)).unwrap();
    let page = of_run(&folder.path().join("run"), None).unwrap().page;
    assert!(page.contains("class=\"verdict bad\"") && !page.contains("every decision follows"));
}

#[test]
fn names_are_escaped() {
    let folder = run("random");
    let path = folder.path().join("run/trace.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let name = format!("</script><script>alert('x')</script>\\\"{}", "long".repeat(2500));
    fs::write(&path, text.replace("synthetic:nodes=120", &name)).unwrap();
    let page = of_run(&folder.path().join("run"), None).unwrap().page;
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert"));
}

#[test]
fn a_long_record_gives_a_small_page() {
    let folder = run("controlg");
    let path = folder.path().join("run/trace.jsonl");
    let lines = crate::trace::read(&path).unwrap();
    let mut trace = RunTrace::new(lines).unwrap();
    let blocks = trace.blocks.clone();
    trace.blocks = (0..100_000_usize).map(|at| blocks[at % blocks.len()].clone()).collect();
    for (at, block) in trace.blocks.iter_mut().enumerate() {
        block.step = at as u64;
    }
    trace.tasks = (0..100_000).map(|at| Some(at % 5)).collect();
    let figures = figures::of_run(&trace);
    let images: usize = figures.iter().map(|figure| figure.svg().len()).sum();
    let data = page::block_data(&trace).to_string().len();
    assert!(images + data < 10_000_000, "{images} + {data}");
    let schedule = figures.iter().find(|figure| figure.name == "schedule").unwrap();
    assert!(schedule.caption.contains("stands for 67 blocks"), "{}", schedule.caption);
}
