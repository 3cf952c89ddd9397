//! The paper's claims, each with what we measured and a verdict, made from the results alone.

mod ablations;
mod diagnostics;
mod evidence;
mod ranks;
mod sensitivity;
mod separation;
mod time;

use std::fmt;

use serde::Serialize;

pub use evidence::{Diagnostics, Evidence, MethodContrast};

use crate::compare::table::TextTable;

/// A claim of the paper.
pub struct Claim {
    /// Short name.
    pub name: &'static str,
    /// What the paper says.
    pub statement: &'static str,
    /// What follows from the results; `None` if the results that it needs are not there.
    test: fn(&Evidence) -> Option<Finding>,
}

/// What follows from the results about a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What we measured.
    pub measured: String,
    /// Whether the claim holds.
    pub verdict: Verdict,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As the paper says, and beyond chance where chance can be judged.
    Holds,
    /// In the direction that the paper says, but within chance or not everywhere.
    InPart,
    /// The other way around, or no difference.
    DoesNotHold,
    /// The results that it needs are not there.
    NotTested,
}

/// All claims, in the order of the paper.
pub const CLAIMS: &[&[Claim]] = &[
    separation::CLAIMS,
    ranks::CLAIMS,
    ablations::CLAIMS,
    time::CLAIMS,
    diagnostics::CLAIMS,
    sensitivity::CLAIMS,
];

impl Claim {
    /// What follows from the results.
    pub fn judge(&self, evidence: &Evidence) -> Finding {
        let untested = || Finding { measured: "no results yet".to_owned(), verdict: Verdict::NotTested };
        (self.test)(evidence).unwrap_or_else(untested)
    }
}

impl Finding {
    fn new(verdict: Verdict, measured: String) -> Option<Finding> {
        Some(Finding { measured, verdict })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds => "holds",
            Verdict::InPart => "holds in part",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NotTested => "not tested",
        })
    }
}

/// Every claim with its finding.
pub(super) fn judged(evidence: &Evidence) -> Vec<(&'static Claim, Finding)> {
    CLAIMS.iter().flat_map(|group| group.iter()).map(|claim| (claim, claim.judge(evidence))).collect()
}

/// The table of claims.
pub fn table(evidence: &Evidence) -> TextTable {
    let row = |(claim, finding): (&Claim, Finding)| {
        vec![claim.statement.to_owned(), finding.measured, finding.verdict.to_string()]
    };
    TextTable {
        name: "claims".to_owned(),
        title: "The paper's claims".to_owned(),
        head: ["the paper says", "we measured", "verdict"].map(str::to_owned).to_vec(),
        rows: judged(evidence).into_iter().map(row).collect(),
    }
}
