"""Pretraining as an estimator with scikit-learn's interface; scikit-learn itself is not needed."""

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

#: Parameters that are not settings of the run file.
_OTHERS = ("n_jobs", "callback", "data_dir")


class NotFittedError(ValueError, AttributeError):
    """Raised when an attribute is used before ``fit``. It derives from both classes, as in scikit-learn, so ``hasattr`` works."""


class ControlG:
    """Pretrains a graph neural network on one graph with several self-supervised objectives.

    Every setting of the run file (see ``controlg list config``) is a parameter, with two underscores in place of a dot:
    ``ControlG(plan__delta=0.3, objective__p_recon__mask=0.7)``. Some have short names:

    method : how the objectives are scheduled or mixed; see ``controlg list methods``.
    objectives : the objectives in the pool; the five of the paper by default.
    epochs, width : ``train.epochs`` and ``encoder.width``.
    random_state : the seed. The same seed gives the same bytes at any ``n_jobs``.
    n_jobs : number of threads; ``None`` or -1 for all cores.
    callback : called as ``callback(steps_done, total_steps, line)`` for every line of the record, a dictionary. An
        exception in it stops the training.
    data_dir : folder in which data sets are looked up by name.

    A parameter left at ``None`` takes the preset of the data set, or the default. ``data="cora"`` selects Cora's preset
    for a graph passed as arrays. ``fit`` checks the settings.

    Attributes after ``fit``: ``embedding_`` (n_nodes × width, float32), ``nodes_`` (node ids in row order), ``schedule_`` and
    ``sensings_`` (columns for ``pandas.DataFrame``), ``notes_``, ``config_``, ``record_``, ``model_``.
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
            # A short parameter that was not passed is None, or 0 for the seed.
            if known is not None and getattr(self, known):
                raise twice(known, name)
            self.set_params(**{name: value})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters and settings, as passed."""
        return {**{name: getattr(self, name) for name in (*SHORT, *_OTHERS)}, **self.settings}

    def set_params(self, **params: Any) -> ControlG:
        """Sets parameters, including any setting of the run file. If two names of one setting are passed, the last wins."""
        for name, value in params.items():
            known = short(name)
            if known is not None or name in _OTHERS:
                setattr(self, known or name, value)
            else:
                self.settings[name] = value
        return self

    def fit(self, graph: Any, X: Any = None) -> ControlG:
        """Trains on a graph.

        graph : an edge array, 2 × E or E × 2 (a 2 × 2 array holds sources, then targets); a SciPy matrix; a NetworkX
            graph; an object with ``edge_index`` (and ``x``); the name or path of a data set; a graph from ``load_graph``.
        X : node features, n_nodes × n_features, dense or a SciPy matrix. Without them structural features are computed.

        An interrupt stops the training after the current block and leaves the estimator unchanged.
        """
        settings = self._settings(graph)
        features = json.loads(_core.resolve(settings))["features"]
        made, nodes = as_graph(graph, X, features == "structural", self.data_dir)
        run = _core.fit(made, settings, threads(self.n_jobs), self._on_line())
        self._set_run(run, nodes)
        self.notes_ = made.notes
        self.n_features_in_ = made.n_features
        return self

    def fit_transform(self, graph: Any, X: Any = None) -> NDArray[np.float32]:
        """Trains on a graph and returns its embeddings."""
        return self.fit(graph, X).embedding_

    def transform(self, graph: Any, X: Any = None) -> NDArray[np.float32]:
        """Embeds a graph, which may have new nodes, with the trained encoder. The features must have the same columns."""
        self._check_fitted()
        structural = json.loads(_core.described(self.config_))["features"] == "structural"
        made, _ = as_graph(graph, X, structural, self.data_dir)
        return _core.embed(self.config_, self.model_, made, threads(self.n_jobs))

    @property
    def schedule_(self) -> dict[str, NDArray[Any]]:
        """One row per block: the objective that was trained, and why."""
        self._check_fitted()
        return blocks(self.record_)

    @property
    def sensings_(self) -> dict[str, NDArray[Any]]:
        """One row per sensing: the measurements and the plan derived from them."""
        self._check_fitted()
        return sensings(self.record_)

    def save(self, folder: Any) -> None:
        """Writes a run folder that ``controlg evaluate``, ``report``, ``audit`` and ``embed`` accept."""
        self._check_fitted()
        _core.save(os.fspath(folder), self.config_, self.record_, self.model_, self.embedding_, self._ids)

    @classmethod
    def load(cls, folder: Any) -> ControlG:
        """Loads a finished run written by ``save`` or ``controlg pretrain``. The parameters hold what differs from the preset
        of the run's data set."""
        run = _core.load(os.fspath(folder))
        complete = json.loads(_core.described(run[0]))
        preset = to_json({name: complete[name] for name in ("data", "method")})
        usual = flat(json.loads(_core.resolve(preset)))
        params = {name: value for name, value in flat(complete).items() if usual.get(name) != value}
        params.update(data=complete["data"], method=complete["method"])
        estimator = cls(**params)
        estimator._set_run(run, None)
        estimator.notes_ = []
        estimator.n_features_in_ = _trained_features(estimator.model_)
        return estimator

    def _settings(self, graph: Any) -> str:
        given = {name: getattr(self, name) for name in SHORT}
        data = "graph"  # no data set of this name: no preset
        if isinstance(graph, (str, os.PathLike)):
            data = os.fspath(graph)
        elif isinstance(graph, _core.Graph):
            data = graph.name
        return to_json({"data": data, **given, **self.settings})

    def _on_line(self) -> Optional[Callable[[int, int, str], object]]:
        callback = self.callback
        if callback is None:
            return None
        return lambda done, steps, line: callback(done, steps, json.loads(line))

    def _set_run(self, run: Any, nodes: Optional[list[Any]]) -> None:
        self.config_, self.record_, self.model_, self.embedding_, self._ids = run
        if nodes is None:
            nodes = self._ids if self._ids is not None else list(range(len(self.embedding_)))
        self.nodes_ = nodes

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this ControlG instance is not fitted yet: call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        plain = ControlG().get_params()
        differ: Mapping[str, Any] = {
            name: value for name, value in self.get_params().items() if name not in plain or plain[name] != value
        }
        return f"ControlG({', '.join(f'{name}={value!r}' for name, value in differ.items())})"


def _trained_features(model: bytes) -> int:
    """The number of input features of a model, from the header of its safetensors bytes."""
    length = int.from_bytes(model[:8], "little")
    return int(json.loads(model[8 : 8 + length])["__metadata__"]["features"])
