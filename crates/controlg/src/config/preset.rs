//! Presets: settings chosen per data set, and those that the authors of other methods chose.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::EdgeScope;
use crate::error::{Error, Result};
use crate::registry::EntrySummary;

/// A collection of settings for data sets, on which a run is based.
///
/// The methods of other authors have presets of their own ([`MethodKind::Grace`](super::MethodKind::Grace), for example).
/// Those are the same with every choice made here, as are their encoders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Settings chosen on validation data.
    #[default]
    Tuned,
    /// The paper's selected settings. All others are those of version 0.1.
    Paper,
}

/// The table of a preset with its settings for link prediction.
const LINK_PREDICTION: &str = "lp";

impl Preset {
    /// All of them.
    pub const ALL: &[Preset] = &[Preset::Tuned, Preset::Paper];

    /// The name that run files use.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::Tuned => "tuned",
            Preset::Paper => "paper",
        }
    }

    /// What a listing shows.
    pub fn summary(self) -> EntrySummary {
        let summary = match self {
            Preset::Tuned => "settings chosen on validation data; the default",
            Preset::Paper => "the paper's selected settings; all others as in version 0.1",
        };
        EntrySummary { name: self.name(), summary, paper: None }
    }

    /// The settings for a data set: its own over those for any graph. The table `lp` of a preset counts for runs that see the
    /// training edges only: predicting links asks for other settings than classifying nodes.
    ///
    /// ```
    /// use controlg::config::{EdgeScope, Preset};
    /// let settings = Preset::Paper.settings("cora", EdgeScope::All);
    /// assert_eq!(settings["encoder"]["width"].as_integer(), Some(512));
    /// ```
    pub fn settings(self, data: &str, edges: EdgeScope) -> Table {
        let mut settings = self.for_any_graph();
        super::merge(&mut settings, self.for_data(data));
        if let Some(Value::Table(for_links)) = settings.remove(LINK_PREDICTION)
            && edges == EdgeScope::Train
        {
            super::merge(&mut settings, for_links);
        }
        settings
    }

    /// The settings for graphs without a preset of their own, with those for link prediction apart.
    pub(super) fn for_any_graph(self) -> Table {
        parse(self.files(), "default")
    }

    /// The preset of a data set; empty if it has none.
    fn for_data(self, data: &str) -> Table {
        match self {
            // Options make it another graph than the one that the settings were chosen for.
            Preset::Tuned => parse(TUNED, data),
            Preset::Paper => parse(PAPER, name(data)),
        }
    }

    fn files(self) -> Files {
        match self {
            Preset::Tuned => TUNED,
            Preset::Paper => PAPER,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Preset> {
        let found = Preset::ALL.iter().find(|preset| preset.name() == name);
        found
            .copied()
            .ok_or_else(|| Error::unknown("preset", name, Preset::ALL.iter().map(|preset| preset.name())))
    }
}

/// What a method's settings are based on.
pub(super) struct Base {
    /// The presets, merged.
    pub(super) settings: Table,
    /// Whether settings that were added later, and that neither the presets nor the user give, have their implied values
    /// instead of their defaults.
    pub(super) implied: bool,
}

/// The base of a method on a data set. A method with a preset of its own builds upon the paper's preset: it must not
/// depend on what was tuned for other methods.
pub(super) fn base(preset: Preset, data: &str, method: &str, edges: EdgeScope) -> Base {
    let authors = of_method(method, data);
    let mut settings = match preset {
        // Not for any graph: the default normalization, which depends on the features, is no choice of the authors.
        Preset::Tuned if !authors.is_empty() => Preset::Paper.for_data(data),
        preset => preset.settings(data, edges),
    };
    let implied = preset == Preset::Paper || !authors.is_empty();
    // A method that trains one objective has no controller: it is the same with every preset.
    if !authors.is_empty()
        && let Some(Value::Table(control)) = settings.get_mut("control")
    {
        control.remove("integral");
    }
    super::merge(&mut settings, authors);
    Base { settings, implied }
}

/// The preset of a method for a data set; empty if it has none.
fn of_method(method: &str, data: &str) -> Table {
    let mut preset = parse(METHODS, method);
    if let Some(Value::Table(mut each)) = preset.remove("data")
        && let Some(Value::Table(own)) = each.remove(name(data))
    {
        super::merge(&mut preset, own);
    }
    preset
}

/// The settings that the authors of an objective chose for it on a data set; empty if it has none.
pub(super) fn of_objective(name: &str, data: &str) -> toml::Table {
    let preset = of_method(name, data).remove("objective");
    preset.map(|table| toml::Table::from_iter([("objective".to_owned(), table)])).unwrap_or_default()
}

/// The name without options: `synthetic` for `synthetic:nodes=1000`.
fn name(data: &str) -> &str {
    data.split(':').next().unwrap_or(data)
}

fn parse(files: Files, name: &str) -> Table {
    let text = files.iter().find(|file| file.0 == name).map_or("", |file| file.1);
    text.parse().expect("presets are valid TOML")
}

/// Contents of files by name.
type Files = &'static [(&'static str, &'static str)];

/// The files of a folder.
macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../presets/", $folder, "/", $name, ".toml")))),*]
    };
}

const TUNED: Files = files!("tuned": "default" "cora" "citeseer" "pubmed" "chameleon" "squirrel" "actor" "wikics" "acm" "dblp" "imdb"
    "coauthor-cs" "ogbn-arxiv" "synthetic");

const PAPER: Files = files!("paper": "default" "cora" "citeseer" "pubmed" "chameleon" "squirrel" "actor" "wikics"
    "coauthor-cs" "ogbn-arxiv" "synthetic");

/// The baselines' presets: general settings, and overrides per data set in `[data.NAME]`.
const METHODS: Files = files!("methods": "dgi" "grace" "mvgrl" "bgrl" "graphmae" "cca-ssg" "gca");
