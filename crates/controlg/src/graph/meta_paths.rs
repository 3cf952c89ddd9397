//! Meta-paths: walks over relations from the nodes of a type, and the means over the nodes where they end.

use super::{Csr, Relations, Schema};
use crate::Real;

/// A walk from the nodes of a type over directions of relations, as the indices of the directions; empty for the node itself.
pub(crate) type MetaPath = Vec<usize>;

/// Types with more walks of at most two steps keep fewer of two steps.
const MOST: usize = 16;

impl Schema {
    /// The walks of at most two steps from the nodes of a type, shortest first. If there are more than 16, those of two steps
    /// come back to the type itself; if there are more nevertheless, there are none of two steps.
    pub(crate) fn meta_paths(&self, node_type: usize) -> Vec<MetaPath> {
        let into = |to: usize| {
            let of = move |(at, direction): (usize, &super::Direction)| (direction.to == to).then_some(at);
            self.directions().iter().enumerate().filter_map(of)
        };
        let one: Vec<MetaPath> = into(node_type).map(|first| vec![first]).collect();
        let two: Vec<MetaPath> = into(node_type)
            .flat_map(|first| into(self.directions()[first].from).map(move |second| vec![first, second]))
            .collect();
        let room = MOST.saturating_sub(1 + one.len());
        let mut two = two;
        if two.len() > room {
            two.retain(|path| self.end_of(node_type, path) == node_type);
        }
        if two.len() > room {
            two.clear();
        }
        [vec![Vec::new()], one, two].concat()
    }

    /// The type of the nodes where a walk ends.
    pub(crate) fn end_of(&self, start: usize, path: &[usize]) -> usize {
        path.last().map_or(start, |&last| self.directions()[last].from)
    }
}

impl Relations {
    /// For each direction the mean over the neighbors that a node hears from: receivers × senders, numbered within their types.
    pub(crate) fn means(&self, adjacency: &Csr) -> Vec<Csr> {
        let directions = self.schema().directions();
        let senders = self.senders();
        let mut parts = vec![(vec![0], Vec::<u32>::new(), Vec::<Real>::new()); directions.len()];
        for row in 0..adjacency.n_rows() {
            for at in adjacency.offsets()[row]..adjacency.offsets()[row + 1] {
                for direction in self.directions_at(at).iter().map(|&d| usize::from(d)) {
                    let sender = adjacency.columns()[at] as usize - senders[direction].start;
                    parts[direction].1.push(sender as u32);
                }
            }
            let node_type = self.type_of(row as u32);
            for ((offsets, columns, values), direction) in parts.iter_mut().zip(directions) {
                if direction.to == node_type {
                    let count = columns.len() - values.len();
                    values.resize(columns.len(), (1.0 / count.max(1) as f64) as Real);
                    offsets.push(columns.len());
                }
            }
        }
        let csr = |((offsets, columns, values), sent): ((_, _, _), &std::ops::Range<usize>)| {
            Csr::from_parts(sent.len(), offsets, columns, Some(values))
        };
        parts.into_iter().zip(&senders).map(csr).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Ids, NodeType, Relation, TypeFeatures, TypedEdgeList};

    fn schema(relations: &[(usize, usize)], types: usize) -> Schema {
        let node_type = |at: usize| NodeType {
            name: format!("t{at}"),
            columns: at..at + 1,
            features: TypeFeatures::Given,
        };
        let relation = |(at, &(src, dst)): (usize, &(usize, usize))| Relation {
            src,
            name: format!("r{at}"),
            dst,
            directed: false,
        };
        let relations = relations.iter().enumerate().map(relation).collect();
        Schema::new((0..types).map(node_type).collect(), relations).unwrap()
    }

    #[test]
    fn walks_go_over_every_relation_and_back() {
        // Papers (0) have authors (1) and subjects (2).
        let schema = schema(&[(0, 1), (0, 2)], 3);
        let ends = |from: usize| -> Vec<Vec<usize>> {
            let types = |path: &MetaPath| path.iter().map(|&d| schema.directions()[d].from).collect();
            schema.meta_paths(from).iter().map(types).collect()
        };
        assert_eq!(ends(0), [vec![], vec![1], vec![2], vec![1, 0], vec![2, 0]]);
        assert_eq!(ends(1), [vec![], vec![0], vec![0, 1], vec![0, 2]]);
        assert_eq!(schema.end_of(1, &[]), 1);
    }

    #[test]
    fn many_relations_keep_the_walks_that_come_back() {
        let star: Vec<(usize, usize)> = (1..6).map(|other| (0, other)).collect();
        let of_many = schema(&star, 6);
        // From a leaf: itself, the center, and from there to all five.
        assert_eq!(of_many.meta_paths(1).len(), 7);
        assert_eq!(of_many.meta_paths(0).len(), 11);
        let more: Vec<(usize, usize)> = (1..12).map(|other| (0, other)).collect();
        let more = schema(&more, 12);
        assert_eq!(more.meta_paths(0).len(), 12, "eleven that come back do not fit");
        assert_eq!(more.meta_paths(1).len(), 13);
    }

    #[test]
    fn means_are_over_the_neighbors_in_a_direction() {
        let list = TypedEdgeList {
            schema: schema(&[(0, 1), (0, 0)], 2),
            sizes: vec![3, 2],
            pairs: vec![vec![(0, 0), (0, 1), (2, 1)], vec![(0, 1)]],
        };
        let adjacency = list.into_adjacency().unwrap().0;
        let features = [3, 2].map(|n| Some(crate::graph::Features::dense(n, 1, vec![1.0; n]).unwrap()));
        let graph = Graph::typed(adjacency, &features, Ids::Numbered(5)).unwrap();
        let means = graph.relations().unwrap().means(graph.adjacency());
        let dense = |csr: &Csr| -> Vec<Vec<(u32, Real)>> {
            (0..csr.n_rows()).map(|row| csr.entries(row).collect()).collect()
        };
        // Type 1 hears from type 0, type 0 from type 1, type 0 from itself.
        assert_eq!(dense(&means[0]), [vec![(0, 1.0)], vec![(0, 0.5), (2, 0.5)]]);
        assert_eq!(dense(&means[1]), [vec![(0, 0.5), (1, 0.5)], vec![], vec![(1, 1.0)]]);
        assert_eq!(dense(&means[2]), [vec![(1, 1.0)], vec![(0, 1.0)], vec![]]);
    }
}
