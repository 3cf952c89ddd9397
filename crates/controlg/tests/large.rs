//! Large graphs: mini-batches, features on disk, inference in blocks, memory limits.

mod common;

use std::fs::{self, OpenOptions};
use std::path::Path;

use controlg::config::{self, Config};
use controlg::data::{self, LoadOptions, binary};
use controlg::encoder::{self, Network};
use controlg::error::Result;
use controlg::graph::{EncoderInput, Features, Graph, Subgraph};
use controlg::rng::Stream;
use controlg::tensor::{Params, Pool};
use controlg::trace::Record;
use controlg::train::{self, Model, ModelSpec, NamedObjective, RunEvent, RunFolder};

const SMALL: [&str; 7] = [
    "encoder.width=16",
    "train.epochs=2",
    "train.batches_per_epoch=30",
    "objective.p_par.parts=4",
    "sense.period=5",
    "sense.probe_nodes=300",
    "train.batch_nodes=256",
];

fn settings(more: &[&str]) -> Config {
    let mut table = Config::preset("any");
    for set in SMALL.iter().chain(more) {
        config::set(&mut table, set).unwrap();
    }
    Config::from_table(table).unwrap()
}

fn graph() -> Graph {
    data::load("synthetic:nodes=1200,degree=6,features=200", &LoadOptions::default()).unwrap().graph
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn mini_batches_give_the_same_bytes_at_any_number_of_threads() {
    let graph = graph();
    for batch in ["cluster", "neighbor"] {
        let paper = "p_link,p_recon,p_minsg,p_decor,p_par";
        let open = "p_recon,bgrl,graphmae,gca,cca-ssg";
        let runs = ["controlg", "uniform", "was", "autossl", "bgrl"].map(|method| (method, paper));
        for (method, objectives) in runs.into_iter().chain([("controlg", open), ("pcgrad", open)]) {
            let set = [
                &format!("train.batch={batch}"),
                &format!("method={method}"),
                &format!("objectives={objectives}"),
                "train.epochs=1",
                "train.fanout=4",
            ];
            let config = settings(&set.map(|s| s as &str));
            let run = || {
                let mut lines = 0;
                let run = train::pretrain_with(&graph, &config, |_| lines += 1).unwrap();
                assert!(lines > 10);
                run.into_parts().embeddings
            };
            let one = with_threads(1, run);
            assert!(one == with_threads(2, run) && one == with_threads(3, run), "{batch} {method}");
            assert_eq!((one.n_rows(), one.n_cols()), (1200, 16));
        }
    }
    for run in ["method=mvgrl", "objectives=p_link,mvgrl"] {
        let message = train::pretrain(&graph, settings(&[run, "train.batch=cluster"])).unwrap_err();
        assert!(message.to_string().starts_with("train.batch: found mvgrl"), "{message}");
    }
}

#[test]
fn gradient_checkpointing_gives_the_same_bytes() {
    let graph = graph();
    // Objectives with one and two views, dropout, an auxiliary network, and mixed gradients.
    for method in ["controlg", "uniform", "graphmae", "grace", "bgrl", "mvgrl", "dgi"] {
        let [kept, again] = ["never", "always"].map(|recompute| {
            let set = [
                &format!("train.recompute={recompute}"),
                &format!("method={method}"),
                "train.epochs=1",
                "encoder.dropout=0.2",
                "encoder.feature_dropout=0.2",
            ];
            let mut losses = Vec::new();
            let run = train::pretrain_with(&graph, settings(&set.map(|s| s as &str)), |record| {
                if let Record::Block(line) = record {
                    losses.push(line.loss);
                }
            });
            (run.unwrap().into_parts().embeddings, losses)
        });
        assert!(kept == again, "{method}");
    }
    let need = |recompute: &str| {
        let set = format!("train.recompute={recompute}");
        // Without sensing, which saves the activations in any case.
        train::memory::need(&graph, &settings(&[&set, "encoder.width=64", "method=random"])).unwrap().passes
    };
    assert!(need("always") < need("never"));
    assert_eq!(need("auto"), need("never"));
}

#[test]
fn a_loss_falls_with_mini_batches() {
    let graph = graph();
    let mut config = settings(&["method=p_par", "train.batch=cluster", "train.epochs=4", "train.lr=0.01"]);
    config.data = "synthetic".to_owned();
    let mut losses = Vec::new();
    train::pretrain_with(&graph, &config, |record| {
        if let Record::Block(line) = record {
            losses.push(line.loss);
        }
    })
    .unwrap();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    assert!(mean(&losses[100..]) < 0.7 * mean(&losses[..10]), "{losses:?}");
}

/// The graph as a binary folder, with its sparse features or dense structural ones.
fn binary_folder(home: &Path, name: &str, structural: bool) -> (Graph, Graph) {
    let source = if structural { data::FeatureSource::Structural } else { data::FeatureSource::Given };
    let options = LoadOptions { features: source, ..LoadOptions::default() };
    let dataset = data::load("synthetic:nodes=1200,degree=6,features=200", &options).unwrap();
    let out = home.join(name);
    binary::to_binary(&dataset, &out).unwrap();
    let load = |stay_on_disk| {
        data::load(out.to_str().unwrap(), &LoadOptions { stay_on_disk, ..LoadOptions::default() })
            .unwrap()
            .graph
    };
    let held = load(false);
    assert_eq!(held.adjacency(), dataset.graph.adjacency());
    let same = match (held.features(), dataset.graph.features()) {
        // Stored matrices always have values, even if all are 1.
        (Features::Sparse(a), Features::Sparse(b)) => (0..1200).all(|row| a.entries(row).eq(b.entries(row))),
        (a, b) => a == b,
    };
    assert!(same);
    (held, load(true))
}

#[test]
fn features_on_disk_train_and_embed_like_those_in_memory() {
    let home = tempfile::tempdir().unwrap();
    for structural in [false, true] {
        let (held, stored) =
            binary_folder(home.path(), if structural { "dense" } else { "sparse" }, structural);
        assert!(held.stored_features().is_none() && stored.stored_features().is_some());
        assert_eq!(held.rows(&[7, 8, 9, 3]).unwrap(), stored.rows(&[7, 8, 9, 3]).unwrap());
        assert!(stored.memory_bytes() < held.memory_bytes());
        for normalize in ["rows", "columns", "none", "auto"] {
            if structural && normalize == "rows" {
                continue; // values of both signs have no row sums to divide by
            }
            let config =
                settings(&["train.batch=cluster", "train.epochs=1", &format!("normalize={normalize}")]);
            let [a, b] = [&held, &stored]
                .map(|graph| train::pretrain(graph, &config).unwrap().into_parts().embeddings);
            assert!(a == b, "{normalize}");
        }
        // Full-batch training loads them.
        let config = settings(&["train.epochs=1"]);
        let [a, b] =
            [&held, &stored].map(|graph| train::pretrain(graph, &config).unwrap().into_parts().embeddings);
        assert!(a == b);
    }
}

fn run(
    folder: &Path,
    config: &Config,
    graph: &Graph,
    resume: bool,
    mut on_line: impl FnMut(&Record),
) -> Result<Vec<u8>> {
    RunFolder::open(folder, config, resume)?.pretrain(graph, |event| {
        if let RunEvent::Line(record) = event {
            on_line(record);
        }
    })?;
    Ok(fs::read(folder.join("embeddings.npy")).unwrap())
}

#[test]
fn a_feature_file_that_changes_during_a_run_stops_it_with_a_usable_checkpoint() {
    let home = tempfile::tempdir().unwrap();
    let (_, stored) = binary_folder(home.path(), "graph", true);
    let file = home.path().join("graph/features.f32");
    let whole = fs::read(&file).unwrap();
    let config = settings(&["train.batch=cluster", "normalize=none"]);
    let expected = run(&home.path().join("whole"), &config, &stored, false, |_| {}).unwrap();

    for (name, words) in [("cut", "bytes instead of"), ("touched", "changed since it was opened")] {
        let folder = home.path().join(name);
        let options = LoadOptions { stay_on_disk: true, ..LoadOptions::default() };
        let load = || data::load(home.path().join("graph").to_str().unwrap(), &options).unwrap().graph;
        let broken = run(&folder, &config, &load(), false, |record| {
            if let Record::Block(line) = record
                && line.step == 56
            {
                match name {
                    "cut" => OpenOptions::new().write(true).open(&file).unwrap().set_len(5000).unwrap(),
                    _ => {
                        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
                        OpenOptions::new().write(true).open(&file).unwrap().set_modified(later).unwrap();
                    }
                }
            }
        });
        let message = broken.unwrap_err().to_string();
        assert!(message.contains("features.f32") && message.contains(words), "{message}");
        assert!(!folder.join("embeddings.npy").exists());
        // The file is restored and the run resumes.
        fs::write(&file, &whole).unwrap();
        let mut first = None;
        let bytes = run(&folder, &config, &load(), true, |record| {
            if let Record::Block(line) = record {
                first.get_or_insert(line.step);
            }
        });
        assert!(bytes.unwrap() == expected, "{name}");
        assert_eq!(first, Some(55), "{name}: from the end of the first epoch on");
    }
}

/// A change to a file.
type Damage<'d> = &'d dyn Fn(&Path);

#[test]
fn broken_binary_folders_are_named() {
    let home = tempfile::tempdir().unwrap();
    binary_folder(home.path(), "good", false);
    let good = home.path().join("good");
    let load = |path: &Path| {
        let options = LoadOptions { stay_on_disk: true, ..LoadOptions::default() };
        data::load(path.to_str().unwrap(), &options).map(drop).unwrap_err().to_string()
    };
    let cases: &[(&str, Damage<'_>, &str)] = &[
        ("adjacency.columns.u32", &|file| fs::write(file, [0; 12]).unwrap(), "found 12 bytes"),
        (
            "adjacency.columns.u32",
            &|file| {
                let mut bytes = fs::read(file).unwrap();
                bytes[0] ^= 1;
                fs::write(file, bytes).unwrap();
            },
            "a different SHA-256",
        ),
        ("features.values.f32", &|file| fs::write(file, []).unwrap(), "found 0 bytes"),
        (
            "graph.json",
            &|file| {
                let text =
                    fs::read_to_string(file).unwrap().replace("\"features\": 200", "\"features\": 201");
                fs::write(file, text).unwrap();
            },
            "graph.json: found a different SHA-256",
        ),
        (
            "hashes.json",
            &|file| {
                let text = fs::read_to_string(file).unwrap().replace("[\"", "[\"0");
                fs::write(file, text).unwrap();
            },
            "hashes.json",
        ),
        ("features.columns.u32", &|file| fs::remove_file(file).unwrap(), "no such file"),
        ("graph.json", &|file| fs::write(file, "{}").unwrap(), "the header of a binary folder"),
        (
            "graph.json",
            &|file| {
                let text = fs::read_to_string(file).unwrap().replace("mapped 1", "mapped 2");
                fs::write(file, text).unwrap();
            },
            "controlg mapped 2",
        ),
        (
            "graph.json",
            &|file| {
                let text =
                    fs::read_to_string(file).unwrap().replace("\"nodes\": 1200", "\"nodes\": 4000000000");
                fs::write(file, text).unwrap();
            },
            "adjacency.offsets.u64",
        ),
    ];
    for (at, (name, damage, words)) in cases.iter().enumerate() {
        let bad = home.path().join(format!("bad-{at}"));
        fs::create_dir(&bad).unwrap();
        for entry in fs::read_dir(&good).unwrap().flatten() {
            fs::copy(entry.path(), bad.join(entry.file_name())).unwrap();
        }
        damage(&bad.join(name));
        let message = load(&bad);
        assert!(message.contains(words) && message.contains("bad-"), "{name}: {message}");
        assert!(!message.contains('\n'));
    }
}

#[test]
fn a_memory_limit_shrinks_batches_or_reports_what_is_needed() {
    let graph =
        data::load("synthetic:nodes=30000,degree=8,features=64", &LoadOptions::default()).unwrap().graph;
    let mut table = Config::preset("any");
    config::set(&mut table, "encoder.width=128").unwrap();
    let config = Config::from_table(table).unwrap();
    let need = train::memory::need(&graph, &config).unwrap();
    let total = need.total();
    assert_eq!(train::within(&graph, &config, total).unwrap(), config);
    // Slightly less memory leaves out quality and then enables gradient checkpointing, which change no result; much less
    // shrinks the batches.
    let settings = |config: &Config| (config.train.quality, config.train.recompute, config.train.batch);
    let again = train::within(&graph, &config, total - 1).unwrap();
    assert_eq!(settings(&again), (false, config::Recompute::Auto, config::BatchMode::Auto));
    let total_without = train::memory::need(&graph, &again).unwrap().total();
    let again = train::within(&graph, &again, total_without - 1).unwrap();
    assert_eq!(settings(&again), (false, config::Recompute::Always, config::BatchMode::Auto));
    let smaller = train::within(&graph, &config, total / 3).unwrap();
    assert!(smaller.train.batch_nodes < 30_000);
    assert!(train::memory::need(&graph, &smaller).unwrap().total() <= total / 3);
    let message = train::within(&graph, &config, 20_000_000).unwrap_err().to_string();
    assert!(message.starts_with("--memory: found 20 MB, expected at least "), "{message}");
    // The reported minimum is enough, even if mini-batches of a small graph need more than full-batch training.
    let needed = |message: &str| -> u64 {
        let megabytes = message.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        megabytes.parse::<u64>().unwrap() * 1_000_000
    };
    assert!(train::within(&graph, &config, needed(&message)).is_ok(), "{message}");
    let small = data::load("synthetic:nodes=1000,features=50", &LoadOptions::default()).unwrap().graph;
    let message = train::within(&small, &config, 10_000_000).unwrap_err().to_string();
    assert!(train::within(&small, &config, needed(&message)).is_ok(), "{message}");
    // An explicit full-batch setting is respected.
    let mut whole = config.clone();
    whole.train.batch = config::BatchMode::Full;
    assert!(train::within(&graph, &whole, total / 3).unwrap_err().to_string().contains("train.batch = full"));
}

#[test]
fn block_inference_on_pubmed_gives_the_bytes_of_the_full_graph() {
    let Some(folder) = common::real_data("block_inference_on_pubmed_gives_the_bytes_of_the_full_graph")
    else {
        return;
    };
    let options = LoadOptions { data_dir: Some(folder), ..LoadOptions::default() };
    let graph = data::load("pubmed", &options).unwrap().graph;
    for table in ["kind = 'gcn'\nwidth = 256", "kind = 'gat'\nwidth = 256\nheads = 4"] {
        let encoder = encoder::build(table.parse().unwrap()).unwrap();
        let mut params = Params::new();
        let group = params.add_group("encoder");
        encoder.init(graph.n_features(), &mut params, group, &mut Stream::new(0, "init", "", 0));
        let prepared = EncoderInput::new(&graph);
        let whole = encoder::embed(&*encoder, &params, group, &prepared, &Pool::new());
        let stats = encoder::statistics(&*encoder, &params, group, &prepared, &Pool::new());
        let aside = tempfile::tempdir().unwrap();
        let network = Network { encoder: &*encoder, params: &params, group };
        let (mut rows, mut blocks) = (Vec::new(), 0);
        let found = encoder::embed_in_blocks(network, &graph, None, aside.path(), &mut |block| {
            blocks += 1;
            rows.extend_from_slice(block);
            Ok(())
        });
        assert!(blocks > 1 && found.unwrap() == stats && rows == whole.data(), "{table}");
    }
}

/// Ranks; ties get their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |x: f64| {
        let below = values.iter().filter(|&&y| y < x).count() as f64;
        below + (values.iter().filter(|y| y.total_cmp(&x).is_eq()).count() as f64 - 1.0) / 2.0
    };
    values.iter().map(|&x| rank(x)).collect()
}

fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 - 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt().max(1e-12)
}

/// Compares sensing on a quarter of PubMed with sensing on the full graph: the objectives must have a similar order by
/// their Rayleigh quotients, because the schedule depends on that order.
#[test]
fn a_probe_of_pubmed_senses_like_the_full_graph() {
    let Some(folder) = common::real_data("a_probe_of_pubmed_senses_like_the_full_graph") else {
        return;
    };
    let options = LoadOptions { data_dir: Some(folder), ..LoadOptions::default() };
    let graph = data::load("pubmed", &options).unwrap().graph;
    let mut table = Config::preset("pubmed");
    config::set(&mut table, "encoder.width=64").unwrap();
    let config = Config::from_table(table).unwrap();
    let input = train::Input::new(&graph, &config).unwrap();
    let probe = Subgraph::balls(&input.graph, 5000, 8, &mut Stream::new(0, "sense", "probe", 0)).unwrap();
    let model = |probe| {
        let tasks = config
            .objectives
            .iter()
            .map(|name| NamedObjective { name: name.clone(), objective: config.objective[name].clone_box() });
        let parts = ModelSpec {
            encoder: config.encoder.shared(),
            objectives: tasks.collect(),
            optimizer: config.train.optimizer(),
            per_task_moments: false,
            seed: 0,
            total_steps: 60,
            recompute: config.train.recompute,
            held_out: 0.0,
            precision: config.train.precision.factors(),
            relation_weights: config.sense.relation_weights,
        };
        Model::new(&input.graph, probe, parts).unwrap()
    };
    let (mut whole, mut part) = (model(None), model(Some(&probe)));
    let k = config.objectives.len();
    let [mut rq, mut conf] = [[vec![], vec![]], [vec![], vec![]]];
    let mut worst: f64 = 1.0;
    for step in 0..=40u64 {
        if step % 8 == 0 {
            let readings = [whole.measure(step).unwrap(), part.measure(step).unwrap()];
            for (at, reading) in readings.iter().enumerate() {
                rq[at].extend(&reading.rq);
                // How much the other gradients conflict with each one.
                let against = |a: usize| {
                    (0..k).filter(|&b| b != a).map(|b| (-reading.cosine[a][b]).max(0.0)).sum::<f64>()
                };
                conf[at].extend((0..k).map(against));
            }
            worst = worst.min(rank_correlation(&readings[0].rq, &readings[1].rq));
        }
        for model in [&mut whole, &mut part] {
            model.step(step as usize % k, step).unwrap();
        }
    }
    let (of_rq, of_conf) = (rank_correlation(&rq[0], &rq[1]), rank_correlation(&conf[0], &conf[1]));
    println!(
        "probe of {} of {} nodes: rank correlation of RQ {of_rq:.3} (at the worst moment {worst:.3}), of Conf {of_conf:.3}",
        probe.nodes.len(),
        graph.n_nodes()
    );
    assert!(of_rq > 0.8, "{of_rq} {rq:?}");
    assert!(of_conf > 0.6, "{of_conf} {conf:?}");
}
