//! What ranks do together, from the operations of a [`Collective`].

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Collective, OneProcess};
use crate::error::{Error, Result};

/// The ranks of a run. Rank 0 decides, writes files and reports.
#[derive(Clone, Copy)]
pub struct Ranks<'c>(&'c dyn Collective);

impl fmt::Debug for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

impl<'c> Ranks<'c> {
    /// The ranks of a collective.
    pub fn new(collective: &'c dyn Collective) -> Self {
        Ranks(collective)
    }

    /// A run in one process.
    pub fn alone() -> Self {
        Ranks(&OneProcess)
    }

    /// The number of this rank.
    pub fn rank(self) -> usize {
        self.0.rank()
    }

    /// The number of ranks.
    pub fn size(self) -> usize {
        self.0.size()
    }

    /// Whether there are no other ranks.
    pub fn is_alone(self) -> bool {
        self.size() == 1
    }

    /// Whether this is rank 0.
    pub fn is_first(self) -> bool {
        self.rank() == 0
    }

    /// The part of `0..n` that falls to a rank. The parts are contiguous, in the order of the ranks, and nearly equal.
    pub fn share_of(self, rank: usize, n: usize) -> Range<usize> {
        n * rank / self.size()..n * (rank + 1) / self.size()
    }

    /// The part of `0..n` that falls to this rank.
    pub fn share(self, n: usize) -> Range<usize> {
        self.share_of(self.rank(), n)
    }

    /// Whether it is this rank's turn, if turns go around.
    pub fn has_turn(self, turn: usize) -> bool {
        turn % self.size() == self.rank()
    }

    /// See [`Collective::gather`].
    pub fn gather(self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.0.gather(root, bytes)
    }

    /// See [`Collective::broadcast`].
    pub fn broadcast(self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        self.0.broadcast(root, bytes)
    }

    /// See [`Collective::barrier`].
    pub fn barrier(self) -> Result<()> {
        self.0.barrier()
    }

    /// Replaces the numbers of every rank by those of rank 0, bit for bit.
    pub fn broadcast_numbers(self, numbers: &mut [f64]) -> Result<()> {
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.broadcast(0, &mut bytes)?;
        let (whole, _) = bytes.as_chunks();
        numbers.iter_mut().zip(whole).for_each(|(x, raw)| *x = f64::from_le_bytes(*raw));
        Ok(())
    }

    /// The bytes of all ranks, on all ranks. If a rank failed, all fail with its error: the first one, in the order of the
    /// ranks.
    pub fn all_gather(self, bytes: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        if self.is_alone() {
            return Ok(vec![bytes?]);
        }
        let status = match bytes {
            Ok(bytes) => [&[0], &bytes[..]].concat(),
            Err(error) => [&[error.exit_code()], error.to_string().as_bytes()].concat(),
        };
        let mut all = pack(&self.gather(0, &status)?);
        self.broadcast(0, &mut all)?;
        let outcomes =
            unpack(&all).into_iter().enumerate().map(|(rank, status)| match status.split_first() {
                Some((0, bytes)) => Ok(bytes.to_vec()),
                Some((&code, message)) => {
                    Err(Error::OnRank { rank, code, message: String::from_utf8_lossy(message).into_owned() })
                }
                None => Err(Error::Failed(format!("rank {rank} sent an empty message"))),
            });
        outcomes.collect()
    }

    /// Fails on all ranks if it failed on one.
    pub fn agree<T>(self, outcome: Result<T>) -> Result<T> {
        if self.is_alone() {
            return outcome;
        }
        let (value, status) = match outcome {
            Ok(value) => (Some(value), Ok(Vec::new())),
            Err(error) => (None, Err(error)),
        };
        self.all_gather(status)?;
        value.ok_or_else(|| Error::Failed("no rank reports the error of this one".to_owned()))
    }

    /// What rank 0 decides, on all ranks. The others do not run `decide`.
    pub fn decide<T: Serialize + DeserializeOwned>(self, decide: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.is_alone() {
            return decide();
        }
        let own = if self.is_first() { decide().and_then(|value| encode(&value)) } else { Ok(Vec::new()) };
        decode(&self.all_gather(own)?[0])
    }

    /// Whether the flag is set on any rank. Fails on all ranks if it failed on one.
    pub fn any(self, flag: Result<bool>) -> Result<bool> {
        let flags = self.all_gather(flag.map(|flag| vec![u8::from(flag)]))?;
        Ok(flags.iter().any(|flag| flag == &[1]))
    }
}

/// Joins byte strings, each after its length.
fn pack(parts: &[Vec<u8>]) -> Vec<u8> {
    parts
        .iter()
        .flat_map(|part| (part.len() as u64).to_le_bytes().into_iter().chain(part.iter().copied()))
        .collect()
}

/// The byte strings that [`pack`] joined.
fn unpack(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk() {
        let (part, rest) = rest.split_at(rest.len().min(u64::from_le_bytes(*len) as usize));
        parts.push(part);
        bytes = rest;
    }
    parts
}

fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::Failed(error.to_string()))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::Failed(format!("a message of another rank cannot be read: {error}")))
}
