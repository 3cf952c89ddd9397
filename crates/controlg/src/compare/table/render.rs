//! Renders a result table as Markdown, CSV, LaTeX and HTML; first, second and third are bold, underlined and italic.

use std::fmt::Write;

use super::{AverageRank, MeanInterval, ResultTable};

impl ResultTable {
    /// Renders as Markdown.
    pub fn markdown(&self) -> String {
        let safe = markdown_escape;
        let mut head = vec!["method".to_owned()];
        head.extend(self.columns.iter().map(|(data, protocol)| safe(&format!("{data} ({protocol})"))));
        head.push("average rank".to_owned());
        let mut out = format!("| {} |\n|---|{}\n", head.join(" | "), "---:|".repeat(head.len() - 1));
        for row in &self.rows {
            let mut line = vec![safe(&row.method)];
            line.extend(row.cells.iter().map(|cell| match cell {
                None => "–".to_owned(),
                Some((summary, place)) => {
                    let text = value(summary, "±");
                    match place {
                        Some(1) => format!("**{text}**"),
                        Some(2) => format!("<u>{text}</u>"),
                        Some(3) => format!("*{text}*"),
                        _ => text,
                    }
                }
            }));
            line.push(rank(row.rank, self.columns.len()));
            let _ = writeln!(out, "| {} |", line.join(" | "));
        }
        out
    }

    /// Renders as CSV: one line per method and data set, at full precision.
    pub fn csv(&self) -> String {
        let mut out = "task,data,protocol,method,n,mean,std,half_width_95,place,average_rank,rank_data_sets,\
                       average_rank_missing_last\n"
            .to_owned();
        let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for row in &self.rows {
            for ((data, protocol), cell) in self.columns.iter().zip(&row.cells) {
                let Some((summary, place)) = cell else { continue };
                let names = [&self.task, data, protocol, &row.method].map(|name| csv_quoted(name)).join(",");
                let _ = writeln!(
                    out,
                    "{names},{},{},{},{},{},{},{},{}",
                    summary.n,
                    summary.mean,
                    optional(summary.std),
                    optional(summary.half_width),
                    place.map_or(String::new(), |place| place.to_string()),
                    optional(row.rank.map(|rank| rank.rank)),
                    row.rank.map_or(0, |rank| rank.n),
                    optional(row.rank_missing_last.map(|rank| rank.rank)),
                );
            }
        }
        out
    }

    /// Renders as LaTeX; needs the package `booktabs`.
    pub fn latex(&self) -> String {
        let mut out =
            format!("\\begin{{tabular}}{{l{}}}\n\\toprule\nmethod", "r".repeat(self.columns.len() + 1));
        for (data, protocol) in &self.columns {
            let _ = write!(out, " & {} ({})", latex_escape(data), latex_escape(protocol));
        }
        out += " & average rank \\\\\n\\midrule\n";
        for row in &self.rows {
            out += &latex_escape(&row.method);
            for cell in &row.cells {
                out += " & ";
                match cell {
                    None => out += "--",
                    Some((summary, place)) => {
                        let text = value(summary, "$\\pm$");
                        out += &match place {
                            Some(1) => format!("\\textbf{{{text}}}"),
                            Some(2) => format!("\\underline{{{text}}}"),
                            Some(3) => format!("\\textit{{{text}}}"),
                            _ => text,
                        };
                    }
                }
            }
            let _ = writeln!(out, " & {} \\\\", rank(row.rank, self.columns.len()).replace('–', "--"));
        }
        out + "\\bottomrule\n\\end{tabular}\n"
    }

    /// Renders as an HTML fragment that needs no style sheet.
    pub fn html(&self) -> String {
        let mut out = String::from("<table>\n<thead><tr><th>method</th>");
        for (data, protocol) in &self.columns {
            let _ = write!(out, "<th>{}<br><small>{}</small></th>", html_escape(data), html_escape(protocol));
        }
        out += "<th>average rank</th></tr></thead>\n<tbody>\n";
        for row in &self.rows {
            let _ = write!(out, "<tr><th>{}</th>", html_escape(&row.method));
            for cell in &row.cells {
                let text = match cell {
                    None => "–".to_owned(),
                    Some((summary, place)) => match (value(summary, "±"), place) {
                        (text, Some(1)) => format!("<strong>{text}</strong>"),
                        (text, Some(2)) => format!("<u>{text}</u>"),
                        (text, Some(3)) => format!("<em>{text}</em>"),
                        (text, _) => text,
                    },
                };
                let _ = write!(out, "<td>{text}</td>");
            }
            let _ = writeln!(out, "<td>{}</td></tr>", rank(row.rank, self.columns.len()));
        }
        out + "</tbody>\n</table>\n"
    }
}

/// Mean and interval; only the mean if there is a single value.
pub(super) fn value(summary: &MeanInterval, sign: &str) -> String {
    match summary.half_width {
        Some(half) => format!("{:.2} {sign} {half:.2}", summary.mean),
        None => format!("{:.2}", summary.mean),
    }
}

/// Average rank, with the number of data sets if it does not cover all.
fn rank(rank: Option<AverageRank>, columns: usize) -> String {
    match rank {
        None => "–".to_owned(),
        Some(AverageRank { rank, n }) if n == columns => format!("{rank:.2}"),
        Some(AverageRank { rank, n }) => format!("{rank:.2} (of {n})"),
    }
}

pub(super) fn csv_quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

pub(super) fn latex_escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '_' | '%' | '&' | '#' | '$' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            _ => out.push(c),
        }
    }
    out
}

pub(crate) fn html_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            // XML has no control characters, so an SVG with one is not read.
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Text in a cell of a Markdown table: one line, without HTML.
pub(crate) fn markdown_escape(text: &str) -> String {
    html_escape(&text.replace(['\n', '\t'], " ")).replace("&quot;", "\"").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::super::ResultTable;
    use super::super::tests::{cell, cells};

    fn table() -> ResultTable {
        let methods = ["raw", "p_link", "random", "dgi"].map(str::to_owned);
        ResultTable::new(&cells(), "nc", &methods, &[]).unwrap()
    }

    #[test]
    fn markdown_marks_the_best_and_missing_cells() {
        let want = "| method | a (own) | b (own) | average rank |\n|---|---:|---:|---:|\n\
                    | raw | **71.00** | **50.00** | 1.25 |\n\
                    | p_link | **71.00 ± 12.71** | – | 1.50 (of 1) |\n\
                    | random | *60.00* | – | 3.00 (of 1) |\n\
                    | dgi | – | – | – |\n";
        assert_eq!(table().markdown(), want);
    }

    #[test]
    fn csv_has_full_precision() {
        let csv = table().csv();
        assert!(
            csv.lines().any(|line| line.starts_with("nc,a,own,p_link,2,71,1.4142135623730951,12.70620473"))
        );
        assert_eq!(csv.lines().count(), 1 + 4);
        let widths: Vec<_> = csv.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.iter().all(|&width| width == 12), "{widths:?}");
    }

    #[test]
    fn names_are_escaped() {
        let odd = vec![cell("a&<b>|c", "p_x%,1", 0, 1.0)];
        let table = ResultTable::new(&odd, "nc", &[], &[]).unwrap();
        assert!(
            table.latex().contains(r"a\&<b>|c (own)") && table.latex().contains(r"p\_x\%,1 & \textbf{1.00}")
        );
        assert!(
            table.html().contains("a&amp;&lt;b&gt;|c") && table.markdown().contains(r"a&amp;&lt;b&gt;\|c")
        );
        assert!(table.csv().contains("\"p_x%,1\""));
    }
}
