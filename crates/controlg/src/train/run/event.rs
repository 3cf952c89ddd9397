//! What happens in a run, for those who show it.

use crate::error::Error;
use crate::trace::Record;

/// Progress events of a run.
pub enum RunEvent<'e> {
    /// Predicted peak memory in bytes.
    Memory(u64),
    /// What was chosen for this graph ([`Input::notes`](crate::train::Input::notes)), or what the method noticed during training.
    Note(&'e str),
    /// A damaged checkpoint, which is skipped.
    Damaged(&'e Error),
    /// The run resumes after this many steps.
    Resumed(u64),
    /// A line of the record.
    Line(&'e Record),
}
