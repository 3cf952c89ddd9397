//! Claims about time per step.

use super::{Claim, Evidence, Finding, Verdict};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        name: "faster-than-mixing",
        statement: "A step of controlg is 5 to 15 times faster than one of per-step mixing methods (AutoSSL, ParetoGNN, CAGrad).",
        test: faster_than_mixing,
    },
    Claim {
        name: "overhead",
        statement: "Sensing and planning are amortized: on Cora a step of controlg takes 24 ms, one of a random schedule 8 ms.",
        test: overhead,
    },
];

fn faster_than_mixing(evidence: &Evidence) -> Option<Finding> {
    let own = evidence.ms("cora", "controlg")?;
    let slower = ["autossl", "paretognn", "cagrad"];
    let ratios: Vec<(&str, f64)> =
        slower.iter().filter_map(|method| Some((*method, evidence.ms("cora", method)? / own))).collect();
    let verdict = match ratios.iter().map(|ratio| ratio.1).fold(f64::INFINITY, f64::min) {
        least if !least.is_finite() => return None,
        least if least >= 5.0 => Verdict::Holds,
        least if least > 1.0 => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    let each: Vec<String> =
        ratios.iter().map(|(method, ratio)| format!("{method} {ratio:.1} times")).collect();
    Finding::new(verdict, format!("on Cora, as long as a step of controlg: {}", each.join(", ")))
}

fn overhead(evidence: &Evidence) -> Option<Finding> {
    let (own, random) = (evidence.ms("cora", "controlg")?, evidence.ms("cora", "random")?);
    let (ratio, paper) = (own / random, 24.03 / 8.08);
    let verdict = if ratio <= paper { Verdict::Holds } else { Verdict::DoesNotHold };
    Finding::new(verdict, format!("{own:.1} and {random:.1} ms, ratio {ratio:.2} (the paper's: {paper:.2})"))
}
