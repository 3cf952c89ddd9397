//! Baselines: published self-supervised methods with one objective, trained alone with their authors' settings.
//!
//! Each file gives the paper, the equation and the settings; `presets/methods/` holds the authors' choices per data set.
//! Baselines cannot be combined with other objectives.

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
