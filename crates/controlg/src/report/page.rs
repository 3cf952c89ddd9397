//! Self-contained HTML page: no network access, no other files.

use std::fmt::Write;

use serde_json::{Value, json};

use super::figures::{Figure, colors, raster_range};
use super::own_files::GENERATOR;
use super::run_trace::RunTrace;
use super::status::RunStatus;
use crate::compare::table::html_escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("blocks.js"), include_str!("map.js"), include_str!("page.js"));

/// Figures that take a whole row, with text beside them.
const WIDE: [&str; 2] = ["schedule", "map"];

/// Maximum number of blocks that the page can explain.
const MAX_BLOCKS: usize = 4000;

/// A page under construction.
pub(super) struct HtmlPage {
    title: String,
    body: String,
    data: Vec<(&'static str, Value)>,
}

impl HtmlPage {
    pub(super) fn new(title: &str) -> HtmlPage {
        let title: String = title.chars().take(200).collect();
        let body = format!("<h1>{}</h1>\n", html_escape(&title));
        HtmlPage { title, body, data: Vec::new() }
    }

    /// Adds a paragraph unless it is empty.
    pub(super) fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = writeln!(self.body, "<p class=\"intro\">{}</p>", prose(text));
        }
    }

    /// Adds a paragraph per sentence under a heading.
    pub(super) fn summary(&mut self, title: &str, sentences: &[String]) {
        let _ = writeln!(self.body, "<section class=\"summary\">\n<h2>{}</h2>", html_escape(title));
        for sentence in sentences {
            let _ = writeln!(self.body, "<p>{}</p>", prose(sentence));
        }
        self.body += "</section>\n";
    }

    /// Adds the result of a check.
    pub(super) fn verdict(&mut self, good: bool, text: &str) {
        let class = if good { "good" } else { "bad" };
        let _ = writeln!(self.body, "<p><span class=\"verdict {class}\">{}</span></p>", html_escape(text));
    }

    /// Adds the state of a run and a progress bar.
    pub(super) fn status(&mut self, status: &RunStatus, trace: &RunTrace) {
        let (name, text) = (status.name(), status.describe(trace));
        let _ = writeln!(
            self.body,
            "<div id=\"status\" data-state=\"{name}\">\n<p><span class=\"verdict {name}\">{name}</span> {}</p>\n<progress \
             aria-label=\"training steps\" value=\"{}\" max=\"{}\"></progress>\n</div>",
            prose(&text),
            trace.steps_done(),
            trace.run.config.total_steps().max(1)
        );
        self.title = format!("{name}: {}", self.title);
    }

    /// Adds a grid of figures; `below` is HTML that belongs to the figure of that name.
    pub(super) fn figures(&mut self, title: &str, figures: &[Figure], below: &[(&str, String)]) {
        if figures.is_empty() {
            return;
        }
        let _ = writeln!(self.body, "<h2>{}</h2>\n<div class=\"figures\">", html_escape(title));
        // The last of an odd number of half-width figures takes a whole row, so that no half row is empty.
        let half: Vec<&str> =
            figures.iter().map(|figure| figure.name).filter(|n| !WIDE.contains(n)).collect();
        let odd = half.last().filter(|_| half.len() % 2 == 1);
        for figure in figures {
            let below = below.iter().find(|(name, _)| *name == figure.name).map_or("", |(_, html)| html);
            let wide =
                if WIDE.contains(&figure.name) || odd == Some(&figure.name) { " class=\"wide\"" } else { "" };
            let _ = writeln!(
                self.body,
                "<figure id=\"{}\"{wide}>\n<figcaption>\n<h3>{}</h3>\n<p>{}</p>\n</figcaption>\n{}<div class=\"below\">\n\
                 {below}</div>\n</figure>",
                figure.name,
                html_escape(&figure.title),
                prose(&figure.caption),
                figure.image.inline(&format!("{}. {}", figure.title, figure.caption)),
            );
        }
        self.body += "</div>\n";
    }

    /// Adds collapsed text.
    pub(super) fn details(&mut self, title: &str, text: &str) {
        let (title, text) = (html_escape(title), html_escape(text));
        let _ = writeln!(self.body, "<details><summary>{title}</summary><pre>{text}</pre></details>");
    }

    /// Adds trusted HTML.
    pub(super) fn html(&mut self, html: &str) {
        self.body += html;
    }

    /// Adds JSON data for the script.
    pub(super) fn data(&mut self, id: &'static str, value: Value) {
        self.data.push((id, value));
    }

    pub(super) fn finish(self) -> String {
        let mut data = String::new();
        for (id, value) in &self.data {
            // `</script>` in a string would end the element.
            let text = value.to_string().replace('<', "\\u003c");
            let _ = writeln!(data, "<script type=\"application/json\" id=\"{id}\">{text}</script>");
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{GENERATOR}\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <main>\n{}<footer>Generated by controlg {} from the record.</footer>\n</main>\n{data}<script>\n{SCRIPT}</script>\n\
             </body>\n</html>\n",
            html_escape(&self.title),
            self.body,
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// Escapes a sentence and sets its numbers: `−63 %` with a minus sign and never broken over lines.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let sign = c == '-' && matches!(before, ' ' | '(') && rest.peek().is_some_and(char::is_ascii_digit);
        let unit = c == ' ' && before.is_ascii_digit() && rest.peek() == Some(&'%');
        out.push(if sign {
            '−'
        } else if unit {
            '\u{a0}'
        } else {
            c
        });
        before = c;
    }
    html_escape(&out)
}

/// Data that explains why each block was given to its objective.
pub(super) fn block_data(trace: &RunTrace) -> Value {
    let every = trace.blocks.len().div_ceil(MAX_BLOCKS).max(1);
    let round = |values: &[f64]| -> Vec<Value> { values.iter().map(|x| rounded(*x)).collect() };
    let blocks: Vec<Value> = trace
        .blocks
        .iter()
        .zip(&trace.tasks)
        .step_by(every)
        .map(|(block, task)| {
            json!({
                "epoch": block.epoch, "block": block.block, "step": block.step, "task": task,
                "draw": block.draw.map(rounded), "loss": rounded(block.loss), "plan": round(&block.plan),
                "count": block.count, "deficit": round(&block.deficit), "integral": round(&block.integral),
                "delta": round(&block.delta), "prob": round(&block.prob),
            })
        })
        .collect();
    let (k, control) = (trace.n_objectives(), &trace.run.config.control);
    let gains = |gain: &crate::coordinator::Gain| -> Vec<f64> { (0..k).map(|at| gain.of(at)).collect() };
    let (left, right) = raster_range(trace);
    json!({
        "left": left, "right": right, "objectives": trace.run.objectives, "colors": colors(k), "every": every,
        "kp": gains(&control.kp), "ki": gains(&control.ki), "kd": gains(&control.kd), "blocks": blocks,
    })
}

/// Rounds to five digits, which keeps the page small.
fn rounded(x: f64) -> Value {
    if !x.is_finite() {
        return Value::Null;
    }
    let text = format!("{x:.4e}");
    text.parse::<f64>().map_or(Value::Null, |x| json!(x))
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn numbers_stay_on_one_line() {
        assert_eq!(prose("p_link -63 %, x-1 (-0.5) & 3 of 4"), "p_link −63\u{a0}%, x-1 (−0.5) &amp; 3 of 4");
    }
}
