//! Figures of the schedule: plan, realized shares, deficits and waiting times.

use std::fmt::Write;

use super::{Figure, HEIGHT, SMALL_HEIGHT, Series, WINDOW, line_plot, series_csv, tall_line_plot};
use crate::report::axis::Axis;
use crate::report::chart::{Plot, WIDTH};
use crate::report::run_trace::{RunTrace, value_at};
use crate::report::svg::stack;

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

/// Realized minus planned share within each epoch.
pub(super) fn tracking(trace: &RunTrace) -> Option<Figure> {
    if trace.blocks.first()?.plan.is_empty() || trace.n_objectives() < 2 {
        return None;
    }
    let difference = |k: usize| -> Series {
        let mut line = Vec::new();
        for (block, task) in trace.blocks.iter().zip(&trace.tasks) {
            let count = block.count.get(k).map_or(f64::NAN, |count| *count as f64);
            let got = count + f64::from(u8::from(*task == Some(k)));
            line.push((block.step as f64, (got - value_at(&block.count_ref, k)) / block.block as f64));
        }
        line
    };
    let lines: Vec<Series> = (0..trace.n_objectives()).map(difference).collect();
    // The shares of the first blocks of an epoch are far from any plan and would dominate the plot.
    let without_start = |line: &Series| -> Series {
        let hidden = |at: usize| trace.blocks[at].block < 10;
        line.iter().enumerate().map(|(at, p)| if hidden(at) { (p.0, f64::NAN) } else { *p }).collect()
    };
    let shown: Vec<Series> = lines.iter().map(without_start).collect();
    let mut plot = tall_line_plot(trace, &shown, "realized − planned share");
    plot.reference_line(0.0, "plan");
    Some(Figure {
        name: "tracking",
        title: "Realized vs. planned share".to_owned(),
        caption: "How well the controller follows the plan: realized minus planned share since the start of the epoch, without \
                  the first nine blocks of each epoch. Lines near zero received what was planned for them."
            .to_owned(),
        image: plot.finish(true),
        csv: series_csv(trace, &lines),
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

pub(super) fn deficits(trace: &RunTrace) -> Option<Figure> {
    let lines = trace.per_block(|block| &block.deficit);
    if trace.blocks.first()?.deficit.is_empty() {
        return None;
    }
    let mut plot = line_plot(trace, &lines, "deficit (blocks)", false);
    plot.reference_line(0.0, "on plan");
    // Standard deviation of the deficits over recent blocks.
    let deviation: Series = (0..trace.blocks.len())
        .map(|end| {
            let recent = &trace.blocks[end.saturating_sub(WINDOW - 1)..=end];
            let all = || recent.iter().flat_map(|block| block.deficit.iter().copied());
            let mean = all().sum::<f64>() / all().count().max(1) as f64;
            let variance = all().map(|e| (e - mean).powi(2)).sum::<f64>() / all().count().max(1) as f64;
            (trace.blocks[end].step as f64, variance.sqrt())
        })
        .collect();
    let mut below = Plot::new(
        WIDTH,
        SMALL_HEIGHT,
        Axis::over("step", deviation.iter().map(|p| p.0)),
        Axis::over("std. dev.", deviation.iter().map(|p| p.1)).including([0.0]),
    );
    below.line(7, &format!("standard deviation over {WINDOW} blocks"), &deviation);
    Some(Figure {
        name: "deficits",
        title: "Deficits".to_owned(),
        caption: "Number of blocks by which each objective is behind (positive) or ahead of (negative) its plan in the epoch. \
                  The controller favors objectives that are behind, so the deficits stay bounded."
            .to_owned(),
        image: stack(vec![plot.finish(true), below.finish(true)]),
        csv: series_csv(trace, &lines),
    })
}

pub(super) fn entropy(trace: &RunTrace) -> Option<Figure> {
    if trace.blocks.first()?.plan.is_empty() || trace.n_objectives() < 2 {
        return None;
    }
    let of = |plan: &[f64]| {
        -plan.iter().filter(|f| **f > 0.0).map(|f| f * f.ln()).sum::<f64>() / (plan.len() as f64).ln()
    };
    let line: Series = trace.blocks.iter().map(|block| (block.step as f64, of(&block.plan))).collect();
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
