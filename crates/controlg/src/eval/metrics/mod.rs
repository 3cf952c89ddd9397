//! Classification, ranking, clustering and community metrics, between 0 and 1.

mod classification;
mod clustering;
mod community;
mod ranking;

pub use classification::{accuracy, macro_f1};
pub use clustering::{adjusted_rand_index, clustering_accuracy, normalized_mutual_info};
pub use community::{UNASSIGNED, conductance, modularity};
pub use ranking::{average_precision, roc_auc};
