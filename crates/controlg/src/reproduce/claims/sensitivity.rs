//! Claims about encoders, pools and settings of the loop.

use super::{Claim, Evidence, Finding, Verdict};
use crate::eval::stats;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        name: "gat",
        statement: "With a GAT encoder controlg ranks first on all three data sets.",
        test: gat,
    },
    Claim {
        name: "pool-size",
        statement: "Accuracy improves modestly with the number of objectives, from three to five.",
        test: pool_size,
    },
    Claim {
        name: "three-beat-one",
        statement: "With three objectives controlg already surpasses the best single one of them.",
        test: three_beat_one,
    },
    Claim {
        name: "gains",
        statement: "Accuracy is tightly clustered over the grid of gains and other settings of the loop; no single value is \
                    required.",
        test: gain_spread,
    },
];

fn gat(evidence: &Evidence) -> Option<Finding> {
    let table = evidence.table("gat")?;
    let mut each = Vec::new();
    let mut first = 0;
    for data in &table.data {
        let means = table
            .methods()
            .filter_map(|row| Some((row.name.as_str(), evidence.mean("gat", data, &row.name)?)));
        let Some((best, mean)) = means.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        first += usize::from(best == "controlg");
        each.push(format!(
            "{data}: {best} {mean:.2}, controlg {:.2}",
            evidence.mean("gat", data, "controlg")?
        ));
    }
    let verdict = match first {
        _ if each.is_empty() => return None,
        all if all == each.len() => Verdict::Holds,
        0 => Verdict::DoesNotHold,
        _ => Verdict::InPart,
    };
    Finding::new(verdict, format!("first on {first} of {}; {}", each.len(), each.join("; ")))
}

fn pool_size(evidence: &Evidence) -> Option<Finding> {
    let table = evidence.table("pool-size")?;
    let mut each = Vec::new();
    let (mut rising, mut higher) = (0, 0);
    for data in &table.data {
        let means: Option<Vec<f64>> =
            ["K=3", "K=4", "K=5"].iter().map(|row| evidence.mean("pool-size", data, row)).collect();
        let Some(means) = means else { continue };
        rising += usize::from(means[0] < means[1] && means[1] < means[2]);
        higher += usize::from(means[2] > means[0]);
        each.push(format!("{data} {:.2}, {:.2}, {:.2}", means[0], means[1], means[2]));
    }
    let verdict = match each.len() {
        0 => return None,
        all if rising == all => Verdict::Holds,
        _ if higher > 0 => Verdict::InPart,
        _ => Verdict::DoesNotHold,
    };
    Finding::new(verdict, format!("with three, four and five: {}", each.join("; ")))
}

fn three_beat_one(evidence: &Evidence) -> Option<Finding> {
    let table = evidence.table("pool-size")?;
    let mut each = Vec::new();
    let mut ahead = 0;
    for data in &table.data {
        let alone = ["p_link", "p_recon", "p_decor"];
        let means = alone.iter().filter_map(|row| Some((*row, evidence.mean("nc", data, row)?)));
        let best = means.max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(three), Some((name, best))) = (evidence.mean("pool-size", data, "K=3"), best) else {
            continue;
        };
        ahead += usize::from(three > best);
        each.push(format!("{data} {three:.2}, {name} {best:.2}"));
    }
    let verdict = match ahead {
        _ if each.is_empty() => return None,
        all if all == each.len() => Verdict::Holds,
        0 => Verdict::DoesNotHold,
        _ => Verdict::InPart,
    };
    Finding::new(verdict, each.join("; "))
}

/// The seed alone changes the accuracy too; what the settings add to that is their effect.
fn gain_spread(evidence: &Evidence) -> Option<Finding> {
    let sweep = evidence.sweeps.first()?;
    let (spread, seeds) = (sweep.deviation()?, stats::sample_std(&sweep.by_seed));
    let [low, middle, high] = sweep.quantiles([0.05, 0.5, 0.95]);
    let verdict = match seeds {
        Some(seeds) if spread <= 1.5 * seeds => Verdict::Holds,
        Some(seeds) if spread <= 3.0 * seeds => Verdict::InPart,
        Some(_) => Verdict::DoesNotHold,
        None => return None,
    };
    let effect = sweep.largest_effect().map_or(String::new(), |(name, effect)| {
        format!("; the setting with the largest effect, {name}, moves the mean by {effect:.2}")
    });
    let measured = format!(
        "{}: median {middle:.2}, nine of ten configurations in {low:.2} to {high:.2}, standard deviation {spread:.2} over {} \
         configurations and {:.2} over seeds of the preset{effect}",
        sweep.data,
        sweep.runs.len(),
        seeds.unwrap_or(f64::NAN)
    );
    Finding::new(verdict, measured)
}
