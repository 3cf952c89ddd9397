//! The scores of a run next to its floors.

use std::fmt::Write;
use std::path::Path;

use super::page::prose;
use crate::compare::table::html_escape;
use crate::error::Result;
use crate::eval::{Task, floors, read_metrics};
use crate::run_files;

/// Scores of a run and of what it is compared with on one task, in percent.
#[derive(Clone, Debug)]
pub struct TaskScores {
    /// The task.
    pub task: Task,
    /// Protocol of the evaluation.
    pub protocol: String,
    /// What a reader should know about the scores; may be empty.
    pub note: String,
    /// Names and scores: the run first, then others, such as the floors.
    pub values: Vec<(String, f64)>,
}

/// What the floors are.
const FLOORS: &str = "Floors need no training, so training pays only above them: raw is the features alone, sgc the \
                      features smoothed over two hops, mean those of the neighbors alone, hops the features next to \
                      their means over one and two hops, untrained the encoder before its first step.";

/// Reads the scores in a run's `metrics.json`, if it exists; `method` names the run.
pub(super) fn read(run: &Path, method: &str) -> Result<Vec<TaskScores>> {
    let all = read_metrics(&run.join(run_files::METRICS))?;
    let of_task = |task: Task| {
        let score = all.get(task.name())?;
        let mut values = vec![(method.to_owned(), score.get("value")?.as_f64()?)];
        for floor in floors::NAMES.iter().rev() {
            let value = score.get("floors").and_then(|floors| floors.get(*floor)?.as_f64());
            values.extend(value.map(|value| ((*floor).to_owned(), value)));
        }
        let protocol = score.get("protocol")?.as_str()?.to_owned();
        Some(TaskScores { task, protocol, note: String::new(), values })
    };
    Ok([Task::Nc, Task::Lp, Task::Cluster].into_iter().filter_map(of_task).collect())
}

/// One card per task, with a sentence on how the run compares with its floors.
pub(super) fn html(scores: &[TaskScores]) -> String {
    if scores.is_empty() {
        return String::new();
    }
    let mut html = "<section id=\"scores\">\n<h2>Scores</h2>\n".to_owned();
    let floors = scores.iter().any(|task| task.values.iter().any(|(name, _)| is_floor(name)));
    let mut sentences = vec!["Test scores in percent; higher is better."];
    sentences.extend(floors.then_some(FLOORS));
    let _ = writeln!(html, "<p>{}</p>\n<div class=\"cards\">", prose(&sentences.join(" ")));
    for TaskScores { task, protocol, note, values } in scores {
        let _ = writeln!(
            html,
            "<div class=\"card\">\n<h3>{} <small>({})</small></h3>\n<p class=\"soft\">{}, protocol {}</p>\n<table>",
            task.title(),
            task.name(),
            task.metric(),
            html_escape(protocol)
        );
        for (at, (name, value)) in values.iter().enumerate() {
            let class = if at == 0 { " class=\"run\"" } else { "" };
            let _ = writeln!(
                html,
                "<tr{class}><th scope=\"row\">{}</th><td class=\"bar\"><i style=\"width:{:.1}%\"></i></td>\
                 <td>{value:.1}&nbsp;%</td></tr>",
                html_escape(name),
                value.clamp(0.0, 100.0)
            );
        }
        html += "</table>\n";
        let sentences =
            against_floors(values).into_iter().chain([note.clone()]).filter(|text| !text.is_empty());
        let _ = writeln!(html, "<p>{}</p>", prose(&sentences.collect::<Vec<_>>().join(" ")));
        html += "</div>\n";
    }
    html + "</div>\n</section>\n"
}

fn is_floor(name: &str) -> bool {
    floors::NAMES.contains(&name)
}

/// Compares the run, the first of the values, with the best floor.
fn against_floors(values: &[(String, f64)]) -> Option<String> {
    let ((run, score), others) = values.split_first()?;
    let floors = others.iter().filter(|(name, _)| is_floor(name));
    let (floor, best) = floors.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let difference = score - best;
    Some(if difference >= 0.05 {
        format!("{run} is {difference:.1} points above the best floor, {floor}.")
    } else if difference <= -0.05 {
        format!("{run} is {:.1} points below the best floor, {floor}, which needs no training.", -difference)
    } else {
        format!("{run} is level with the best floor, {floor}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[(&str, f64)]) -> Vec<(String, f64)> {
        values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn a_run_is_compared_with_its_best_floor() {
        let text = |run: f64| {
            let others = [("random", 99.0), ("raw", 60.0), ("sgc", 80.0)];
            against_floors(&values(&[&[("controlg", run)], &others[..]].concat()))
        };
        assert_eq!(text(81.5).unwrap(), "controlg is 1.5 points above the best floor, sgc.");
        assert!(text(79.0).unwrap().contains("1.0 points below the best floor, sgc"));
        assert!(text(80.01).unwrap().contains("level with"));
        assert_eq!(against_floors(&values(&[("controlg", 80.0), ("random", 70.0)])), None);
    }

    #[test]
    fn metrics_of_older_versions_have_no_floors() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| std::fs::write(folder.path().join(run_files::METRICS), text).unwrap();
        write(
            r#"{"cluster": {"value": 50.0, "protocol": "kmeans-k"}, "nc": {"value": 81.0, "protocol": "own"}}"#,
        );
        let scores = read(folder.path(), "controlg").unwrap();
        assert_eq!(scores.iter().map(|score| score.task).collect::<Vec<_>>(), [Task::Nc, Task::Cluster]);
        assert!(html(&scores).contains("81.0&nbsp;%") && !html(&scores).contains("smoothed"));
        write(r#"{"nc": {"value": 81.0, "protocol": "own", "floors": {"raw": 60.4, "sgc": 80.7}}}"#);
        let scores = read(folder.path(), "m").unwrap();
        assert_eq!(scores[0].values, values(&[("m", 81.0), ("sgc", 80.7), ("raw", 60.4)]));
        write("broken");
        assert!(read(folder.path(), "m").unwrap_err().to_string().contains("metrics.json"));
        assert!(read(&folder.path().join("none"), "m").unwrap().is_empty());
    }
}
