"""Evaluation of embeddings: linear probe, clustering, link prediction."""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np

from . import _core
from ._arrays import is_table, kind, numpy_of, reals, shape
from ._graph import as_graph, graph_and_features
from ._settings import seed, threads
from ._tables import is_missing


def evaluate(
    embeddings: Any,
    labels: Any = None,
    split: Any = None,
    *,
    task: str = "nc",
    graph: Any = None,
    random_state: int = 0,
    probe: str = "lbfgs",
    normalize: str = "l2",
    n_jobs: Optional[int] = None,
    embedding: Optional[str] = None,
) -> dict[str, Any]:
    """Scores embeddings from any source with the protocols of ``controlg evaluate``.

    labels : one class per node: a whole number, negative for an unlabeled node; or text, missing or empty for an
        unlabeled node.
    split : for ``nc``: three index lists or masks, as a tuple (train, val, test) or a dictionary with these keys; a list
        of such splits to average over; or the name of a protocol: the graph's splits of that name, or else a split
        drawn with ``random_state``.
    task : ``nc`` (node classification, accuracy), ``cluster`` (NMI) or ``lp`` (link prediction, ROC-AUC of the held-out
        edges of the split of ``random_state``; pretrain with ``ControlG(edges="train")`` and the same seed, so that the
        embeddings have not seen these edges).
    normalize : ``l2`` (unit rows), ``zscore`` or ``none``, before a linear probe; ``embedding`` is its old name.
    graph : required for ``lp``; as in ``ControlG.fit``. Its labels and the splits of its first protocol are the defaults.
        With it, ``cluster`` also measures modularity and conductance.

    Returns ``value`` in percent with the protocol, the hash of the split, the probe and its settings.
    """
    if split is not None and task != "nc":
        raise ValueError(f"split: found one for the task '{task}', expected one for 'nc' only")
    rows = numpy_of(embeddings.to_numpy() if is_table(embeddings) else embeddings)
    if rows.ndim != 2:
        raise ValueError(f"embeddings: found {shape(rows)}, expected two dimensions")
    made = None if graph is None else as_graph(*graph_and_features(graph), False, None)[0]
    if made is not None and made.n_nodes != len(rows):
        raise ValueError(f"embeddings: found {len(rows)} rows, expected {made.n_nodes}, one for each node")
    if labels is None and made is not None:
        labels = made.labels
    if split is None or isinstance(split, str):
        protocol, splits = split, None
    else:
        given = split if _several(split) else [split]
        protocol, splits = None, [_one(at, one, len(rows)) for at, one in enumerate(given)]
    if labels is not None:
        labels = classes_of(labels)
        if len(labels) != len(rows):
            raise ValueError(f"labels: found {len(labels)}, expected {len(rows)}, one for each row of the embeddings")
    text = _core.evaluate(
        task,
        reals(rows, "embeddings"),
        labels,
        splits,
        protocol,
        seed(random_state),
        (probe, normalize if embedding is None else embedding),
        made,
        threads(n_jobs),
    )
    score: dict[str, Any] = json.loads(text)
    return score


def classes_of(labels: Any) -> list[int]:
    """Class numbers, -1 for no label. Whole numbers are kept; text is numbered in sorted order."""
    array = numpy_of(labels)
    if array.ndim != 1:
        raise ValueError(f"labels: found {shape(array)}, expected one class for each node")
    if array.dtype.kind == "f":
        gaps = np.isnan(array)
        if not np.all(gaps | (array == np.floor(array))):
            raise ValueError("labels: found reals, expected classes: whole numbers or text")
        array = np.where(gaps, -1, array).astype(np.int64)
    if array.dtype.kind in "iub":
        numbers = array.astype(np.int64)
        if numbers.size and numbers.max() >= len(numbers):  # codes with gaps
            found = np.unique(numbers[numbers >= 0])
            numbers = np.where(numbers < 0, -1, np.searchsorted(found, numbers))
        return list(numbers.tolist())
    if array.dtype.kind not in "USTO":
        raise ValueError(f"labels: found {kind(array)}, expected classes: whole numbers or text")
    words = ["" if is_missing(value) else str(value) for value in array.tolist()]
    number = {word: at for at, word in enumerate(sorted(set(words) - {""}))}
    return [number.get(word, -1) for word in words]


def _several(split: Any) -> bool:
    return isinstance(split, list) and bool(split) and isinstance(split[0], (dict, tuple))


def _one(at: int, split: Any, n_nodes: int) -> Any:
    if isinstance(split, dict):
        missing = [part for part in ("train", "val", "test") if part not in split]
        if missing:
            raise ValueError(f"split {at}: found no {missing[0]} nodes, expected train, val and test")
        parts = [split[part] for part in ("train", "val", "test")]
        name, index = split.get("protocol", "own"), split.get("index", at)
    else:
        parts, name, index = list(split), "own", at
    if len(parts) != 3:
        raise ValueError(f"split {at}: found {len(parts)} parts, expected train, val and test")
    return (name, int(index), *(_nodes(at, numpy_of(part), n_nodes) for part in parts))


def _nodes(at: int, part: Any, n_nodes: int) -> list[int]:
    if part.dtype.kind == "b":
        if part.shape != (n_nodes,):
            raise ValueError(f"split {at}: found a mask of {part.size} entries, expected {n_nodes}, one for each node")
        return [int(node) for node in np.flatnonzero(part)]
    if part.ndim != 1 or (part.size and part.dtype.kind not in "iu"):
        raise ValueError(f"split {at}: found {shape(part)} of {kind(part)}, expected node numbers or a mask")
    return [int(node) for node in part]
