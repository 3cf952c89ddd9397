//! The channels that need no training on a graph with relations: for each node type the features of the node, their means over the
//! neighbors along each direction of a relation, and over walks of two steps, such as paper–author–paper.
//!
//! Each type has channels of its own, one after another; narrower types have zeros at the end. The features of a type are projected
//! first if they are wide, to the subspace that keeps most of all channels that end in this type.

use super::alignment;
use crate::Real;
use crate::config::FeatureHops;
use crate::error::Result;
use crate::graph::norm::unit_rows;
use crate::graph::{Csr, Graph, MetaPath, Relations, leading_subspace, project};
use crate::kernels::rows::{SMALLEST_NORM, axpy};
use crate::kernels::spmm;

/// The width of a channel and its rows, one for each node of a type.
type Channel = (usize, Vec<Real>);

/// The channels of all nodes.
pub(super) struct TypedChannels {
    /// For each type its first node and its channels.
    types: Vec<(usize, Vec<Channel>)>,
}

/// The walks of a type that the settings ask for.
fn paths(relations: &Relations, node_type: usize, hops: FeatureHops) -> Vec<MetaPath> {
    let mut paths = relations.schema().meta_paths(node_type);
    match hops {
        FeatureHops::All => {}
        FeatureHops::Own => paths.retain(Vec::is_empty),
        FeatureHops::Mean => paths.retain(|path| path.len() == 1),
        FeatureHops::Twice => paths.retain(|path| path.len() == 2),
    }
    paths
}

/// The columns that the features of a type have in a channel.
fn columns_of(relations: &Relations, node_type: usize, columns: usize) -> usize {
    relations.schema().types()[node_type].columns.len().min(columns)
}

/// The columns of a channel, fewer if a type has more than eight channels: these share the columns of eight, so that a graph with
/// many relations does not get embeddings many times as wide.
pub(super) fn shared_columns(relations: &Relations, columns: usize, hops: FeatureHops) -> usize {
    let most = types(relations).map(|start| paths(relations, start, hops).len()).max().unwrap_or(0);
    if most > WITHOUT_SHARING { (WITHOUT_SHARING * columns / most).max(1) } else { columns }
}

/// Channels of a type that have all the columns that the settings ask for.
const WITHOUT_SHARING: usize = 8;

/// The types, by index.
fn types(relations: &Relations) -> std::ops::Range<usize> {
    0..relations.schema().types().len()
}

/// Width of the channels together: that of the type with the widest.
pub(super) fn width(relations: &Relations, columns: usize, hops: FeatureHops) -> usize {
    let of_path = |start: usize, path: &MetaPath| {
        columns_of(relations, relations.schema().end_of(start, path), columns)
    };
    let of_type =
        |start: usize| paths(relations, start, hops).iter().map(|path| of_path(start, path)).sum::<usize>();
    types(relations).map(of_type).max().unwrap_or(0)
}

/// Number of channels of all types together.
pub(super) fn count(relations: &Relations, hops: FeatureHops) -> usize {
    types(relations).map(|start| paths(relations, start, hops).len()).sum()
}

/// The basis that features are projected to, features × columns; empty if all types are narrow enough.
pub(super) fn basis(graph: &Graph, relations: &Relations, columns: usize, hops: FeatureHops) -> Vec<Real> {
    let schema = relations.schema();
    if schema.types().iter().all(|node_type| node_type.columns.len() <= columns) {
        return Vec::new();
    }
    let means = relations.means(graph.adjacency());
    let back: Vec<Csr> = means.iter().map(Csr::transposed).collect();
    let mut basis = vec![0.0; graph.n_features() * columns];
    for end in types(relations) {
        let block = &schema.types()[end].columns;
        let to = &mut basis[block.start * columns..block.end * columns];
        if block.len() <= columns {
            (0..block.len()).for_each(|column| to[column * columns + column] = 1.0);
            continue;
        }
        let mut ending: Vec<MetaPath> = types(relations)
            .flat_map(|start| {
                paths(relations, start, hops)
                    .into_iter()
                    .filter(move |path| schema.end_of(start, path) == end)
            })
            .collect();
        if ending.is_empty() {
            ending.push(MetaPath::new());
        }
        let features = unit_rows(&graph.block(end));
        // Most of Σ ‖W_c·F·B‖² over the channels W_c·F that end here is to be kept.
        to.copy_from_slice(&leading_subspace(&features, columns, |rows| {
            let mut total = vec![0.0; rows.len()];
            for path in &ending {
                let there = along(&means, path, &rows, columns);
                let again = path.iter().fold(there, |rows, &d| product(&back[d], &rows, columns));
                axpy(1.0, &again, &mut total);
            }
            total
        }));
    }
    basis
}

impl TypedChannels {
    /// The channels of a graph; `basis` is empty if its features are not projected.
    pub(super) fn of(graph: &Graph, columns: usize, hops: FeatureHops, basis: &[Real]) -> Result<Self> {
        let graph = graph.resident()?;
        let relations = graph.relations().expect("a graph with relations");
        let schema = relations.schema();
        let own = |node_type: usize| {
            let (block, features) = (&schema.types()[node_type].columns, unit_rows(&graph.block(node_type)));
            if block.len() <= columns {
                return features.dense_values();
            }
            project(&features, &basis[block.start * columns..block.end * columns], columns)
        };
        let own: Vec<Vec<Real>> = types(relations).map(own).collect();
        let means = relations.means(graph.adjacency());
        let channel = |start: usize, path: &MetaPath| {
            let end = schema.end_of(start, path);
            let width = columns_of(relations, end, columns);
            let mut rows = along(&means, path, &own[end], width);
            rows.chunks_exact_mut(width.max(1)).for_each(to_unit_length);
            (width, rows)
        };
        let of_type = |start: usize| {
            let paths = paths(relations, start, hops);
            (relations.nodes(start).start, paths.iter().map(|path| channel(start, path)).collect())
        };
        Ok(TypedChannels { types: types(relations).map(of_type).collect() })
    }

    /// The length of every channel, type by type.
    pub(super) fn lengths(&self, bounds: impl Fn(usize) -> usize) -> Vec<f64> {
        let of_type = |(at, (_, channels)): (usize, &(usize, Vec<Channel>))| {
            let nodes = alignment::sample(bounds(at));
            let rows = |(width, rows): &Channel| {
                let of = |&node: &usize| rows[node * width..(node + 1) * width].iter().copied();
                (*width, nodes.iter().flat_map(of).collect())
            };
            alignment::lengths(&channels.iter().map(rows).collect::<Vec<_>>())
        };
        self.types.iter().enumerate().flat_map(of_type).collect()
    }

    /// The channels of a node, each with its index among those of all types.
    pub(super) fn row(&self, node: usize) -> impl Iterator<Item = (usize, &[Real])> {
        let at = self.types.partition_point(|(start, _)| *start <= node) - 1;
        let first: usize = self.types[..at].iter().map(|(_, channels)| channels.len()).sum();
        let (start, channels) = &self.types[at];
        let local = node - start;
        channels
            .iter()
            .enumerate()
            .map(move |(index, (width, rows))| (first + index, &rows[local * width..(local + 1) * width]))
    }
}

/// Bytes that the basis, the channels and their lengths need.
pub(super) fn bytes(graph: &Graph, relations: &Relations, columns: usize, hops: FeatureHops) -> usize {
    if columns == 0 {
        return 0;
    }
    let messages = 2 * (relations.n_messages() * (size_of::<u32>() + size_of::<Real>()));
    let offsets = 2 * relations.schema().directions().len() * graph.n_nodes() * size_of::<usize>();
    let blocks = 3 * graph.memory_bytes();
    let of_type = |start: usize| -> usize {
        let of_path =
            |path: &MetaPath| columns_of(relations, relations.schema().end_of(start, path), columns);
        let wide: usize = paths(relations, start, hops).iter().map(of_path).sum();
        relations.nodes(start).len() * (wide + 4 * columns_of(relations, start, columns))
    };
    let rows: usize = types(relations).map(of_type).sum();
    let most = types(relations).map(|start| paths(relations, start, hops).len()).max().unwrap_or(0);
    let nodes = types(relations).map(|start| relations.nodes(start).len()).max().unwrap_or(0);
    let compared = nodes.min(alignment::NODES);
    let kernels = compared
        * (compared * (most * size_of::<f64>() + size_of::<Real>()) + most * columns * size_of::<Real>());
    messages + offsets + blocks + (rows + 4 * graph.n_features() * columns) * size_of::<Real>() + kernels
}

/// Rows at the nodes where a walk ends, averaged back to where it starts.
fn along(means: &[Csr], path: &[usize], rows: &[Real], columns: usize) -> Vec<Real> {
    path.iter().rev().fold(rows.to_vec(), |rows, &direction| product(&means[direction], &rows, columns))
}

fn product(matrix: &Csr, rows: &[Real], columns: usize) -> Vec<Real> {
    let mut product = vec![0.0; matrix.n_rows() * columns];
    spmm::spmm(matrix.sparse(), rows, columns, &mut product, false);
    product
}

/// Rows of zeros stay zero.
fn to_unit_length(row: &mut [Real]) {
    let norm = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let scale = 1.0 / norm.max(f64::from(SMALLEST_NORM));
    row.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as Real);
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // factors and bases of ones and zeros are exact
mod tests {
    use super::*;
    use crate::config::{ChannelWeights, EmbedSettings};
    use crate::encoder;
    use crate::graph::{Features, Ids, Relation, Schema, TypedEdgeList, node_types};
    use crate::rng::Stream;
    use crate::train::readout::EmbeddingReadout;

    /// Forty papers with five features, thirty authors with three, six subjects without any.
    fn typed() -> Graph {
        let mut stream = Stream::new(2, "test", "typed channels", 0);
        let sizes = vec![40, 30, 6];
        let names = ["paper", "author", "subject"].map(str::to_owned).to_vec();
        let types = node_types(names, &sizes, &[Some(5), Some(3), None]);
        let relation = |src, name: &str, dst| Relation { src, name: name.to_owned(), dst, directed: false };
        let relations = vec![relation(0, "by", 1), relation(0, "on", 2)];
        let by = (0..80).map(|_| (stream.below(40) as u32, stream.below(30) as u32)).collect();
        let on = (0..38).map(|paper| (paper, stream.below(6) as u32)).collect();
        let schema = Schema::new(types, relations).unwrap();
        let adjacency = TypedEdgeList { schema, sizes, pairs: vec![by, on] }.into_adjacency().unwrap().0;
        let mut rows = |n: usize, d: usize| {
            Some(Features::dense(n, d, (0..n * d).map(|_| stream.normal() as Real).collect()).unwrap())
        };
        let given = [rows(40, 5), rows(30, 3), None];
        Graph::typed(adjacency, &given, Ids::Numbered(76)).unwrap()
    }

    fn channels(graph: &Graph, hops: FeatureHops) -> TypedChannels {
        TypedChannels::of(graph, 512, hops, &[]).unwrap()
    }

    /// The mean of the unit rows of the papers that share an author with a paper, author by author, by plain loops.
    #[test]
    fn a_walk_of_two_steps_averages_over_both() {
        let graph = typed();
        let features = unit_rows(&graph.block(0)).dense_values();
        let own = |paper: usize| &features[paper * 5..paper * 5 + 5];
        let authors = |paper: usize| graph.neighbors(paper).iter().filter(|&&node| (40..70).contains(&node));
        let found = channels(&graph, FeatureHops::All);
        for paper in 0..40 {
            let mut mean = vec![0.0f64; 5];
            let count = authors(paper).count() as f64;
            for &author in authors(paper) {
                let papers = graph.neighbors(author as usize);
                for &other in papers {
                    for (sum, x) in mean.iter_mut().zip(own(other as usize)) {
                        *sum += f64::from(*x) / papers.len() as f64 / count;
                    }
                }
            }
            let norm = mean.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
            let rows: Vec<(usize, &[Real])> = found.row(paper).collect();
            // Itself, its authors, its subjects, papers by these authors, papers on these subjects.
            assert_eq!(rows.iter().map(|(_, row)| row.len()).collect::<Vec<_>>(), [5, 3, 6, 5, 5]);
            for (found, expected) in rows[3].1.iter().zip(mean) {
                assert!((f64::from(*found) - expected / norm).abs() < 1e-5, "paper {paper}");
            }
        }
        assert_eq!(found.row(40).map(|(index, _)| index).collect::<Vec<_>>(), [5, 6, 7, 8]);
    }

    fn readout<'g>(graph: &'g Graph, channels: ChannelWeights, features: usize) -> EmbeddingReadout<'g> {
        let encoder = encoder::build(toml::from_str("kind = 'rgcn'\nwidth = 4").unwrap()).unwrap();
        EmbeddingReadout::new(
            graph,
            &*encoder,
            &EmbedSettings { channels, features, ..EmbedSettings::default() },
        )
    }

    #[test]
    fn every_channel_has_its_length_and_narrow_types_end_with_zeros() {
        let graph = typed();
        for (weights, features) in
            [(ChannelWeights::Equal, 512), (ChannelWeights::Weighted, 512), (ChannelWeights::Weighted, 4)]
        {
            let readout = readout(&graph, weights, features);
            let state = readout.fit().unwrap();
            // Of papers 5 channels, of authors 4, of subjects 4 (as the test of walks has it).
            assert_eq!(state.factors.len(), 1 + 5 + 4 + 4);
            assert_eq!(state.basis.is_empty(), features == 512);
            let wide = |width: usize| width.min(features);
            let papers = wide(5) + wide(3) + wide(6) + wide(5) + wide(5);
            assert_eq!(readout.width(), 4 + papers);
            let all = readout.apply(&state, vec![0.5; 76 * 4]).unwrap();
            let row = |node: usize| &all[node * readout.width()..(node + 1) * readout.width()];
            let norm = |row: &[Real]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            assert!((norm(&row(0)[..4]) - state.factors[0]).abs() < 1e-6);
            assert!((norm(&row(0)[4..4 + wide(5)]) - state.factors[1]).abs() < 1e-5);
            // An author's own features come first, then zeros to the end.
            assert!((norm(&row(40)[4..4 + wide(3)]) - state.factors[6]).abs() < 1e-5);
            let used = wide(3) + wide(5) + wide(3) + wide(6);
            assert!(row(40)[4 + used..].iter().all(|&x| x == 0.0) && used < papers);
            if weights == ChannelWeights::Equal {
                assert!(state.factors.iter().all(|&factor| factor == 1.0));
            }
        }
    }

    #[test]
    fn the_basis_of_a_wide_type_is_orthonormal_and_a_narrow_type_keeps_its_columns() {
        let graph = typed();
        let relations = graph.relations().unwrap();
        let basis = basis(&graph, relations, 4, FeatureHops::All);
        assert_eq!(basis.len(), (5 + 3 + 6) * 4);
        let block = |from: usize, to: usize| -> Vec<&[Real]> { basis[from * 4..to * 4].chunks(4).collect() };
        let gram =
            |rows: &[&[Real]], a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<Real>();
        for (from, to) in [(0, 5), (8, 14)] {
            for a in 0..4 {
                for b in 0..4 {
                    let expected = if a == b { 1.0 } else { 0.0 };
                    assert!((gram(&block(from, to), a, b) - expected).abs() < 1e-4);
                }
            }
        }
        let narrow = block(5, 8);
        assert!(
            (0..3)
                .all(|at| narrow[at].iter().enumerate().all(|(c, &x)| x == if c == at { 1.0 } else { 0.0 }))
        );
    }
}
