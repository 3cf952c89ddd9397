//! The numbers of the audit's summary.

use crate::coordinator::Decision;

/// Running totals over the blocks of a record.
#[derive(Default)]
pub(super) struct Statistics {
    pub(super) plan_total: Vec<f64>,
    pub(super) served: Vec<usize>,
    pub(super) weight_total: Vec<f64>,
    served_in_epoch: Vec<u64>,
    since: Vec<usize>,
    pub(super) longest: usize,
    pub(super) worst_deficit: Option<f64>,
    pub(super) tracking_error: Option<f64>,
}

impl Statistics {
    pub(super) fn new(k: usize) -> Statistics {
        Statistics {
            plan_total: vec![0.0; k],
            served: vec![0; k],
            weight_total: vec![0.0; k],
            served_in_epoch: vec![0; k],
            since: vec![0; k],
            ..Statistics::default()
        }
    }

    /// Adds a block.
    pub(super) fn count(&mut self, decision: &Decision, epoch_ends: bool) {
        self.served[decision.objective] += 1;
        self.served_in_epoch[decision.objective] += 1;
        for (k, since) in self.since.iter_mut().enumerate() {
            *since = if k == decision.objective { 0 } else { *since + 1 };
            self.longest = self.longest.max(*since);
        }
        self.plan_total.iter_mut().zip(&decision.plan).for_each(|(total, share)| *total += share);
        let largest = |values: &mut dyn Iterator<Item = f64>, so_far: Option<f64>| {
            values.fold(so_far, |most, x| Some(most.map_or(x, |most: f64| most.max(x))))
        };
        self.worst_deficit = largest(&mut decision.deficit.iter().copied(), self.worst_deficit);
        if epoch_ends {
            let blocks: u64 = self.served_in_epoch.iter().sum();
            let behind = decision.count_ref.iter().zip(&self.served_in_epoch);
            let mut errors = behind.map(|(planned, &served)| (planned - served as f64).abs() / blocks as f64);
            self.tracking_error = largest(&mut errors, self.tracking_error);
            self.served_in_epoch.fill(0);
        }
    }
}
