//! A step on several mini-batches, the *shards* of the step, whose gradients are averaged.
//!
//! The gradients are summed in one binary tree over the shards. The tree depends on the number of shards alone: each rank
//! sums the subtrees that lie in its range of shards, and the rest of the tree is summed from these. So the bytes of the sum are
//! the same at any number of ranks.
//!
//! Ranks exchange gradients by slices: rank r gets slice r of all subtrees, sums it, and sends the sum to all. A rank sends
//! its gradient about twice, whatever the number of ranks, if its range of shards is a subtree.

use super::step::BatchPosition;
use super::{ENCODER, Model};
use crate::Real;
use crate::error::Result;
use crate::kernels::rows;
use crate::objective::AuxNetwork;

/// Sums of the gradients of consecutive shards, with buffers that are used again.
#[derive(Default)]
pub(super) struct ShardSums {
    tree: Vec<Subtree>,
    spare: Vec<Vec<Real>>,
}

/// The sum over the shards `start..start + len`.
struct Subtree {
    start: usize,
    len: usize,
    values: Vec<Real>,
}

impl ShardSums {
    /// A buffer with any content.
    fn buffer(&mut self, len: usize) -> Vec<Real> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(len, 0.0);
        buffer
    }

    /// Adds the next subtree and joins siblings.
    fn push(&mut self, start: usize, len: usize, values: Vec<Real>) {
        self.tree.push(Subtree { start, len, values });
        while let [.., left, right] = &mut self.tree[..]
            && left.len == right.len
            && left.start.is_multiple_of(2 * left.len)
        {
            rows::axpy(1.0, &right.values, &mut left.values);
            left.len *= 2;
            self.spare.extend(self.tree.pop().map(|right| right.values));
        }
    }

    /// The sum of all subtrees. Those at the end that have no sibling are joined from the last to the first.
    fn end(&mut self) -> Vec<Real> {
        let mut total = self.tree.pop().map(|last| last.values).unwrap_or_default();
        while let Some(mut left) = self.tree.pop() {
            rows::axpy(1.0, &total, &mut left.values);
            self.spare.push(std::mem::replace(&mut total, left.values));
        }
        total
    }

    /// Forgets everything but the buffers.
    fn clear(&mut self) {
        let Self { tree, spare } = self;
        spare.extend(tree.drain(..).map(|subtree| subtree.values));
    }
}

/// The subtrees of a range of shards: start and length of each.
fn subtrees(shards: std::ops::Range<usize>) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for shard in shards {
        found.push((shard, 1));
        while let [.., left, right] = found[..]
            && left.1 == right.1
            && left.0.is_multiple_of(2 * left.1)
        {
            found.truncate(found.len() - 2);
            found.push((left.0, 2 * left.1));
        }
    }
    found
}

/// What one shard adds to a step besides its gradient.
#[derive(Clone, Copy)]
struct ShardOutcome {
    loss: f64,
    /// A bit for each parameter group that has a gradient.
    reached: u8,
}

impl Model<'_> {
    /// The mean loss of one objective over the shards of a step; sets its mean gradient. Each rank computes its range of shards.
    pub(super) fn differentiate_shards(
        &mut self,
        task: usize,
        step: u64,
        n_shards: usize,
        more: bool,
    ) -> Result<f64> {
        let groups = self.trained_groups(task);
        let own = self.add_own_shards(task, step, n_shards, more, &groups);
        let outcomes = self.all_outcomes(own, n_shards)?;
        let mut total = self.sum_over_ranks(n_shards)?;
        rows::scale(1.0 / n_shards as Real, &mut total);
        let mut rest = &total[..];
        for (bit, &group) in groups.iter().enumerate() {
            let (gradient, after) = rest.split_at(self.params.groups()[group].data().len());
            if outcomes.iter().any(|outcome| outcome.reached & (1 << bit) != 0) {
                self.grads.set_group(group, gradient);
            }
            rest = after;
        }
        self.shard_sums.spare.push(total);
        Ok(outcomes.iter().map(|outcome| outcome.loss).sum::<f64>() / n_shards as f64)
    }

    /// The parameter groups that a step on one objective trains.
    fn trained_groups(&self, task: usize) -> Vec<usize> {
        let is_average = matches!(self.data.objectives()[task].aux_network(), Some(AuxNetwork::Ema { .. }));
        let average = is_average.then_some(self.aux_groups[task]);
        std::iter::once(ENCODER)
            .chain(self.own_groups(task))
            .filter(|&group| Some(group) != average)
            .collect()
    }

    /// Adds the gradients of this rank's shards to the sums.
    fn add_own_shards(
        &mut self,
        task: usize,
        step: u64,
        n_shards: usize,
        more: bool,
        groups: &[usize],
    ) -> Result<Vec<ShardOutcome>> {
        self.shard_sums.clear();
        let len = groups.iter().map(|&group| self.params.groups()[group].data().len()).sum();
        let (own, first) = (self.ranks.share(n_shards), step * n_shards as u64);
        let mut outcomes = Vec::with_capacity(own.len());
        for shard in own.clone() {
            let number = first + shard as u64;
            let next = match (shard + 1 < own.end, more && own.len() > 1) {
                (true, _) => number + 1,
                (false, true) => first + own.start as u64,
                (false, false) => first + (n_shards + own.start) as u64,
            };
            let loss = self.differentiate_batch(task, BatchPosition { step, number }, next)?;
            let mut values = self.shard_sums.buffer(len);
            let (mut rest, mut reached) = (&mut values[..], 0);
            for (bit, &group) in groups.iter().enumerate() {
                let (part, after) = rest.split_at_mut(self.params.groups()[group].data().len());
                reached |= u8::from(self.grads.unload_group(group, part)) << bit;
                rest = after;
            }
            self.shard_sums.push(shard, 1, values);
            outcomes.push(ShardOutcome { loss, reached });
        }
        Ok(outcomes)
    }

    /// The outcomes of all shards, in their order.
    fn all_outcomes(&self, own: Result<Vec<ShardOutcome>>, n_shards: usize) -> Result<Vec<ShardOutcome>> {
        if self.ranks.is_alone() {
            return own;
        }
        let encode = |outcome: &ShardOutcome| {
            outcome.loss.to_le_bytes().into_iter().chain([outcome.reached]).collect::<Vec<u8>>()
        };
        let all = self.ranks.all_gather(own.map(|own| own.iter().flat_map(encode).collect()))?;
        let bytes = all.concat();
        let outcomes = bytes.chunks_exact(9).map(|raw| {
            let (loss, reached) = raw.split_at(8);
            ShardOutcome {
                loss: f64::from_le_bytes(loss.try_into().expect("eight bytes")),
                reached: reached[0],
            }
        });
        let outcomes: Vec<ShardOutcome> = outcomes.collect();
        assert_eq!(outcomes.len(), n_shards, "one outcome per shard");
        Ok(outcomes)
    }

    /// The sum of the gradients of all shards, on all ranks.
    fn sum_over_ranks(&mut self, n_shards: usize) -> Result<Vec<Real>> {
        let (ranks, sums) = (self.ranks, &mut self.shard_sums);
        if ranks.is_alone() {
            return Ok(sums.end());
        }
        let len = sums.tree.first().map_or(0, |subtree| subtree.values.len());
        let mut gathered = Vec::new();
        for root in 0..ranks.size() {
            let slice = ranks.share_of(root, len);
            let message: Vec<u8> = sums
                .tree
                .iter()
                .flat_map(|subtree| &subtree.values[slice.clone()])
                .flat_map(|x| x.to_le_bytes())
                .collect();
            let messages = ranks.gather(root, &message)?;
            if root == ranks.rank() {
                gathered = messages;
            }
        }
        sums.clear();
        let slice_len = ranks.share(len).len();
        for (rank, message) in gathered.iter().enumerate() {
            let (values, _) = message.as_chunks();
            let mut parts = values.chunks_exact(slice_len.max(1));
            for (start, len) in subtrees(ranks.share_of(rank, n_shards)) {
                let mut part = sums.buffer(slice_len);
                let raw = parts.next().unwrap_or_default();
                part.iter_mut().zip(raw).for_each(|(x, raw)| *x = Real::from_le_bytes(*raw));
                sums.push(start, len, part);
            }
        }
        let own = sums.end();
        let mut own: Vec<u8> = own.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut total = sums.buffer(len);
        for root in 0..ranks.size() {
            let mut bytes = if root == ranks.rank() { std::mem::take(&mut own) } else { Vec::new() };
            ranks.broadcast(root, &mut bytes)?;
            let (values, _) = bytes.as_chunks();
            let slice = &mut total[ranks.share_of(root, len)];
            slice.iter_mut().zip(values).for_each(|(x, raw)| *x = Real::from_le_bytes(*raw));
        }
        Ok(total)
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // sums are compared bit for bit
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn gradients(n: usize) -> Vec<Vec<Real>> {
        let mut stream = Stream::new(5, "test", "shards", 0);
        (0..n).map(|_| (0..7).map(|_| stream.normal() as Real).collect()).collect()
    }

    /// The tree as it is defined: halves split at the largest power of two below the length.
    fn tree(gradients: &[Vec<Real>]) -> Vec<Real> {
        if let [only] = gradients {
            return only.clone();
        }
        let (left, right) = gradients.split_at(gradients.len().next_power_of_two() / 2);
        tree(left).iter().zip(tree(right)).map(|(a, b)| a + b).collect()
    }

    #[test]
    fn the_tree_depends_on_the_number_of_shards_alone() {
        for n in [1, 2, 3, 5, 6, 7, 8, 11, 16, 21] {
            let gradients = gradients(n);
            let expected = tree(&gradients);
            for size in 1..=n {
                let mut all = ShardSums::default();
                for rank in 0..size {
                    let shards = n * rank / size..n * (rank + 1) / size;
                    let mut own = ShardSums::default();
                    shards.clone().for_each(|shard| own.push(shard, 1, gradients[shard].clone()));
                    let places: Vec<_> =
                        own.tree.iter().map(|subtree| (subtree.start, subtree.len)).collect();
                    assert_eq!(places, subtrees(shards));
                    for Subtree { start, len, values } in own.tree {
                        all.push(start, len, values);
                    }
                }
                assert_eq!(all.end(), expected, "{n} shards on {size} ranks");
            }
        }
    }
}
