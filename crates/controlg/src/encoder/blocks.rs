//! Layer-wise inference on a graph that does not fit in memory, one block of nodes at a time.
//!
//! The outputs of a layer are spilled to a temporary file, from which the next layer reads the rows that it needs. Every
//! row is computed by the same kernels from the same numbers in the same order as for the whole graph, and batch norm
//! statistics are summed in the same chunks: the bytes are those of [`embed`](super::embed).
//!
//! Ranks compute blocks in turns and send each other the rows, so that every rank spills the whole output of a layer.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Encoder, Norms};
use crate::Real;
use crate::collective::Ranks;
use crate::error::Result;
use crate::graph::{Features, Graph, LazyOperator, Operand, Operator, OperatorRows};
use crate::rowfile::{RowSink, SpilledMatrix};
use crate::tensor::{Activation, ColumnStats, Moments, Params, Pool, Tape, Var};

/// An encoder with its parameters.
#[derive(Clone, Copy)]
pub struct Network<'n> {
    /// The architecture.
    pub encoder: &'n dyn Encoder,
    /// All parameters.
    pub params: &'n Params,
    /// The group of this network.
    pub group: usize,
}

/// The input rows of a layer.
#[derive(Clone)]
pub enum BlockSource<'a> {
    /// Dense rows.
    Dense(Var),
    /// Sparse features.
    Sparse(Operand<'a, Operator>),
}

impl<'a> BlockSource<'a> {
    /// The rows times a weight.
    pub(super) fn product(self, tape: &mut Tape<'a>, weight: Var) -> Var {
        match self {
            BlockSource::Sparse(x) => tape.propagate(x, weight),
            BlockSource::Dense(h) => tape.linear(h, weight, None, Activation::Identity),
        }
    }
}

/// A block of nodes and the nodes that they reach.
pub struct Block {
    rows: OperatorRows,
}

impl Block {
    /// The operator's rows of the block, with columns over the reached nodes.
    pub fn operator(&self) -> &Operator {
        &self.rows.operator
    }

    /// The position of each node of the block among the reached nodes.
    pub fn own(&self) -> &[u32] {
        &self.rows.own
    }
}

/// Nodes per block, at most: the nodes that they reach must fit in memory.
const BLOCK_ROWS: usize = 16_384;
/// Numbers in a block of the widest layer. Wider layers have smaller blocks.
const BLOCK_NUMBERS: usize = 1 << 21;
/// A last block with fewer nodes is merged into the one before it.
const MIN_BLOCK_ROWS: usize = 1024;

/// Computes the representations of the whole graph and passes them to `rows` block by block in the order of the nodes.
/// Returns the statistics of the batch norms, which are the graph's own unless given. Temporary files go to `folder`.
pub fn embed_in_blocks(
    network: Network<'_>,
    graph: &Graph,
    stats: Option<&[ColumnStats]>,
    folder: &Path,
    rows: &mut dyn FnMut(&[Real]) -> Result<()>,
) -> Result<Vec<ColumnStats>> {
    embed_in_blocks_on(Ranks::alone(), network, graph, stats, folder, rows)
}

/// [`embed_in_blocks`] on several ranks, which all call it and all get the rows.
pub(crate) fn embed_in_blocks_on(
    ranks: Ranks<'_>,
    network: Network<'_>,
    graph: &Graph,
    stats: Option<&[ColumnStats]>,
    folder: &Path,
    rows: &mut dyn FnMut(&[Real]) -> Result<()>,
) -> Result<Vec<ColumnStats>> {
    let (pool, block_rows) = (Pool::new(), network.block_rows());
    BlockWalk { ranks, network, graph, stats, folder, pool, block_rows }.embed(rows)
}

/// Bytes that [`embed_in_blocks`] uses, from the sizes of some of its blocks. Writing the rows of the last layer takes
/// `writing` bytes.
pub(crate) fn block_bytes(network: Network<'_>, graph: &Graph, writing: usize) -> usize {
    const BLOCKS: usize = 8;
    let pool = Pool::shape_only();
    let (stats, folder) = (None, Path::new(""));
    let (ranks, block_rows) = (Ranks::alone(), network.block_rows());
    let walk = BlockWalk { ranks, network, graph, stats, folder, pool, block_rows };
    let mut reached = vec![u32::MAX; graph.n_nodes()];
    let mut most = 0;
    let last = network.encoder.layers() - 1;
    for layer in 0..=last {
        let out = network.out_width(layer);
        let writing = if layer == last { writing } else { 0 };
        let input = if layer == 0 { graph.n_features() } else { network.out_width(layer - 1) };
        // A layer that narrows its input transforms it first, and so does one with sparse features.
        let sparse = layer == 0 && graph.has_sparse_features();
        let given = if sparse { 0 } else { input };
        let products = network.encoder.products();
        let aggregated = match products {
            1 if !sparse => input.min(out),
            // Several products are computed before the aggregation, and taken apart again.
            _ => (2 * products - 1) * out,
        };
        let blocks = walk.blocks(layer);
        for (at, block) in blocks.iter().enumerate().step_by(blocks.len().div_ceil(BLOCKS)) {
            let (rows, entries) = (block.len(), count_reached(graph, block, at, &mut reached));
            let transform = rows * (given + aggregated.max(out));
            // The sums, then norm and activation.
            let aggregate = entries.nodes * aggregated + 2 * rows * out;
            let operator = entries.all * (size_of::<u32>() + size_of::<Real>());
            most = most.max(transform.max(aggregate) * size_of::<Real>() + operator + writing);
        }
        reached.fill(u32::MAX);
    }
    if network.encoder.has_feature_channel() {
        // The rows of all parts, and the rows side by side.
        let joined = 2 * network.encoder.width() * walk.block_rows * size_of::<Real>();
        most = most.max(joined + writing);
    }
    // Scales and positions of all nodes.
    most + graph.n_nodes() * (size_of::<f64>() + size_of::<u32>())
}

/// What the operator's rows of a block contain.
struct BlockEntries {
    all: usize,
    /// Different columns.
    nodes: usize,
}

/// Counts the entries of the block at position `at`; `reached` holds the last block that reached a node.
fn count_reached(graph: &Graph, block: &Range<usize>, at: usize, reached: &mut [u32]) -> BlockEntries {
    let adjacency = graph.adjacency();
    let entries = adjacency.offsets()[block.start]..adjacency.offsets()[block.end];
    let all = block.len() + entries.len();
    let own = block.clone().map(|node| node as u32);
    let columns = own.chain(adjacency.columns()[entries].iter().copied());
    let is_new = |&node: &u32| std::mem::replace(&mut reached[node as usize], at as u32) != at as u32;
    BlockEntries { all, nodes: columns.filter(is_new).count() }
}

struct BlockWalk<'w> {
    ranks: Ranks<'w>,
    network: Network<'w>,
    graph: &'w Graph,
    stats: Option<&'w [ColumnStats]>,
    folder: &'w Path,
    pool: Pool,
    block_rows: usize,
}

/// What happens to the products of a block on its tape.
type OnTape<'t> = dyn Fn(&mut Tape<'_>, Var) -> Var + 't;

/// Computes the products of a layer block by block.
type Product<'p> = dyn FnMut(&OnTape<'_>, &mut RowSink<'_>) -> Result<()> + 'p;

impl BlockWalk<'_> {
    fn embed(&self, out: &mut RowSink<'_>) -> Result<Vec<ColumnStats>> {
        let encoder = self.network.encoder;
        let mut reach = LazyOperator::new(self.graph.adjacency(), encoder.operator());
        let mut stats: Vec<ColumnStats> = Vec::new();
        let mut outputs: Vec<SpilledMatrix> = Vec::new();
        let last = encoder.layers() - 1;
        for layer in 0..=last {
            let transformed = self.transform(layer, outputs.last())?;
            let done = transformed.is_some();
            let from = transformed.as_ref().or(outputs.last());
            let mut product = |on_tape: &OnTape<'_>, sink: &mut RowSink<'_>| {
                self.aggregate((layer, done), from, &mut reach, on_tape, sink)
            };
            if layer == last && !encoder.has_feature_channel() {
                self.finish(layer, &mut stats, &mut product, out)?;
                return Ok(stats);
            }
            let mut next = SpilledMatrix::new(self.folder, "layer", self.network.out_width(layer))?;
            self.finish(layer, &mut stats, &mut product, &mut |rows| next.append(rows))?;
            if !encoder.has_feature_channel() {
                outputs.clear();
            }
            outputs.push(next.end()?);
        }
        let mut channel = SpilledMatrix::new(self.folder, "layer", self.network.out_width(last + 1))?;
        let mut product =
            |on_tape: &OnTape<'_>, sink: &mut RowSink<'_>| self.project(last + 1, on_tape, sink);
        self.finish(last + 1, &mut stats, &mut product, &mut |rows| channel.append(rows))?;
        outputs.insert(0, channel.end()?);
        self.concat(&outputs, out)?;
        Ok(stats)
    }

    /// Norm and activation of a layer's products, which `product` computes block by block.
    fn finish(
        &self,
        layer: usize,
        stats: &mut Vec<ColumnStats>,
        product: &mut Product<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<()> {
        if !self.network.encoder.has_batch_norm(layer) {
            return product(&|tape, h| self.network.post(tape, layer, h, Norms::Batch), sink);
        }
        if let Some(given) = self.stats {
            let at = stats.len();
            stats.push(given[at].clone());
            let norms = || Norms::Given(&given[at..=at]);
            return product(&|tape, h| self.network.post(tape, layer, h, norms()), sink);
        }
        let width = self.network.out_width(layer);
        let mut moments = Moments::new(width);
        let mut raw = SpilledMatrix::new(self.folder, "product", width)?;
        product(&|_, h| h, &mut |rows| {
            moments.add(rows);
            raw.append(rows)
        })?;
        let (mean, inverse_std) = moments.end();
        stats.push(ColumnStats { mean, inverse_std });
        self.post(layer, &raw.end()?, &stats[stats.len() - 1..], sink)
    }

    /// Passes on the rows that `compute` makes of each block, in the order of the blocks. Ranks compute blocks in turns and
    /// send each other the rows.
    fn each_block(
        &self,
        layer: usize,
        mut compute: impl FnMut(Range<usize>, &mut RowSink<'_>) -> Result<()>,
        sink: &mut RowSink<'_>,
    ) -> Result<()> {
        let (ranks, blocks) = (self.ranks, self.blocks(layer));
        if ranks.is_alone() {
            return blocks.into_iter().try_for_each(|block| compute(block, sink));
        }
        for turns in blocks.chunks(ranks.size()) {
            let mut own = Vec::new();
            let mut add = |rows: &[Real]| {
                own.extend(rows.iter().flat_map(|x| x.to_le_bytes()));
                Ok(())
            };
            let turn = turns.get(ranks.rank());
            ranks.agree(turn.map_or(Ok(()), |block| compute(block.clone(), &mut add)))?;
            for root in 0..turns.len() {
                let mut bytes = if root == ranks.rank() { std::mem::take(&mut own) } else { Vec::new() };
                ranks.broadcast(root, &mut bytes)?;
                let (rows, _) = bytes.as_chunks();
                sink(&rows.iter().map(|raw| Real::from_le_bytes(*raw)).collect::<Vec<Real>>())?;
            }
        }
        Ok(())
    }

    /// The products of the feature channel, block by block.
    fn project(&self, layer: usize, on_tape: &OnTape<'_>, sink: &mut RowSink<'_>) -> Result<()> {
        let compute = |block: Range<usize>, sink: &mut RowSink<'_>| {
            let nodes: Vec<u32> = (block.start as u32..block.end as u32).collect();
            let rows = self.rows(None, &nodes)?;
            let mut tape = Tape::forward_only(self.network.params, &self.pool);
            let source = rows.source(&mut tape);
            let h = self.network.encoder.project_rows(&mut tape, self.network.group, source);
            let h = on_tape(&mut tape, h);
            sink(tape.value(h))
        };
        self.each_block(layer, compute, sink)
    }

    /// Passes on the rows of all parts side by side.
    fn concat(&self, parts: &[SpilledMatrix], out: &mut RowSink<'_>) -> Result<()> {
        if !self.ranks.is_first() {
            // Every rank has the parts, and rank 0 alone writes.
            return Ok(());
        }
        for block in self.blocks(0) {
            let nodes: Vec<u32> = (block.start as u32..block.end as u32).collect();
            let rows = parts.iter().map(|part| part.read(&nodes)).collect::<Result<Vec<_>>>()?;
            let mut joined = Vec::with_capacity(rows.iter().map(Vec::len).sum());
            for at in 0..nodes.len() {
                for (part, rows) in parts.iter().zip(&rows) {
                    joined.extend_from_slice(&rows[at * part.cols()..(at + 1) * part.cols()]);
                }
            }
            out(&joined)?;
        }
        Ok(())
    }

    /// The layer's per-node transform, spilled; `None` if it aggregates first.
    fn transform(&self, layer: usize, input: Option<&SpilledMatrix>) -> Result<Option<SpilledMatrix>> {
        let Some(width) = self.transformed_width(layer, input)? else { return Ok(None) };
        let mut next = SpilledMatrix::new(self.folder, "transform", width)?;
        let compute = |block: Range<usize>, sink: &mut RowSink<'_>| {
            let nodes: Vec<u32> = (block.start as u32..block.end as u32).collect();
            let rows = self.rows(input, &nodes)?;
            let mut tape = Tape::forward_only(self.network.params, &self.pool);
            let source = rows.source(&mut tape);
            let h = self.network.encoder.transform(&mut tape, self.network.group, layer, source);
            h.map_or(Ok(()), |h| sink(tape.value(h)))
        };
        self.each_block(layer, compute, &mut |rows| next.append(rows))?;
        next.end().map(Some)
    }

    /// The width of the layer's per-node transform, from its first row; `None` if it aggregates first.
    fn transformed_width(&self, layer: usize, input: Option<&SpilledMatrix>) -> Result<Option<usize>> {
        let rows = self.rows(input, &[0])?;
        let mut tape = Tape::forward_only(self.network.params, &self.pool);
        let source = rows.source(&mut tape);
        let h = self.network.encoder.transform(&mut tape, self.network.group, layer, source);
        Ok(h.map(|h| tape.shape(h).1))
    }

    /// The layer's aggregation, block by block; `transformed` tells whether its input is.
    fn aggregate(
        &self,
        (layer, transformed): (usize, bool),
        input: Option<&SpilledMatrix>,
        reach: &mut LazyOperator<'_>,
        on_tape: &OnTape<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<()> {
        let compute = |block: Range<usize>, sink: &mut RowSink<'_>| {
            let block = Block { rows: reach.rows(block) };
            let rows = self.rows(input, &block.rows.reached)?;
            let mut tape = Tape::forward_only(self.network.params, &self.pool);
            let BlockSource::Dense(h) = rows.source(&mut tape) else {
                unreachable!("sparse rows are transformed before they are aggregated");
            };
            let Network { encoder, group, .. } = self.network;
            let h = encoder.aggregate(&mut tape, group, layer, &block, h, transformed);
            let h = on_tape(&mut tape, h);
            sink(tape.value(h))
        };
        self.each_block(layer, compute, sink)
    }

    /// Norm and activation of spilled rows.
    fn post(
        &self,
        layer: usize,
        raw: &SpilledMatrix,
        stats: &[ColumnStats],
        sink: &mut RowSink<'_>,
    ) -> Result<()> {
        let compute = |block: Range<usize>, sink: &mut RowSink<'_>| {
            let nodes: Vec<u32> = (block.start as u32..block.end as u32).collect();
            let rows = raw.read(&nodes)?;
            let mut tape = Tape::forward_only(self.network.params, &self.pool);
            let h = tape.constant(nodes.len(), raw.cols(), &rows[..]);
            let h = self.network.post(&mut tape, layer, h, Norms::Given(stats));
            sink(tape.value(h))
        };
        self.each_block(layer, compute, sink)
    }

    fn rows(&self, input: Option<&SpilledMatrix>, nodes: &[u32]) -> Result<LayerRows> {
        match input {
            Some(matrix) => Ok(LayerRows::Dense(nodes.len(), matrix.read(nodes)?)),
            None => Ok(match self.graph.rows(nodes)? {
                Features::Dense(dense) => LayerRows::Dense(nodes.len(), dense.into_data()),
                Features::Sparse(csr) => LayerRows::Sparse(Arc::new(Operator::symmetric_unchecked(csr))),
            }),
        }
    }

    /// Blocks that are multiples of the chunks of batch norm statistics. None is small, since a product of few rows may be
    /// summed in another order.
    fn blocks(&self, layer: usize) -> Vec<Range<usize>> {
        let n = self.graph.n_nodes();
        let step = Moments::step(self.network.out_width(layer));
        let rows = self.block_rows.next_multiple_of(step);
        let mut starts: Vec<usize> = (0..n).step_by(rows).collect();
        if starts.len() > 1 && n - starts[starts.len() - 1] < MIN_BLOCK_ROWS {
            starts.pop();
        }
        starts.push(n);
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }
}

impl Network<'_> {
    /// Nodes per block.
    fn block_rows(&self) -> usize {
        let widest = (0..self.encoder.layers()).map(|layer| self.out_width(layer)).max().unwrap_or(1);
        (BLOCK_NUMBERS / widest.max(1)).clamp(MIN_BLOCK_ROWS, BLOCK_ROWS)
    }

    fn post(&self, tape: &mut Tape<'_>, layer: usize, h: Var, norms: Norms<'_>) -> Var {
        self.encoder.post(tape, self.group, layer, h, norms)
    }

    /// Output width of a layer: the columns of its weight.
    fn out_width(&self, layer: usize) -> usize {
        let name = format!("{layer}.weight");
        let entries = self.params.groups()[self.group].entries();
        entries.iter().find(|entry| entry.name == name).map_or(1, |entry| entry.cols)
    }
}

/// Input rows in memory.
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

#[cfg(test)]
mod tests;
