"""Writes python/controlg/_parameters.py: the constructor of ``ControlG``, from the settings of the library.

Run ``python tests/write_parameters.py`` with the package installed, after a setting was added or changed;
``test_parameters.py`` compares.
"""

import json
import textwrap
from pathlib import Path

from controlg._settings import SETTINGS, SHORT, parameter

HEAD = '''"""The parameters of ``ControlG``. Written by tests/write_parameters.py from the settings of the library; do not edit."""

from __future__ import annotations

import os
from typing import Any, Callable, Literal, Optional, Sequence, Union

from ._settings import accepts_other_names

#: Called as ``callback(steps_done, total_steps, line)``; stops the training by returning ``True``.
Callback = Callable[[int, int, "dict[str, Any]"], object]


class Parameters:
    """Holds the parameters, as passed."""

'''

#: Parameters with a type and a description of their own.
OWN = {
    "method": ("str", '"controlg"', "training method; `controlg list methods` lists them"),
    "objectives": ("Optional[Sequence[str]]", "None", "objectives to train; `controlg list objectives` lists them"),
    "epochs": ("Optional[int]", "None", ""),
    "width": ("Optional[int]", "None", ""),
    "random_state": ("int", "0", "random seed; the same seed gives the same bytes at any n_jobs"),
    "n_jobs": ("Optional[int]", "None", "number of threads; None or -1 for all cores"),
    "verbose": ("Union[bool, int]", "False", "show notes on the graph and a progress bar (by tqdm, if it is installed)"),
    "callbacks": (
        "Optional[Sequence[Callback]]",
        "None",
        "functions called as callback(steps_done, total_steps, line) for every line of the record, a dictionary; one "
        "that returns True or raises controlg.StopTraining ends the training after this block. Any other exception "
        "ends it and leaves the estimator unchanged",
    ),
    "callback": ("Optional[Callback]", "None", "one more such function"),
    "data": ("Optional[str]", "None", "the data set whose preset is used, for a graph that is passed as arrays"),
    "auto": (
        "bool",
        "False",
        "choose encoder, regularization and objectives by short runs, without labels, before the training, as "
        "`controlg pretrain --auto` does; callbacks see the training only",
    ),
    "data_dir": ('Union[str, "os.PathLike[str]", None]', "None", "folder in which data sets are looked up by name"),
}


def type_of(default, scope):
    """The type of a setting, from its default and its range."""
    value = json.loads(default)  # defaults are written as in TOML, which is JSON here
    if isinstance(value, str):
        words = ", ".join(json.dumps(word) for word in scope.split(", "))
        return "str" if scope == "text" else f"Literal[{words}]"
    if isinstance(value, list):
        return "Sequence[str]"
    if "or a list" in scope:
        return "Union[float, Sequence[float]]"
    return type(value).__name__


def parameters():
    """(name, type, default in the signature, description) of every parameter."""
    by_name = {parameter(setting["name"]): setting for setting in SETTINGS}
    for name in [*OWN, *(name for name in by_name if name not in OWN)]:
        kind, default, doc = OWN.get(name, ("", "None", ""))
        setting = by_name.get(name)
        if setting is not None:
            kind = kind or f"Optional[{type_of(setting['default'], setting['range'])}]"
            limits = "" if setting["range"] in ("text", "a list of names") else f"{setting['range']}; "
            usual = "" if setting["default"] == '""' else f"default {setting['default']}"
            extra = f" ({limits}{usual})" if limits or usual else ""
            long = f", short for {setting['name']}" if name in ("epochs", "width") else ""
            doc = (doc or setting["doc"]) + long + extra
        yield name, kind, default, doc


def written():
    """The file."""
    every = list(parameters())
    lines = ["    @accepts_other_names", "    def __init__(", "        self,", "        *,"]
    lines += [f"        {name}: {kind} = {default}," for name, kind, default, _ in every]
    lines += ["    ) -> None:", '        """Takes every setting of the run file, with two underscores in place of a dot.', ""]
    intro = (
        "A parameter left at None takes the value of the preset of the data set or the method, if there is one, and "
        "else the default named here. Each value is checked here, whether they fit together in fit. The names of the "
        "run file are accepted too: seed for random_state, train__epochs for epochs."
    )
    lines += textwrap.wrap(intro, 112, initial_indent=" " * 8, subsequent_indent=" " * 8) + [""]
    for name, _, _, doc in every:
        lines += textwrap.wrap(f"{name} : {doc}.", 112, initial_indent=" " * 8, subsequent_indent=" " * 12)
    lines += ['        """'] + [f"        self.{name} = {name}" for name, *_ in every]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    assert set(SHORT) <= {name for name, *_ in parameters()}
    place = Path(__file__).resolve().parent.parent / "python" / "controlg" / "_parameters.py"
    place.write_text(written(), encoding="utf-8")
    print(place)
