//! Baselines: published self-supervised methods with one objective.
//!
//! Each file gives the paper, the equation and the settings; `presets/methods/` holds the authors' choices per data set.
//! Trained alone, a baseline uses all of them; in a pool with other objectives, only those of its `[objective.NAME]`.

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

/// All baselines.
pub const BASELINES: &[Entry<dyn Objective>] =
    &[dgi::ENTRY, grace::ENTRY, mvgrl::ENTRY, bgrl::ENTRY, graphmae::ENTRY, cca_ssg::ENTRY, gca::ENTRY];
