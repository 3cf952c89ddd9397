//! Axes of a plot: range, scale and ticks.

/// One axis of a plot.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) min: f64,
    pub(super) max: f64,
    log: bool,
}

impl Axis {
    /// An axis that covers all finite values.
    pub(super) fn over(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(|value| value.is_finite()) {
            (min, max) = (min.min(value), max.max(value));
        }
        if min > max {
            (min, max) = (0.0, 1.0);
        }
        if min >= max {
            let margin = if min == 0.0 { 1.0 } else { 0.1 * min.abs() };
            (min, max) = (min - margin, max + margin);
        }
        Axis { label: label.to_owned(), min, max, log: false }
    }

    /// Extends the range to cover these values.
    pub(super) fn including(mut self, values: impl IntoIterator<Item = f64>) -> Axis {
        for value in values {
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
        }
        self
    }

    /// Switches to a logarithmic scale if the whole range is positive.
    pub(super) fn log(mut self) -> Axis {
        self.log = self.min > 0.0;
        self
    }

    /// Adds a margin at both ends.
    pub(super) fn with_margin(mut self) -> Axis {
        const MARGIN: f64 = 0.06;
        if self.log {
            let factor = (self.max / self.min).powf(MARGIN);
            (self.min, self.max) = (self.min / factor, self.max * factor);
        } else {
            let margin = MARGIN * (self.max - self.min);
            (self.min, self.max) = (self.min - margin, self.max + margin);
        }
        self
    }

    /// Position of a value, 0 at the start of the axis and 1 at its end.
    pub(super) fn position(&self, value: f64) -> f64 {
        let of = |x: f64| if self.log { x.max(f64::MIN_POSITIVE).log10() } else { x };
        (of(value) - of(self.min)) / (of(self.max) - of(self.min))
    }

    /// Round tick values within the range.
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

/// Short label of a tick.
pub(super) fn tick_label(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.0e}")
    } else {
        let text = format!("{value:.3}");
        let digits = if size >= 100.0 { format!("{value:.0}") } else { text };
        if digits.contains('.') {
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            digits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_in_range() {
        let axis = Axis::over("", [0.13, 0.87]);
        assert_eq!(
            axis.ticks().iter().map(|t| tick_label(*t)).collect::<Vec<_>>(),
            ["0.2", "0.4", "0.6", "0.8"]
        );
        let axis = Axis::over("", [0.02, 300.0]).log();
        assert_eq!(
            axis.ticks().iter().map(|t| tick_label(*t)).collect::<Vec<_>>(),
            ["0.1", "1", "10", "100"]
        );
        let flat = Axis::over("", [3.0, 3.0]);
        assert!(flat.ticks().iter().all(|tick| tick.is_finite()) && (flat.position(3.0) - 0.5).abs() < 1e-9);
        assert!(Axis::over("", [f64::NAN]).position(0.5).is_finite());
    }
}
