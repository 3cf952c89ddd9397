//! Relational graph convolutions: H′ = act(norm(Σ_d P_d·H·W_d + H·R + b)), with a weight W_d per direction d of a relation, the mean
//! P_d over the neighbors in that direction, and a weight R for the node itself (Schlichtkrull et al., 2018).
//!
//! With `bases` = B > 0, W_d = Σ_b a_db·V_b with B matrices V_b that all directions share. If there are several node types, their
//! features are projected into one space first, H = X·W_in: the features of a type have columns, and so rows of W_in, of their
//! own. A graph with one type and one undirected relation is that of GraphSAGE.

use serde::{Deserialize, Serialize};

use super::layer::take_params;
use super::{Encoder, InputDims, LayerSettings, Pass, layer};
use crate::error::Result;
use crate::graph::{OperatorSpec, View};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// The entry in the list of encoders.
pub(super) const ENTRY: Entry<dyn Encoder> = Entry {
    name: "rgcn",
    summary: "relational graph convolutions: a weight per relation and direction, for graphs with node types",
    paper: "Schlichtkrull et al., Modeling Relational Data with Graph Convolutional Networks, ESWC 2018",
    keys: KEYS,
    defaults: || setting::table_of(&RgcnSettings::default()),
    build: |table| Ok(Box::new(Rgcn::new(setting::settings("encoder", KEYS, table)?)?)),
};

/// This encoder has had all settings from its beginning: no run had implied values.
const KEYS: &[Key; 10] = &{
    let bases = Key::new(
        "bases",
        Range::Whole(0, 1 << 10),
        "matrices that the weights of all relations combine; 0: own weights",
    );
    let [layers, width, hidden, norm, activation, last, dropout, feature_dropout, jump] = *layer::KEYS;
    let mut keys = [layers, width, hidden, norm, activation, last, dropout, feature_dropout, jump, bases];
    let mut at = 0;
    while at < keys.len() {
        keys[at].added_later = None;
        at += 1;
    }
    keys
};

/// The settings of a relational graph convolutional network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RgcnSettings {
    /// Those of every encoder.
    #[serde(flatten)]
    pub common: LayerSettings,
    /// Number of matrices that the weights of all directions combine; 0 if each has its own.
    pub bases: usize,
}

/// A stack of relational graph convolutions. Parameters: `input.weight` if there are several types. In each layer: a weight per
/// direction, or the bases and their coefficients (directions × bases), then the weight for the node itself, bias, norm and slope.
#[derive(Clone, Debug, PartialEq)]
pub struct Rgcn {
    settings: LayerSettings,
    bases: usize,
}

impl Rgcn {
    /// A network with these settings.
    pub fn new(settings: RgcnSettings) -> Result<Self> {
        setting::check("encoder", KEYS, &settings)?;
        settings.common.check()?;
        Ok(Rgcn { settings: settings.common, bases: settings.bases })
    }

    /// The weights of all directions from the next parameters.
    fn weights(
        &self,
        tape: &mut Tape<'_>,
        next: &mut impl Iterator<Item = Var>,
        directions: usize,
    ) -> Vec<Var> {
        if self.bases == 0 {
            return next.take(directions).collect();
        }
        let bases: Vec<Var> = next.take(self.bases).collect();
        let [coefficients] = take_params(next);
        (0..directions).map(|direction| tape.combine(coefficients, direction, &bases)).collect()
    }
}

impl Encoder for Rgcn {
    fn width(&self) -> usize {
        self.settings.width
    }

    fn channels(&self) -> Vec<usize> {
        self.settings.channels()
    }

    fn operator(&self) -> OperatorSpec {
        OperatorSpec::RELATIONS
    }

    fn sees_own_node(&self) -> bool {
        true
    }

    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream) {
        self.init_for(InputDims::homogeneous(n_features), params, group, stream);
    }

    fn init_for(&self, dims: InputDims, params: &mut Params, group: usize, stream: &mut Stream) {
        let mut from = dims.n_features;
        if dims.n_types > 1 {
            let to = self.settings.out_width(0);
            params.add(group, "input.weight", (from, to), Init::XavierUniform, stream);
            from = to;
        }
        for layer in 0..self.settings.layers {
            let to = self.settings.out_width(layer);
            let count = if self.bases == 0 { dims.n_directions } else { self.bases };
            for at in 0..count {
                let name = if at == 0 { format!("{layer}.weight") } else { format!("{layer}.weight.{at}") };
                params.add(group, &name, (from, to), Init::XavierUniform, stream);
            }
            if self.bases > 0 {
                // Sums of B matrices then have the variance of one.
                let init = Init::Uniform((3.0 / self.bases as f64).sqrt());
                params.add(
                    group,
                    &format!("{layer}.coefficients"),
                    (dims.n_directions, self.bases),
                    init,
                    stream,
                );
            }
            params.add(group, &format!("{layer}.root_weight"), (from, to), Init::XavierUniform, stream);
            self.settings.init_epilogue(layer, params, group, stream);
            from = to;
        }
        self.settings.init_channel(dims.n_features, params, group, stream);
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, mut pass: Pass<'_>) -> Var {
        let senders = view.of().senders();
        let mut next = tape.group(group).into_iter();
        let input = self.settings.drop_features(view, &mut pass);
        let mut outputs: Vec<Var> = Vec::new();
        let mut projected = None;
        if view.of().n_types() > 1 {
            let [weight] = take_params(&mut next);
            projected = Some(tape.project(&input, weight, pass.token));
        }
        for layer in 0..self.settings.layers {
            let weights = self.weights(tape, &mut next, senders.len());
            let [root] = take_params(&mut next);
            let epilogue = self.settings.epilogue(layer, &mut next);
            let (messages, own) = match outputs.last().copied().or(projected) {
                // One type: every node sends along every direction.
                None => {
                    let products: Vec<Var> =
                        weights.iter().map(|&weight| tape.project(&input, weight, pass.token)).collect();
                    (tape.concat_rows(&products), tape.project(&input, root, pass.token))
                }
                Some(h) => {
                    let dropped = if layer == 0 { h } else { self.settings.drop_inputs(tape, h, &mut pass) };
                    let messages = tape.messages(dropped, senders, &weights);
                    let own = tape.linear(dropped, root, None, Activation::Identity);
                    self.settings.release(tape, h);
                    (messages, own)
                }
            };
            let aggregated = tape.propagate(view.operator(), messages);
            tape.release(messages);
            let sum = tape.add(aggregated, own);
            tape.release(aggregated);
            tape.release(own);
            outputs.push(epilogue.finish(tape, sum, &mut pass.norms));
        }
        self.settings.jump(tape, &mut next, &input, &mut pass, outputs)
    }

    fn layers(&self) -> usize {
        self.settings.layers
    }

    fn has_batch_norm(&self, layer: usize) -> bool {
        self.settings.has_batch_norm(layer)
    }

    fn has_feature_channel(&self) -> bool {
        self.settings.has_feature_channel()
    }

    /// The messages of all directions side by side would be many times as wide as the layer.
    fn embeds_in_blocks(&self) -> bool {
        false
    }
}
