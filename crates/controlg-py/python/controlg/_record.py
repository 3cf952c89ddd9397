"""The record of a run as columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def blocks(record: str) -> dict[str, NDArray[Any]]:
    """The columns of the blocks; what there is one of for each objective is called ``plan_p_link``, ...."""
    return _columns(record, "block")


def sensings(record: str) -> dict[str, NDArray[Any]]:
    """The columns of the sensings; the cosine of two objectives' gradients is called ``gram_p_link_p_recon``, ...."""
    return _columns(record, "sense")


def _columns(record: str, kind: str) -> dict[str, NDArray[Any]]:
    lines = [json.loads(line) for line in record.splitlines()]
    objectives = lines[0]["objectives"]
    columns: dict[str, list[Any]] = {}
    for line in lines:
        if line["kind"] != kind:
            continue
        for key, value in line.items():
            if key not in ("kind", "seal"):
                for name, number in _spread(key, value, objectives):
                    columns.setdefault(name, []).append(np.nan if number is None else number)
    return {name: np.array(values) for name, values in columns.items()}


def _spread(key: str, value: Any, objectives: list[str]) -> list[tuple[str, Any]]:
    if not isinstance(value, list):
        return [(key, value)]
    return [pair for name, one in zip(objectives, value) for pair in _spread(f"{key}_{name}", one, objectives)]
