//! Kills at random moments.

use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Dice, cases, jobs};

#[test]
fn killed_commands_end_right_when_they_are_repeated() {
    let mut dice = Dice(1);
    for job in jobs() {
        let bench = Bench::new(job);
        let home = bench.home();
        let start = Instant::now();
        bench.finish(home.path(), "nothing");
        let whole = start.elapsed().as_micros() as usize;
        let n = cases(3);
        for case in 0..n {
            let home = bench.home();
            // Killed once or twice, then repeated.
            for _ in 0..=case % 2 {
                let mut child = bench.command(home.path()).spawn().unwrap();
                thread::sleep(Duration::from_micros(dice.below(whole) as u64));
                child.kill().unwrap();
                child.wait().unwrap();
                bench.check_products(home.path(), "a kill", false);
            }
            bench.finish(home.path(), "a kill");
        }
        println!("{}: killed in {n} cases", bench.job.name);
    }
}
