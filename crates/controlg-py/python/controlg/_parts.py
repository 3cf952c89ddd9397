"""Graph objects of other libraries taken apart: edges, weights, nodes, features, labels, splits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from ._arrays import entries, kind, numpy_of, shape, summed
from ._tables import columns_of, of_tuples

#: A split as the library takes it: protocol, index, train, val and test nodes.
Split = tuple[str, int, list[int], list[int], list[int]]


@dataclass
class Parts:
    """A graph as arrays. Edges are node numbers, or node ids until the nodes are known."""

    edges: NDArray[Any]
    weights: Optional[NDArray[np.float32]] = None
    count: Optional[int] = None
    nodes: Optional[list[Any]] = None
    features: Any = None
    labels: Optional[list[int]] = None
    splits: list[Split] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Whether the edges hold ids, which stand for node numbers only if X has rows without ids.
    by_id: bool = False


def parts_of(graph: Any) -> Parts:
    """Takes a graph apart."""
    if hasattr(graph, "tocoo"):
        return _of_matrix(graph)
    coordinates = entries(graph)
    if coordinates is not None:
        return _of_entries(*coordinates)
    if hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed"):
        return _of_networkx(graph)
    if hasattr(graph, "get_edgelist") and hasattr(graph, "vs"):
        return _of_igraph(graph)
    if hasattr(graph, "edge_index") or hasattr(graph, "adj_t"):
        return _of_geometric(graph)
    table = columns_of(graph)
    if table is not None:
        ends, weights, notes = table
        return Parts(ends, _weights(weights), notes=notes, by_id=True)
    pairs = of_tuples(graph)
    if pairs is not None:
        ends, weights = pairs
        return Parts(ends, _weights(weights), by_id=ends.dtype.kind not in "iu")
    return _of_array(numpy_of(graph))


def _of_array(array: NDArray[Any]) -> Parts:
    if array.ndim != 2 or 2 not in array.shape:
        raise ValueError(f"edges: found {shape(array)}, expected 2 × E or E × 2 node numbers")
    if array.dtype.kind in "USTO":
        # Ids are written as pairs.
        return Parts(array.T if array.shape[1] == 2 else array, by_id=True)
    if array.dtype.kind not in "iu":
        raise ValueError(f"edges: found {kind(array)}, expected whole numbers")
    # In a 2 × 2 array the rows are sources and targets, as in PyTorch Geometric.
    return Parts(array if array.shape[0] == 2 else array.T)


def _weights(array: Any) -> Optional[NDArray[np.float32]]:
    if array is None:
        return None
    values = numpy_of(array)
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise ValueError(f"weights: found {shape(values)} of {kind(values)}, expected one number for each edge")
    return values.astype(np.float32, copy=False)


def _of_matrix(matrix: Any) -> Parts:
    nonzero = summed(matrix).tocoo()
    return _of_entries(matrix.shape, nonzero.row, nonzero.col, nonzero.data)


def _of_entries(size: tuple[int, int], rows: Any, columns: Any, values: Any) -> Parts:
    if size[0] != size[1]:
        raise ValueError(f"graph: found a matrix of {size[0]} × {size[1]}, expected as many columns as rows")
    there = np.ones(len(rows), bool) if values is None else values != 0
    edges = np.stack([rows[there], columns[there]])
    return Parts(edges, None if values is None else _weights(values[there]), count=int(size[0]))


def _of_networkx(graph: Any) -> Parts:
    nodes = list(graph.nodes)
    number = {node: at for at, node in enumerate(nodes)}
    found = list(graph.edges(data="weight"))
    edges = np.array([(number[u], number[v]) for u, v, _ in found], dtype=np.int64).reshape(-1, 2).T
    weighted = any(weight is not None for _, _, weight in found)
    weights = np.array([1 if weight is None else weight for _, _, weight in found]) if weighted else None
    return Parts(edges, _weights(weights), nodes=nodes)


def _of_igraph(graph: Any) -> Parts:
    edges = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    weights = np.array(graph.es["weight"]) if "weight" in graph.es.attributes() else None
    named = "name" in graph.vs.attributes()
    return Parts(edges, _weights(weights), count=graph.vcount(), nodes=list(graph.vs["name"]) if named else None)


def _of_geometric(data: Any) -> Parts:
    """``Data`` of PyTorch Geometric, or any object with the same attributes."""
    edge_index, transposed = getattr(data, "edge_index", None), getattr(data, "adj_t", None)
    if edge_index is None and transposed is None:
        raise ValueError(f"graph: found a {type(data).__name__} without edges, expected edge_index or adj_t")
    if edge_index is not None:
        parts = _of_array(numpy_of(edge_index))
        _add_edge_weights(parts, data)
    else:
        parts = parts_of(transposed)
        parts.edges = parts.edges[::-1]
    parts.features = getattr(data, "x", None)
    if parts.features is None and parts.count is None:
        parts.count = getattr(data, "num_nodes", None)
    count = parts.count if parts.features is None else int(parts.features.shape[0])
    _add_labels(parts, getattr(data, "y", None), count)
    _add_splits(parts, [getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")], count)
    return parts


def _add_edge_weights(parts: Parts, data: Any) -> None:
    weight, attributes = getattr(data, "edge_weight", None), getattr(data, "edge_attr", None)
    if weight is not None:
        parts.weights = _weights(numpy_of(weight).reshape(-1))
    elif attributes is not None:
        values = numpy_of(attributes)
        single = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
        if single and values.dtype.kind in "fiu" and bool(np.all(values > 0)):
            parts.weights = _weights(values.reshape(-1))
            parts.notes.append("edge_attr: used as the weights of the edges")
        else:
            parts.notes.append("edge_attr: not used, only one positive number for each edge is, as its weight")


def _add_labels(parts: Parts, y: Any, count: Optional[int]) -> None:
    if y is None:
        return
    classes = numpy_of(y)
    if classes.ndim == 2 and classes.shape[1] == 1:
        classes = classes[:, 0]
    if classes.ndim == 1 and classes.dtype.kind in "iub" and (count is None or len(classes) == count):
        parts.labels = classes.astype(np.int64).tolist()
    else:
        parts.notes.append(f"y: not kept for evaluation, found {shape(classes)} of {kind(classes)}, not one class a node")


def _add_splits(parts: Parts, given: list[Any], count: Optional[int]) -> None:
    """Masks of n entries, or n × k for k splits."""
    if any(mask is None for mask in given):
        return
    masks = [numpy_of(mask) for mask in given]
    masks = [mask[:, None] if mask.ndim == 1 else mask for mask in masks]
    train, val, test = masks
    alike = all(mask.ndim == 2 and mask.dtype.kind == "b" and mask.shape == train.shape for mask in masks)
    if not alike or (count is not None and len(train) != count):
        parts.notes.append("masks: not kept for evaluation, their shapes are not those of the nodes")
    elif np.any((train & val) | (train & test) | (val & test)):
        parts.notes.append("masks: not kept for evaluation, a node is in two of them")
    else:
        for at in range(train.shape[1]):
            lists = [np.flatnonzero(mask[:, at]).tolist() for mask in masks]
            parts.splits.append(("own", at, lists[0], lists[1], lists[2]))
