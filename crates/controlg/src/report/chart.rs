//! Plots as SVG. Text and axes inherit the color of the page, so they work in light and dark mode.

use std::fmt::Write;

use super::axis::Axis;
use super::downsample::{min_max, stride};
use super::svg::SvgImage;
use crate::compare::table::html_escape;

/// The colorblind-safe palette of Okabe and Ito.
const PALETTE: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999933", "#888888"];

/// Dash patterns, which distinguish lines without color.
const DASHES: [&str; 8] = ["", "7 3", "2 2", "9 3 2 3", "4 2", "1 3", "12 4", "6 2 2 2"];

/// Font size of all text, in pixels of an image of [`WIDTH`]: about 10 pixels on a phone, 16 on a wide screen.
const FONT: f64 = 14.0;
/// Estimated width of a character.
const CHAR: f64 = 7.8;
/// Width of an image in pixels. A page scales it to its column; a narrow image keeps its text readable on a phone.
pub(super) const WIDTH: f64 = 480.0;
/// Right margin.
const RIGHT: f64 = 14.0;
/// Most characters of the name of a row.
const ROW_CHARS: usize = 20;

/// Dash pattern of reference lines, and of dotted lines.
const REFERENCE_DASH: &str = "3 3";
const DOTTED: &str = "1.5 2.5";

/// Color of the k-th objective.
pub(super) fn color(k: usize) -> &'static str {
    PALETTE[k % PALETTE.len()]
}

/// A plot under construction.
pub(super) struct Plot {
    width: f64,
    height: f64,
    left: f64,
    bottom: f64,
    x: Axis,
    y: Axis,
    marks: String,
    legend: Vec<(String, &'static str, &'static str)>,
}

impl Plot {
    /// An empty plot of a size in pixels.
    pub(super) fn new(width: f64, height: f64, x: Axis, y: Axis) -> Plot {
        let longest = y.ticks().iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let left = (30.0 + CHAR * longest as f64).max(66.0);
        let bottom = if x.label.is_empty() { 26.0 } else { 46.0 };
        Plot { width, height, left, bottom, x, y, marks: String::new(), legend: Vec::new() }
    }

    /// Sets the left margin to fit the names of rows.
    pub(super) fn with_row_names<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Plot {
        let longest = names.into_iter().map(|name| name.chars().count()).max().unwrap_or(0);
        self.left = 14.0 + CHAR * longest.min(ROW_CHARS) as f64;
        self
    }

    /// Sets the left margin of another plot, to align the two.
    pub(super) fn aligned_with(mut self, other: &Plot) -> Plot {
        self.left = other.left;
        self
    }

    /// Left and right edge of the x axis in pixels.
    pub(super) fn x_range(&self) -> (f64, f64) {
        (self.left, self.width - RIGHT)
    }

    pub(super) fn px(&self, x: f64) -> f64 {
        self.left + self.x.position(x) * (self.width - self.left - RIGHT)
    }

    pub(super) fn py(&self, y: f64) -> f64 {
        let top = 8.0;
        top + (1.0 - self.y.position(y)) * (self.height - top - self.bottom)
    }

    /// Adds a line, with a legend entry if it has a name; values that are not finite leave gaps.
    pub(super) fn line(&mut self, k: usize, name: &str, points: &[(f64, f64)]) {
        let path = self.path(&min_max(points));
        let dash = DASHES[k % DASHES.len()];
        let dashes = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            self.marks,
            "<path class=\"mark\" d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{dashes}/>",
            color(k)
        );
        if !name.is_empty() {
            self.legend.push((name.to_owned(), color(k), dash));
        }
    }

    /// Adds a thin line in the color of the text.
    pub(super) fn leader(&mut self, points: &[(f64, f64)]) {
        let path = self.path(points);
        let _ = writeln!(
            self.marks,
            "<path d=\"{path}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".55\"/>"
        );
    }

    /// Adds a thin dotted line of the same color as line `k`, without a legend entry.
    pub(super) fn dotted_line(&mut self, k: usize, points: &[(f64, f64)]) {
        let path = self.path(&min_max(points));
        let _ = writeln!(
            self.marks,
            "<path class=\"mark\" d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.3\" \
             stroke-dasharray=\"{DOTTED}\"/>",
            color(k)
        );
    }

    /// Explains dotted lines in the legend.
    pub(super) fn dotted_legend_entry(&mut self, name: &str) {
        self.legend.push((name.to_owned(), "currentColor", DOTTED));
    }

    /// Adds a horizontal reference line with a legend entry.
    pub(super) fn reference_line(&mut self, y: f64, name: &str) {
        let (y, x0, x1) = (self.py(y), self.px(self.x.min), self.px(self.x.max));
        let _ = writeln!(
            self.marks,
            "<path d=\"M{x0:.1} {y:.1}H{x1:.1}\" stroke=\"currentColor\" stroke-opacity=\".55\" \
             stroke-dasharray=\"{REFERENCE_DASH}\"/>"
        );
        self.legend.push((name.to_owned(), "currentColor", REFERENCE_DASH));
    }

    /// Fills the area between two lines with the same x values.
    pub(super) fn area(
        &mut self,
        k: usize,
        name: &str,
        low: &[(f64, f64)],
        high: &[(f64, f64)],
        opacity: f64,
    ) {
        let (low, high) = (stride(low), stride(high));
        let mut path = self.path(&high);
        for &(x, y) in low.iter().rev() {
            let _ = write!(path, "L{:.1} {:.1}", self.px(x), self.py(y));
        }
        let _ = writeln!(
            self.marks,
            "<path class=\"mark\" d=\"{path}Z\" fill=\"{}\" fill-opacity=\"{opacity}\"/>",
            color(k)
        );
        if !name.is_empty() {
            self.legend.push((name.to_owned(), color(k), ""));
        }
    }

    /// Adds a filled rectangle.
    pub(super) fn rect(&mut self, k: usize, (x0, x1): (f64, f64), (y0, y1): (f64, f64), opacity: f64) {
        let (left, right, top, bottom) = (self.px(x0), self.px(x1), self.py(y1), self.py(y0));
        let _ = writeln!(
            self.marks,
            "<rect class=\"mark\" x=\"{left:.2}\" y=\"{top:.1}\" width=\"{:.2}\" height=\"{:.1}\" fill=\"{}\"{}/>",
            (right - left).max(0.4),
            bottom - top,
            color(k),
            if opacity < 1.0 { format!(" fill-opacity=\"{opacity:.2}\"") } else { String::new() },
        );
    }

    /// Adds a dot with a tooltip.
    pub(super) fn dot(&mut self, k: usize, (x, y): (f64, f64), radius: f64, tooltip: &str) {
        let _ = write!(
            self.marks,
            "<circle class=\"mark\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{}\" fill-opacity=\".85\"",
            self.px(x),
            self.py(y),
            color(k)
        );
        if tooltip.is_empty() {
            self.marks += "/>\n";
        } else {
            let _ = writeln!(self.marks, "><title>{}</title></circle>", html_escape(tooltip));
        }
    }

    /// Adds text at a point.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let _ = writeln!(
            self.marks,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{FONT}\" text-anchor=\"{anchor}\" fill=\"currentColor\">{}</text>",
            self.px(x),
            self.py(y),
            html_escape(&truncated(text))
        );
    }

    /// Adds labels next to dots, at the first side where they overlap no dot and no other label.
    pub(super) fn dot_labels(&mut self, dots: &[((f64, f64), &str)]) {
        const HEIGHT: f64 = 16.0;
        let positions: Vec<(f64, f64)> = dots.iter().map(|((x, y), _)| (self.px(*x), self.py(*y))).collect();
        let mut taken: Vec<[f64; 4]> =
            positions.iter().map(|(x, y)| [x - 5.0, y - 5.0, x + 5.0, y + 5.0]).collect();
        for (&(x, y), (_, name)) in positions.iter().zip(dots) {
            let name = truncated(name);
            let width = CHAR * name.chars().count() as f64;
            let (right, left, middle) = (x + 8.0, x - 8.0 - width, x - width / 2.0);
            let sides = [
                (right, y - 8.0),
                (left, y - 8.0),
                (middle, y - 6.0 - HEIGHT),
                (middle, y + 6.0),
                (right, y - 20.0),
                (right, y + 6.0),
                (left, y - 20.0),
                (left, y + 6.0),
                (right, y - 32.0),
                (right, y + 18.0),
                (left, y - 32.0),
                (left, y + 18.0),
            ];
            let area = |(left, top): (f64, f64)| [left, top, left + width, top + HEIGHT];
            let free = |side: &(f64, f64)| {
                let [l, t, r, b] = area(*side);
                let inside = l >= self.left && r <= self.width && t >= 0.0 && b <= self.height - self.bottom;
                inside && taken.iter().all(|o| r <= o[0] || o[2] <= l || b <= o[1] || o[3] <= t)
            };
            let side = sides.into_iter().find(free).unwrap_or(sides[0]);
            taken.push(area(side));
            let _ = writeln!(
                self.marks,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{FONT}\" fill=\"currentColor\">{}</text>",
                side.0,
                side.1 + 13.0,
                html_escape(&name)
            );
        }
    }

    /// Adds a row name to the left of the axis.
    pub(super) fn row_name(&mut self, y: f64, name: &str) {
        let _ = writeln!(
            self.marks,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{FONT}\" text-anchor=\"end\" dominant-baseline=\"middle\" \
             fill=\"currentColor\">{}</text>",
            self.left - 7.0,
            self.py(y),
            html_escape(&cut(name, ROW_CHARS))
        );
    }

    /// Adds a legend entry without a mark.
    pub(super) fn legend_entry(&mut self, k: usize, name: &str) {
        self.legend.push((name.to_owned(), color(k), ""));
    }

    /// Finishes the plot without axes.
    pub(super) fn finish_without_axes(self) -> SvgImage {
        let mut svg = self.marks;
        let height = self.height + legend(&mut svg, &self.legend, self.width, self.height);
        SvgImage { width: self.width, height, body: svg }
    }

    /// Finishes the plot with axes and legend; `y_ticks` enables the ticks of the y axis.
    pub(super) fn finish(self, y_ticks: bool) -> SvgImage {
        let mut svg = String::new();
        let (x0, x1, bottom) = (self.px(self.x.min), self.px(self.x.max), self.py(self.y.min));
        let faint = "stroke=\"currentColor\" stroke-opacity=\".18\"";
        for (tick, label) in self.x.ticks() {
            let x = self.px(tick);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {bottom:.1}v4\" stroke=\"currentColor\" stroke-opacity=\".6\"/><text x=\"{x:.1}\" \
                 y=\"{:.1}\" font-size=\"{FONT}\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>",
                bottom + 18.0,
                label
            );
        }
        if y_ticks {
            for (tick, label) in self.y.ticks() {
                let y = self.py(tick);
                let _ = writeln!(
                    svg,
                    "<path d=\"M{x0:.1} {y:.1}H{x1:.1}\" {faint}/><text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{FONT}\" \
                     text-anchor=\"end\" fill=\"currentColor\">{}</text>",
                    x0 - 6.0,
                    y + 5.0,
                    label
                );
            }
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{x0:.1} {bottom:.1}H{x1:.1}\" stroke=\"currentColor\" stroke-opacity=\".6\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{FONT}\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>",
            f64::midpoint(x0, x1),
            bottom + 37.0,
            html_escape(&self.x.label)
        );
        if !self.y.label.is_empty() {
            let middle = f64::midpoint(self.py(self.y.max), bottom);
            let _ = writeln!(
                svg,
                "<text transform=\"translate(14 {middle:.1}) rotate(-90)\" font-size=\"{FONT}\" text-anchor=\"middle\" \
                 fill=\"currentColor\">{}</text>",
                html_escape(&self.y.label)
            );
        }
        svg += &self.marks;
        let height = self.height + legend(&mut svg, &self.legend, self.width, self.height);
        SvgImage { width: self.width, height, body: svg }
    }

    /// SVG path that starts anew after every gap.
    fn path(&self, points: &[(f64, f64)]) -> String {
        let (mut path, mut pen) = (String::new(), 'M');
        for &(x, y) in points {
            if y.is_finite() {
                let _ = write!(path, "{pen}{:.1} {:.1}", self.px(x), self.py(y));
                pen = 'L';
            } else {
                pen = 'M';
            }
        }
        path
    }
}

/// Draws the legend in rows that fit the width; returns its height.
fn legend(svg: &mut String, names: &[(String, &'static str, &'static str)], width: f64, top: f64) -> f64 {
    const LEFT: f64 = 6.0;
    let (mut x, mut y) = (LEFT, top + 10.0);
    for (name, color, dash) in names {
        let name = truncated(name);
        let entry_width = 36.0 + CHAR * name.chars().count() as f64;
        if x > LEFT && x + entry_width > width {
            (x, y) = (LEFT, y + 21.0);
        }
        // As the line in the plot: reference lines are thin and pale.
        let stroke = match *dash {
            REFERENCE_DASH => "stroke-opacity=\".55\"",
            _ => "stroke-width=\"3\"",
        };
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {y:.1}h20\" stroke=\"{color}\" {stroke} stroke-dasharray=\"{dash}\"/><text \
             x=\"{:.1}\" y=\"{:.1}\" font-size=\"{FONT}\" fill=\"currentColor\">{}</text>",
            x + 25.0,
            y + 5.0,
            html_escape(&name)
        );
        x += entry_width;
    }
    if names.is_empty() { 0.0 } else { y - top + 14.0 }
}

/// Truncates long names.
fn truncated(name: &str) -> String {
    cut(name, 40)
}

fn cut(name: &str, max_chars: usize) -> String {
    if name.chars().count() > max_chars {
        name.chars().take(max_chars - 1).chain(['…']).collect()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let mut plot = Plot::new(400.0, 200.0, Axis::over("<x>", [0.0, 1.0]), Axis::over("y", [0.0, 1.0]));
        plot.line(0, "<script>alert(1)</script>", &[(0.0, 0.0), (0.5, f64::NAN), (1.0, 1.0)]);
        plot.text((0.5, 0.5), "middle", &"long ".repeat(2000));
        let svg = plot.finish(true).standalone();
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;"));
        assert_eq!(html_escape("a\u{1b}\0b"), "a\\u{1b}\\u{0}b");
        assert!(svg.len() < 4000 && !svg.contains("NaN"));
    }
}
