//! The gain sweep: how far the accuracy spreads over settings of the loop.

use std::collections::BTreeMap;

use super::{ReproduceSettings, ReproduceTarget};
use crate::compare::ResultCell;
use crate::compare::table::TextTable;
use crate::error::Result;
use crate::eval::stats::{self, MeanInterval};

/// Accuracy of every configuration of the sweep on a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct GainSweep {
    /// Data set.
    pub data: String,
    /// Test accuracy in percent and settings of each configuration.
    pub runs: Vec<(f64, Vec<String>)>,
    /// Number of configurations that were to be run.
    pub planned: usize,
    /// Accuracy of `controlg` with the preset, by seed: what the seed alone changes.
    pub by_seed: Vec<f64>,
}

/// The sweeps of all data sets that have results.
pub fn sweeps(settings: &ReproduceSettings, all: &[ResultCell]) -> Result<Vec<GainSweep>> {
    let main = ReproduceTarget::find("nc")?.parts(settings);
    let mut sweeps = Vec::new();
    for part in ReproduceTarget::find(ReproduceTarget::GAINS)?.parts(settings) {
        let is_nc = |cell: &ResultCell| cell.task == "nc";
        let runs = part.cells(all)?.into_iter().filter(is_nc).map(|cell| (cell.value, cell.settings));
        let runs: Vec<(f64, Vec<String>)> = runs.collect();
        if runs.is_empty() {
            continue;
        }
        let mut by_seed = Vec::new();
        for same in main.iter().filter(|same| same.data() == part.data()) {
            let cells = same.cells(all)?.into_iter().filter(|cell| is_nc(cell) && cell.method == "controlg");
            by_seed.extend(cells.map(|cell| cell.value));
        }
        sweeps.push(GainSweep {
            data: part.data().to_owned(),
            runs,
            planned: part.combinations.len(),
            by_seed,
        });
    }
    Ok(sweeps)
}

impl GainSweep {
    /// The values at these shares of the sorted accuracies.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [f64; N] {
        let mut sorted: Vec<f64> = self.runs.iter().map(|run| run.0).collect();
        sorted.sort_by(f64::total_cmp);
        shares.map(|share| sorted[(share * (sorted.len() - 1) as f64).round() as usize])
    }

    /// Standard deviation over the configurations.
    pub fn deviation(&self) -> Option<f64> {
        stats::sample_std(&self.runs.iter().map(|run| run.0).collect::<Vec<_>>())
    }

    /// Mean accuracy of the configurations with each value of each setting.
    pub fn by_value(&self) -> Vec<(String, MeanInterval)> {
        let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (accuracy, settings) in &self.runs {
            settings.iter().for_each(|setting| values.entry(setting).or_default().push(*accuracy));
        }
        let mean =
            |(setting, values): (&str, Vec<f64>)| Some((setting.to_owned(), MeanInterval::of(&values)?));
        values.into_iter().filter_map(mean).collect()
    }

    /// Largest difference between the means of two values of one setting.
    pub fn largest_effect(&self) -> Option<(String, f64)> {
        let mut ranges: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (setting, mean) in self.by_value() {
            let name = setting.split('=').next().unwrap_or_default().to_owned();
            let range = ranges.entry(name).or_insert((f64::INFINITY, f64::NEG_INFINITY));
            *range = (range.0.min(mean.mean), range.1.max(mean.mean));
        }
        ranges.into_iter().map(|(name, (low, high))| (name, high - low)).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The spread, and the mean for each value of each setting.
    pub fn table(&self) -> TextTable {
        let [low, five, quarter, middle, three, most, high] =
            self.quantiles([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0]);
        let row = |name: &str, n: usize, value: String| vec![name.to_owned(), n.to_string(), value];
        let n = self.runs.len();
        let deviation = |values: Option<f64>| values.map_or("–".to_owned(), |std| format!("{std:.2}"));
        let mut rows = vec![
            row("median", n, format!("{middle:.2}")),
            row("5 % to 95 %", n, format!("{five:.2} to {most:.2}")),
            row("quartiles", n, format!("{quarter:.2} to {three:.2}")),
            row("lowest and highest", n, format!("{low:.2} to {high:.2}")),
            row("standard deviation over configurations", n, deviation(self.deviation())),
            row(
                "standard deviation over seeds of the preset",
                self.by_seed.len(),
                deviation(stats::sample_std(&self.by_seed)),
            ),
        ];
        for (setting, mean) in self.by_value() {
            let half = mean.half_width.map_or(String::new(), |half| format!(" ± {half:.2}"));
            rows.push(row(&setting, mean.n, format!("{:.2}{half}", mean.mean)));
        }
        TextTable {
            name: format!("gains-{}", self.data.split(':').next().unwrap_or_default()),
            title: format!(
                "Accuracy on {} over {n} of {} configurations of the loop, one seed each",
                self.data, self.planned
            ),
            head: ["", "runs", "accuracy in percent"].map(str::to_owned).to_vec(),
            rows,
        }
    }
}
