use super::*;
use crate::coordinator::IntegralRule;

pub(super) fn comparison() -> Comparison {
    let mut comparison = Comparison {
        data: vec!["cora".into(), "citeseer".into()],
        methods: vec!["controlg".into(), "raw".into(), "controlg".into()],
        pools: vec![],
        preset: Preset::Paper,
        seeds: vec![0, 1],
        tasks: vec![Task::Cluster, Task::Nc, Task::Lp],
        protocols: vec![],
        set: vec!["encoder.width=64".into()],
        budget: Budget::Steps,
        probe: Probe::Lbfgs,
        normalize: EmbeddingNormalization::L2,
        data_hashes: BTreeMap::new(),
        nodes: BTreeMap::new(),
        curve: 0,
        defaults: Comparison::DEFAULTS,
    };
    comparison.add_baselines(true);
    comparison
}

pub(super) fn cell_of(job: &Job, task: Task) -> ResultCell {
    let text = format!(
        r#"{{"data":"{}","method":"{}","seed":{},"task":"{}","value":1.0,"protocol":"p","probe":"lbfgs","embedding":"l2","config_hash":"{}"}}"#,
        job.data,
        job.method,
        job.seed,
        task.name(),
        job.source.hash().unwrap()
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn adds_floors_and_single_objectives() {
    let singles = ["p_link", "p_recon", "p_minsg", "p_decor", "p_par"];
    let names = [&["controlg", "raw"], &singles[..], &["untrained", "sgc", "mean", "hops"]].concat();
    assert_eq!(comparison().methods, names);
}

#[test]
fn tasks_with_the_same_edges_share_a_run() {
    let jobs = comparison().jobs(&[]).unwrap();
    assert_eq!(jobs.len(), 2 * 2 * 11 * 2);
    assert!(jobs.iter().all(|job| (job.edges == EdgeScope::Train) == (job.tasks == [Task::Lp])));
    assert!(jobs[..44].iter().all(|job| job.seed == 0), "seed by seed");
    let EmbeddingSource::Run(config) = &jobs[0].source else { panic!("a run") };
    // `set` overrides the preset.
    assert_eq!((config.train.lr, config.encoder.settings()["width"].as_integer()), (1e-3, Some(64)));
}

#[test]
fn floors_that_do_not_depend_on_the_seed_are_computed_once() {
    let comparison = comparison();
    let jobs = comparison.jobs(&[]).unwrap();
    let job = |method: &str, seed, edges| {
        let of = |job: &&Job| job.method == method && job.seed == seed && job.edges == edges;
        jobs.iter().find(of).unwrap()
    };
    let first = job("mean", 0, EdgeScope::All);
    let cells = |protocol: &str| -> Vec<ResultCell> {
        let with = |cell: ResultCell| ResultCell { protocol: protocol.to_owned(), ..cell };
        first.tasks.iter().map(|task| with(cell_of(first, *task))).collect()
    };
    let second = job("mean", 1, EdgeScope::All);
    let reused = |task, protocol| comparison.results_of_another_seed(second, task, &cells(protocol)).pop();
    let found = reused(Task::Nc, "planetoid-public").unwrap();
    assert!(comparison.is_result(second, Task::Nc, &found) && found.seed == 1);
    assert!(reused(Task::Cluster, "kmeans-k").is_some());
    // A split that is drawn from the seed, or held-out edges, differ from seed to seed; so do runs.
    assert_eq!(reused(Task::Nc, "random-10-10-80"), None);
    let (lp, next) = (job("mean", 0, EdgeScope::Train), job("mean", 1, EdgeScope::Train));
    assert_eq!(comparison.results_of_another_seed(next, Task::Lp, &[cell_of(lp, Task::Lp)]), []);
    let (run, next) = (job("controlg", 0, EdgeScope::All), job("controlg", 1, EdgeScope::All));
    assert_eq!(comparison.results_of_another_seed(next, Task::Cluster, &[cell_of(run, Task::Cluster)]), []);
}

#[test]
fn shards_partition_the_jobs() {
    let shards: Vec<Shard> = (1..=3).map(|index| Shard { index, of: 3 }).collect();
    assert!((0..100).all(|place| shards.iter().filter(|shard| shard.contains(place)).count() == 1));
    assert!(
        "0/3".parse::<Shard>().is_err() && "4/3".parse::<Shard>().is_err() && "2".parse::<Shard>().is_err()
    );
}

#[test]
fn finished_jobs_are_skipped_unless_settings_change() {
    let mut comparison = comparison();
    let jobs = comparison.jobs(&[]).unwrap();
    let done = vec![cell_of(&jobs[0], Task::Nc)];
    let left = comparison.remaining(&jobs[0], &done).unwrap();
    assert_eq!(left.tasks, [Task::Cluster]);
    let done = vec![cell_of(&jobs[0], Task::Nc), cell_of(&jobs[0], Task::Cluster)];
    assert_eq!(comparison.remaining(&jobs[0], &done), None);
    assert_eq!(comparison.results_of(&jobs, &done).len(), 2);

    comparison.set = vec!["encoder.width=32".into()];
    let others = comparison.jobs(&[]).unwrap();
    assert_eq!(comparison.remaining(&others[0], &done).as_ref(), Some(&others[0]));
    assert_eq!(comparison.results_of(&others, &done), []);
    comparison.probe = Probe::AdamEs;
    assert_eq!(comparison.remaining(&jobs[0], &done).unwrap().tasks, [Task::Nc]);
}

#[test]
fn epochs_have_the_same_length_for_every_method() {
    let mut comparison = comparison();
    comparison.preset = Preset::Tuned;
    comparison.methods = ["controlg", "dgi", "bgrl"].map(str::to_owned).to_vec();
    comparison.set = vec!["train.epochs=6".into()];
    let runs = |comparison: &Comparison| -> Vec<Config> {
        let jobs = comparison.jobs(&[]).unwrap().into_iter().take(6).step_by(2);
        jobs.map(|job| match job.source {
            EmbeddingSource::Run(config) => *config,
            EmbeddingSource::Floor(name) => panic!("{name} is no run"),
        })
        .collect()
    };
    let steps =
        |comparison: &Comparison| runs(comparison).iter().map(Config::total_steps).collect::<Vec<_>>();
    assert_eq!(steps(&comparison), [300, 300, 300]);
    // A tenth of the run, as in the preset.
    assert_eq!(runs(&comparison)[2].train.warmup_steps, 30);
    // A comparison of an older version continues as it was begun.
    comparison.defaults = 0;
    assert_eq!(steps(&comparison), [300, 60, 300]);
    assert_eq!(runs(&comparison)[0].control.integral, IntegralRule::Centered);
    let text = serde_json::to_string(&comparison).unwrap();
    let old: Comparison = serde_json::from_str(&text.replace(",\"defaults\":0", "")).unwrap();
    assert_eq!(old, comparison);
}

#[test]
fn the_papers_grid_for_arxiv_is_its_own() {
    let paper = Grid::paper();
    let tries = |data: &str, setting: &str| {
        paper.combinations(data, "controlg", None).iter().any(|one| one.iter().any(|own| own == setting))
    };
    assert!(tries("ogbn-arxiv", "control.ki=0.5") && !tries("cora", "control.ki=0.5"));
    assert!(tries("ogbn-arxiv", "train.block=10") && tries("cora", "train.block=1"));
    // Methods without a grid of their own on this data set search the general one.
    assert_eq!(paper.combinations("ogbn-arxiv", "random", None).len(), 15);
}

#[test]
fn evaluation_budget_includes_sensing() {
    let mut comparison = comparison();
    comparison.budget = Budget::Evaluations;
    let jobs = comparison.jobs(&[]).unwrap();
    for job in &jobs {
        if let EmbeddingSource::Run(config) = &job.source {
            assert!(config.evaluations() <= 1000, "{}", job.title());
        }
    }
    let EmbeddingSource::Run(config) = &jobs[0].source else { panic!("a run") };
    // Cora: an epoch has 50 steps and senses five objectives five times; the warm-up senses six times.
    let (epochs, evaluations) = (config.train.epochs, config.evaluations());
    assert_eq!((epochs, evaluations), (13, 650 + 30 + 12 * 25 + 15));
}

#[test]
fn grid_combinations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.toml");
    let text =
        "[all]\n\"train.lr\" = [1e-3, 1e-2]\n[controlg]\n\"train.block\" = [1, 2, 5]\n\"train.lr\" = [0.5]\n";
    std::fs::write(&path, text).unwrap();
    let grid = Grid::read(&path).unwrap();
    assert_eq!(grid.combinations("cora", "random", None), [["train.lr=0.001"], ["train.lr=0.01"]]);
    let own = grid.combinations("cora", "controlg", None);
    assert_eq!(own.len(), 3, "the method's own list overrides [all]: {own:?}");
    let paper = Grid::read(std::path::Path::new("paper")).unwrap();
    assert_eq!(paper.combinations("cora", "controlg", None).len(), 11_520);
    let drawn = paper.combinations("cora", "controlg", Some(7));
    assert_eq!((drawn.len(), paper.combinations("cora", "controlg", Some(7))), (7, drawn.clone()));
    for method in ["controlg", "random", "autossl", "was", "paretognn", "pcgrad", "cagrad"] {
        for combination in paper.combinations("cora", method, Some(7)) {
            let mut table = toml::Table::from_iter([("data".to_owned(), "cora".into())]);
            config::set(&mut table, &format!("method={method}")).unwrap();
            combination.iter().for_each(|setting| config::set(&mut table, setting).unwrap());
            Config::from_table(table).unwrap();
        }
    }
    std::fs::write(&path, "[all]\n\"train.lr\" = []\n").unwrap();
    let error = Grid::read(&path).unwrap_err().to_string();
    assert!(error.contains("grid.toml") && error.contains("train.lr"), "{error}");
}

#[test]
fn chooses_the_best_on_validation_once_all_trials_are_done() {
    let comparison = Comparison { tasks: vec![Task::Nc], methods: vec!["random".into()], ..comparison() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.toml");
    std::fs::write(&path, "[all]\n\"train.lr\" = [1e-4, 1e-3, 1e-2]\n").unwrap();
    let jobs = Grid::read(&path).unwrap().jobs(&comparison, None, 1).unwrap();
    assert_eq!(jobs.len(), 6);
    let trial = |(job, validation): (&Job, f64)| GridTrial {
        data: job.data.clone(),
        method: job.method.clone(),
        seed: job.seed,
        task: Task::Nc,
        protocols: Vec::new(),
        settings: job.settings.clone(),
        validation: Some(validation),
        config_hash: job.source.hash().unwrap(),
        probe: "lbfgs".to_owned(),
        embedding: "l2".to_owned(),
        data_hash: "then".to_owned(),
    };
    let trials: Vec<GridTrial> = jobs.iter().zip([60.0, 70.0, 70.0, 9.0, 8.0, 7.0]).map(trial).collect();
    assert_eq!(choose(&comparison, &jobs, &trials[..5], ChooseBy::Task).unwrap(), None);
    let other = Comparison { probe: Probe::AdamEs, ..comparison.clone() };
    assert_eq!(
        choose(&other, &jobs, &trials, ChooseBy::Task).unwrap(),
        None,
        "scores of another probe do not count"
    );
    let hashes =
        [("cora", "now"), ("citeseer", "then")].map(|(data, hash)| (data.to_owned(), hash.to_owned()));
    let other = Comparison { data_hashes: BTreeMap::from(hashes), ..comparison.clone() };
    assert_eq!(choose(&other, &jobs, &trials, ChooseBy::Task).unwrap(), None, "nor do scores on other data");
    let choices = choose(&comparison, &jobs, &trials, ChooseBy::Task).unwrap().unwrap();
    let settings: Vec<&str> = choices.iter().map(|choice| choice.settings[0].as_str()).collect();
    assert_eq!(settings, ["train.lr=0.001", "train.lr=0.0001"]);
    let chosen = comparison.jobs(&choices).unwrap();
    let EmbeddingSource::Run(config) = &chosen.iter().find(|job| job.data == "citeseer").unwrap().source
    else {
        panic!("a run")
    };
    assert!((config.train.lr - 1e-4).abs() < 1e-18);
    // Failed trials are skipped; if all failed, that is an error.
    let mut failed = trials.clone();
    failed[1].validation = None;
    let choices = choose(&comparison, &jobs, &failed, ChooseBy::Task).unwrap().unwrap();
    assert_eq!((choices[0].settings[0].as_str(), choices[0].trials), ("train.lr=0.01", 2));
    failed[..3].iter_mut().for_each(|trial| trial.validation = None);
    let error = choose(&comparison, &jobs, &failed, ChooseBy::Task).unwrap_err().to_string();
    assert!(error.contains("random on cora"), "{error}");
}

#[test]
fn variants_are_combined_with_the_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.toml");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Grid::read(&path)
    };
    let variants =
        "[[all.variants]]\nencoder.kind = 'gat'\nencoder.heads = 2\n[[all.variants]]\n'train.epochs' = 3\n";
    let grid = read(&format!("[all]\n\"train.lr\" = [1e-3, 1e-2]\n{variants}")).unwrap();
    let gat =
        |lr: &str| vec![format!("train.lr={lr}"), "encoder.heads=2".into(), "encoder.kind=\"gat\"".into()];
    let longer = |lr: &str| vec![format!("train.lr={lr}"), "train.epochs=3".into()];
    let expected = vec![gat("0.001"), gat("0.01"), longer("0.001"), longer("0.01")];
    assert_eq!(grid.combinations("cora", "random", None), expected);
    assert_eq!(grid.combinations("cora", "random", Some(3)).len(), 3);
    let error = read(&format!("[all]\n\"train.epochs\" = [3]\n{variants}")).unwrap_err().to_string();
    assert!(error.contains("all.variants") && error.contains("train.epochs=3"), "{error}");
    let error = read("[all]\nvariants = [1]\n").unwrap_err().to_string();
    assert!(error.contains("tables of settings"), "{error}");
}

#[test]
fn one_combination_can_be_chosen_for_all_tasks_and_seeds() {
    let comparison = Comparison {
        data: vec!["cora".into()],
        tasks: vec![Task::Nc, Task::Lp, Task::Cluster],
        methods: vec!["random".into()],
        ..comparison()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.toml");
    std::fs::write(&path, "[all]\n\"train.lr\" = [1e-4, 1e-3, 1e-2]\n").unwrap();
    let jobs = Grid::read(&path).unwrap().jobs(&comparison, None, 2).unwrap();
    // Three rates with two seeds, for node classification and for link prediction; clustering has no validation score.
    let scores = [[70.0, 74.0, 60.0], [72.0, 72.0, 90.0], [80.0, 79.0, 95.0], [80.0, 81.0, 60.0]].concat();
    assert_eq!(jobs.len(), scores.len());
    let trial = |(job, validation): (&Job, f64)| GridTrial {
        data: job.data.clone(),
        method: job.method.clone(),
        seed: job.seed,
        task: job.tasks[0],
        protocols: Vec::new(),
        settings: job.settings.clone(),
        validation: Some(validation),
        config_hash: job.source.hash().unwrap(),
        probe: String::new(),
        embedding: String::new(),
        data_hash: String::new(),
    };
    let mut trials: Vec<GridTrial> = jobs.iter().zip(scores).map(trial).collect();
    let chosen = |trials: &[GridTrial], by: ChooseBy| -> Vec<(Task, String, f64)> {
        let choices = choose(&comparison, &jobs, trials, by).unwrap().unwrap();
        choices
            .into_iter()
            .map(|choice| (choice.task, choice.settings[0].clone(), choice.validation))
            .collect()
    };
    let rate = |task, rate: &str, mean| (task, format!("train.lr={rate}"), mean);
    let each = [rate(Task::Nc, "0.01", 75.0), rate(Task::Lp, "0.0001", 80.0)];
    assert_eq!(chosen(&trials, ChooseBy::Task), each);
    // Means of both tasks: 75.5, 76.5 and 76.25.
    let both = [rate(Task::Nc, "0.001", 73.0), rate(Task::Lp, "0.001", 80.0)];
    assert_eq!(chosen(&trials, ChooseBy::Mean), both);
    let choice = &choose(&comparison, &jobs, &trials, ChooseBy::Mean).unwrap().unwrap()[0];
    assert_eq!(choice.to_toml().unwrap(), "[train]\nlr = 0.001\n");
    // A combination that failed with one seed is not chosen.
    trials[1].validation = None;
    assert_eq!(chosen(&trials, ChooseBy::Mean)[0], rate(Task::Nc, "0.01", 75.0));
    assert_eq!(choose(&comparison, &jobs, &trials[1..], ChooseBy::Mean).unwrap(), None, "a trial is missing");
}

#[test]
fn comparisons_without_a_preset_are_those_of_version_0_1() {
    let comparison = Comparison { preset: Preset::Tuned, ..comparison() };
    let mut stored = serde_json::to_value(&comparison).unwrap();
    assert_eq!(stored["preset"], "tuned");
    stored.as_object_mut().unwrap().remove("preset");
    assert_eq!(serde_json::from_value::<Comparison>(stored).unwrap().preset, Preset::Paper);
}

/// Every result in `results/` belongs to the comparison of its folder, though defaults and presets have changed.
#[test]
fn committed_results_are_found() {
    fn folders(root: &std::path::Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(root).into_iter().flatten();
        let inner = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
        let inner: Vec<_> = inner.flat_map(|path| folders(&path)).collect();
        let own = root.join(Manifest::FILE).exists().then(|| root.to_owned());
        own.into_iter().chain(inner).collect()
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    if !root.exists() {
        // Past the test harness, which captures eprintln! in passing tests.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: no folder results/\n");
        return;
    }
    let found = folders(&root);
    assert!(found.iter().any(|folder| folder.ends_with("planetoid-chameleon-presets")));
    for folder in found {
        let (manifest, all) = (Manifest::read(&folder).unwrap(), read_results(&folder));
        let cells = manifest.cells(&all).unwrap();
        assert_eq!(cells.len(), all.len(), "{}", folder.display());
    }
}

fn read_results(folder: &std::path::Path) -> Vec<ResultCell> {
    let text = std::fs::read_to_string(folder.join("results.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The grids of data sets search neither the schedule nor settings that do not exist.
#[test]
fn committed_grids_leave_the_schedule_alone() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("grids");
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        if entry.extension().is_none_or(|extension| extension != "toml") || name.starts_with("paper") {
            continue;
        }
        let combinations = Grid::read(&entry).unwrap().combinations("cora", "random", None);
        assert!(combinations.len() > 1, "{name}");
        for combination in combinations {
            let mut table = toml::Table::from_iter([("data".to_owned(), name.as_str().into())]);
            for setting in &combination {
                let schedule = ["sense.", "plan.", "control.", "train.block=", "train.warmup_rounds", "mix."];
                assert!(!schedule.iter().any(|word| setting.starts_with(word)), "{name}: {setting}");
                config::set(&mut table, setting).unwrap();
            }
            Config::from_table(table).unwrap_or_else(|error| panic!("{name}: {combination:?}: {error}"));
        }
    }
}

#[test]
fn every_combination_runs_once_per_edge_scope() {
    let comparison = Comparison { methods: vec!["random".into()], ..comparison() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.toml");
    std::fs::write(&path, "[all]\n\"train.lr\" = [1e-4, 1e-3, 1e-2]\n").unwrap();
    let jobs = Grid::read(&path).unwrap().jobs(&comparison, None, 1).unwrap();
    // Two data sets, on all edges and on training edges.
    assert_eq!(jobs.len(), 2 * 2 * 3);
    let names: std::collections::HashSet<_> = jobs.iter().map(|job| job.folder_name().unwrap()).collect();
    assert_eq!(names.len(), jobs.len());
}

#[test]
fn ignores_results_on_other_data() {
    let mut comparison = comparison();
    let jobs = comparison.jobs(&[]).unwrap();
    let cell = |hash: &str| ResultCell { data_hash: hash.to_owned(), ..cell_of(&jobs[0], Task::Nc) };
    comparison.data_hashes.insert("cora".to_owned(), "now".to_owned());
    let taken = |comparison: &Comparison, hash| comparison.is_result(&jobs[0], Task::Nc, &cell(hash));
    assert!(taken(&comparison, "now") && !taken(&comparison, "before"));
    assert!(taken(&comparison, ""), "versions that wrote no hash");
    comparison.data_hashes.clear();
    assert!(taken(&comparison, "before"), "a comparison without hashes");
}

#[test]
fn best_single_objective_is_chosen_on_validation() {
    let mut comparison = comparison();
    (comparison.data, comparison.tasks) = (vec!["cora".into()], vec![Task::Nc]);
    let jobs = comparison.jobs(&[]).unwrap();
    let of = |method: &str, value: f64, validation: f64| {
        let job = jobs.iter().find(|job| job.method == method).unwrap();
        ResultCell { value, validation: Some(validation), ..cell_of(job, Task::Nc) }
    };
    let cells = [of("p_link", 90.0, 50.0), of("p_par", 60.0, 70.0), of("controlg", 80.0, 80.0)];
    let report = ComparisonReport::new(&comparison, &cells, "controlg", true).unwrap();
    let task = &report.tasks[0];
    assert_eq!(task.best_single, [("cora".to_owned(), "p_par".to_owned())]);
    let last = task.table.rows.last().unwrap();
    assert_eq!((last.cells[0].unwrap().0.mean, last.rank), (60.0, None));
    assert!(report.markdown().contains("| p_link | +10.00 |"), "{}", report.markdown());
    // The paper's 81.92 on Cora.
    assert!(report.markdown().contains("80.00 / 81.92 (-1.92)"), "{}", report.markdown());
    assert!(report.html().contains("<h2>Node classification"));
    // The row repeats others and has no place.
    let (_, csv) = report.files().into_iter().find(|(name, _)| name == "nc.csv").unwrap();
    assert!(csv.contains("best single objective,1,60,,,,,0,"), "{csv}");
    // The setup mentions equal steps only if they are equal.
    assert!(report.markdown().contains("the same number of optimizer steps"));
    let mut unequal = cells.to_vec();
    (unequal[0].steps, unequal[1].steps) = (1000, 50);
    let report = ComparisonReport::new(&comparison, &unequal, "controlg", true).unwrap();
    assert!(report.markdown().contains("as set for each method"));
}

#[test]
fn pools_are_columns_and_what_trains_no_pool_runs_once() {
    let comparison = Comparison {
        methods: ["random", "controlg-gain", "p_par", "raw"].map(str::to_owned).to_vec(),
        tasks: vec![Task::Nc],
        seeds: vec![0],
        pools: PoolSuite::Stress.pools(),
        set: vec!["encoder.width=8".into()],
        ..comparison()
    };
    let jobs = comparison.jobs(&[]).unwrap();
    assert_eq!(jobs.len(), 2 * (4 + 4 + 1 + 1));
    let EmbeddingSource::Run(config) = &jobs[1].source else { panic!("a run") };
    assert_eq!((jobs[1].pool.as_str(), config.objectives.len()), ("five+1bad", 6));
    let cells: Vec<ResultCell> =
        jobs.iter().map(|job| ResultCell { pool: job.pool.clone(), ..cell_of(job, Task::Nc) }).collect();
    assert!(jobs.iter().all(|job| comparison.remaining(job, &cells).is_none()));
    // A result of one pool is not one of another.
    assert!(comparison.remaining(&jobs[1], &cells[..1]).is_some());
    let report = ComparisonReport::new(&comparison, &cells, "random", false).unwrap();
    let text = report.markdown();
    for part in
        ["cora, five+1bad", "citeseer, two+3bad", "two+3bad: p_recon p_minsg x_noise x_shuffle x_memorize"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let rows = &report.tasks[0].table.rows;
    assert!(rows.iter().all(|row| row.cells.iter().all(Option::is_some)), "{text}");
    assert_eq!(
        "strees".parse::<PoolSuite>().unwrap_err().to_string(),
        "unknown suite of pools 'strees', did you mean 'stress'?"
    );
}
