//! Figures as PNG, with letters of our own: the same picture on every machine, fonts installed or not.

use controlg::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels for each pixel of the SVG: a figure as wide as a column of text prints at 300 dots an inch.
const SCALE: f32 = 3.0;

/// Turns SVG into PNG.
pub(crate) struct Painter {
    options: Options<'static>,
}

impl Painter {
    pub(crate) fn new() -> Painter {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
            fonts.load_font_data(font.to_vec());
        }
        fonts.set_sans_serif_family("DejaVu Sans");
        Painter { options }
    }

    /// The picture, three pixels for each one of the figure.
    pub(crate) fn png(&self, svg: &str) -> Result<Vec<u8>> {
        let tree = Tree::from_str(svg, &self.options)
            .map_err(|error| Error::value("figure", error, "SVG that can be painted"))?;
        let size = tree.size().to_int_size();
        let [width, height] = [size.width(), size.height()].map(|side| (side as f32 * SCALE) as u32);
        let mut pixels = Pixmap::new(width, height)
            .ok_or_else(|| Error::value("figure", format_args!("{width} × {height} pixels"), "fewer"))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| Error::value("figure", error, "a picture that can be written"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dark pixels of a drawing.
    fn ink(body: &str) -> usize {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\" color=\"#222\" \
             font-family=\"sans-serif\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{body}</svg>"
        );
        let png = Painter::new().png(&svg).unwrap();
        let pixels = Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (180, 60));
        pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    }

    #[test]
    fn lines_and_letters_leave_ink() {
        assert_eq!(ink(""), 0);
        assert!(ink("<path d=\"M0 10H60\" stroke=\"currentColor\"/>") > 400);
        assert!(ink("<text x=\"2\" y=\"15\" font-size=\"14\" fill=\"currentColor\">λ̂ ± σ</text>") > 100);
    }

    #[test]
    fn what_is_no_picture_is_an_error() {
        assert!(Painter::new().png("<svg").is_err());
    }
}
