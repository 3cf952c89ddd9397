//! Features that stay in their file: read row by row, scaled as they are read.

use std::path::Path;
use std::sync::Arc;

use super::norm::{ColumnScale, divide_rows_by_sums};
use super::{Csr, Dense, Features};
use crate::Real;
use crate::error::{Error, Result};
use crate::rowfile::RowFile;

/// Features in a file.
#[derive(Clone, Debug)]
pub struct Stored {
    n_rows: usize,
    n_cols: usize,
    layout: Arc<StoredLayout>,
    scaling: Scaling,
    identity: String,
}

/// How the rows lie in their files: numbers of four bytes, the lowest first.
#[derive(Debug)]
pub struct StoredLayout(LayoutKind);

#[derive(Debug)]
enum LayoutKind {
    /// Every value, row by row.
    Dense(RowFile),
    /// The non-zero values, row by row, with their columns; where each row starts is held in memory.
    Sparse { offsets: Vec<u64>, columns: RowFile, values: RowFile },
}

/// What is done to a row when it is read.
#[derive(Clone, Debug)]
enum Scaling {
    Nothing,
    RowSums,
    Columns(Arc<ColumnScale>),
}

impl StoredLayout {
    /// A file of n × d values.
    pub fn dense(path: &Path, n_rows: usize, n_cols: usize) -> Result<StoredLayout> {
        Ok(StoredLayout(LayoutKind::Dense(RowFile::open(path, n_rows, n_cols.saturating_mul(4))?)))
    }

    /// Two files, of the columns and the values of all entries.
    pub fn sparse(offsets: Vec<u64>, columns: &Path, values: &Path) -> Result<StoredLayout> {
        let entries = offsets.last().copied().unwrap_or_default() as usize;
        let (columns, values) = (RowFile::open(columns, entries, 4)?, RowFile::open(values, entries, 4)?);
        Ok(StoredLayout(LayoutKind::Sparse { offsets, columns, values }))
    }
}

impl Stored {
    /// Features of n nodes with d columns; `identity` is a hash over their content, to be told apart by.
    pub fn new(n_rows: usize, n_cols: usize, layout: StoredLayout, identity: String) -> Self {
        Stored { n_rows, n_cols, layout: Arc::new(layout), scaling: Scaling::Nothing, identity }
    }

    /// Number of nodes described.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of features of each node.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Whether they are stored, and given, as sparse rows.
    pub fn is_sparse(&self) -> bool {
        matches!(self.layout.0, LayoutKind::Sparse { .. }) && !matches!(self.scaling, Scaling::Columns(_))
    }

    /// The hash over their content.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The file of the values.
    pub fn path(&self) -> &Path {
        match &self.layout.0 {
            LayoutKind::Dense(file) | LayoutKind::Sparse { values: file, .. } => file.path(),
        }
    }

    /// The same with each row divided by its sum.
    pub fn with_row_sums(&self) -> Self {
        Stored { scaling: Scaling::RowSums, ..self.clone() }
    }

    /// The same with scaled columns.
    pub fn with_columns(&self, scale: ColumnScale) -> Self {
        Stored { scaling: Scaling::Columns(Arc::new(scale)), ..self.clone() }
    }

    /// Some rows, in the order given.
    pub fn rows(&self, rows: &[u32]) -> Result<Features> {
        let read = match &self.layout.0 {
            LayoutKind::Dense(file) => {
                let mut bytes = vec![0; rows.len() * self.n_cols * 4];
                file.read(rows, &mut bytes)?;
                Features::Dense(Dense::new(rows.len(), self.n_cols, singles(&bytes)))
            }
            LayoutKind::Sparse { offsets, columns, values } => {
                self.sparse_rows(rows, offsets, columns, values)?
            }
        };
        Ok(match &self.scaling {
            Scaling::Nothing => read,
            Scaling::RowSums => divide_rows_by_sums(&read),
            Scaling::Columns(scale) => scale.apply(&read),
        })
    }

    fn sparse_rows(
        &self,
        rows: &[u32],
        offsets: &[u64],
        columns: &RowFile,
        values: &RowFile,
    ) -> Result<Features> {
        let (mut starts, mut all_columns, mut all_values) = (vec![0], Vec::new(), Vec::new());
        let mut bytes = Vec::new();
        for run in rows.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
            let (first, last) = (run[0] as usize, run[run.len() - 1] as usize + 1);
            let span = offsets[first]..offsets[last];
            bytes.resize((span.end - span.start) as usize * 4, 0);
            columns.read_range(span.clone(), &mut bytes)?;
            all_columns.extend(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
            values.read_range(span, &mut bytes)?;
            all_values.extend(singles(&bytes));
            let before = starts[starts.len() - 1];
            starts.extend((first..last).map(|row| before + (offsets[row + 1] - offsets[first]) as usize));
        }
        if let Some(&column) = all_columns.iter().find(|&&column| column as usize >= self.n_cols) {
            return Err(Error::input(
                columns.path(),
                "",
                column,
                format_args!("columns below {}", self.n_cols),
            ));
        }
        Ok(Features::Sparse(Csr::new(self.n_cols, starts, all_columns, Some(all_values))))
    }

    /// Whether the files are still those that were opened.
    pub fn check(&self) -> Result<()> {
        match &self.layout.0 {
            LayoutKind::Dense(file) => file.check(),
            LayoutKind::Sparse { columns, values, .. } => columns.check().and_then(|()| values.check()),
        }
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        match &self.layout.0 {
            LayoutKind::Dense(_) => 0,
            LayoutKind::Sparse { offsets, .. } => size_of_val(&offsets[..]),
        }
    }
}

/// Numbers of single precision from their bytes.
fn singles(bytes: &[u8]) -> Vec<Real> {
    let single = |b: &[u8]| Real::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    bytes.chunks_exact(4).map(single).collect()
}
