//! The tables and figures of the paper, made again.
//!
//! A [`ReproduceTarget`] is a table or figure; [`TARGETS`] lists them. It consists of [`Part`]s: comparisons of a few methods on one
//! data set. A [`RunPlan`] merges the jobs of all parts, so that targets share runs and nothing is trained twice, and orders
//! them so that a prefix of the list leaves useful tables. [`costs`] estimates what that takes. The results are one
//! `results.jsonl`, from which [`TargetTable`]s show our numbers beside the paper's.

mod claims;
pub mod costs;
pub mod gains;
mod manifest;
mod part;
mod plan;
pub mod published;
mod settings;
mod table;
mod target;
mod targets;
pub mod timing;

pub use claims::{
    CLAIMS, Claim, Diagnostics, Evidence, Finding, MethodContrast, Verdict, table as claims_table,
};
pub use manifest::ReproductionManifest;
pub use part::Part;
pub use plan::{PlannedJob, RunPlan, Stage};
pub use settings::ReproduceSettings;
pub use table::{TableCell, TableRow, TargetTable};
pub use target::{PaperNumber, ReproduceTarget};
pub use targets::TARGETS;

#[cfg(test)]
mod tests;
