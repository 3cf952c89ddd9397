//! Time per step, measured in this process instead of by runs.

use crate::reproduce::{ReproduceTarget, published};

pub(super) const TIMING: ReproduceTarget = ReproduceTarget {
    name: ReproduceTarget::TIMING,
    title: "Milliseconds per optimizer step",
    paper: "appendix (app_time_per_step)",
    task: None,
    parts: |_| Vec::new(),
    published: |data, row| published::value("timing", data, row).map(|value| (value, None)),
};
