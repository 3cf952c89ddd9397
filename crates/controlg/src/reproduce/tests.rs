use std::collections::HashSet;

use super::*;
use crate::compare::{Budget, EmbeddingSource, Job, ResultCell};
use crate::config::EdgeScope;
use crate::eval::{Task, paper};

fn all_targets() -> Vec<&'static ReproduceTarget> {
    TARGETS.iter().collect()
}

fn plan_of(names: &[&str]) -> RunPlan {
    let targets: Vec<&'static ReproduceTarget> =
        names.iter().map(|name| ReproduceTarget::find(name).unwrap()).collect();
    RunPlan::new(&targets, &ReproduceSettings::default()).unwrap()
}

/// A small reproduction on a graph that is not in the paper.
fn small() -> ReproduceSettings {
    let set = ["train.epochs=12", "train.batches_per_epoch=10", "train.warmup_rounds=1"];
    ReproduceSettings {
        data: vec!["synthetic:nodes=90".to_owned()],
        seeds: 2,
        set: set.map(str::to_owned).to_vec(),
        gain_configs: 4,
        ..ReproduceSettings::default()
    }
}

/// A result of every job, with the value that `value` gives to its method and seed.
fn cells(settings: &ReproduceSettings, value: impl Fn(&Job) -> f64) -> Vec<ResultCell> {
    let plan = RunPlan::new(&all_targets(), settings).unwrap();
    let of_job = |planned: &PlannedJob| {
        let job = planned.job.clone();
        let value = value(&job);
        job.tasks.clone().into_iter().map(move |task| {
            let line = serde_json::json!({
                "data": job.data, "method": job.method, "seed": job.seed, "task": task.name(), "value": value,
                "protocol": "own", "probe": "lbfgs", "embedding": "l2", "settings": job.settings,
                "config_hash": job.source.hash().unwrap(),
            });
            serde_json::from_value(line).unwrap()
        })
    };
    plan.jobs.iter().flat_map(of_job).collect()
}

#[test]
fn targets_have_the_names_that_the_manual_gives_them() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    let expected = "nc lp cluster ablation-nc ablation-lp gat pool-size gains equal-steps timing figures";
    assert_eq!(names.join(" "), expected);
    let error = ReproduceTarget::find("gta").err().unwrap().to_string();
    assert!(error.contains("'gta'") && error.contains("gat"), "{error}");
}

#[test]
fn no_run_is_trained_twice() {
    let plan = RunPlan::new(&all_targets(), &ReproduceSettings::default()).unwrap();
    let folders: Vec<String> =
        plan.jobs.iter().filter(|one| one.job.is_run()).map(|one| one.job.folder_name().unwrap()).collect();
    assert_eq!(folders.iter().collect::<HashSet<_>>().len(), folders.len());
    // Clustering adds no run to classification, and the ablations do not train the complete loop again.
    let runs = |names: &[&str]| plan_of(names).jobs.iter().filter(|one| one.job.is_run()).count();
    assert_eq!(runs(&["nc", "cluster"]), runs(&["nc"]));
    assert_eq!(runs(&["nc", "ablation-nc"]), runs(&["nc"]) + 5 * 9 * 5);
    assert_eq!(runs(&["nc", "pool-size"]), runs(&["nc"]) + 2 * 3 * 5);
    assert_eq!(runs(&["nc", "figures"]), runs(&["nc"]));
    assert_eq!(runs(&["gains"]), 200);
}

#[test]
fn the_first_jobs_are_those_that_matter_most() {
    let plan = RunPlan::new(&all_targets(), &ReproduceSettings::default()).unwrap();
    let mut steps: Vec<&str> = plan.jobs.iter().map(|planned| planned.step).collect();
    steps.dedup();
    let expected = [
        "main tables, seeds 0 to 2",
        "ablations, seeds 0 to 2",
        "GAT and pool sizes, seeds 0 to 2",
        "gain sweep",
        "main tables, further seeds",
        "ablations, further seeds",
        "GAT and pool sizes, further seeds",
        "equal steps, seeds 0 to 2",
        "equal steps, further seeds",
    ];
    assert_eq!(steps, expected);
    let first: Vec<u64> =
        plan.jobs.iter().filter(|one| one.step == expected[0]).map(|one| one.job.seed).collect();
    assert!(first.is_sorted() && first.iter().all(|seed| *seed < 3), "seed by seed");
}

#[test]
fn methods_of_a_table_have_the_same_budget() {
    let steps = |budget: Budget, method: &str| -> u64 {
        let settings =
            ReproduceSettings { budget, data: vec!["cora".to_owned()], ..ReproduceSettings::default() };
        let plan = RunPlan::new(&[ReproduceTarget::find("nc").unwrap()], &settings).unwrap();
        let job = plan.jobs.iter().find(|planned| planned.job.method == method).unwrap();
        let EmbeddingSource::Run(config) = &job.job.source else { panic!("{method} is a run") };
        assert!(budget == Budget::Steps || config.evaluations() <= 300, "{method}");
        config.total_steps()
    };
    for method in ["dgi", "grace", "mvgrl", "bgrl", "p_link", "random", "uniform", "controlg"] {
        assert_eq!(steps(Budget::Steps, method), 300, "{method}");
    }
    assert_eq!((steps(Budget::Evaluations, "dgi"), steps(Budget::Evaluations, "uniform")), (300, 50));
}

#[test]
fn published_numbers_agree_with_the_main_tables() {
    for data in ["cora", "citeseer", "chameleon"] {
        let main = paper::value(data, "controlg", "nc").map(|known| known.value);
        assert_eq!(published::value("pool-size", data, "K=5"), main);
        for row in ["uniform", "cagrad", "random", "controlg"] {
            assert!(published::value("gat", data, row).is_some(), "{data} {row}");
        }
    }
    let target = ReproduceTarget::find("ablation-lp").unwrap();
    assert_eq!(target.published("cora", "controlg"), Some((97.42, Some(0.2))));
}

#[test]
fn costs_are_known_for_all_data_sets_that_can_be_had() {
    let plan = RunPlan::new(&all_targets(), &ReproduceSettings { seeds: 1, ..ReproduceSettings::default() })
        .unwrap();
    for PlannedJob { job, .. } in &plan.jobs {
        let known = costs::of_job(job);
        let expected = !["wikics", "ogbn-arxiv"].contains(&job.data.as_str());
        assert_eq!(known.is_some(), expected, "{}", job.title());
        assert!(known.is_none_or(|cost| cost.seconds > 0.0 && cost.peak_mb > 10.0), "{}", job.title());
    }
}

#[test]
fn tables_stand_beside_the_papers() {
    let settings =
        ReproduceSettings { data: vec!["cora".to_owned()], seeds: 2, ..ReproduceSettings::default() };
    let cells = cells(&settings, |job| 80.0 + job.seed as f64);
    let table = TargetTable::new(ReproduceTarget::find("nc").unwrap(), &settings, &cells).unwrap().unwrap();
    let cell = &table.row("controlg").unwrap().cells[0];
    let ours = cell.ours.unwrap();
    assert!((ours.mean - 80.5).abs() < 1e-9 && ours.n == 2);
    assert_eq!(cell.paper, Some((81.92, Some(0.9))));
    let (difference, half) = cell.difference().unwrap();
    assert!((difference + 1.42).abs() < 1e-9);
    assert!((half.unwrap() - ours.half_width.unwrap().hypot(0.9)).abs() < 1e-12);
    let markdown = table.markdown();
    assert!(markdown.contains("| controlg | 80.50 ± 6.35 / 81.92 ± 0.90 (-1.42 ± 6.42) |"), "{markdown}");
    assert!(table.html().contains("81.92 ± 0.90") && table.csv().contains("controlg,cora,2,80.5,"));
    // Floors are below the rows of the paper and have no rank.
    assert_eq!(table.rows.last().unwrap().name, "hops");
    assert!(table.row("raw").unwrap().rank.is_none() && table.row("random").unwrap().rank.is_some());
    let timing = TargetTable::new(ReproduceTarget::find("timing").unwrap(), &settings, &cells).unwrap();
    assert!(timing.is_none());
}

#[test]
fn pool_sizes_are_rows() {
    let cells = cells(&small(), |_| 50.0);
    let table =
        TargetTable::new(ReproduceTarget::find("pool-size").unwrap(), &small(), &cells).unwrap().unwrap();
    let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["K=3", "K=4", "K=5"]);
    assert!(table.rows.iter().all(|row| row.cells[0].ours.unwrap().n == 2));
}

#[test]
#[allow(clippy::float_cmp)] // quantiles 0 and 1 are values themselves
fn the_gain_sweep_draws_from_the_loops_settings_only() {
    let part = &ReproduceTarget::find("gains").unwrap().parts(&ReproduceSettings::default())[0];
    assert_eq!(part.combinations.len(), 200);
    for settings in &part.combinations {
        assert_eq!(settings.len(), 9);
        assert!(!settings.iter().any(|one| one.starts_with("train.lr") || one.starts_with("encoder")));
    }
    assert_eq!(
        part.combinations,
        ReproduceTarget::find("gains").unwrap().parts(&ReproduceSettings::default())[0].combinations
    );
    let high = |job: &Job| if job.settings.contains(&"control.kp=2.0".to_owned()) { 60.0 } else { 50.0 };
    let cells = cells(&ReproduceSettings { gain_configs: 40, ..small() }, high);
    let sweeps = gains::sweeps(&ReproduceSettings { gain_configs: 40, ..small() }, &cells).unwrap();
    assert_eq!((sweeps[0].runs.len(), sweeps[0].by_seed.len()), (40, 2));
    assert_eq!(sweeps[0].largest_effect().unwrap().0, "control.kp");
    assert_eq!(sweeps[0].quantiles([0.0, 1.0]), [50.0, 60.0]);
    let table = sweeps[0].table();
    assert!(table.rows.iter().any(|row| row[0] == "control.kp=2.0" && row[2].starts_with("60.00")));
}

/// The verdict on a claim, if methods have these values.
fn verdict(name: &str, data: &[&str], value: impl Fn(&Job) -> f64) -> Verdict {
    let data = data.iter().map(|&name| name.to_owned()).collect();
    let settings = ReproduceSettings { data, seeds: 3, gain_configs: 20, ..ReproduceSettings::default() };
    let evidence = Evidence::new(&settings, &cells(&settings, value), Vec::new(), Vec::new());
    let all = CLAIMS.iter().flat_map(|group| group.iter());
    all.into_iter().find(|claim| claim.name == name).unwrap().judge(&evidence).verdict
}

#[test]
fn claims_are_judged_from_the_results() {
    const SEVEN: &[&str] = &["cora", "citeseer", "chameleon", "squirrel", "actor", "pubmed", "coauthor-cs"];
    let noise = |job: &Job| 0.01 * (job.seed as f64 - 1.0);
    let ahead = |job: &Job| noise(job) + if job.method == "controlg" { 60.0 } else { 50.0 };
    let level = |job: &Job| noise(job) + 50.0;
    let behind = |job: &Job| noise(job) + if job.method == "controlg" { 40.0 } else { 50.0 };
    for name in ["best-rank-nc", "first-or-second", "planner", "controlg-beats-mixing", "gat"] {
        assert_eq!(verdict(name, SEVEN, ahead), Verdict::Holds, "{name}");
        assert_eq!(verdict(name, SEVEN, behind), Verdict::DoesNotHold, "{name}");
    }
    // Better on average, but on too few graphs to tell.
    assert_eq!(verdict("planner", &SEVEN[..3], ahead), Verdict::InPart);
    assert_eq!(verdict("controller", SEVEN, level), Verdict::DoesNotHold);
    assert_eq!(verdict("gains", &["cora"], level), Verdict::Holds);
    for name in ["arxiv", "wikics", "faster-than-mixing", "entropy"] {
        assert_eq!(verdict(name, SEVEN, ahead), Verdict::NotTested, "{name}");
    }
}

#[test]
fn claims_without_results_are_not_tested() {
    let settings = ReproduceSettings::default();
    let evidence = Evidence::new(&settings, &[], Vec::new(), Vec::new());
    let table = claims_table(&evidence);
    assert!(table.rows.len() >= 20);
    assert!(table.rows.iter().all(|row| row[2] == "not tested"));
}

#[test]
fn every_part_is_evaluated_on_all_tasks_that_its_edges_allow() {
    let plan = RunPlan::new(&all_targets(), &small()).unwrap();
    for PlannedJob { job, .. } in &plan.jobs {
        let expected: &[Task] = match job.edges {
            EdgeScope::All => &[Task::Nc, Task::Cluster],
            EdgeScope::Train => &[Task::Lp],
        };
        assert_eq!(job.tasks, expected, "{}", job.title());
    }
}
