//! `controlg demo`: the whole path on the embedded graph, in under a minute.

use std::num::NonZeroUsize;
use std::path::Path;

use controlg::compare::{Budget, Subject};
use controlg::config::EdgeScope;
use controlg::eval::table::ResultCell;
use controlg::eval::{EmbeddingNormalization, Probe, Task};
use controlg::{Error, Result, files, run_files};
use serde_json::json;

use super::compare::{Done, conduct};
use super::report;
use crate::args::{CommonArgs, CompareArgs};
use crate::output::Output;

const DATA: &str = "synthetic";
/// Steps are fewer than the preset's: enough to see the schedule settle.
const SETTINGS: [&str; 1] = ["train.epochs=6"];

pub(super) fn run(out: &Path, common: &CommonArgs, output: &Output) -> Result<()> {
    let comparison = CompareArgs {
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
        embedding: EmbeddingNormalization::L2,
        jobs: None,
        skip_singles: true,
        keep_runs: true,
    };
    output.remark("controlg and random on a synthetic graph, beside what needs no training");
    let Some(Done { kept, cells, .. }) = conduct(&comparison, common, output)? else { return Ok(()) };
    let jobs = kept.comparison.jobs(&[])?;
    let job = jobs.iter().find(|job| job.method == "controlg" && job.edges == EdgeScope::All);
    let Some((job, Subject::Run(config))) = job.map(|job| (job, &job.subject)) else {
        return Err(Error::Failed("the demo has no run of controlg".to_owned()));
    };
    let folder = out.join("runs").join(job.folder_name()?);
    let drawn = report::draw(&folder, common, output)?;
    let page = out.join(run_files::REPORT);
    files::atomic_write_bytes(&page, &drawn.page)?;

    // Five lines that fit a terminal of 80 columns.
    let text = format!(
        "Pretrained on the synthetic graph, five objectives, {} steps; {}:\n\
         controlg {}, random {}, untrained {},\n\
         raw features {}, smoothed features (sgc) {}.\n\
         Look: {} says which objective learned when, and why.\n\
         Next: controlg pretrain my-graph/ (edges.csv in it), or controlg compare --help.",
        config.total_steps(),
        comparison.tasks.iter().map(|task| task.name()).collect::<Vec<_>>().join("/"),
        scores(&cells, &comparison.tasks, "controlg"),
        scores(&cells, &comparison.tasks, "random"),
        scores(&cells, &comparison.tasks, "untrained"),
        scores(&cells, &comparison.tasks, "raw"),
        scores(&cells, &comparison.tasks, "sgc"),
        page.display(),
    );
    output.result(&json!({ "report": page, "run": folder, "results": cells }), text)
}

/// The scores of a method in the order of the tasks.
fn scores(cells: &[ResultCell], tasks: &[Task], method: &str) -> String {
    let score = |task: &Task| {
        let cell = cells.iter().find(|cell| cell.method == method && cell.task == task.name());
        cell.map_or_else(|| "-".to_owned(), |cell| format!("{:.1}", cell.value))
    };
    tasks.iter().map(score).collect::<Vec<_>>().join("/")
}
