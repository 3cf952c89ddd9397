//! The overhead of the feedback scheduler: time per step of `controlg` and `random`, with alternating blocks in one process, and
//! how the time of `controlg` is spent. `cargo bench --bench cost -- cora coauthor-cs` (data from `CONTROLG_DATA`).
//!
//! `cargo bench --bench cost -- methods cora pubmed` prints a table of all methods with their presets: time per step, its ratio
//! to `random`, and for gradient mixing methods the ratio to the sum of single-objective steps. It takes about half an hour.

use std::time::Instant;

use controlg::config::{self, Config};
use controlg::coordinator::METHODS;
use controlg::data::{self, LoadOptions};
use controlg::objective::{BASELINES, OBJECTIVES};
use controlg::train::{Input, Training, step_times};

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let names = if names.is_empty() { vec!["cora".to_owned()] } else { names };
    let work = if names[0] == "methods" { table } else { compare };
    for name in names.iter().filter(|name| *name != "methods") {
        work(name).unwrap_or_else(|error| println!("{name}: {error}"));
    }
}

/// Rounds; in each, every method runs once.
const ROUNDS: usize = 4;

fn table(name: &str) -> controlg::Result<()> {
    let graph = data::load(name, &LoadOptions::default())?.graph;
    let alone = OBJECTIVES.iter().chain(BASELINES).map(|entry| entry.name);
    // Ablations are left out: they cost at most as much as the full scheduler.
    let methods = METHODS.iter().filter(|method| !method.is_ablation()).map(|method| method.name);
    let names: Vec<&str> = methods.chain(alone).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for round in 1..=ROUNDS {
        eprintln!("{name}: round {round} of {ROUNDS}");
        for (method, times) in names.iter().zip(&mut times) {
            times.extend(step_times(&graph, name, method, &[])?);
        }
    }
    let of = |method: &str| {
        let at = names.iter().position(|name| *name == method)?;
        let mut sorted = times[at].clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    };
    let random = of("random").unwrap_or(f64::NAN);
    let sum: f64 = OBJECTIVES.iter().filter_map(|entry| of(entry.name)).sum();
    println!("{name}: ms per step, median over {ROUNDS} rounds; the single objectives add up to {sum:.1}");
    println!("  {:<26}{:>9}{:>10}{:>8}", "method", "ms", "/ random", "/ sum");
    for method in &names {
        let Some(ms) = of(method) else { continue };
        let mixes = METHODS.iter().any(|known| known.name == *method && known.mixes());
        let share = if mixes { format!("{:8.2}", ms / sum) } else { String::new() };
        println!("  {method:<26}{ms:9.1}{:10.2}{share}", ms / random);
    }
    Ok(())
}

fn compare(name: &str) -> controlg::Result<()> {
    let graph = data::load(name, &LoadOptions::default())?.graph;
    let settings = |method: &str| {
        let mut table = Config::preset(name);
        for key in [&format!("method={method}"), "sense.period=10", "train.epochs=3"] {
            config::set(&mut table, key)?;
        }
        Config::from_table(table)
    };
    let (ours, theirs) = (settings("controlg")?, settings("random")?);
    let input = Input::new(&graph, &ours)?;
    let mut runs = [(Training::new(&input, &ours)?, 0.0), (Training::new(&input, &theirs)?, 0.0)];
    let mut going = true;
    while going {
        going = false;
        for (training, seconds) in &mut runs {
            let start = Instant::now();
            going |= training.advance()?.is_some();
            *seconds += start.elapsed().as_secs_f64();
        }
    }
    let per_step =
        runs.each_ref().map(|(training, seconds)| 1e3 * seconds / training.progress().steps as f64);
    let ratio = per_step[0] / per_step[1];
    println!(
        "{name}: controlg {:.1} ms per step, random {:.1}, ratio {ratio:.2} (block {}, sensing every 10 blocks)",
        per_step[0], per_step[1], ours.train.block
    );
    let times = runs[0].0.timings();
    let total = times.sensing + times.planning + times.control + times.training;
    for (part, seconds) in [
        ("training", times.training),
        ("sensing", times.sensing),
        ("planning", times.planning),
        ("control", times.control),
    ] {
        println!("  {part:<9} {:>8.3} s  {:>7.4} %", seconds, 100.0 * seconds / total);
    }
    Ok(())
}
