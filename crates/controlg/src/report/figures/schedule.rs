//! Figures of the schedule: plan, realized shares, deficits and waiting times.

use std::fmt::Write;

use super::{Figure, HEIGHT, SMALL_HEIGHT, Series, WINDOW, line_plot, long_csv, series_csv, tall_line_plot};
use crate::report::axis::Axis;
use crate::report::chart::{Plot, WIDTH};
use crate::report::run_trace::{RunTrace, value_at};
use crate::report::svg::stack;
use crate::trace::BlockLine;

/// Maximum number of columns of the schedule raster.
const RASTER_COLUMNS: usize = 1500;

pub(super) fn plan(trace: &RunTrace) -> Option<Figure> {
    let lines = trace.per_block(|block| &block.plan);
    if trace.blocks.first()?.plan.is_empty() {
        return None;
    }
    let mut plot = line_plot(trace, &lines, "planned share", false);
    plot.reference_line(1.0 / trace.n_objectives() as f64, "uniform");
    Some(Figure {
        name: "plan",
        title: "Planned shares".to_owned(),
        caption: "Share of the next blocks that the planner wants to give to each objective. It rises for objectives that \
                  have much to gain and falls for difficult ones."
            .to_owned(),
        image: plot.finish(true),
        csv: series_csv(trace, &lines),
    })
}

/// Realized share N_k/m beside the planned share N^ref_k/m, both since the start of the epoch.
pub(super) fn tracking(trace: &RunTrace) -> Option<Figure> {
    if trace.blocks.first()?.plan.is_empty() || trace.n_objectives() < 2 {
        return None;
    }
    let share = |k: usize, of: fn(&BlockLine, Option<usize>, usize) -> f64| -> Series {
        let blocks = trace.blocks.iter().zip(&trace.tasks);
        blocks.map(|(block, task)| (block.step as f64, of(block, *task, k) / block.block as f64)).collect()
    };
    let all = |of| -> Vec<Series> { (0..trace.n_objectives()).map(|k| share(k, of)).collect() };
    let realized = all(|block, task, k| {
        let before = block.count.get(k).map_or(f64::NAN, |count| *count as f64);
        before + f64::from(u8::from(task == Some(k)))
    });
    let planned = all(|block, _, k| value_at(&block.count_ref, k));
    // The shares of the first blocks of an epoch are far from any plan and would dominate the plot.
    let without_start = |line: &Series| -> Series {
        let hidden = |at: usize| trace.blocks[at].block < 10;
        line.iter().enumerate().map(|(at, p)| if hidden(at) { (p.0, f64::NAN) } else { *p }).collect()
    };
    let shown: Vec<Series> = realized.iter().map(without_start).collect();
    let mut plot = tall_line_plot(trace, &shown, "share of the epoch's blocks");
    for (k, line) in planned.iter().enumerate() {
        plot.dotted_line(k, &without_start(line));
    }
    plot.dotted_legend_entry("planned share of the same color");
    Some(Figure {
        name: "tracking",
        title: "Realized vs. planned share".to_owned(),
        caption: "How well the controller follows the plan: the share of the blocks since the start of the epoch that each \
                  objective got, and dotted the share that was planned for it, without the first nine blocks of each epoch."
            .to_owned(),
        image: plot.finish(true),
        csv: long_csv(trace, &[("realized", realized), ("planned", planned)]),
    })
}

fn empty_raster(trace: &RunTrace) -> Plot {
    let (n, k) = (trace.blocks.len() as f64, trace.n_objectives() as f64);
    Plot::new(WIDTH, 64.0 + 24.0 * k, Axis::over("block", [0.0, n]), Axis::over("", [0.0, k]))
        .with_row_names(trace.run.objectives.iter().map(String::as_str).chain(["narrow"]))
}

/// Left and right edge of the raster in its image, which tell the page's script which block the pointer is at.
pub(in crate::report) fn raster_range(trace: &RunTrace) -> (f64, f64) {
    empty_raster(trace).x_range()
}

/// Raster of the objective of each block, and the shares over recent blocks.
pub(super) fn schedule(trace: &RunTrace) -> Option<Figure> {
    let (n, k) = (trace.blocks.len(), trace.n_objectives());
    if n == 0 || trace.mixes_gradients() {
        return None;
    }
    let mut raster = empty_raster(trace);
    for (task, name) in trace.run.objectives.iter().enumerate() {
        raster.row_name((k - task) as f64 - 0.5, name);
    }
    let each = n.div_ceil(RASTER_COLUMNS);
    for (column, tasks) in trace.tasks.chunks(each).enumerate() {
        for task in 0..k {
            let own = tasks.iter().filter(|found| **found == Some(task)).count();
            if own > 0 {
                let (left, row) = ((column * each) as f64, (k - task) as f64);
                let right = left + tasks.len() as f64;
                raster.rect(task, (left, right), (row - 0.92, row - 0.08), own as f64 / tasks.len() as f64);
            }
        }
    }
    let shares = trace.recent_shares(WINDOW);
    let steps = shares.first().map(|line| line.iter().map(|p| p.0).collect::<Vec<_>>()).unwrap_or_default();
    let mut area =
        Plot::new(WIDTH, 190.0, Axis::over("step", steps.iter().copied()), Axis::over("share", [0.0, 1.0]))
            .aligned_with(&raster);
    let mut low: Series = steps.iter().map(|step| (*step, 0.0)).collect();
    for (task, name) in trace.run.objectives.iter().enumerate() {
        let high: Series = low.iter().zip(&shares[task]).map(|(low, own)| (low.0, low.1 + own.1)).collect();
        area.area(task, name, &low, &high, 0.85);
        low = high;
    }
    let many = match each {
        1 => String::new(),
        _ => format!(
            " Each raster column stands for {each} blocks; fainter cells have fewer blocks of that objective."
        ),
    };
    Some(Figure {
        name: "schedule",
        title: "Schedule".to_owned(),
        caption: format!(
            "Top: the objective that each block trained; point at a block, or focus the chart and use the arrow keys, to see why \
             it was chosen. Bottom: shares of the objectives over the last {WINDOW} blocks.{many}"
        ),
        image: stack(vec![raster.finish(false), area.finish(true)]),
        csv: schedule_csv(trace),
    })
}

fn schedule_csv(trace: &RunTrace) -> String {
    let mut csv = "epoch,block,step,steps,task,loss\n".to_owned();
    for block in &trace.blocks {
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{}",
            block.epoch, block.block, block.step, block.steps, block.task, block.loss
        );
    }
    csv
}

/// Rolling mean of each deficit with one rolling standard deviation on both sides.
pub(super) fn deficits(trace: &RunTrace) -> Option<Figure> {
    let lines = trace.per_block(|block| &block.deficit);
    if trace.blocks.first()?.deficit.is_empty() {
        return None;
    }
    let (means, deviations): (Vec<Series>, Vec<Series>) = lines.iter().map(rolling).unzip();
    let shifted = |k: usize, sign: f64| -> Series {
        means[k].iter().zip(&deviations[k]).map(|(mean, std)| (mean.0, mean.1 + sign * std.1)).collect()
    };
    let edges: Vec<[Series; 2]> =
        (0..lines.len()).map(|k| [-1.0, 1.0].map(|sign| shifted(k, sign))).collect();
    let y = Axis::over("deficit (blocks)", edges.iter().flatten().flatten().map(|p| p.1));
    let x = Axis::over("step", lines.iter().flatten().map(|p| p.0));
    let mut plot = Plot::new(WIDTH, HEIGHT + SMALL_HEIGHT, x, y);
    for (k, [low, high]) in edges.iter().enumerate() {
        plot.area(k, "", low, high, 0.15);
    }
    for (k, (line, name)) in means.iter().zip(&trace.run.objectives).enumerate() {
        plot.line(k, name, line);
    }
    plot.reference_line(0.0, "on plan");
    Some(Figure {
        name: "deficits",
        title: "Deficits".to_owned(),
        caption: format!(
            "Number of blocks by which each objective is behind (positive) or ahead of (negative) its plan in the epoch: mean over \
             the last {WINDOW} blocks ± one standard deviation. The controller favors objectives that are behind, so the deficits \
             stay bounded."
        ),
        image: plot.finish(true),
        csv: long_csv(
            trace,
            &[("deficit", lines), ("rolling mean", means), ("rolling deviation", deviations)],
        ),
    })
}

/// Mean and standard deviation over the last [`WINDOW`] points, at every point.
fn rolling(line: &Series) -> (Series, Series) {
    let at = |end: usize| {
        let recent = &line[end.saturating_sub(WINDOW - 1)..=end];
        let n = recent.len() as f64;
        let mean = recent.iter().map(|p| p.1).sum::<f64>() / n;
        let variance = recent.iter().map(|p| (p.1 - mean).powi(2)).sum::<f64>() / n;
        ((line[end].0, mean), (line[end].0, variance.sqrt()))
    };
    (0..line.len()).map(at).unzip()
}

/// −Σ f ln f / ln K: 1 for equal shares, 0 if one objective has all.
pub(in crate::report) fn normalized_entropy(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().filter(|f| **f > 0.0).map(|f| f * f.ln()).sum();
    -sum / (shares.len() as f64).ln()
}

pub(super) fn entropy(trace: &RunTrace) -> Option<Figure> {
    if trace.blocks.first()?.plan.is_empty() || trace.n_objectives() < 2 {
        return None;
    }
    let point = |block: &BlockLine| (block.step as f64, normalized_entropy(&block.plan));
    let line: Series = trace.blocks.iter().map(point).collect();
    let mut plot = Plot::new(
        WIDTH,
        HEIGHT,
        Axis::over("step", line.iter().map(|p| p.0)),
        Axis::over("entropy", line.iter().map(|p| p.1)).including([1.0]),
    );
    plot.line(0, "entropy of the plan", &line);
    plot.reference_line(1.0, "uniform");
    Some(Figure {
        name: "entropy",
        title: "Entropy of the plan".to_owned(),
        caption: "How even the plan is: 1 for equal shares, lower when it favors some objectives.".to_owned(),
        image: plot.finish(true),
        csv: "step,entropy\n".to_owned()
            + &line.iter().map(|(x, y)| format!("{x},{y}\n")).collect::<String>(),
    })
}

/// Waiting times of objectives and the bound given by exploration.
pub(super) fn drought(trace: &RunTrace) -> Option<Figure> {
    let waits = trace.wait_counts();
    let total: usize = waits.iter().sum();
    if trace.n_objectives() < 2 || total == 0 {
        return None;
    }
    let mut left = total;
    let mut tail: Series = Vec::new();
    for (wait, count) in waits.iter().enumerate() {
        tail.push((wait as f64, left as f64 / total as f64));
        left -= count;
    }
    let explore = trace.run.config.control.explore;
    let explores = trace.blocks.first().is_some_and(|block| !block.prob.is_empty()) && explore > 0.0;
    let bound: Series =
        tail.iter().map(|(s, _)| (*s, (1.0 - explore / trace.n_objectives() as f64).powf(*s))).collect();
    let floor = 0.5 / total as f64;
    let mut plot = Plot::new(
        WIDTH,
        HEIGHT,
        Axis::over("wait in blocks (at least)", tail.iter().map(|p| p.0)),
        Axis::over("fraction of waits", [floor, 1.0]).log(),
    );
    plot.line(0, "this run", &tail);
    if explores {
        plot.line(7, "exploration bound", &bound);
    }
    let mut csv = "wait,share_at_least,bound\n".to_owned();
    for ((wait, share), (_, bound)) in tail.iter().zip(&bound) {
        let _ = writeln!(csv, "{wait},{share},{}", if explores { bound.to_string() } else { String::new() });
    }
    Some(Figure {
        name: "drought",
        title: "Waiting times".to_owned(),
        caption: format!(
            "How long objectives wait for their next block: the fraction of waits of at least this length.{}",
            if explores { " No objective is forgotten: exploration gives a geometric bound." } else { "" }
        ),
        image: plot.finish(true),
        csv,
    })
}
