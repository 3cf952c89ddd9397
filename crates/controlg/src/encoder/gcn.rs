//! Graph convolutional network: H′ = act(norm(Â·H·W + b)), layer by layer (Kipf and Welling, 2017).

use super::layer::LayerTail;
use super::{Block, BlockSource, Encoder, LayerSettings, Norms, Pass};
use crate::error::Result;
use crate::graph::View;
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting;
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// On the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "gcn",
    summary: "graph convolutions: neighbors averaged with weights from the degrees",
    paper: "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017",
    keys: LayerSettings::KEYS,
    defaults: || setting::table_of(&LayerSettings::default()),
    build: |table| Ok(Box::new(Gcn::new(setting::settings("encoder", LayerSettings::KEYS, table)?)?)),
};

/// A stack of graph convolutions. Parameters of a layer: weight (in × out), then bias, norm and slope as settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Gcn {
    settings: LayerSettings,
}

impl Gcn {
    /// A network with these settings.
    pub fn new(settings: LayerSettings) -> Result<Self> {
        settings.check()?;
        Ok(Gcn { settings })
    }

    /// The weight of a layer, and what follows its product.
    fn parts(&self, tape: &mut Tape<'_>, group: usize, layer: usize) -> (Var, LayerTail) {
        let mut next = tape.group(group).into_iter();
        let mut part = |layer| {
            let weight = next.next().expect("as many parameters as were declared");
            (weight, self.settings.ending(layer, &mut next))
        };
        for before in 0..layer {
            part(before);
        }
        part(layer)
    }
}

impl Encoder for Gcn {
    fn width(&self) -> usize {
        self.settings.width
    }

    fn kept_per_node(&self) -> usize {
        // Â·H is kept for the second layer's weights where it is formed.
        let carried = if self.settings.is_carried_on() { self.settings.out_width(0) } else { 0 };
        self.settings.kept_per_node() + carried
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

    fn layers(&self) -> usize {
        self.settings.layers
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.settings.has_batch_norm(layer)
    }

    fn alone<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        let (weight, _) = self.parts(tape, group, layer);
        match rows {
            // Â·(X·W): X is far wider than it is full.
            BlockSource::Sparse(x) => Some(tape.propagate(x, weight)),
            // (Â·X)·W, as training has it, and the narrower side later on.
            BlockSource::Dense(_) if layer == 0 => None,
            BlockSource::Dense(h) => {
                let (from, to) = tape.shape(weight);
                (to <= from).then(|| tape.linear(h, weight, None, Activation::Identity))
            }
        }
    }

    fn together<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        block: &'a Block,
        rows: Var,
        done: bool,
    ) -> Var {
        let (weight, ending) = self.parts(tape, group, layer);
        let (bias, activation) = ending.of_product();
        if done {
            return tape.propagate_act(block.operator(), rows, bias, activation);
        }
        let carried = tape.propagate(block.operator(), rows);
        tape.linear(carried, weight, bias, activation)
    }

    fn finish<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        h: Var,
        mut norms: Norms<'_>,
    ) -> Var {
        self.parts(tape, group, layer).1.apply(tape, h, &mut norms)
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let mut next = tape.group(group).into_iter();
        let mut h = None;
        // Whether h is Â·H already.
        let mut carried = false;
        for layer in 0..self.settings.layers {
            let weight = next.next().expect("as many parameters as were declared");
            let ending = self.settings.ending(layer, &mut next);
            let (bias, activation) = ending.of_product();
            let product = match h {
                None => {
                    let view = self.settings.thinned(view, &mut pass);
                    carried = self.settings.is_carried_on() && tape.carries_in_strips(&view, weight);
                    if carried {
                        tape.convolve_view_and_carry(&view, weight, pass.token, bias, activation)
                    } else {
                        tape.convolve_view(&view, weight, pass.token, bias, activation)
                    }
                }
                Some(h) if std::mem::take(&mut carried) => tape.linear(h, weight, bias, activation),
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
