//! Runs on several ranks, which are threads here: the same bytes at any number of ranks, resuming with another number, lost
//! ranks, ranks that disagree.

#[path = "common/threads.rs"]
mod threads;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use controlg::collective::{Collective, Ranks};
use controlg::config::{self, Config};
use controlg::data::{self, LoadOptions};
use controlg::graph::Graph;
use controlg::train::{Input, RunEvent, RunFolder, RunSummary, Training};
use controlg::{Error, Result, trace};
use threads::ThreadRank;

const SMALL: [&str; 10] = [
    "encoder.width=16",
    "train.epochs=3",
    "train.batches_per_epoch=6",
    "train.warmup_rounds=1",
    "train.batch=cluster",
    "train.batch_nodes=160",
    "train.fanout=3",
    "train.shards=5",
    "objective.p_par.parts=4",
    "sense.probe_nodes=300",
];

fn settings(more: &[&str]) -> Config {
    let mut table = Config::preset("any");
    for set in SMALL.iter().chain(more) {
        config::set(&mut table, set).unwrap();
    }
    Config::from_table(table).unwrap()
}

fn graph(nodes: usize) -> Graph {
    let name = format!("synthetic:nodes={nodes},degree=6,features=40");
    data::load(&name, &LoadOptions::default()).unwrap().graph
}

/// The outcome of `work` on every rank, each of which has a thread pool of its own.
fn on_ranks<T: Send>(size: usize, work: impl Fn(&ThreadRank) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let start = |rank: ThreadRank| {
            let work = &work;
            scope.spawn(move || {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1 + rank.rank() % 2).build().unwrap();
                pool.install(|| work(&rank))
            })
        };
        let threads: Vec<_> = threads::ranks(size).into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Runs one rank of a run into a folder.
fn run(
    rank: &ThreadRank,
    path: &Path,
    config: &Config,
    graph: &Graph,
    stop: Option<&AtomicBool>,
    on_event: impl FnMut(RunEvent<'_>),
) -> Result<RunSummary> {
    let folder = match rank.rank() {
        0 => RunFolder::open(path, config, true)?,
        _ => RunFolder::of_rank_0(path, config),
    };
    let folder = folder.on_ranks(Ranks::new(rank));
    match stop {
        Some(stop) => folder.stop_when(stop).pretrain(graph, on_event),
        None => folder.pretrain(graph, on_event),
    }
}

/// The embeddings, and the record without times.
fn result(path: &Path) -> (Vec<u8>, Vec<serde_json::Value>) {
    let lines = trace::read(&path.join("trace.jsonl")).unwrap();
    let without_times = lines.iter().map(|line| {
        let mut line = serde_json::to_value(&line.record).unwrap();
        line.as_object_mut().unwrap().remove("ms");
        line
    });
    (fs::read(path.join("embeddings.npy")).unwrap(), without_times.collect())
}

/// The message of an error.
fn message<T>(outcome: &Result<T>) -> String {
    outcome.as_ref().err().map_or_else(String::new, Error::to_string)
}

#[test]
fn any_number_of_ranks_gives_the_same_bytes() {
    let graph = graph(1200);
    let paper = "p_link,p_recon,p_minsg,p_decor,p_par";
    let open = "p_recon,bgrl,graphmae,gca";
    for (batch, method, objectives, more) in [
        ("cluster", "controlg", paper, "sense.period=2"),
        ("neighbor", "controlg-gain", "p_link,p_recon,p_decor", "train.block=2"),
        ("cluster", "controlg", open, "encoder.jump=concat"),
        ("neighbor", "uniform", open, "train.per_task_moments=false"),
        ("cluster", "was", "p_recon,p_decor", "embed.smooth=1"),
        ("cluster", "autossl", "p_recon,p_decor", "train.clip=1"),
        ("cluster", "autossl-es", "p_recon,p_decor", "mix.autossl-es.generations=1"),
    ] {
        let set = [
            &format!("train.batch={batch}"),
            &format!("method={method}"),
            &format!("objectives={objectives}"),
            more,
        ];
        let config = settings(&set.map(|set| set as &str));
        let home = tempfile::tempdir().unwrap();
        let finished = |size: usize| {
            let path = home.path().join(size.to_string());
            for done in on_ranks(size, |rank| run(rank, &path, &config, &graph, None, |_| ())) {
                assert_eq!(done.map_err(|error| error.to_string()).unwrap().steps, 18);
            }
            result(&path)
        };
        let (embeddings, record) = finished(1);
        let sizes = if method == "controlg" { &[2, 3, 5][..] } else { &[3] };
        for &size in sizes {
            let (again, lines) = finished(size);
            assert!(again == embeddings, "{method} {batch}: embeddings on {size} ranks");
            assert_eq!(lines, record, "{method} {batch}: record on {size} ranks");
        }
    }
}

#[test]
fn a_run_that_was_stopped_resumes_with_another_number_of_ranks() {
    let (graph, config) = (graph(900), settings(&["sense.period=2"]));
    let home = tempfile::tempdir().unwrap();
    let whole = home.path().join("whole");
    on_ranks(1, |rank| run(rank, &whole, &config, &graph, None, |_| ()).unwrap());
    let path = home.path().join("stopped");
    let stop = AtomicBool::new(false);
    let stopped = on_ranks(4, |rank| {
        let mut lines = 0;
        run(rank, &path, &config, &graph, Some(&stop), |event| {
            lines += usize::from(matches!(event, RunEvent::Line(_)));
            stop.fetch_or(lines == 9, Ordering::Relaxed);
        })
    });
    assert!(stopped.iter().all(|done| message(done).starts_with("interrupted after step")), "{stopped:?}");
    let resumed = on_ranks(2, |rank| run(rank, &path, &config, &graph, None, |_| ()).unwrap().resumed_at);
    assert!(resumed[0] > 0 && resumed[0] == resumed[1], "{resumed:?}");
    assert!(result(&path) == result(&whole));
}

#[test]
fn a_lost_rank_ends_all_and_the_run_resumes() {
    let (graph, config) = (graph(900), settings(&["sense.period=2"]));
    let home = tempfile::tempdir().unwrap();
    let (whole, path) = (home.path().join("whole"), home.path().join("lost"));
    on_ranks(1, |rank| run(rank, &whole, &config, &graph, None, |_| ()).unwrap());
    let outcomes = on_ranks(4, |rank| {
        if rank.rank() == 3 {
            // In the second epoch.
            rank.dies_at.store(240, Ordering::Relaxed);
        }
        run(rank, &path, &config, &graph, None, |_| ())
    });
    for (rank, outcome) in outcomes[..3].iter().enumerate() {
        // The loss of one rank ends the next.
        let found = message(outcome);
        assert!(found.ends_with("is gone"), "rank {rank}: {found}");
    }
    assert!(!path.join("embeddings.npy").exists());
    let resumed = on_ranks(2, |rank| run(rank, &path, &config, &graph, None, |_| ()).unwrap().resumed_at);
    assert!(resumed[0] > 0, "{resumed:?}");
    assert!(result(&path) == result(&whole));
}

#[test]
fn ranks_that_disagree_are_refused_by_name() {
    let (small, other) = (graph(400), graph(401));
    let refused = |configs: [Config; 2], graphs: [&Graph; 2]| {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        let outcomes = on_ranks(2, |rank| {
            let at = rank.rank();
            run(rank, &path, &configs[at], graphs[at], None, |_| ())
        });
        assert!(!path.exists());
        let codes: Vec<u8> = outcomes.iter().map(|done| done.as_ref().unwrap_err().exit_code()).collect();
        assert_eq!(codes, [2, 2]);
        assert_eq!(message(&outcomes[0]), message(&outcomes[1]));
        message(&outcomes[0])
    };
    let plain = || settings(&[]);
    let found = refused([plain(), settings(&["train.lr=0.5"])], [&small, &small]);
    assert_eq!(found, "rank 1: train.lr: found 0.5, expected 0.001, as on rank 0");
    let found = refused([plain(), plain()], [&small, &other]);
    assert!(
        found.starts_with("rank 1: hash of the graph: found ") && found.ends_with(", as on rank 0"),
        "{found}"
    );
    let few = || settings(&["train.shards=1"]);
    assert_eq!(
        refused([few(), few()], [&small, &small]),
        "train.shards: found 1, expected at least 2, one per rank"
    );
    let full = || settings(&["train.batch=full"]);
    assert_eq!(
        refused([full(), full()], [&small, &small]),
        "train.shards: found 5 with full-graph steps, expected 1, or mini-batches (train.batch = cluster or neighbor)"
    );
}

#[test]
fn a_step_sends_what_the_formula_says() {
    let graph = graph(600);
    // With 6 shards on 4 ranks, the shards 1 and 2 of a rank are in different subtrees.
    for (shards, size, subtrees) in [(4, 2, 2), (4, 4, 4), (8, 4, 4), (6, 4, 5)] {
        let set = [&format!("train.shards={shards}"), "method=p_recon", "train.quality=false"];
        let config = settings(&set.map(|set| set as &str));
        let sent = on_ranks(size, |rank| {
            let input = Input::new(&graph, &config).unwrap();
            let mut training = Training::on_ranks(&input, &config, Ranks::new(rank)).unwrap();
            training.advance().unwrap();
            let before = rank.sent.load(Ordering::Relaxed);
            training.advance().unwrap();
            let params = training.model().params().groups();
            let len: usize = params.iter().map(|group| group.data().len()).sum();
            (rank.sent.load(Ordering::Relaxed) - before, len)
        });
        let len = sent[0].1;
        let total: u64 = sent.iter().map(|(sent, _)| sent).sum();
        // Each rank sends the slices of the others, once per subtree, then the sum of its own slice to the others.
        let gradients = (4 * len * (size - 1) * subtrees / size + 4 * len * (size - 1)) as u64;
        assert!(
            total + 64 >= gradients && total < gradients + 4096,
            "{shards} on {size}: {total}, {gradients}"
        );
    }
}
