//! Random node splits, determined by protocol and seed.

use super::Split;
use crate::data::Labels;
use crate::rng::Stream;

/// 10 % of every class for training, 10 % for validation and the rest for testing.
///
/// Sizes are rounded. A class of three or more nodes has at least one training and one validation node. Nodes without
/// a label are in no part.
pub fn random_10_10_80(labels: &Labels, seed: u64) -> Split {
    by_class("random-10-10-80", labels, seed, |size| {
        let tenth = ((size as f64 / 10.0).round() as usize).max(1);
        if size < 3 { (size.min(1), 0) } else { (tenth, tenth) }
    })
}

/// 20 nodes of every class for training, 30 for validation and the rest for testing (Shchur et al., 2018).
pub fn shchur_20_30(labels: &Labels, seed: u64) -> Split {
    by_class("shchur-20-30", labels, seed, |size| (20.min(size), 30.min(size.saturating_sub(20))))
}

/// 20 nodes of every class for training, 1000 of the others for validation and 1000 for testing (Wang et al., 2021).
pub fn per_class_20(labels: &Labels, seed: u64) -> Split {
    per_class("per-class-20", 20, labels, seed)
}

/// [`per_class_20`] with 40 training nodes per class.
pub fn per_class_40(labels: &Labels, seed: u64) -> Split {
    per_class("per-class-40", 40, labels, seed)
}

/// [`per_class_20`] with 60 training nodes per class.
pub fn per_class_60(labels: &Labels, seed: u64) -> Split {
    per_class("per-class-60", 60, labels, seed)
}

/// Validation and test nodes of [`per_class`]; a small graph has as many of each as remain.
const REST: usize = 1000;

fn per_class(protocol: &str, count: usize, labels: &Labels, seed: u64) -> Split {
    let split = by_class(protocol, labels, seed, |size| (count.min(size), 0));
    let mut val = split.test;
    Stream::new(seed, "split", protocol, labels.n_classes() as u64).shuffle(&mut val);
    let half = REST.min(val.len() / 2);
    let test = val.split_off(half).into_iter().take(REST).collect();
    Split::new(protocol, seed as usize, [split.train, val, test], labels.classes().len())
        .expect("each node is in one part")
}

/// Shuffles each class with its own random stream. `sizes` maps the size of a class to (train, val); the rest is test.
fn by_class(protocol: &str, labels: &Labels, seed: u64, sizes: impl Fn(usize) -> (usize, usize)) -> Split {
    let mut classes = vec![Vec::new(); labels.n_classes()];
    for (node, &class) in labels.classes().iter().enumerate() {
        if class != Labels::NONE {
            classes[class as usize].push(node as u32);
        }
    }
    let (mut train, mut val, mut test) = (Vec::new(), Vec::new(), Vec::new());
    for (class, mut nodes) in classes.into_iter().enumerate() {
        Stream::new(seed, "split", protocol, class as u64).shuffle(&mut nodes);
        let (n_train, n_val) = sizes(nodes.len());
        test.extend(nodes.split_off(n_train + n_val));
        val.extend(nodes.split_off(n_train));
        train.extend(nodes);
    }
    Split::new(protocol, seed as usize, [train, val, test], labels.classes().len())
        .expect("each node is in one part")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        // 100 nodes of class 0, 57 of class 1, 2 of class 2, 3 without a label.
        let classes = [(0, 100), (1, 57), (2, 2), (Labels::NONE, 3)];
        Labels::new(
            classes.iter().flat_map(|&(class, count)| vec![class; count]).collect(),
            ["a", "b", "c"].map(str::to_owned).to_vec(),
        )
    }

    #[test]
    fn ten_percent_of_every_class_is_for_training_and_ten_for_validation() {
        let split = random_10_10_80(&labels(), 0);
        assert_eq!([split.train.len(), split.val.len(), split.test.len()], [10 + 6 + 1, 10 + 6, 80 + 45 + 1]);
        assert_eq!(split, random_10_10_80(&labels(), 0));
        assert_ne!(split.train, random_10_10_80(&labels(), 1).train);
    }

    #[test]
    fn small_classes_fill_the_training_set_first() {
        let split = shchur_20_30(&labels(), 0);
        assert_eq!([split.train.len(), split.val.len(), split.test.len()], [20 + 20 + 2, 30 + 30, 50 + 7]);
    }

    #[test]
    fn the_nodes_beyond_a_number_per_class_are_halved_or_a_thousand_each() {
        let split = per_class_40(&labels(), 0);
        let rest = 60 + 17;
        assert_eq!(
            [split.train.len(), split.val.len(), split.test.len()],
            [40 + 40 + 2, rest / 2, rest - rest / 2]
        );
        let many = Labels::numbered((0..6000).map(|node| node % 3).collect());
        let split = per_class_60(&many, 1);
        assert_eq!([split.train.len(), split.val.len(), split.test.len()], [180, 1000, 1000]);
        assert_ne!(split.train, per_class_60(&many, 2).train);
    }

    #[test]
    fn published_hashes_never_change() {
        assert_eq!(
            random_10_10_80(&labels(), 0).hash(),
            "36a4f89eb1cd18aff3a1a58f94c6434e997c7e88e2cb72e0854290ca7f145492"
        );
        assert_eq!(
            shchur_20_30(&labels(), 3).hash(),
            "faf38aeeeab2933b583f0b2645dcf925c758c03ad18ce5f68cfd41d2a96c8a86"
        );
    }
}
