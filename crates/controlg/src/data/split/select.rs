//! Which splits an evaluation of node classification uses.

use super::{PROTOCOLS, Split};
use crate::data::{Labels, catalog};
use crate::error::{Error, Result};

/// The protocol for graphs without splits of their own.
pub const DEFAULT_PROTOCOL: &str = "random-10-10-80";

/// Selects the splits to evaluate on.
///
/// The protocol is the first available of: `protocol`, that of the first split in `splits`, the one the
/// [`catalog`] lists for `data`, [`DEFAULT_PROTOCOL`]. Returns all `splits` of that protocol; if there are none, draws
/// one from `seed`.
///
/// `data` is the name or path of the graph, `splits` are those that came with its files.
pub fn select_splits(
    data: &str,
    splits: &[Split],
    labels: &Labels,
    protocol: Option<&str>,
    seed: u64,
) -> Result<Vec<Split>> {
    let first = splits.first().map(|split| split.protocol.as_str());
    let listed = || catalog::find(data).map(|known| known.protocol);
    let name = protocol.or(first).or_else(listed).unwrap_or(DEFAULT_PROTOCOL);
    let given: Vec<Split> = splits.iter().filter(|split| split.protocol == name).cloned().collect();
    if !given.is_empty() {
        return Ok(given);
    }
    let Some(known) = PROTOCOLS.iter().find(|known| known.name == name) else {
        return Err(Error::unknown("protocol", name, PROTOCOLS.iter().map(|known| known.name)));
    };
    let Some(draw) = known.draw else {
        let random: Vec<_> = PROTOCOLS.iter().filter(|known| known.draw.is_some()).map(|p| p.name).collect();
        let expected = format!("a protocol that {data} has splits for, or {}", random.join(" or "));
        return Err(Error::value("protocol", format_args!("'{name}'"), expected));
    };
    Ok(vec![draw(labels, seed)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels::numbered((0..40).map(|node| node % 2).collect())
    }

    fn split(protocol: &str, index: usize) -> Split {
        Split::new(protocol, index, [vec![0], vec![1], vec![2]], 40).unwrap()
    }

    fn selected(splits: &[Split], protocol: Option<&str>) -> Vec<(String, usize)> {
        let splits = select_splits("mine", splits, &labels(), protocol, 7).unwrap();
        splits.into_iter().map(|split| (split.protocol, split.index)).collect()
    }

    #[test]
    fn splits_from_files_come_first_and_all_of_one_protocol_are_used() {
        let splits = [split("own", 0), split("geomgcn-10", 0), split("geomgcn-10", 1)];
        assert_eq!(selected(&splits, None), [("own".to_owned(), 0)]);
        assert_eq!(
            selected(&splits, Some("geomgcn-10")),
            [("geomgcn-10".to_owned(), 0), ("geomgcn-10".to_owned(), 1)]
        );
    }

    #[test]
    fn a_random_split_is_drawn_from_the_seed() {
        assert_eq!(selected(&[], None), [(DEFAULT_PROTOCOL.to_owned(), 7)]);
        assert_eq!(selected(&[split("own", 0)], Some("shchur-20-30")), [("shchur-20-30".to_owned(), 7)]);
    }

    #[test]
    fn a_protocol_without_splits_is_an_error() {
        let message =
            |protocol| select_splits("mine", &[], &labels(), Some(protocol), 0).unwrap_err().to_string();
        assert!(message("wikics-20").contains("a protocol that mine has splits for, or random-10-10-80"));
        assert!(message("shchur").contains("did you mean 'shchur-20-30'?"));
    }
}
