//! Runs on several ranks from the command line. Under `mpirun` only with the feature `mpi` and an MPI library; the logic of
//! ranks is tested in the library, with threads.

use std::io::Write;
use std::process::{Command, Output};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.env_remove("OMPI_COMM_WORLD_SIZE").env_remove("PMI_SIZE").env_remove("TORCHELASTIC_RUN_ID");
    command
}

/// The one line on stderr of wrong use.
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), 1, "{text}");
    text.into_owned()
}

#[test]
#[cfg(not(feature = "mpi"))]
fn a_build_without_mpi_says_how_to_get_one_with_it() {
    for name in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"] {
        let text = refusal(&program().args(["list", "methods"]).env(name, "4").output().unwrap());
        assert!(text.starts_with("controlg: mpirun: found 4 ranks of a build without MPI"), "{text}");
        assert!(text.contains("cargo install controlg-cli --features mpi"), "{text}");
        // A single rank is an ordinary run.
        let alone = program().args(["list", "methods"]).env(name, "1").output().unwrap();
        assert!(alone.status.success());
    }
}

#[test]
fn torchrun_needs_the_python_package() {
    let mut command = program();
    command.args(["list", "methods"]).env("TORCHELASTIC_RUN_ID", "none").env("WORLD_SIZE", "2");
    let text = refusal(&command.output().unwrap());
    assert!(text.contains("torchrun … -m controlg pretrain"), "{text}");
}

#[test]
fn a_dry_run_knows_the_shards() {
    let estimate = |shards: &str, batch: &str| {
        let mut command = program();
        command.args([
            "pretrain",
            "synthetic:nodes=2000",
            "--dry-run",
            "--json",
            "--quiet",
            "--set=train.epochs=1",
        ]);
        command.args(["--set=encoder.width=256", "--set=train.batch_nodes=500", "--set=train.quality=false"]);
        command.arg(format!("--set=train.shards={shards}")).arg(format!("--set=train.batch={batch}"));
        command.output().unwrap()
    };
    let parameters = |shards: &str| {
        let output = estimate(shards, "cluster");
        assert!(output.status.success(), "{output:?}");
        let estimate: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        estimate["memory"]["parameters"].as_u64().unwrap()
    };
    // The gradients of a level of the sum take memory, those of a shard do not.
    let (one, four, five, eight) = (parameters("1"), parameters("4"), parameters("5"), parameters("8"));
    assert!(one < four && four < five && five == eight, "{one} {four} {five} {eight}");
    assert!(refusal(&estimate("4", "full")).contains("train.shards: found 4 with full-graph steps"));
}

/// Says why a test does not run, past the capture of passing tests.
fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
}

#[test]
fn mpi_gives_the_same_bytes_with_any_number_of_ranks() {
    const TEST: &str = "mpi_gives_the_same_bytes_with_any_number_of_ranks";
    if !cfg!(feature = "mpi") {
        return skip(TEST, "built without the feature mpi");
    }
    if Command::new("mpirun").arg("--version").output().is_err() {
        return skip(TEST, "there is no mpirun");
    }
    let home = tempfile::tempdir().unwrap();
    let run = |ranks: usize, out: &str, more: &[&str]| {
        let mut command = Command::new("mpirun");
        command.args([
            "--oversubscribe",
            "-n",
            &ranks.to_string(),
            env!("CARGO_BIN_EXE_controlg"),
            "pretrain",
        ]);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.args(["synthetic:nodes=1500,features=40", "--threads", "1", "--quiet", "--out", out]);
        for set in [
            "batch=cluster",
            "batch_nodes=160",
            "shards=6",
            "epochs=2",
            "batches_per_epoch=8",
            "warmup_rounds=1",
        ] {
            command.arg(format!("--set=train.{set}"));
        }
        command.arg("--set=encoder.width=16").args(more).current_dir(home.path()).output().unwrap()
    };
    let bytes = |ranks: usize| {
        let out = ranks.to_string();
        let output = run(ranks, &out, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(home.path().join(out).join("embeddings.npy")).unwrap()
    };
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(4));
    let few = run(2, "few", &["--set=train.shards=1"]);
    let text = String::from_utf8_lossy(&few.stderr);
    assert!(text.contains("train.shards: found 1, expected at least 2, one per rank"), "{text}");
    assert_eq!(text.matches("controlg: ").count(), 1, "{text}");
}
