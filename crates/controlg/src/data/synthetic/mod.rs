//! Generated graphs of any size, without files.
//!
//! The edges come from a degree-corrected stochastic block model (`edges.rs`), the sparse bag-of-words features from
//! class topics (`features.rs`). The name `synthetic` alone gives a graph with the size and homophily of Cora. The
//! name can change any setting: `synthetic:nodes=1000000,degree=10,classes=20,homophily=0.2,features=128,seed=3`. Each
//! chunk of nodes or edges has its own random stream, so the graph does not depend on the number of threads.

mod alias;
mod edges;
mod features;

use rayon::prelude::*;

use super::{Dataset, FeatureSource, Labels, RawDataset, assemble};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Features, Ids};
use crate::rng::Stream;

/// The parameters of a generated graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyntheticSettings {
    /// Number of nodes.
    pub nodes: usize,
    /// Average degree.
    pub degree: f64,
    /// Number of classes.
    pub classes: usize,
    /// Edge homophily: the fraction of edges that join nodes of the same class, or of a class with its partner.
    pub homophily: f64,
    /// Fraction of the classes that are paired: their nodes prefer nodes of the partner class to those of their own.
    pub paired: f64,
    /// Size of the vocabulary: the number of features.
    pub features: usize,
    /// Average number of distinct words per node.
    pub words: usize,
    /// Fraction of the words of a node that come from the topic of its class.
    pub topic: f64,
    /// Random seed.
    pub seed: u64,
}

impl Default for SyntheticSettings {
    fn default() -> Self {
        SyntheticSettings {
            nodes: 2708,
            degree: 3.9,
            classes: 7,
            homophily: 0.81,
            paired: 0.0,
            features: 1433,
            words: 18,
            topic: 0.3,
            seed: 0,
        }
    }
}

/// Nodes or edges per random stream.
const CHUNK: usize = 1 << 14;

/// Parses the settings in a name; `None` if it is not the name of a synthetic graph.
pub fn settings_of(name: &str) -> Option<Result<SyntheticSettings>> {
    let rest = name.strip_prefix("synthetic")?;
    if rest.is_empty() { Some(Ok(SyntheticSettings::default())) } else { rest.strip_prefix(':').map(parse) }
}

fn parse(text: &str) -> Result<SyntheticSettings> {
    const KEYS: [&str; 9] =
        ["nodes", "degree", "classes", "homophily", "paired", "features", "words", "topic", "seed"];
    let mut settings = SyntheticSettings::default();
    let mut words = None;
    for pair in text.split(',') {
        let place = format!("synthetic:{pair}");
        let (key, value) = pair.split_once('=').ok_or_else(|| Error::value(&place, "no '='", "key=value"))?;
        let integer = |most: u64| match value.parse::<u64>() {
            Ok(number) if number <= most => Ok(number),
            _ => {
                Err(Error::value(&place, format_args!("'{value}'"), format_args!("an integer up to {most}")))
            }
        };
        let count = |most: u64| match integer(most)? {
            0 => Err(Error::value(&place, 0, "at least 1")),
            number => Ok(number as usize),
        };
        let real = |least: f64, most: f64| match value.parse::<f64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(Error::value(
                &place,
                format_args!("'{value}'"),
                format_args!("a number from {least} to {most}"),
            )),
        };
        match key {
            "nodes" => settings.nodes = count(100_000_000)?,
            "degree" => settings.degree = real(0.0, 10_000.0)?,
            "classes" => settings.classes = count(10_000)?,
            "homophily" => settings.homophily = real(0.0, 1.0)?,
            "paired" => settings.paired = real(0.0, 1.0)?,
            "features" => settings.features = count(1_000_000)?,
            "words" => words = Some(count(10_000)?),
            "topic" => settings.topic = real(0.0, 1.0)?,
            "seed" => settings.seed = integer(u64::MAX)?,
            _ => return Err(Error::unknown("setting of synthetic", key, KEYS)),
        }
    }
    // With a small vocabulary, the default number of words would make almost every feature non-zero.
    settings.words = words.unwrap_or(settings.words.min(settings.features.div_ceil(4)));
    settings.checked()
}

impl SyntheticSettings {
    /// Rejects settings that contradict each other.
    fn checked(self) -> Result<Self> {
        let reject = |key: &str, found: &dyn std::fmt::Display, expected: String| {
            Err(Error::value(format_args!("synthetic:{key}={found}"), found, expected))
        };
        if self.classes > self.nodes {
            return reject("classes", &self.classes, format!("at most {}, the number of nodes", self.nodes));
        }
        if self.degree > (self.nodes - 1) as f64 / 2.0 {
            return reject(
                "degree",
                &self.degree,
                format!("at most half the number of nodes, {}", self.nodes),
            );
        }
        if 2 * self.words > self.features.max(2) {
            return reject(
                "words",
                &self.words,
                format!("at most half the number of features, {}", self.features),
            );
        }
        Ok(self)
    }
}

/// Generates the graph.
pub fn dataset(name: &str, settings: &SyntheticSettings, source: FeatureSource) -> Result<Dataset> {
    let classes = classes(settings);
    let pairs = edges::draw(settings, &classes);
    let features = match source {
        FeatureSource::Given => Some(Features::Sparse(features::draw(settings, &classes))),
        FeatureSource::Structural => None,
    };
    let names = (0..settings.classes).map(|class| class.to_string()).collect();
    let labels = Labels::new(classes, names);
    let raw = RawDataset {
        edges: EdgeList { pairs, weights: None },
        features,
        feature_names: None,
        ids: Ids::Numbered(settings.nodes),
        labels: Some(labels),
        splits: Vec::new(),
        notes: Vec::new(),
        types: None,
    };
    assemble(name.to_owned(), "synthetic", raw, source)
}

/// Draws the class of each node. The first nodes get one class each, so that no class is empty.
fn classes(settings: &SyntheticSettings) -> Vec<u32> {
    let mut classes = vec![0; settings.nodes];
    classes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, classes)| {
        let mut stream = Stream::new(settings.seed, "synthetic", "classes", chunk as u64);
        for class in classes {
            *class = stream.below(settings.classes) as u32;
        }
    });
    for (class, node) in (0..settings.classes).zip(&mut classes) {
        *node = class as u32;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::stats;

    fn make(name: &str) -> Dataset {
        dataset(name, &settings_of(name).unwrap().unwrap(), FeatureSource::Given).unwrap()
    }

    #[test]
    fn the_default_graph_resembles_cora() {
        let data = make("synthetic");
        let (graph, labels) = (&data.graph, data.labels.as_ref().unwrap());
        assert_eq!((graph.n_nodes(), graph.n_edges(), graph.n_features()), (2708, 5281, 1433));
        assert_eq!((labels.n_classes(), stats::isolated(graph)), (7, 0));
        let homophily = stats::homophily(graph, |node| labels.get(node)).unwrap();
        assert!((homophily - 0.81).abs() < 0.02, "{homophily}");
        let words = graph.features().n_nonzeros() as f64 / 2708.0;
        assert!((words - 18.0).abs() < 0.5, "{words}");
        assert!(stats::degrees(graph).max > 30, "degrees have a heavy tail");
    }

    #[test]
    fn settings_are_applied() {
        let data = make("synthetic:nodes=5000,degree=10,classes=20,homophily=0.2,features=128,seed=3");
        let (graph, labels) = (&data.graph, data.labels.as_ref().unwrap());
        assert_eq!((graph.n_nodes(), graph.n_edges(), graph.n_features()), (5000, 25_000, 128));
        let homophily = stats::homophily(graph, |node| labels.get(node)).unwrap();
        assert!((homophily - 0.2).abs() < 0.02, "{homophily}");
    }

    #[test]
    fn paired_classes_link_to_each_other() {
        let data = make("synthetic:nodes=3000,classes=7,homophily=0.8,paired=0.6");
        let (graph, labels) = (&data.graph, data.labels.as_ref().unwrap());
        // Four of the seven classes: 0 with 1, and 2 with 3.
        let share = |class: u32, other: u32| {
            let of_class = |node: u32| labels.get(node as usize) == Some(class);
            let ends =
                (0..3000).filter(|&node| of_class(node)).flat_map(|node| graph.neighbors(node as usize));
            let ends: Vec<_> = ends.map(|&node| labels.get(node as usize) == Some(other)).collect();
            ends.iter().filter(|&&hit| hit).count() as f64 / ends.len() as f64
        };
        assert!(share(0, 1) > 0.7 && share(2, 3) > 0.7 && share(0, 0) < 0.1, "{}", share(0, 1));
        assert!(share(4, 4) > 0.7 && share(6, 6) > 0.7);
    }

    #[test]
    fn the_graph_does_not_depend_on_the_number_of_threads() {
        let at = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let data = pool.install(|| make("synthetic:nodes=40000,degree=6,features=300"));
            (data.graph.adjacency().clone(), data.graph.features().clone(), data.labels)
        };
        let one = at(1);
        assert_eq!(one, at(2));
        assert_eq!(one, at(4));
    }

    #[test]
    fn extreme_settings_work_and_contradictions_are_errors() {
        assert_eq!(make("synthetic:nodes=1,classes=1,degree=0,features=1").graph.n_edges(), 0);
        assert_eq!(make("synthetic:nodes=100,homophily=0,classes=2,features=40").graph.n_edges(), 195);
        assert_eq!(make("synthetic:nodes=9,classes=1,degree=4,features=8").graph.n_edges(), 18);
        for (name, message) in [
            ("synthetic:nodes=0", "nodes=0: found 0, expected at least 1"),
            ("synthetic:nodez=1", "did you mean 'nodes'?"),
            ("synthetic:homophily=1.5", "a number from 0 to 1"),
            ("synthetic:homophily=nan", "a number from 0 to 1"),
            ("synthetic:nodes=3,classes=4,degree=1", "at most 3, the number of nodes"),
            ("synthetic:nodes=10,degree=8", "at most half"),
            ("synthetic:features=10,words=6", "at most half the number of features, 10"),
            ("synthetic:nodes", "key=value"),
        ] {
            let error = settings_of(name).unwrap().unwrap_err().to_string();
            assert!(error.contains(message), "{name}: {error}");
        }
        assert!(settings_of("synthetics").is_none());
    }
}
