"""Settings of the run file as Python parameters: two underscores stand for a dot."""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional

#: Parameters with short names, and their settings.
SHORT = {
    "method": "method",
    "objectives": "objectives",
    "epochs": "train.epochs",
    "width": "encoder.width",
    "random_state": "seed",
}


def key(name: str) -> str:
    """The setting of a parameter."""
    return SHORT.get(name, name.replace("__", "."))


def short(name: str) -> Optional[str]:
    """The short name of a parameter, if it has one."""
    return next((known for known, long in SHORT.items() if long == key(name)), None)


def to_json(settings: Mapping[str, Any]) -> str:
    """The settings that are not None as a JSON object; NumPy scalars and arrays are converted."""
    given = {name: value for name, value in settings.items() if value is not None}
    names: dict[str, str] = {}
    for name in given:
        if names.setdefault(key(name), name) != name:
            raise twice(names[key(name)], name)
    return json.dumps({key(name): value for name, value in given.items()}, default=plain)


def twice(first: str, second: str) -> ValueError:
    """The error for two names of one setting."""
    return ValueError(f"settings: found both {first} and {second}, which name the same setting; pass one of them")


def plain(value: Any) -> Any:
    """Converts NumPy scalars and arrays for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ValueError(f"settings: found {value!r}, expected numbers, text, lists and tables")


def flat(table: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """A nested table as a flat one, with keys joined by two underscores."""
    out: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            out.update(flat(value, f"{place}{name}__"))
        else:
            out[f"{place}{name}"] = value
    return out


def threads(n_jobs: Optional[int]) -> Optional[int]:
    """The number of threads; ``None`` for all cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or n_jobs < 1:
        raise ValueError(f"n_jobs: found {n_jobs!r}, expected a whole number from 1, or -1 for all cores")
    return int(n_jobs)


def seed(random_state: int) -> int:
    """The checked seed."""
    if isinstance(random_state, bool) or int(random_state) != random_state or not 0 <= random_state < 2**63:
        raise ValueError(f"random_state: found {random_state!r}, expected a whole number from 0")
    return int(random_state)
