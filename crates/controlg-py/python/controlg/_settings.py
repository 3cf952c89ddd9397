"""Settings of the run file as Python parameters: two underscores stand for a dot, one for a hyphen."""

from __future__ import annotations

import difflib
import functools
import json
from typing import Any, Callable, Iterable, Mapping, Optional, TypeVar

import numpy as np

from . import _core

#: Parameters with short names, and their settings.
SHORT = {
    "method": "method",
    "objectives": "objectives",
    "epochs": "train.epochs",
    "width": "encoder.width",
    "random_state": "seed",
}

#: Parameters that are not settings of the run file.
OTHERS = ("n_jobs", "verbose", "callbacks", "callback", "auto", "data_dir")

#: All settings of the run file: name, default, range, description.
SETTINGS: list[dict[str, str]] = json.loads(_core.settings())


def parameter(key: str) -> str:
    """The parameter of a setting."""
    names = (name for name, long in SHORT.items() if long == key)
    return next(names, key.replace(".", "__").replace("-", "_"))


#: The setting of each parameter.
KEYS = {**SHORT, **{parameter(setting["name"]): setting["name"] for setting in SETTINGS}}


def find(name: str) -> Optional[str]:
    """The parameter with this name, or with another name of it: that of its setting, or of version 0.1."""
    if name in KEYS:
        return name
    key = name.replace("__", ".").replace("normalise", "normalize")  # kept from version 0.1
    return parameter(key) if parameter(key) in KEYS else None


def known(name: str, others: Iterable[str] = ()) -> str:
    """``find`` that fails with a suggestion."""
    found = name if name in others else find(name)
    if found is not None:
        return found
    every = [*KEYS, *others]
    near = [one for one in every if one.endswith(f"__{name}")] or difflib.get_close_matches(name, every, 1, 0.7)
    words = " or ".join(f"'{one}'" for one in near[:3])
    advice = f"did you mean {words}?" if near else "help(ControlG.__init__) lists the parameters"
    raise ValueError(f"unknown parameter '{name}'{',' if near else ';'} {advice}")


def canonical(params: Mapping[str, Any], others: Iterable[str] = ()) -> dict[str, Any]:
    """The parameters under their own names."""
    given: dict[str, str] = {}
    for name in params:
        first = given.setdefault(known(name, others), name)
        if first != name:
            raise twice(first, name)
    return {own: params[name] for own, name in given.items()}


Init = TypeVar("Init", bound=Callable[..., None])


def accepts_other_names(init: Init) -> Init:
    """Decorates an ``__init__`` to accept the other names of parameters, and to suggest a name for an unknown one."""

    @functools.wraps(init)
    def __init__(self: Any, **params: Any) -> None:
        params = canonical(params, OTHERS)
        check(params)
        init(self, **params)

    return __init__  # type: ignore[return-value]


def check(params: Mapping[str, Any]) -> None:
    """Checks each value."""
    _core.check(to_json({name: value for name, value in params.items() if name not in OTHERS}))
    threads(params.get("n_jobs"))
    if not isinstance(params.get("auto", False), (bool, np.bool_)):
        raise ValueError(f"auto: found {params['auto']!r}, expected True or False")
    callbacks = params.get("callbacks")
    callbacks = [*([] if callbacks is None else callbacks), params.get("callback")]
    for callback in callbacks:
        if callback is not None and not callable(callback):
            raise ValueError(f"callbacks: found {callback!r}, expected functions")


def to_json(settings: Mapping[str, Any]) -> str:
    """The settings that are not None as a JSON object; NumPy scalars and arrays are converted."""
    given = {name: value for name, value in settings.items() if value is not None}
    names: dict[str, str] = {}
    for name in given:
        if names.setdefault(key(name), name) != name:
            raise twice(names[key(name)], name)
    return json.dumps({key(name): value for name, value in given.items()}, default=plain)


def key(name: str) -> str:
    """The setting of a parameter. Names that are not in the list are left to the library to report."""
    found = find(name)
    return name.replace("__", ".") if found is None else KEYS[found]


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
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs < 1:
        raise ValueError(f"n_jobs: found {n_jobs!r}, expected a whole number from 1, or -1 for all cores")
    return int(n_jobs)


def seed(random_state: int) -> int:
    """The checked seed."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state < 2**63:
        raise ValueError(f"random_state: found {random_state!r}, expected a whole number from 0")
    return int(random_state)
