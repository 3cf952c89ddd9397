//! Lloyd iterations from one initialization.

use super::{Points, Real, seeding};

/// Assignment of a point before the first iteration.
const NONE: u32 = u32::MAX;

/// State of one initialization.
pub(super) struct LloydRun {
    /// Cluster of each point.
    pub(super) assignments: Vec<u32>,
    /// Sum of squared distances to the nearest center at the last assignment.
    pub(super) inertia: f64,
    /// Number of iterations.
    pub(super) iterations: usize,
    /// Centers, row-major.
    pub(super) centers: Vec<Real>,
    /// Whether it has converged or reached the iteration limit.
    pub(super) done: bool,
    /// The centers no longer move: only a last assignment is left.
    converged: bool,
    distances: Vec<Real>,
    /// Points that changed cluster in this iteration, with their previous cluster.
    moved: Vec<(u32, u32)>,
    sums: Vec<f64>,
    counts: Vec<usize>,
}

impl LloydRun {
    pub(super) fn new(points: &Points<'_>, seeds: &[u32]) -> Self {
        let n = points.squares.len();
        let centers = seeding::rows_of(points.rows, seeds);
        LloydRun {
            assignments: vec![NONE; n],
            inertia: 0.0,
            iterations: 0,
            done: false,
            converged: false,
            distances: vec![0.0; n],
            moved: Vec::new(),
            sums: vec![0.0; centers.len()],
            counts: vec![0; seeds.len()],
            centers,
        }
    }

    /// Records the nearest center and its squared distance for the points from `first` on.
    pub(super) fn record_assignments(&mut self, first: usize, nearest: impl Iterator<Item = (u32, Real)>) {
        if first == 0 {
            self.inertia = 0.0;
            self.moved.clear();
        }
        for (row, (cluster, distance)) in nearest.enumerate() {
            let point = first + row;
            self.inertia += f64::from(distance);
            self.distances[point] = distance;
            if self.assignments[point] != cluster {
                self.moved.push((point as u32, self.assignments[point]));
                self.assignments[point] = cluster;
            }
        }
    }

    /// Finishes if no point moved; otherwise moves the centers to the means.
    pub(super) fn update_centers(&mut self, points: &Points<'_>, max_shift: f64, max_iterations: usize) {
        if self.moved.is_empty() || self.converged {
            self.done = true;
            return;
        }
        for (point, from) in std::mem::take(&mut self.moved) {
            self.move_point(points, point, from, self.assignments[point as usize]);
        }
        self.fill_empty_clusters(points);
        let moved = self.place_centers();
        self.iterations += 1;
        self.converged = moved <= max_shift || self.iterations >= max_iterations;
    }

    /// Moves a point from the sum of one cluster to that of another.
    fn move_point(&mut self, points: &Points<'_>, point: u32, from: u32, to: u32) {
        let d = self.sums.len() / self.counts.len();
        for (cluster, sign) in [(from, -1.0), (to, 1.0)] {
            if cluster == NONE {
                continue;
            }
            let cluster = cluster as usize;
            points.add_row(point, sign, &mut self.sums[cluster * d..(cluster + 1) * d]);
            if sign > 0.0 { self.counts[cluster] += 1 } else { self.counts[cluster] -= 1 }
        }
    }

    /// Moves to each empty cluster the point farthest from its center whose cluster has other points.
    fn fill_empty_clusters(&mut self, points: &Points<'_>) {
        for empty in 0..self.counts.len() {
            if self.counts[empty] > 0 {
                continue;
            }
            let mut farthest: Option<usize> = None;
            for (point, &distance) in self.distances.iter().enumerate() {
                let single = self.counts[self.assignments[point] as usize] < 2;
                if distance > farthest.map_or(0.0, |point| self.distances[point]) && !single {
                    farthest = Some(point);
                }
            }
            // All points coincide with their centers: there are fewer distinct points than clusters.
            let Some(point) = farthest else { return };
            let from = std::mem::replace(&mut self.assignments[point], empty as u32);
            self.distances[point] = 0.0;
            self.move_point(points, point as u32, from, empty as u32);
        }
    }

    /// Moves each center to the mean of its points and returns the squared shift.
    fn place_centers(&mut self) -> f64 {
        let d = self.sums.len() / self.counts.len();
        let mut moved = 0.0;
        for (cluster, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let own = cluster * d..(cluster + 1) * d;
            for (center, sum) in self.centers[own.clone()].iter_mut().zip(&self.sums[own]) {
                let mean = (sum / count as f64) as Real;
                moved += f64::from(mean - *center).powi(2);
                *center = mean;
            }
        }
        moved
    }
}
