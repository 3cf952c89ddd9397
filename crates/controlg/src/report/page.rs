//! One HTML file that needs nothing else: no network, no other file.

use std::fmt::Write;

use serde_json::{Value, json};

use super::figures::{Figure, colors};
use super::history::History;
use crate::compare::table::html_escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Blocks at most whose reasons the page holds.
const MOST_BLOCKS: usize = 4000;

/// A page in the making.
pub(super) struct Page {
    title: String,
    body: String,
    data: Vec<(&'static str, Value)>,
}

impl Page {
    pub(super) fn new(title: &str) -> Page {
        let title: String = title.chars().take(200).collect();
        let body = format!("<h1>{}</h1>\n", html_escape(&title));
        Page { title, body, data: Vec::new() }
    }

    /// Words under the title.
    pub(super) fn story(&mut self, sentences: &[String]) {
        self.body += "<div class=\"story\">\n";
        for sentence in sentences {
            let _ = writeln!(self.body, "<p>{}</p>", html_escape(sentence));
        }
        self.body += "</div>\n";
    }

    /// Whether a check held, and what it said.
    pub(super) fn verdict(&mut self, good: bool, words: &str) {
        let class = if good { "good" } else { "bad" };
        let _ = writeln!(self.body, "<p><span class=\"verdict {class}\">{}</span></p>", html_escape(words));
    }

    /// A few numbers in a row.
    pub(super) fn numbers(&mut self, numbers: &[(String, String)]) {
        if numbers.is_empty() {
            return;
        }
        self.body += "<ul class=\"numbers\">\n";
        for (name, value) in numbers {
            let _ = writeln!(self.body, "<li>{} <b>{}</b></li>", html_escape(name), html_escape(value));
        }
        self.body += "</ul>\n";
    }

    /// Figures in a grid; `more` comes under the picture of the one of that name.
    pub(super) fn figures(&mut self, figures: &[Figure], more: &[(&str, &str)]) {
        self.body += "<div class=\"figures\">\n";
        for figure in figures {
            let under = more.iter().find(|(name, _)| *name == figure.name).map_or("", |(_, under)| under);
            let _ = writeln!(
                self.body,
                "<figure id=\"{}\">\n<h2>{}</h2>\n<figcaption>{}</figcaption>\n{}{under}</figure>",
                figure.name,
                html_escape(&figure.title),
                html_escape(&figure.caption),
                figure.picture.in_page(&format!("{}. {}", figure.title, figure.caption)),
            );
        }
        self.body += "</div>\n";
    }

    /// A text that opens when it is asked for.
    pub(super) fn details(&mut self, title: &str, text: &str) {
        let (title, text) = (html_escape(title), html_escape(text));
        let _ = writeln!(self.body, "<details><summary>{title}</summary><pre>{text}</pre></details>");
    }

    /// HTML that is ours.
    pub(super) fn html(&mut self, html: &str) {
        self.body += html;
    }

    /// Data for the script.
    pub(super) fn data(&mut self, id: &'static str, value: Value) {
        self.data.push((id, value));
    }

    pub(super) fn finish(self) -> String {
        let mut data = String::new();
        for (id, value) in &self.data {
            // `</script>` inside a text would end the element.
            let text = value.to_string().replace('<', "\\u003c");
            let _ = writeln!(data, "<script type=\"application/json\" id=\"{id}\">{text}</script>");
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <main>\n{}<footer>Made by controlg {} from the record alone.</footer>\n</main>\n{data}<script>\n{SCRIPT}</script>\n\
             </body>\n</html>\n",
            html_escape(&self.title),
            self.body,
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// What the page needs to say why a block went to its objective.
pub(super) fn reasons(history: &History) -> Value {
    let every = history.blocks.len().div_ceil(MOST_BLOCKS).max(1);
    let round = |values: &[f64]| -> Vec<Value> { values.iter().map(|x| rounded(*x)).collect() };
    let blocks: Vec<Value> = history
        .blocks
        .iter()
        .zip(&history.tasks)
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
    let (k, control) = (history.k(), &history.run.config.control);
    let gains = |gain: &crate::coordinator::Gain| -> Vec<f64> { (0..k).map(|at| gain.of(at)).collect() };
    json!({
        "objectives": history.run.objectives, "colors": colors(k), "every": every,
        "kp": gains(&control.kp), "ki": gains(&control.ki), "kd": gains(&control.kd), "blocks": blocks,
    })
}

/// Five digits are more than anybody reads, and keep the page small.
fn rounded(x: f64) -> Value {
    if !x.is_finite() {
        return Value::Null;
    }
    let text = format!("{x:.4e}");
    text.parse::<f64>().map_or(Value::Null, |x| json!(x))
}
