//! Claims about what the record of a run shows.

use super::{Claim, Diagnostics, Evidence, Finding, Verdict};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        name: "tracking",
        statement: "The controller drives the realized share of each objective to its planned share (Cora).",
        test: tracking,
    },
    Claim {
        name: "entropy",
        statement: "On Cora the schedule differentiates (the entropy of the plan falls), on Chameleon it stays nearly uniform.",
        test: entropy,
    },
];

fn of<'e>(evidence: &'e Evidence, data: &str) -> Option<&'e Diagnostics> {
    evidence.diagnostics.iter().find(|one| one.data == data)
}

fn tracking(evidence: &Evidence) -> Option<Finding> {
    let error = of(evidence, "cora")?.tracking_error?;
    // Independent draws end an epoch of 50 blocks about 0.11 from the plan.
    let verdict = match error {
        small if small <= 0.05 => Verdict::Holds,
        middle if middle <= 0.11 => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    Finding::new(verdict, format!("at the end of an epoch at most {error:.3} apart"))
}

fn entropy(evidence: &Evidence) -> Option<Finding> {
    let (cora, chameleon) = (of(evidence, "cora")?.entropy, of(evidence, "chameleon")?.entropy);
    let falls = cora.1 < cora.0;
    let verdict = match falls {
        true if cora.1 < chameleon.1 => Verdict::Holds,
        true => Verdict::InPart,
        false => Verdict::DoesNotHold,
    };
    let measured = format!(
        "entropy in the first and the last quarter of the blocks: Cora {:.3} and {:.3}, Chameleon {:.3} and {:.3}",
        cora.0, cora.1, chameleon.0, chameleon.1
    );
    Finding::new(verdict, measured)
}
