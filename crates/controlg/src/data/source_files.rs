//! The files that a data set is read from, for engines that copy them to other machines.

use std::path::{Component, Path, PathBuf};

use super::{LoadOptions, catalog, folder, synthetic};
use crate::error::{Error, Result};

/// Folders in folders are followed this far; no format has more. A link to a folder above would have no end.
const MAX_DEPTH: usize = 4;

/// The files of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFiles {
    /// The folder that holds them.
    pub folder: PathBuf,
    /// Their paths in it, sorted.
    pub files: Vec<PathBuf>,
    /// What [`LoadOptions::copy`] is in a copy of the folder: a file, or empty for the folder itself.
    pub entry: PathBuf,
}

impl SourceFiles {
    /// The files of a data set by its name or path; `None` if it is generated.
    pub fn find(name_or_path: &str, options: &LoadOptions) -> Result<Option<SourceFiles>> {
        if synthetic::settings_of(name_or_path).is_some() {
            return Ok(None);
        }
        if let Some(known) = catalog::find(name_or_path) {
            let folder = known.folder(options)?;
            let present = known.files.iter().map(|file| PathBuf::from(file.path));
            let mut files: Vec<PathBuf> = present.filter(|file| folder.join(file).is_file()).collect();
            files.sort();
            return Ok(Some(SourceFiles { folder, files, entry: PathBuf::new() }));
        }
        let path = options.copy.as_deref().unwrap_or(Path::new(name_or_path));
        if path.is_dir() {
            let files = files_below(path)?;
            return Ok(Some(SourceFiles { folder: path.to_owned(), files, entry: PathBuf::new() }));
        }
        let entry = path.components().next_back().and_then(|last| match last {
            Component::Normal(name) => Some(PathBuf::from(name)),
            _ => None,
        });
        let entry = entry.ok_or_else(|| Error::input(path, "", "a path without a name", "a graph"))?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        // The description of a graph names other files of its folder.
        let described = (folder::graphstorm::FORMAT.recognize)(path);
        let files = if described { files_below(&folder)? } else { vec![entry.clone()] };
        Ok(Some(SourceFiles { folder, files, entry }))
    }
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(folder, Path::new(""), 0, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, below: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let here = folder.join(below);
    let failed = |error| Error::io(format_args!("reading {}", here.display()), error);
    for entry in std::fs::read_dir(&here).map_err(failed)? {
        let name = below.join(entry.map_err(failed)?.file_name());
        let path = folder.join(&name);
        if path.is_file() {
            files.push(name);
        } else if path.is_dir() && depth < MAX_DEPTH {
            collect(folder, &name, depth + 1, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, FeatureSource};

    fn names(found: &SourceFiles) -> Vec<&str> {
        found.files.iter().filter_map(|file| file.to_str()).collect()
    }

    fn find(path: &Path) -> SourceFiles {
        SourceFiles::find(path.to_str().unwrap(), &LoadOptions::default()).unwrap().unwrap()
    }

    #[test]
    fn a_copy_of_the_files_loads_as_the_data_set() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("graph");
        std::fs::create_dir_all(folder.join("more")).unwrap();
        std::fs::write(folder.join("edges.csv"), "src,dst\na,b\nb,c\n").unwrap();
        std::fs::write(folder.join("labels.csv"), "id,label\na,x\nb,y\nc,x\n").unwrap();
        std::fs::write(folder.join("more/notes.txt"), "").unwrap();
        let whole = find(&folder);
        assert_eq!(names(&whole), ["edges.csv", "labels.csv", "more/notes.txt"]);
        assert_eq!((whole.folder.as_path(), whole.entry.as_path()), (folder.as_path(), Path::new("")));
        let alone = find(&folder.join("edges.csv"));
        assert_eq!((names(&alone), alone.entry.as_path()), (vec!["edges.csv"], Path::new("edges.csv")));

        let copy = home.path().join("elsewhere");
        std::fs::rename(&folder, &copy).unwrap();
        let load = |copy: PathBuf| {
            let options = LoadOptions { copy: Some(copy), ..LoadOptions::default() };
            data::load(folder.to_str().unwrap(), &options).unwrap()
        };
        let from_copy = load(copy.join(&whole.entry));
        let direct = data::load_path(&copy, FeatureSource::Given).unwrap();
        assert_eq!(from_copy.fingerprint(), direct.fingerprint());
        assert!(load(copy.join(&alone.entry)).labels.is_none());
    }

    #[test]
    fn known_data_sets_have_files_and_generated_ones_none() {
        let home = tempfile::tempdir().unwrap();
        let options = LoadOptions { data_dir: Some(home.path().to_owned()), ..LoadOptions::default() };
        assert_eq!(SourceFiles::find("synthetic:nodes=100", &options).unwrap(), None);
        let known = catalog::find("chameleon").unwrap();
        let folder = known.folder_in(home.path());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(known.files[0].path), "").unwrap();
        std::fs::write(folder.join("unrelated"), "").unwrap();
        let found = SourceFiles::find("chameleon", &options).unwrap().unwrap();
        assert_eq!((names(&found), &found.folder), (vec![known.files[0].path], &folder));
    }

    #[test]
    fn a_description_comes_with_the_files_of_its_folder() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("graph.json"), r#"{"nodes": [{"node_type": "paper"}]}"#).unwrap();
        std::fs::write(home.path().join("papers.csv"), "id\n1\n").unwrap();
        let found = find(&home.path().join("graph.json"));
        assert_eq!(names(&found), ["graph.json", "papers.csv"]);
        assert_eq!(found.entry, Path::new("graph.json"));
    }
}
