//! Representations of a graph that does not fit into memory: layer by layer over the whole graph, some nodes at a time.
//!
//! A layer's rows are put aside in a file and the next layer reads those that it reaches. Every row is computed by the
//! kernels that compute it for the whole graph, from the same numbers in the same order, and the statistics of batch
//! norms are summed in the same chunks: the bytes are those of [`embed`](super::embed).

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Encoder, Norms};
use crate::Real;
use crate::error::Result;
use crate::graph::{Features, GcnRows, Graph, Operand, Operator, OperatorRows};
use crate::rowfile::TempRows;
use crate::tensor::{ColumnStats, Moments, Params, Pool, Tape, Var};

/// A network: its shape, and the group of its parameters.
#[derive(Clone, Copy)]
pub struct Network<'n> {
    /// The shape.
    pub encoder: &'n dyn Encoder,
    /// All parameters.
    pub params: &'n Params,
    /// The group of its own.
    pub group: usize,
}

/// What a layer starts from, one row a node.
pub enum BlockSource<'a> {
    /// Every value.
    Dense(Var),
    /// Sparse features.
    Sparse(Operand<'a, Operator>),
}

/// Some nodes and those that they reach.
pub struct Block {
    rows: OperatorRows,
}

impl Block {
    /// The rows of the operator, on the nodes that are reached.
    pub fn operator(&self) -> &Operator {
        &self.rows.operator
    }

    /// The place of each node among those that are reached.
    pub fn own(&self) -> &[u32] {
        &self.rows.own
    }
}

/// Nodes of a block: what they reach is to fit into memory.
const ROWS: usize = 16_384;
/// Nodes that are too few for a block of their own.
const FEW: usize = 1024;

/// The representations of the whole graph, handed over some rows at a time in the order of the nodes; gives the
/// statistics of the batch norms, which are the graph's own unless they are given. What is put aside lies in `folder`.
pub fn embed_in_blocks(
    network: Network<'_>,
    graph: &Graph,
    stats: Option<&[ColumnStats]>,
    folder: &Path,
    rows: &mut dyn FnMut(&[Real]) -> Result<()>,
) -> Result<Vec<ColumnStats>> {
    BlockWalk { network, graph, stats, folder, pool: Pool::new(), target: ROWS }.embed(rows)
}

struct BlockWalk<'w> {
    network: Network<'w>,
    graph: &'w Graph,
    stats: Option<&'w [ColumnStats]>,
    folder: &'w Path,
    pool: Pool,
    target: usize,
}

/// Who takes the rows of a layer as they come.
type Sink<'s> = dyn FnMut(&[Real]) -> Result<()> + 's;

impl BlockWalk<'_> {
    fn embed(&self, out: &mut Sink<'_>) -> Result<Vec<ColumnStats>> {
        let mut reach = GcnRows::new(self.graph.adjacency());
        let mut stats: Vec<ColumnStats> = Vec::new();
        let mut input: Option<RowMatrix> = None;
        let last = self.network.encoder.layers() - 1;
        for layer in 0..=last {
            let alone = self.alone(layer, input.as_ref())?;
            let done = alone.is_some();
            let from = alone.or(input.take());
            let width = self.network.out_width(layer);
            let mut next = RowMatrix::new(self.folder, "layer", width)?;
            let sink: &mut Sink<'_> = if layer == last { &mut *out } else { &mut |rows| next.append(rows) };
            if !self.network.encoder.has_batch_norm(layer) {
                self.together(layer, from.as_ref(), done, &mut reach, &mut |tape, h| {
                    let h = self.network.finish(tape, layer, h, Norms::Batch);
                    sink(tape.value(h))
                })?;
            } else if let Some(given) = self.stats {
                let at = stats.len();
                stats.push(given[at].clone());
                self.together(layer, from.as_ref(), done, &mut reach, &mut |tape, h| {
                    let h = self.network.finish(tape, layer, h, Norms::Given(&given[at..=at]));
                    sink(tape.value(h))
                })?;
            } else {
                let mut moments = Moments::new(width);
                let mut raw = RowMatrix::new(self.folder, "product", width)?;
                self.together(layer, from.as_ref(), done, &mut reach, &mut |tape, h| {
                    moments.add(tape.value(h));
                    raw.append(tape.value(h))
                })?;
                drop(from);
                let (mean, inverse_std) = moments.end();
                stats.push(ColumnStats { mean, inverse_std });
                self.finish(layer, &raw.end()?, &stats[stats.len() - 1..], sink)?;
            }
            if layer < last {
                input = Some(next.end()?);
            }
        }
        Ok(stats)
    }

    /// What the layer does to each node alone, put aside; `None` where it looks at neighbors first.
    fn alone(&self, layer: usize, input: Option<&RowMatrix>) -> Result<Option<RowMatrix>> {
        let mut next = RowMatrix::new(self.folder, "alone", self.network.out_width(layer))?;
        for block in self.blocks(layer) {
            let nodes: Vec<u32> = (block.start as u32..block.end as u32).collect();
            let rows = self.rows(input, &nodes)?;
            let mut tape = Tape::forward_only(self.network.params, &self.pool);
            let source = rows.source(&mut tape);
            let Some(h) = self.network.encoder.alone(&mut tape, self.network.group, layer, source) else {
                return Ok(None);
            };
            next.append(tape.value(h))?;
        }
        next.end().map(Some)
    }

    /// What the layer takes from neighbors, block by block.
    fn together(
        &self,
        layer: usize,
        input: Option<&RowMatrix>,
        done: bool,
        reach: &mut GcnRows<'_>,
        each: &mut dyn FnMut(&mut Tape<'_>, Var) -> Result<()>,
    ) -> Result<()> {
        for block in self.blocks(layer) {
            let block = Block { rows: reach.rows(block) };
            let rows = self.rows(input, &block.rows.reached)?;
            let mut tape = Tape::forward_only(self.network.params, &self.pool);
            let BlockSource::Dense(h) = rows.source(&mut tape) else {
                unreachable!("sparse rows are multiplied before they are summed");
            };
            let Network { encoder, group, .. } = self.network;
            let h = encoder.together(&mut tape, group, layer, &block, h, done);
            each(&mut tape, h)?;
        }
        Ok(())
    }

    /// Norm and activation of rows that were put aside.
    fn finish(
        &self,
        layer: usize,
        raw: &RowMatrix,
        stats: &[ColumnStats],
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        for block in self.blocks(layer) {
            let nodes: Vec<u32> = (block.start as u32..block.end as u32).collect();
            let rows = raw.read(&nodes)?;
            let mut tape = Tape::forward_only(self.network.params, &self.pool);
            let h = tape.constant(nodes.len(), raw.cols, &rows[..]);
            let h = self.network.finish(&mut tape, layer, h, Norms::Given(stats));
            sink(tape.value(h))?;
        }
        Ok(())
    }

    fn rows(&self, input: Option<&RowMatrix>, nodes: &[u32]) -> Result<LayerRows> {
        match input {
            Some(matrix) => Ok(LayerRows::Dense(nodes.len(), matrix.read(nodes)?)),
            None => Ok(match self.graph.rows(nodes)? {
                Features::Dense(dense) => LayerRows::Dense(nodes.len(), dense.into_data()),
                Features::Sparse(csr) => LayerRows::Sparse(Arc::new(Operator::symmetric_unchecked(csr))),
            }),
        }
    }

    /// Blocks of whole chunks of the layer's statistics, none of them small: a product of few rows may be summed in
    /// other pieces.
    fn blocks(&self, layer: usize) -> Vec<Range<usize>> {
        let n = self.graph.n_nodes();
        let step = Moments::step(self.network.out_width(layer));
        let rows = self.target.next_multiple_of(step);
        let mut starts: Vec<usize> = (0..n).step_by(rows).collect();
        if starts.len() > 1 && n - starts[starts.len() - 1] < FEW {
            starts.pop();
        }
        starts.push(n);
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }
}

impl Network<'_> {
    fn finish(&self, tape: &mut Tape<'_>, layer: usize, h: Var, norms: Norms<'_>) -> Var {
        self.encoder.finish(tape, self.group, layer, h, norms)
    }

    /// Columns that come out of a layer: those of its weight, the only matrix of its name.
    fn out_width(&self, layer: usize) -> usize {
        let name = format!("{layer}.weight");
        let entries = self.params.groups()[self.group].entries();
        entries.iter().find(|entry| entry.name == name).map_or(1, |entry| entry.cols)
    }
}

/// Rows in memory.
enum LayerRows {
    Dense(usize, Vec<Real>),
    Sparse(Arc<Operator>),
}

impl LayerRows {
    fn source<'a>(&'a self, tape: &mut Tape<'a>) -> BlockSource<'a> {
        match self {
            LayerRows::Dense(rows, data) => {
                BlockSource::Dense(tape.constant(*rows, data.len() / rows.max(&1), &data[..]))
            }
            LayerRows::Sparse(operator) => BlockSource::Sparse(Operand::Borrowed(operator)),
        }
    }
}

/// A matrix that is put aside row by row, then read.
struct RowMatrix {
    aside: TempRows,
    cols: usize,
}

impl RowMatrix {
    fn new(folder: &Path, name: &str, cols: usize) -> Result<RowMatrix> {
        Ok(RowMatrix { aside: TempRows::new(folder, name, cols * size_of::<Real>())?, cols })
    }

    fn append(&mut self, rows: &[Real]) -> Result<()> {
        let bytes: Vec<u8> = rows.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.aside.append(&bytes)
    }

    fn end(mut self) -> Result<RowMatrix> {
        self.aside.flush()?;
        Ok(self)
    }

    fn read(&self, rows: &[u32]) -> Result<Vec<Real>> {
        let mut bytes = vec![0; rows.len() * self.cols * size_of::<Real>()];
        self.aside.read(rows, &mut bytes)?;
        let real = |b: &[u8]| Real::from_le_bytes(b.try_into().expect("as many bytes as a number has"));
        Ok(bytes.chunks_exact(size_of::<Real>()).map(real).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{build, embed, embed_with, statistics};
    use crate::graph::{Dense, EncoderInput};
    use crate::rng::Stream;

    /// The representations of a graph by both ways, with batch norms that are its own and that are given.
    fn compare(graph: &Graph, table: &str) {
        let encoder = build(table.parse().unwrap()).unwrap();
        let mut params = Params::new();
        let group = params.add_group("encoder");
        encoder.init(graph.n_features(), &mut params, group, &mut Stream::new(1, "init", "", 0));
        let (prepared, pool) = (EncoderInput::new(graph), Pool::new());
        let whole = embed(&*encoder, &params, group, &prepared, &pool);
        let stats = statistics(&*encoder, &params, group, &prepared, &pool);
        assert_eq!(embed_with(&*encoder, &params, group, &prepared, &stats, &pool), whole);
        let folder = tempfile::tempdir().unwrap();
        let network = Network { encoder: &*encoder, params: &params, group };
        for given in [None, Some(&stats[..])] {
            let walk = BlockWalk {
                network,
                graph,
                stats: given,
                folder: folder.path(),
                pool: Pool::new(),
                target: 1200,
            };
            assert!(walk.blocks(0).len() > 2);
            let mut rows = Vec::new();
            let found = walk.embed(&mut |block| {
                rows.extend_from_slice(block);
                Ok(())
            });
            assert_eq!(found.unwrap(), stats, "{table}");
            assert!(rows == whole.data(), "{table}, statistics given: {}", given.is_some());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn blocks_give_the_bytes_of_the_whole_graph() {
        let load = |name: &str| crate::data::load(name, &Default::default()).unwrap().graph;
        let sparse = load("synthetic:nodes=5000,features=700");
        let data = (0..5000).flat_map(|node| {
            let mut stream = Stream::new(3, "test", "", node);
            (0..600).map(move |_| stream.normal() as Real)
        });
        let dense = sparse
            .clone()
            .with_features(Features::Dense(Dense::from_parts(5000, 600, data.collect())))
            .unwrap();
        for graph in [&sparse, &dense] {
            for kind in ["gcn", "gat"] {
                for rest in [
                    "width = 64\nlayers = 3",
                    "width = 48\nhidden = 20\nlayers = 2\nnorm = 'layer'\nactivation = 'elu'",
                    "width = 24\nhidden = 96\nlayers = 2\nlast = 'linear'",
                    "width = 32\nlayers = 1\nnorm = 'none'",
                ] {
                    compare(graph, &format!("kind = '{kind}'\n{rest}"));
                }
            }
        }
    }
}
