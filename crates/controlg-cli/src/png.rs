//! Renders SVG figures as PNG. The fonts are bundled, so the output is the same on every machine.

use controlg::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Scale factor: a figure printed at the width of a text column has about 300 dpi.
const SCALE: f32 = 3.0;

/// SVG renderer with bundled fonts.
pub(crate) struct PngRenderer {
    options: Options<'static>,
}

impl PngRenderer {
    pub(crate) fn new() -> PngRenderer {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
            fonts.load_font_data(font.to_vec());
        }
        fonts.set_sans_serif_family("DejaVu Sans");
        PngRenderer { options }
    }

    /// Renders an SVG document at [`SCALE`] times its size.
    pub(crate) fn render(&self, svg: &str) -> Result<Vec<u8>> {
        let tree =
            Tree::from_str(svg, &self.options).map_err(|error| Error::value("figure", error, "valid SVG"))?;
        let size = tree.size().to_int_size();
        let [width, height] = [size.width(), size.height()].map(|side| (side as f32 * SCALE) as u32);
        let mut pixels = Pixmap::new(width, height).ok_or_else(|| {
            Error::value("figure", format_args!("{width} × {height} pixels"), "a smaller image")
        })?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels
            .encode_png()
            .map_err(|error| Error::value("figure", error, "an image that can be encoded as PNG"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of dark pixels.
    fn dark_pixels(body: &str) -> usize {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\" color=\"#222\" \
             font-family=\"sans-serif\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{body}</svg>"
        );
        let png = PngRenderer::new().render(&svg).unwrap();
        let pixels = Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (180, 60));
        pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    }

    #[test]
    fn lines_and_letters_leave_dark_pixels() {
        assert_eq!(dark_pixels(""), 0);
        assert!(dark_pixels("<path d=\"M0 10H60\" stroke=\"currentColor\"/>") > 300);
        assert!(
            dark_pixels("<text x=\"2\" y=\"15\" font-size=\"14\" fill=\"currentColor\">λ̂ ± σ</text>") > 100
        );
    }

    #[test]
    fn invalid_svg_is_an_error() {
        assert!(PngRenderer::new().render("<svg").is_err());
    }
}
