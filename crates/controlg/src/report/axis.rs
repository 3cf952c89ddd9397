//! The axes of a plot: what they hold, where a value lies, which ticks they have.

/// One direction of a plot.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) min: f64,
    pub(super) max: f64,
    log: bool,
}

impl Axis {
    /// An axis that holds all finite values.
    pub(super) fn over(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(|value| value.is_finite()) {
            (min, max) = (min.min(value), max.max(value));
        }
        if min > max {
            (min, max) = (0.0, 1.0);
        }
        if min >= max {
            let room = if min == 0.0 { 1.0 } else { 0.1 * min.abs() };
            (min, max) = (min - room, max + room);
        }
        Axis { label: label.to_owned(), min, max, log: false }
    }

    /// The same axis, with these values on it too.
    pub(super) fn with(mut self, values: impl IntoIterator<Item = f64>) -> Axis {
        for value in values {
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
        }
        self
    }

    /// The same axis in powers of ten, where all of it is above zero.
    pub(super) fn log(mut self) -> Axis {
        self.log = self.min > 0.0;
        self
    }

    /// The same axis with room at both ends, so that nothing lies on the border.
    pub(super) fn with_room(mut self) -> Axis {
        const SHARE: f64 = 0.06;
        if self.log {
            let factor = (self.max / self.min).powf(SHARE);
            (self.min, self.max) = (self.min / factor, self.max * factor);
        } else {
            let room = SHARE * (self.max - self.min);
            (self.min, self.max) = (self.min - room, self.max + room);
        }
        self
    }

    /// Where a value lies, 0 at the axis' start and 1 at its end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let of = |x: f64| if self.log { x.max(f64::MIN_POSITIVE).log10() } else { x };
        (of(value) - of(self.min)) / (of(self.max) - of(self.min))
    }

    /// Round values along the axis.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log {
            let (low, high) = (self.min.log10().ceil() as i32, self.max.log10().floor() as i32);
            if high - low >= 1 {
                let every = ((high - low) / 5).max(1);
                return (low..=high).step_by(every as usize).map(|power| 10f64.powi(power)).collect();
            }
        }
        let rough = (self.max - self.min) / 5.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * unit).into_iter().find(|s| *s >= rough).unwrap_or(unit);
        let first = (self.min / step).ceil() as i64;
        (first..=(self.max / step).floor() as i64).map(|n| n as f64 * step).collect()
    }
}

/// A number as short as a tick wants it.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.0e}")
    } else {
        let text = format!("{value:.3}");
        let digits = if size >= 100.0 { format!("{value:.0}") } else { text };
        match digits.contains('.') {
            true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => digits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::over("", [0.13, 0.87]);
        assert_eq!(axis.ticks().iter().map(|t| short(*t)).collect::<Vec<_>>(), ["0.2", "0.4", "0.6", "0.8"]);
        let axis = Axis::over("", [0.02, 300.0]).log();
        assert_eq!(axis.ticks().iter().map(|t| short(*t)).collect::<Vec<_>>(), ["0.1", "1", "10", "100"]);
        let flat = Axis::over("", [3.0, 3.0]);
        assert!(flat.ticks().iter().all(|tick| tick.is_finite()) && (flat.place(3.0) - 0.5).abs() < 1e-9);
        assert!(Axis::over("", [f64::NAN]).place(0.5).is_finite());
    }
}
