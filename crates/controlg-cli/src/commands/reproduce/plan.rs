//! What a reproduction takes: `reproduce list` and `--dry-run`.

use std::collections::BTreeMap;
use std::fmt::Write;

use controlg::Result;
use controlg::compare::{Comparison, JsonlStore, ResultCell};
use controlg::reproduce::{
    PlannedJob, ReproduceSettings, ReproduceTarget, ReproductionManifest, RunPlan, TARGETS, costs,
};
use serde::Serialize;

use super::is_present;
use crate::args::{CommonArgs, ReproduceArgs};
use crate::console::Console;

/// What some jobs take.
#[derive(Clone, Debug, Default, Serialize)]
struct Effort {
    /// Number of runs; floors are none.
    runs: usize,
    /// Estimated core-hours of the jobs whose cost is known.
    core_hours: f64,
    /// Largest estimated memory of a job in MB.
    peak_mb: f64,
    /// Jobs whose cost is not known.
    unknown: usize,
}

impl Effort {
    fn add(&mut self, planned: &PlannedJob) {
        self.runs += usize::from(planned.job.is_run());
        match costs::of_job(&planned.job) {
            Some(cost) => {
                self.core_hours += cost.seconds / 3600.0;
                self.peak_mb = self.peak_mb.max(cost.peak_mb);
            }
            None => self.unknown += 1,
        }
    }

    fn of<'p>(jobs: impl Iterator<Item = &'p PlannedJob>) -> Effort {
        let mut effort = Effort::default();
        jobs.for_each(|planned| effort.add(planned));
        effort
    }
}

/// `controlg reproduce list`: every target with what it takes on its own.
pub(super) fn list(settings: &ReproduceSettings, common: &CommonArgs, console: &Console) -> Result<()> {
    let mut text = String::new();
    let mut entries = Vec::new();
    let mut all_data: Vec<String> = Vec::new();
    let line = |name: &str, effort: &Effort, what: &str| {
        format!("{name:<12} {:>6} {:>11.1} {:>9.0}  {what}\n", effort.runs, effort.core_hours, effort.peak_mb)
    };
    let _ = writeln!(text, "{:<12} {:>6} {:>11} {:>9}  what", "target", "runs", "core-hours", "peak MB");
    for target in TARGETS {
        let plan = RunPlan::new(&[target], settings)?;
        let effort = Effort::of(plan.jobs.iter());
        text += &line(target.name, &effort, &format!("{}; {}", target.title, target.paper));
        let data = plan.data();
        all_data.extend(data.iter().filter(|name| !all_data.contains(name)).cloned().collect::<Vec<_>>());
        entries.push(serde_json::json!({
            "name": target.name, "title": target.title, "paper": target.paper, "data": data, "effort": effort,
        }));
    }
    let every: Vec<&'static ReproduceTarget> = TARGETS.iter().collect();
    let plan = RunPlan::new(&every, settings)?;
    let effort = Effort::of(plan.jobs.iter());
    text += &line("all", &effort, "every run once, although targets share runs");
    let missing = missing(&all_data, common)?;
    let _ = write!(text, "\n{}", notes(&plan, &missing));
    let json = serde_json::json!({ "targets": entries, "all": effort, "missing_data": missing });
    console.result(&json, text)
}

/// `controlg reproduce … --dry-run`: what runs when, and what is done already.
pub(super) fn show(
    plan: &RunPlan,
    settings: &ReproduceSettings,
    args: &ReproduceArgs,
    common: &CommonArgs,
    console: &Console,
) -> Result<()> {
    let manifest = match args.out.join(ReproductionManifest::FILE).exists() {
        true => ReproductionManifest::read(&args.out)?,
        false => ReproductionManifest { settings: settings.clone(), data_hashes: BTreeMap::new() },
    };
    manifest.check(settings, &args.out)?;
    let done: Vec<ResultCell> = match args.out.is_dir() {
        true => JsonlStore::read(&args.out, "results")?,
        false => Vec::new(),
    };
    let base = Comparison { data_hashes: manifest.data_hashes.clone(), ..settings.comparison() };
    let missing = missing(&plan.data(), common)?;
    let mut steps: Vec<&str> = Vec::new();
    for planned in &plan.jobs {
        if !steps.contains(&planned.step) {
            steps.push(planned.step);
        }
    }
    let own = |planned: &&PlannedJob, at: usize| {
        args.shard.is_none_or(|shard| shard.contains(at)) && !planned.step.is_empty()
    };
    let jobs: Vec<&PlannedJob> = plan
        .jobs
        .iter()
        .enumerate()
        .filter(|(at, planned)| own(planned, *at))
        .map(|(_, planned)| planned)
        .collect();
    let is_open = |planned: &PlannedJob| base.remaining(&planned.job, &done).is_some();
    let line = |name: &str, jobs: &[&PlannedJob]| {
        let all = Effort::of(jobs.iter().copied());
        let open: Vec<&PlannedJob> = jobs.iter().copied().filter(|planned| is_open(planned)).collect();
        let (without, rest): (Vec<&PlannedJob>, Vec<&PlannedJob>) =
            open.iter().partition(|planned| missing.contains(&planned.job.data));
        let (left, absent) = (Effort::of(rest.into_iter()), Effort::of(without.into_iter()));
        let done = all.runs - left.runs - absent.runs;
        let text = format!(
            "{name:<36} {:>6} {done:>6} {:>6} {:>11.1} {:>9.0}  {:>14}\n",
            all.runs, left.runs, left.core_hours, left.peak_mb, absent.runs
        );
        let json = serde_json::json!({ "step": name, "all": all, "done": done, "to_do": left, "without_data": absent });
        (text, json)
    };
    let mut text = format!(
        "{:<36} {:>6} {:>6} {:>6} {:>11} {:>9}  {:>14}\n",
        "in this order", "runs", "done", "to do", "core-hours", "peak MB", "files missing"
    );
    let mut entries = Vec::new();
    for step in steps {
        let own: Vec<&PlannedJob> = jobs.iter().copied().filter(|planned| planned.step == step).collect();
        let (row, json) = line(step, &own);
        text += &row;
        entries.push(json);
    }
    let (row, total) = line("all", &jobs);
    text += &row;
    let _ = write!(text, "\n{}", notes(plan, &missing));
    console.result(&serde_json::json!({ "steps": entries, "all": total, "missing_data": missing }), text)
}

fn missing(data: &[String], common: &CommonArgs) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for name in data {
        if !is_present(name, common)? {
            missing.push(name.clone());
        }
    }
    Ok(missing)
}

fn notes(plan: &RunPlan, missing: &[String]) -> String {
    let mut text = String::from(
        "Core-hours are estimates from step times with the default presets on one core of another machine; measure with `reproduce timing`.\n",
    );
    let mut unknown: Vec<&str> = plan
        .jobs
        .iter()
        .filter(|planned| costs::of_job(&planned.job).is_none())
        .map(|planned| planned.job.data.as_str())
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        let _ =
            writeln!(text, "Not in the core-hours, since they were not measured: {}.", unknown.join(", "));
    }
    if !missing.is_empty() {
        let _ = writeln!(
            text,
            "Files are missing, so these would be skipped: {} (controlg data fetch NAME).",
            missing.join(", ")
        );
    }
    text
}
