//! Features on disk: rows are read when needed and scaled after reading.

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::norm::{ColumnScale, divide_rows_by_sums};
use super::{Csr, Dense, Features};
use crate::Real;
use crate::error::{Error, Result};
use crate::files::hex;
use crate::rowfile::{BlockHash, RowFile};

/// Rows read at a time by [`StoredFeatures::each_block`].
const BLOCK: usize = 8192;

/// Node features that stay on disk.
#[derive(Clone, Debug)]
pub struct StoredFeatures {
    n_rows: usize,
    n_cols: usize,
    layout: Arc<StoredLayout>,
    /// The column on disk of each column, if the order is another one.
    order: Option<Arc<[u32]>>,
    scaling: Scaling,
    identity: String,
}

/// The files, as little-endian 4-byte numbers.
#[derive(Debug)]
enum StoredLayout {
    /// All values in row-major order.
    Dense(RowFile),
    /// The columns and the values of the nonzero entries, row by row. The row offsets are in memory.
    Sparse { offsets: Vec<u64>, columns: RowFile, values: RowFile },
}

/// How rows are scaled after reading.
#[derive(Clone, Debug)]
enum Scaling {
    Nothing,
    RowSums,
    Columns(Arc<ColumnScale>),
}

impl StoredFeatures {
    /// Dense features: one file of n_rows × n_cols 32-bit floats in row-major order. `identity` is a hash of the content
    /// that becomes part of the graph's fingerprint.
    ///
    /// # Errors
    /// If there are no columns, or if the file cannot be opened or has another size.
    pub fn dense(path: &Path, n_rows: usize, n_cols: usize, identity: String) -> Result<Self> {
        if n_cols == 0 {
            return Err(Error::value("features", "no columns", "at least one column"));
        }
        let layout = StoredLayout::Dense(RowFile::open(path, n_rows, n_cols.saturating_mul(4))?);
        Ok(StoredFeatures::of_layout(n_rows, n_cols, layout, identity))
    }

    /// Sparse features in CSR form: the row offsets in memory, the columns (32-bit integers) and the values (32-bit
    /// floats) of all entries in one file each.
    ///
    /// # Errors
    /// If the offsets do not ascend from 0, or if a file cannot be opened or does not have one number per entry.
    pub fn sparse(
        n_cols: usize,
        offsets: Vec<u64>,
        columns: &Path,
        values: &Path,
        identity: String,
    ) -> Result<Self> {
        let place = "features, offsets";
        let Some(entries) = offsets.last().copied() else {
            return Err(Error::value(place, "an empty array", "one offset per row and one more"));
        };
        if offsets[0] != 0 {
            return Err(Error::value(place, format_args!("{} first", offsets[0]), "0"));
        }
        if let Some(pair) = offsets.windows(2).find(|pair| pair[0] > pair[1]) {
            let found = format!("{} after {}", pair[1], pair[0]);
            return Err(Error::value(place, found, "ascending offsets"));
        }
        let open = |path: &Path| RowFile::open(path, entries as usize, 4);
        let (columns, values) = (open(columns)?, open(values)?);
        let n_rows = offsets.len() - 1;
        let layout = StoredLayout::Sparse { offsets, columns, values };
        Ok(StoredFeatures::of_layout(n_rows, n_cols, layout, identity))
    }

    /// The same features, verified when they are read: SHA-256 of each [`BLOCK_BYTES`](super::BLOCK_BYTES) of the file of values and, for sparse
    /// features, of the file of columns.
    pub fn with_block_hashes(mut self, values: Vec<BlockHash>, columns: Vec<BlockHash>) -> Self {
        if let Some(layout) = Arc::get_mut(&mut self.layout) {
            match layout {
                StoredLayout::Dense(file) => file.verify_by(values),
                StoredLayout::Sparse { columns: first, values: second, .. } => {
                    first.verify_by(columns);
                    second.verify_by(values);
                }
            }
        }
        self
    }

    fn of_layout(n_rows: usize, n_cols: usize, layout: StoredLayout, identity: String) -> Self {
        let (layout, scaling) = (Arc::new(layout), Scaling::Nothing);
        StoredFeatures { n_rows, n_cols, layout, order: None, scaling, identity }
    }

    /// Number of rows (nodes).
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns (features per node).
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Whether rows are read as sparse rows.
    pub fn is_sparse(&self) -> bool {
        matches!(*self.layout, StoredLayout::Sparse { .. }) && !matches!(self.scaling, Scaling::Columns(_))
    }

    /// The hash of the content.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The file with the values.
    pub fn path(&self) -> &Path {
        match &*self.layout {
            StoredLayout::Dense(file) | StoredLayout::Sparse { values: file, .. } => file.path(),
        }
    }

    /// The same features with each row divided by its sum.
    pub fn with_row_sums(&self) -> Self {
        StoredFeatures { scaling: Scaling::RowSums, ..self.clone() }
    }

    /// The same features with standardized columns.
    pub fn with_columns(&self, scale: ColumnScale) -> Self {
        StoredFeatures { scaling: Scaling::Columns(Arc::new(scale)), ..self.clone() }
    }

    /// The same features with their columns in another order: column j of the result is column `order[j]`.
    pub(super) fn with_order(&self, order: &[u32]) -> Self {
        let on_disk = |&from: &u32| self.order.as_ref().map_or(from, |order| order[from as usize]);
        let moved: Arc<[u32]> = order.iter().map(on_disk).collect();
        let scaling = match &self.scaling {
            Scaling::Columns(scale) => {
                let pick = |values: &[f64]| order.iter().map(|&from| values[from as usize]).collect();
                let (mean, deviation) = (pick(&scale.mean), pick(&scale.deviation));
                Scaling::Columns(Arc::new(ColumnScale { mean, deviation }))
            }
            other => other.clone(),
        };
        // The file on disk is another one than that of a graph with this order.
        let hash = Sha256::digest(moved.iter().flat_map(|column| column.to_le_bytes()).collect::<Vec<u8>>());
        let identity = format!("{} columns {}", self.identity, hex(hash));
        StoredFeatures { order: Some(moved), scaling, identity, ..self.clone() }
    }

    /// Reads selected rows, in the given order.
    ///
    /// # Errors
    /// If a file cannot be read, a column is out of range or a value is not finite.
    ///
    /// # Panics
    /// If a row is not below `n_rows`.
    pub fn rows(&self, rows: &[u32]) -> Result<Features> {
        let read = match &*self.layout {
            StoredLayout::Dense(file) => {
                let mut bytes = vec![0; rows.len() * self.n_cols * 4];
                file.read(rows, &mut bytes)?;
                Features::Dense(Dense::from_parts(rows.len(), self.n_cols, decode_f32(&bytes)))
            }
            StoredLayout::Sparse { offsets, columns, values } => {
                self.sparse_rows(rows, offsets, columns, values)?
            }
        };
        if let Err(Error::Input { place, found, expected, .. }) = read.check_finite() {
            return Err(Error::input(self.path(), place, found, expected));
        }
        let read = match &self.order {
            Some(order) => read.reordered(order),
            None => read,
        };
        Ok(match &self.scaling {
            Scaling::Nothing => read,
            Scaling::RowSums => divide_rows_by_sums(&read)?,
            Scaling::Columns(scale) => scale.apply(&read),
        })
    }

    /// Visits all rows in order, some at a time.
    ///
    /// # Errors
    /// If the rows cannot be read; see [`StoredFeatures::rows`].
    pub fn each_block(&self, visit: &mut dyn FnMut(&Features)) -> Result<()> {
        let n = self.n_rows as u32;
        for first in (0..n).step_by(BLOCK) {
            let rows: Vec<u32> = (first..n.min(first + BLOCK as u32)).collect();
            visit(&self.rows(&rows)?);
        }
        Ok(())
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
            all_values.extend(decode_f32(&bytes));
            let before = starts[starts.len() - 1];
            starts.extend((first..last).map(|row| before + (offsets[row + 1] - offsets[first]) as usize));
        }
        if let Some(&column) = all_columns.iter().find(|&&column| column as usize >= self.n_cols) {
            return Err(Error::input(
                columns.path(),
                "",
                column,
                format_args!("column indices below {}", self.n_cols),
            ));
        }
        Ok(Features::Sparse(Csr::from_parts(self.n_cols, starts, all_columns, Some(all_values))))
    }

    /// Returns an error if a file has changed since it was opened.
    pub fn check(&self) -> Result<()> {
        match &*self.layout {
            StoredLayout::Dense(file) => file.check(),
            StoredLayout::Sparse { columns, values, .. } => columns.check().and_then(|()| values.check()),
        }
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        match &*self.layout {
            StoredLayout::Dense(_) => 0,
            StoredLayout::Sparse { offsets, .. } => size_of_val(&offsets[..]),
        }
    }
}

/// Decodes little-endian 32-bit floats.
fn decode_f32(bytes: &[u8]) -> Vec<Real> {
    let single = |b: &[u8]| Real::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    bytes.chunks_exact(4).map(single).collect()
}
