//! `controlg demo`: pretraining, evaluation and report on the built-in graph, in about a minute.

use std::num::NonZeroUsize;
use std::path::Path;

use controlg::compare::{Budget, ChooseBy, EmbeddingSource, ResultCell};
use controlg::config::{EdgeScope, Preset};
use controlg::eval::{EmbeddingNormalization, Probe, Task, floors};
use controlg::report::{self, RunContext, TaskScores};
use controlg::{Error, Result, files, run_files};
use serde_json::json;

use super::compare::{CompletedComparison, execute};
use super::report::RunData;
use crate::args::{CommonArgs, CompareArgs};
use crate::console::{Console, shown};

/// A graph on which neither features nor smoothing is enough: few of a node's words tell its class, and a third
/// of the classes link to a partner class rather than to themselves, which smoothing blurs.
const DATA: &str =
    "synthetic:nodes=1500,classes=12,degree=5,homophily=0.85,paired=0.34,features=500,topic=0.15";
/// Enough steps for the schedule to settle.
const SETTINGS: [&str; 1] = ["train.epochs=6"];

/// What the page shows, in words.
const INTRO: &str = "The demo pretrains a graph neural network on a synthetic graph with five self-supervised objectives, once \
                     with the feedback scheduler (controlg) and once in random order. This page shows the run of controlg: first \
                     what its embeddings are good for, then which objective was trained when and why, and at the end a map of \
                     the embeddings.";

pub(super) fn run(out: &Path, preset: Option<Preset>, common: &CommonArgs, console: &Console) -> Result<()> {
    let args = CompareArgs {
        data: vec![DATA.to_owned()],
        methods: vec!["controlg".to_owned(), "random".to_owned()],
        pool: None,
        objectives: None,
        seeds: NonZeroUsize::MIN,
        tasks: vec![Task::Nc, Task::Lp, Task::Cluster],
        out: out.to_owned(),
        protocol: Vec::new(),
        shard: None,
        engine: None,
        array: None,
        sbatch: Vec::new(),
        dry_run: false,
        preset,
        set: SETTINGS.map(str::to_owned).to_vec(),
        features: None,
        budget: Budget::Steps,
        grid: None,
        grid_limit: None,
        grid_seeds: NonZeroUsize::MIN,
        grid_by: ChooseBy::Task,
        validation_only: false,
        against: None,
        reference: None,
        probe: Probe::Lbfgs,
        normalize: EmbeddingNormalization::L2,
        jobs: None,
        no_singles: true,
        curve: None,
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
    let scores: Vec<TaskScores> =
        args.tasks.iter().filter_map(|task| scores_of_task(&cells, *task)).collect();
    let data = RunData::load_or_note(&folder, common, console)?;
    let context = data.as_ref().map(RunData::context).unwrap_or_default();
    let context = RunContext { intro: INTRO, scores: Some(&scores), ..context };
    let page = out.join(run_files::REPORT);
    files::atomic_write_bytes(&page, report::of_run_in(&folder, &context)?.page)?;

    // Five lines that fit on 80 columns.
    let scores = |method: &str| scores_of(&cells, &args.tasks, method);
    let text = format!(
        "nc = node classification accuracy, lp = link prediction AUC, cluster = NMI (%):\n\
         nc/lp/cluster after {} steps: controlg {}, random {}\n\
         best without training: {}\n\
         raw = features; sgc, mean, hops: smoothed. Report: {}\n\
         Next: controlg pretrain my-graph/ (with edges.csv) or controlg compare --help",
        config.total_steps(),
        scores("controlg"),
        scores("random"),
        best_floors(&cells, &args.tasks),
        page.display(),
    );
    console.result(&json!({ "report": shown(&page), "run": shown(&folder), "results": cells }), text)
}

/// Scores of one task for the page: the run of controlg, a random schedule, and the floors.
fn scores_of_task(cells: &[ResultCell], task: Task) -> Option<TaskScores> {
    let of = |method: &str| cells.iter().find(|cell| cell.method == method && cell.task == task.name());
    let protocol = of("controlg")?.protocol.clone();
    let note = match task {
        Task::Lp => "From a second run with the same settings, which saw the training edges only.",
        Task::Nc | Task::Cluster => "",
    };
    let methods = ["controlg", "random"].into_iter().chain(floors::NAMES.into_iter().rev());
    let values = methods.filter_map(|method| Some((method.to_owned(), of(method)?.value)));
    Some(TaskScores { task, protocol, note: note.to_owned(), values: values.collect() })
}

/// The best floor of each task with its score: `sgc 87.4/untrained 65.0/sgc 76.7`.
fn best_floors(cells: &[ResultCell], tasks: &[Task]) -> String {
    let best = |task: &Task| {
        let own = cells.iter().filter(|cell| cell.task == task.name());
        let floors = own.filter(|cell| floors::NAMES.contains(&cell.method.as_str()));
        let best = floors.max_by(|a, b| a.value.total_cmp(&b.value));
        best.map_or_else(|| "-".to_owned(), |cell| format!("{} {:.1}", cell.method, cell.value))
    };
    tasks.iter().map(best).collect::<Vec<_>>().join("/")
}

/// The scores of a method in the order of the tasks.
fn scores_of(cells: &[ResultCell], tasks: &[Task], method: &str) -> String {
    let score = |task: &Task| {
        let cell = cells.iter().find(|cell| cell.method == method && cell.task == task.name());
        cell.map_or_else(|| "-".to_owned(), |cell| format!("{:.1}", cell.value))
    };
    tasks.iter().map(score).collect::<Vec<_>>().join("/")
}
