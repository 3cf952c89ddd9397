//! The scheduler in a training loop of your own, with any framework: it needs only numbers.
//!
//! Here the shared parameters are one vector w, and task k minimizes ½ a_k ‖w − c_k‖².
//!
//! ```sh
//! cargo run --release -p controlg --example training_loop
//! ```

use controlg::coordinator::SchedulerSettings;
use controlg::recorded_scheduler::RecordedScheduler;

struct Task {
    name: &'static str,
    curvature: f64,
    target: [f64; 2],
}

impl Task {
    fn loss(&self, w: &[f64; 2]) -> f64 {
        self.gradient(w).iter().map(|g| g * g).sum::<f64>() / (2.0 * self.curvature)
    }

    fn gradient(&self, w: &[f64; 2]) -> [f64; 2] {
        [0, 1].map(|i| self.curvature * (w[i] - self.target[i]))
    }
}

fn main() -> controlg::Result<()> {
    let tasks = [
        Task { name: "left", curvature: 1.0, target: [-1.0, 0.5] },
        Task { name: "right", curvature: 2.0, target: [1.0, 0.5] },
        Task { name: "up", curvature: 0.5, target: [0.0, 2.0] },
    ];
    let names = tasks.iter().map(|task| task.name.to_owned()).collect();
    // `Some(path)` instead of `None` writes a record for `controlg audit`.
    let mut scheduler = RecordedScheduler::new(names, SchedulerSettings::default(), None)?;

    let mut w = [0.0, 0.0];
    let mut counts = [0; 3];
    scheduler.warm_up(tasks.iter().map(|task| task.loss(&w)).collect())?;
    for _block in 0..200 {
        if scheduler.due() {
            let losses = tasks.iter().map(|task| task.loss(&w)).collect();
            let gradients = tasks.each_ref().map(|task| task.gradient(&w));
            let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
            let products: Vec<Vec<f64>> =
                gradients.iter().map(|&a| gradients.iter().map(|&b| dot(a, b)).collect()).collect();
            // The Rayleigh quotients of the gradients at the representations; there is no graph here.
            scheduler.sense(losses, &products, vec![1.0; 3])?;
        }
        let task = scheduler.next(1)?.objective;
        let gradient = tasks[task].gradient(&w);
        w = [0, 1].map(|i| w[i] - 0.05 * gradient[i]);
        counts[task] += 1;
    }
    for ((task, count), share) in tasks.iter().zip(counts).zip(scheduler.shares()) {
        println!("{}: {count} blocks, planned share {share:.2}, loss {:.3}", task.name, task.loss(&w));
    }
    Ok(())
}
