//! Graph convolutional network: H′ = act(norm(Â·H·W + b)), layer by layer (Kipf and Welling, 2017).

use super::layer::LayerEpilogue;
use super::{Block, BlockSource, Encoder, LayerSettings, Norms, Pass};
use crate::error::Result;
use crate::graph::View;
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting;
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// The entry in the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "gcn",
    summary: "graph convolutions: neighbors averaged with weights from the degrees",
    paper: "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017",
    keys: LayerSettings::KEYS,
    defaults: || setting::table_of(&LayerSettings::default()),
    build: |table| Ok(Box::new(Gcn::new(setting::settings("encoder", LayerSettings::KEYS, table)?)?)),
};

/// A stack of graph convolutions. Parameters of a layer: weight (in × out), then bias, norm and slope as configured.
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

    /// The weight and the epilogue of a layer.
    fn layer_params(&self, tape: &mut Tape<'_>, group: usize, layer: usize) -> (Var, LayerEpilogue) {
        let mut next = tape.group(group).into_iter();
        let mut part = |layer| {
            let weight = next.next().expect("all parameters are declared");
            (weight, self.settings.epilogue(layer, &mut next))
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

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        let mut from = n_features;
        for layer in 0..self.settings.layers {
            let to = self.settings.out_width(layer);
            params.add(group, &format!("{layer}.weight"), (from, to), Init::XavierUniform, stream);
            self.settings.init_epilogue(layer, params, group, stream);
            from = to;
        }
    }

    fn layers(&self) -> usize {
        self.settings.layers
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.settings.has_batch_norm(layer)
    }

    fn transform<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        let (weight, _) = self.layer_params(tape, group, layer);
        match rows {
            // Â·(X·W), since X is wide and sparse.
            BlockSource::Sparse(x) => Some(tape.propagate(x, weight)),
            // (Â·X)·W in the first layer, as in training; the narrower side in later layers.
            BlockSource::Dense(_) if layer == 0 => None,
            BlockSource::Dense(h) => {
                let (from, to) = tape.shape(weight);
                (to <= from).then(|| tape.linear(h, weight, None, Activation::Identity))
            }
        }
    }

    fn aggregate<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        block: &'a Block,
        rows: Var,
        transformed: bool,
    ) -> Var {
        let (weight, epilogue) = self.layer_params(tape, group, layer);
        let (bias, activation) = epilogue.fused();
        if transformed {
            return tape.propagate_act(block.operator(), rows, bias, activation);
        }
        let h = tape.propagate(block.operator(), rows);
        tape.linear(h, weight, bias, activation)
    }

    fn post<'a>(&self, tape: &mut Tape<'a>, group: usize, layer: usize, h: Var, mut norms: Norms<'_>) -> Var {
        self.layer_params(tape, group, layer).1.apply(tape, h, &mut norms)
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let mut next = tape.group(group).into_iter();
        let mut h = None;
        // Whether h is already Â·H.
        let mut propagated = false;
        for layer in 0..self.settings.layers {
            let weight = next.next().expect("all parameters are declared");
            let epilogue = self.settings.epilogue(layer, &mut next);
            let (bias, activation) = epilogue.fused();
            let product = match h {
                None => {
                    let view = self.settings.drop_features(view, &mut pass);
                    propagated =
                        self.settings.allows_early_propagation() && tape.fuses_propagation(&view, weight);
                    if propagated {
                        tape.convolve_view_then_propagate(&view, weight, pass.token, bias, activation)
                    } else {
                        tape.convolve_view(&view, weight, pass.token, bias, activation)
                    }
                }
                Some(h) if std::mem::take(&mut propagated) => tape.linear(h, weight, bias, activation),
                Some(h) => {
                    let input = self.settings.drop_inputs(tape, h, &mut pass);
                    let product = tape.convolve(view.operator(), input, weight, bias, activation);
                    tape.release(h);
                    product
                }
            };
            h = Some(epilogue.apply(tape, product, &mut pass.norms));
        }
        h.expect("at least one layer")
    }
}
