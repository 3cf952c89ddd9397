//! The named protocols: which split, and which probe judges on it.

use super::{Split, random_10_10_80, shchur_20_30};
use crate::data::Labels;
use crate::registry::EntrySummary;

/// One way to judge embeddings, printed with every number it made.
pub struct Protocol {
    /// Its name.
    pub name: &'static str,
    /// One line on split and probe.
    pub summary: &'static str,
    /// Where it comes from; empty for our own.
    pub paper: &'static str,
    /// Draws its split of the nodes from a seed; `None` when the split comes with the files, or there is none.
    pub draw: Option<fn(&Labels, u64) -> Split>,
}

/// Every protocol, those of nodes first.
pub const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "planetoid-public",
        summary: "20 nodes a class train, 500 choose, 1000 judge, as the files say; linear probe",
        paper: "Yang et al., Revisiting semi-supervised learning with graph embeddings, ICML 2016",
        draw: None,
    },
    Protocol {
        name: "geomgcn-10",
        summary: "ten fixed splits of 48/32/20 %; linear probe, mean over the ten",
        paper: "Pei et al., Geom-GCN, ICLR 2020",
        draw: None,
    },
    Protocol {
        name: "wikics-20",
        summary: "twenty fixed training and validation masks, one test mask; linear probe, mean over the twenty",
        paper: "Mernyei and Cangea, Wiki-CS, 2020",
        draw: None,
    },
    Protocol {
        name: "ogb-time",
        summary: "papers until 2017 train, of 2018 choose, later ones judge; linear probe",
        paper: "Hu et al., Open Graph Benchmark, NeurIPS 2020",
        draw: None,
    },
    Protocol {
        name: "random-10-10-80",
        summary: "of each class a tenth trains, a tenth chooses, the rest judges, drawn from the seed; linear probe",
        paper: "Zhu et al., Graph contrastive learning with adaptive augmentation, WWW 2021",
        draw: Some(random_10_10_80),
    },
    Protocol {
        name: "shchur-20-30",
        summary: "20 nodes of each class train, 30 choose, the rest judges, drawn from the seed; linear probe",
        paper: "Shchur et al., Pitfalls of graph neural network evaluation, 2018",
        draw: Some(shchur_20_30),
    },
    Protocol {
        name: "own",
        summary: "the split in the user's own files; linear probe",
        paper: "",
        draw: None,
    },
    Protocol {
        name: "edges-70-10-20",
        summary: "70 % of the edges train, 10 % choose, 20 % judge, as many non-edges each; logistic decoder",
        paper: "Ju et al., Multi-task self-supervised graph neural networks (ParetoGNN), ICLR 2023",
        draw: None,
    },
    Protocol {
        name: "kmeans-k",
        summary: "K-means with as many clusters as classes on all labeled nodes, best of 10 starts, mean of 5",
        paper: "",
        draw: None,
    },
];

impl Protocol {
    /// What a listing shows of this protocol.
    pub fn summary(&self) -> EntrySummary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        EntrySummary { name: self.name, summary: self.summary, paper }
    }
}
