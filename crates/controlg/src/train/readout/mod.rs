//! The readout: embeddings from representations, after training (`[embed]` in the run file).
//!
//! A representation is one channel, or several side by side: a projection of the features and the outputs of all layers
//! (`encoder.jump = "concat"`). Three more channels can be put beside it that need no training: the features, their mean over
//! the neighbors, and the features smoothed over two hops (`features`, see `feature_channels.rs`). Which of them tells nodes
//! apart differs between graphs: on some, neighbors blur what the features say; on others, the features of a node alone are
//! noise. With `channels = "weighted"` each channel is multiplied by how much of the features' signal its hop keeps
//! ([`HopWeights`]). No labels are involved.
//!
//! On a graph with relations, node types have channels of their own: the features of the node, and means along relations and
//! walks of two steps (`typed_channels.rs`), weighted by how much they have in common (`alignment.rs`).

mod alignment;
mod feature_channels;
mod typed_channels;

use std::path::Path;

use crate::Real;
use crate::config::{BatchMode, ChannelWeights, EmbedSettings, FeatureHops};
use crate::encoder::Encoder;
use crate::error::Result;
use crate::graph::{Graph, HopWeights, Relations, Smoothing};
use crate::kernels::rows::SMALLEST_NORM;
use crate::rowfile::RowSink;
use feature_channels::FeatureChannels;
use typed_channels::TypedChannels;

/// How representations become embeddings.
#[derive(Clone, Debug)]
pub(in crate::train) struct EmbeddingReadout<'g> {
    /// The graph as training saw it.
    graph: &'g Graph,
    /// The widths of the channels of a representation.
    channels: Vec<usize>,
    /// The hop that each of these channels sees.
    hops: Vec<Hop>,
    settings: EmbedSettings,
    /// Whether there are feature channels.
    has_features: bool,
}

/// What embedding another graph needs to know of the readout on the training graph. The default leaves representations as they
/// are, up to smoothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadoutState {
    /// The factors of the channels: those of the representation, then those of the features, type by type if there are several
    /// relations. Empty if there is only the representation, unweighted.
    pub factors: Vec<f64>,
    /// The basis that the features are projected to, features × columns; empty if they are not projected.
    pub basis: Vec<Real>,
}

/// The part of the graph that a channel sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hop {
    Own,
    Mean,
    Once,
    Twice,
}

/// The factor of a weighted representation beside weighted feature channels.
const REPRESENTATION: f64 = 0.7;

impl<'g> EmbeddingReadout<'g> {
    /// The readout for an encoder.
    pub(in crate::train) fn new(graph: &'g Graph, encoder: &dyn Encoder, settings: &EmbedSettings) -> Self {
        let channels = encoder.channels();
        let first = if channels.len() > 1 { 0 } else { encoder.layers() };
        let hop = |hop: usize| match hop {
            0 => Hop::Own,
            1 if encoder.sees_own_node() => Hop::Once,
            1 => Hop::Mean,
            _ => Hop::Twice,
        };
        let hops = (first..first + channels.len()).map(hop).collect();
        // Graphs that are too large for full-graph steps have no feature channels.
        let has_features = settings.features > 0 && graph.n_nodes() <= BatchMode::WHOLE_UP_TO;
        EmbeddingReadout { graph, channels, hops, settings: settings.clone(), has_features }
    }

    /// The readout with the channels of another graph's.
    pub(in crate::train) fn like(mut self, state: &ReadoutState) -> Self {
        self.has_features = state.factors.len() > self.channels.len();
        self
    }

    /// Embedding width.
    pub(in crate::train) fn width(&self) -> usize {
        self.representation_width()
            + match self.relations() {
                Some(relations) => typed_channels::width(relations, self.columns(), self.settings.hops),
                None => self.feature_hops().len() * self.columns(),
            }
    }

    /// Chooses factors and basis on the training graph.
    pub(in crate::train) fn fit(&self) -> Result<ReadoutState> {
        let columns = self.columns();
        let weighted = self.settings.channels == ChannelWeights::Weighted;
        if self.is_identity() {
            return Ok(ReadoutState::default());
        }
        if let Some(relations) = self.relations() {
            return self.fit_typed(relations, weighted);
        }
        let mut factors = vec![1.0; self.channels.len() + self.feature_hops().len()];
        if weighted {
            let weights = HopWeights::of(self.graph)?;
            let of_representation = self.hops.iter().map(|&hop| REPRESENTATION * weights.of_hop(hop));
            let of_features = self.feature_hops().iter().map(|&hop| weights.of_hop(hop));
            factors = of_representation.chain(of_features).collect();
        }
        let basis = match columns {
            0 => Vec::new(),
            columns => {
                let factors = &factors[self.channels.len()..];
                feature_channels::basis(self.graph, columns, self.feature_hops(), factors)
            }
        };
        Ok(ReadoutState { factors, basis })
    }

    /// [`EmbeddingReadout::fit`] on a graph with relations.
    fn fit_typed(&self, relations: &Relations, weighted: bool) -> Result<ReadoutState> {
        let (columns, hops) = (self.columns(), self.settings.hops);
        if columns == 0 {
            return Ok(ReadoutState { factors: vec![1.0; self.channels.len()], basis: Vec::new() });
        }
        let basis = typed_channels::basis(self.graph, relations, columns, hops);
        let (of_representation, of_features) = match weighted {
            false => (1.0, vec![1.0; typed_channels::count(relations, hops)]),
            true => {
                let channels = TypedChannels::of(self.graph, columns, hops, &basis)?;
                (REPRESENTATION, channels.lengths(|node_type| relations.nodes(node_type).len()))
            }
        };
        Ok(ReadoutState {
            factors: [vec![of_representation; self.channels.len()], of_features].concat(),
            basis,
        })
    }

    /// The embeddings from representations in memory.
    pub(in crate::train) fn apply(&self, state: &ReadoutState, mut z: Vec<Real>) -> Result<Vec<Real>> {
        self.smoothing().smooth(&mut z);
        if state.factors.is_empty() {
            return Ok(z);
        }
        let mut writer = self.writer(state)?;
        let mut all = Vec::with_capacity(self.graph.n_nodes() * self.width());
        writer.add(&z, &mut |rows| {
            all.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(all)
    }

    /// [`EmbeddingReadout::apply`] for representations that `make` produces some rows at a time. What does not fit in memory is
    /// spilled to `folder`.
    pub(in crate::train) fn apply_in_blocks<T>(
        &self,
        state: &ReadoutState,
        folder: &Path,
        rows: &mut RowSink<'_>,
        make: impl FnOnce(&mut dyn FnMut(&[Real]) -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        if state.factors.is_empty() {
            return self.smoothing().in_blocks(folder, rows, make);
        }
        let mut writer = self.writer(state)?;
        self.smoothing().in_blocks(folder, &mut |block| writer.add(block, rows), make)
    }

    /// Bytes that [`EmbeddingReadout::fit`] and [`EmbeddingReadout::apply`] need besides the representations.
    pub(in crate::train) fn bytes_in_memory(&self) -> usize {
        let written = match self.is_identity() {
            true => 0,
            false => self.graph.n_nodes() * self.width() * size_of::<Real>(),
        };
        self.smoothing().bytes_in_memory().max(self.channel_bytes()).max(self.held_bytes() + written)
    }

    /// Bytes that [`EmbeddingReadout::apply_in_blocks`] needs while rows are made, and before or after that.
    pub(in crate::train) fn bytes_in_blocks(&self) -> (usize, usize) {
        let held = self.held_bytes();
        let rows = if self.is_identity() { 0 } else { 2 * ROWS * self.width() * size_of::<Real>() };
        (held + rows, self.channel_bytes().max(held + rows + self.smoothing().bytes_in_blocks()))
    }

    /// Bytes for choosing the weights and computing the feature channels.
    fn channel_bytes(&self) -> usize {
        let is_weighted = self.settings.channels == ChannelWeights::Weighted && !self.is_identity();
        if let Some(relations) = self.relations() {
            return typed_channels::bytes(self.graph, relations, self.columns(), self.settings.hops);
        }
        let weights = if is_weighted { HopWeights::bytes(self.graph) } else { 0 };
        weights.max(feature_channels::bytes(self.graph, self.columns()))
    }

    /// Bytes of the feature channels.
    fn held_bytes(&self) -> usize {
        self.graph.n_nodes() * (self.width() - self.representation_width()) * size_of::<Real>()
    }

    /// Whether the readout does nothing but smoothing.
    fn is_identity(&self) -> bool {
        let weighted = self.settings.channels == ChannelWeights::Weighted;
        self.columns() == 0 && !(weighted && self.channels.len() > 1)
    }

    /// The relations, if there are several.
    fn relations(&self) -> Option<&'g Relations> {
        self.graph.several_relations()
    }

    /// The columns of each feature channel, at most; 0 if there are none.
    fn columns(&self) -> usize {
        match self.has_features {
            true => {
                let columns = self.settings.features.min(self.graph.n_features());
                self.relations().map_or(columns, |relations| {
                    typed_channels::shared_columns(relations, columns, self.settings.hops)
                })
            }
            false => 0,
        }
    }

    /// The hops of the feature channels; empty if there are none.
    fn feature_hops(&self) -> &'static [Hop] {
        match self.settings.hops {
            _ if self.columns() == 0 => &[],
            FeatureHops::All => &[Hop::Own, Hop::Mean, Hop::Twice],
            FeatureHops::Own => &[Hop::Own],
            FeatureHops::Mean => &[Hop::Mean],
            FeatureHops::Twice => &[Hop::Twice],
        }
    }

    fn writer<'s>(&'s self, state: &'s ReadoutState) -> Result<ChannelWriter<'s>> {
        let features = match (self.columns(), self.relations()) {
            (0, _) => None,
            (columns, None) => {
                let channels = FeatureChannels::of(self.graph, columns, self.feature_hops(), &state.basis)?;
                Some(Channels::Plain(channels))
            }
            (columns, Some(_)) => {
                let channels = TypedChannels::of(self.graph, columns, self.settings.hops, &state.basis)?;
                Some(Channels::Typed(channels))
            }
        };
        Ok(ChannelWriter { readout: self, factors: &state.factors, features, row: 0 })
    }

    fn smoothing(&self) -> Smoothing<'g> {
        Smoothing {
            adjacency: self.graph.adjacency(),
            steps: self.settings.smooth,
            width: self.representation_width(),
        }
    }

    fn representation_width(&self) -> usize {
        self.channels.iter().sum()
    }
}

impl HopWeights {
    fn of_hop(&self, hop: Hop) -> f64 {
        match hop {
            Hop::Own => self.own,
            Hop::Mean => self.mean,
            Hop::Once => self.once,
            Hop::Twice => self.twice,
        }
    }
}

/// The channels that need no training.
enum Channels {
    Plain(FeatureChannels),
    Typed(TypedChannels),
}

/// Writes rows of embeddings from rows of representations, in the order of the nodes. The rows of each channel get the length
/// of its factor.
struct ChannelWriter<'s> {
    readout: &'s EmbeddingReadout<'s>,
    factors: &'s [f64],
    features: Option<Channels>,
    /// The next row.
    row: usize,
}

impl ChannelWriter<'_> {
    fn add(&mut self, z: &[Real], rows: &mut RowSink<'_>) -> Result<()> {
        let channels = &self.readout.channels;
        let (of_representation, of_features) = self.factors.split_at(channels.len());
        let width = self.readout.width();
        let mut out = Vec::with_capacity(ROWS * width);
        for block in z.chunks(ROWS * self.readout.representation_width()) {
            out.clear();
            for row in block.chunks_exact(self.readout.representation_width()) {
                let mut rest = row;
                for (&width, &factor) in channels.iter().zip(of_representation) {
                    let (channel, after) = rest.split_at(width);
                    push_scaled(channel, factor, &mut out);
                    rest = after;
                }
                match &self.features {
                    None => {}
                    Some(Channels::Plain(channels)) => channels
                        .row(self.row)
                        .zip(of_features)
                        .for_each(|(channel, &factor)| push_scaled(channel, factor, &mut out)),
                    Some(Channels::Typed(channels)) => {
                        for (index, channel) in channels.row(self.row) {
                            push_scaled(channel, of_features.get(index).copied().unwrap_or(1.0), &mut out);
                        }
                        // Types with fewer columns end with zeros.
                        out.resize(out.len().next_multiple_of(width), 0.0);
                    }
                }
                self.row += 1;
            }
            rows(&out)?;
        }
        Ok(())
    }
}

/// Rows that are written at a time.
const ROWS: usize = 1024;

/// Appends a channel of one row with the length `factor`. Rows of zeros stay zero.
fn push_scaled(channel: &[Real], factor: f64, out: &mut Vec<Real>) {
    let norm = channel.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let scale = factor / norm.max(f64::from(SMALLEST_NORM));
    out.extend(channel.iter().map(|&x| (f64::from(x) * scale) as Real));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, LoadOptions};
    use crate::encoder;
    use crate::rng::Stream;

    const NAME: &str = "synthetic:nodes=400,features=30,homophily=0.9";

    fn graph(name: &str) -> Graph {
        data::load(name, &LoadOptions::default()).unwrap().graph
    }

    fn concat() -> Box<dyn Encoder> {
        encoder::build(toml::from_str("width = 12\njump = 'concat'").unwrap()).unwrap()
    }

    fn representations(n: usize) -> Vec<Real> {
        let mut stream = Stream::new(3, "test", "readout", 0);
        (0..n * 12).map(|_| stream.normal() as Real).collect()
    }

    fn settings(channels: ChannelWeights, features: usize, smooth: usize) -> EmbedSettings {
        EmbedSettings { smooth, channels, features, ..EmbedSettings::default() }
    }

    fn norm(row: &[Real]) -> f64 {
        row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn every_channel_has_the_length_of_its_factor() {
        let (graph, encoder) = (graph(NAME), concat());
        let z = representations(400);
        let readout = EmbeddingReadout::new(&graph, &*encoder, &settings(ChannelWeights::Weighted, 8, 0));
        assert_eq!(readout.width(), 12 + 3 * 8);
        let state = readout.fit().unwrap();
        assert_eq!((state.factors.len(), state.basis.len()), (6, 30 * 8));
        // On a homophilous graph, what is smoothed counts most.
        assert!(state.factors[5] > state.factors[3], "{:?}", state.factors);
        let all = readout.apply(&state, z.clone()).unwrap();
        for (row, own) in all.chunks_exact(36).zip(z.chunks_exact(12)) {
            let mut at = 0;
            for (width, factor) in [4, 4, 4, 8, 8, 8].into_iter().zip(&state.factors) {
                assert!((norm(&row[at..at + width]) - factor).abs() < 1e-5);
                at += width;
            }
            let turned = own[4..8].iter().zip(&row[4..8]).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            assert!((turned / norm(&own[4..8]) / norm(&row[4..8]) - 1.0).abs() < 1e-5, "the direction stays");
        }
    }

    #[test]
    fn representations_alone_stay_as_they_are() {
        let (graph, encoder) = (graph(NAME), concat());
        let z = representations(400);
        let readout = EmbeddingReadout::new(&graph, &*encoder, &settings(ChannelWeights::Equal, 0, 0));
        let state = readout.fit().unwrap();
        assert_eq!(state, ReadoutState::default());
        assert_eq!(readout.apply(&state, z.clone()).unwrap(), z);
    }

    #[test]
    fn narrow_features_are_kept_whole() {
        let (graph, encoder) = (graph(NAME), concat());
        let readout = EmbeddingReadout::new(&graph, &*encoder, &settings(ChannelWeights::Equal, 500, 0));
        let state = readout.fit().unwrap();
        assert!(state.basis.is_empty() && readout.width() == 12 + 90);
        let all = readout.apply(&state, representations(400)).unwrap();
        for node in [0, 399] {
            let mut expected = vec![0.0; 30];
            graph.features().row(node).iter().for_each(|&(column, x)| expected[column as usize] = x);
            let length = norm(&expected);
            let found = &all[node * 102 + 12..][..30];
            assert!(
                found
                    .iter()
                    .zip(&expected)
                    .all(|(x, y)| (f64::from(*x) - f64::from(*y) / length).abs() < 1e-5)
            );
        }
    }

    #[test]
    fn blocks_give_the_bytes_of_the_whole() {
        let (graph, encoder) = (graph(NAME), concat());
        let (z, folder) = (representations(400), tempfile::tempdir().unwrap());
        for (channels, features, smooth) in [
            (ChannelWeights::Weighted, 0, 0),
            (ChannelWeights::Weighted, 8, 2),
            (ChannelWeights::Equal, 500, 1),
            (ChannelWeights::Equal, 0, 1),
        ] {
            let readout = EmbeddingReadout::new(&graph, &*encoder, &settings(channels, features, smooth));
            let state = readout.fit().unwrap();
            let whole = readout.apply(&state, z.clone()).unwrap();
            let mut all = Vec::new();
            let mut sink = |rows: &[Real]| {
                all.extend_from_slice(rows);
                Ok(())
            };
            let make = |rows: &mut dyn FnMut(&[Real]) -> Result<()>| z.chunks(84).try_for_each(rows);
            readout.apply_in_blocks(&state, folder.path(), &mut sink, make).unwrap();
            assert!(all == whole, "{channels:?} {features} {smooth}");
        }
    }
}
