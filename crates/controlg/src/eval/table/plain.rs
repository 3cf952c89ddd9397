//! A table of texts, for figures that are not ranked.

use std::fmt::Write;

use serde::Serialize;

use super::render::{html_safe, latex_safe, quoted};

/// A head and rows of the same length; the first column names the row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plain {
    /// A word for file names.
    pub name: String,
    /// One line on what is shown.
    pub title: String,
    /// The columns' names.
    pub head: Vec<String>,
    /// The texts.
    pub rows: Vec<Vec<String>>,
}

impl Plain {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = format!("|---|{}\n", "---:|".repeat(self.head.len() - 1));
        line(&self.head) + &rule + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }

    /// As CSV.
    pub fn csv(&self) -> String {
        let line =
            |cells: &Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
        line(&self.head) + &self.rows.iter().map(line).collect::<String>()
    }

    /// As LaTeX; needs the package `booktabs`.
    pub fn latex(&self) -> String {
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> =
                cells.iter().map(|cell| latex_safe(cell).replace('±', "$\\pm$").replace('–', "--")).collect();
            cells.join(" & ") + " \\\\\n"
        };
        let columns = "r".repeat(self.head.len() - 1);
        let rows: String = self.rows.iter().map(line).collect();
        format!(
            "\\begin{{tabular}}{{l{columns}}}\n\\toprule\n{}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n",
            line(&self.head)
        )
    }

    /// As an HTML fragment.
    pub fn html(&self) -> String {
        let mut out = String::from("<table>\n<thead><tr>");
        for cell in &self.head {
            let _ = write!(out, "<th>{}</th>", html_safe(cell));
        }
        out += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            out += "<tr>";
            for (at, cell) in row.iter().enumerate() {
                let tag = if at == 0 { "th" } else { "td" };
                let _ = write!(out, "<{tag}>{}</{tag}>", html_safe(cell));
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
    fn the_same_texts_in_four_ways() {
        let table = Plain {
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
