//! An encoder: Z = Â·(Â·X·W + b), a linear GCN with one weight matrix.

use controlg::encoder::{Block, BlockSource, Encoder, Norms, Pass};
use controlg::graph::View;
use controlg::rng::Stream;
use controlg::tensor::{Activation, Init, Params, Tape, Var};

#[derive(Clone)]
pub(crate) struct Linear {
    pub(crate) width: usize,
}

impl Encoder for Linear {
    fn width(&self) -> usize {
        self.width
    }

    fn layers(&self) -> usize {
        2
    }

    fn has_batch_norm(&self, _layer: usize) -> bool {
        false
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        params.add(group, "0.weight", (n_features, self.width), Init::XavierUniform, stream);
        params.add(group, "0.bias", (1, self.width), Init::Constant(0.0), stream);
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, pass: Pass<'_>) -> Var {
        let p = tape.group(group);
        let h = tape.convolve_view(view, p[0], pass.token, Some(p[1]), Activation::Identity);
        tape.propagate(view.operator(), h)
    }

    // The same layers for a block of nodes at a time, to embed graphs that do not fit in memory.

    fn transform<'a>(
        &self,
        tape: &mut Tape<'a>,
        group: usize,
        layer: usize,
        rows: BlockSource<'a>,
    ) -> Option<Var> {
        let p = tape.group(group);
        match rows {
            // Sparse features: Â·(X·W).
            BlockSource::Sparse(x) if layer == 0 => Some(tape.propagate(x, p[0])),
            // Dense features: (Â·X)·W. The second layer has no weights.
            _ => None,
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
        let p = tape.group(group);
        match (layer, transformed) {
            (0, true) => tape.propagate_act(block.operator(), rows, Some(p[1]), Activation::Identity),
            (0, false) => {
                let smoothed = tape.propagate(block.operator(), rows);
                tape.linear(smoothed, p[0], Some(p[1]), Activation::Identity)
            }
            _ => tape.propagate(block.operator(), rows),
        }
    }

    fn post<'a>(&self, _: &mut Tape<'a>, _: usize, _: usize, h: Var, _: Norms<'_>) -> Var {
        h
    }
}
