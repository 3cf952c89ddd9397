"""Conversion of every accepted input to a graph."""

from __future__ import annotations

import os
from typing import Any, Optional

import numpy as np

from . import _core
from ._arrays import features as as_features
from ._arrays import numpy_of
from ._parts import Parts, parts_of
from ._tables import numbered
from ._typed import is_typed, typed_graph


def load_graph(
    graph: Any, X: Any = None, *, features: str = "given", data_dir: Any = None, directed: bool = False
) -> _core.Graph:
    """Makes a graph from anything that ``ControlG.fit`` accepts, with node features ``X`` if they are passed.

    A data set brings its labels and splits, and so does a ``Data`` object of PyTorch Geometric with ``y`` and masks.
    ``features="structural"`` computes features from the edges and ignores given ones. ``directed=True`` keeps the direction of
    edges within a node type: the relation then has a forward and a reverse direction.
    """
    if features not in ("given", "structural"):
        raise ValueError(f"features: found {features!r}, expected 'given' or 'structural'")
    return as_graph(*graph_and_features(graph, X), features == "structural", data_dir, directed)[0]


def graph_and_features(X: Any, features: Any = None) -> tuple[Any, Any]:
    """The graph, and the features if it is ``(graph, features)`` or they are passed beside it."""
    if not isinstance(X, tuple) or _is_edges(X):
        return X, features
    if len(X) != 2:
        raise ValueError(f"X: found a tuple of {len(X)} elements, expected (graph, features)")
    graph, own = X
    if own is not None and features is not None:
        raise ValueError("features: found in the tuple and as an argument, expected them once")
    return graph, features if own is None else own


def _is_edges(given: tuple[Any, ...]) -> bool:
    """Whether a tuple holds sources and targets, or more than two pairs."""
    if len(given) == 2:
        return all(getattr(end, "ndim", None) == 1 or _is_flat(end) for end in given)
    return len(given) > 2 and all(isinstance(edge, tuple) and len(edge) in (2, 3) for edge in given)


def _is_flat(value: Any) -> bool:
    return isinstance(value, (list, tuple, range)) and all(np.ndim(one) == 0 for one in value)


def refuse_features_as_labels(y: Any, graph: Any, features: Any) -> None:
    """``fit`` ignores ``y``. An array of two dimensions there was meant as features, as in version 0.1, unless the graph
    brings its own and ``y`` can be an indicator matrix of classes."""
    if y is None or (not hasattr(y, "tocsr") and np.ndim(y if hasattr(y, "ndim") else numpy_of(y)) < 2):
        return
    brings = features is not None or isinstance(graph, (str, os.PathLike, _core.Graph)) or hasattr(graph, "x")
    if brings and not hasattr(y, "tocsr") and numpy_of(y).dtype.kind in "iub":
        return
    raise ValueError(
        "y: found an array of two dimensions, expected labels, which fit ignores; "
        "pass node features as fit((graph, features)) or fit(graph, features=features)"
    )


def as_graph(
    graph: Any, X: Any, structural: bool, data_dir: Any, directed: bool = False
) -> tuple[_core.Graph, Optional[list[Any]]]:
    """The graph, and the caller's node ids; ``None`` if the nodes are numbered."""
    if isinstance(graph, (str, os.PathLike)):
        if X is not None:
            raise ValueError("X: found features, expected None: a data set brings its own")
        loaded = _core.Graph.load(os.fspath(graph), data_dir, structural, directed)
        return loaded, loaded.ids
    if isinstance(graph, _core.Graph):
        if X is not None:
            raise ValueError("X: found features, expected None: this graph already has some")
        if structural and not graph.has_features_from_edges:
            raise ValueError(
                "features: found a graph that was loaded with its own features, "
                "expected one from load_graph(..., features='structural')"
            )
        return graph, graph.ids
    if is_typed(graph):
        made = typed_graph(graph, X, structural, directed)
        return made, made.ids
    parts = parts_of(graph)
    if X is None:
        X = parts.features
    X = _match(parts, X)
    dense, sparse, names = as_features(X)
    rows = len(dense) if dense is not None else sparse[0][0] if sparse is not None else None
    _check_rows(parts, rows)
    _drop_unit_weights(parts)
    ids = None if parts.nodes is None else _names(parts.nodes)
    made = _core.Graph.from_arrays(
        parts.edges.astype(np.int64, copy=False),
        parts.weights,
        parts.count if parts.nodes is None else len(parts.nodes),
        dense,
        sparse,
        names,
        ids,
        parts.labels,
        parts.splits,
        parts.notes,
        structural,
        directed,
    )
    return made, parts.nodes


def _match(parts: Parts, X: Any) -> Any:
    """Numbers the nodes of edges with ids, and puts the rows of a data frame with an index in the order of the nodes."""
    index = getattr(X, "index", None)
    labels = None if index is None or callable(index) else list(index)
    plain = labels is None or labels == list(range(len(labels)))
    if parts.by_id:
        whole = parts.edges.dtype.kind in "iu"
        if not plain or X is None:
            parts.edges, parts.nodes = numbered(parts.edges, labels)
            if parts.nodes == list(range(len(parts.nodes))):
                parts.nodes = None
        elif not whole:
            raise ValueError(
                "X: found rows without node ids, but the edges have ids, expected a pandas DataFrame whose index holds "
                "them, or edges of row numbers"
            )
        parts.by_id = False
        return X
    if labels is None or X is None:
        return X
    nodes = list(range(len(labels))) if parts.nodes is None else parts.nodes
    if labels == nodes:
        return X
    row = {label: at for at, label in enumerate(labels)}
    if len(row) == len(labels) and set(row) == set(nodes):
        return X.iloc[[row[node] for node in nodes]]
    if plain:
        return X
    strange = next((label for label in labels if label not in set(nodes)), labels[0])
    raise ValueError(
        f"X: found {strange!r} in the index, expected the nodes of the graph; "
        "X.reset_index(drop=True) if the rows are in their order"
    )


def _drop_unit_weights(parts: Parts) -> None:
    """A graph whose weights are all 1 is one without weights, unless an edge is listed twice: then weights are summed."""
    if parts.weights is not None and np.all(parts.weights == 1):
        if np.unique(parts.edges, axis=1).shape[1] == parts.edges.shape[1]:
            parts.weights = None


def _check_rows(parts: Parts, rows: Optional[int]) -> None:
    """Blames X if it has fewer or more rows than the graph has nodes."""
    count = parts.count if parts.nodes is None else len(parts.nodes)
    if rows is None:
        return
    if count is not None and rows != count:
        raise ValueError(f"X: found {rows} rows, expected {count}, one for each node")
    edges = parts.edges
    if edges.size and edges.dtype.kind in "iu" and int(edges.max()) >= rows:
        at = int(np.argmax(edges.max(axis=0) >= rows))
        raise ValueError(
            f"X: found {rows} rows, expected one for each node: edge {at} has the node {int(edges[:, at].max())}"
        )


def _names(nodes: list[Any]) -> Optional[list[str]]:
    """The node ids as text, if they stay distinct."""
    names = [str(node) for node in nodes]
    plain = all(name and not any(c in name for c in "\r\n") for name in names)
    return names if plain and len(set(names)) == len(names) else None
