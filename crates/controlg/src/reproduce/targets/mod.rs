//! The list of targets.

mod ablations;
mod backbone;
mod equal_steps;
mod figures;
mod gains;
mod main_tables;
mod pool_size;
mod timing;

use super::ReproduceTarget;

pub(super) use ablations::ROWS as ABLATION_ROWS;
pub(super) use main_tables::ROWS as MAIN_ROWS;

/// All targets, in the order of the paper.
pub const TARGETS: &[ReproduceTarget] = &[
    main_tables::NC,
    main_tables::LP,
    main_tables::CLUSTER,
    ablations::NC,
    ablations::LP,
    backbone::GAT,
    pool_size::POOL_SIZE,
    gains::GAINS,
    equal_steps::EQUAL_STEPS,
    timing::TIMING,
    figures::FIGURES,
];
