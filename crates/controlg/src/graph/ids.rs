//! Node ids as given in the input: any text.

use std::borrow::Cow;

/// One id per node, in the order of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ids {
    /// The ids are 0, 1, 2, …; nothing is stored.
    Numbered(usize),
    /// Ids as text.
    Named(Vec<String>),
}

impl Ids {
    /// The given ids; they are stored only if they are not 0, 1, 2, ….
    pub fn from_names(names: Vec<String>) -> Self {
        let numbered = names.iter().enumerate().all(|(i, name)| *name == i.to_string());
        if numbered { Ids::Numbered(names.len()) } else { Ids::Named(names) }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Ids::Numbered(n) => *n,
            Ids::Named(names) => names.len(),
        }
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a node.
    pub fn get(&self, node: usize) -> Cow<'_, str> {
        match self {
            Ids::Numbered(_) => Cow::Owned(node.to_string()),
            Ids::Named(names) => Cow::Borrowed(&names[node]),
        }
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Ids::Numbered(_) => 0,
            Ids::Named(names) => names.iter().map(|name| size_of::<String>() + name.len()).sum(),
        }
    }
}
