use std::fs;

use super::*;
use crate::config::{self, Config};

/// A short run's folder, with names that try to break out.
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

fn names(drawn: &RenderedReport) -> Vec<&'static str> {
    drawn.figures.iter().map(|figure| figure.name).collect()
}

#[test]
fn every_figure_of_a_run_has_marks_and_numbers() {
    let folder = run("controlg");
    let path = folder.path().join("run");
    let dataset = crate::data::load("synthetic:nodes=120", &Default::default()).unwrap();
    let embeddings = path.join("embeddings.npy");
    let embeddings = crate::data::read_embeddings(&embeddings, dataset.graph.ids(), "synthetic").unwrap();
    let map = EmbeddingMap::new(&embeddings, &dataset.graph, dataset.labels.as_ref()).unwrap();
    let drawn = of_run(&path, Some((&map, &dataset.graph))).unwrap();
    let all = [
        "losses",
        "plan",
        "tracking",
        "schedule",
        "deficits",
        "difficulty",
        "conflict",
        "entropy",
        "references",
        "drought",
        "time",
        "map",
    ];
    assert_eq!(names(&drawn), all);
    for figure in &drawn.figures {
        assert!(figure.svg().matches("class=\"mark\"").count() > 0, "{}", figure.name);
        assert!(!figure.svg().contains("NaN") && !figure.svg().contains("inf"), "{}", figure.name);
        assert!(figure.csv.lines().count() > 1, "{}", figure.name);
    }
    assert!(drawn.page.contains("every decision follows") && drawn.page.len() < 3_000_000);
    // Nothing is loaded from anywhere.
    assert!(!drawn.page.contains("src=") && !drawn.page.contains("href=") && !drawn.page.contains("@import"));
}

#[test]
fn other_methods_have_the_figures_they_have_numbers_for() {
    assert_eq!(
        names(&of_run(&run("random").path().join("run"), None).unwrap()),
        ["losses", "schedule", "drought", "time"]
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
fn a_changed_record_is_drawn_with_the_auditors_words() {
    let folder = run("controlg");
    let path = folder.path().join("run/trace.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"draw\":0.", "\"draw\":0.1", 1)).unwrap();
    let page = of_run(&folder.path().join("run"), None).unwrap().page;
    assert!(page.contains("class=\"verdict bad\"") && !page.contains("every decision follows"));
}

#[test]
fn hostile_names_appear_as_text() {
    let folder = run("random");
    let path = folder.path().join("run/trace.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let name = format!("</script><script>alert('x')</script>\\\"{}", "long".repeat(2500));
    fs::write(&path, text.replace("synthetic:nodes=120", &name)).unwrap();
    let page = of_run(&folder.path().join("run"), None).unwrap().page;
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert"));
}

#[test]
fn a_long_record_gives_a_page_that_stays_small() {
    let folder = run("controlg");
    let path = folder.path().join("run/trace.jsonl");
    let lines = crate::trace::read(&path).unwrap();
    let mut history = History::new(lines).unwrap();
    let blocks = history.blocks.clone();
    history.blocks = (0..100_000_usize).map(|at| blocks[at % blocks.len()].clone()).collect();
    for (at, block) in history.blocks.iter_mut().enumerate() {
        block.step = at as u64;
    }
    history.tasks = (0..100_000).map(|at| Some(at % 5)).collect();
    let figures = figures::of_run(&history);
    let pictures: usize = figures.iter().map(|figure| figure.svg().len()).sum();
    let reasons = page::reasons(&history).to_string().len();
    assert!(pictures + reasons < 10_000_000, "{pictures} + {reasons}");
    let schedule = figures.iter().find(|figure| figure.name == "schedule").unwrap();
    assert!(schedule.caption.contains("stands for 67 blocks"), "{}", schedule.caption);
}
