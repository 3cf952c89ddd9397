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
        "quality",
        "plan",
        "schedule",
        "tracking",
        "deficits",
        "difficulty",
        "references",
        "log-hypervolume",
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
    assert!(!report.page.contains("id=\"graph\"") && !report.page.contains("id=\"scores\""));
    // The page loads no other resources.
    assert!(
        !report.page.contains("src=") && !report.page.contains("href=") && !report.page.contains("@import")
    );
}

#[test]
fn the_page_shows_scores_statistics_and_state() {
    let folder = run("controlg");
    let path = folder.path().join("run");
    let dataset = crate::data::load("synthetic:nodes=120", &Default::default()).unwrap();
    let info = DatasetInfo::of(&dataset);
    let floors = r#"{"nc": {"value": 81.25, "protocol": "own", "floors": {"raw": 60.5, "sgc": 80.0}}}"#;
    fs::write(path.join("metrics.json"), floors).unwrap();
    let page = |status: &RunStatus| {
        let context = RunContext { info: Some(&info), status: Some(status), ..RunContext::default() };
        of_run_in(&path, &context).unwrap().page
    };
    let finished = page(&RunStatus::Finished);
    for fragment in [
        "Node classification <small>(nc)</small>",
        "<th scope=\"row\">sgc</th>",
        "controlg is 1.2 points above the best floor, sgc.",
        "<dt>nodes</dt><dd>120</dd>",
        "<details><summary>Settings</summary>",
        "data-state=\"finished\"",
        "step 60 of 60 in ",
        "<title>finished: controlg on",
    ] {
        assert!(finished.contains(fragment), "{fragment}: {finished:.3000}");
    }
    // All steps are done, but the embeddings are not written yet.
    assert!(page(&RunStatus::Running).contains("step 60 of 60, writing the embeddings"));
    assert!(page(&RunStatus::Failed("disk full".to_owned())).contains("disk full"));
    // A record that ends early has time left.
    let record = path.join("trace.jsonl");
    let text = fs::read_to_string(&record).unwrap();
    let half: String = text.lines().take(text.lines().count() / 2).map(|line| format!("{line}\n")).collect();
    fs::write(&record, half).unwrap();
    let running = page(&RunStatus::Running);
    assert!(running.contains("data-state=\"running\"") && running.contains(" left</p>"), "{running:.800}");
}

#[test]
fn an_odd_figure_takes_a_whole_row() {
    let wide = |method: &str| {
        let page = of_run(&run(method).path().join("run"), None).unwrap().page;
        ["losses", "plan", "schedule", "weights", "time", "drought"]
            .into_iter()
            .filter(|name| page.contains(&format!("<figure id=\"{name}\" class=\"wide\">")))
            .collect::<Vec<_>>()
    };
    assert_eq!(wide("random"), ["schedule"]);
    assert_eq!(wide("p_link"), ["schedule", "time"]);
    assert!(wide("uniform").is_empty());
    assert_eq!(wide("controlg"), ["schedule"]);
}

#[test]
fn the_search_knows_neighbors_and_the_cap_is_stated() {
    let dataset = crate::data::load("synthetic:nodes=3500,features=8", &Default::default()).unwrap();
    let graph = &dataset.graph;
    let map = EmbeddingMap::new(graph.features(), graph, None).unwrap();
    assert!(map.figure(graph).caption.contains("The page holds 3,000 of 3,500 nodes"));
    let data = map.node_data(graph);
    let ids: Vec<usize> =
        data["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().parse().unwrap()).collect();
    assert_eq!((ids.len(), data["total"].as_u64()), (3000, Some(3500)));
    for (at, node) in ids.iter().enumerate().step_by(97) {
        let neighbors = data["neighbors"][at].as_array().unwrap();
        assert_eq!(data["degree"][at], graph.degree(*node));
        for other in neighbors {
            assert!(graph.neighbors(*node).contains(&(ids[other.as_u64().unwrap() as usize] as u32)));
        }
        assert!(data["nearest"][at].as_array().unwrap().iter().all(|near| near[0] != at));
    }
    assert!(data.to_string().len() < 1_000_000);
}

#[test]
fn methods_have_the_figures_their_records_allow() {
    assert_eq!(
        names(&of_run(&run("random").path().join("run"), None).unwrap()),
        ["losses", "quality", "schedule", "time", "drought"]
    );
    assert_eq!(
        names(&of_run(&run("p_link").path().join("run"), None).unwrap()),
        ["losses", "quality", "schedule", "time"]
    );
    assert_eq!(
        names(&of_run(&run("uniform").path().join("run"), None).unwrap()),
        ["losses", "quality", "weights", "time"]
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
