"""Pretraining as an estimator with scikit-learn's interface; scikit-learn itself is not needed."""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from typing import Any, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _auto, _core
from ._callbacks import ProgressBar, watch
from ._evaluate import evaluate
from ._graph import as_graph, graph_and_features, refuse_features_as_labels
from ._output import check_container, container, html, in_container
from ._parameters import Parameters
from ._record import blocks, notes, sensings, steps_done
from ._settings import KEYS, OTHERS, SHORT, canonical, check, flat, known, threads, to_json


class NotFittedError(ValueError, AttributeError):
    """Raised when an attribute is used before ``fit``. It derives from both classes, as in scikit-learn, so ``hasattr`` works."""


class ControlG(Parameters):
    """Pretrains a graph neural network on one graph with several self-supervised objectives.

    ``ControlG(method="controlg", epochs=20, width=512, plan__delta=0.3, objective__p_recon__mask=0.7)``: every setting of
    the run file (see ``controlg list config``) is a parameter, with two underscores in place of a dot. ``__init__``
    documents them all with their defaults and checks them.

    Attributes after ``fit``: ``embedding_`` (n_nodes × width, float32), ``nodes_`` (node ids in row order), ``schedule_`` and
    ``sensings_`` (columns for ``pandas.DataFrame``), ``notes_``, ``config_``, ``record_``, ``model_``, ``n_features_in_``,
    ``feature_names_in_`` (if the features have names), ``n_steps_`` (steps done) and ``partial_`` (whether training was
    stopped before its last step). With ``auto``, also ``auto_``: the candidates, the outcome of every short run, and the
    index of the winner.
    """

    embedding_: NDArray[np.float32]
    nodes_: list[Any]
    notes_: list[str]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_steps_: int
    partial_: bool
    auto_: dict[str, Any]
    config_: str
    record_: str
    model_: bytes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, as passed."""
        return {name: getattr(self, name) for name in (*SHORT, *OTHERS, *(name for name in KEYS if name not in SHORT))}

    def set_params(self, **params: Any) -> ControlG:
        """Sets parameters and checks them. If two names of one parameter are passed, the last wins."""
        own = {known(name, OTHERS): value for name, value in params.items()}
        check({**self.get_params(), **own})
        for name, value in own.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any = None, *, features: Any = None) -> ControlG:
        """Trains on a graph.

        X : the graph, or ``(graph, features)``. A graph is an edge array, 2 × E or E × 2 (a 2 × 2 array holds sources,
            then targets); a list of tuples (u, v) or (u, v, weight); a data frame of pandas or polars with the columns src
            and dst (or source and target), and weight; a SciPy matrix; a graph of NetworkX or igraph; a ``Data`` object of
            PyTorch Geometric; the name or path of a data set; a graph from ``load_graph``.
        y : ignored. It is here because scikit-learn passes labels to every step of a pipeline; they are not trained on.
        features : node features, n_nodes × n_features, instead of those in ``X``: dense, a SciPy matrix, or a data frame,
            whose column names are kept. The index of a pandas data frame holds the nodes. Without features, structural
            ones are computed from the edges.

        An interrupt (Ctrl-C) stops the training after the current block, with a warning: the estimator is then fitted
        with what was learned so far, and ``partial_`` is true. Before the first block, the estimator is left unchanged
        and ``KeyboardInterrupt`` is raised.
        """
        graph, features = graph_and_features(X, features)
        refuse_features_as_labels(y, graph, features)
        settings = self._settings(graph)
        wanted = json.loads(_core.resolve(settings))
        structural, directed = wanted["features"] == "structural", bool(wanted.get("directed"))
        made, nodes = as_graph(graph, features, structural, self.data_dir, directed)
        search: _auto.Files = {}
        if self.auto:
            settings, search = _auto.choose(made, settings, threads(self.n_jobs), bool(self.verbose))
        run, interrupted = self._train(made, settings)
        self._set_run(run, nodes, search)
        self.notes_ = [*made.notes, *notes(self.record_)]
        if interrupted:
            words = f"training was interrupted: the embeddings are those after {self.n_steps_} steps"
            warnings.warn(words, stacklevel=2)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, features: Any = None) -> Any:
        """Trains on a graph and returns its embeddings. Takes the arguments of ``fit``."""
        self.fit(X, y, features=features)
        return self._contained(self.embedding_, self.nodes_)

    def transform(self, X: Any, features: Any = None) -> Any:
        """Embeds a graph, which may have new nodes, with the trained encoder. Takes the arguments of ``fit`` without ``y``.

        The features must be those of the training graph. If both have names, columns are matched by name.
        """
        self._check_fitted()
        made, nodes = self._made(X, features)
        rows = _core.embed(self.config_, self.model_, made, threads(self.n_jobs))
        return self._contained(rows, nodes)

    def score(self, X: Any, y: Any = None, *, features: Any = None) -> float:
        """The test accuracy of a linear probe on the embeddings of a graph, from 0 to 1.

        ``y`` holds one class per node, as in ``evaluate``; by default the labels of the graph. The splits are those of the
        graph, or else 10 % train, 10 % validation and 80 % test nodes, drawn with ``random_state``.
        """
        self._check_fitted()
        made, _ = self._made(X, features)
        rows = _core.embed(self.config_, self.model_, made, threads(self.n_jobs))
        seed = int(json.loads(_core.described(self.config_))["seed"])
        found = evaluate(rows, y, graph=made, random_state=seed, n_jobs=self.n_jobs)
        return float(found["value"]) / 100

    def set_output(self, *, transform: Optional[str] = None) -> ControlG:
        """Chooses what ``transform`` and ``fit_transform`` return: "default" (an array), "pandas" or "polars"."""
        check_container(transform)
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # the name that clone of scikit-learn copies
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the embedding columns: controlg0, controlg1, … Input names are only compared with those of ``fit``."""
        self._check_fitted()
        if input_features is not None:
            names, trained = list(input_features), getattr(self, "feature_names_in_", None)
            if trained is not None and names != list(trained):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(names) != self.n_features_in_:
                expected = f"number of features ({self.n_features_in_}), got {len(names)}"
                raise ValueError(f"input_features should have length equal to {expected}")
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{at}" for at in range(self.embedding_.shape[1])], dtype=object)

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

    def save(self, folder: Any, *, overwrite: bool = False) -> None:
        """Writes a run folder that ``controlg evaluate``, ``report``, ``audit`` and ``embed`` accept.

        The folder must be new or empty. With ``overwrite`` it may hold another run, which is replaced; a folder with any
        other file is left alone.
        """
        self._check_fitted()
        run = (self.config_, self.record_, self.model_, self.embedding_, self._ids)
        _core.save(os.fspath(folder), *run, overwrite)
        _auto.write(folder, self._search)

    @classmethod
    def load(cls, folder: Any) -> ControlG:
        """Loads a finished run written by ``save`` or ``controlg pretrain``. The parameters hold what differs from the preset
        of the run's data set."""
        run = _core.load(os.fspath(folder))
        complete = flat(json.loads(_core.described(run[0])))

        def usual(chosen: Sequence[str]) -> dict[str, Any]:
            return flat(json.loads(_core.resolve(to_json({name: complete[name] for name in chosen}))))

        # Presets depend on these, too.
        preset = usual(("data", "method"))
        chosen = [name for name in ("edges", "encoder__width") if preset.get(name) != complete.get(name)]
        preset = usual(("data", "method", *chosen))
        params = {name: value for name, value in complete.items() if preset.get(name) != value}
        params.update({name: complete[name] for name in ("data", "method", *chosen)})
        estimator = cls(**canonical(params))
        estimator._set_run(run, None, _auto.read(folder))
        estimator.notes_ = notes(estimator.record_)
        return estimator

    def _settings(self, graph: Any) -> str:
        data = "graph"  # no data set of this name: no preset
        if isinstance(graph, (str, os.PathLike)):
            data = os.fspath(graph)
        elif isinstance(graph, _core.Graph):
            data = graph.name
        given = {name: value for name, value in self.get_params().items() if name in KEYS and value is not None}
        return to_json({"data": data, **given})

    def _train(self, graph: _core.Graph, settings: str) -> Any:
        """The run, and whether an interrupt ended the training."""
        callbacks = [*(self.callbacks or ()), *(() if self.callback is None else (self.callback,))]
        bar = ProgressBar() if self.verbose else None
        for note in graph.notes if self.verbose else ():
            print(note, file=sys.stderr)
        try:
            return _core.fit(graph, settings, threads(self.n_jobs), watch(callbacks, bar))
        finally:
            if bar is not None:
                bar.close()

    def _made(self, X: Any, features: Any) -> tuple[_core.Graph, list[Any]]:
        """A graph to embed, and its nodes."""
        settings = json.loads(_core.described(self.config_))
        structural, directed = settings["features"] == "structural", bool(settings.get("directed"))
        made, nodes = as_graph(*graph_and_features(X, features), structural, self.data_dir, directed)
        self._check_features(made)
        return made, list(range(made.n_nodes)) if nodes is None else nodes

    def _check_features(self, graph: _core.Graph) -> None:
        """Compares features with those of ``fit``, in the words of scikit-learn. The library puts named columns in order."""
        name, known, found = type(self).__name__, getattr(self, "feature_names_in_", None), graph.feature_names
        if known is not None and found is not None:
            others, lacking = sorted(set(found) - set(known)), sorted(set(known) - set(found))
            if others or lacking:
                parts = [("no column", lacking), ("other columns", others)]
                words = [f"{what} {', '.join(map(repr, names[:5]))}" for what, names in parts if names]
                raise ValueError(f"X: found {' and '.join(words)}; the feature names should match those passed during fit")
        elif graph.n_features != self.n_features_in_:
            expected = self.n_features_in_
            raise ValueError(f"X has {graph.n_features} features, but {name} is expecting {expected} features as input")
        elif known is not None:
            warnings.warn(f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=4)
        elif found is not None:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", stacklevel=4)

    def _contained(self, rows: NDArray[np.float32], nodes: list[Any]) -> Any:
        kind = container(getattr(self, "_sklearn_output_config", {}))
        return rows if kind == "default" else in_container(kind, rows, self.get_feature_names_out(), nodes)

    def _set_run(self, run: Any, nodes: Optional[list[Any]], search: _auto.Files) -> None:
        self.config_, self.record_, self.model_, self.embedding_, self._ids, self.partial_ = run
        if nodes is None:
            nodes = self._ids if self._ids is not None else list(range(len(self.embedding_)))
        self.nodes_ = nodes
        self.n_steps_ = steps_done(self.record_)
        metadata = _metadata(self.model_)
        self.n_features_in_ = int(metadata["features"])
        if "feature_names" in metadata:
            self.feature_names_in_ = np.array(json.loads(metadata["feature_names"]), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        self._search = search
        if search:
            self.auto_ = _auto.described(search)
        elif hasattr(self, "auto_"):
            del self.auto_

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            # That of scikit-learn too, for those who catch it.
            theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
            error = NotFittedError if theirs is None else type("NotFittedError", (NotFittedError, theirs), {})
            raise error("this ControlG instance is not fitted yet: call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Only scikit-learn calls this, so it is there."""
        of: Any = importlib.import_module("sklearn.utils")
        return of.Tags(
            estimator_type=None,
            target_tags=of.TargetTags(required=False),
            transformer_tags=of.TransformerTags(preserves_dtype=["float32"]),
            input_tags=of.InputTags(two_d_array=False, sparse=True),
        )

    def _given(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        usual = ControlG().get_params()
        return {name: value for name, value in self.get_params().items() if not _same(value, usual[name])}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given().items())})"

    def _repr_html_(self) -> str:
        facts: dict[str, Any] = {}
        if self.__sklearn_is_fitted__():
            rows, columns = self.embedding_.shape
            facts["embeddings"] = f"{rows} nodes × {columns}, from {self.n_features_in_} features"
            facts["training"] = f"{self.n_steps_} steps{', stopped early' if self.partial_ else ''}"
            tasks, counts = np.unique(self.schedule_.get("task", np.array([])), return_counts=True)
            facts.update({} if len(tasks) == 0 else {"blocks": ", ".join(f"{t} {n}" for t, n in zip(tasks, counts))})
            facts.update({} if not self.notes_ else {"notes": "; ".join(self.notes_)})
        return html(type(self).__name__, self._given(), facts)


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b))


def _metadata(model: bytes) -> dict[str, str]:
    """The metadata of a model, from the header of its safetensors bytes."""
    length = int.from_bytes(model[:8], "little")
    metadata: dict[str, str] = json.loads(model[8 : 8 + length])["__metadata__"]
    return metadata
