//! `controlg demo`: the whole path on the embedded graph, in under a minute.

use std::num::NonZeroUsize;
use std::path::Path;

use controlg::compare::{Budget, Subject};
use controlg::config::Edges;
use controlg::eval::table::Cell;
use controlg::eval::{Normalisation, Probe, Task};
use controlg::{Error, Result, files};
use serde_json::json;

use super::compare::{Done, conduct};
use super::report;
use crate::args::{Common, Compare};
use crate::output::Output;

const DATA: &str = "synthetic";
/// Steps are fewer than the preset's: enough to see the schedule settle.
const SETTINGS: [&str; 1] = ["train.epochs=6"];

pub(super) fn run(out: &Path, common: &Common, output: &Output) -> Result<()> {
    let comparison = Compare {
        data: vec![DATA.to_owned()],
        methods: vec!["controlg".to_owned(), "random".to_owned()],
        seeds: NonZeroUsize::MIN,
        tasks: vec![Task::Nc, Task::Lp, Task::Cluster],
        out: out.to_owned(),
        shard: None,
        set: SETTINGS.map(str::to_owned).to_vec(),
        budget: Budget::Steps,
        grid: None,
        grid_limit: None,
        against: None,
        reference: None,
        probe: Probe::Lbfgs,
        embedding: Normalisation::L2,
        jobs: None,
        skip_singles: true,
        keep_runs: true,
    };
    output.remark("controlg and random on a synthetic graph, beside what needs no training; under a minute on two cores");
    let Some(Done { kept, cells, .. }) = conduct(&comparison, common, output)? else { return Ok(()) };
    let jobs = kept.comparison.jobs(&[])?;
    let job = jobs.iter().find(|job| job.method == "controlg" && job.edges == Edges::All);
    let Some((job, Subject::Run(config))) = job.map(|job| (job, &job.subject)) else {
        return Err(Error::Failed("the demo has no run of controlg".to_owned()));
    };
    let folder = out.join("runs").join(job.folder_name()?);
    let drawn = report::draw(&folder, common, output)?;
    let page = out.join("report.html");
    files::whole_bytes(&page, &drawn.page)?;

    let steps = config.total_steps();
    let text = format!(
        "Did: pretrained a graph network on the synthetic graph with five objectives, {steps} steps, and judged its embeddings.\n\
         Came out: controlg {}.\n\
         Beside it: random {}; untrained {}; raw features {}; smoothed features (sgc) {}.\n\
         Look: {} says which objective learned when, and why; `controlg audit {}` checks it.\n\
         Next: `controlg pretrain my-graph/` with your own edges.csv, or `controlg compare --data cora --methods controlg,random`.",
        scores(&cells, "controlg"),
        scores(&cells, "random"),
        scores(&cells, "untrained"),
        scores(&cells, "raw"),
        scores(&cells, "sgc"),
        page.display(),
        folder.display(),
    );
    output.result(&json!({ "report": page, "run": folder, "results": cells }), text)
}

fn scores(cells: &[Cell], method: &str) -> String {
    let own = cells.iter().filter(|cell| cell.method == method);
    own.map(|cell| format!("{} {:.1}", cell.task, cell.value)).collect::<Vec<_>>().join(", ")
}
