//! Plots and their marks, as SVG. Text and axes take the color of the page, so that they read on light and dark.

use std::fmt::Write;

use super::axis::{Axis, short};
use crate::compare::table::html_escape;

/// Okabe and Ito's colors, which the color-blind can tell apart, in an order that also reads on dark.
pub(super) const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999933", "#888888"];

/// Dashes tell lines apart where colors cannot.
const DASHES: [&str; 8] = ["", "7 3", "2 2", "9 3 2 3", "4 2", "1 3", "12 4", "6 2 2 2"];

/// The dashes of a line to compare with.
const LEVEL: &str = "3 3";

/// The most points of a line; what lies between is shown by its extremes.
pub(super) const MOST_POINTS: usize = 1200;

/// The color of the k-th objective.
pub(super) fn color(k: usize) -> &'static str {
    COLOURS[k % COLOURS.len()]
}

/// A picture in the making.
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
        Plot { width, height, left: 52.0, bottom: 40.0, x, y, marks: String::new(), legend: Vec::new() }
    }

    /// Room for long names on the left.
    pub(super) fn with_left(mut self, left: f64) -> Plot {
        self.left = left;
        self
    }

    pub(super) fn px(&self, x: f64) -> f64 {
        self.left + self.x.place(x) * (self.width - self.left - 10.0)
    }

    pub(super) fn py(&self, y: f64) -> f64 {
        let top = 8.0;
        top + (1.0 - self.y.place(y)) * (self.height - top - self.bottom)
    }

    /// A line through points, named in the legend; gaps where a value is not finite.
    pub(super) fn line(&mut self, k: usize, name: &str, points: &[(f64, f64)]) {
        let path = self.path(&thinned(points));
        let dash = DASHES[k % DASHES.len()];
        let dashes = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            self.marks,
            "<path class=\"mark\" d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{dashes}/>",
            color(k)
        );
        self.legend.push((name.to_owned(), color(k), dash));
    }

    /// A thin line across at a height, to compare with, named in the legend, where nothing lies over it.
    pub(super) fn level(&mut self, y: f64, name: &str) {
        let (y, x0, x1) = (self.py(y), self.px(self.x.min), self.px(self.x.max));
        let _ = writeln!(
            self.marks,
            "<path d=\"M{x0:.1} {y:.1}H{x1:.1}\" stroke=\"currentColor\" stroke-opacity=\".55\" \
             stroke-dasharray=\"{LEVEL}\"/>"
        );
        self.legend.push((name.to_owned(), "currentColor", LEVEL));
    }

    /// The area between two lines over the same places.
    pub(super) fn area(
        &mut self,
        k: usize,
        name: &str,
        low: &[(f64, f64)],
        high: &[(f64, f64)],
        opacity: f64,
    ) {
        let (low, high) = (every_few(low), every_few(high));
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

    /// A filled box between two corners.
    pub(super) fn cell(&mut self, k: usize, (x0, x1): (f64, f64), (y0, y1): (f64, f64), opacity: f64) {
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

    /// A dot, with words that appear when it is pointed at.
    pub(super) fn dot(&mut self, k: usize, (x, y): (f64, f64), radius: f64, words: &str) {
        let _ = write!(
            self.marks,
            "<circle class=\"mark\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{}\" fill-opacity=\".75\"",
            self.px(x),
            self.py(y),
            color(k)
        );
        match words.is_empty() {
            true => self.marks += "/>\n",
            false => {
                let _ = writeln!(self.marks, "><title>{}</title></circle>", html_escape(words));
            }
        }
    }

    /// Words at a place.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: &str, words: &str) {
        let _ = writeln!(
            self.marks,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"{anchor}\" fill=\"currentColor\">{}</text>",
            self.px(x),
            self.py(y),
            html_escape(&clipped(words))
        );
    }

    /// Names beside dots, each at the first side where it covers no dot and no other name.
    pub(super) fn names(&mut self, dots: &[((f64, f64), &str)]) {
        const HEIGHT: f64 = 12.0;
        let places: Vec<(f64, f64)> = dots.iter().map(|((x, y), _)| (self.px(*x), self.py(*y))).collect();
        let mut taken: Vec<[f64; 4]> =
            places.iter().map(|(x, y)| [x - 5.0, y - 5.0, x + 5.0, y + 5.0]).collect();
        for (&(x, y), (_, name)) in places.iter().zip(dots) {
            let name = clipped(name);
            let width = 6.3 * name.chars().count() as f64;
            let (right, left, middle) = (x + 8.0, x - 8.0 - width, x - width / 2.0);
            let sides = [
                (right, y - 6.0),
                (left, y - 6.0),
                (middle, y - 6.0 - HEIGHT),
                (middle, y + 6.0),
                (right, y - 16.0),
                (right, y + 5.0),
                (left, y - 16.0),
                (left, y + 5.0),
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
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"currentColor\">{}</text>",
                side.0,
                side.1 + 10.0,
                html_escape(&name)
            );
        }
    }

    /// Words on the left, beside the axis.
    pub(super) fn row_name(&mut self, y: f64, words: &str) {
        let _ = writeln!(
            self.marks,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"end\" dominant-baseline=\"middle\" \
             fill=\"currentColor\">{}</text>",
            self.left - 6.0,
            self.py(y),
            html_escape(&clipped(words))
        );
    }

    /// A name in the legend beyond what was drawn.
    pub(super) fn named(&mut self, k: usize, name: &str) {
        self.legend.push((name.to_owned(), color(k), ""));
    }

    /// The picture without axes, for a matrix.
    pub(super) fn finish_bare(self) -> Picture {
        let mut svg = self.marks;
        let height =
            self.height + legend(&mut svg, &self.legend, self.left, self.width, self.height - 20.0) - 20.0;
        Picture { width: self.width, height, body: svg }
    }

    /// The picture: axes under the marks, the legend below. `y_ticks` says whether the y axis has ticks.
    pub(super) fn finish(self, y_ticks: bool) -> Picture {
        let mut svg = String::new();
        let (x0, x1, bottom) = (self.px(self.x.min), self.px(self.x.max), self.py(self.y.min));
        let faint = "stroke=\"currentColor\" stroke-opacity=\".18\"";
        for tick in self.x.ticks() {
            let x = self.px(tick);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {bottom:.1}v4\" stroke=\"currentColor\" stroke-opacity=\".6\"/><text x=\"{x:.1}\" \
                 y=\"{:.1}\" font-size=\"10\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>",
                bottom + 15.0,
                short(tick)
            );
        }
        if y_ticks {
            for tick in self.y.ticks() {
                let y = self.py(tick);
                let _ = writeln!(
                    svg,
                    "<path d=\"M{x0:.1} {y:.1}H{x1:.1}\" {faint}/><text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" \
                     text-anchor=\"end\" fill=\"currentColor\">{}</text>",
                    x0 - 5.0,
                    y + 3.5,
                    short(tick)
                );
            }
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{x0:.1} {bottom:.1}H{x1:.1}\" stroke=\"currentColor\" stroke-opacity=\".6\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>",
            f64::midpoint(x0, x1),
            bottom + 31.0,
            html_escape(&self.x.label)
        );
        if !self.y.label.is_empty() {
            let middle = f64::midpoint(self.py(self.y.max), bottom);
            let _ = writeln!(
                svg,
                "<text transform=\"translate(12 {middle:.1}) rotate(-90)\" font-size=\"11\" text-anchor=\"middle\" \
                 fill=\"currentColor\">{}</text>",
                html_escape(&self.y.label)
            );
        }
        svg += &self.marks;
        let height = self.height + legend(&mut svg, &self.legend, self.left, self.width, self.height);
        Picture { width: self.width, height, body: svg }
    }

    /// A path with a new start after every gap.
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

/// Names with their colors and dashes, in rows that fit; gives the height that it took.
fn legend(
    svg: &mut String,
    names: &[(String, &'static str, &'static str)],
    left: f64,
    width: f64,
    top: f64,
) -> f64 {
    let (mut x, mut y) = (left, top + 8.0);
    for (name, color, dash) in names {
        let name = clipped(name);
        let room = 34.0 + 6.4 * name.chars().count() as f64;
        if x > left && x + room > width {
            (x, y) = (left, y + 16.0);
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {y:.1}h20\" stroke=\"{color}\" stroke-width=\"3\" stroke-dasharray=\"{dash}\"/><text \
             x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"currentColor\">{}</text>",
            x + 25.0,
            y + 4.0,
            html_escape(&name)
        );
        x += room;
    }
    if names.is_empty() { 0.0 } else { y - top + 12.0 }
}

/// A name that leaves room for others.
fn clipped(name: &str) -> String {
    const MOST: usize = 40;
    match name.chars().count() > MOST {
        true => name.chars().take(MOST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// A finished picture.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
}

impl Picture {
    /// For the page: as wide as there is room, in the page's color.
    pub(super) fn in_page(&self, title: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {:.0} {:.0}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            self.width,
            self.height,
            html_escape(title),
            self.body
        )
    }

    /// A file of its own, dark on white.
    pub(super) fn alone(&self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0}\" height=\"{1:.0}\" viewBox=\"0 0 {0:.0} {1:.0}\" \
             color=\"#222\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
            self.width, self.height, self.body
        )
    }
}

/// Several pictures side by side, or one under the other.
pub(super) fn stacked(pictures: Vec<Picture>) -> Picture {
    let (mut body, mut y, mut width) = (String::new(), 0.0, 0.0_f64);
    for picture in pictures {
        let _ = writeln!(body, "<g transform=\"translate(0 {y:.1})\">\n{}</g>", picture.body);
        y += picture.height + 6.0;
        width = width.max(picture.width);
    }
    Picture { width, height: y, body }
}

/// The same line with at most about [`MOST_POINTS`] points: of each stretch the least and the greatest value.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MOST_POINTS / 2);
    let mut kept = Vec::new();
    for part in points.chunks(stretch) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (least, greatest) = (part.iter().min_by(by_value), part.iter().max_by(by_value));
        let mut both: Vec<(f64, f64)> = least.into_iter().chain(greatest).copied().collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        both.dedup();
        kept.extend(both);
    }
    kept
}

/// Every few of many points, the same places for every line of an area.
fn every_few(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(MOST_POINTS).max(1);
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
    fn a_long_line_keeps_its_extremes() {
        let points: Vec<(f64, f64)> =
            (0..100_000).map(|x| (x as f64, if x == 54_321 { 9.0 } else { 0.0 })).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= MOST_POINTS + 2 && thin.contains(&(54_321.0, 9.0)));
        assert!(thin.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn names_appear_as_text() {
        let mut plot = Plot::new(400.0, 200.0, Axis::over("<x>", [0.0, 1.0]), Axis::over("y", [0.0, 1.0]));
        plot.line(0, "<script>alert(1)</script>", &[(0.0, 0.0), (0.5, f64::NAN), (1.0, 1.0)]);
        plot.text((0.5, 0.5), "middle", &"long ".repeat(2000));
        let svg = plot.finish(true).alone();
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;"));
        assert!(svg.len() < 4000 && !svg.contains("NaN"));
    }
}
