//! Downsampling of long lines, which keeps pages small.

/// Maximum number of points of a line.
pub(super) const MAX_POINTS: usize = 1200;

/// Reduces a line to about [`MAX_POINTS`] points: the minimum and maximum of each segment.
pub(super) fn min_max(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let length = points.len().div_ceil(MAX_POINTS / 2);
    let mut kept = Vec::new();
    for segment in points.chunks(length) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (least, greatest) = (segment.iter().min_by(by_value), segment.iter().max_by(by_value));
        let mut both: Vec<(f64, f64)> = least.into_iter().chain(greatest).copied().collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        both.dedup();
        kept.extend(both);
    }
    kept
}

/// Keeps every n-th point and the last one, at the same positions for lines of the same length.
pub(super) fn stride(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(MAX_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points
        .iter()
        .enumerate()
        .filter(|(at, _)| at % every == 0 || *at == last)
        .map(|(_, point)| *point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_max_keeps_outliers() {
        let points: Vec<(f64, f64)> =
            (0..100_000).map(|x| (x as f64, if x == 54_321 { 9.0 } else { 0.0 })).collect();
        let reduced = min_max(&points);
        assert!(reduced.len() <= MAX_POINTS + 2 && reduced.contains(&(54_321.0, 9.0)));
        assert!(reduced.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
