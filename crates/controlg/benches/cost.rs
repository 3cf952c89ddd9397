//! What the loop costs: time per step of `controlg` against `random` in one run, block by block in turns, and where
//! controlg's time goes. `cargo bench --bench cost -- cora coauthor-cs` (data from `CONTROLG_DATA`).

use std::time::Instant;

use controlg::config::{self, Config};
use controlg::data::{self, LoadOptions};
use controlg::train::{Input, Training};

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let names = if names.is_empty() { vec!["cora".to_owned()] } else { names };
    for name in names {
        compare(&name).unwrap_or_else(|error| println!("{name}: {error}"));
    }
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
        "{name}: controlg {:.1} ms a step, random {:.1}, ratio {ratio:.2} (block {}, sensing every 10 blocks)",
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
