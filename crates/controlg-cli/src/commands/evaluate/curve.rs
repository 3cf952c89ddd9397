//! `controlg evaluate RUN --curve`: quality along a run against what it has cost, from the embeddings that
//! `controlg pretrain --snapshots` kept. Test figures are neither printed nor stored.

use std::collections::BTreeMap;
use std::fmt::Write;

use controlg::compare::CurvePoint;
use controlg::data::{self, Dataset};
use controlg::eval::Task;
use controlg::train::{WorkCounter, snapshots_of};
use controlg::{Error, Result, run_files, trace};

use super::{EvaluationInput, validate};
use crate::args::EvaluateArgs;
use crate::console::Console;

pub(super) fn run(
    tasks: &[Task],
    input: &EvaluationInput,
    dataset: &Dataset,
    args: &EvaluateArgs,
    console: &Console,
) -> Result<()> {
    let Some((run, config)) = &input.run else {
        return Err(Error::value("--curve", input.embeddings.display(), "the folder of a run"));
    };
    let snapshots = snapshots_of(run)?;
    if snapshots.is_empty() {
        let expected = "the embeddings of a run that was started with --snapshots";
        return Err(Error::input(&run.join(run_files::SNAPSHOTS), "", "no embeddings", expected));
    }
    let counter = WorkCounter::new(&dataset.graph, config)?;
    let record = run.join(run_files::TRACE);
    let along = counter.along(&trace::read(&record)?);
    let mut curves: BTreeMap<Task, Vec<CurvePoint>> = BTreeMap::new();
    for (step, path) in &snapshots {
        let Some(work) = WorkCounter::at_step(&along, *step) else {
            let found = format!("embeddings after step {step}, beyond the end of the record");
            return Err(Error::input(path, "", found, "embeddings of this run"));
        };
        let embeddings = data::read_embeddings(path, dataset.graph.ids(), &input.data)?;
        for &task in tasks {
            let score = validate(task, &embeddings, dataset, input, args)?;
            curves.entry(task).or_default().push(CurvePoint {
                step: work.step,
                operations: work.operations,
                measuring: work.measuring,
                evaluations: work.evaluations,
                seconds: (1e3 * work.seconds).round() / 1e3,
                value: score.validation,
            });
        }
    }
    console.result(&curves, described(&curves))
}

fn described(curves: &BTreeMap<Task, Vec<CurvePoint>>) -> String {
    let mut text = String::new();
    for (task, points) in curves {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}: step, 10⁹ operations (measuring), evaluations, seconds, validation {}",
            task.name(),
            task.metric()
        );
        for point in points {
            let CurvePoint { step, operations, measuring, evaluations, seconds, value } = point;
            let _ = writeln!(
                text,
                "{step:>8} {:>10.2} ({:.2}) {evaluations:>9.1} {seconds:>8.2} {value:>7.2}",
                operations / 1e9,
                measuring / 1e9
            );
        }
    }
    text.trim_end().to_owned()
}
