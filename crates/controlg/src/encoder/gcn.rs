//! Graph convolutional network: H′ = act(norm(Â·H·W + b)), layer by layer (Kipf and Welling, 2017).

use super::{Common, Encoder, Pass};
use crate::error::Result;
use crate::graph::View;
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting;
use crate::tensor::{Init, Params, Tape, Var};

/// On the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "gcn",
    summary: "graph convolutions: neighbours averaged with weights from the degrees",
    paper: "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017",
    keys: Common::KEYS,
    defaults: || setting::table_of(&Common::default()),
    build: |table| Ok(Box::new(Gcn::new(setting::settings("encoder", Common::KEYS, table)?)?)),
};

/// A stack of graph convolutions. Parameters of a layer: weight (in × out), then bias, norm and slope as settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Gcn {
    settings: Common,
}

impl Gcn {
    /// A network with these settings.
    pub fn new(settings: Common) -> Result<Self> {
        settings.check()?;
        Ok(Gcn { settings })
    }
}

impl Encoder for Gcn {
    fn width(&self) -> usize {
        self.settings.width
    }

    fn kept_per_node(&self) -> usize {
        self.settings.kept_per_node()
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let mut from = n_features;
        for layer in 0..self.settings.layers {
            let to = self.settings.out_width(layer);
            params.add(group, &format!("{layer}.weight"), (from, to), Init::XavierUniform, stream);
            self.settings.init_ending(layer, params, group, stream);
            from = to;
        }
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let mut next = tape.group(group).into_iter();
        let mut h = None;
        for layer in 0..self.settings.layers {
            let weight = next.next().expect("as many parameters as were declared");
            let ending = self.settings.ending(layer, &mut next);
            let (bias, activation) = ending.of_product();
            let product = match h {
                None => tape.convolve_view(view, weight, pass.token, bias, activation),
                Some(h) => {
                    let input = self.settings.dropped(tape, h, &mut pass);
                    let product = tape.convolve(view.operator(), input, weight, bias, activation);
                    tape.release(h);
                    product
                }
            };
            h = Some(ending.apply(tape, product, &mut pass.norms));
        }
        h.expect("at least one layer")
    }
}
