//! Pretraining: the loop of the paper, a run's folder, and going on after a kill.
//!
//! [`pretrain`] is the whole of it in memory; [`Folder`] does the same into a folder that can be resumed, audited and
//! reported on. [`Training`] is the loop itself, one round or block at a time.
//!
//! ```
//! use controlg::config::{self, Config};
//!
//! let graph = controlg::data::load("synthetic:nodes=200", &Default::default()).unwrap().graph;
//! let mut table = Config::preset("my graph");
//! for small in ["encoder.width=16", "train.epochs=1", "train.batches_per_epoch=30", "objective.p_par.parts=4"] {
//!     config::set(&mut table, small).unwrap();
//! }
//! let run = controlg::train::pretrain(&graph, &Config::from_table(table).unwrap(), |_| {}).unwrap();
//! assert_eq!((run.embeddings.n_rows(), run.embeddings.n_cols()), (200, 16));
//! ```

mod batch;
mod embed;
mod estimate;
mod input;
pub mod memory;
mod mixing;
mod model;
mod run;
mod trained_model;
mod training;

pub use batch::sample_batches;
pub use embed::{embed, embed_into};
pub use estimate::{RunEstimate, size, within};
pub use input::Input;
pub use model::{Model, ModelSpec, NamedObjective};
pub use run::files::write_embeddings;
pub use run::folder::{RunEvent, RunFolder, RunSummary};
pub use trained_model::{TrainedModel, embed_by};
pub use training::{Timings, TrainProgress, Training};

use crate::config::Config;
use crate::error::Result;
use crate::graph::{Dense, Graph};
use crate::trace::Record;

/// What pretraining gives.
#[derive(Clone, Debug)]
pub struct Run {
    /// One row a node, in the graph's order.
    pub embeddings: Dense,
    /// Where the time went.
    pub timings: Timings,
}

/// Pretrains an encoder on a graph. Every line of the record is handed to `on_record` as it comes about.
///
/// `config.data` is not looked at: the graph is.
pub fn pretrain(graph: &Graph, config: &Config, mut on_record: impl FnMut(&Record)) -> Result<Run> {
    let input = Input::new(graph, config)?;
    let mut training = Training::new(&input, config)?;
    on_record(&training.header());
    while let Some(records) = training.advance()? {
        records.iter().for_each(&mut on_record);
    }
    Ok(Run { embeddings: training.model().embed()?.0, timings: training.timings().clone() })
}
