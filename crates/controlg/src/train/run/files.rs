//! Writes embeddings and node ids into a folder.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::Real;
use crate::data::arrays;
use crate::error::{Error, Result};
use crate::files;
use crate::graph::{Dense, Ids};
use crate::run_files;

/// Writes `embeddings.npy`, `embeddings.parquet` and `ids.txt`.
pub fn write_embeddings(folder: &Path, embeddings: &Dense, ids: &Ids) -> Result<()> {
    let shape = EmbeddingShape { n: embeddings.n_rows(), width: embeddings.n_cols(), structural: false };
    stream_embeddings(folder, shape, ids, |rows| rows(embeddings.data()))
}

/// Whether a folder with files of these names was written by [`write_embeddings`], maybe not to its end.
pub fn is_own_embeddings(folder: &Path, names: &[String]) -> bool {
    let own = [run_files::IDS, run_files::EMBEDDINGS_NPY, run_files::EMBEDDINGS_PARQUET];
    let file_of = |name: &String| name.strip_suffix(files::DRAFT).unwrap_or(name).to_owned();
    let is_draft = |name: &String| name.ends_with(files::DRAFT);
    names.iter().all(|name| own.contains(&file_of(name).as_str()))
        && (names.iter().any(is_draft) || arrays::is_own_parquet(&folder.join(run_files::EMBEDDINGS_PARQUET)))
}

/// The shape and origin of embeddings.
#[derive(Clone, Copy)]
pub(in crate::train) struct EmbeddingShape {
    pub(in crate::train) n: usize,
    pub(in crate::train) width: usize,
    /// Whether the node features are structural, computed from the edges.
    pub(in crate::train) structural: bool,
}

/// [`write_embeddings`] for embeddings that `make` produces some rows at a time.
pub(in crate::train) fn stream_embeddings<T>(
    folder: &Path,
    EmbeddingShape { n, width, structural }: EmbeddingShape,
    ids: &Ids,
    make: impl FnOnce(&mut dyn FnMut(&[Real]) -> Result<()>) -> Result<T>,
) -> Result<T> {
    let mut made = None;
    files::atomic_write(&folder.join(run_files::EMBEDDINGS_NPY), |npy| {
        files::atomic_write(&folder.join(run_files::EMBEDDINGS_PARQUET), |parquet| {
            let mut npy = arrays::NpyWriter::new(npy, n, width)?;
            let mut parquet =
                arrays::ParquetEmbeddings::new(parquet, ids, width, structural.then_some("structural"))?;
            made = Some(make(&mut |rows| {
                npy.append(rows)?;
                parquet.append(rows)
            })?);
            npy.finish()?;
            parquet.finish()
        })
    })?;
    // Last: if the process is killed before, what it leaves is known as its own ([`is_own_embeddings`]), which ids alone are not.
    files::atomic_write(&folder.join(run_files::IDS), |draft| {
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(fs::File::create(draft)?);
            (0..n).try_for_each(|node| writeln!(file, "{}", ids.get(node)))?;
            file.flush()
        };
        write().map_err(|error| Error::io(format_args!("writing {}", draft.display()), error))
    })?;
    made.ok_or_else(|| Error::Failed("no embeddings were written".to_owned()))
}
