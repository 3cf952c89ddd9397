//! Measures the time per step of every method in this process.

use controlg::Result;
use controlg::compare::JsonlStore;
use controlg::data::{self, LoadOptions};
use controlg::reproduce::ReproduceSettings;
use controlg::reproduce::timing::{self, StepTime};
use controlg::train;

use crate::args::{CommonArgs, ReproduceArgs};
use crate::commands::compare;
use crate::console::Console;

/// Times what has no time yet, one method after another, so that they do not disturb each other.
pub(super) fn measure(
    settings: &ReproduceSettings,
    skipped: &[String],
    args: &ReproduceArgs,
    common: &CommonArgs,
    console: &Console,
) -> Result<()> {
    let mut known = JsonlStore::<StepTime>::open(&args.out, "timings", args.shard)?;
    let threads = compare::cores(common);
    let set: Vec<String> =
        [format!("preset={}", settings.preset)].into_iter().chain(settings.assignments()).collect();
    let mut graph: Option<(String, controlg::Graph)> = None;
    for (index, (data, method)) in timing::to_measure(settings).into_iter().enumerate() {
        let is_known =
            |time: &StepTime| time.data == data && time.method == method && time.threads == threads;
        let own = args.shard.is_none_or(|shard| shard.contains(index));
        // A data set of other targets may be missing from the notes so far: `timing` has no runs of its own.
        if !own
            || skipped.contains(&data)
            || !super::is_present(&data, common)?
            || known.all().iter().any(is_known)
        {
            continue;
        }
        if graph.as_ref().is_none_or(|(name, _)| *name != data) {
            let options = LoadOptions { data_dir: common.data_dir.clone(), ..LoadOptions::default() };
            graph = Some((data.clone(), data::load(&data, &options)?.graph));
        }
        let Some((_, graph)) = &graph else { continue };
        // A method that cannot train on this graph has no time.
        let ms = match train::step_times(graph, &data, method, &set) {
            Ok(ms) => ms,
            Err(error) => {
                console.log(format_args!("note: no time of {method} on {data}: {error}"));
                continue;
            }
        };
        let time = StepTime {
            data,
            method: method.to_owned(),
            ms,
            threads,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        console.log(format_args!("{} {method}: {:.1} ms per step", time.data, time.median()));
        known.append(&[time])?;
    }
    Ok(())
}
