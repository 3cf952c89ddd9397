//! The settings that the paper chose for its data sets, one commented run file each.

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

/// The preset of a data set, empty where there is none.
pub(super) fn find(data: &str) -> toml::Table {
    // `synthetic:nodes=1000` is a synthetic graph too.
    let name = data.split(':').next().unwrap_or(data);
    let text = PRESETS.iter().find(|preset| preset.0 == name).map_or("", |preset| preset.1);
    text.parse().expect("our own files are TOML")
}
