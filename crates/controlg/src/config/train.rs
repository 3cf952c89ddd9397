//! `[train]`: how long, how fast.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::setting::{Key, Range, Scalar};
use crate::tensor::{self, Decay, Schedule};

/// How training goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainSettings {
    /// Number of epochs.
    pub epochs: usize,
    /// Steps of an epoch.
    pub batches_per_epoch: usize,
    /// Steps of a block, which go to one objective.
    pub block: usize,
    /// The learning rate.
    pub lr: f64,
    /// How the rate changes.
    pub schedule: LrSchedule,
    /// Steps over which the rate climbs at first.
    pub warmup_steps: usize,
    /// Weight decay.
    pub weight_decay: f64,
    /// The longest gradient that is let through; 0 for any.
    pub clip: f64,
    /// Rounds of one step for each objective before the first plan.
    pub warmup_rounds: usize,
    /// Whether each objective keeps its own moments of the encoder's gradient.
    pub per_task_moments: bool,
    /// What a step sees.
    pub batch: BatchMode,
    /// Nodes of a step that sees a part of the graph.
    pub batch_nodes: usize,
    /// Neighbors drawn for each node, where a step sees drawn neighborhoods.
    pub fanout: usize,
    /// Whether a step encodes its views again for their gradient.
    pub recompute: Recompute,
    /// Whether the decay is a part of the gradient.
    pub coupled_decay: bool,
}

/// What a step sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchMode {
    /// All of a graph up to [`BatchMode::WHOLE_UP_TO`] nodes, parts of a larger one.
    Auto,
    /// The whole graph.
    Full,
    /// Some METIS parts of the graph, with the edges among them.
    #[serde(alias = "parts")]
    Cluster,
    /// Random nodes with drawn neighbors around them.
    #[serde(alias = "neighbours")]
    Neighbor,
}

impl BatchMode {
    /// The largest graph that `auto` shows whole to every step.
    pub const WHOLE_UP_TO: usize = 1 << 18;

    /// What it comes to on a graph of so many nodes.
    pub fn on(self, nodes: usize) -> BatchMode {
        match self {
            BatchMode::Auto if nodes > BatchMode::WHOLE_UP_TO => BatchMode::Cluster,
            BatchMode::Auto => BatchMode::Full,
            chosen => chosen,
        }
    }
}

/// Whether a step encodes its views again for their gradient, one after the other, instead of keeping all that they
/// left on their way: less memory and more time for the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recompute {
    /// Where they would keep more than half a gigabyte.
    Auto,
    /// On every graph.
    Always,
    /// On none.
    Never,
}

/// How the learning rate changes over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LrSchedule {
    /// Not at all.
    Constant,
    /// Half a cosine, down to zero at the end.
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
        }
    }
}

impl TrainSettings {
    /// The settings' names and ranges.
    pub const KEYS: &[Key] = &[
        Key::new(
            "epochs",
            Range::Whole(1, 1_000_000),
            "number of epochs; counts and integrals start anew in each",
        ),
        Key::new("batches_per_epoch", Range::Whole(1, 1_000_000), "steps of an epoch"),
        Key::new("block", Range::Whole(1, 1_000_000), "steps of a block, which all go to one objective"),
        Key::new("lr", Range::Number(0.0, 10.0), "learning rate of AdamW"),
        Key::new(
            "schedule",
            Range::OneOf(&["constant", "cosine"]),
            "how the learning rate changes over the run",
        ),
        Key::new("warmup_steps", Range::Whole(0, 1_000_000_000), "steps over which the learning rate climbs"),
        Key::new("weight_decay", Range::Number(0.0, 10.0), "weight decay"),
        Key::new("clip", Range::Number(0.0, 1e9), "longest gradient that is let through as it is; 0 for any"),
        Key::new(
            "warmup_rounds",
            Range::Whole(1, 10_000),
            "rounds of one step an objective before the first plan",
        ),
        Key::new("per_task_moments", Range::Flag, "own moments of the encoder's gradient for each objective"),
        Key::new(
            "batch",
            Range::OneOf(&["auto", "full", "cluster", "neighbor"]),
            "what a step sees: the whole graph, METIS parts, or drawn neighborhoods; auto: whole up to 262144 nodes",
        )
        .added_later(Scalar::Text("auto")),
        Key::new("batch_nodes", Range::Whole(64, 1 << 30), "nodes of a step that sees a part of the graph")
            .added_later(Scalar::Whole(8192)),
        Key::new(
            "fanout",
            Range::Whole(1, 10_000),
            "neighbors drawn for each node, with batch = neighbor",
        )
        .added_later(Scalar::Whole(8)),
        Key::new(
            "recompute",
            Range::OneOf(&["auto", "always", "never"]),
            "whether a step encodes views again for their gradient, which saves memory; auto: beyond 512 MB of them",
        )
        .added_later(Scalar::Text("auto")),
        Key::new(
            "coupled_decay",
            Range::Flag,
            "whether weight decay is a part of the gradient, as in Adam, or apart from it, as in AdamW",
        )
        .added_later(Scalar::Flag(false)),
    ];

    pub(super) fn check(&self) -> Result<()> {
        if self.block > self.batches_per_epoch {
            let expected = format!("at most train.batches_per_epoch, {}", self.batches_per_epoch);
            return Err(Error::value("train.block", self.block, expected));
        }
        Ok(())
    }

    /// Blocks of an epoch; the last is shorter where the block does not divide the epoch.
    pub fn blocks_per_epoch(&self) -> usize {
        self.batches_per_epoch.div_ceil(self.block)
    }

    /// The number of steps in all epochs.
    pub fn total_steps(&self) -> u64 {
        self.epochs as u64 * self.batches_per_epoch as u64
    }

    /// The optimizer's settings.
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
