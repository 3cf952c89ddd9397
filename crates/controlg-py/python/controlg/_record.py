"""The record of a run as columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def steps_done(record: str) -> int:
    """The number of steps of a record, whose last line is a block or the end."""
    last = json.loads(record.splitlines()[-1])
    return int(last.get("step", 0)) + int(last["steps"])


def notes(record: str) -> list[str]:
    """What the run chose for its graph, such as the feature normalization, and what its method noticed."""
    header, *rest = record.splitlines()
    noticed = [json.loads(line)["note"] for line in rest if '"note":' in line]
    return [*json.loads(header).get("notes", []), *noticed]


def blocks(record: str) -> dict[str, NDArray[Any]]:
    """One row per block. Values per objective have columns such as ``plan_p_link``."""
    return _columns(record, "block")


def sensings(record: str) -> dict[str, NDArray[Any]]:
    """One row per sensing. The cosine of two objectives' gradients has a column such as ``gram_p_link_p_recon``."""
    return _columns(record, "sense")


def _columns(record: str, kind: str) -> dict[str, NDArray[Any]]:
    lines = [json.loads(line) for line in record.splitlines()]
    objectives = lines[0]["objectives"]
    rows = [_row(line, objectives) for line in lines if line["kind"] == kind]
    names = dict.fromkeys(name for row in rows for name in row)  # unique, in order
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _row(line: dict[str, Any], objectives: list[str]) -> dict[str, Any]:
    pairs_of = [_spread(key, value, objectives) for key, value in line.items() if key not in ("kind", "seal")]
    return dict(pair for pairs in pairs_of for pair in pairs)


def _column(values: list[Any]) -> NDArray[Any]:
    """One entry per line; a missing value is NaN or the empty string."""
    gap = "" if any(isinstance(value, str) for value in values) else np.nan
    return np.array([gap if value is None else value for value in values])


def _spread(key: str, value: Any, objectives: list[str]) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{key}_{name}", one) for name, one in value.items()]
    if not isinstance(value, list):
        return [(key, value)]
    return [pair for name, one in zip(objectives, value) for pair in _spread(f"{key}_{name}", one, objectives)]
