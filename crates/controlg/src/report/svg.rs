//! SVG images.

use std::fmt::Write;

use super::own_files::FIGURE_MARK;
use crate::compare::table::html_escape;

/// An SVG drawing without its outer element.
#[derive(Clone, Debug)]
pub(super) struct SvgImage {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
}

impl SvgImage {
    /// Inline SVG that scales to the page and inherits its text color.
    pub(super) fn inline(&self, title: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {:.0} {:.0}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            self.width,
            self.height,
            html_escape(title),
            self.body
        )
    }

    /// A standalone SVG file, dark on white.
    pub(super) fn standalone(&self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0}\" height=\"{1:.0}\" viewBox=\"0 0 {0:.0} {1:.0}\" \
             color=\"#222\" font-family=\"sans-serif\">\n{FIGURE_MARK}\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
            self.width, self.height, self.body
        )
    }
}

/// Stacks images vertically.
pub(super) fn stack(images: Vec<SvgImage>) -> SvgImage {
    let (mut body, mut y, mut width) = (String::new(), 0.0, 0.0_f64);
    for image in images {
        let _ = writeln!(body, "<g transform=\"translate(0 {y:.1})\">\n{}</g>", image.body);
        y += image.height + 6.0;
        width = width.max(image.width);
    }
    SvgImage { width, height: y, body }
}
