//! How much memory a run takes, said before it starts.

use super::Training;
use crate::Real;
use crate::graph::Graph;

/// Bytes that a run will take at its peak, within about a quarter.
///
/// Counted are the graph as it was read and as it is seen, parameters with gradients and two moments, one gradient an objective when they are compared or mixed, and what one pass and its way back hold.
pub fn estimate(read: &Graph, seen: &Graph, training: &Training<'_>) -> u64 {
    let model = training.model();
    let real = size_of::<Real>();
    let params = model.params();
    let learned = params.len() * real;
    let optimiser = 2 * learned * model.optimisers().len();
    let compared = training.method_bytes();
    let graphs = read.memory_bytes() + seen.memory_bytes() + model.prepared_bytes();
    let passes = model.pass_bytes();
    (PROGRAM + graphs + 2 * learned + optimiser + compared + passes) as u64
}

/// The program itself, its threads and their scratch space.
const PROGRAM: usize = 14 << 20;

/// The most memory that this process has taken so far, in bytes, where the system tells.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
