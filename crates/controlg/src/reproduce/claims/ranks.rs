//! Claims about the main tables.

use super::{Claim, Evidence, Finding, Verdict};
use crate::eval::ranks::critical_difference;
use crate::eval::stats::{self, MeanInterval};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        name: "best-rank-nc",
        statement: "controlg has the best average rank at node classification (1.4).",
        test: |evidence| best_rank(evidence, "nc"),
    },
    Claim {
        name: "best-rank-lp",
        statement: "controlg has the best average rank at link prediction (1.9).",
        test: |evidence| best_rank(evidence, "lp"),
    },
    Claim {
        name: "best-rank-cluster",
        statement: "controlg has the best average rank at clustering (1.8).",
        test: |evidence| best_rank(evidence, "cluster"),
    },
    Claim {
        name: "first-or-second",
        statement: "controlg ranks first or second on all nine data sets at node classification.",
        test: first_or_second,
    },
    Claim {
        name: "gains-homophilic",
        statement: "Strong gains over the next-best method on homophilic graphs: Cora +1.5, PubMed +1.1, Coauthor-CS +1.8.",
        test: |evidence| lead(evidence, &["cora", "pubmed", "coauthor-cs"]),
    },
    Claim {
        name: "was-heterophilic",
        statement: "On heterophilic graphs (Chameleon, Squirrel, Actor) controlg substantially outperforms weighting-based \
                    methods like WAS.",
        test: |evidence| over_was(evidence, &["chameleon", "squirrel", "actor"]),
    },
    Claim {
        name: "arxiv",
        statement: "The method scales: on ogbn-arxiv controlg gains 1.2 points over the next-best method.",
        test: |evidence| lead(evidence, &["ogbn-arxiv"]),
    },
    Claim { name: "wikics", statement: "On Wiki-CS controlg essentially ties uniform mixing.", test: wikics },
];

fn best_rank(evidence: &Evidence, target: &str) -> Option<Finding> {
    let table = evidence.table(target)?;
    let own = table.row("controlg")?.rank?;
    let mut ranked: Vec<(&str, f64)> =
        table.methods().filter_map(|row| Some((row.name.as_str(), row.rank?.rank))).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (best, least) = *ranked.first()?;
    let difference = critical_difference(ranked.len(), table.data.len())?;
    let place = 1 + ranked.iter().filter(|(_, rank)| *rank < own.rank).count();
    let beaten = ranked.iter().filter(|(_, rank)| rank - own.rank > difference).count();
    let verdict = match place {
        1 => Verdict::Holds,
        2 | 3 if own.rank - least <= difference => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    let first = if place == 1 { String::new() } else { format!("; best: {best} with {least:.2}") };
    let measured = format!(
        "rank {:.2} over {} data sets, place {place} of {}{first}; significantly better than {beaten} methods (critical difference \
         {difference:.2})",
        own.rank,
        own.n,
        ranked.len()
    );
    Finding::new(verdict, measured)
}

fn first_or_second(evidence: &Evidence) -> Option<Finding> {
    let table = evidence.table("nc")?;
    let mut places = Vec::new();
    for data in &table.data {
        let Some(own) = evidence.mean("nc", data, "controlg") else { continue };
        let ahead =
            table.methods().filter_map(|row| evidence.mean("nc", data, &row.name)).filter(|mean| *mean > own);
        places.push((data, 1 + ahead.count()));
    }
    let within = places.iter().filter(|(_, place)| *place <= 2).count();
    let verdict = match within {
        _ if places.is_empty() => return None,
        all if all == places.len() => Verdict::Holds,
        some if 2 * some >= places.len() => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    let each: Vec<String> = places.iter().map(|(data, place)| format!("{data} {place}")).collect();
    Finding::new(verdict, format!("on {within} of {} data sets; places: {}", places.len(), each.join(", ")))
}

/// `controlg` minus the best other method on each of these data sets, paired by seed.
fn lead(evidence: &Evidence, data: &[&str]) -> Option<Finding> {
    let table = evidence.table("nc")?;
    let mut leads: Vec<(MeanInterval, String)> = Vec::new();
    for name in data {
        let others = table.methods().filter(|row| row.name != "controlg");
        let means = others.filter_map(|row| Some((row.name.as_str(), evidence.mean("nc", name, &row.name)?)));
        let Some((best, _)) = means.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let differences = evidence.differences("nc", "controlg", best);
        let own = differences.into_iter().find(|(known, _)| known == name);
        let Some(lead) = own.and_then(|(_, each)| MeanInterval::of(&each)) else { continue };
        let half = lead.half_width.map_or(String::new(), |half| format!(" ± {half:.2}"));
        leads.push((lead, format!("{name} {:+.2}{half} over {best}", lead.mean)));
    }
    let ahead = leads.iter().filter(|(lead, _)| lead.mean > 0.0).count();
    let beyond_chance = leads.iter().all(|(lead, _)| lead.excludes_zero());
    let verdict = match ahead {
        _ if leads.is_empty() => return None,
        all if all == leads.len() && beyond_chance => Verdict::Holds,
        0 => Verdict::DoesNotHold,
        _ => Verdict::InPart,
    };
    let each: Vec<String> = leads.into_iter().map(|(_, words)| words).collect();
    Finding::new(verdict, each.join("; "))
}

fn over_was(evidence: &Evidence, data: &[&str]) -> Option<Finding> {
    let all = evidence.differences("nc", "controlg", "was");
    let own: Vec<(&str, MeanInterval)> = all
        .iter()
        .filter(|(name, _)| data.contains(&name.as_str()))
        .filter_map(|(name, each)| Some((name.as_str(), MeanInterval::of(each)?)))
        .collect();
    if own.is_empty() {
        return None;
    }
    let verdict = match stats::mean(&own.iter().map(|(_, one)| one.mean).collect::<Vec<_>>()) > 0.0 {
        true if own.iter().all(|(_, one)| one.mean > 0.0 && one.excludes_zero()) => Verdict::Holds,
        true => Verdict::InPart,
        false => Verdict::DoesNotHold,
    };
    let words = |(name, one): &(&str, MeanInterval)| {
        let half = one.half_width.map_or(String::new(), |half| format!(" ± {half:.2}"));
        format!("{name} {:+.2}{half}", one.mean)
    };
    Finding::new(
        verdict,
        format!("controlg minus was: {}", own.iter().map(words).collect::<Vec<_>>().join(", ")),
    )
}

fn wikics(evidence: &Evidence) -> Option<Finding> {
    let all = evidence.differences("nc", "controlg", "uniform");
    let own = all.into_iter().find(|(name, _)| name == "wikics")?;
    let difference = MeanInterval::of(&own.1)?;
    let verdict = if difference.excludes_zero() { Verdict::DoesNotHold } else { Verdict::Holds };
    Finding::new(verdict, format!("controlg minus uniform: {:+.2}", difference.mean))
}
