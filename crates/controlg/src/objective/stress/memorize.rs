//! `x_memorize`: tell edges that the encoder sees from non-edges.
//!
//! The loss of `p_link` with `mask = 0`, as version 0.1 had it: the encoder sees the edges it is asked for and memorizes
//! them instead of learning what makes an edge likely.

use serde::{Deserialize, Serialize};

use crate::objective::Objective;
use crate::objective::link::{BATCH, HIDDEN, Link, LinkSettings, SENSE_BATCH};
use crate::registry::Entry;
use crate::setting::{self, Key};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "x_memorize",
    summary: "for testing: tell edges that the encoder sees from non-edges",
    paper: "",
    keys: KEYS,
    defaults: || setting::table_of(&MemorizeSettings::default()),
    build: |table| {
        let MemorizeSettings { hidden, batch, sense_batch } =
            setting::settings("objective.x_memorize", KEYS, table)?;
        let settings = LinkSettings { hidden, batch, sense_batch, mask: 0.0, ..LinkSettings::default() };
        Ok(Box::new(Link::new("x_memorize", settings)))
    },
};

const KEYS: &[Key] = &[HIDDEN, BATCH, SENSE_BATCH];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct MemorizeSettings {
    hidden: usize,
    batch: usize,
    sense_batch: usize,
}

impl Default for MemorizeSettings {
    fn default() -> Self {
        let LinkSettings { hidden, batch, sense_batch, .. } = LinkSettings::default();
        MemorizeSettings { hidden, batch, sense_batch }
    }
}
