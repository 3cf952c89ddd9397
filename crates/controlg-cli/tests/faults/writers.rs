//! Two processes that write to one folder.

use crate::bench::{Bench, cases, check_end, command, jobs, stderr};

#[test]
fn of_two_writers_one_waits_or_is_refused() {
    let n = cases(2);
    for job in jobs().into_iter().filter(|job| matches!(job.name, "pretrain" | "compare")) {
        let bench = Bench::new(job);
        for _ in 0..n {
            let home = bench.home();
            let both: Vec<_> = (0..2).map(|_| bench.command(home.path()).spawn().unwrap()).collect();
            let ends: Vec<_> = both.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
            ends.iter().for_each(|end| check_end(end, "two writers"));
            let words: String = ends.iter().map(stderr).collect();
            assert!(ends.iter().any(|end| end.status.success()), "{words}");
            bench.check_products(home.path(), "two writers", true);
            if bench.job.name == "pretrain" {
                let audit = command(home.path(), &["audit", "run"].map(str::to_owned)).output().unwrap();
                assert!(audit.status.success(), "{}", stderr(&audit));
            }
            bench.finish(home.path(), "two writers");
        }
        println!("{}: {n} pairs of writers", bench.job.name);
    }
}
