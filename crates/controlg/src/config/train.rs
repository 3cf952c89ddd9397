//! The training loop and its optimizer (`[train]` in the run file).

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::setting::{Key, Range, Scalar};
use crate::tensor::{self, Decay, Precision, Schedule};

/// Settings of the training loop and its optimizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainSettings {
    /// Number of epochs.
    pub epochs: usize,
    /// Training steps per epoch.
    pub batches_per_epoch: usize,
    /// Training steps per block; a block trains one objective.
    pub block: usize,
    /// Learning rate.
    pub lr: f64,
    /// Learning-rate schedule.
    pub schedule: LrSchedule,
    /// Steps of linear learning-rate warmup.
    pub warmup_steps: usize,
    /// Weight decay.
    pub weight_decay: f64,
    /// Gradient-norm clipping threshold; 0 disables clipping.
    pub clip: f64,
    /// Warm-up rounds of one step per objective before the first plan.
    pub warmup_rounds: usize,
    /// Whether each objective has its own optimizer state for the encoder.
    pub per_task_moments: bool,
    /// The mini-batching mode.
    pub batch: BatchMode,
    /// Nodes per mini-batch.
    pub batch_nodes: usize,
    /// Neighbors sampled per node with [`BatchMode::Neighbor`].
    pub fanout: usize,
    /// Gradient checkpointing.
    pub recompute: Recompute,
    /// Whether weight decay is added to the gradient (Adam) instead of being decoupled (AdamW).
    pub coupled_decay: bool,
    /// Epochs without a lower held-out loss of any objective after which the run stops; 0 for never.
    pub stop_when_flat: usize,
    /// The precision of the dense products of training steps.
    pub precision: TrainPrecision,
    /// Whether the quality of the embeddings is measured after every epoch, without labels.
    pub quality: bool,
    /// Mini-batches per step, whose gradients are averaged. The ranks of a run share them out.
    pub shards: usize,
}

/// How a training step samples the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchMode {
    /// Full-graph up to [`BatchMode::WHOLE_UP_TO`] nodes, clusters for larger graphs.
    Auto,
    /// Full-graph steps.
    Full,
    /// Mini-batches of METIS clusters with all edges among their nodes (ClusterGCN).
    #[serde(alias = "parts")]
    Cluster,
    /// Mini-batches of random nodes with sampled neighbors (GraphSAGE).
    // The alias is kept from version 0.1: stored in records.
    #[serde(alias = "neighbours")]
    Neighbor,
}

impl BatchMode {
    /// The number of nodes up to which `auto` uses full-graph steps.
    pub const WHOLE_UP_TO: usize = 1 << 18;

    /// Resolves `auto` for a graph of this size.
    pub fn on(self, nodes: usize) -> BatchMode {
        match self {
            BatchMode::Auto if nodes > BatchMode::WHOLE_UP_TO => BatchMode::Cluster,
            BatchMode::Auto => BatchMode::Full,
            chosen => chosen,
        }
    }
}

/// Gradient checkpointing: recompute the activations of one view at a time in the backward pass instead of keeping those
/// of all views. Saves memory, costs time, and gives bit-identical results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recompute {
    /// If the activations take more than 512 MB.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The precision of the factors of dense products in training steps. Their sums, weights, optimizer state, norms, sensing,
/// embeddings and evaluation are f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainPrecision {
    /// f32. `auto` is read as f32, so that a run is stored with what it used even if `auto` means something else one day.
    #[serde(alias = "auto")]
    F32,
    /// bf16, where the CPU multiplies such numbers, and f32 elsewhere.
    Bf16,
}

impl TrainPrecision {
    /// The precision that dense products are asked for.
    pub fn factors(self) -> Precision {
        match self {
            TrainPrecision::F32 => Precision::Full,
            TrainPrecision::Bf16 => Precision::Bf16,
        }
    }
}

/// Learning-rate schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LrSchedule {
    /// Constant.
    Constant,
    /// Cosine decay to zero.
    Cosine,
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            epochs: 20,
            batches_per_epoch: 50,
            block: 1,
            lr: 1e-3,
            schedule: LrSchedule::Constant,
            warmup_steps: 0,
            weight_decay: 1e-5,
            clip: 0.0,
            warmup_rounds: 5,
            per_task_moments: false,
            batch: BatchMode::Auto,
            batch_nodes: 8192,
            fanout: 8,
            recompute: Recompute::Auto,
            coupled_decay: false,
            stop_when_flat: 0,
            precision: TrainPrecision::F32,
            quality: true,
            shards: 1,
        }
    }
}

impl TrainSettings {
    /// All settings.
    pub const KEYS: &[Key] = &[
        Key::new(
            "epochs",
            Range::Whole(1, 1_000_000),
            "number of epochs; the scheduler's counts and integrals are reset in each",
        ),
        Key::new("batches_per_epoch", Range::Whole(1, 1_000_000), "training steps per epoch"),
        Key::new(
            "block",
            Range::Whole(1, 1_000_000),
            "training steps per block; a block trains one objective",
        ),
        Key::new("lr", Range::Number(0.0, 10.0), "learning rate"),
        Key::new("schedule", Range::OneOf(&["constant", "cosine"]), "learning-rate schedule"),
        Key::new("warmup_steps", Range::Whole(0, 1_000_000_000), "steps of linear learning-rate warmup"),
        Key::new("weight_decay", Range::Number(0.0, 10.0), "weight decay"),
        Key::new("clip", Range::Number(0.0, 1e9), "gradient-norm clipping threshold; 0 disables clipping"),
        Key::new(
            "warmup_rounds",
            Range::Whole(1, 10_000),
            "warm-up rounds of one step per objective before the first plan",
        ),
        Key::new(
            "per_task_moments",
            Range::Flag,
            "separate optimizer state of the encoder for each objective",
        ),
        Key::new(
            "batch",
            Range::OneOf(&["auto", "full", "cluster", "neighbor"]),
            "full graph, METIS clusters, or sampled neighborhoods; auto: full up to 262144 nodes",
        )
        .added_later(Scalar::Text("auto")),
        Key::new("batch_nodes", Range::Whole(64, 1 << 30), "nodes per mini-batch")
            .added_later(Scalar::Whole(8192)),
        Key::new("fanout", Range::Whole(1, 10_000), "neighbors sampled per node with batch = neighbor")
            .added_later(Scalar::Whole(8)),
        Key::new(
            "recompute",
            Range::OneOf(&["auto", "always", "never"]),
            "gradient checkpointing, which saves memory; auto: if activations take more than 512 MB",
        )
        .added_later(Scalar::Text("auto")),
        Key::new(
            "coupled_decay",
            Range::Flag,
            "add weight decay to the gradient (Adam) instead of decoupling it (AdamW)",
        )
        .added_later(Scalar::Flag(false)),
        Key::new(
            "stop_when_flat",
            Range::Whole(0, 1_000_000),
            "epochs without a lower held-out loss of any objective after which the run stops; 0: never",
        )
        .added_later(Scalar::Whole(0)),
        Key::new(
            "precision",
            Range::OneOf(&["f32", "bf16", "auto"]),
            "factors of dense products in training steps; sums and all else are f32; auto: f32",
        )
        .added_later(Scalar::Text("f32")),
        Key::new(
            "quality",
            Range::Flag,
            "measure the embeddings without labels after every epoch; changes the record only",
        )
        .added_later(Scalar::Flag(false))
        .record_only(),
        Key::new(
            "shards",
            Range::Whole(1, 1 << 16),
            "mini-batches per step, whose gradients are averaged; several processes share them out",
        )
        .added_later(Scalar::Whole(1)),
    ];

    pub(super) fn check(&self) -> Result<()> {
        if self.block > self.batches_per_epoch {
            let expected = format!("at most train.batches_per_epoch, {}", self.batches_per_epoch);
            return Err(Error::value("train.block", self.block, expected));
        }
        Ok(())
    }

    /// The mini-batches per step on a graph of this size. More than one is an error with full-graph steps.
    pub fn shards_on(&self, nodes: usize) -> Result<usize> {
        if self.shards > 1 && self.batch.on(nodes) == BatchMode::Full {
            let found = format!("{} with full-graph steps", self.shards);
            let expected = "1, or mini-batches (train.batch = cluster or neighbor)";
            return Err(Error::value("train.shards", found, expected));
        }
        Ok(self.shards)
    }

    /// Blocks per epoch; the last one may be shorter.
    pub fn blocks_per_epoch(&self) -> usize {
        self.batches_per_epoch.div_ceil(self.block)
    }

    /// The number of steps in all epochs.
    pub fn total_steps(&self) -> u64 {
        self.epochs as u64 * self.batches_per_epoch as u64
    }

    /// Settings of the optimizer.
    pub fn optimizer(&self) -> tensor::OptimizerSettings {
        let total = self.total_steps();
        let decay = match self.schedule {
            LrSchedule::Constant => Decay::Constant,
            LrSchedule::Cosine => Decay::Cosine { total },
        };
        tensor::OptimizerSettings {
            rate: self.lr,
            schedule: Schedule { warmup: self.warmup_steps as u64, decay },
            weight_decay: self.weight_decay,
            coupled: self.coupled_decay,
            clip: (self.clip > 0.0).then_some(self.clip),
            ..tensor::OptimizerSettings::default()
        }
    }
}
