"""Graphs with node types: ``HeteroData`` of PyTorch Geometric, and dictionaries of edge arrays."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import features as as_features
from ._arrays import numpy_of, shape

#: Source type, name, target type, and the edges as 2 × E node numbers within their types.
Relation = tuple[str, str, str, NDArray[np.int64]]

_PARTS = ("train_mask", "val_mask", "test_mask")


def is_typed(graph: Any) -> bool:
    """Whether an input has node types: an object like ``HeteroData``, or a dictionary ``{(src, relation, dst): edges}``."""
    if hasattr(graph, "node_types") and hasattr(graph, "edge_types"):
        return True
    return isinstance(graph, dict) and bool(graph) and all(isinstance(key, tuple) and len(key) == 3 for key in graph)


def typed_graph(graph: Any, X: Any, structural: bool, directed: bool = False) -> _core.Graph:
    """The graph of such an input. ``X`` is a dictionary ``{type: features}``; it replaces the features of a ``HeteroData``."""
    given = not hasattr(graph, "node_types")
    if X is not None and not isinstance(X, dict):
        raise ValueError("X: found features without types, expected a dictionary {node type: features}")
    edges = graph if given else {key: graph[key].edge_index for key in graph.edge_types}
    names = _type_names(edges, X) if given else list(graph.node_types)
    stores = {} if given else {name: graph[name] for name in names}
    strange = next((name for name in X or {} if name not in names), None)
    if strange is not None:
        raise ValueError(f"X: found features of {strange!r}, expected node types of the graph: {', '.join(names)}")
    relations: list[Relation] = [
        (str(src), str(name), str(dst), _edges((src, name, dst), value)) for (src, name, dst), value in edges.items()
    ]
    types: list[tuple[str, Optional[int], Any, Any]] = []
    starts: dict[str, int] = {}
    n = 0
    for name in names:
        rows = (X or {}).get(name)
        dense, sparse, _ = as_features(getattr(stores.get(name), "x", None) if rows is None else rows)
        count = getattr(stores.get(name), "num_nodes", None)
        if count is None:
            count = len(dense) if dense is not None else sparse[0][0] if sparse else _most(name, relations) + 1
        types.append((name, int(count), dense, sparse))
        starts[name] = n
        n += int(count)
    labels = _labels(stores, starts, n)
    splits = _splits(stores, starts)
    return _core.Graph.from_types(types, relations, labels, splits, directed, structural)


def _type_names(edges: Any, X: Any) -> list[str]:
    names = list(X or {})
    for src, _, dst in edges:
        names += [name for name in dict.fromkeys((src, dst)) if name not in names]
    return [str(name) for name in names]


def _most(name: str, relations: list[Relation]) -> int:
    """The largest node number of a type in the edges, -1 if there is none."""
    ends = [(src, pairs[0]) for src, _, _, pairs in relations] + [(dst, pairs[1]) for _, _, dst, pairs in relations]
    return max((int(nodes.max()) for of, nodes in ends if of == name and len(nodes)), default=-1)


def _edges(key: Any, value: Any) -> NDArray[np.int64]:
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
