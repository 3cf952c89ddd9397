//! Presets: the settings that the paper and the authors of other methods chose per data set.

const PRESETS: &[(&str, &str)] = &[
    ("cora", include_str!("../../presets/cora.toml")),
    ("citeseer", include_str!("../../presets/citeseer.toml")),
    ("pubmed", include_str!("../../presets/pubmed.toml")),
    ("chameleon", include_str!("../../presets/chameleon.toml")),
    ("squirrel", include_str!("../../presets/squirrel.toml")),
    ("actor", include_str!("../../presets/actor.toml")),
    ("wikics", include_str!("../../presets/wikics.toml")),
    ("coauthor-cs", include_str!("../../presets/coauthor-cs.toml")),
    ("ogbn-arxiv", include_str!("../../presets/ogbn-arxiv.toml")),
    ("synthetic", include_str!("../../presets/synthetic.toml")),
];

/// The baselines' presets: general settings, and overrides per data set in `[data.NAME]`.
const METHODS: &[(&str, &str)] = &[
    ("dgi", include_str!("../../presets/methods/dgi.toml")),
    ("grace", include_str!("../../presets/methods/grace.toml")),
    ("mvgrl", include_str!("../../presets/methods/mvgrl.toml")),
    ("bgrl", include_str!("../../presets/methods/bgrl.toml")),
    ("graphmae", include_str!("../../presets/methods/graphmae.toml")),
    ("cca-ssg", include_str!("../../presets/methods/cca-ssg.toml")),
    ("gca", include_str!("../../presets/methods/gca.toml")),
];

/// The preset of a data set; empty if it has none.
pub(super) fn of_data(data: &str) -> toml::Table {
    parse(PRESETS, name(data))
}

/// The preset of a method for a data set; empty if it has none.
pub(super) fn of_method(method: &str, data: &str) -> toml::Table {
    let mut preset = parse(METHODS, method);
    if let Some(toml::Value::Table(mut each)) = preset.remove("data")
        && let Some(toml::Value::Table(own)) = each.remove(name(data))
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

fn parse(list: &[(&str, &str)], name: &str) -> toml::Table {
    let text = list.iter().find(|preset| preset.0 == name).map_or("", |preset| preset.1);
    text.parse().expect("presets are valid TOML")
}
