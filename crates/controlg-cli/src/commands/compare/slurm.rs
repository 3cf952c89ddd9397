//! `compare --engine slurm`: a job array over shards, and a job that merges them when they have ended.
//!
//! The scripts stay in the output folder, so that they can be read, changed and submitted again.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use controlg::compare::{JsonlStore, ResultCell};
use controlg::{Error, Result, files};
use serde::Serialize;

use super::{lock, remaining_jobs, survey, with_baselines, write_definition};
use crate::args::{CommonArgs, CompareArgs};
use crate::commands::pretrain::quoted;
use crate::console::Console;

/// The most tasks of the array if their number is not given; Slurm's own limit is 1000 by default.
const MOST_TASKS: usize = 100;

/// Options of `compare` that its shards do not get, and whether a value follows.
const OWN_OPTIONS: [(&str, bool); 4] =
    [("--engine", true), ("--array", true), ("--sbatch", true), ("--dry-run", false)];

/// The scripts of a comparison, by the names of their files.
#[derive(Serialize)]
struct Scripts {
    /// The job array, one task per shard.
    array: String,
    /// The job after it, which merges the shards, runs what is missing, and makes the tables.
    merge: String,
    /// Submits both.
    submit: String,
}

/// Writes and submits the scripts, or prints them.
pub(super) fn submit(args: &CompareArgs, common: &CommonArgs, console: &Console) -> Result<()> {
    let (mut comparison, reference) = with_baselines(args, common, console)?;
    let memory = survey(&mut comparison, args, common)?.largest();
    let done =
        if args.out.is_dir() { JsonlStore::<ResultCell>::read(&args.out, "results")? } else { Vec::new() };
    let remaining =
        remaining_jobs(&comparison.jobs(&[])?, None, |job| comparison.remaining(job, &done)).len();
    let tasks = args.array.map_or(remaining.clamp(1, MOST_TASKS), NonZeroUsize::get);
    let scripts = scripts(args, common, tasks, memory)?;
    if args.dry_run {
        let Scripts { array, merge, submit } = &scripts;
        return console.result(&scripts, format_args!("{array}\n{merge}\n{submit}"));
    }
    if Command::new("sbatch").arg("--version").output().is_err() {
        let expected = "Slurm's commands; --dry-run prints the scripts";
        return Err(Error::value("--engine slurm", "no sbatch on PATH", expected));
    }
    {
        let _lock = lock(&args.out, None)?;
        write_definition(&comparison, &reference, args)?;
    }
    let folder = args.out.join("slurm");
    fs::create_dir_all(&folder)
        .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
    for (name, text) in
        [("array.sh", &scripts.array), ("merge.sh", &scripts.merge), ("submit.sh", &scripts.submit)]
    {
        files::atomic_write_bytes(&folder.join(name), text)?;
    }
    let output = Command::new("sh").arg(folder.join("submit.sh")).output();
    let output = output.map_err(|error| Error::io("starting sh", error))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Failed(format!(
            "sbatch: {}",
            stderr.trim().lines().last().unwrap_or("it failed")
        )));
    }
    let jobs: Vec<String> =
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect();
    let (first, last) = (jobs.first().cloned().unwrap_or_default(), jobs.last().cloned().unwrap_or_default());
    let text = format!(
        "submitted {remaining} runs as job array {first} with {tasks} tasks; job {last} merges them into {} and makes the tables",
        args.out.display()
    );
    let result = serde_json::json!({ "array": first, "merge": last, "tasks": tasks, "runs": remaining });
    console.result(&result, text)
}

fn scripts(args: &CompareArgs, common: &CommonArgs, tasks: usize, memory: usize) -> Result<Scripts> {
    let threads = common.threads.map_or(1, NonZeroUsize::get);
    // Evaluation and the parent process come on top of the estimate of the runs.
    let megabytes = (memory + memory / 4).div_ceil(1_000_000) + 200;
    let command = command(threads)?;
    let head = |name: &str, more: &str| {
        let mut text = format!("#!/bin/sh\n#SBATCH --job-name={name}\n{more}");
        let _ = writeln!(
            text,
            "#SBATCH --ntasks=1\n#SBATCH --cpus-per-task={threads}\n#SBATCH --mem={megabytes}M"
        );
        args.sbatch.iter().for_each(|option| {
            let _ = writeln!(text, "#SBATCH {option}");
        });
        text
    };
    let array = format!(
        "{}exec {command} --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\"\n",
        head("controlg", &format!("#SBATCH --array=1-{tasks}\n#SBATCH --requeue\n"))
    );
    let merge = format!("{}exec {command}\n", head("controlg-merge", ""));
    let here = std::env::current_dir().map_err(|error| Error::io("finding the current folder", error))?;
    let folder = here.join(&args.out).join("slurm");
    let path = |name: &str| quoted(&folder.join(name));
    let mut submit = format!("#!/bin/sh\nset -eu\ncd {}\n", quoted(&here));
    // With a grid, the first array runs the trials, which all must have ended before the choice.
    let passes = if args.grid.is_some() { 2 } else { 1 };
    let arrays = std::iter::repeat_n(("array.sh", "%A-%a.log"), passes);
    let mut after = "";
    for (script, log) in arrays.chain([("merge.sh", "merge-%j.log")]) {
        let _ = writeln!(submit, "job=$(sbatch --parsable {after}--output={} {})", path(log), path(script));
        let _ = writeln!(submit, "echo \"${{job%%;*}}\"");
        after = "--dependency=\"afterany:${job%%;*}\" ";
    }
    Ok(Scripts { array, merge, submit })
}

/// This program with its arguments, without those for Slurm, as a shell takes it. One run at a time uses all threads.
fn command(threads: usize) -> Result<String> {
    let mut words = crate::launcher();
    words.extend(without_own_options(crate::arguments()));
    words.extend(["--jobs", "1", "--threads", &threads.to_string()].map(OsString::from));
    let quote = |word: &OsString| {
        let text = word.to_str().ok_or_else(|| Error::value("arguments", word.display(), "valid UTF-8"))?;
        Ok(quoted(Path::new(text)))
    };
    Ok(words.iter().map(quote).collect::<Result<Vec<_>>>()?.join(" "))
}

/// Arguments without those that [`command`] replaces.
fn without_own_options(arguments: Vec<OsString>) -> Vec<OsString> {
    let dropped = OWN_OPTIONS.into_iter().chain([("--jobs", true), ("--threads", true)]);
    let dropped: Vec<(&str, bool)> = dropped.collect();
    let mut kept = Vec::new();
    let mut rest = arguments.into_iter();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        let (name, has_value) = text.split_once('=').map_or((&*text, false), |(name, _)| (name, true));
        match dropped.iter().find(|(option, _)| *option == name) {
            Some((_, true)) if !has_value => drop(rest.next()),
            Some(_) => {}
            None => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_get_the_arguments_of_the_comparison_alone() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = "compare --engine slurm --data cora --sbatch=--time=9 --array 3 --set a=--array --jobs=2 \
                     --threads 4 --dry-run --out x";
        assert_eq!(without_own_options(words(given)), words("compare --data cora --set a=--array --out x"));
    }
}
