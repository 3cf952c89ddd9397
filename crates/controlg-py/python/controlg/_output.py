"""Embeddings as arrays or data frames, and the page that a notebook shows for an estimator."""

from __future__ import annotations

import importlib
import sys
from html import escape
from typing import Any, Mapping, Optional

import numpy as np
from numpy.typing import NDArray

CONTAINERS = ("default", "pandas", "polars")


def check_container(transform: Optional[str]) -> None:
    """Checks the argument of ``set_output``."""
    if transform is not None and transform not in CONTAINERS:
        raise ValueError(f"transform: found {transform!r}, expected one of {', '.join(CONTAINERS)}")


def container(chosen: Mapping[str, str]) -> str:
    """The container chosen by ``set_output``, or by ``sklearn.set_config(transform_output=...)``."""
    if "transform" in chosen:
        return chosen["transform"]
    sklearn = sys.modules.get("sklearn")
    return "default" if sklearn is None else str(sklearn.get_config().get("transform_output", "default"))


def in_container(kind: str, rows: NDArray[np.float32], names: NDArray[Any], nodes: Optional[list[Any]]) -> Any:
    """Rows in a container: an array, or a data frame; that of pandas has the nodes as its index."""
    if kind == "default":
        return rows
    try:
        library: Any = importlib.import_module(kind)
    except ImportError as error:
        raise ImportError(f"set_output(transform={kind!r}) needs {kind}, which is not installed") from error
    if kind == "pandas":
        index = None if nodes is None else library.Index(nodes, tupleize_cols=False)
        return library.DataFrame(rows, columns=names, index=index)
    return library.DataFrame(rows, schema=list(names))


def html(title: str, params: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """A small page: parameters that differ from the defaults, and facts of the training."""

    def table(rows: Mapping[str, Any]) -> str:
        lines = (
            f'<tr><td style="text-align:left">{escape(str(name))}</td>'
            f'<td style="text-align:left">{escape(str(value))}</td></tr>'
            for name, value in rows.items()
        )
        return f"<table>{''.join(lines)}</table>"

    fitted = table(facts) if facts else "<p>not fitted yet</p>"
    settings = table(params) if params else "<p>all at their defaults</p>"
    return (
        f"<div><strong>{escape(title)}</strong>{fitted}"
        f"<details><summary>parameters</summary>{settings}</details></div>"
    )
