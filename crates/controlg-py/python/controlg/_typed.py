"""Graphs with node types: ``HeteroData`` of PyTorch Geometric, and dictionaries of edge arrays."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _core
from ._arrays import features as as_features
from ._arrays import numpy_of, shape

_PARTS = ("train_mask", "val_mask", "test_mask")


def is_typed(graph: Any) -> bool:
    """Whether an input has node types: an object like ``HeteroData``, or a dictionary ``{(src, relation, dst): edges}``."""
    if isinstance(graph, dict):
        return bool(graph) and all(isinstance(key, tuple) and len(key) == 3 for key in graph)
    return hasattr(graph, "node_types") and hasattr(graph, "edge_types")


def typed_graph(graph: Any, X: Any, structural: bool, directed: bool = False) -> _core.Graph:
    """The graph of such an input. ``X`` is a dictionary ``{type: features}``; it replaces the features of a ``HeteroData``."""
    given = isinstance(graph, dict)
    if X is not None and not isinstance(X, dict):
        raise ValueError("X: found features without types, expected a dictionary {node type: features}")
    edges = graph if given else {key: graph[key].edge_index for key in graph.edge_types}
    names = _type_names(edges, X) if given else list(graph.node_types)
    stores = {} if given else {name: graph[name] for name in names}
    strange = next((name for name in X or {} if name not in names), None)
    if strange is not None:
        raise ValueError(f"X: found features of {strange!r}, expected node types of the graph: {', '.join(names)}")
    types, sizes = [], {}
    for name in names:
        rows = (X or {}).get(name)
        rows = getattr(stores.get(name), "x", None) if rows is None else rows
        dense, sparse, _ = as_features(rows)
        count = getattr(stores.get(name), "num_nodes", None)
        types.append((name, None if count is None else int(count), dense, sparse))
        sizes[name] = count if count is not None else len(dense) if dense is not None else sparse[0][0] if sparse else None
    relations = [(*map(str, key), _edges(key, value)) for key, value in edges.items()]
    for src, _, dst, pairs in relations:
        for name, row in ((src, pairs[0]), (dst, pairs[1])):
            if len(row) and sizes.get(name) is None:
                types = [(t, max(n or 0, int(row.max()) + 1) if t == name else n, d, s) for t, n, d, s in types]
    total = [name for name, *_ in types]
    counts = [n if n is not None else len(d) if d is not None else s[0][0] if s else 0 for _, n, d, s in types]
    starts = dict(zip(total, np.concatenate([[0], np.cumsum(counts)[:-1]]).tolist()))
    labels = _labels(stores, starts, int(sum(counts)))
    splits = _splits(stores, starts)
    return _core.Graph.from_types(types, relations, labels, splits, directed, structural)


def _type_names(edges: Any, X: Any) -> list[str]:
    names = list(X or {})
    for src, _, dst in edges:
        names += [name for name in dict.fromkeys((src, dst)) if name not in names]
    return [str(name) for name in names]


def _edges(key: Any, value: Any) -> np.ndarray:
    pairs = numpy_of(value)
    what = "-".join(map(str, key))
    if pairs.ndim != 2 or 2 not in pairs.shape:
        raise ValueError(f"{what}: found {shape(pairs)}, expected 2 x E edges")
    if pairs.dtype.kind not in "iu" and pairs.size:
        raise ValueError(f"{what}: found {pairs.dtype} edges, expected node numbers")
    pairs = pairs if pairs.shape[0] == 2 else pairs.T
    return np.ascontiguousarray(pairs, dtype=np.int64)


def _labels(stores: dict[str, Any], starts: dict[str, int], n: int) -> Optional[list[int]]:
    """The classes of all nodes, -1 for those of other types."""
    labeled = [name for name, store in stores.items() if getattr(store, "y", None) is not None]
    if not labeled:
        return None
    if len(labeled) > 1:
        raise ValueError(f"y: found labels of {' and '.join(labeled)}, expected labels of one node type")
    y = numpy_of(stores[labeled[0]].y).reshape(-1)
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), -1, y)
    classes = np.full(n, -1, dtype=np.int64)
    start = starts[labeled[0]]
    classes[start : start + len(y)] = y.astype(np.int64)
    return classes.tolist()


def _splits(stores: dict[str, Any], starts: dict[str, int]) -> list[Any]:
    for name, store in stores.items():
        masks = [getattr(store, part, None) for part in _PARTS]
        if all(mask is not None and numpy_of(mask).ndim == 1 for mask in masks):
            nodes = [(np.flatnonzero(numpy_of(mask)) + starts[name]).tolist() for mask in masks]
            return [("own", 0, *nodes)]
    return []
