//! Methods of their own: one objective that is trained alone, with the network and the schedule that its authors chose.
//!
//! Each is a file with its paper, equation and settings; what the authors chose for a data set is in `presets/methods/`.
//! They are no part of the pool that is combined.

mod bgrl;
mod cca_ssg;
mod centrality;
mod contrast;
mod dgi;
mod gca;
mod grace;
mod graphmae;
mod infomax;
mod mvgrl;

use super::Objective;
use crate::registry::Entry;

/// All of them.
pub const BASELINES: &[Entry<dyn Objective>] =
    &[dgi::ENTRY, grace::ENTRY, mvgrl::ENTRY, bgrl::ENTRY, graphmae::ENTRY, cca_ssg::ENTRY, gca::ENTRY];
