"""Comparison of several methods. Each run is a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional, Sequence, Union

from . import _core
from ._settings import threads, to_json


def compare(
    data: Union[str, Sequence[str]],
    methods: Union[str, Sequence[str]],
    *,
    seeds: int = 5,
    tasks: Union[str, Sequence[str]] = ("nc", "cluster"),
    out: Any = None,
    singles: bool = True,
    n_jobs: Optional[int] = None,
    data_dir: Any = None,
    engine: Optional[str] = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Runs methods on data sets with several seeds through ``controlg compare``; returns one dictionary per result.

    The training-free floors are always included, and with ``singles`` every objective alone. ``out`` is a folder for the
    results and tables; a later call with the same folder runs only what is missing. Settings are those of ``ControlG``.
    ``engine="ray"`` or ``"ray=ADDRESS"`` runs every job as a task of Ray (``pip install controlg[ray]``), with ``n_jobs`` CPUs
    each; ``out`` must then be a folder that all nodes see. Pass the result to ``pandas.DataFrame`` for a table.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "comparison" if out is None else Path(out)
        command = [sys.executable, "-m", "controlg", "compare", "--quiet", "--json"]
        command += ["--data", _list(data), "--methods", _list(methods), "--tasks", _list(tasks)]
        command += ["--seeds", str(seeds), "--out", str(folder)]
        command += [] if singles else ["--no-singles"]
        command += ["--threads", str(threads(n_jobs))] if threads(n_jobs) else []
        command += ["--engine", _ray(engine)] if engine is not None else []
        command += ["--data-dir", str(data_dir)] if data_dir is not None else []
        for key, value in json.loads(to_json(settings)).items():
            command += ["--set", f"{key}={json.dumps(value)}"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise (ValueError if done.returncode == 2 else RuntimeError)(_reason(done.stderr))
        results: list[dict[str, Any]] = json.loads(_core.compared(folder))
        return results


def _reason(stderr: str) -> str:
    """The line of stderr with the error: the first for a wrong argument, otherwise the last."""
    lines = stderr.strip().splitlines() or ["controlg compare failed"]
    first, last = lines[0], lines[-1]
    return first.removeprefix("error: ") if first.startswith("error: ") else last.removeprefix("controlg: ")


def _ray(engine: str) -> str:
    if engine != "ray" and not engine.startswith("ray="):
        raise ValueError(f"engine: found {engine!r}, expected 'ray' or 'ray=ADDRESS'; Slurm is on the command line")
    return engine


def _list(names: Union[str, Sequence[str]]) -> str:
    return names if isinstance(names, str) else ",".join(names)
