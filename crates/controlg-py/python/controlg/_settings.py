"""Settings on their way to the run file: dots for tables, and for Python's sake two underscores."""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional


def to_json(settings: Mapping[str, Any]) -> str:
    """One JSON object, without what was left open; NumPy's numbers are numbers."""
    given = {key.replace("__", "."): value for key, value in settings.items() if value is not None}
    return json.dumps(given, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ValueError(f"settings: found {value!r}, expected numbers, text, lists and tables")


def flat(table: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """A table of tables as one, its keys joined by two underscores."""
    out: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            out.update(flat(value, f"{place}{key}__"))
        else:
            out[f"{place}{key}"] = value
    return out


def threads(n_jobs: Optional[int]) -> Optional[int]:
    """Number of threads; ``None`` for all cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or n_jobs < 1:
        raise ValueError(f"n_jobs: found {n_jobs!r}, expected a whole number from 1, or -1 for all cores")
    return int(n_jobs)
