"""Edges as tables of pandas or polars, and as lists of tuples; ids of any type."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from ._arrays import is_table, numpy_of

#: The names of the columns, as in an edge file.
SOURCE, TARGET, WEIGHT = ("src", "source"), ("dst", "target"), "weight"


def columns_of(graph: Any) -> Optional[tuple[NDArray[Any], Any, list[str]]]:
    """Ends (2 × E), weights and notes of an edge table; ``None`` for anything else."""
    if not is_table(graph):
        return None
    table = graph if hasattr(graph, "to_numpy") else graph.collect()
    names = list(table.columns)
    found = [[name for name in names if str(name).lower() in one] for one in (SOURCE, TARGET)]
    if len(found[0]) != 1 or len(found[1]) != 1:
        raise ValueError(
            f"edges: found a table with the columns {', '.join(map(str, names))}, "
            "expected src and dst (or source and target), and weight if the edges have weights"
        )
    used = [found[0][0], found[1][0], *(name for name in names if str(name).lower() == WEIGHT)]
    ends = [_ids(table[name], name) for name in used[:2]]
    unused = [str(name) for name in names if name not in used]
    notes = [f"edges: the columns {', '.join(unused)} are not used"] if unused else []
    if ends[0].dtype != ends[1].dtype and "O" not in (ends[0].dtype.kind, ends[1].dtype.kind):
        ends = [end.astype(object) for end in ends] if ends[0].dtype.kind != ends[1].dtype.kind else ends
    return np.stack(ends), table[used[2]].to_numpy() if len(used) > 2 else None, notes


def _ids(column: Any, name: Any) -> NDArray[Any]:
    values = numpy_of(column.to_numpy())
    if values.dtype.kind == "f" and bool(np.all(values == np.floor(values))):
        values = values.astype(np.int64)  # whole numbers in a column that once had a gap
    if values.dtype.kind == "f" or values.dtype.kind == "O":
        for row, value in enumerate(values.tolist()):
            if is_missing(value):
                raise ValueError(f"edges, row {row}, column {name!r}: found nothing, expected a node id")
        if values.dtype.kind == "f":
            raise ValueError(f"edges, column {name!r}: found reals, expected node ids")
    return values


def is_missing(value: Any) -> bool:
    """Whether a value is ``None``, NaN, or the missing value of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def of_tuples(graph: Any) -> Optional[tuple[NDArray[Any], Any]]:
    """Ends (2 × E) and weights of a list of tuples (u, v) or (u, v, weight); ``None`` for anything else."""
    if not isinstance(graph, (list, tuple, set, frozenset)) or not graph:
        return None
    edges = list(graph)
    if not all(isinstance(edge, tuple) for edge in edges):
        return None
    sizes = {len(edge) for edge in edges}
    if sizes not in ({2}, {3}):
        at, edge = next((at, edge) for at, edge in enumerate(edges) if len(edge) not in (2, 3) or len(edge) != len(edges[0]))
        raise ValueError(f"edges, edge {at}: found {edge!r}, expected (u, v) for each edge, or (u, v, weight) for each")
    ends = [edge[:2] for edge in edges]
    whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for pair in ends for end in pair)
    array = np.empty((2, len(ends)), dtype=np.int64 if whole else object)
    for at, (u, v) in enumerate(ends):
        array[0, at], array[1, at] = u, v
    return array, np.array([edge[2] for edge in edges]) if sizes == {3} else None


def numbered(ends: NDArray[Any], nodes: Optional[list[Any]]) -> tuple[NDArray[np.int64], list[Any]]:
    """Node numbers for ids, and the nodes: those given, or the ids in order of appearance, in numeric order if all are
    whole numbers."""
    if nodes is None and ends.dtype.kind in "iu":
        found, numbers = np.unique(ends, return_inverse=True)
        return numbers.reshape(ends.shape).astype(np.int64), list(found.tolist())
    both = [end.tolist() for end in ends]
    if nodes is None:
        pairs = [end for pair in zip(*both) for end in pair]
        nodes = list(dict.fromkeys(pairs))
        if all(isinstance(node, int) for node in nodes):
            nodes.sort()
    number = {node: at for at, node in enumerate(nodes)}
    if len(number) != len(nodes):
        raise ValueError("X: found an index with duplicates, expected each node once")
    try:
        return np.array([[number[end] for end in side] for side in both], dtype=np.int64).reshape(2, -1), nodes
    except KeyError as error:
        raise ValueError(f"X: found no row for node {error}, which has an edge; expected one for each node") from None
