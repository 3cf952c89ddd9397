//! The columns of the feature matrix: their names, and the same columns in another order.

use std::collections::HashSet;
use std::sync::Arc;

use super::rows::FeatureRows;
use super::{Csr, Dense, Features, Graph};
use crate::error::{Error, Result};

impl Graph {
    /// The names of the feature columns, if the source of the graph has them. They are not part of
    /// [`Graph::fingerprint`].
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// The same graph with named feature columns. [`Graph::with_features`] keeps the names if the number of columns
    /// stays the same.
    ///
    /// # Errors
    /// If there is not one name per column, or if a name is empty, not unique or longer than a line.
    ///
    /// ```
    /// use controlg::graph::{Features, Graph};
    ///
    /// let features = Features::dense(2, 2, vec![31.0, 1.7, 45.0, 1.8])?;
    /// let graph = Graph::from_edges(2, &[(0, 1)], features)?;
    /// let graph = graph.with_feature_names(vec!["age".into(), "height".into()])?;
    /// assert_eq!(graph.feature_names().unwrap(), ["age", "height"]);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn with_feature_names(self, names: Vec<String>) -> Result<Self> {
        match name_problem(&names, self.n_features()) {
            Some(found) => {
                let expected = format!("{} distinct names on one line each", self.n_features());
                Err(Error::value("feature names", found, expected))
            }
            None => Ok(Graph { feature_names: Some(names.into()), ..self }),
        }
    }

    /// This graph with the feature names of another one that has as many columns.
    pub(super) fn named_like(self, other: Option<Arc<[String]>>) -> Self {
        let fits = other.as_ref().is_some_and(|names| names.len() == self.n_features());
        Graph { feature_names: other.filter(|_| fits), ..self }
    }

    /// The same graph with its feature columns, and their names, in another order: column j of the result is column
    /// `order[j]` of this graph.
    ///
    /// # Errors
    /// If `order` does not name every column once.
    pub fn reorder_features(&self, order: &[u32]) -> Result<Self> {
        let n = self.n_features();
        let mut seen = vec![false; n];
        let once =
            |&column: &u32| seen.get_mut(column as usize).is_some_and(|seen| !std::mem::replace(seen, true));
        if order.len() != n || !order.iter().all(once) {
            let found = format!("{} columns", order.len());
            return Err(Error::value("order of features", found, format_args!("each of {n} columns once")));
        }
        let features = match &self.features {
            FeatureRows::InMemory(features) => FeatureRows::InMemory(Arc::new(features.reordered(order))),
            FeatureRows::Stored(stored) => FeatureRows::Stored(Arc::new(stored.with_order(order))),
        };
        let names = self.feature_names().map(|names| order.iter().map(|&from| names[from as usize].clone()));
        Ok(Graph { features, feature_names: names.map(Iterator::collect), ..self.clone() })
    }
}

/// What is wrong with the names of `n` feature columns.
pub(crate) fn name_problem(names: &[String], n: usize) -> Option<String> {
    if names.len() != n {
        return Some(format!("{} names for {n} columns", names.len()));
    }
    let mut seen = HashSet::with_capacity(n);
    names.iter().enumerate().find_map(|(at, name)| match name {
        name if name.is_empty() => Some(format!("no name for column {}", at + 1)),
        name if name.contains(['\n', '\r']) => Some(format!("a line break in the name of column {}", at + 1)),
        name if !seen.insert(name) => Some(format!("two columns named '{name}'")),
        _ => None,
    })
}

impl Features {
    /// The same columns in another order: column j of the result is column `order[j]`.
    pub(super) fn reordered(&self, order: &[u32]) -> Features {
        match self {
            Features::Dense(dense) => {
                let rows = dense.data().chunks_exact(dense.n_cols());
                let data = rows.flat_map(|row| order.iter().map(|&from| row[from as usize])).collect();
                Features::Dense(Dense::from_parts(dense.n_rows(), dense.n_cols(), data))
            }
            Features::Sparse(csr) => {
                let mut target = vec![0u32; csr.n_cols()];
                order.iter().zip(0..).for_each(|(&from, to)| target[from as usize] = to);
                let mut columns = Vec::with_capacity(csr.n_entries());
                let mut values = Vec::with_capacity(csr.n_entries());
                for row in 0..csr.n_rows() {
                    let moved = csr.entries(row).map(|(column, value)| (target[column as usize], value));
                    let mut moved: Vec<_> = moved.collect();
                    moved.sort_unstable_by_key(|&(column, _)| column);
                    columns.extend(moved.iter().map(|&(column, _)| column));
                    values.extend(moved.iter().map(|&(_, value)| value));
                }
                let values = csr.values().is_some().then_some(values);
                Features::Sparse(Csr::from_parts(csr.n_cols(), csr.offsets().to_vec(), columns, values))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn graph(features: Features) -> Graph {
        Graph::from_edges(2, &[(0, 1)], features)
            .unwrap()
            .with_feature_names(names(&["a", "b", "c"]))
            .unwrap()
    }

    #[test]
    fn names_follow_the_columns_and_stay_out_of_the_fingerprint() {
        let dense = Features::dense(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let sparse = Features::sparse(3, vec![0, 2, 3], vec![0, 2, 1], None).unwrap();
        for features in [dense, sparse] {
            let named = graph(features.clone());
            let moved = named.reorder_features(&[2, 0, 1]).unwrap();
            assert_eq!(moved.feature_names().unwrap(), ["c", "a", "b"]);
            for node in 0..2 {
                let value = |graph: &Graph, column: u32| {
                    graph.features().row(node).iter().find(|(at, _)| *at == column).map(|(_, x)| x.to_bits())
                };
                for (to, from) in [2, 0, 1].into_iter().enumerate() {
                    assert_eq!(value(&moved, to as u32), value(&named, from));
                }
            }
            let back = moved.reorder_features(&[1, 2, 0]).unwrap();
            assert_eq!(back.features(), &features);
            let plain = Graph::from_edges(2, &[(0, 1)], features.clone()).unwrap();
            assert_eq!(back.fingerprint(), plain.fingerprint());
            assert_ne!(moved.fingerprint(), plain.fingerprint());
        }
    }

    #[test]
    fn names_stay_if_the_number_of_columns_stays() {
        let features = Features::dense(2, 3, vec![1.0; 6]).unwrap();
        let named = graph(features.clone());
        assert!(named.clone().with_features(features).unwrap().feature_names().is_some());
        assert!(named.resident().unwrap().feature_names().is_some());
        assert!(named.with_adjacency(named.adjacency().clone()).unwrap().feature_names().is_some());
        let narrow = Features::dense(2, 1, vec![1.0; 2]).unwrap();
        assert!(named.with_features(narrow).unwrap().feature_names().is_none());
    }

    #[test]
    fn bad_names_and_orders_are_errors() {
        let plain = Graph::from_edges(2, &[(0, 1)], Features::dense(2, 2, vec![0.0; 4]).unwrap()).unwrap();
        for (bad, found) in [
            (names(&["a"]), "1 names for 2 columns"),
            (names(&["a", "a"]), "two columns named 'a'"),
            (names(&["a", ""]), "no name for column 2"),
            (names(&["a", "b\nc"]), "a line break in the name of column 2"),
        ] {
            let message = plain.clone().with_feature_names(bad).unwrap_err().to_string();
            assert!(message.contains(found), "{message}");
        }
        for bad in [&[0][..], &[0, 0], &[0, 2]] {
            assert!(plain.reorder_features(bad).is_err());
        }
    }
}
