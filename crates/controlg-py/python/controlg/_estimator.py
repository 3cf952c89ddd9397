"""Pretraining as an estimator in scikit-learn's manner, without scikit-learn."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._graph import as_graph
from ._record import blocks, sensings
from ._settings import SHORT, flat, short, threads, to_json, twice

#: Parameters that are no settings.
_OTHERS = ("n_jobs", "callback", "data_dir")


class NotFittedError(ValueError, AttributeError):
    """What is asked for is there after ``fit`` only; as in scikit-learn both classes, so that ``hasattr`` works."""


class ControlG:
    """Pretrains a graph neural network on one graph with several self-supervised objectives.

    Every key of the run file (``controlg list config`` shows them all) is a parameter: write two underscores for a
    dot, ``ControlG(plan__delta=0.3, objective__p_recon__mask=0.7)``. Some have short names, under which they are kept:

    method : who decides which objective learns next; ``controlg list methods``.
    objectives : the objectives that take part; by default the paper's five.
    epochs, width : ``train.epochs`` and ``encoder.width``.
    random_state : ``seed``; the same seed gives the same bytes, at any ``n_jobs``.
    n_jobs : threads; ``None`` or -1 for all cores.
    callback : called as ``callback(steps_done, steps, line)`` for every line of the record, a dictionary. What it
        raises ends the training.
    data_dir : where data sets are looked up by name.

    What is ``None`` is the preset of the data set, else the default. ``data="cora"`` asks for Cora's preset for a graph
    that is given as arrays. Settings are checked by ``fit``.

    After ``fit``: ``embedding_`` (one row a node, float32), ``nodes_`` (whose rows they are), ``schedule_`` and
    ``sensings_`` (columns, ready for ``pandas.DataFrame``), ``notes_``, ``config_``, ``record_``, ``model_``.
    """

    embedding_: NDArray[np.float32]
    nodes_: list[Any]
    notes_: list[str]
    n_features_in_: int
    config_: str
    record_: str
    model_: bytes

    def __init__(
        self,
        *,
        method: str = "controlg",
        objectives: Optional[Sequence[str]] = None,
        epochs: Optional[int] = None,
        width: Optional[int] = None,
        random_state: int = 0,
        n_jobs: Optional[int] = None,
        callback: Optional[Callable[[int, int, dict[str, Any]], object]] = None,
        data_dir: Any = None,
        **settings: Any,
    ) -> None:
        self.method = method
        self.objectives = objectives
        self.epochs = epochs
        self.width = width
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.data_dir = data_dir
        self.settings: dict[str, Any] = {}
        for name, value in settings.items():
            known = short(name)
            # A short name that was not given is None, or the seed 0.
            if known is not None and getattr(self, known):
                raise twice(known, name)
            self.set_params(**{name: value})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, the settings among them, as they were given."""
        return {**{name: getattr(self, name) for name in (*SHORT, *_OTHERS)}, **self.settings}

    def set_params(self, **params: Any) -> ControlG:
        """Changes parameters; any key of the run file is one. Of two names for one the last counts."""
        for name, value in params.items():
            known = short(name)
            if known is not None or name in _OTHERS:
                setattr(self, known or name, value)
            else:
                self.settings[name] = value
        return self

    def fit(self, graph: Any, X: Any = None) -> ControlG:
        """Trains on a graph.

        graph : an array of node numbers, 2 × E or E × 2 (2 × 2: sources, then targets); a SciPy matrix; a NetworkX
            graph; anything with ``edge_index`` (and ``x``); a data set's name or path; what ``load_graph`` gave.
        X : one row of features a node, dense or a SciPy matrix; made from the edges when there are none.

        An interrupt ends the training after the block that is under way, and leaves the estimator as it was.
        """
        settings = self._settings(graph)
        features = json.loads(_core.resolve(settings))["features"]
        made, nodes = as_graph(graph, X, features == "structural", self.data_dir)
        run = _core.fit(made, settings, threads(self.n_jobs), self._watch())
        self._keep(run, nodes)
        self.notes_ = made.notes
        self.n_features_in_ = made.n_features
        return self

    def fit_transform(self, graph: Any, X: Any = None) -> NDArray[np.float32]:
        """Trains on a graph and gives its embeddings."""
        return self.fit(graph, X).embedding_

    def transform(self, graph: Any, X: Any = None) -> NDArray[np.float32]:
        """The embeddings of a graph by the trained encoder, new nodes included; its features must be the same ones."""
        self._check_fitted()
        structural = json.loads(_core.described(self.config_))["features"] == "structural"
        made, _ = as_graph(graph, X, structural, self.data_dir)
        return _core.embed(self.config_, self.model_, made, threads(self.n_jobs))

    @property
    def schedule_(self) -> dict[str, NDArray[Any]]:
        """One entry a block in every column: who learned, and why."""
        self._check_fitted()
        return blocks(self.record_)

    @property
    def sensings_(self) -> dict[str, NDArray[Any]]:
        """One entry a sensing in every column: what was measured, and what was made of it."""
        self._check_fitted()
        return sensings(self.record_)

    def save(self, folder: Any) -> None:
        """Writes a run's folder, which ``controlg evaluate``, ``report``, ``audit`` and ``embed`` take."""
        self._check_fitted()
        _core.save(os.fspath(folder), self.config_, self.record_, self.model_, self.embedding_, self._ids)

    @classmethod
    def load(cls, folder: Any) -> ControlG:
        """The estimator of a finished run, from ``save`` or ``controlg pretrain``; its parameters are what differs from the
        preset of the run's data set."""
        run = _core.load(os.fspath(folder))
        complete = json.loads(_core.described(run[0]))
        preset = to_json({name: complete[name] for name in ("data", "method")})
        usual = flat(json.loads(_core.resolve(preset)))
        params = {name: value for name, value in flat(complete).items() if usual.get(name) != value}
        params.update(data=complete["data"], method=complete["method"])
        estimator = cls(**params)
        estimator._keep(run, None)
        estimator.notes_ = []
        estimator.n_features_in_ = _trained_features(estimator.model_)
        return estimator

    def _settings(self, graph: Any) -> str:
        given = {name: getattr(self, name) for name in SHORT}
        data = "graph"  # a name without a preset
        if isinstance(graph, (str, os.PathLike)):
            data = os.fspath(graph)
        elif isinstance(graph, _core.Graph):
            data = graph.name
        return to_json({"data": data, **given, **self.settings})

    def _watch(self) -> Optional[Callable[[int, int, str], object]]:
        callback = self.callback
        if callback is None:
            return None
        return lambda done, steps, line: callback(done, steps, json.loads(line))

    def _keep(self, run: Any, nodes: Optional[list[Any]]) -> None:
        self.config_, self.record_, self.model_, self.embedding_, self._ids = run
        if nodes is None:
            nodes = self._ids if self._ids is not None else list(range(len(self.embedding_)))
        self.nodes_ = nodes

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("ControlG: found an estimator without a run, expected fit(...) first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        plain = ControlG().get_params()
        differ: Mapping[str, Any] = {
            name: value for name, value in self.get_params().items() if name not in plain or plain[name] != value
        }
        return f"ControlG({', '.join(f'{name}={value!r}' for name, value in differ.items())})"


def _trained_features(model: bytes) -> int:
    """The number of features that a model was trained on, from the table that safetensors begin with."""
    length = int.from_bytes(model[:8], "little")
    return int(json.loads(model[8 : 8 + length])["__metadata__"]["features"])
