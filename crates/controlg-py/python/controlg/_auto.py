"""The search for settings of ``ControlG(auto=True)``: that of ``controlg pretrain --auto``, in a folder of its own."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

from . import _core

#: The files of a search by their paths in the run folder: auto.json, and settings and record of every short run.
Files = dict[str, str]

#: The description of a search.
SEARCH = "auto.json"


def choose(graph: _core.Graph, settings: str, n_threads: Optional[int], verbose: bool) -> tuple[str, Files]:
    """The complete settings of the full run, and the files of the search."""
    with tempfile.TemporaryDirectory() as scratch:
        say = (lambda line: print(line, file=sys.stderr)) if verbose else None
        chosen = _core.choose(graph, settings, scratch, n_threads, say)
        return chosen, read(scratch)


def read(folder: Any) -> Files:
    """The files of the search in a run folder; none if there was no search."""
    home = Path(folder)
    if not (home / SEARCH).is_file():
        return {}
    runs = (path for kind in ("config.toml", "trace.jsonl") for path in home.glob(f"auto/*/*/{kind}"))
    paths = [home / SEARCH, *sorted(runs)]
    return {path.relative_to(home).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def write(folder: Any, files: Files) -> None:
    """Writes them into a run folder."""
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))


def described(files: Files) -> dict[str, Any]:
    """The search as a dictionary."""
    search: dict[str, Any] = json.loads(files[SEARCH])
    return search
