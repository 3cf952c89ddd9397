//! Statistics of the graph of a run.

use std::fmt::Write;

use crate::compare::table::html_escape;
use crate::data::info::{DatasetInfo, grouped};
use crate::graph::stats::Degrees;

/// A list of names and values.
pub(super) fn html(info: &DatasetInfo) -> String {
    let mut html = "<section id=\"graph\">\n<h2>Graph</h2>\n<dl class=\"stats\">\n".to_owned();
    for (name, value, note) in rows(info) {
        let note =
            if note.is_empty() { String::new() } else { format!(" <small>{}</small>", html_escape(&note)) };
        let _ = writeln!(html, "<div><dt>{name}</dt><dd>{}{note}</dd></div>", html_escape(&value));
    }
    html + "</dl>\n</section>\n"
}

/// Names, values, and what the values mean.
fn rows(info: &DatasetInfo) -> Vec<(&'static str, String, String)> {
    let entries = info.nodes as f64 * info.features as f64;
    let density = 100.0 * info.feature_nonzeros as f64 / entries.max(1.0);
    let Degrees { min, median, mean, max } = info.degree;
    let mut edges = vec!["undirected"];
    edges.extend(info.weighted.then_some("weighted"));
    let mut rows = vec![
        ("nodes", grouped(info.nodes), String::new()),
        ("edges", grouped(info.edges), edges.join(", ")),
        ("features", grouped(info.features), format!("{density:.1}\u{a0}% non-zero")),
        ("degree", format!("{mean:.1}"), format!("mean; median {median}, {min} to {}", grouped(max))),
        ("components", grouped(info.components), format!("{} isolated nodes", grouped(info.isolated))),
    ];
    if let Some(classes) = info.classes {
        rows.push(("classes", classes.to_string(), String::new()));
    }
    if let Some(homophily) = info.homophily {
        let meaning = "of the edges join nodes of one class".to_owned();
        rows.push(("homophily", format!("{:.0}\u{a0}%", 100.0 * homophily), meaning));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_what_data_info_prints() {
        let dataset = crate::data::load("synthetic:nodes=1200", &Default::default()).unwrap();
        let info = DatasetInfo::of(&dataset);
        let page = html(&info);
        assert!(page.contains("<dt>nodes</dt><dd>1,200</dd>"), "{page}");
        for name in ["edges", "features", "degree", "components", "classes", "homophily"] {
            assert!(page.contains(&format!("<dt>{name}</dt>")), "{name}: {page}");
        }
        let unlabeled = html(&DatasetInfo { homophily: None, classes: None, ..info });
        assert!(!unlabeled.contains("homophily") && !unlabeled.contains("classes"), "{unlabeled}");
    }
}
