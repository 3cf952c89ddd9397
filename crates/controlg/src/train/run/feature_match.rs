//! Compares the features of a graph with those that a model was trained on.
//!
//! Columns are compared by name if both sides have names: the same names in another order are reordered, missing or
//! other names are an error. Without names, only the number of columns is compared.

use std::collections::HashMap;
use std::path::Path;

use super::safetensors::TensorFile;
use crate::error::{Error, Result};
use crate::graph::Graph;

/// Metadata keys: the number of features, and their names as a JSON array.
const FEATURES: &str = "features";
const FEATURE_NAMES: &str = "feature_names";

/// Metadata key and value of a model that was trained on structural features.
const FEATURE_SOURCE: &str = "feature_source";
const STRUCTURAL: &str = "structural";

/// Metadata key: the node types and relations.
const SCHEMA: &str = "schema";

/// Names shown in an error.
const SHOWN: usize = 5;

/// A graph whose feature columns are those of a model, in the model's order.
#[derive(Clone, Debug)]
pub struct MatchedGraph {
    /// The graph.
    pub graph: Graph,
    /// What was changed, for the user; `None` if the columns were already in order.
    pub note: Option<String>,
}

/// Stores the number of features and their names in the metadata of a model.
pub(in crate::train) fn write_features(tensors: &mut TensorFile<'_>, graph: &Graph) {
    tensors.metadata.insert(FEATURES.to_owned(), graph.n_features().to_string());
    if let Some(relations) = graph.relations() {
        tensors.metadata.insert(SCHEMA.to_owned(), relations.schema().to_string());
    }
    if let Some(names) = graph.feature_names() {
        tensors.metadata.insert(FEATURE_NAMES.to_owned(), serde_json::json!(names).to_string());
    }
}

/// Notes in the metadata of a model that it was trained on structural features.
pub(in crate::train) fn mark_structural(tensors: &mut TensorFile<'_>) {
    tensors.metadata.insert(FEATURE_SOURCE.to_owned(), STRUCTURAL.to_owned());
}

/// Whether a model was trained on structural features.
pub(in crate::train) fn is_structural(tensors: &TensorFile<'_>) -> bool {
    tensors.metadata.get(FEATURE_SOURCE).is_some_and(|source| source == STRUCTURAL)
}

/// The names of the features that a model was trained on; `None` if they had none, and in models of version 0.1.
pub(in crate::train) fn trained_names(path: &Path, tensors: &TensorFile<'_>) -> Result<Option<Vec<String>>> {
    let Some(text) = tensors.metadata.get(FEATURE_NAMES) else { return Ok(None) };
    let names: Vec<String> = serde_json::from_str(text)
        .map_err(|error| Error::input(path, FEATURE_NAMES, error, "a JSON array of names"))?;
    let width = trained_width(path, tensors)?;
    if names.len() != width {
        let expected = format!("{width}, one per feature");
        return Err(Error::input(path, FEATURE_NAMES, format_args!("{} names", names.len()), expected));
    }
    Ok(Some(names))
}

/// The number of features that a model was trained on.
fn trained_width(path: &Path, tensors: &TensorFile<'_>) -> Result<usize> {
    let width = tensors.metadata.get(FEATURES).and_then(|text| text.parse::<usize>().ok());
    width.ok_or_else(|| Error::input(path, FEATURES, "nothing", "the number of features"))
}

/// The graph with the feature columns of the model. Fails if it has other features.
pub(in crate::train) fn match_features(
    path: &Path,
    tensors: &TensorFile<'_>,
    graph: &Graph,
) -> Result<MatchedGraph> {
    let width = trained_width(path, tensors)?;
    let schema = graph.relations().map(|relations| relations.schema().to_string());
    if tensors.metadata.get(SCHEMA) != schema.as_ref() {
        let describe = |schema: Option<&String>| schema.cloned().unwrap_or_else(|| "no types".to_owned());
        let expected =
            format!("{}, as {} was trained on", describe(tensors.metadata.get(SCHEMA)), path.display());
        return Err(Error::value("graph", describe(schema.as_ref()), expected));
    }
    if is_structural(tensors) && !graph.has_features_from_edges() {
        let expected = format!("structural features, as {} was trained on", path.display());
        return Err(Error::value("features", "given features", expected));
    }
    let order = match (trained_names(path, tensors)?, graph.feature_names()) {
        (Some(trained), Some(names)) => order_of(&trained, names).map_err(|found| {
            let expected = format!("the {width} columns that {} was trained on", path.display());
            Error::value("features", found, expected)
        })?,
        _ if graph.n_features() != width => {
            let expected = format!("{width}, as in the graph that {} was trained on", path.display());
            return Err(Error::value("features", format_args!("{} columns", graph.n_features()), expected));
        }
        _ => (0..width as u32).collect(),
    };
    let moved = order.iter().zip(0..).filter(|&(&from, to)| from != to).count();
    if moved == 0 {
        return Ok(MatchedGraph { graph: graph.clone(), note: None });
    }
    let note = format!("{moved} of {width} feature columns were put into the order of the run, by name");
    Ok(MatchedGraph { graph: graph.reorder_features(&order)?, note: Some(note) })
}

/// The place in `names` of each trained name; else what differs, for an error.
fn order_of(trained: &[String], names: &[String]) -> std::result::Result<Vec<u32>, String> {
    let places: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let order: Option<Vec<u32>> = trained.iter().map(|name| places.get(name.as_str()).copied()).collect();
    match order {
        Some(order) if trained.len() == names.len() => Ok(order),
        _ => {
            let known: HashMap<&str, u32> = trained.iter().map(String::as_str).zip(0..).collect();
            let lacking = |of: &[String], known: &HashMap<&str, u32>| {
                let names = of.iter().filter(|name| !known.contains_key(name.as_str()));
                listed(&names.map(String::as_str).collect::<Vec<_>>())
            };
            let parts = [("no column", lacking(trained, &places)), ("other columns", lacking(names, &known))];
            let parts = parts.into_iter().filter_map(|(what, names)| Some(format!("{what} {}", names?)));
            Err(parts.collect::<Vec<_>>().join(" and "))
        }
    }
}

/// The first names and how many more there are: `'a', 'b' (and 7 more)`; `None` if there are none.
fn listed(names: &[&str]) -> Option<String> {
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    (!names.is_empty()).then(|| shown.join(", ") + &more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Features;

    fn graph(names: &[&str]) -> Graph {
        let n = names.len();
        let data = (0..2 * n).map(|i| i as crate::Real).collect();
        let graph = Graph::from_edges(2, &[(0, 1)], Features::dense(2, n, data).unwrap()).unwrap();
        graph.with_feature_names(names.iter().map(|&name| name.to_owned()).collect()).unwrap()
    }

    fn matched(trained: &[&str], names: &[&str]) -> Result<MatchedGraph> {
        let mut tensors = TensorFile::default();
        write_features(&mut tensors, &graph(trained));
        match_features(Path::new("m"), &tensors, &graph(names))
    }

    #[test]
    fn the_same_names_in_another_order_are_reordered() {
        let same = matched(&["a", "b", "c"], &["a", "b", "c"]).unwrap();
        assert!(same.note.is_none());
        let moved = matched(&["a", "b", "c"], &["c", "b", "a"]).unwrap();
        assert_eq!(moved.graph.feature_names().unwrap(), ["a", "b", "c"]);
        assert_eq!(moved.graph.features().row(0), [(0, 2.0), (1, 1.0)]);
        let note = moved.note.unwrap();
        assert_eq!(note, "2 of 3 feature columns were put into the order of the run, by name");
    }

    #[test]
    fn missing_and_other_names_are_named() {
        let message = |names: &[&str]| matched(&["a", "b"], names).unwrap_err().to_string();
        assert_eq!(
            message(&["a", "x"]),
            "features: found no column 'b' and other columns 'x', expected the 2 columns that m was trained on"
        );
        assert_eq!(
            message(&["b"]),
            "features: found no column 'a', expected the 2 columns that m was trained on"
        );
        let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        assert!(
            message(&many).contains("found other columns 'c', 'd', 'e', 'f', 'g' (and 2 more), expected")
        );
    }

    #[test]
    fn without_names_on_one_side_only_the_number_counts() {
        let mut tensors = TensorFile::default();
        write_features(&mut tensors, &graph(&["a", "b"]));
        let plain = |n: usize| {
            Graph::from_edges(2, &[(0, 1)], Features::dense(2, n, vec![1.0; 2 * n]).unwrap()).unwrap()
        };
        assert!(match_features(Path::new("m"), &tensors, &plain(2)).unwrap().note.is_none());
        let error = match_features(Path::new("m"), &tensors, &plain(3)).unwrap_err().to_string();
        assert_eq!(error, "features: found 3 columns, expected 2, as in the graph that m was trained on");
        tensors.metadata.remove(FEATURE_NAMES);
        assert!(match_features(Path::new("m"), &tensors, &graph(&["b", "a"])).unwrap().note.is_none());
        tensors.metadata.insert(FEATURE_NAMES.to_owned(), "[\"a\"]".to_owned());
        assert!(match_features(Path::new("m"), &tensors, &plain(2)).is_err());
    }
}
