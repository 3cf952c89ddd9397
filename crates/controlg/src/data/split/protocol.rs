//! Evaluation protocols by name: how to split, and which probe to fit.

use super::{Split, per_class_20, per_class_40, per_class_60, random_10_10_80, shchur_20_30};
use crate::data::Labels;
use crate::registry::EntrySummary;

/// An evaluation protocol. Its name is printed with every score.
pub struct Protocol {
    /// The name.
    pub name: &'static str,
    /// One-line description of split and probe.
    pub summary: &'static str,
    /// The paper that introduced it; empty if there is none.
    pub paper: &'static str,
    /// Draws a random node split from a seed; `None` if the split comes with the files or the protocol splits no nodes.
    pub draw: Option<fn(&Labels, u64) -> Split>,
}

/// All protocols: node classification, then link prediction and clustering.
pub const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "planetoid-public",
        summary: "the public split: 20 training nodes per class, 500 validation, 1000 test; linear probe",
        paper: "Yang et al., Revisiting semi-supervised learning with graph embeddings, ICML 2016",
        draw: None,
    },
    Protocol {
        name: "geomgcn-10",
        summary: "ten fixed splits of 48/32/20 %; linear probe, mean of ten",
        paper: "Pei et al., Geom-GCN, ICLR 2020",
        draw: None,
    },
    Protocol {
        name: "platonov-10",
        summary: "the fixed splits in an archive of heterophilous-graphs, ten in the published ones; linear probe, mean of all",
        paper: "Platonov et al., A critical look at the evaluation of GNNs under heterophily, ICLR 2023",
        draw: None,
    },
    Protocol {
        name: "wikics-20",
        summary: "twenty fixed train and validation masks, one test mask; linear probe, mean of twenty",
        paper: "Mernyei and Cangea, Wiki-CS, 2020",
        draw: None,
    },
    Protocol {
        name: "ogb-time",
        summary: "train on papers until 2017, validate on 2018, test on later ones; linear probe",
        paper: "Hu et al., Open Graph Benchmark, NeurIPS 2020",
        draw: None,
    },
    Protocol {
        name: "random-10-10-80",
        summary: "random per seed: 10 % of each class for training, 10 % for validation, the rest for testing; linear probe",
        paper: "Zhu et al., Graph contrastive learning with adaptive augmentation, WWW 2021",
        draw: Some(random_10_10_80),
    },
    Protocol {
        name: "shchur-20-30",
        summary: "random per seed: 20 nodes of each class for training, 30 for validation, the rest for testing; linear probe",
        paper: "Shchur et al., Pitfalls of graph neural network evaluation, 2018",
        draw: Some(shchur_20_30),
    },
    Protocol {
        name: "per-class-20",
        summary: "20 training nodes per class, 1000 validation, 1000 test: those in the files, else random per seed; linear probe",
        paper: "Wang et al., HeCo, KDD 2021",
        draw: Some(per_class_20),
    },
    Protocol {
        name: "per-class-40",
        summary: "per-class-20 with 40 training nodes per class",
        paper: "Wang et al., HeCo, KDD 2021",
        draw: Some(per_class_40),
    },
    Protocol {
        name: "per-class-60",
        summary: "per-class-20 with 60 training nodes per class",
        paper: "Wang et al., HeCo, KDD 2021",
        draw: Some(per_class_60),
    },
    Protocol {
        name: "magnn-400",
        summary: "the fixed split of a MAGNN folder: 400 training nodes, 400 validation, the rest test; linear probe",
        paper: "Fu et al., MAGNN, WWW 2020",
        draw: None,
    },
    Protocol { name: "own", summary: "the split in your own files; linear probe", paper: "", draw: None },
    Protocol {
        name: "edges-70-10-20",
        summary: "70/10/20 % of the edges for training, validation and testing, one negative per edge; logistic decoder",
        paper: "Ju et al., Multi-task self-supervised graph neural networks (ParetoGNN), ICLR 2023",
        draw: None,
    },
    Protocol {
        name: "kmeans-k",
        summary: "k-means on all labeled nodes, as many clusters as classes; best of 10 starts, mean of 5 runs",
        paper: "",
        draw: None,
    },
];

impl Protocol {
    /// The entry of `controlg list protocols`.
    pub fn summary(&self) -> EntrySummary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        EntrySummary { name: self.name, summary: self.summary, paper }
    }
}
