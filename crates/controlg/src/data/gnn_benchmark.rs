//! Reader to come.

use std::path::Path;

use super::{FeatureSource, Format, Raw};
use crate::error::{Error, Result};

/// This layout.
pub(super) const FORMAT: Format = Format { name: "gnn_benchmark", summary: "gnn_benchmark", recognise, read };

fn recognise(_path: &Path) -> bool {
    false
}

fn read(path: &Path, _features: FeatureSource) -> Result<Raw> {
    Err(Error::input(path, "", "", ""))
}
