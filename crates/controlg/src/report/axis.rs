//! Axes of a plot: range, scale and ticks.

/// One axis of a plot.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) min: f64,
    pub(super) max: f64,
    scale: AxisScale,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum AxisScale {
    Linear,
    Log,
    /// log(1 + x / unit): starts at zero, and large values do not crowd out small ones.
    FromZero(f64),
}

impl AxisScale {
    fn of(self, x: f64) -> f64 {
        match self {
            AxisScale::Linear => x,
            AxisScale::Log => x.max(f64::MIN_POSITIVE).log10(),
            AxisScale::FromZero(unit) => (x / unit).ln_1p(),
        }
    }
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
        // Values that differ by rounding only are a flat line.
        if max - min <= 1e-9 * max.abs() {
            let margin = if min == 0.0 { 1.0 } else { 0.1 * min.abs() };
            (min, max) = (min - margin, max + margin);
        }
        Axis { label: label.to_owned(), min, max, scale: AxisScale::Linear }
    }

    /// An axis from zero to the largest value. The smallest positive one is the unit of its scale.
    pub(super) fn from_zero(label: &str, values: impl IntoIterator<Item = f64>) -> Axis {
        let positive: Vec<f64> = values.into_iter().filter(|x| x.is_finite() && *x > 0.0).collect();
        let max = positive.iter().copied().fold(0.0, f64::max);
        let unit = positive.iter().copied().fold(f64::INFINITY, f64::min);
        if positive.is_empty() {
            return Axis::over(label, [0.0, 1.0]);
        }
        Axis { label: label.to_owned(), min: 0.0, max: 1.1 * max, scale: AxisScale::FromZero(unit) }
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
        self.scale = if self.min > 0.0 { AxisScale::Log } else { self.scale };
        self
    }

    /// Adds a margin at both ends.
    pub(super) fn with_margin(mut self) -> Axis {
        const MARGIN: f64 = 0.06;
        if self.scale == AxisScale::Log {
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
        let of = |x: f64| self.scale.of(x);
        (of(value) - of(self.min)) / (of(self.max) - of(self.min))
    }

    /// Round tick values within the range, with labels that tell them apart.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            AxisScale::Linear => self.even_ticks(),
            AxisScale::Log => match decades(self.min, self.max) {
                few if few.len() < 3 => self.even_ticks(),
                ticks => ticks,
            },
            // Ticks that are nearly at zero would overlap its label.
            AxisScale::FromZero(unit) => match decades(unit, self.max) {
                few if few.len() < 2 => self.even_ticks(),
                ticks => {
                    [0.0].into_iter().chain(ticks.into_iter().filter(|x| self.position(*x) > 0.12)).collect()
                }
            },
        };
        let labels = tick_labels(&values);
        values.into_iter().zip(labels).collect()
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn even_ticks(&self) -> Vec<f64> {
        let rough = (self.max - self.min) / 6.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * unit).into_iter().find(|s| *s >= rough).unwrap_or(unit);
        let first = (self.min / step).ceil() as i64;
        (first..=(self.max / step).floor() as i64).map(|n| n as f64 * step).collect()
    }
}

/// Powers of ten in a range; with 2 and 5 times them if there are few.
fn decades(min: f64, max: f64) -> Vec<f64> {
    let (low, high) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    let each: &[f64] = if high - low <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = ((high - low) / 5).max(1);
    let powers = (low..=high).step_by(every as usize);
    let ticks = powers.flat_map(|power| each.iter().map(move |m| m * 10f64.powi(power)));
    ticks.filter(|tick| (min..=max).contains(tick)).collect()
}

/// Labels of ticks: as few digits as show the values, so that no two are the same.
fn tick_labels(ticks: &[f64]) -> Vec<String> {
    let gap = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let label = |tick: f64, digits: usize| match tick.abs() {
        0.0 => "0".to_owned(),
        1e-4..1e6 => format!("{tick:.digits$}"),
        _ => format!("{tick:.digits$e}"),
    };
    let exact = |tick: f64, digits: usize| {
        let read: f64 = label(tick, digits).parse().unwrap_or(f64::NAN);
        (read - tick).abs() <= 1e-3 * gap.min(tick.abs())
    };
    let enough = |tick: f64| (0..12).find(|digits| exact(tick, *digits)).unwrap_or(12);
    ticks.iter().map(|tick| label(*tick, enough(*tick)).replace('-', "−")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_in_range() {
        assert_eq!(labels(&Axis::over("", [0.13, 0.87])), ["0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels(&Axis::over("", [0.02, 300.0]).log()), ["0.1", "1", "10", "100"]);
        assert_eq!(labels(&Axis::over("", [0.06, 1.0]).log()), ["0.1", "0.2", "0.5", "1"]);
        assert_eq!(labels(&Axis::over("", [-2.0, 1.0])), ["−2", "−1.5", "−1", "−0.5", "0", "0.5", "1"]);
        assert_eq!(labels(&Axis::over("", [1.1, 1.1 - 4e-16])), ["1", "1.05", "1.1", "1.15", "1.2"]);
        let flat = Axis::over("", [3.0, 3.0]);
        assert!(flat.ticks().iter().all(|(x, _)| x.is_finite()) && (flat.position(3.0) - 0.5).abs() < 1e-9);
        assert!(Axis::over("", [f64::NAN]).position(0.5).is_finite());
    }

    #[test]
    fn labels_have_enough_digits_to_differ() {
        let narrow =
            [(0.99981, 0.99994), (100.1, 100.9), (250_000.0, 250_004.0), (3.1e7, 3.2e7), (1e-9, 3e-9)];
        for (low, high) in narrow {
            let found = labels(&Axis::over("", [low, high]));
            let distinct: std::collections::BTreeSet<&String> = found.iter().collect();
            assert!(found.len() > 1 && distinct.len() == found.len(), "{low} to {high}: {found:?}");
        }
        assert_eq!(labels(&Axis::over("", [100.1, 100.9])), ["100.2", "100.4", "100.6", "100.8"]);
    }

    #[test]
    fn an_axis_from_zero_keeps_zero_and_outliers_on_the_page() {
        let axis = Axis::from_zero("", [0.0, 0.0, 2.0, 3.0, 90.0]);
        assert_eq!(labels(&axis)[0], "0");
        assert!(axis.position(0.0).abs() < 1e-12 && axis.position(90.0) < 1.0);
        assert!(axis.position(2.0) > 0.12 && axis.position(3.0) < 0.5);
        assert!(Axis::from_zero("", [0.0]).position(0.0).abs() < 1e-12);
        // Times of the same order have more than one tick too.
        assert_eq!(labels(&Axis::from_zero("", [0.0, 4.1, 4.7])), ["0", "1", "2", "3", "4", "5"]);
    }
}
