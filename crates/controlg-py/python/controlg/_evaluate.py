"""Evaluation of embeddings: linear probe, clustering, link prediction."""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np

from . import _core
from ._graph import as_graph, kind, numpy_of, reals, shape
from ._settings import seed, threads


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

    labels : one class per node, 0, 1, 2, ...; negative for an unlabeled node.
    split : for ``nc``: three index lists or masks, as a tuple (train, val, test) or a dictionary with these keys; a list
        of such splits to average over; or the name of a protocol: the graph's splits of that name, or else a split
        drawn with ``random_state``.
    task : ``nc`` (node classification, accuracy), ``cluster`` (NMI) or ``lp`` (link prediction, ROC-AUC of the held-out
        edges of the split of ``random_state``; pretrain with ``ControlG(edges="train")`` and the same seed, so that the
        embeddings have not seen these edges).
    normalize : ``l2`` (unit rows), ``zscore`` or ``none``, before a linear probe; ``embedding`` is its old name.
    graph : required for ``cluster`` and ``lp``; as in ``ControlG.fit``. Its labels and the splits of its first protocol are
        the defaults.

    Returns ``value`` in percent with the protocol, the hash of the split, the probe and its settings.
    """
    if split is not None and task != "nc":
        raise ValueError(f"split: found one for the task '{task}', expected one for 'nc' only")
    rows = numpy_of(embeddings)
    if rows.ndim != 2:
        raise ValueError(f"embeddings: found {shape(rows)}, expected two dimensions")
    made = None if graph is None else as_graph(graph, None, False, None)[0]
    if made is not None and made.n_nodes != len(rows):
        raise ValueError(f"embeddings: found {len(rows)} rows, expected {made.n_nodes}, one for each node")
    if labels is None and made is not None:
        labels = made.labels
    if split is None or isinstance(split, str):
        protocol, splits = split, None
    else:
        given = split if _several(split) else [split]
        protocol, splits = None, [_one(at, one, len(rows)) for at, one in enumerate(given)]
    score = _core.evaluate(
        task,
        reals(rows, "embeddings"),
        None if labels is None else _classes(numpy_of(labels)),
        splits,
        protocol,
        seed(random_state),
        (probe, normalize if embedding is None else embedding),
        made,
        threads(n_jobs),
    )
    return json.loads(score)


def _classes(labels: Any) -> list[int]:
    if labels.ndim != 1 or labels.dtype.kind not in "iub":
        raise ValueError(f"labels: found {shape(labels)} of {kind(labels)}, expected one whole number a node")
    return labels.astype(np.int64).tolist()


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
        return np.flatnonzero(part).tolist()
    if part.ndim != 1 or (part.size and part.dtype.kind not in "iu"):
        raise ValueError(f"split {at}: found {shape(part)} of {kind(part)}, expected node numbers or a mask")
    return part.astype(np.int64).tolist()
