//! The paper's diagnostics, each a picture and the numbers it was drawn from.

use std::fmt::Write;

use super::axis::{Axis, short};
use super::chart::{self, Picture, Plot, stacked};
use super::history::{History, at};

/// A picture with its numbers.
#[derive(Clone, Debug)]
pub struct Figure {
    /// A word for file names and anchors.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    pub(super) picture: Picture,
    /// The numbers, as CSV.
    pub csv: String,
}

impl Figure {
    /// The picture as a file of its own.
    pub fn svg(&self) -> String {
        self.picture.alone()
    }
}

type Line = Vec<(f64, f64)>;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 250.0;
/// Blocks over which recent shares are counted.
const WINDOW: usize = 25;
/// Places of the raster at most.
const PLACES: usize = 1500;

/// All figures that the record of a run has something for, in reading order.
pub(super) fn of_run(history: &History) -> Vec<Figure> {
    let makers: [fn(&History) -> Option<Figure>; 12] = [
        losses, plan, tracking, schedule, deficits, difficulty, conflict, entropy, references, weights,
        drought, time,
    ];
    makers.iter().filter_map(|make| make(history)).collect()
}

fn losses(history: &History) -> Option<Figure> {
    let lines = history.losses();
    let relative: Vec<Line> = lines
        .iter()
        .map(|line| {
            let first = line.first().map_or(1.0, |point| point.1);
            line.iter().map(|(x, y)| (*x, y / first)).collect()
        })
        .collect();
    if relative.iter().all(Vec::is_empty) {
        return None;
    }
    let sensed = !history.sensings.is_empty();
    let mut plot = line_plot(history, &relative, "loss / first loss", true);
    plot.level(1.0, "where it began");
    Some(Figure {
        name: "losses",
        title: "Loss of each objective".to_owned(),
        caption: match sensed {
            true => "Measured on the frozen samples of the run, relative to the first measurement.",
            false => "Measured on the steps themselves, relative to the first.",
        }
        .to_owned(),
        picture: plot.finish(true),
        csv: csv_of(history, &lines),
    })
}

fn plan(history: &History) -> Option<Figure> {
    let lines = history.decided(|block| &block.plan);
    if history.blocks.first()?.plan.is_empty() {
        return None;
    }
    let mut plot = line_plot(history, &lines, "planned share", false);
    plot.level(1.0 / history.k() as f64, "uniform");
    Some(Figure {
        name: "plan",
        title: "Planned shares against uniform".to_owned(),
        caption: "The share of the blocks that the planner wants for each objective.".to_owned(),
        picture: plot.finish(true),
        csv: csv_of(history, &lines),
    })
}

/// Cumulative shares within each epoch against the cumulative plan.
fn tracking(history: &History) -> Option<Figure> {
    if history.blocks.first()?.plan.is_empty() || history.k() < 2 {
        return None;
    }
    let difference = |k: usize| -> Line {
        let mut line = Vec::new();
        for (block, task) in history.blocks.iter().zip(&history.tasks) {
            let count = block.count.get(k).map_or(f64::NAN, |count| *count as f64);
            let got = count + f64::from(u8::from(*task == Some(k)));
            line.push((block.step as f64, (got - at(&block.count_ref, k)) / block.block as f64));
        }
        line
    };
    let lines: Vec<Line> = (0..history.k()).map(difference).collect();
    // The first blocks of an epoch cannot be near any plan: they would hide the rest.
    let settled = |line: &Line| -> Line {
        let hidden = |at: usize| history.blocks[at].block < 10;
        line.iter().enumerate().map(|(at, p)| if hidden(at) { (p.0, f64::NAN) } else { *p }).collect()
    };
    let shown: Vec<Line> = lines.iter().map(settled).collect();
    let mut plot = line_plot(history, &shown, "realized − planned share", false);
    plot.level(0.0, "the plan");
    Some(Figure {
        name: "tracking",
        title: "Realized share against plan".to_owned(),
        caption: "Difference of the shares so far in each epoch; an epoch's first nine blocks are left out."
            .to_owned(),
        picture: plot.finish(true),
        csv: csv_of(history, &lines),
    })
}

/// Which objective got which block, above the shares of recent blocks.
fn schedule(history: &History) -> Option<Figure> {
    let (n, k) = (history.blocks.len(), history.k());
    if n == 0 || history.mixes() {
        return None;
    }
    let rows = Axis::over("", [0.0, k as f64]);
    let mut raster =
        Plot::new(WIDTH, 60.0 + 18.0 * k as f64, Axis::over("block", [0.0, n as f64]), rows).with_left(88.0);
    for (task, name) in history.run.objectives.iter().enumerate() {
        raster.row_name((k - task) as f64 - 0.5, name);
    }
    let each = n.div_ceil(PLACES);
    for (place, tasks) in history.tasks.chunks(each).enumerate() {
        for task in 0..k {
            let own = tasks.iter().filter(|found| **found == Some(task)).count();
            if own > 0 {
                let (left, row) = ((place * each) as f64, (k - task) as f64);
                let right = left + tasks.len() as f64;
                raster.cell(task, (left, right), (row - 0.92, row - 0.08), own as f64 / tasks.len() as f64);
            }
        }
    }
    let shares = history.recent_shares(WINDOW);
    let steps = shares.first().map(|line| line.iter().map(|p| p.0).collect::<Vec<_>>()).unwrap_or_default();
    let mut area =
        Plot::new(WIDTH, 190.0, Axis::over("step", steps.iter().copied()), Axis::over("share", [0.0, 1.0]))
            .with_left(88.0);
    let mut low: Line = steps.iter().map(|step| (*step, 0.0)).collect();
    for (task, name) in history.run.objectives.iter().enumerate() {
        let high: Line = low.iter().zip(&shares[task]).map(|(low, own)| (low.0, low.1 + own.1)).collect();
        area.area(task, name, &low, &high, 0.85);
        low = high;
    }
    let many = match each {
        1 => String::new(),
        _ => format!(
            " Each place of the raster stands for {each} blocks; a fainter one had fewer of that objective."
        ),
    };
    Some(Figure {
        name: "schedule",
        title: "The schedule".to_owned(),
        caption: format!(
            "Above, the objective of each block: point at one, or use the arrow keys, to see why it was chosen. Below, the \
             shares of the last {WINDOW} blocks.{many}"
        ),
        picture: stacked(vec![raster.finish(false), area.finish(true)]),
        csv: schedule_csv(history),
    })
}

fn schedule_csv(history: &History) -> String {
    let mut csv = "epoch,block,step,steps,task,loss\n".to_owned();
    for block in &history.blocks {
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{}",
            block.epoch, block.block, block.step, block.steps, block.task, block.loss
        );
    }
    csv
}

fn deficits(history: &History) -> Option<Figure> {
    let lines = history.decided(|block| &block.deficit);
    if history.blocks.first()?.deficit.is_empty() {
        return None;
    }
    let mut plot = line_plot(history, &lines, "deficit (blocks)", false);
    plot.level(0.0, "on plan");
    // The spread of the deficits over recent blocks.
    let spread: Line = (0..history.blocks.len())
        .map(|end| {
            let recent = &history.blocks[end.saturating_sub(WINDOW - 1)..=end];
            let all = || recent.iter().flat_map(|block| block.deficit.iter().copied());
            let mean = all().sum::<f64>() / all().count().max(1) as f64;
            let variance = all().map(|e| (e - mean).powi(2)).sum::<f64>() / all().count().max(1) as f64;
            (history.blocks[end].step as f64, variance.sqrt())
        })
        .collect();
    let mut below = Plot::new(
        WIDTH,
        120.0,
        Axis::over("step", spread.iter().map(|p| p.0)),
        Axis::over("spread", spread.iter().map(|p| p.1)).with([0.0]),
    );
    below.line(7, &format!("deviation over {WINDOW} blocks"), &spread);
    Some(Figure {
        name: "deficits",
        title: "Deficits".to_owned(),
        caption: "Blocks that each objective is behind its plan in the epoch (above zero) or ahead of it."
            .to_owned(),
        picture: stacked(vec![plot.finish(true), below.finish(true)]),
        csv: csv_of(history, &lines),
    })
}

fn difficulty(history: &History) -> Option<Figure> {
    history.sensings.first()?;
    let parts = [
        ("Rayleigh quotient", history.sensed(|line| &line.rq)),
        ("conflict", history.sensed(|line| &line.sensing.sensed.conf)),
        ("difficulty", history.sensed(|line| &line.sensing.state.difficulty)),
    ];
    let pictures = parts.iter().map(|(name, lines)| small_plot(history, lines, name)).collect();
    let all: Vec<(&str, &Vec<Line>)> = parts.iter().map(|(name, lines)| (*name, lines)).collect();
    Some(Figure {
        name: "difficulty",
        title: "How hard, how much in conflict".to_owned(),
        caption: "What was sensed of each objective: the Rayleigh quotient of its gradient at the representations, its \
                  conflict with the others, and the difficulty that is made of both."
            .to_owned(),
        picture: stacked(pictures),
        csv: long_csv(history, &all),
    })
}

fn conflict(history: &History) -> Option<Figure> {
    let (k, n) = (history.k(), history.sensings.len() as f64);
    if n == 0.0 || k < 2 {
        return None;
    }
    let mean = |a: usize, b: usize| {
        history.sensings.iter().map(|line| line.cosine.get(a).map_or(f64::NAN, |row| at(row, b))).sum::<f64>()
            / n
    };
    let names = &history.run.objectives;
    let side = 40.0 + 46.0 * k as f64;
    let mut plot =
        Plot::new(88.0 + side, side + 20.0, Axis::over("", [0.0, k as f64]), Axis::over("", [0.0, k as f64]))
            .with_left(88.0);
    let mut csv = "first,second,mean_cosine\n".to_owned();
    for (a, first) in names.iter().enumerate() {
        let row = (k - a) as f64;
        plot.row_name(row - 0.5, first);
        for (b, second) in names.iter().enumerate() {
            let cosine = mean(a, b);
            let _ = writeln!(csv, "{first},{second},{cosine}");
            let against = if cosine < 0.0 { 3 } else { 0 };
            let (x, opacity) = (b as f64, 0.04 + 0.9 * cosine.abs().min(1.0));
            if a != b {
                plot.cell(against, (x + 0.03, x + 0.97), (row - 0.97, row - 0.03), opacity);
            }
            plot.text((x + 0.5, row - 0.56), "middle", &format!("{cosine:.2}"));
        }
    }
    for (b, name) in names.iter().enumerate() {
        plot.text((b as f64 + 0.5, -0.32), "middle", name.strip_prefix("p_").unwrap_or(name));
    }
    plot.named(3, "against each other");
    plot.named(0, "together");
    Some(Figure {
        name: "conflict",
        title: "Who pulls against whom".to_owned(),
        caption: "Mean cosine between the objectives' gradients at the encoder, over all sensings."
            .to_owned(),
        picture: plot.finish_bare(),
        csv,
    })
}

fn entropy(history: &History) -> Option<Figure> {
    if history.blocks.first()?.plan.is_empty() || history.k() < 2 {
        return None;
    }
    let of = |plan: &[f64]| {
        -plan.iter().filter(|f| **f > 0.0).map(|f| f * f.ln()).sum::<f64>() / (plan.len() as f64).ln()
    };
    let line: Line = history.blocks.iter().map(|block| (block.step as f64, of(&block.plan))).collect();
    let mut plot = Plot::new(
        WIDTH,
        150.0,
        Axis::over("step", line.iter().map(|p| p.0)),
        Axis::over("entropy", line.iter().map(|p| p.1)).with([1.0]),
    );
    plot.line(0, "of the plan", &line);
    plot.level(1.0, "uniform");
    Some(Figure {
        name: "entropy",
        title: "Entropy of the allocation".to_owned(),
        caption: "One for equal shares, lower the more the plan favors some objectives.".to_owned(),
        picture: plot.finish(true),
        csv: "step,entropy\n".to_owned()
            + &line.iter().map(|(x, y)| format!("{x},{y}\n")).collect::<String>(),
    })
}

fn references(history: &History) -> Option<Figure> {
    history.sensings.first()?;
    let parts = [
        ("normalized loss", history.sensed(|line| &line.sensing.state.loss_norm)),
        ("reference point", history.sensed(|line| &line.sensing.state.reference)),
        ("sensitivity", history.sensed(|line| &line.sensing.plan.hv_weight)),
    ];
    let pictures = parts.iter().map(|(name, lines)| small_plot(history, lines, name)).collect();
    let all: Vec<(&str, &Vec<Line>)> = parts.iter().map(|(name, lines)| (*name, lines)).collect();
    Some(Figure {
        name: "references",
        title: "Reference points and log-hypervolume sensitivities".to_owned(),
        caption: "The nearer a normalized loss is to its reference point, the more the log-hypervolume gains by lowering it."
            .to_owned(),
        picture: stacked(pictures),
        csv: long_csv(history, &all),
    })
}

fn weights(history: &History) -> Option<Figure> {
    if !history.mixes() {
        return None;
    }
    let lines = history.decided(|block| &block.weight);
    Some(Figure {
        name: "weights",
        title: "Weights of the gradients".to_owned(),
        caption: "How much each objective's gradient counted at the encoder, in the last step of each block."
            .to_owned(),
        picture: line_plot(history, &lines, "weight", false).finish(true),
        csv: csv_of(history, &lines),
    })
}

/// How long objectives wait, against what exploration promises.
fn drought(history: &History) -> Option<Figure> {
    let waits = history.waits();
    let total: usize = waits.iter().sum();
    if history.k() < 2 || total == 0 {
        return None;
    }
    let mut left = total;
    let mut tail: Line = Vec::new();
    for (wait, count) in waits.iter().enumerate() {
        tail.push((wait as f64, left as f64 / total as f64));
        left -= count;
    }
    let explore = history.run.config.control.explore;
    let explores = history.blocks.first().is_some_and(|block| !block.prob.is_empty()) && explore > 0.0;
    let bound: Line = tail.iter().map(|(s, _)| (*s, (1.0 - explore / history.k() as f64).powf(*s))).collect();
    let floor = 0.5 / total as f64;
    let mut plot = Plot::new(
        WIDTH,
        200.0,
        Axis::over("blocks without a turn, at least", tail.iter().map(|p| p.0)),
        Axis::over("share of the waits", [floor, 1.0]).log(),
    );
    plot.line(0, "waits of this run", &tail);
    if explores {
        plot.line(7, "bound by exploration", &bound);
    }
    let mut csv = "wait,share_at_least,bound\n".to_owned();
    for ((wait, share), (_, bound)) in tail.iter().zip(&bound) {
        let _ = writeln!(csv, "{wait},{share},{}", if explores { bound.to_string() } else { String::new() });
    }
    Some(Figure {
        name: "drought",
        title: "How long objectives wait".to_owned(),
        caption: "The share of waits at least this long; exploration bounds it by a geometric law."
            .to_owned(),
        picture: plot.finish(true),
        csv,
    })
}

fn time(history: &History) -> Option<Figure> {
    let sum = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 1e3;
    let mut parts: Vec<(String, usize, f64)> = Vec::new();
    for (k, name) in history.run.objectives.iter().enumerate() {
        let own = history.blocks.iter().zip(&history.tasks).filter(|(_, task)| **task == Some(k));
        parts.push((format!("steps on {name}"), k, sum(&mut own.map(|(block, _)| block.ms))));
    }
    if history.mixes() {
        parts = vec![("steps".to_owned(), 0, sum(&mut history.blocks.iter().map(|block| block.ms)))];
    }
    parts.push(("warm-up".to_owned(), 6, sum(&mut history.warm_up.iter().map(|line| line.ms))));
    parts.push(("sensing".to_owned(), 7, sum(&mut history.sensings.iter().map(|line| line.ms))));
    parts.retain(|part| part.2 > 0.0);
    let total: f64 = parts.iter().map(|part| part.2).sum();
    if total <= 0.0 {
        return None;
    }
    let mut plot = Plot::new(
        WIDTH,
        50.0 + 22.0 * parts.len() as f64,
        Axis::over("seconds", parts.iter().map(|part| part.2)).with([0.0]),
        Axis::over("", [0.0, parts.len() as f64]),
    )
    .with_left(130.0);
    let mut csv = "part,seconds\n".to_owned();
    for (place, (name, k, seconds)) in parts.iter().enumerate() {
        let row = (parts.len() - place) as f64;
        plot.row_name(row - 0.5, name);
        plot.cell(*k, (0.0, *seconds), (row - 0.85, row - 0.15), 1.0);
        let _ = writeln!(csv, "{name},{seconds}");
    }
    Some(Figure {
        name: "time",
        title: "Where the time went".to_owned(),
        caption: format!("{} seconds in all, writing results and evaluation not among them.", short(total)),
        picture: plot.finish(false),
        csv,
    })
}

fn line_plot(history: &History, lines: &[Line], label: &str, log: bool) -> Plot {
    let y = Axis::over(label, lines.iter().flatten().map(|p| p.1));
    let y = if log { y.log() } else { y };
    let mut plot = Plot::new(WIDTH, HEIGHT, Axis::over("step", lines.iter().flatten().map(|p| p.0)), y);
    for (k, (line, name)) in lines.iter().zip(&history.run.objectives).enumerate() {
        plot.line(k, name, line);
    }
    plot
}

fn small_plot(history: &History, lines: &[Line], label: &str) -> Picture {
    let mut plot = Plot::new(
        WIDTH,
        150.0,
        Axis::over("step", lines.iter().flatten().map(|p| p.0)),
        Axis::over(label, lines.iter().flatten().map(|p| p.1)),
    );
    for (k, (line, name)) in lines.iter().zip(&history.run.objectives).enumerate() {
        plot.line(k, name, line);
    }
    plot.finish(true)
}

/// One column a line, where all lines have the same places; else one row a point.
fn csv_of(history: &History, lines: &[Line]) -> String {
    long_csv(history, &[("value", &lines.to_vec())])
}

/// One row a point: figure, objective, step, value.
fn long_csv(history: &History, parts: &[(&str, &Vec<Line>)]) -> String {
    let mut csv = "figure,objective,step,value\n".to_owned();
    for (figure, lines) in parts {
        for (line, name) in lines.iter().zip(&history.run.objectives) {
            for (step, value) in line {
                let value = if value.is_finite() { value.to_string() } else { String::new() };
                let _ = writeln!(csv, "{figure},{name},{step},{value}");
            }
        }
    }
    csv
}

/// The colors by which the page draws the legend of blocks.
pub(super) fn colors(k: usize) -> Vec<&'static str> {
    (0..k).map(chart::color).collect()
}
