//! `controlg compare` end to end: complete runs, interruption, shards, grid search, invalid input.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const DATA: &str = "synthetic:nodes=150";
const SMALL: [&str; 5] = [
    "--set=encoder.width=8",
    "--set=train.epochs=2",
    "--set=train.batches_per_epoch=30",
    "--set=objective.p_par.parts=3",
    "--set=objective.p_decor.width=8",
];

fn command(out: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(["compare", "--data", DATA, "--out"]).arg(out).args(SMALL).args(arguments);
    command
}

fn compare(out: &Path, arguments: &[&str]) -> Output {
    let output = command(out, arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The sorted lines of a results file without timings and memory.
fn cells(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| {
            let mut cell: Value = serde_json::from_str(line).unwrap();
            for unsteady in ["seconds", "peak_mb", "threads", "seal"] {
                assert!(cell.as_object_mut().unwrap().remove(unsteady).is_some(), "{unsteady} in {line}");
            }
            cell.to_string()
        })
        .collect();
    lines.sort();
    lines
}

const ARGS: [&str; 6] = ["--methods", "controlg,round-robin", "--seeds", "2", "--tasks", "nc,lp,cluster"];

#[test]
fn runs_to_completion_and_then_has_nothing_left() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("all");
    let first = compare(&out, &[&ARGS[..], &["--against", "paper"]].concat());
    let found = cells(&out.join("results.jsonl"));
    // Two methods, five objectives, five floors; two seeds; three tasks.
    assert_eq!(found.len(), 12 * 2 * 3);
    let text = String::from_utf8_lossy(&first.stdout);
    let floors = ["raw", "untrained", "sgc", "mean", "hops"];
    for method in ["controlg", "round-robin", "p_par", "best single objective"].into_iter().chain(floors) {
        assert!(text.contains(&format!("| {method} |")), "{method} in {text}");
    }
    assert!(text.contains("Ours / paper") && text.contains("random-10-10-80"), "{text}");
    for name in ["tables.md", "tables.html", "tables/nc.csv", "tables/lp.tex", "tables/costs.csv"] {
        assert!(out.join(name).metadata().unwrap().len() > 100, "{name}");
    }
    let before = fs::read(out.join("results.jsonl")).unwrap();
    let again = compare(&out, &ARGS);
    assert_eq!(fs::read(out.join("results.jsonl")).unwrap(), before);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("runs to do"));

    // The records of all runs are kept, the embeddings are not.
    let runs: Vec<_> = fs::read_dir(out.join("runs")).unwrap().map(|run| run.unwrap().path()).collect();
    assert_eq!(runs.len(), 8 * 2 * 2);
    assert!(runs.iter().all(|run| run.join("trace.jsonl").exists() && !run.join("embeddings.npy").exists()));

    // The number of evaluations matches the record.
    let cell: Value = before
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .find(|cell| cell["method"] == "controlg" && cell["task"] == "lp")
        .unwrap();
    let hash = &cell["config_hash"].as_str().unwrap()[..8];
    let run = runs.iter().find(|run| run.to_str().unwrap().ends_with(hash)).unwrap();
    let trace = fs::read_to_string(run.join("trace.jsonl")).unwrap();
    let sensings = trace.matches(r#""kind":"sense""#).count() + trace.matches(r#""kind":"warmup""#).count();
    assert_eq!(cell["evaluations"].as_u64().unwrap(), 60 + 5 * sensings as u64);
}

#[test]
fn interrupted_and_sharded_comparisons_give_the_same_results() {
    let folder = TempDir::new().unwrap();
    let args = ["--methods", "random", "--seeds", "2", "--tasks", "nc,lp", "--no-singles"];
    let (whole, killed, shared) =
        (folder.path().join("whole"), folder.path().join("killed"), folder.path().join("shared"));
    compare(&whole, &args);
    let want = cells(&whole.join("results.jsonl"));
    assert_eq!(want.len(), 6 * 2 * 2);

    for lines in [2, 6] {
        let mut child = command(&killed, &args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let results = killed.join("results.jsonl");
        let start = Instant::now();
        let count = || fs::read_to_string(&results).map_or(0, |text| text.matches('\n').count());
        while count() < lines && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(120), "no progress");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Simulate a kill in the middle of a write.
        let text = fs::read_to_string(&results).unwrap();
        fs::write(&results, text + r#"{"data":"synth"#).unwrap();
    }
    compare(&killed, &args);
    assert_eq!(cells(&killed.join("results.jsonl")), want);

    for shard in ["1/2", "2/2"] {
        compare(&shared, &[&args[..], &["--shard", shard]].concat());
    }
    assert!(!shared.join("results.jsonl").exists());
    let merged = compare(&shared, &args);
    assert!(!String::from_utf8_lossy(&merged.stderr).contains("runs to do"));
    assert_eq!(cells(&shared.join("results.jsonl")), want);
}

#[test]
fn one_run_is_evaluated_by_several_protocols() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("protocols");
    // Large enough for 20 + 30 nodes of each class.
    let data = "synthetic:nodes=500";
    let run = |protocols: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
        command
            .args(["compare", "--data", data, "--out"])
            .arg(&out)
            .args(SMALL)
            .args(["--methods", "random"]);
        command.args(["--seeds", "1", "--tasks", "nc,cluster", "--no-singles", "--protocol", protocols]);
        command.output().unwrap()
    };
    let both = "random-10-10-80,shchur-20-30";
    let first = run(both);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let text = String::from_utf8(first.stdout).unwrap();
    let found = cells(&out.join("results.jsonl"));
    // One method and five floors, each by two protocols and by clustering.
    assert_eq!(found.len(), 6 * 3);
    for protocol in ["random-10-10-80", "shchur-20-30"] {
        let own: Vec<&String> = found.iter().filter(|cell| cell.contains(protocol)).collect();
        assert!(own.len() == 6 && own.iter().all(|cell| cell.contains("macro_f1")), "{own:?}");
        assert!(text.contains(&format!("{data}, {protocol}")), "{text}");
    }
    assert!(text.contains("### Macro-F1"), "{text}");
    let before = fs::read(out.join("results.jsonl")).unwrap();
    assert!(run(both).status.success());
    assert_eq!(fs::read(out.join("results.jsonl")).unwrap(), before, "nothing is left to do");
    let wrong = run("geomgcn-10");
    let error = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.status.code() == Some(2) && error.contains("a protocol that"), "{error}");
}

#[test]
fn grid_search_uses_validation_and_records_its_choice() {
    let folder = TempDir::new().unwrap();
    let (out, grid) = (folder.path().join("grid"), folder.path().join("grid.toml"));
    fs::write(&grid, "[all]\n\"train.lr\" = [1e-6, 1e-2]\n[random]\n\"train.block\" = [1, 2]\n").unwrap();
    let args = ["--methods", "random", "--seeds", "2", "--tasks", "nc", "--no-singles", "--grid"];
    let output = compare(&out, &[&args[..], &[grid.to_str().unwrap(), "--keep-runs"]].concat());
    // Neither the log nor the files of trials tell test figures; only the four runs of the chosen settings have some.
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let (search, rest) = log.split_once("best of").expect("the choice");
    assert!(search.contains(": validation nc ") && !search.contains(": nc "), "{log}");
    assert!(rest.contains(": nc "), "{log}");
    let runs = fs::read_dir(out.join("runs")).unwrap().map(|run| run.unwrap().path().join("metrics.json"));
    let metrics: Vec<Value> =
        runs.map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect();
    assert!(metrics.iter().filter(|metrics| metrics["nc"]["value"].is_null()).count() >= 3);
    let trials = fs::read_to_string(out.join("trials.jsonl")).unwrap();
    assert_eq!(trials.lines().count(), 4);
    let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(trials.iter().all(|trial| trial.get("value").is_none()), "a trial has no test score");
    let best = trials.iter().map(|trial| trial["validation"].as_f64().unwrap()).fold(0.0, f64::max);
    let chosen: Value = serde_json::from_slice(&fs::read(out.join("chosen.json")).unwrap()).unwrap();
    assert!((chosen[0]["validation"].as_f64().unwrap() - best).abs() < 1e-12);
    assert_eq!(chosen[0]["trials"], 4);
    let results = fs::read_to_string(out.join("results.jsonl")).unwrap();
    let cell: Value =
        serde_json::from_str(results.lines().find(|line| line.contains("random\"")).unwrap()).unwrap();
    assert_eq!(cell["settings"], chosen[0]["settings"]);
}

#[test]
fn a_grid_can_be_searched_without_test_scores() {
    let folder = TempDir::new().unwrap();
    let (out, grid) = (folder.path().join("search"), folder.path().join("grid.toml"));
    let variants = "[[all.variants]]\nembed.smooth = 0\n[[all.variants]]\nembed.smooth = 2\n";
    fs::write(&grid, format!("[all]\n\"train.lr\" = [1e-6, 1e-2]\n{variants}")).unwrap();
    let args = ["--methods", "random", "--seeds", "2", "--tasks", "nc,lp,cluster", "--validation-only"];
    let grid_args = ["--grid", grid.to_str().unwrap(), "--grid-seeds", "2", "--grid-by", "mean"];
    let args = [&args[..], &grid_args].concat();
    let output = compare(&out, &args);
    for path in ["results.jsonl", "comparison.json", "tables.md"] {
        assert!(!out.join(path).exists(), "{path}");
    }
    // Four combinations, two seeds, two tasks that have validation scores; neither floors nor single objectives.
    let trials = fs::read_to_string(out.join("trials.jsonl")).unwrap();
    assert_eq!(trials.lines().count(), 4 * 2 * 2);
    // One choice for both tasks, ready to be used.
    let chosen: Value = serde_json::from_slice(&fs::read(out.join("chosen.json")).unwrap()).unwrap();
    assert_eq!((chosen.as_array().unwrap().len(), &chosen[0]["settings"]), (2, &chosen[1]["settings"]));
    let file = out.join("chosen/synthetic-nodes-150-random.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# Chosen for synthetic:nodes=150 with random: best of 4 combinations"),
        "{text}"
    );
    assert!(text.contains("[embed]\nsmooth = ") && text.contains("[train]\nlr = "), "{text}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(text.trim_end()));
    let run = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(["pretrain", DATA, "--dry-run", "--config"])
        .arg(&file)
        .args(SMALL)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    // The same command finds all trials.
    let again = compare(&out, &args);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("runs to do"));
    assert_eq!(fs::read_to_string(out.join("trials.jsonl")).unwrap(), trials);

    let failed = command(&out, &["--methods", "random", "--validation-only"]).output().unwrap();
    assert!(String::from_utf8_lossy(&failed.stderr).contains("--grid"));
    let too_many = ["--methods", "random", "--seeds", "1", "--validation-only"];
    let failed = command(&out, &[&too_many[..], &grid_args].concat()).output().unwrap();
    assert!(
        String::from_utf8_lossy(&failed.stderr)
            .contains("--grid-seeds: found 2, expected at most --seeds, 1")
    );
}

#[test]
fn evaluation_budget_reduces_the_steps_of_sensing_methods() {
    let folder = TempDir::new().unwrap();
    let args = ["--methods", "controlg,random", "--seeds", "1", "--tasks", "nc", "--no-singles"];
    let more = ["--budget", "evaluations", "--set", "train.epochs=5"];
    compare(folder.path(), &[&args[..], &more].concat());
    let results = fs::read_to_string(folder.path().join("results.jsonl")).unwrap();
    let of = |method: &str| -> (u64, u64) {
        let cells = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let cell = cells.into_iter().find(|cell| cell["method"] == method).unwrap();
        (cell["steps"].as_u64().unwrap(), cell["evaluations"].as_u64().unwrap())
    };
    assert_eq!(of("random"), (150, 150));
    let (steps, evaluations) = of("controlg");
    assert!(
        steps < 150 && evaluations <= 150 && evaluations > steps,
        "{steps} steps, {evaluations} evaluations"
    );
}

#[test]
fn invalid_input_is_reported_before_any_work() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("none");
    let grid = folder.path().join("grid.toml");
    fs::write(&grid, "[random]\n\"train.lr\" = 3\n").unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["--methods", "randon"], "randon"),
        (&["--methods", "random", "--tasks", "nd"], "nd"),
        (&["--methods", "random", "--set", "train.epoch=2"], "train.epochs"),
        (&["--methods", "random", "--shard", "3/2"], "3/2"),
        (&["--methods", "random", "--seeds", "0"], "0"),
        (&["--methods", "random", "--reference", "dgi"], "dgi"),
        (&["--methods", "random", "--grid", grid.to_str().unwrap()], "a list of values to try"),
        (&["--methods", "random", "--budget", "time"], "time"),
    ];
    for (arguments, word) in cases {
        let output = command(&out, arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(word), "{arguments:?}: {stderr}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(["compare", "--data", "no-such-graph", "--methods", "random", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!out.join("runs").exists());
    // A results file in another format is reported and not changed.
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("results.jsonl"), "my notes\n").unwrap();
    let output = command(&out, &["--methods", "random"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("results.jsonl:1"));
    assert_eq!(fs::read_to_string(out.join("results.jsonl")).unwrap(), "my notes\n");
}

#[test]
fn changed_data_is_evaluated_again_and_floors_use_the_features_of_the_runs() {
    let folder = TempDir::new().unwrap();
    let program = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    program(&["data", "convert", DATA, "graph"]);
    // A folder named like a floor does not shadow it.
    fs::create_dir(folder.path().join("raw")).unwrap();
    let args =
        ["compare", "--data", "graph", "--methods", "raw", "--no-singles", "--seeds", "1", "--tasks", "nc"];
    let all = |more: &[&str]| program(&[&args[..], &SMALL, more].concat());
    assert!(all(&[]).contains("5 runs to do"));
    assert!(!all(&[]).contains("runs to do"));
    let labels = folder.path().join("graph/labels.csv");
    let text = fs::read_to_string(&labels).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let other: Vec<&str> = rest.lines().skip(1).collect();
    fs::write(&labels, format!("{first}\n{}\n", other.join("\n"))).unwrap();
    assert!(all(&[]).contains("5 runs to do"), "a label was removed");
    // Data hashes of the results of `raw`.
    let hashes = || {
        let cells = cells(&folder.path().join("comparison/results.jsonl"));
        let raw: Vec<Value> = cells.iter().map(|cell| serde_json::from_str(cell).unwrap()).collect();
        raw.into_iter()
            .filter(|cell| cell["method"] == "raw")
            .map(|cell| cell["data_hash"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(hashes().len(), 2);
    assert!(all(&["--features", "structural"]).contains("5 runs to do"));
    let distinct: std::collections::HashSet<String> = hashes().into_iter().collect();
    assert_eq!(distinct.len(), 3, "three graphs");
}

#[test]
fn a_pool_of_objectives_is_set_for_all_methods_that_train_one() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("pool");
    let arguments = ["--methods", "random,p_link", "--seeds", "1", "--tasks", "nc", "--no-singles"];
    compare(&out, &[&arguments[..], &["--objectives", "p_link,p_par"]].concat());
    let runs = fs::read_dir(out.join("runs")).unwrap().map(|run| run.unwrap().path());
    let random = runs.into_iter().find(|run| run.to_string_lossy().contains("-random-")).unwrap();
    let config = fs::read_to_string(random.join("config.toml")).unwrap();
    assert!(config.contains("objectives = [\"p_link\", \"p_par\"]"), "{config}");
    let alone = ["--methods", "p_recon", "--objectives", "p_link,p_par"];
    let output = command(&folder.path().join("alone"), &alone).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("which does not train them"));
}
