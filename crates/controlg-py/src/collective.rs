//! Ranks whose communication is a Python object, such as `controlg._ranks.TorchRanks`.

use controlg::collective::Collective;
use controlg::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The ranks of a Python object with `rank`, `size`, `gather`, `broadcast` and `barrier`.
pub(crate) struct PyCollective {
    object: Py<PyAny>,
    rank: usize,
    size: usize,
}

impl PyCollective {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (rank, size) = (object.getattr("rank")?.extract()?, object.getattr("size")?.extract()?);
        Ok(PyCollective { object: object.clone().unbind(), rank, size })
    }

    /// Calls a method. An exception means that another rank is gone.
    fn call<T>(
        &self,
        method: &str,
        root: usize,
        bytes: &[u8],
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        let called = Python::attach(|py| {
            let arguments = (root, PyBytes::new(py, bytes));
            read(&self.object.bind(py).call_method1(method, arguments)?)
        });
        called.map_err(|error| Error::Failed(format!("the connection to another rank is lost: {error}")))
    }
}

impl Collective for PyCollective {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.call("gather", root, bytes, |gathered| {
            gathered.try_iter()?.map(|bytes| Ok(bytes?.cast::<PyBytes>()?.as_bytes().to_vec())).collect()
        })
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        *bytes =
            self.call("broadcast", root, bytes, |bytes| Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec()))?;
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.call("gather", 0, &[], |_| Ok(()))?;
        self.call("broadcast", 0, &[], |_| Ok(()))
    }
}
