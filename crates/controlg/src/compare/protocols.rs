//! The columns of a comparison over several protocols of node classification: one per data set and protocol.

use super::{Comparison, ResultCell};

/// The comparison with columns in place of its data sets.
pub(super) fn with_columns(comparison: &Comparison) -> Comparison {
    let of_data = |data: &String| {
        comparison.protocols.iter().map(|protocol| column(data, protocol)).collect::<Vec<_>>()
    };
    let data = comparison.data.iter().flat_map(of_data).collect();
    Comparison { data, protocols: Vec::new(), ..comparison.clone() }
}

/// Results with the names of columns as their data sets.
pub(super) fn by_column(cells: &[ResultCell]) -> Vec<ResultCell> {
    cells.iter().map(|cell| ResultCell { data: column(&cell.data, &cell.protocol), ..cell.clone() }).collect()
}

fn column(data: &str, protocol: &str) -> String {
    format!("{data}, {protocol}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cell_of, comparison};
    use super::*;
    use crate::compare::ComparisonReport;
    use crate::eval::Task;

    #[test]
    fn protocols_have_results_and_columns_of_their_own() {
        let protocols = ["per-class-20", "per-class-40"].map(str::to_owned).to_vec();
        let comparison =
            Comparison { tasks: vec![Task::Nc, Task::Cluster], protocols: protocols.clone(), ..comparison() };
        let jobs = comparison.jobs(&[]).unwrap();
        let job = &jobs[0];
        let cell = |protocol: &str, value: f64| ResultCell {
            protocol: protocol.to_owned(),
            value,
            macro_f1: Some(value - 1.0),
            ..cell_of(job, Task::Nc)
        };
        let mut done =
            vec![cell("per-class-20", 70.0), cell("random-10-10-80", 1.0), cell_of(job, Task::Cluster)];
        // Node classification is open until every protocol has a result; others do not count.
        assert_eq!(comparison.remaining(job, &done).unwrap().tasks, [Task::Nc]);
        done.push(cell("per-class-40", 80.0));
        assert_eq!(comparison.remaining(job, &done), None);
        let found = comparison.results_of(&jobs, &done);
        assert_eq!(
            found.iter().filter(|cell| cell.task == "nc").map(|cell| cell.value).collect::<Vec<_>>(),
            [70.0, 80.0]
        );
        let report = ComparisonReport::new(&comparison, &found, &job.method, false).unwrap();
        let columns: Vec<&str> = report.tasks[0].table.columns.iter().map(|(data, _)| &data[..]).collect();
        let data = &comparison.data;
        let expected: Vec<String> =
            data.iter().flat_map(|data| protocols.iter().map(move |p| format!("{data}, {p}"))).collect();
        assert_eq!(columns, expected);
        assert_eq!(report.tasks[1].table.columns.len(), data.len());
        let macro_f1 = report.tasks[0].macro_f1.as_ref().unwrap();
        let row = macro_f1.rows.iter().find(|row| row[0] == job.method).unwrap();
        let at = 1 + data.iter().position(|name| *name == job.data).unwrap() * 2;
        assert_eq!(row[at..at + 2], ["69.00", "79.00"]);
        assert!(report.tasks[1].macro_f1.is_none());
        // A definition without protocols, of an older version, has none.
        let text = serde_json::to_string(&comparison).unwrap().replace("\"protocols\"", "\"other\"");
        assert!(serde_json::from_str::<Comparison>(&text).unwrap().protocols.is_empty());
    }
}
