//! Runs of every mixing method: records, resuming, determinism.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use controlg::config::{self, Config};
use controlg::coordinator::{METHODS, Method};
use controlg::data;
use controlg::graph::Graph;
use controlg::trace::{BlockLine, Record};
use controlg::train::{RunEvent, RunFolder};
use controlg::{Error, audit, pretrain, pretrain_with};

fn graph() -> Graph {
    data::load("synthetic:nodes=150,features=60", &Default::default()).unwrap().graph
}

fn settings(method: &str, more: &[&str]) -> Config {
    let mut table = Config::preset("synthetic");
    let method = format!("method={method}");
    let small = [
        method.as_str(),
        "encoder.width=12",
        "train.epochs=3",
        "train.batches_per_epoch=7",
        "train.block=2",
        "objective.p_par.parts=4",
        "mix.autossl.meta_every=2",
        "mix.autossl.variance=1",
        "mix.autossl-es.generations=2",
        "mix.autossl-es.population=3",
        "mix.autossl-es.steps=3",
    ];
    small.iter().chain(more).for_each(|set| config::set(&mut table, set).unwrap());
    Config::from_table(table).unwrap()
}

fn mixers() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(|method| method.mixes())
}

/// Objectives with a mask token, with views of their own and with auxiliary networks of both kinds, beside one of the paper.
const OPEN: &str = "objectives=p_link,graphmae,bgrl,mvgrl,gca,cca-ssg";

/// The bits of the embeddings and the blocks of a run in memory.
fn run(graph: &Graph, config: &Config, threads: usize) -> (Vec<u64>, Vec<BlockLine>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut blocks = Vec::new();
        let model = pretrain_with(graph, config, |record| {
            if let Record::Block(block) = record {
                blocks.push(BlockLine { ms: 0.0, ..(**block).clone() });
            }
        });
        let model = model.unwrap();
        (model.embeddings().data().iter().map(|&x| f64::from(x).to_bits()).collect(), blocks)
    })
}

#[test]
fn every_method_mixes_all_objectives_and_gives_the_same_bytes_at_any_number_of_threads() {
    let graph = graph();
    assert_eq!(mixers().count(), 12);
    let mut ends = Vec::new();
    for method in mixers() {
        let config = settings(method.name, &[]);
        let (embeddings, blocks) = run(&graph, &config, 1);
        assert_eq!((embeddings.clone(), blocks.clone()), run(&graph, &config, 2), "{}", method.name);
        // Blocks of 2, 2, 2 and 1 steps in each of three epochs.
        let steps: Vec<u64> = blocks.iter().map(|block| block.steps).collect();
        assert_eq!(steps, [2, 2, 2, 1].repeat(3), "{}", method.name);
        for block in &blocks {
            assert!(block.task.is_empty() && block.weight.len() == 5 && block.losses.len() == 5);
            assert!((block.losses.iter().sum::<f64>() - block.loss).abs() < 1e-9);
            let slopes = if method.name == "autossl" { 5 } else { 0 };
            assert!(block.slope.len() <= slopes && block.slope.iter().all(|slope| *slope != 0.0));
        }
        assert_eq!(blocks.iter().any(|block| !block.slope.is_empty()), method.name == "autossl");
        ends.push((method.name, embeddings));
    }
    for (at, (name, end)) in ends.iter().enumerate() {
        for (other, same) in &ends[..at] {
            assert_ne!(end, same, "{name} equals {other}");
        }
    }
}

#[test]
fn any_objectives_can_be_mixed_with_the_same_bytes_at_any_number_of_threads() {
    let graph = graph();
    for method in ["controlg", "uniform", "pcgrad", "nash-mtl", "was"] {
        let config = settings(method, &[OPEN, "train.warmup_rounds=1"]);
        let (embeddings, blocks) = run(&graph, &config, 1);
        assert_eq!((embeddings, blocks.clone()), run(&graph, &config, 4), "{method}");
        assert!(blocks.iter().all(|block| block.loss.is_finite()), "{method}");
    }
}

#[test]
fn mixing_a_single_objective_equals_training_it_alone() {
    let graph = graph();
    // The last two have an auxiliary network, which is trained or follows the encoder.
    for name in ["p_recon", "mvgrl", "bgrl"] {
        let alone = run(&graph, &settings("round-robin", &[&format!("objectives={name}")]), 2).0;
        for method in ["uniform", "pcgrad", "mgda", "paretognn", "gradnorm"] {
            let config = settings(method, &[&format!("objectives={name}")]);
            assert_eq!(run(&graph, &config, 2).0, alone, "{name} with {method}");
        }
    }
}

fn into_folder(path: &Path, config: &Config, graph: &Graph, stop_after: u64) -> controlg::Result<()> {
    RunFolder::open(path, config, true)?.pretrain(graph, |event| match event {
        RunEvent::Line(Record::Block(block)) if block.step >= stop_after => panic!("killed"),
        _ => {}
    })?;
    Ok(())
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes_and_passes_its_audit() {
    let graph = graph();
    let folder = tempfile::TempDir::new().unwrap();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let kill = |path: &Path, config: &Config| {
        catch_unwind(AssertUnwindSafe(|| into_folder(path, config, &graph, 11))).is_err()
    };
    let closed = mixers().map(|method| settings(method.name, &[]));
    let open = ["controlg", "uniform", "pcgrad", "autossl"]
        .map(|method| settings(method, &[OPEN, "train.warmup_rounds=1"]));
    let runs: Vec<_> = closed
        .chain(open)
        .map(|config| {
            let path = folder.path().join(format!("{}-{}", config.method, config.objectives.len()));
            (config.clone(), path.clone(), kill(&path, &config))
        })
        .collect();
    std::panic::set_hook(quiet);
    for (config, path, killed) in runs {
        assert!(killed && !path.join("embeddings.npy").exists());
        into_folder(&path, &config, &graph, u64::MAX).unwrap();
        let whole = path.with_extension("whole");
        into_folder(&whole, &config, &graph, u64::MAX).unwrap();
        let bytes = |path: &Path| fs::read(path.join("embeddings.npy")).unwrap();
        assert_eq!(bytes(&path), bytes(&whole), "{}", config.method);
        let summary = audit::audit(&path).unwrap();
        let k = config.objectives.len();
        let lengths = if config.method == "controlg" { (0, k) } else { (k, 0) };
        assert_eq!((summary.steps, (summary.weights.len(), summary.realized.len())), (21, lengths));
    }
}

#[test]
fn a_weight_off_the_simplex_fails_the_audit() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("run");
    into_folder(&path, &settings("mgda", &[]), &graph(), u64::MAX).unwrap();
    let trace = path.join("trace.jsonl");
    let text = fs::read_to_string(&trace).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let changed = lines[3].replacen("\"weight\":[", "\"weight\":[0.5,", 1);
    let fewer = lines[3].replacen("\"steps\":2", "\"steps\":1", 1);
    for (change, field) in [(changed, "weight"), (fewer, "steps")] {
        let mut all = lines.clone();
        all[3] = &change;
        fs::write(&trace, all.join("\n") + "\n").unwrap();
        match audit::audit(&path) {
            Err(Error::Check { place, .. }) => assert_eq!(place, format!("line 4, {field}")),
            other => panic!("{field}: {other:?}"),
        }
    }
}

#[test]
fn autossl_moves_its_weights_on_batch_normed_embeddings_and_says_when_it_cannot() {
    let folder = tempfile::TempDir::new().unwrap();
    let settings = |more: &[&str]| {
        let mut table = Config::preset("synthetic");
        let small = ["method=autossl", "encoder.width=64", "train.epochs=1"];
        let normed = ["encoder.norm=batch", "encoder.last=activation", "encoder.jump=last"];
        let few = ["train.batches_per_epoch=8", "mix.autossl.meta_every=1", "objective.p_par.parts=4"];
        small
            .iter()
            .chain(&normed)
            .chain(&few)
            .chain(more)
            .for_each(|set| config::set(&mut table, set).unwrap());
        Config::from_table(table).unwrap()
    };
    // The last two mean the same: a variance alone is absolute.
    for (at, (set, moves)) in [
        (&[][..], true),
        (&["mix.autossl.relative_variance=0"], false),
        (&["mix.autossl.variance=1e-3"], false),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(at.to_string());
        let (mut blocks, mut notes) = (Vec::new(), Vec::new());
        let config = settings(set);
        RunFolder::open(&path, &config, false)
            .unwrap()
            .pretrain(&graph(), |event| match event {
                RunEvent::Line(Record::Block(block)) => blocks.push((**block).clone()),
                RunEvent::Note(note) => notes.push(note.to_owned()),
                _ => {}
            })
            .unwrap();
        let gap = blocks[7].weight.iter().map(|weight| (weight - 0.2).abs()).fold(0.0, f64::max);
        let steepest = blocks[7].slope.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
        assert_eq!(gap > 0.05, moves, "{set:?}: {:?}", blocks[7].weight);
        assert_eq!(gap < 1e-3, !moves, "{set:?}: {:?}", blocks[7].weight);
        assert_eq!(steepest > 1e-8, moves, "{set:?}: {steepest}");
        let noted: Vec<usize> = (0..8).filter(|&block| blocks[block].note.is_some()).collect();
        assert_eq!(noted, if moves { vec![] } else { vec![2] }, "{set:?}");
        let said = notes.iter().filter(|note| note.contains("the weights of autossl do not move")).count();
        assert_eq!(said, usize::from(!moves), "{notes:?}");
        audit::audit(&path).unwrap();
    }
}

#[test]
fn more_clusters_than_nodes_are_an_early_error() {
    let config = settings("autossl", &["mix.autossl.clusters=151"]);
    let message = pretrain(&graph(), &config).unwrap_err().to_string();
    assert_eq!(message, "mix.autossl.clusters: found 151, expected at most the 150 nodes of the graph");
}
