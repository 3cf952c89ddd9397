//! Benchmark data sets by name: description, source, license, files and format.

mod files;

use std::env;
use std::path::{Path, PathBuf};

use super::fetch::{Checksum, RemoteFile};
use super::{Dataset, FeatureSource, Format, LoadOptions, assemble};
use super::{geom_gcn, gnn_benchmark, heterophilous, ogb, planetoid, typed, wikics};
use crate::error::{Error, Result};
use crate::registry::EntrySummary;

/// A data set in the catalog.
pub struct KnownDataset {
    /// The name.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The paper that introduced it; empty if there is none.
    pub paper: &'static str,
    /// The license, as far as it is known.
    pub license: &'static str,
    /// Known problems of the data; empty if there are none.
    pub notes: &'static str,
    /// The default protocol for node classification.
    pub protocol: &'static str,
    /// The version without duplicate nodes, if there is one.
    pub filtered: Option<&'static str>,
    /// The files, in the folder of the data set.
    pub files: &'static [RemoteFile<'static>],
    /// The file with the features only, if there is one. Structural features do not need it.
    pub feature_file: Option<&'static str>,
    /// The folder within the data folder; empty if it has the name of the data set.
    folder: &'static str,
    /// The path given to the reader, relative to the folder; empty for the folder itself.
    entry: &'static str,
    /// The file format; `None` if the graph is generated.
    format: Option<&'static Format>,
}

/// All data sets in the catalog.
pub const ALL: &[KnownDataset] = &[
    KnownDataset {
        name: "cora",
        summary: "citations among machine-learning papers, 2708 nodes, 7 classes",
        files: files::CORA,
        ..PLANETOID
    },
    KnownDataset {
        name: "citeseer",
        summary: "citations among computer-science papers, 3327 nodes, 6 classes",
        files: files::CITESEER,
        ..PLANETOID
    },
    KnownDataset {
        name: "pubmed",
        summary: "citations among papers on diabetes, 19717 nodes, 3 classes",
        files: files::PUBMED,
        ..PLANETOID
    },
    KnownDataset {
        name: "chameleon",
        summary: "links among Wikipedia pages on chameleons, 2277 nodes, 5 classes, heterophilous",
        notes: "many nodes are duplicates, which leak labels from training to test nodes; chameleon-filtered \
                (Platonov et al., ICLR 2023) is without them",
        files: files::CHAMELEON,
        filtered: Some("chameleon-filtered"),
        ..WIKIPEDIA
    },
    KnownDataset {
        name: "chameleon-filtered",
        summary: "chameleon without duplicate nodes, 5 classes, heterophilous",
        files: files::CHAMELEON_FILTERED,
        entry: "chameleon_filtered.npz",
        ..FILTERED
    },
    KnownDataset {
        name: "squirrel",
        summary: "links among Wikipedia pages on squirrels, 5201 nodes, 5 classes, heterophilous",
        notes: "many nodes are duplicates, which leak labels from training to test nodes; squirrel-filtered \
                (Platonov et al., ICLR 2023) is without them",
        files: files::SQUIRREL,
        filtered: Some("squirrel-filtered"),
        ..WIKIPEDIA
    },
    KnownDataset {
        name: "squirrel-filtered",
        summary: "squirrel without duplicate nodes, 5 classes, heterophilous",
        files: files::SQUIRREL_FILTERED,
        entry: "squirrel_filtered.npz",
        ..FILTERED
    },
    KnownDataset {
        name: "actor",
        summary: "actors who appear on the same Wikipedia page, 7600 nodes, 5 classes, heterophilous",
        paper: "Tang et al., Social Influence Analysis in Large-Scale Networks, KDD 2009; splits of Pei et al., ICLR 2020",
        license: "none known",
        files: files::ACTOR,
        ..WIKIPEDIA
    },
    KnownDataset {
        name: "wikics",
        summary: "links among Wikipedia articles on computer science, 11701 nodes, 10 classes",
        paper: "Mernyei and Cangea, Wiki-CS: A Wikipedia-Based Benchmark for Graph Neural Networks, 2020",
        license: "MIT",
        notes: "",
        protocol: "wikics-20",
        filtered: None,
        files: files::WIKICS,
        feature_file: None,
        folder: "",
        entry: "data.json",
        format: Some(&wikics::FORMAT),
    },
    KnownDataset {
        name: "coauthor-cs",
        summary: "co-authors of computer-science papers, 18333 nodes, 15 classes",
        paper: "Shchur et al., Pitfalls of Graph Neural Network Evaluation, 2018",
        license: "MIT (repository); data from the Microsoft Academic Graph",
        notes: "",
        protocol: "random-10-10-80",
        filtered: None,
        files: files::COAUTHOR_CS,
        feature_file: None,
        folder: "",
        entry: "ms_academic_cs.npz",
        format: Some(&gnn_benchmark::FORMAT),
    },
    KnownDataset {
        name: "ogbn-arxiv",
        summary: "citations among computer-science papers on arXiv, 169343 nodes, 40 classes",
        paper: "Hu et al., Open Graph Benchmark: Datasets for Machine Learning on Graphs, NeurIPS 2020",
        license: "ODC-BY 1.0",
        notes: "",
        protocol: "ogb-time",
        filtered: None,
        files: files::OGBN_ARXIV,
        feature_file: Some("raw/node-feat.csv.gz"),
        folder: "",
        entry: "",
        format: Some(&ogb::FORMAT),
    },
    KnownDataset {
        name: "acm",
        summary: "papers with authors and subjects, 11246 nodes, 2 relations, 3 classes of papers",
        files: files::ACM,
        folder: "hetero/acm",
        ..HECO
    },
    KnownDataset {
        name: "dblp",
        summary: "papers with authors, terms and conferences, 26128 nodes, 3 relations, 4 classes of authors",
        files: files::DBLP,
        folder: "hetero/dblp",
        ..HECO
    },
    KnownDataset {
        name: "imdb",
        summary: "movies with directors and actors, 11616 nodes, 2 relations, 3 classes of movies",
        paper: "Fu et al., MAGNN: Metapath Aggregated Graph Neural Network for Heterogeneous Graph Embedding, WWW 2020",
        protocol: "magnn-400",
        files: files::IMDB,
        folder: "hetero/imdb",
        format: Some(&typed::magnn::FORMAT),
        ..HECO
    },
    KnownDataset {
        name: "synthetic",
        summary: "a generated graph about the size of cora; synthetic:nodes=…,degree=… for other sizes",
        paper: "",
        license: "same as controlg",
        notes: "",
        protocol: "random-10-10-80",
        filtered: None,
        files: &[],
        feature_file: None,
        folder: "",
        entry: "",
        format: None,
    },
];

const PLANETOID: KnownDataset = KnownDataset {
    name: "",
    summary: "",
    paper: "Sen et al., Collective Classification in Network Data, 2008; splits of Yang et al., ICML 2016",
    license: "MIT (repository); none known for the data",
    notes: "",
    protocol: "planetoid-public",
    filtered: None,
    files: &[],
    feature_file: None,
    folder: "",
    entry: "",
    format: Some(&planetoid::FORMAT),
};

const HECO: KnownDataset = KnownDataset {
    paper: "Wang et al., Self-supervised Heterogeneous Graph Neural Network with Co-contrastive Learning, KDD 2021",
    license: "none known",
    protocol: "per-class-20",
    format: Some(&typed::heco::FORMAT),
    ..PLANETOID
};

const WIKIPEDIA: KnownDataset = KnownDataset {
    paper: "Rozemberczki et al., Multi-Scale Attributed Node Embedding, 2021; splits of Pei et al., ICLR 2020",
    license: "GPL-3.0 (repository of the source data)",
    protocol: "geomgcn-10",
    format: Some(&geom_gcn::FORMAT),
    ..PLANETOID
};

const FILTERED: KnownDataset = KnownDataset {
    paper: "Platonov et al., A critical look at the evaluation of GNNs under heterophily, ICLR 2023",
    protocol: "platonov-10",
    format: Some(&heterophilous::FORMAT),
    ..WIKIPEDIA
};

impl KnownDataset {
    /// The entry of `controlg list datasets`.
    pub fn summary(&self) -> EntrySummary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        EntrySummary { name: self.name, summary: self.summary, paper }
    }

    /// The name of the file format; `None` if the graph is generated.
    pub fn format(&self) -> Option<&'static str> {
        self.format.map(|format| format.name)
    }

    /// The folder of its files in the data folder.
    pub fn folder_in(&self, data_dir: &Path) -> PathBuf {
        data_dir.join(if self.folder.is_empty() { self.name } else { self.folder })
    }

    /// The required files that do not exist.
    pub fn missing(&self, data_dir: &Path) -> Vec<&'static RemoteFile<'static>> {
        self.missing_in(&self.folder_in(data_dir))
    }

    fn missing_in(&self, folder: &Path) -> Vec<&'static RemoteFile<'static>> {
        self.files.iter().filter(|file| file.required && !folder.join(file.path).is_file()).collect()
    }

    /// Whether only the file of features is missing, so that the graph loads with structural features.
    pub fn lacks_only_features(&self, data_dir: &Path) -> bool {
        let missing = self.missing(data_dir);
        !missing.is_empty() && missing.iter().all(|file| Some(file.path) == self.feature_file)
    }

    /// The version without duplicate nodes, if there is one and its files exist.
    pub fn filtered_in(&self, data_dir: &Path) -> Option<&'static KnownDataset> {
        self.filtered.and_then(find).filter(|known| known.missing(data_dir).is_empty())
    }

    /// The folder of its files: the copy, or the one in the data folder ([`data_dir`]).
    pub fn folder(&self, options: &LoadOptions) -> Result<PathBuf> {
        options.copy.clone().map_or_else(|| Ok(self.folder_in(&data_dir(options)?)), Ok)
    }

    /// Loads the data set from [its folder](KnownDataset::folder).
    pub fn load(&self, options: &LoadOptions) -> Result<Dataset> {
        let Some(format) = self.format else {
            return Err(Error::value(
                "data set",
                format_args!("'{}', which has no files", self.name),
                "a data set with files",
            ));
        };
        let folder = self.folder(options)?;
        self.check_files(&folder, options.features)?;
        let path = if self.entry.is_empty() { folder } else { folder.join(self.entry) };
        let raw = (format.read)(&path, options.features)?;
        let raw = if options.directed { raw.directed() } else { raw };
        let mut dataset = assemble(self.name.to_owned(), format.name, raw, options.features)?;
        if !self.notes.is_empty() {
            dataset.notes.push(self.notes.to_owned());
        }
        Ok(dataset)
    }

    /// Checks that all required files exist. The error says how to get the first missing one.
    fn check_files(&self, folder: &Path, features: FeatureSource) -> Result<()> {
        let optional = Some(self.feature_file).filter(|_| features == FeatureSource::Structural).flatten();
        let missing = self.missing_in(folder);
        let Some(file) = missing.iter().find(|file| Some(file.path) != optional) else { return Ok(()) };
        let path = folder.join(file.path);
        let by_hand = file.origin.by_hand(&path);
        let mut expected = match file.check {
            Checksum::Unknown => format!("a file: {by_hand}"),
            _ => format!("a file; run `controlg data fetch {}`, or {by_hand}", self.name),
        };
        if Some(file.path) == self.feature_file {
            expected += "; or use `--features structural`, which does not need it";
        }
        Err(Error::input(&path, "", "no such file", expected))
    }
}

/// The data set with this name.
pub fn find(name: &str) -> Option<&'static KnownDataset> {
    ALL.iter().find(|known| known.name == name)
}

/// All names, in the order of [`ALL`].
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|known| known.name)
}

/// Inserts, after each data set with duplicate nodes, its filtered version if its files exist. Returns the pairs.
pub fn add_filtered(
    names: &mut Vec<String>,
    data_dir: &Path,
) -> Vec<(&'static KnownDataset, &'static KnownDataset)> {
    let mut added = Vec::new();
    for known in ALL {
        let Some(at) = names.iter().position(|name| name == known.name) else { continue };
        let Some(filtered) = known.filtered_in(data_dir) else { continue };
        if !names.iter().any(|name| name == filtered.name) {
            names.insert(at + 1, filtered.name.to_owned());
            added.push((known, filtered));
        }
    }
    added
}

/// The folder that holds the data sets: `options.data_dir`, else `$CONTROLG_DATA`, else the user's cache folder.
pub fn data_dir(options: &LoadOptions) -> Result<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    options.data_dir.clone().map_or_else(|| folder_from(variable), Ok)
}

fn folder_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    let in_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    let home_cache = || variable("HOME").map(|home| home.join(in_home));
    let cache = || {
        if cfg!(windows) { variable("LOCALAPPDATA") } else { variable("XDG_CACHE_HOME").or_else(home_cache) }
    };
    variable("CONTROLG_DATA").or_else(|| cache().map(|folder| folder.join("controlg"))).ok_or_else(|| {
        Error::value("data folder", "neither $CONTROLG_DATA nor a home folder", "one of them, or --data-dir")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_entry_is_complete() {
        let names: HashSet<_> = names().collect();
        assert_eq!(names.len(), 15);
        for known in ALL {
            assert!(find(known.name).is_some() && !known.summary.is_empty() && !known.license.is_empty());
            assert_eq!(known.format.is_some(), !known.files.is_empty(), "{}", known.name);
            let paths: HashSet<_> = known.files.iter().map(|file| file.path).collect();
            assert_eq!(paths.len(), known.files.len(), "{}", known.name);
            assert!(known.filtered.is_none_or(|name| find(name).is_some()));
            assert!(known.feature_file.is_none_or(|file| paths.contains(file)));
            assert!(known.entry.is_empty() || paths.contains(known.entry));
            for file in known.files {
                match file.check {
                    Checksum::Sha256(hash) => assert_eq!(hash.len(), 64, "{}", file.path),
                    Checksum::GitBlob(hash) => assert_eq!(hash.len(), 40, "{}", file.path),
                    Checksum::Unknown => {
                        assert!(known.name.ends_with("-filtered") || known.name == "imdb", "{}", file.path)
                    }
                }
                assert!(file.origin.url().starts_with("http") && !file.path.contains(".."));
            }
        }
        assert_eq!(ALL.iter().map(|known| known.files.len()).sum::<usize>(), 148);
    }

    #[test]
    fn filtered_versions_are_added_where_their_files_exist() {
        let folder = tempfile::tempdir().unwrap();
        let with = |names: &str| {
            let mut names: Vec<String> = names.split(' ').map(str::to_owned).collect();
            let added = add_filtered(&mut names, folder.path()).len();
            (names.join(" "), added)
        };
        assert_eq!(with("squirrel chameleon cora"), ("squirrel chameleon cora".to_owned(), 0));
        std::fs::create_dir(folder.path().join("chameleon-filtered")).unwrap();
        std::fs::write(folder.path().join("chameleon-filtered/chameleon_filtered.npz"), "").unwrap();
        let all = "squirrel chameleon chameleon-filtered cora";
        assert_eq!(with("squirrel chameleon cora"), (all.to_owned(), 1));
        assert_eq!(with(all), (all.to_owned(), 0));
        assert_eq!(with("cora chameleon-filtered"), ("cora chameleon-filtered".to_owned(), 0));
    }

    #[test]
    fn data_sets_are_in_the_data_folder_or_the_cache() {
        let with = |set: &'static [(&str, &str)]| {
            folder_from(move |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
            })
        };
        assert_eq!(with(&[("CONTROLG_DATA", "d"), ("HOME", "h")]).unwrap(), PathBuf::from("d"));
        assert_eq!(with(&[]).unwrap_err().exit_code(), 2);
        if cfg!(target_os = "linux") {
            assert_eq!(with(&[("XDG_CACHE_HOME", "c"), ("HOME", "h")]).unwrap(), PathBuf::from("c/controlg"));
            assert_eq!(with(&[("HOME", "h")]).unwrap(), PathBuf::from("h/.cache/controlg"));
        }
    }
}
