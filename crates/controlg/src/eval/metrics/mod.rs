//! How well predictions, rankings and partitions fit; shares of one, not percent.

mod classes;
mod partition;
mod ranking;
mod structure;

pub use classes::{accuracy, macro_f1};
pub use partition::{adjusted_rand, matched_accuracy, mutual_information};
pub use ranking::{average_precision, roc_auc};
pub use structure::{OUTSIDE, conductance, modularity};
