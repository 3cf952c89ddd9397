//! Contexts of nodes along meta-paths, sequences of node types such as paper–author–paper (Sun et al., PathSim, VLDB 2011).
//!
//! C_v = (Z_v + Σ_m (P_{t₁t₂} ⋯ P_{tₖ₋₁tₖ}·Z)_v) / (1 + M_v) over the M_v meta-paths m = t₁…tₖ that start at v's type, where P_{st}
//! averages over the neighbors of type t of each node of type s.

use crate::error::{Error, Result};
use crate::graph::{Csr, Graph, Operator, Relations};
use crate::tensor::{Tape, Var};

/// The setting, for errors.
const SETTING: &str = "objective.p_minsg.metapaths";

/// Meta-paths on a graph.
#[derive(Clone)]
pub(super) struct MetaPaths {
    /// The steps of each path, as indices into `operators`.
    paths: Vec<Vec<usize>>,
    /// The mean over the neighbors of one type, for nodes of another; n × n.
    operators: Vec<Operator>,
    /// 1/(1 + number of paths) on the diagonal.
    share: Operator,
}

impl MetaPaths {
    /// Reads paths that are separated by commas and prepares their operators.
    pub(super) fn new(text: &str, graph: &Graph) -> Result<MetaPaths> {
        let Some(relations) = graph.relations() else {
            return Err(Error::value(
                SETTING,
                format_args!("\"{text}\" on a graph without node types"),
                "\"\"",
            ));
        };
        let paths: Vec<Vec<usize>> =
            text.split(',').map(|path| types_of(path.trim(), relations)).collect::<Result<_>>()?;
        let (mut steps, mut of_paths) = (Vec::<[usize; 2]>::new(), Vec::new());
        for path in &paths {
            let indices = path.windows(2).map(|pair| {
                let step = [pair[0], pair[1]];
                steps.iter().position(|known| *known == step).unwrap_or_else(|| {
                    steps.push(step);
                    steps.len() - 1
                })
            });
            of_paths.push(indices.collect());
        }
        let mut starting = vec![0; relations.schema().types().len()];
        paths.iter().for_each(|path| starting[path[0]] += 1);
        Ok(MetaPaths {
            paths: of_paths,
            operators: steps.into_iter().map(|step| mean_between(graph, relations, step)).collect(),
            share: diagonal(graph.n_nodes(), |node| 1.0 / f64::from(1 + starting[relations.type_of(node)])),
        })
    }

    /// The context of every node.
    pub(super) fn contexts<'a>(&'a self, tape: &mut Tape<'a>, z: Var) -> Var {
        let mut terms = vec![(1.0, z)];
        for path in &self.paths {
            terms.push((1.0, path.iter().rev().fold(z, |h, &step| tape.propagate(&self.operators[step], h))));
        }
        let sum = tape.weighted_sum(&terms);
        tape.propagate(&self.share, sum)
    }

    /// Bytes held in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.operators.iter().chain([&self.share]).map(Operator::memory_bytes).sum()
    }
}

/// The types of a path such as `paper-author-paper`, each joined with the next by a relation.
fn types_of(path: &str, relations: &Relations) -> Result<Vec<usize>> {
    let schema = relations.schema();
    let find = |name: &str| {
        let found = schema.types().iter().position(|node_type| node_type.name == name);
        let names = || schema.types().iter().map(|t| &t.name[..]).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| {
            let found = format!("the node type {name} in '{path}'");
            Error::value(SETTING, found, format_args!("types of the graph ({})", names()))
        })
    };
    let types: Vec<usize> = path.split('-').map(find).collect::<Result<_>>()?;
    let joined = |pair: &[usize]| {
        let ends = [(pair[0], pair[1]), (pair[1], pair[0])];
        schema.relations().iter().any(|relation| ends.contains(&(relation.src, relation.dst)))
    };
    if types.len() < 2 || !types.windows(2).all(joined) {
        return Err(Error::value(
            SETTING,
            format_args!("'{path}'"),
            "two or more types, each joined with the next by a relation",
        ));
    }
    Ok(types)
}

fn mean_between(graph: &Graph, relations: &Relations, [from, to]: [usize; 2]) -> Operator {
    let (rows, senders) = (relations.nodes(from), relations.nodes(to));
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for node in 0..graph.n_nodes() {
        let start = columns.len();
        if rows.contains(&node) {
            columns
                .extend(graph.neighbors(node).iter().filter(|&&other| senders.contains(&(other as usize))));
        }
        let count = columns.len() - start;
        values.extend(std::iter::repeat_n((1.0 / count.max(1) as f64) as crate::Real, count));
        offsets.push(columns.len());
    }
    Operator::general(Csr::from_parts(graph.n_nodes(), offsets, columns, Some(values)))
}

fn diagonal(n: usize, value: impl Fn(u32) -> f64) -> Operator {
    let values = (0..n as u32).map(|node| value(node) as crate::Real).collect();
    Operator::symmetric_unchecked(Csr::from_parts(
        n,
        (0..=n).collect(),
        (0..n as u32).collect(),
        Some(values),
    ))
}
