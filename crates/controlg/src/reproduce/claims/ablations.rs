//! Claims about the parts of the loop.

use super::evidence::p;
use super::{Claim, Evidence, Finding, Verdict};
use crate::eval::stats;
use crate::reproduce::targets::ABLATION_ROWS;

const HETEROPHILIC: [&str; 3] = ["chameleon", "squirrel", "actor"];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        name: "planner",
        statement: "Adaptive allocation is essential: without the planner, accuracy falls (by 2.9 points on average).",
        test: |evidence| drop(evidence, "ablation-nc", "controlg-no-planner"),
    },
    Claim {
        name: "state",
        statement: "The planner depends on difficulty estimates: without both state signals, accuracy falls (by 3.6 points on \
                    average).",
        test: |evidence| drop(evidence, "ablation-nc", "controlg-no-state"),
    },
    Claim {
        name: "spectral",
        statement: "Spectral demand gives consistent gains across all graphs (1.3 points on average).",
        test: |evidence| drop(evidence, "ablation-nc", "controlg-no-spectral"),
    },
    Claim {
        name: "interference",
        statement: "The interference signal helps (0.8 points on average).",
        test: |evidence| drop(evidence, "ablation-nc", "controlg-no-interference"),
    },
    Claim {
        name: "interference-heterophilic",
        statement: "Interference matters most on heterophilic graphs (Chameleon, Squirrel).",
        test: interference_heterophilic,
    },
    Claim {
        name: "controller",
        statement: "Deficit tracking improves allocation: with independent draws from the plan, accuracy falls by 1 to 2 points.",
        test: |evidence| drop(evidence, "ablation-nc", "controlg-no-controller"),
    },
    Claim {
        name: "largest-drops-nc",
        statement: "Removing the planner or both state signals causes the largest drops at node classification.",
        test: |evidence| largest_drops(evidence, "ablation-nc"),
    },
    Claim {
        name: "largest-drops-lp",
        statement: "Removing the planner or both state signals causes the largest drops at link prediction.",
        test: |evidence| largest_drops(evidence, "ablation-lp"),
    },
    Claim {
        name: "planner-lp",
        statement: "Without the planner, link prediction falls (by 2.3 points on average).",
        test: |evidence| drop(evidence, "ablation-lp", "controlg-no-planner"),
    },
    Claim {
        name: "controller-lp",
        statement: "Without the controller, link prediction falls (by 0.8 points on average).",
        test: |evidence| drop(evidence, "ablation-lp", "controlg-no-controller"),
    },
];

/// `controlg` minus an ablation over all data sets.
fn drop(evidence: &Evidence, target: &str, ablation: &str) -> Option<Finding> {
    let contrast = evidence.contrast(&[target], "controlg", ablation)?;
    Finding::new(contrast.verdict(), format!("controlg minus {ablation}: {}", contrast.words()))
}

fn largest_drops(evidence: &Evidence, target: &str) -> Option<Finding> {
    let ablations = ABLATION_ROWS.iter().filter(|row| **row != "controlg");
    let mut drops: Vec<(&str, f64, f64)> = ablations
        .filter_map(|row| Some((*row, evidence.contrast(&[target], "controlg", row)?)))
        .map(|(row, contrast)| (row, contrast.mean, contrast.p))
        .collect();
    drops.sort_by(|a, b| b.1.total_cmp(&a.1));
    let both = ["controlg-no-planner", "controlg-no-state"];
    let named = drops.iter().take(2).filter(|(row, ..)| both.contains(row)).count();
    let fall = drops.iter().take(2).all(|(_, drop, _)| *drop > 0.0);
    let beyond_chance = drops.iter().take(2).all(|drop| drop.2 < super::evidence::LEVEL);
    let verdict = match named {
        _ if drops.len() < 2 => return None,
        2 if fall && beyond_chance => Verdict::Holds,
        1 | 2 if fall => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    let words = |(row, drop, value): &(&str, f64, f64)| {
        format!("{} {drop:+.2} (p = {})", row.trim_start_matches("controlg-"), p(*value))
    };
    Finding::new(verdict, format!("mean drops: {}", drops.iter().map(words).collect::<Vec<_>>().join(", ")))
}

fn interference_heterophilic(evidence: &Evidence) -> Option<Finding> {
    let all = evidence.differences("ablation-nc", "controlg", "controlg-no-interference");
    let mean = |of: &dyn Fn(&str) -> bool| {
        let own: Vec<f64> =
            all.iter().filter(|(data, _)| of(data)).map(|(_, each)| stats::mean(each)).collect();
        (!own.is_empty()).then(|| stats::mean(&own))
    };
    let heterophilic = mean(&|data| HETEROPHILIC.contains(&data))?;
    let other = mean(&|data| !HETEROPHILIC.contains(&data))?;
    let verdict = match heterophilic > other {
        true if heterophilic > 0.0 => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    let measured = format!(
        "mean drop without interference: {heterophilic:+.2} on heterophilic graphs, {other:+.2} on the others (too few graphs for a \
         test)"
    );
    Finding::new(verdict, measured)
}
