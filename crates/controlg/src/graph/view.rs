//! The input of an encoder: a graph, or an augmented view of it with dropped edges, masked feature columns, dropped feature entries
//! or replaced rows.
//!
//! Views do not copy the features. They say what is masked, and the products skip it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Adjacency, Csr, Dense, Features, Graph, Operand, Operator, OperatorSpec};
use crate::kernels::feature_dropout::FeatureDropout;
use crate::kernels::spmm;
use crate::rng::Stream;

/// The features and the operator of a graph, with derived matrices that are computed once.
#[derive(Debug)]
pub struct EncoderInput<'g> {
    features: &'g Features,
    operator: Operator,
    senders: Vec<Range<usize>>,
    n_types: usize,
    transposed: Option<Csr>,
    smoothed: OnceLock<Dense>,
}

impl<'g> EncoderInput<'g> {
    /// The input for graph convolutions: the features and the GCN operator.
    pub fn new(graph: &'g Graph) -> Self {
        EncoderInput::with_spec(graph, OperatorSpec::GCN)
    }

    /// The input for an encoder that propagates in this way.
    pub fn with_spec(graph: &'g Graph, spec: OperatorSpec) -> Self {
        let operator = Operator::new(graph.adjacency(), spec);
        let senders = graph.adjacency().senders();
        EncoderInput {
            senders,
            n_types: n_types(graph),
            ..EncoderInput::with_operator(graph.features(), operator)
        }
    }

    /// A stand-in for a pass over shapes: the operator and the transposed features have a size but no contents.
    pub(crate) fn shape_only(graph: &'g Graph, spec: OperatorSpec) -> Self {
        let transposed = match graph.features() {
            Features::Sparse(x) => Some(Csr::shape_only(x.n_cols(), x.n_rows(), x.n_entries())),
            Features::Dense(_) => None,
        };
        EncoderInput {
            features: graph.features(),
            operator: Operator::shape_only_on(
                graph.adjacency(),
                spec.n_entries(graph.adjacency()),
                spec.kind,
            ),
            senders: graph.adjacency().senders(),
            n_types: n_types(graph),
            transposed,
            smoothed: OnceLock::new(),
        }
    }

    /// Features with another operator.
    pub fn with_operator(features: &'g Features, operator: Operator) -> Self {
        let transposed = match features {
            Features::Sparse(csr) => Some(csr.transposed()),
            Features::Dense(_) => None,
        };
        let senders = std::iter::once(0..features.n_rows()).collect();
        EncoderInput { features, operator, senders, n_types: 1, transposed, smoothed: OnceLock::new() }
    }

    /// The features.
    pub fn features(&self) -> &'g Features {
        self.features
    }

    /// The operator of the full graph.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// The nodes that send messages along each direction of each relation, for relational encoders: all nodes, once, in a
    /// homogeneous graph.
    pub fn senders(&self) -> &[Range<usize>] {
        &self.senders
    }

    /// Number of node types.
    pub fn n_types(&self) -> usize {
        self.n_types
    }

    /// Xᵀ of sparse features, for the backward pass of X·W.
    pub fn transposed(&self) -> Option<&Csr> {
        self.transposed.as_ref()
    }

    /// Â·X for dense features and the full graph, computed on first use. `None` for sparse features, where it would be much larger
    /// than X.
    pub fn smoothed(&self) -> Option<&Dense> {
        let Features::Dense(dense) = self.features else { return None };
        Some(self.smoothed.get_or_init(|| {
            let mut data = vec![0.0; dense.data().len()];
            spmm::spmm(self.operator.forward(), dense.data(), dense.n_cols(), &mut data, false);
            Dense::from_parts(dense.n_rows(), dense.n_cols(), data)
        }))
    }

    /// The view of the full graph, without augmentation.
    pub fn whole(&self) -> View<'_> {
        View { of: self, operator: None, columns: None, masked: None, order: None, feature_dropout: None }
    }

    /// Bytes held in memory in addition to the graph.
    pub fn memory_bytes(&self) -> usize {
        self.operator.memory_bytes()
            + self.transposed.as_ref().map_or(0, Csr::memory_bytes)
            + self.smoothed.get().map_or(0, |dense| size_of_val(dense.data()))
    }
}

fn n_types(graph: &Graph) -> usize {
    graph.relations().map_or(1, |relations| relations.schema().types().len())
}

/// What an encoder sees in one pass. Start from [`EncoderInput::whole`] and add augmentations.
#[derive(Clone, Debug)]
pub struct View<'a> {
    of: &'a EncoderInput<'a>,
    operator: Option<Operand<'a, Operator>>,
    columns: Option<Operand<'a, [bool]>>,
    masked: Option<Operand<'a, NodeSet>>,
    order: Option<Operand<'a, [u32]>>,
    feature_dropout: Option<FeatureDropout>,
}

impl<'a> View<'a> {
    /// Uses another operator, such as one with dropped edges.
    pub fn on(mut self, operator: impl Into<Operand<'a, Operator>>) -> Self {
        self.operator = Some(operator.into());
        self
    }

    /// Keeps only the feature columns marked `true`; the others read as zero.
    pub fn with_columns(mut self, keep: impl Into<Operand<'a, [bool]>>) -> Self {
        self.columns = Some(keep.into());
        self
    }

    /// Masks the features of these nodes: they read as zero, or as the mask token if the encoder has one.
    pub fn with_masked(mut self, nodes: impl Into<Operand<'a, NodeSet>>) -> Self {
        self.masked = Some(nodes.into());
        self
    }

    /// Permutes the features: node v gets those of node `order[v]`. This is the corruption of Deep Graph Infomax.
    pub fn with_order(mut self, order: impl Into<Operand<'a, [u32]>>) -> Self {
        self.order = Some(order.into());
        self
    }

    /// Drops feature entries with probability `rate` and scales the others by 1/(1 − rate). Different keys drop different entries.
    /// Mask tokens are not affected.
    pub fn with_feature_dropout(mut self, rate: f64, key: u64) -> Self {
        self.feature_dropout = Some(FeatureDropout::new(rate, key));
        self
    }

    /// The input that this is a view of.
    pub fn of(&self) -> &'a EncoderInput<'a> {
        self.of
    }

    /// The operator of this view.
    pub fn operator(&self) -> Operand<'a, Operator> {
        self.operator.clone().unwrap_or(Operand::Borrowed(&self.of.operator))
    }

    /// Whether no edge is dropped.
    pub fn has_all_edges(&self) -> bool {
        self.operator.is_none()
    }

    /// Which feature columns are kept; `None` for all.
    pub fn columns(&self) -> Option<&Operand<'a, [bool]>> {
        self.columns.as_ref()
    }

    /// The masked nodes.
    pub fn masked(&self) -> Option<&Operand<'a, NodeSet>> {
        self.masked.as_ref()
    }

    /// The permutation of the features; `None` if there is none.
    pub fn order(&self) -> Option<&Operand<'a, [u32]>> {
        self.order.as_ref()
    }

    /// The dropout of feature entries; `None` if there is none.
    pub fn feature_dropout(&self) -> Option<FeatureDropout> {
        self.feature_dropout
    }
}

/// A set of nodes, as a sorted list and as a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSet {
    ids: Vec<u32>,
    member: Vec<bool>,
}

impl NodeSet {
    /// The set of these nodes. Duplicates are ignored.
    ///
    /// # Panics
    /// If a node is not below `n`.
    pub fn new(n: usize, ids: &[u32]) -> Self {
        let mut member = vec![false; n];
        ids.iter().for_each(|&id| member[id as usize] = true);
        let ids = (0..n as u32).filter(|&id| member[id as usize]).collect();
        NodeSet { ids, member }
    }

    /// ⌊share·n⌋ nodes, drawn uniformly without replacement.
    pub fn sample(n: usize, share: f64, stream: &mut Stream) -> Self {
        NodeSet::new(n, &stream.sample(n, (share * n as f64) as usize))
    }

    /// The nodes in ascending order.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// For each node, whether it is in the set.
    pub fn member(&self) -> &[bool] {
        &self.member
    }
}

/// Builds operators with dropped edges. It reuses the memory of operators that are no longer in use.
#[derive(Debug)]
pub struct EdgeDropper {
    spec: OperatorSpec,
    made: Vec<Arc<Operator>>,
    keep: Vec<bool>,
    next: Vec<usize>,
    shape_only: bool,
}

impl EdgeDropper {
    /// Makes operators of this kind.
    pub fn new(spec: OperatorSpec) -> Self {
        EdgeDropper { spec, made: Vec::new(), keep: Vec::new(), next: Vec::new(), shape_only: false }
    }

    /// Makes stand-ins for a pass over shapes.
    pub(crate) fn shape_only(spec: OperatorSpec) -> Self {
        EdgeDropper { shape_only: true, ..EdgeDropper::new(spec) }
    }

    /// The operator of the graph after dropping each undirected edge with probability `rate`.
    pub fn drop_edges(&mut self, adjacency: &Adjacency, rate: f64, stream: &mut Stream) -> Arc<Operator> {
        if self.shape_only {
            return self.stand_in(adjacency, rate);
        }
        self.keep_edges(adjacency, |_, _| stream.uniform() >= rate)
    }

    /// Hides the edges `always` (smaller, larger), in ascending order, and ⌈share·m⌉ of the m others, drawn uniformly, in both
    /// directions. Returns the operator of the rest and the drawn edges in ascending order.
    pub fn hide_edges(
        &mut self,
        adjacency: &Adjacency,
        share: f64,
        always: &[(u32, u32)],
        stream: &mut Stream,
    ) -> (Arc<Operator>, Vec<(u32, u32)>) {
        let all = adjacency.n_entries() / 2;
        let m = all - always.len();
        let count = ((share * m as f64).ceil() as usize).min(m);
        if self.shape_only {
            let always = always.len() as f64 / all.max(1) as f64;
            return (self.stand_in(adjacency, always + (1.0 - always) * share), vec![(0, 0); count]);
        }
        let mut is_hidden = vec![false; m];
        stream.sample(m, count).into_iter().for_each(|edge| is_hidden[edge as usize] = true);
        let mut hidden = Vec::with_capacity(count);
        let mut edge = 0;
        let mut always = always.iter().peekable();
        let operator = self.keep_edges(adjacency, |u, v| {
            if always.next_if(|&&pair| pair == (u, v)).is_some() {
                return false;
            }
            let keep = !is_hidden[edge];
            edge += 1;
            if !keep {
                hidden.push((u, v));
            }
            keep
        });
        (operator, hidden)
    }

    /// A stand-in for the operator without a share `dropped` of the edges.
    fn stand_in(&self, adjacency: &Adjacency, dropped: f64) -> Arc<Operator> {
        let all = adjacency.n_entries();
        let kept = ((1.0 - dropped) * all as f64) as usize;
        let entries = self.spec.n_entries(adjacency) - all + kept;
        Arc::new(Operator::shape_only_on(adjacency, entries, self.spec.kind))
    }

    /// The operator of the graph with the undirected edges for which `keep` returns `true`. `keep` is called once per edge
    /// (smaller, larger), in ascending order. Degrees are those of the kept edges; self-loops are added afterwards.
    pub fn keep_edges(
        &mut self,
        adjacency: &Adjacency,
        mut keep: impl FnMut(u32, u32) -> bool,
    ) -> Arc<Operator> {
        if self.shape_only {
            return self.stand_in(adjacency, 0.0);
        }
        self.keep.clear();
        self.keep.resize(adjacency.n_entries(), false);
        self.next.clear();
        self.next.extend_from_slice(adjacency.offsets());
        for row in 0..adjacency.n_rows() {
            for at in adjacency.offsets()[row]..adjacency.offsets()[row + 1] {
                let column = adjacency.columns()[at];
                if column as usize > row {
                    // The mirrored entry: row `column` lists its smaller neighbors in the order of these visits.
                    let back = self.next[column as usize];
                    self.next[column as usize] += 1;
                    let kept = keep(row as u32, column);
                    self.keep[at] = kept;
                    self.keep[back] = kept;
                }
            }
        }
        let unused = self.made.iter_mut().find_map(|made| (Arc::strong_count(made) == 1).then_some(made));
        match unused {
            Some(made) => {
                let operator = Arc::get_mut(made).expect("no other reference");
                operator.refill(adjacency, Some(&self.keep), self.spec);
                made.clone()
            }
            None => {
                let mut operator = Operator::symmetric_unchecked(Csr::empty(0, 0));
                operator.refill(adjacency, Some(&self.keep), self.spec);
                self.made.push(Arc::new(operator));
                self.made[self.made.len() - 1].clone()
            }
        }
    }
}

/// Draws a mask of feature columns: each is dropped with probability `rate`.
pub fn mask_features(n_cols: usize, rate: f64, stream: &mut Stream) -> Vec<bool> {
    (0..n_cols).map(|_| stream.uniform() >= rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, OperatorKind};

    fn ring(n: u32) -> Adjacency {
        EdgeList { pairs: (0..n).map(|u| (u, (u + 1) % n)).collect(), weights: None }
            .into_adjacency(n as usize)
            .unwrap()
            .0
    }

    #[test]
    fn edges_are_dropped_in_both_directions_and_degrees_follow() {
        let adjacency = ring(50);
        let mut dropper = EdgeDropper::new(OperatorSpec::GCN);
        let operator = dropper.drop_edges(&adjacency, 0.4, &mut Stream::new(1, "test", "", 0));
        let matrix = operator.matrix();
        assert_eq!(*matrix, matrix.transposed());
        assert!(matrix.n_entries() < 150 && matrix.n_entries() > 50);
        for row in 0..50 {
            let degree = matrix.row(row).len() as f64; // with its self-loop
            let own = matrix.entries(row).find(|e| e.0 as usize == row).map(|e| f64::from(e.1));
            assert!((own.unwrap() - 1.0 / degree).abs() < 1e-6);
        }
    }

    #[test]
    fn hidden_edges_are_in_neither_direction_of_the_operator() {
        let adjacency = ring(50);
        for spec in [OperatorSpec::GCN, OperatorSpec { kind: OperatorKind::Mean, self_loops: false }] {
            let stream = &mut Stream::new(1, "test", "", 0);
            let (operator, hidden) = EdgeDropper::new(spec).hide_edges(&adjacency, 0.7, &[], stream);
            assert_eq!(hidden.len(), 35);
            assert!(hidden.is_sorted());
            for matrix in [operator.forward(), operator.backward()] {
                let has = |u: u32, v: u32| {
                    let row = matrix.offsets[u as usize]..matrix.offsets[u as usize + 1];
                    matrix.columns[row].contains(&v)
                };
                assert!(hidden.iter().all(|&(u, v)| !has(u, v) && !has(v, u)));
                let loops = if spec.self_loops { 50 } else { 0 };
                assert_eq!(matrix.columns.len(), 2 * (50 - 35) + loops);
            }
        }
    }

    #[test]
    fn rate_zero_keeps_all_edges_and_rate_one_only_self_loops() {
        let adjacency = ring(9);
        let mut dropper = EdgeDropper::new(OperatorSpec::GCN);
        let stream = &mut Stream::new(1, "test", "", 0);
        let all = dropper.drop_edges(&adjacency, 0.0, stream);
        assert_eq!(all.matrix(), Operator::gcn(&adjacency).matrix());
        let none = dropper.drop_edges(&adjacency, 1.0, stream);
        assert_eq!(none.matrix().n_entries(), 9);
    }

    #[test]
    fn memory_is_reused_only_when_unused() {
        let adjacency = ring(9);
        let mut dropper = EdgeDropper::new(OperatorSpec::GCN);
        let stream = &mut Stream::new(1, "test", "", 0);
        let first = dropper.drop_edges(&adjacency, 0.5, stream);
        let second = dropper.drop_edges(&adjacency, 0.5, stream);
        assert_eq!(dropper.made.len(), 2);
        drop((first, second));
        let third = dropper.drop_edges(&adjacency, 0.5, stream);
        third.reverse();
        drop(third);
        let fourth = dropper.drop_edges(&adjacency, 0.2, stream);
        assert_eq!(fourth.reverse(), Operator::symmetric_unchecked(fourth.matrix().clone()).reverse());
        assert_eq!(dropper.made.len(), 2);
    }

    #[test]
    fn node_sets_are_sorted_and_marked() {
        let set = NodeSet::new(4, &[3, 1, 3]);
        assert_eq!(set.ids(), [1, 3]);
        assert_eq!(set.member(), [false, true, false, true]);
        assert_eq!(NodeSet::sample(9, 0.5, &mut Stream::new(0, "test", "", 0)).ids().len(), 4);
    }
}
