"""Arrays, tensors and tables of any library as NumPy arrays, and how errors name them."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

#: A CSR matrix: shape, indptr, indices, data.
Csr = tuple[tuple[int, int], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]


def numpy_of(value: Any) -> NDArray[Any]:
    """A NumPy array; accepts tensors on any device."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def reals(array: NDArray[Any], what: str) -> NDArray[np.float32]:
    """Converts to float32. Values out of range become infinite, which is an error later."""
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what}: found {kind(array)} ({error}), expected numbers") from None
    if array.dtype.kind == "c":
        raise ValueError(f"{what}: found complex numbers, expected reals. Complex data not supported")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what}: found {kind(array)}, expected numbers")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def is_table(value: Any) -> bool:
    """Whether a value is a data frame of pandas or polars."""
    # Of the type: the columns of a lazy frame must be computed.
    return hasattr(type(value), "columns") and (hasattr(value, "to_numpy") or hasattr(value, "collect"))


def features(X: Any) -> tuple[Optional[NDArray[np.float32]], Optional[Csr], Optional[list[str]]]:
    """Node features as a dense array or a CSR matrix, with the names of the columns if they have names."""
    if X is None:
        return None, None, None
    if hasattr(X, "tocsr"):
        rows = summed(X)
        return None, (tuple(rows.shape), _whole(rows.indptr), _whole(rows.indices), reals(rows.data, "X")), None
    coordinates = entries(X)
    if coordinates is not None:
        return None, _csr(*coordinates), None
    if is_table(X):
        return _columns(X)
    array = numpy_of(X)
    if array.ndim != 2:
        raise ValueError(f"X: found {shape(array)}, expected two dimensions, one row for each node")
    return reals(array, "X"), None, None


def _columns(X: Any) -> tuple[NDArray[np.float32], None, Optional[list[str]]]:
    table = X if hasattr(X, "to_numpy") else X.collect()
    names = list(table.columns)
    columns = [reals(numpy_of(table[name].to_numpy()), f"X, column {name!r}") for name in names]
    if not columns:
        raise ValueError("X: found a table without columns, expected at least one")
    named = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return np.ascontiguousarray(np.stack(columns, axis=1)), None, [str(name) for name in names] if named else None


def entries(value: Any) -> Optional[tuple[tuple[int, int], Any, Any, Any]]:
    """Shape, rows, columns and values (``None`` for ones) of a sparse tensor of torch or torch_sparse."""
    if hasattr(value, "coo") and hasattr(value, "sparse_sizes"):
        rows, columns, values = value.coo()
        n, m = value.sparse_sizes()
    elif "sparse" in str(getattr(value, "layout", "")):
        matrix = value.detach().cpu().to_sparse_coo().coalesce()
        rows, columns = matrix.indices()
        values, (n, m) = matrix.values(), matrix.shape
    else:
        return None
    return (int(n), int(m)), numpy_of(rows), numpy_of(columns), None if values is None else numpy_of(values)


def _csr(size: tuple[int, int], rows: Any, columns: Any, values: Any) -> Csr:
    order = np.lexsort((columns, rows))
    data = np.ones(len(rows), np.float32) if values is None else reals(values[order], "X")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size[0]))])
    return size, _whole(starts), _whole(columns[order]), data


def _whole(array: Any) -> NDArray[np.int64]:
    return np.ascontiguousarray(array, dtype=np.int64)


def summed(matrix: Any) -> Any:
    """A SciPy matrix in CSR format with duplicate entries summed, as SciPy defines them."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # never change the caller's matrix
        rows.sum_duplicates()
    return rows


def shape(array: NDArray[Any]) -> str:
    """The shape of an array for error messages."""
    return f"{' × '.join(map(str, array.shape))} elements" if array.ndim else "a single element"


def kind(array: NDArray[Any]) -> str:
    """The element type of an array for error messages."""
    kinds = {"b": "booleans", "i": "whole numbers", "u": "whole numbers", "f": "reals", "U": "text", "S": "text", "T": "text"}
    return kinds.get(array.dtype.kind, f"elements of type {array.dtype}")
