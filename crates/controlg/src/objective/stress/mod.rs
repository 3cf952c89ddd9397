//! Objectives for testing: each is bad for every graph.
//!
//! They show what a method does with an objective that it should not train: put one into a pool and look at its share.
//! No pool has them by default.

mod memorize;
mod noise;
mod shuffle;

use super::Objective;
use crate::registry::Entry;

/// All objectives for testing.
pub const STRESS: &[Entry<dyn Objective>] = &[noise::ENTRY, shuffle::ENTRY, memorize::ENTRY];
