//! One start of K-means under way.

use super::{Points, Real, seeding};

/// A cluster that no point has been given to yet.
const NONE: u32 = u32::MAX;

/// The state of one start.
pub(super) struct Start {
    /// The cluster of each point.
    pub(super) parts: Vec<u32>,
    /// The sum of squared distances to the centers, as of the last assignment.
    pub(super) inertia: f64,
    /// Iterations so far.
    pub(super) iterations: usize,
    /// The centers, by rows.
    pub(super) centers: Vec<Real>,
    /// Whether it has ended.
    pub(super) done: bool,
    /// The centers have come to rest: one more assignment and it is done.
    resting: bool,
    distances: Vec<Real>,
    /// Points that changed clusters in this round, and from where.
    moved: Vec<(u32, u32)>,
    sums: Vec<f64>,
    counts: Vec<usize>,
}

impl Start {
    pub(super) fn new(points: &Points<'_>, seeds: &[u32]) -> Self {
        let n = points.squares.len();
        let centers = seeding::rows_of(points.rows, seeds);
        Start {
            parts: vec![NONE; n],
            inertia: 0.0,
            iterations: 0,
            done: false,
            resting: false,
            distances: vec![0.0; n],
            moved: Vec::new(),
            sums: vec![0.0; centers.len()],
            counts: vec![0; seeds.len()],
            centers,
        }
    }

    /// Takes the nearest center of the points from `first` on, and its squared distance.
    pub(super) fn take(&mut self, first: usize, nearest: impl Iterator<Item = (u32, Real)>) {
        if first == 0 {
            self.inertia = 0.0;
            self.moved.clear();
        }
        for (row, (part, distance)) in nearest.enumerate() {
            let point = first + row;
            self.inertia += f64::from(distance);
            self.distances[point] = distance;
            if self.parts[point] != part {
                self.moved.push((point as u32, self.parts[point]));
                self.parts[point] = part;
            }
        }
    }

    /// Ends when nothing moved; otherwise moves the centers.
    pub(super) fn finish_round(&mut self, points: &Points<'_>, still: f64, max_iterations: usize) {
        if self.moved.is_empty() || self.resting {
            self.done = true;
            return;
        }
        for (point, from) in std::mem::take(&mut self.moved) {
            self.shift(points, point, from, self.parts[point as usize]);
        }
        self.fill_empty_clusters(points);
        let moved = self.place_centers();
        self.iterations += 1;
        self.resting = moved <= still || self.iterations >= max_iterations;
    }

    /// Takes a point out of one cluster's sum and puts it into another's.
    fn shift(&mut self, points: &Points<'_>, point: u32, from: u32, to: u32) {
        let d = self.sums.len() / self.counts.len();
        for (part, sign) in [(from, -1.0), (to, 1.0)] {
            if part == NONE {
                continue;
            }
            let part = part as usize;
            points.add_row(point, sign, &mut self.sums[part * d..(part + 1) * d]);
            if sign > 0.0 { self.counts[part] += 1 } else { self.counts[part] -= 1 }
        }
    }

    /// Gives each empty cluster the point that is farthest from its center and not alone with it.
    fn fill_empty_clusters(&mut self, points: &Points<'_>) {
        for empty in 0..self.counts.len() {
            if self.counts[empty] > 0 {
                continue;
            }
            let mut farthest: Option<usize> = None;
            for (point, &distance) in self.distances.iter().enumerate() {
                let alone = self.counts[self.parts[point] as usize] < 2;
                if distance > farthest.map_or(0.0, |point| self.distances[point]) && !alone {
                    farthest = Some(point);
                }
            }
            // No point is away from its center: there are fewer places than clusters.
            let Some(point) = farthest else { return };
            let from = std::mem::replace(&mut self.parts[point], empty as u32);
            self.distances[point] = 0.0;
            self.shift(points, point as u32, from, empty as u32);
        }
    }

    /// Moves each center to the mean of its points, and gives the sum of their squared ways.
    fn place_centers(&mut self) -> f64 {
        let d = self.sums.len() / self.counts.len();
        let mut moved = 0.0;
        for (part, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let own = part * d..(part + 1) * d;
            for (center, sum) in self.centers[own.clone()].iter_mut().zip(&self.sums[own]) {
                let mean = (sum / count as f64) as Real;
                moved += f64::from(mean - *center).powi(2);
                *center = mean;
            }
        }
        moved
    }
}
