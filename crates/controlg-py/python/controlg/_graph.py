"""Conversion of every accepted input to a graph."""

from __future__ import annotations

import os
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core


def load_graph(graph: Any, X: Any = None, *, features: str = "given", data_dir: Any = None) -> _core.Graph:
    """Makes a graph from anything that ``ControlG.fit`` accepts. A data set brings its labels and splits.

    ``features="structural"`` computes features from the edges and ignores given ones.
    """
    if features not in ("given", "structural"):
        raise ValueError(f"features: found {features!r}, expected 'given' or 'structural'")
    return as_graph(graph, X, features == "structural", data_dir)[0]


def as_graph(graph: Any, X: Any, structural: bool, data_dir: Any) -> tuple[_core.Graph, Optional[list[Any]]]:
    """The graph, and the caller's node ids; ``None`` if the nodes are numbered."""
    if isinstance(graph, (str, os.PathLike)):
        if X is not None:
            raise ValueError("X: found an array, expected None: a data set brings its own features")
        loaded = _core.Graph.load(os.fspath(graph), data_dir, structural)
        return loaded, loaded.ids
    if isinstance(graph, _core.Graph):
        if X is not None:
            raise ValueError("X: found an array, expected None: this graph already has features")
        if structural and not graph.has_features_from_edges:
            raise ValueError(
                "features: found a graph that was loaded with its own features, "
                "expected one from load_graph(..., features='structural')"
            )
        return graph, graph.ids
    nodes: Optional[list[Any]] = None
    count: Optional[int] = None
    if hasattr(graph, "tocoo"):
        edges, weights, count = _of_matrix(graph)
    elif hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed"):
        edges, weights, nodes = _of_networkx(graph)
        count = len(nodes)
    elif hasattr(graph, "edge_index"):
        edges = _edges(numpy_of(graph.edge_index))
        weight = getattr(graph, "edge_weight", None)
        weights = None if weight is None else _weights(numpy_of(weight))
        X = getattr(graph, "x", None) if X is None else X
        count = getattr(graph, "num_nodes", None) if X is None else None
    else:
        edges, weights = _edges(numpy_of(graph)), None
    dense, sparse = _features(X)
    ids = None if nodes is None else _names(nodes)
    made = _core.Graph.from_arrays(edges, weights, count, dense, sparse, ids, structural)
    return made, nodes


def numpy_of(value: Any) -> NDArray[Any]:
    """A NumPy array; accepts tensors on any device."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def _edges(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.ndim != 2 or 2 not in array.shape:
        raise ValueError(f"edges: found {shape(array)}, expected 2 × E or E × 2 node numbers")
    if array.dtype.kind not in "iu":
        raise ValueError(f"edges: found {kind(array)}, expected whole numbers")
    # In a 2 × 2 array the rows are sources and targets, as in PyTorch Geometric.
    return (array if array.shape[0] == 2 else array.T).astype(np.int64, copy=False)


def _weights(array: NDArray[Any]) -> NDArray[np.float32]:
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise ValueError(f"weights: found {shape(array)} of {kind(array)}, expected one number for each edge")
    return array.astype(np.float32, copy=False)


def _of_matrix(matrix: Any) -> tuple[NDArray[np.int64], Optional[NDArray[np.float32]], int]:
    rows, columns = matrix.shape
    if rows != columns:
        raise ValueError(f"graph: found a matrix of {rows} × {columns}, expected as many columns as rows")
    entries = _summed(matrix).tocoo()
    there = entries.data != 0
    edges = np.stack([entries.row[there], entries.col[there]]).astype(np.int64)
    values = entries.data[there]
    return edges, None if np.all(values == 1) else _weights(values), rows


def _summed(matrix: Any) -> Any:
    """A SciPy matrix in CSR format with duplicate entries summed, as SciPy defines them."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # never change the caller's matrix
        rows.sum_duplicates()
    return rows


def _of_networkx(graph: Any) -> tuple[NDArray[np.int64], Optional[NDArray[np.float32]], list[Any]]:
    nodes = list(graph.nodes)
    number = {node: at for at, node in enumerate(nodes)}
    weighted = list(graph.edges(data="weight", default=1))
    pairs = [(number[u], number[v]) for u, v, _ in weighted]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    weights = np.array([weight for _, _, weight in weighted])
    return edges, None if np.all(weights == 1) else _weights(weights), nodes


def _features(X: Any) -> tuple[Optional[NDArray[np.float32]], Optional[Any]]:
    if X is None:
        return None, None
    if hasattr(X, "tocsr"):
        rows = _summed(X)
        data = np.asarray(rows.data).astype(np.float32, copy=False)
        return None, (tuple(rows.shape), rows.indptr.astype(np.int64), rows.indices.astype(np.int64), data)
    array = numpy_of(X)
    if array.ndim != 2:
        raise ValueError(f"X: found {shape(array)}, expected two dimensions")
    return reals(array, "X"), None


def reals(array: NDArray[Any], what: str) -> NDArray[np.float32]:
    """Converts to float32. Values out of range become infinite, which is an error later."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what}: found {kind(array)}, expected numbers")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _names(nodes: list[Any]) -> Optional[list[str]]:
    """The node ids as text, if they stay distinct."""
    names = [str(node) for node in nodes]
    plain = all(name and not any(c in name for c in "\r\n") for name in names)
    return names if plain and len(set(names)) == len(names) else None


def shape(array: NDArray[Any]) -> str:
    """The shape of an array for error messages."""
    return f"{' × '.join(map(str, array.shape))} elements" if array.ndim else "a single element"


def kind(array: NDArray[Any]) -> str:
    """The element type of an array for error messages."""
    kinds = {"b": "booleans", "i": "whole numbers", "u": "whole numbers", "f": "reals", "U": "text", "S": "text"}
    return kinds.get(array.dtype.kind, f"elements of type {array.dtype}")
