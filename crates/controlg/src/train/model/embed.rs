//! The embeddings of the training graph and of others, by a model in training.

use std::path::Path;

use super::data::{PreparedGraph, TrainData};
use super::{ENCODER, Model, add_aux};
use crate::Real;
use crate::config::EmbedSettings;
use crate::encoder::{self, Network};
use crate::error::Result;
use crate::graph::{Dense, EncoderInput, Graph};
use crate::kernels::scratch;
use crate::tensor::{ColumnStats, Pool};
use crate::train::readout::{EmbeddingReadout, ReadoutState};

/// What embedding another graph needs to know of the training graph.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedStats {
    /// The statistics of the batch norms.
    pub norms: Vec<ColumnStats>,
    /// The readout.
    pub readout: ReadoutState,
}

impl Model<'_> {
    /// The representations of the full graph, and the statistics of its batch norms. With mini-batch training they are
    /// computed block by block, to the same bytes.
    pub fn embed(&self) -> Result<(Dense, Vec<ColumnStats>)> {
        let (z, stats) = self.embed_as(&EmbedSettings::default())?;
        Ok((z, stats.norms))
    }

    /// The embeddings of the full graph, read out with these settings.
    pub fn embed_as(&self, settings: &EmbedSettings) -> Result<(Dense, EmbedStats)> {
        let TrainData::Full(PreparedGraph { graph, prepared, objectives, .. }) = &self.data else {
            let width = self.width(settings);
            let mut data = Vec::new();
            let stats = self.embed_to(&std::env::temp_dir(), settings, &mut |rows| {
                data.extend_from_slice(rows);
                Ok(())
            })?;
            return Ok((Dense::from_parts(data.len() / width, width, data), stats));
        };
        // Free the training buffers before allocating the result.
        self.free_buffers();
        let norms = encoder::statistics(&*self.encoder, &self.params, ENCODER, prepared, &self.pool);
        let z = encoder::embed_with(&*self.encoder, &self.params, ENCODER, prepared, &norms, &self.pool);
        // Several objectives share only the encoder; an objective trained alone may add its auxiliary network.
        let z = match &objectives[..] {
            [alone] => add_aux(z, &**alone, &*self.encoder, &self.params, self.aux_groups[0], prepared),
            _ => z,
        };
        // Free them again before the result is read out and written.
        self.free_buffers();
        let n = z.n_rows();
        let readout = self.readout(graph, settings);
        let state = readout.fit()?;
        let data = readout.apply(&state, z.into_data())?;
        scratch::release();
        Ok((Dense::from_parts(n, readout.width(), data), EmbedStats { norms, readout: state }))
    }

    /// The embeddings of a graph with the features of the training graph, read out with a given state. Changes nothing. An
    /// objective that is trained alone adds no auxiliary network here.
    pub(in crate::train) fn embed_graph(
        &self,
        graph: &Graph,
        readout: &EmbeddingReadout<'_>,
        state: &ReadoutState,
    ) -> Result<Dense> {
        // The buffers of training make room for those of this pass.
        self.free_buffers();
        let z = {
            let input = EncoderInput::with_spec(graph, self.encoder.operator());
            encoder::embed(&*self.encoder, &self.params, ENCODER, &input, &Pool::new())
        };
        let (n, data) = (z.n_rows(), readout.apply(state, z.into_data())?);
        scratch::release();
        Ok(Dense::from_parts(n, readout.width(), data))
    }

    /// [`Model::embed_as`] that passes on some rows at a time and spills intermediate results to `folder`.
    pub(in crate::train) fn embed_to(
        &self,
        folder: &Path,
        settings: &EmbedSettings,
        rows: &mut dyn FnMut(&[Real]) -> Result<()>,
    ) -> Result<EmbedStats> {
        match &self.data {
            TrainData::Full(_) => {
                let (z, stats) = self.embed_as(settings)?;
                rows(z.data())?;
                Ok(stats)
            }
            TrainData::Batches(loader, _) if !self.encoder.embeds_in_blocks() => {
                self.free_buffers();
                let graph = &loader.graph().resident()?;
                let (z, norms) = {
                    let input = EncoderInput::with_spec(graph, self.encoder.operator());
                    let norms =
                        encoder::statistics(&*self.encoder, &self.params, ENCODER, &input, &Pool::new());
                    let pool = Pool::new();
                    (encoder::embed_with(&*self.encoder, &self.params, ENCODER, &input, &norms, &pool), norms)
                };
                let readout = self.readout(graph, settings);
                let state = readout.fit()?;
                rows(&readout.apply(&state, z.into_data())?)?;
                Ok(EmbedStats { norms, readout: state })
            }
            TrainData::Batches(loader, _) => {
                self.free_buffers();
                let network = Network { encoder: &*self.encoder, params: &self.params, group: ENCODER };
                let readout = self.readout(loader.graph(), settings);
                let state = readout.fit()?;
                let norms = readout.apply_in_blocks(&state, folder, rows, |rows| {
                    encoder::embed_in_blocks_on(self.ranks, network, loader.graph(), None, folder, rows)
                })?;
                Ok(EmbedStats { norms, readout: state })
            }
        }
    }

    /// This rank's share of [`Model::embed_to`] on rank 0.
    pub(in crate::train) fn embed_for_rank_0(&self) -> Result<()> {
        let TrainData::Batches(loader, _) = &self.data else { return Ok(()) };
        self.free_buffers();
        let network = Network { encoder: &*self.encoder, params: &self.params, group: ENCODER };
        let (folder, mut ignore) = (std::env::temp_dir(), |_: &[Real]| Ok(()));
        encoder::embed_in_blocks_on(self.ranks, network, loader.graph(), None, &folder, &mut ignore).map(drop)
    }

    pub(super) fn readout<'a>(&self, graph: &'a Graph, settings: &EmbedSettings) -> EmbeddingReadout<'a> {
        EmbeddingReadout::new(graph, &*self.encoder, settings)
    }

    /// Embedding width with these settings.
    pub fn width(&self, settings: &EmbedSettings) -> usize {
        self.readout(self.graph(), settings).width()
    }

    /// Number of rows of the embeddings.
    pub(in crate::train) fn n_nodes(&self) -> usize {
        self.graph().n_nodes()
    }

    fn graph(&self) -> &Graph {
        match &self.data {
            TrainData::Full(data) => data.graph,
            TrainData::Batches(loader, _) => loader.graph(),
        }
    }
}
