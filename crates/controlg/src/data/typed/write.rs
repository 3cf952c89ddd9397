//! Writing a graph with types as a folder of tables per type and relation (see `data/folder/typed.rs`).
//!
//! Reading the folder back gives the same types, relations, features, labels and splits, with the types in alphabetical order. A
//! directed relation needs `directed` again.

use std::fs;
use std::path::Path;

use crate::data::atomic_folder::{AtomicFolder, check_new_or_empty, writing};
use crate::data::convert::{check_cells, write_splits, write_table};
use crate::data::{Dataset, Labels};
use crate::error::{Error, Result};
use crate::graph::{Features, Graph, Relations, TypeFeatures};

/// Writes a data set with types into a new or empty folder.
pub(in crate::data) fn to_folder(dataset: &Dataset, relations: &Relations, out: &Path) -> Result<()> {
    check_new_or_empty(out)?;
    let graph = &dataset.graph;
    check_cells("id", (0..graph.n_nodes()).map(|node| graph.ids().get(node)))?;
    check_names(relations)?;
    let folder = AtomicFolder::create(out)?;
    for part in ["nodes", "edges"] {
        let path = folder.path(part);
        fs::create_dir(&path).map_err(|error| writing(&path, error))?;
    }
    for node_type in 0..relations.schema().types().len() {
        let name = &relations.schema().types()[node_type].name;
        let path = folder.path(&format!("nodes/{name}.csv"));
        write_nodes(graph, relations, node_type, dataset.labels.as_ref(), &path)?;
    }
    for relation in 0..relations.schema().relations().len() {
        let name = relations.schema().relation_name(relation);
        write_edges(graph, relations, relation, &folder.path(&format!("edges/{name}.csv")))?;
    }
    if !dataset.splits.is_empty() {
        write_splits(graph.ids(), &dataset.splits, &folder.path("splits.csv"))?;
    }
    folder.publish(out)
}

/// Checks that the names of types and relations can be told from the names of files.
fn check_names(relations: &Relations) -> Result<()> {
    let schema = relations.schema();
    let is_plain = |name: &str, forbidden: &[char]| {
        !name.is_empty() && !name.contains(forbidden) && !name.contains(char::is_control)
    };
    let types = schema.types().iter().map(|node_type| (&node_type.name, &['-', '/', '\\', '.'][..]));
    let relations = schema.relations().iter().map(|relation| (&relation.name, &['/', '\\', '.'][..]));
    match types.chain(relations).find(|(name, forbidden)| !is_plain(name, forbidden)) {
        None => Ok(()),
        Some((name, forbidden)) => {
            let marks: Vec<String> = forbidden.iter().map(ToString::to_string).collect();
            let expected = format!("a name for a file, without {}", marks.join(" "));
            Err(Error::value("node types and relations", format_args!("'{name}'"), expected))
        }
    }
}

/// The id of a node within its type.
fn local_id(graph: &Graph, relations: &Relations, node: usize) -> String {
    let id = graph.ids().get(node);
    let name = &relations.schema().types()[relations.type_of(node as u32)].name;
    let local = id.strip_prefix(&name[..]).and_then(|rest| rest.strip_prefix(':'));
    // A graph with one type keeps its ids.
    local.filter(|_| relations.schema().types().len() > 1).unwrap_or(&id).to_owned()
}

fn write_nodes(
    graph: &Graph,
    relations: &Relations,
    node_type: usize,
    labels: Option<&Labels>,
    path: &Path,
) -> Result<()> {
    let nodes = relations.nodes(node_type);
    let has_features = relations.schema().types()[node_type].features == TypeFeatures::Given
        && (graph.has_blocks() || !graph.has_features_from_edges());
    let features = has_features
        .then(|| if graph.has_blocks() { graph.block(node_type) } else { graph.features().clone() });
    let labels = labels.filter(|labels| nodes.clone().any(|node| labels.get(node).is_some()));
    write_table(path, |table| {
        let width = features.as_ref().map_or(0, Features::n_cols);
        let mut head = vec!["id".to_owned()];
        head.extend(labels.map(|_| "label".to_owned()));
        head.extend((0..width).map(|column| format!("f{column}")));
        table.write_record(&head)?;
        let zero = "0".to_owned();
        for (row, node) in nodes.clone().enumerate() {
            let mut cells = vec![local_id(graph, relations, node)];
            if let Some(labels) = labels {
                cells.push(
                    labels.get(node).map_or(String::new(), |class| labels.names()[class as usize].clone()),
                );
            }
            let first = cells.len();
            cells.resize(first + width, zero.clone());
            for (column, x) in features.iter().flat_map(|features| features.row(row)) {
                cells[first + column as usize] = x.to_string();
            }
            table.write_record(&cells)?;
        }
        Ok(())
    })
}

/// Writes every edge of a relation once, from its source to its destination.
fn write_edges(graph: &Graph, relations: &Relations, relation: usize, path: &Path) -> Result<()> {
    let directions = relations.schema().directions();
    let forward =
        directions.iter().position(|direction| direction.relation == relation).expect("a direction");
    let both_ways = directions.get(forward + 1).is_none_or(|next| next.relation != relation);
    let adjacency = graph.adjacency();
    write_table(path, |table| {
        table.write_record(["src", "dst"])?;
        for receiver in 0..graph.n_nodes() {
            for at in adjacency.offsets()[receiver]..adjacency.offsets()[receiver + 1] {
                let sender = adjacency.columns()[at] as usize;
                let is_edge = relations.directions_at(at).contains(&(forward as u16));
                if is_edge && !(both_ways && sender > receiver) {
                    let ends = [sender, receiver].map(|node| local_id(graph, relations, node));
                    table.write_record(&ends)?;
                }
            }
        }
        Ok(())
    })
}
