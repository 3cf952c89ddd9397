//! The readout: embeddings from representations, after training (`[embed]` in the run file).
//!
//! A concatenated representation consists of channels: a projection of the features, and the outputs of all layers. Which of
//! them tells nodes apart differs between graphs: on some, neighbors blur what the features say; on others, the features of a
//! node alone are noise. With `channels = "weighted"` each channel gets unit scale and is then multiplied by its
//! Calinski–Harabasz index relative to the best channel: how clearly k-means separates its nodes. No labels are involved.

use std::path::Path;

use crate::Real;
use crate::config::{ChannelWeights, EmbedSettings};
use crate::error::Result;
use crate::eval::kmeans::{self, KMeansSettings};
use crate::graph::{Adjacency, Dense, Features, Smoothing};
use crate::rng::Stream;
use crate::rowfile::{RowSink, SpilledMatrix};

/// How representations become embeddings.
#[derive(Clone, Debug)]
pub(in crate::train) struct EmbeddingReadout<'g> {
    /// The edges to smooth over.
    pub(in crate::train) adjacency: &'g Adjacency,
    /// The widths of the channels.
    pub(in crate::train) channels: Vec<usize>,
    /// The settings.
    pub(in crate::train) settings: EmbedSettings,
    /// The factors of the channels if they are known from training; else they are computed.
    pub(in crate::train) factors: Option<Vec<f64>>,
}

impl<'g> EmbeddingReadout<'g> {
    /// The embeddings from representations in memory, and the factors of the channels.
    pub(in crate::train) fn apply(&self, mut z: Vec<Real>) -> Result<(Vec<Real>, Vec<f64>)> {
        let width = self.width();
        let sample = |nodes: &[u32]| {
            let rows = nodes.iter().map(|&node| &z[node as usize * width..(node as usize + 1) * width]);
            Ok(rows.flatten().copied().collect())
        };
        let factors = self.resolve_factors(&sample)?;
        self.scale(&factors, &mut z);
        self.smoothing().smooth(&mut z);
        Ok((z, factors))
    }

    /// [`EmbeddingReadout::apply`] for representations that `make` produces some rows at a time. What does not fit in memory is
    /// spilled to `folder`.
    pub(in crate::train) fn apply_in_blocks<T>(
        &self,
        folder: &Path,
        rows: &mut RowSink<'_>,
        make: impl FnOnce(&mut dyn FnMut(&[Real]) -> Result<()>) -> Result<T>,
    ) -> Result<(T, Vec<f64>)> {
        if self.is_weighted() && self.factors.is_none() {
            // All rows are needed for the factors before the first one can be scaled.
            let mut z = SpilledMatrix::new(folder, "representation", self.width())?;
            let made = make(&mut |block| z.append(block))?;
            let z = z.end()?;
            let factors = self.resolve_factors(&|nodes| z.read(nodes))?;
            self.smoothing().in_blocks(folder, rows, |rows| {
                for start in (0..self.adjacency.n_rows()).step_by(BLOCK_ROWS) {
                    let end = self.adjacency.n_rows().min(start + BLOCK_ROWS);
                    let mut block = z.read(&(start as u32..end as u32).collect::<Vec<_>>())?;
                    self.scale(&factors, &mut block);
                    rows(&block)?;
                }
                Ok(())
            })?;
            return Ok((made, factors));
        }
        let factors = self.factors.clone().unwrap_or_default();
        let made = self.smoothing().in_blocks(folder, rows, |rows| {
            make(&mut |block| {
                if factors.is_empty() {
                    return rows(block);
                }
                let mut block = block.to_vec();
                self.scale(&factors, &mut block);
                rows(&block)
            })
        })?;
        Ok((made, factors))
    }

    /// Bytes that [`EmbeddingReadout::apply`] needs besides the representations.
    pub(in crate::train) fn bytes_in_memory(&self) -> usize {
        self.smoothing().bytes_in_memory().max(self.sample_bytes())
    }

    /// Bytes that [`EmbeddingReadout::apply_in_blocks`] needs.
    pub(in crate::train) fn bytes_in_blocks(&self) -> usize {
        let block = if self.is_weighted() { BLOCK_ROWS * self.width() * size_of::<Real>() } else { 0 };
        (self.smoothing().bytes_in_blocks() + block).max(self.sample_bytes())
    }

    /// The rows for k-means: all channels, and one of them with its working memory.
    fn sample_bytes(&self) -> usize {
        let widest = self.channels.iter().max().copied().unwrap_or(0);
        let rows = SAMPLE.min(self.adjacency.n_rows());
        if self.is_weighted() { rows * (self.width() + 3 * widest) * size_of::<Real>() } else { 0 }
    }

    fn is_weighted(&self) -> bool {
        self.settings.channels == ChannelWeights::Weighted && self.channels.len() > 1
    }

    fn smoothing(&self) -> Smoothing<'g> {
        Smoothing { adjacency: self.adjacency, steps: self.settings.smooth, width: self.width() }
    }

    fn width(&self) -> usize {
        self.channels.iter().sum()
    }

    /// The factors of the channels; empty if they are left as they are.
    fn resolve_factors(&self, rows: &dyn Fn(&[u32]) -> Result<Vec<Real>>) -> Result<Vec<f64>> {
        if let Some(factors) = &self.factors {
            return Ok(factors.clone());
        }
        if !self.is_weighted() {
            return Ok(Vec::new());
        }
        let n = self.adjacency.n_rows();
        let mut nodes = Stream::new(0, "readout", "sample", 0).sample(n, SAMPLE.min(n));
        nodes.sort_unstable();
        channel_factors(&rows(&nodes)?, &self.channels)
    }

    fn scale(&self, factors: &[f64], z: &mut [Real]) {
        if factors.is_empty() {
            return;
        }
        for row in z.chunks_exact_mut(self.width()) {
            let mut rest = row;
            for (&width, &factor) in self.channels.iter().zip(factors) {
                let (channel, after) = rest.split_at_mut(width);
                channel.iter_mut().for_each(|x| *x *= factor as Real);
                rest = after;
            }
        }
    }
}

/// Nodes from which the factors are computed.
const SAMPLE: usize = 4096;
/// Rows that are scaled at a time.
const BLOCK_ROWS: usize = 4096;
/// Clusters of the index.
const CLUSTERS: usize = 10;

/// For each channel its index relative to the best, divided by the root mean square of its row norms. Constant channels get
/// zero.
fn channel_factors(rows: &[Real], channels: &[usize]) -> Result<Vec<f64>> {
    let width: usize = channels.iter().sum();
    let n = rows.len() / width.max(1);
    let (mut indices, mut norms) = (Vec::new(), Vec::new());
    let mut start = 0;
    for &channel in channels {
        let part: Vec<Real> =
            rows.chunks_exact(width).flat_map(|row| &row[start..start + channel]).copied().collect();
        norms.push((part.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n.max(1) as f64).sqrt());
        indices.push(calinski_harabasz(part, channel)?);
        start += channel;
    }
    let best = indices.iter().copied().fold(0.0, f64::max);
    let factor = |(index, norm): (f64, f64)| match norm > 0.0 {
        // Too few nodes to tell the channels apart.
        true if best <= 0.0 => 1.0 / norm,
        true => index / best / norm,
        false => 0.0,
    };
    Ok(indices.into_iter().zip(norms).map(factor).collect())
}

/// The ratio of the variance between clusters to that within them (Caliński and Harabasz, 1974), for k-means clusters of the
/// rows at unit length. 0 if there are too few rows or if they do not differ.
fn calinski_harabasz(mut rows: Vec<Real>, cols: usize) -> Result<f64> {
    let n = rows.len() / cols.max(1);
    let k = CLUSTERS.min(n / 10).max(2);
    if n < 2 * k {
        return Ok(0.0);
    }
    for row in rows.chunks_exact_mut(cols) {
        let norm = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt().max(1e-8);
        row.iter_mut().for_each(|x| *x = (f64::from(*x) / norm) as Real);
    }
    let mut mean = vec![0.0; cols];
    for row in rows.chunks_exact(cols) {
        mean.iter_mut().zip(row).for_each(|(mean, &x)| *mean += f64::from(x) / n as f64);
    }
    let squared = |row: &[Real]| row.iter().zip(&mean).map(|(&x, m)| (f64::from(x) - m).powi(2)).sum::<f64>();
    let total: f64 = rows.chunks_exact(cols).map(squared).sum();
    if total <= 1e-9 * n as f64 {
        return Ok(0.0);
    }
    let points = Features::Dense(Dense::from_parts(n, cols, rows));
    let settings = KMeansSettings { n_init: 3, ..KMeansSettings::default() };
    let within = kmeans::cluster(&points, k, 0, &settings)?.inertia.max(1e-12 * total);
    Ok((total - within).max(0.0) / (k - 1) as f64 / (within / (n - k) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;

    /// Two channels of 400 nodes: noise, and four well separated groups.
    fn example() -> (Adjacency, Vec<Real>) {
        let mut stream = Stream::new(3, "test", "readout", 0);
        let row = |node: usize, stream: &mut Stream| -> Vec<Real> {
            let noise = (0..6).map(|_| 5.0 * stream.normal() as Real).collect::<Vec<_>>();
            let group = (0..4).map(|column| if node % 4 == column { 1.0 } else { 0.0 });
            let group = group.map(|x: Real| x + 0.1 * stream.normal() as Real).collect::<Vec<_>>();
            [noise, group].concat()
        };
        let z = (0..400).flat_map(|node| row(node, &mut stream)).collect();
        let pairs = (0..400).map(|u| (u, (u + 1) % 400)).collect();
        (EdgeList { pairs, weights: None }.into_adjacency(400).unwrap().0, z)
    }

    fn readout(adjacency: &Adjacency, channels: ChannelWeights, smooth: usize) -> EmbeddingReadout<'_> {
        let settings = EmbedSettings { smooth, channels };
        EmbeddingReadout { adjacency, channels: vec![6, 4], settings, factors: None }
    }

    #[test]
    fn noise_gets_a_small_weight() {
        let (adjacency, z) = example();
        let (weighted, factors) = readout(&adjacency, ChannelWeights::Weighted, 0).apply(z.clone()).unwrap();
        let norm = |columns: std::ops::Range<usize>| {
            let row = |row: &[Real]| row[columns.clone()].iter().map(|x| x * x).sum::<Real>();
            (weighted.chunks_exact(10).map(row).sum::<Real>() / 400.0).sqrt()
        };
        assert!((norm(6..10) - 1.0).abs() < 1e-3, "the best channel has unit scale: {}", norm(6..10));
        assert!(norm(0..6) < 0.1, "{}", norm(0..6));
        assert_eq!(factors.len(), 2);
        let (same, none) = readout(&adjacency, ChannelWeights::Equal, 0).apply(z.clone()).unwrap();
        assert!(same == z && none.is_empty());
    }

    #[test]
    fn blocks_and_given_factors_give_the_bytes_of_the_whole() {
        let (adjacency, z) = example();
        let folder = tempfile::tempdir().unwrap();
        for (channels, smooth) in
            [(ChannelWeights::Weighted, 0), (ChannelWeights::Weighted, 2), (ChannelWeights::Equal, 1)]
        {
            let mut readout = readout(&adjacency, channels, smooth);
            let (whole, factors) = readout.apply(z.clone()).unwrap();
            for given in [None, Some(factors.clone())] {
                readout.factors = given;
                let mut all = Vec::new();
                let mut sink = |rows: &[Real]| {
                    all.extend_from_slice(rows);
                    Ok(())
                };
                let make = |rows: &mut dyn FnMut(&[Real]) -> Result<()>| z.chunks(70).try_for_each(rows);
                let ((), found) = readout.apply_in_blocks(folder.path(), &mut sink, make).unwrap();
                assert_eq!(found, factors);
                assert!(all == whole, "{channels:?} {smooth}");
            }
        }
    }

    #[test]
    fn the_index_equals_its_definition() {
        // Two clusters of unit vectors, 0.1 to either side of the axes; k-means finds them with k = 2 of 20 rows.
        let row = |i: usize| {
            let angle = (i % 2) as f64 * std::f64::consts::FRAC_PI_2 + if i % 4 < 2 { 0.1 } else { -0.1 };
            [angle.cos(), angle.sin()]
        };
        let rows: Vec<[f64; 2]> = (0..20).map(row).collect();
        let mean =
            |of: &[[f64; 2]]| [0, 1].map(|at| of.iter().map(|row| row[at]).sum::<f64>() / of.len() as f64);
        let spread = |of: &[[f64; 2]]| {
            let center = mean(of);
            of.iter().map(|row| (row[0] - center[0]).powi(2) + (row[1] - center[1]).powi(2)).sum::<f64>()
        };
        let (even, odd): (Vec<_>, Vec<_>) =
            (rows.iter().step_by(2).copied().collect(), rows.iter().skip(1).step_by(2).copied().collect());
        let within = spread(&even) + spread(&odd);
        let expected = (spread(&rows) - within) / (within / 18.0);
        // The lengths of the rows do not matter.
        let scaled = rows.iter().enumerate().flat_map(|(i, row)| row.map(|x| ((i + 1) as f64 * x) as Real));
        let index = calinski_harabasz(scaled.collect(), 2).unwrap();
        assert!((index / expected - 1.0).abs() < 1e-3, "{index} for {expected}");
        assert!(calinski_harabasz(vec![1.0; 80], 2).unwrap() <= 0.0, "rows that do not differ");
        assert!(calinski_harabasz(vec![1.0, 2.0, 3.0], 1).unwrap() <= 0.0, "too few rows");
    }
}
