//! Claims about training one objective at a time.

use super::evidence::MethodContrast;
use super::{Claim, Evidence, Finding, Verdict};

/// Methods that mix all gradients in every step, as far as they are in the paper.
const MIXING: [&str; 6] = ["autossl", "was", "uniform", "paretognn", "pcgrad", "cagrad"];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        name: "random-outranks-mixing",
        statement: "On node clustering a uniformly random schedule already outranks every method that mixes gradients in \
                    every step (average rank 5.0).",
        test: random_outranks_mixing,
    },
    Claim {
        name: "random-beats-mixing",
        statement: "Temporal separation is a strong inductive bias: a random schedule often matches or outperforms mixing \
                    methods.",
        test: |evidence| beats_mixing(evidence, &["nc", "lp", "cluster"], "random"),
    },
    Claim {
        name: "controlg-beats-mixing",
        statement: "Planned temporal separation beats per-step mixing.",
        test: |evidence| beats_mixing(evidence, &["nc", "lp", "cluster"], "controlg"),
    },
    Claim {
        name: "random-beats-mixing-at-equal-steps",
        statement: "The same with as many optimizer steps for mixing, which then evaluates five times as many losses.",
        test: |evidence| beats_mixing(evidence, &["equal-steps"], "random"),
    },
];

fn random_outranks_mixing(evidence: &Evidence) -> Option<Finding> {
    let table = evidence.table("cluster")?;
    let random = table.row("random")?.rank?.rank;
    let ranks: Vec<(&str, f64)> =
        MIXING.iter().filter_map(|name| Some((*name, table.row(name)?.rank?.rank))).collect();
    if ranks.is_empty() {
        return None;
    }
    let beaten = ranks.iter().filter(|(_, rank)| random < *rank).count();
    let each: Vec<String> = ranks.iter().map(|(name, rank)| format!("{name} {rank:.1}")).collect();
    let verdict = match beaten {
        all if all == ranks.len() => Verdict::Holds,
        some if 2 * some > ranks.len() => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    Finding::new(verdict, format!("average rank {random:.1}; {}", each.join(", ")))
}

/// One method against the mean of all mixing methods, and against each.
fn beats_mixing(evidence: &Evidence, targets: &[&str], method: &str) -> Option<Finding> {
    let mut means: Vec<f64> = Vec::new();
    for target in targets {
        let Some(table) = evidence.table(target) else { continue };
        for data in &table.data {
            let Some(own) = evidence.mean(target, data, method) else { continue };
            let mixed: Vec<f64> =
                MIXING.iter().filter_map(|name| evidence.mean(target, data, name)).collect();
            if !mixed.is_empty() {
                means.push(own - mixed.iter().sum::<f64>() / mixed.len() as f64);
            }
        }
    }
    let all = MethodContrast::of(means)?;
    let each: Vec<String> = MIXING
        .iter()
        .filter_map(|name| Some((name, evidence.contrast(targets, method, name)?)))
        .map(|(name, contrast)| {
            format!("{name} {:+.2} (p = {})", contrast.mean, super::evidence::p(contrast.p))
        })
        .collect();
    let measured = format!(
        "{method} minus the mean of the mixing methods: {}; minus each: {}",
        all.words(),
        each.join(", ")
    );
    Finding::new(all.verdict(), measured)
}
