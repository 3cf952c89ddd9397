//! Charts over all results: critical differences of ranks, the spread of the gain sweep, time per step.

use std::fmt::Write;

use crate::eval::ranks::critical_difference;
use crate::report::Figure;
use crate::report::axis::Axis;
use crate::report::chart::{Plot, WIDTH};
use crate::report::svg::{SvgImage, stack};
use crate::reproduce::gains::GainSweep;
use crate::reproduce::{Evidence, ReproduceTarget, TargetTable, timing};

/// All charts for which there are results.
pub(super) fn all(evidence: &Evidence) -> Vec<Figure> {
    [critical_differences(evidence), gain_spread(evidence), step_times(evidence)]
        .into_iter()
        .flatten()
        .collect()
}

/// Height of a row of text.
const ROW: f64 = 20.0;

/// Critical-difference diagrams of the main tables (Demšar, JMLR 2006).
fn critical_differences(evidence: &Evidence) -> Option<Figure> {
    let main = ["nc", "lp", "cluster"];
    let tables = evidence.tables.iter().filter(|table| main.contains(&table.name.as_str()));
    let mut csv = "table,row,average_rank,data_sets,paper_average_rank\n".to_owned();
    let mut images = Vec::new();
    for table in tables {
        for row in table.methods() {
            let rank = |rank: Option<f64>| rank.map_or(String::new(), |rank| rank.to_string());
            let _ = writeln!(
                csv,
                "{},{},{},{},{}",
                table.name,
                row.name,
                rank(row.rank.map(|rank| rank.rank)),
                row.rank.map_or(0, |rank| rank.n),
                rank(row.paper_rank.map(|rank| rank.rank)),
            );
        }
        images.extend(diagram(table));
    }
    (!images.is_empty()).then(|| Figure {
        name: "critical-differences",
        title: "Critical differences of average ranks".to_owned(),
        caption: "Average ranks of the methods over the data sets on which they have a value; 1, on the left, is best. A bar joins \
                  methods whose ranks do not differ significantly (Nemenyi test, 5 % level)."
            .to_owned(),
        image: stack(images),
        csv,
    })
}

/// One diagram: the better half of the methods is named on the left, the other on the right.
fn diagram(table: &TargetTable) -> Option<SvgImage> {
    let mut ranked: Vec<(&str, f64)> =
        table.methods().filter_map(|row| Some((row.name.as_str(), row.rank?.rank))).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    let difference = critical_difference(ranked.len(), table.data.len())?;
    let cliques = cliques(&ranked, difference);
    let rows = ranked.len().div_ceil(2);
    // From the top: the numbers of the axis, the axis, the bars, the names, and the title.
    let bars = 0.5 * cliques.len() as f64;
    let depth = 3.0 + bars + rows as f64;
    let (axis, top) = (depth - 1.0, depth - 1.3 - bars);
    let n = ranked.len() as f64;
    let margin = 0.65 * n;
    let mut plot = Plot::new(
        WIDTH,
        34.0 + ROW * depth,
        Axis::over("", [1.0 - margin, n + margin]),
        Axis::over("", [0.0, depth]),
    )
    .with_row_names([]);
    plot.leader(&[(1.0, axis), (n, axis)]);
    let step = ranked.len().div_ceil(10);
    for tick in (0..ranked.len()).step_by(step) {
        let x = 1.0 + tick as f64;
        plot.leader(&[(x, axis), (x, axis + 0.2)]);
        plot.text((x, axis + 0.35), "middle", &format!("{x}"));
    }
    for (at, (first, last)) in cliques.iter().enumerate() {
        let y = axis - 0.4 - 0.5 * at as f64;
        plot.rect(7, (ranked[*first].1 - 0.1, ranked[*last].1 + 0.1), (y - 0.1, y + 0.1), 1.0);
    }
    for (at, (name, rank)) in ranked.iter().enumerate() {
        let left = at < rows;
        let row = if left { at } else { ranked.len() - 1 - at };
        let y = top - 0.5 - row as f64;
        let end = if left { 1.0 - 0.02 * n } else { n + 0.02 * n };
        plot.leader(&[(*rank, axis), (*rank, y), (end, y)]);
        plot.dot(0, (*rank, axis), 3.0, &format!("{name}: {rank:.2}"));
        let (anchor, shift) = if left { ("end", -0.01) } else { ("start", 0.01) };
        plot.text((end + shift * n, y - 0.25), anchor, &format!("{name} {rank:.1}"));
    }
    let title = format!("{} (critical difference {difference:.1})", table.name);
    plot.text((f64::midpoint(1.0, n), 0.0), "middle", &title);
    Some(plot.finish_without_axes())
}

/// The longest runs of methods whose ranks differ by less than the critical difference.
fn cliques(ranked: &[(&str, f64)], difference: f64) -> Vec<(usize, usize)> {
    let mut cliques: Vec<(usize, usize)> = Vec::new();
    for first in 0..ranked.len() {
        let last = ranked.iter().rposition(|(_, rank)| rank - ranked[first].1 <= difference).unwrap_or(first);
        if last > first && cliques.last().is_none_or(|(_, before)| *before < last) {
            cliques.push((first, last));
        }
    }
    cliques
}

/// Histogram of the accuracies of a sweep.
fn gain_spread(evidence: &Evidence) -> Option<Figure> {
    let mut csv = "data,accuracy,settings\n".to_owned();
    for sweep in &evidence.sweeps {
        for (accuracy, settings) in &sweep.runs {
            let _ = writeln!(csv, "{},{accuracy},{}", sweep.data, settings.join(" "));
        }
    }
    let images: Vec<SvgImage> = evidence.sweeps.iter().map(histogram).collect();
    (!images.is_empty()).then(|| Figure {
        name: "gain-sweep",
        title: "Accuracy over settings of the loop".to_owned(),
        caption: "Test accuracy of configurations drawn from the paper's grid of gains and other settings of the loop, with one seed \
                  each. Dots below: runs of the preset with different seeds, which show what the seed alone changes."
            .to_owned(),
        image: stack(images),
        csv,
    })
}

fn histogram(sweep: &GainSweep) -> SvgImage {
    const BINS: usize = 24;
    let values: Vec<f64> = sweep.runs.iter().map(|run| run.0).collect();
    let all = || values.iter().chain(&sweep.by_seed).copied();
    let (low, high) = all().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let width = ((high - low) / BINS as f64).max(0.05);
    let mut counts = [0_usize; BINS + 1];
    for value in &values {
        counts[(((value - low) / width) as usize).min(BINS)] += 1;
    }
    let most = counts.iter().max().copied().unwrap_or(0) as f64;
    let x = Axis::over(&format!("accuracy on {} (%)", sweep.data), [low - width, high + 2.0 * width]);
    let y = Axis::over("configurations", [-0.12 * most, most]);
    let mut plot = Plot::new(WIDTH, 240.0, x, y);
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let left = low + bin as f64 * width;
        plot.rect(0, (left, left + 0.92 * width), (0.0, *count as f64), 0.9);
    }
    for value in &sweep.by_seed {
        plot.dot(3, (*value, -0.06 * most), 4.5, &format!("a seed of the preset: {value:.2}"));
    }
    plot.legend_entry(0, "configurations");
    plot.legend_entry(3, "seeds of the preset");
    plot.finish(true)
}

/// Bars of the time per step on the first data set, ours and the paper's, on a logarithmic axis.
fn step_times(evidence: &Evidence) -> Option<Figure> {
    let data = &evidence.times.first()?.data;
    let target = ReproduceTarget::find(ReproduceTarget::TIMING).ok()?;
    let mut rows: Vec<(&str, f64, Option<f64>)> = Vec::new();
    let mut csv = "data,method,ms,paper_ms\n".to_owned();
    for time in &evidence.times {
        let paper = target.published(&time.data, &time.method).map(|known| known.0);
        let text = paper.map_or(String::new(), |ms| ms.to_string());
        let _ = writeln!(csv, "{},{},{},{text}", time.data, time.method, time.median());
        if time.data == *data && rows.iter().all(|row| row.0 != time.method) {
            rows.push((&time.method, timing::median(&evidence.times, data, &time.method)?, paper));
        }
    }
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    let all = rows.iter().flat_map(|row| [Some(row.1), row.2]).flatten();
    let least = all.clone().fold(f64::MAX, f64::min);
    let start = 10_f64.powf(least.log10().floor());
    let n = rows.len() as f64;
    let x = Axis::over(&format!("ms per step on {data}"), all.chain([start])).log();
    let mut plot = Plot::new(WIDTH, 60.0 + 26.0 * n, x, Axis::over("", [0.0, n]))
        .with_row_names(rows.iter().map(|row| row.0));
    for (at, (name, ms, paper)) in rows.iter().enumerate() {
        let y = n - at as f64;
        plot.row_name(y - 0.5, name);
        plot.rect(0, (start, *ms), (y - 0.48, y - 0.1), 1.0);
        if let Some(paper) = paper {
            plot.rect(7, (start, *paper), (y - 0.9, y - 0.52), 1.0);
        }
    }
    plot.legend_entry(0, "ours, on a CPU");
    plot.legend_entry(7, "the paper's, on a GPU");
    Some(Figure {
        name: "step-times",
        title: "Time per optimizer step".to_owned(),
        caption: "Milliseconds per step on a logarithmic axis, sensing included: ours and the paper's. The machines differ, so compare \
                  the order and the ratios."
            .to_owned(),
        image: plot.finish(false),
        csv,
    })
}
