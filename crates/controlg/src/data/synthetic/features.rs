//! Sparse bag-of-words features drawn from class topics.
//!
//! Words follow Zipf's law. A fraction `topic` of the words of a node comes from the vocabulary of its class, a random
//! subset of all words; the rest comes from all words. A word counts once.

use rayon::prelude::*;

use super::alias::AliasTable;
use super::{CHUNK, SyntheticSettings};
use crate::graph::Csr;
use crate::rng::Stream;

/// Draws the words of each node: a 0/1 matrix, nodes × vocabulary.
pub(super) fn draw(settings: &SyntheticSettings, classes: &[u32]) -> Csr {
    let zipf =
        |count: usize| AliasTable::new(&(0..count).map(|rank| 1.0 / (rank + 10) as f64).collect::<Vec<_>>());
    let all_words = zipf(settings.features);
    let topic_size = (2 * settings.features / (settings.classes + 1)).clamp(1, settings.features);
    let topic_ranks = zipf(topic_size);
    let topics: Vec<Vec<u32>> = (0..settings.classes as u64)
        .map(|class| {
            Stream::new(settings.seed, "synthetic", "topics", class).sample(settings.features, topic_size)
        })
        .collect();

    let chunks: Vec<(Vec<usize>, Vec<u32>)> = classes
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, classes)| {
            let mut stream = Stream::new(settings.seed, "synthetic", "words", chunk as u64);
            let (mut counts, mut columns) = (Vec::new(), Vec::new());
            for &class in classes {
                let topic = &topics[class as usize];
                let words = node_words(settings, topic, &topic_ranks, &all_words, &mut stream);
                counts.push(words.len());
                columns.extend(words);
            }
            (counts, columns)
        })
        .collect();

    let mut offsets = Vec::with_capacity(settings.nodes + 1);
    let mut columns = Vec::with_capacity(chunks.iter().map(|(_, columns)| columns.len()).sum());
    offsets.push(0);
    for (counts, of_chunk) in chunks {
        offsets.extend(counts.iter().scan(columns.len(), |end, count| {
            *end += count;
            Some(*end)
        }));
        columns.extend(of_chunk);
    }
    Csr::from_parts(settings.features, offsets, columns, None)
}

fn node_words(
    settings: &SyntheticSettings,
    topic: &[u32],
    topic_ranks: &AliasTable,
    all_words: &AliasTable,
    stream: &mut Stream,
) -> Vec<u32> {
    // 0.5 to 1.5 times the average number of words.
    let half = settings.words / 2;
    let count = (settings.words - half + stream.below(2 * half + 1)).max(1);
    let mut words: Vec<u32> = Vec::with_capacity(count);
    // A topic with fewer words than needed cannot fill the row, so the number of tries is bounded.
    for _ in 0..20 * count {
        let word = if stream.uniform() < settings.topic {
            topic[topic_ranks.sample(stream)]
        } else {
            all_words.sample(stream) as u32
        };
        if let Err(at) = words.binary_search(&word) {
            words.insert(at, word);
            if words.len() == count {
                break;
            }
        }
    }
    words
}
