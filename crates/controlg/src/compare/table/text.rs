//! A plain table of strings, for results that are not ranked.

use std::fmt::Write;

use serde::Serialize;

use super::render::{csv_quoted, html_escape, latex_escape, markdown_escape};

/// Header and rows of the same length; the first column holds the row names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextTable {
    /// File name without extension.
    pub name: String,
    /// Title.
    pub title: String,
    /// Column names.
    pub head: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Renders as Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| markdown_escape(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = format!("|---|{}\n", "---:|".repeat(self.head.len() - 1));
        line(&self.head) + &rule + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }

    /// Renders as CSV.
    pub fn csv(&self) -> String {
        let line = |cells: &Vec<String>| {
            cells.iter().map(|cell| csv_quoted(cell)).collect::<Vec<_>>().join(",") + "\n"
        };
        line(&self.head) + &self.rows.iter().map(line).collect::<String>()
    }

    /// Renders as LaTeX; needs the package `booktabs`.
    pub fn latex(&self) -> String {
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells
                .iter()
                .map(|cell| latex_escape(cell).replace('±', "$\\pm$").replace('–', "--"))
                .collect();
            cells.join(" & ") + " \\\\\n"
        };
        let columns = "r".repeat(self.head.len() - 1);
        let rows: String = self.rows.iter().map(line).collect();
        format!(
            "\\begin{{tabular}}{{l{columns}}}\n\\toprule\n{}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n",
            line(&self.head)
        )
    }

    /// Renders as an HTML fragment.
    pub fn html(&self) -> String {
        let mut out = String::from("<table>\n<thead><tr>");
        for cell in &self.head {
            let _ = write!(out, "<th>{}</th>", html_escape(cell));
        }
        out += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            out += "<tr>";
            for (at, cell) in row.iter().enumerate() {
                let tag = if at == 0 { "th" } else { "td" };
                let _ = write!(out, "<{tag}>{}</{tag}>", html_escape(cell));
            }
            out += "</tr>\n";
        }
        out + "</tbody>\n</table>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_in_four_formats() {
        let table = TextTable {
            name: "costs".into(),
            title: "costs".into(),
            head: vec!["method".into(), "a|b".into()],
            rows: vec![vec!["p_x".into(), "1,5 ± 2".into()]],
        };
        assert_eq!(table.markdown(), "| method | a\\|b |\n|---|---:|\n| p_x | 1,5 ± 2 |\n");
        assert_eq!(table.csv(), "method,a|b\np_x,\"1,5 ± 2\"\n");
        assert!(table.latex().contains("p\\_x & 1,5 $\\pm$ 2 \\\\"));
        assert!(table.html().contains("<tr><th>p_x</th><td>1,5 ± 2</td></tr>"));
    }
}
