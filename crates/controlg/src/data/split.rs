//! Which nodes, or edges, train, choose and judge.

/// One split of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The protocol it belongs to.
    pub protocol: String,
    /// Its number among the splits of that protocol: a file's number, or the seed of a random one.
    pub index: usize,
    /// Nodes a probe is fitted on, ascending.
    pub train: Vec<u32>,
    /// Nodes settings are chosen on, ascending.
    pub val: Vec<u32>,
    /// Nodes that judge, ascending.
    pub test: Vec<u32>,
}

/// One split of the edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeSplit {
    /// Edges that remain in the graph.
    pub train: Vec<(u32, u32)>,
}
