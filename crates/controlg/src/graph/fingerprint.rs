//! A hash of everything in a graph that training can see.

use sha2::{Digest, Sha256};

use super::rows::FeatureRows;
use super::{Csr, Features, Graph};
use crate::Real;
use crate::files::hex;

impl Graph {
    /// SHA-256 of edges, weights and features, in hexadecimal. Node ids are not included.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"controlg graph 1");
        add_csr(&mut hash, &self.adjacency);
        if let Some(relations) = self.relations() {
            relations.add_to_hash(&mut hash);
        }
        match &self.features {
            FeatureRows::Stored(stored) => hash.update(stored.identity()),
            FeatureRows::InMemory(features) => match &**features {
                Features::Sparse(csr) => add_csr(&mut hash, csr),
                Features::Dense(dense) => {
                    add_sizes(&mut hash, [dense.n_rows(), dense.n_cols()]);
                    add_reals(&mut hash, dense.data());
                }
            },
        }
        hex(hash.finalize())
    }
}

fn add_csr(hash: &mut Sha256, csr: &Csr) {
    add_sizes(hash, [csr.n_rows(), csr.n_cols(), csr.n_entries(), usize::from(csr.values().is_some())]);
    add_sizes(hash, csr.offsets().iter().copied());
    csr.columns().iter().for_each(|column| hash.update(column.to_le_bytes()));
    add_reals(hash, csr.values().unwrap_or_default());
}

fn add_sizes(hash: &mut Sha256, sizes: impl IntoIterator<Item = usize>) {
    sizes.into_iter().for_each(|size| hash.update((size as u64).to_le_bytes()));
}

fn add_reals(hash: &mut Sha256, values: &[Real]) {
    values.iter().for_each(|value| hash.update(value.to_le_bytes()));
}
