//! Renders a result table as aligned text for a terminal.

use super::render::value;
use super::{ResultTable, TextTable};

impl ResultTable {
    /// Aligned columns, one line per method; the best value of a column is marked with `*`.
    pub fn plain(&self) -> String {
        let head = ["method".to_owned()].into_iter().chain(self.columns.iter().map(|(data, _)| data.clone()));
        let mut lines: Vec<Vec<String>> = vec![head.collect()];
        for row in &self.rows {
            let cells = row.cells.iter().map(|cell| match cell {
                None => "–".to_owned(),
                Some((summary, place)) => {
                    format!("{}{}", value(summary, "±"), if *place == Some(1) { "*" } else { " " })
                }
            });
            lines.push([row.method.clone()].into_iter().chain(cells).collect());
        }
        aligned(&lines)
    }
}

impl TextTable {
    /// Aligned columns, one line per row.
    pub fn plain(&self) -> String {
        aligned(&[std::slice::from_ref(&self.head), &self.rows].concat())
    }
}

/// The first column to the left, the others to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let n_columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let aligned = |line: &Vec<String>| {
        let mut text = format!("{:<1$}", line[0], widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        text.trim_end().to_owned() + "\n"
    };
    lines.iter().map(aligned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ResultTable;
    use super::super::tests::cell;

    #[test]
    fn columns_are_aligned_and_the_best_value_is_marked() {
        let cells =
            [cell("cora", "controlg", 0, 81.5), cell("cora", "raw", 0, 9.25), cell("b", "raw", 0, 50.0)];
        let data = ["cora".to_owned(), "b".to_owned()];
        let table = ResultTable::new(&cells, "nc", &[], &data).unwrap();
        let expected = "method      cora       b\n\
                        controlg  81.50*       –\n\
                        raw        9.25   50.00*\n";
        assert_eq!(table.plain(), expected);
    }
}
