//! `controlg demo`: pretraining, evaluation and report on the built-in graph, in about a minute.

use std::num::NonZeroUsize;
use std::path::Path;

use controlg::compare::{Budget, EmbeddingSource, ResultCell};
use controlg::config::EdgeScope;
use controlg::eval::{EmbeddingNormalization, Probe, Task};
use controlg::{Error, Result, files, run_files};
use serde_json::json;

use super::compare::{CompletedComparison, execute};
use super::report;
use crate::args::{CommonArgs, CompareArgs};
use crate::console::Console;

const DATA: &str = "synthetic";
/// Fewer epochs than the preset; enough for the schedule to settle.
const SETTINGS: [&str; 1] = ["train.epochs=6"];

pub(super) fn run(out: &Path, common: &CommonArgs, console: &Console) -> Result<()> {
    let args = CompareArgs {
        data: vec![DATA.to_owned()],
        methods: vec!["controlg".to_owned(), "random".to_owned()],
        seeds: NonZeroUsize::MIN,
        tasks: vec![Task::Nc, Task::Lp, Task::Cluster],
        out: out.to_owned(),
        shard: None,
        set: SETTINGS.map(str::to_owned).to_vec(),
        features: None,
        budget: Budget::Steps,
        grid: None,
        grid_limit: None,
        against: None,
        reference: None,
        probe: Probe::Lbfgs,
        normalize: EmbeddingNormalization::L2,
        jobs: None,
        no_singles: true,
        keep_runs: true,
    };
    console.log("comparing controlg and random with untrained embeddings on a synthetic graph");
    let Some(CompletedComparison { manifest, cells, .. }) = execute(&args, common, console)? else {
        return Ok(());
    };
    let jobs = manifest.comparison.jobs(&[])?;
    let job = jobs.iter().find(|job| job.method == "controlg" && job.edges == EdgeScope::All);
    let Some((job, EmbeddingSource::Run(config))) = job.map(|job| (job, &job.source)) else {
        return Err(Error::Failed("the demo has no run of controlg".to_owned()));
    };
    let folder = out.join("runs").join(job.folder_name()?);
    let rendered = report::render(&folder, common, console)?;
    let page = out.join(run_files::REPORT);
    files::atomic_write_bytes(&page, &rendered.page)?;

    // Five lines that fit on 80 columns.
    let scores = |method: &str| scores_of(&cells, &args.tasks, method);
    let text = format!(
        "Synthetic graph, 5 objectives, {} steps; scores in % ({}):\n\
         controlg {}, random {}, untrained {},\n\
         raw features {}, smoothed features (sgc) {}.\n\
         Report: {} shows what was trained when, and why.\n\
         Next: controlg pretrain my-graph/ (with edges.csv) or controlg compare --help",
        config.total_steps(),
        args.tasks.iter().map(|task| task.name()).collect::<Vec<_>>().join("/"),
        scores("controlg"),
        scores("random"),
        scores("untrained"),
        scores("raw"),
        scores("sgc"),
        page.display(),
    );
    console.result(&json!({ "report": page, "run": folder, "results": cells }), text)
}

/// The scores of a method in the order of the tasks.
fn scores_of(cells: &[ResultCell], tasks: &[Task], method: &str) -> String {
    let score = |task: &Task| {
        let cell = cells.iter().find(|cell| cell.method == method && cell.task == task.name());
        cell.map_or_else(|| "-".to_owned(), |cell| format!("{:.1}", cell.value))
    };
    tasks.iter().map(score).collect::<Vec<_>>().join("/")
}
