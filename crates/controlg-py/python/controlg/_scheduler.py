"""The feedback loop alone, for your own training loop."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._arrays import numpy_of
from ._settings import to_json

Numbers = Union[Sequence[float], Mapping[str, float], Any]


class Scheduler:
    """Decides which of several objectives to train next, from losses and gradient geometry alone.

    ::

        scheduler = Scheduler(["contrast", "rebuild"], record="record.jsonl")
        for _ in range(blocks):
            if scheduler.due():
                scheduler.sense(losses, gradients=gradients, rayleigh=quotients)
            task = scheduler.next()
            ...  # train this task

    tasks : the names of the objectives.
    record : path of the record, which ``controlg audit`` accepts; a new file, or the one that belongs to ``state``.
    state : a ``state_dict`` to resume from, with its settings.
    random_state : the seed.
    blocks_per_epoch : number of decisions after which counts and integrals are reset.
    settings : settings of ``sense``, ``plan`` and ``control``, with two underscores for a dot: ``sense__period=20``.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        record: Any = None,
        state: Optional[Mapping[str, Any]] = None,
        random_state: int = 0,
        blocks_per_epoch: int = 50,
        **settings: Any,
    ) -> None:
        self._record = None if record is None else os.fspath(record)
        self._tasks = list(tasks)
        if isinstance(tasks, str) or not all(isinstance(task, str) for task in self._tasks):
            raise ValueError(f"tasks: found {tasks!r}, expected a list of names")
        if state is not None:
            Scheduler.load_state_dict(self, state)
            return
        # 0 is the default: then ``seed`` among the settings, if any, wins.
        given = to_json({"random_state": random_state or None, "blocks_per_epoch": blocks_per_epoch, **settings})
        self._loop = _core.RecordedScheduler(self._tasks, given, self._record)

    @property
    def tasks(self) -> list[str]:
        """The names of the objectives."""
        return list(self._tasks)

    @property
    def shares(self) -> dict[str, float]:
        """The planned share of each task."""
        return dict(zip(self._tasks, self._loop.shares))

    def warm_up(self, losses: Numbers) -> None:
        """Records the losses before training and after each warm-up round (one or a few steps per objective).

        The first round sets the scale of each loss, all rounds together the reference points. Without warm-up, the first
        ``sense`` call sets both.
        """
        self._loop.warm_up(self._each(losses))

    def due(self) -> bool:
        """Whether ``sense`` must be called before the next decision."""
        return self._loop.due()

    def sense(
        self, losses: Numbers, gradients: Any = None, *, gram: Any = None, rayleigh: Optional[Numbers] = None
    ) -> dict[str, Any]:
        """Updates the plan from new measurements; returns the derived quantities.

        losses : one per objective, in order or by name.
        gradients : one flat gradient per objective with respect to the shared parameters; or
        gram : the K × K inner products of these gradients.
        rayleigh : the Rayleigh quotient, 0 to 2, of each objective's gradient with respect to the node representations.
            Without it only conflict and progress tell the objectives apart.
        """
        if (gradients is None) == (gram is None):
            raise ValueError("sense: found both or none of gradients and gram, expected one of them")
        if gradients is not None:
            rows = [numpy_of(row).astype(np.float64).ravel() for row in self._values(gradients)]
            sizes = sorted({row.size for row in rows})
            if len(sizes) > 1:
                raise ValueError(f"gradients: found {sizes[0]} and {sizes[-1]} elements, expected as many for each task")
            products = np.array(rows) @ np.array(rows).T
        else:
            products = numpy_of(gram).astype(np.float64)
        if products.ndim != 2:
            raise ValueError(f"gram: found {products.ndim} dimensions, expected two dimensions")
        quotients = [0.0] * len(self._tasks) if rayleigh is None else self._each(rayleigh)
        derived: dict[str, Any] = json.loads(self._loop.sense(self._each(losses), products.tolist(), quotients))
        return derived

    def next(self, steps: int = 1) -> str:
        """The objective to train in the next block of ``steps`` steps."""
        if steps < 1:
            raise ValueError(f"steps: found {steps}, expected at least 1")
        return self._tasks[self._loop.next(steps)]

    def state_dict(self) -> dict[str, Any]:
        """The complete state. The record is flushed to disk before this returns."""
        return {"saved": self._loop.save()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores a ``state_dict``. Record lines written after it are removed."""
        if "saved" not in state:
            raise ValueError(f"scheduler state: found the keys {list(state)}, expected a state_dict of Scheduler")
        loop = _core.RecordedScheduler.restore(state["saved"], self._record)
        if loop.tasks != self._tasks:
            raise ValueError(f"scheduler state: found the tasks {loop.tasks}, expected {self._tasks}")
        self._loop = loop

    def _values(self, given: Any) -> list[Any]:
        if isinstance(given, Mapping):
            missing = [task for task in self._tasks if task not in given]
            if missing:
                raise ValueError(f"sense: found nothing for task '{missing[0]}', expected one entry for each task")
            return [given[task] for task in self._tasks]
        try:
            return list(given)
        except TypeError:
            raise ValueError(f"sense: found {given!r}, expected one entry for each task") from None

    def _each(self, given: Numbers) -> list[float]:
        try:
            return [float(value) for value in self._values(given)]
        except TypeError as error:
            raise ValueError(f"sense: {error}, expected one number for each task") from None

    def __repr__(self) -> str:
        shares = ", ".join(f"{task} {share:.2f}" for task, share in self.shares.items())
        return f"<{type(self).__name__}: {shares}>"


def audit(run: Any) -> dict[str, Any]:
    """Re-derives every decision of a run folder or record. Raises ``ValueError`` at the first that differs."""
    summary: dict[str, Any] = json.loads(_core.audit(os.fspath(run)))
    return summary
