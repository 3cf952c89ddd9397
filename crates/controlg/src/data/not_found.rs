//! Errors about names and paths that lead to no graph, with what is there instead.

use std::path::Path;

use super::{FORMATS, binary, catalog, folder, table};
use crate::error::{Error, nearest};
use crate::files::first_names;

/// The error for a name that is neither a known data set nor a path.
pub(super) fn no_data(name: &str) -> Error {
    let path = Path::new(name);
    if !looks_like_a_path(name) {
        let here = entries(Path::new("."));
        let known = here.iter().map(String::as_str).chain(catalog::names().map(|name| -> &str { name }));
        let near = nearest(name, known);
        let expected = match near {
            Some(near) => format!("the name of a data set or the path of a graph; did you mean '{near}'?"),
            None => {
                format!("the path of a graph or one of {}", catalog::names().collect::<Vec<_>>().join(", "))
            }
        };
        let found = "no data set of this name, and no folder or file here";
        return Error::value(format_args!("data '{name}'"), found, expected);
    }
    let mut expected = "the folder or file of a graph".to_owned();
    if name.starts_with('~') {
        expected += "; ~ is the home folder only where the shell replaces it";
    } else if let Some(near) = near_sibling(path) {
        expected += &format!("; did you mean '{near}'?");
    }
    Error::input(path, "", "no such file or folder", expected)
}

/// Whether a user means a path rather than a name: it has a separator, an extension, or starts with . or ~.
fn looks_like_a_path(name: &str) -> bool {
    name.contains(['/', '\\', '.']) || name.starts_with('~')
}

/// The path in the same folder whose name is most similar.
fn near_sibling(path: &Path) -> Option<String> {
    let parent = match path.parent()? {
        parent if parent == Path::new("") => Path::new("."),
        parent => parent,
    };
    let siblings = entries(parent);
    let name = path.file_name()?.to_string_lossy();
    let near = nearest(&name, siblings.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// The error for a folder or file of no known format: what the folder has, and what is needed.
pub(super) fn no_format(path: &Path) -> Error {
    // What most people have comes first.
    let mut formats: Vec<_> = FORMATS.iter().collect();
    formats.sort_by_key(|format| format.name != folder::FORMAT.name);
    let known: Vec<_> = formats.iter().map(|format| format.summary).chain([binary::SUMMARY]).collect();
    let expected = known.join("; or ");
    if !path.is_dir() {
        return Error::input(path, "", "an unknown format", expected);
    }
    let there = entries(path);
    let found = match &there[..] {
        [] => "an empty folder".to_owned(),
        there => format!("no edges file; the folder has {}", first_names(there)),
    };
    let is_near = |name: &&String| {
        let name = name.to_lowercase();
        table::is_table(Path::new(&name)) && ["edge", "link"].iter().any(|word| name.contains(word))
    };
    let near: Vec<&String> = there.iter().filter(is_near).collect();
    match near[..] {
        [near] => {
            let extension = near.split_once('.').map_or("", |(_, extension)| extension);
            let hint = format!("rename {near} to edges.{extension} if it has the edges");
            Error::input(path, "", found, format_args!("{expected}; {hint}"))
        }
        _ => Error::input(path, "", found, expected),
    }
}

/// The names in a folder, sorted, without hidden ones.
fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_names() {
        for path in ["./graph", "data/graph", "..", "~/graph", "graph.csv", "C:\\graph"] {
            assert!(looks_like_a_path(path), "{path}");
        }
        for name in ["coar", "my-graph", "synthetic:nodes=5"] {
            assert!(!looks_like_a_path(name), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_neither_lists_both_possibilities() {
        let message = no_data("coar").to_string();
        assert!(
            message.starts_with("data 'coar': found no data set of this name, and no folder or file here")
        );
        assert!(message.ends_with("did you mean 'cora'?"), "{message}");
        let message = no_data("zzz").to_string();
        assert!(message.contains("the path of a graph or one of cora, citeseer"), "{message}");
    }

    #[test]
    fn a_mistyped_path_suggests_its_neighbor() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("my-graph")).unwrap();
        let wrong = home.path().join("my-grph");
        let message = no_data(wrong.to_str().unwrap()).to_string();
        let near = home.path().join("my-graph");
        assert!(message.contains("my-grph: found no such file or folder"), "{message}");
        assert!(message.ends_with(&format!("did you mean '{}'?", near.display())), "{message}");
        assert!(no_data("~/nowhere").to_string().contains("~ is the home folder only where the shell"));
    }
}
