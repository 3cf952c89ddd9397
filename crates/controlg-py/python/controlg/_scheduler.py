"""The feedback loop alone, for a training loop of your own."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._graph import numpy_of
from ._settings import to_json

Numbers = Union[Sequence[float], Mapping[str, float], Any]


class Scheduler:
    """Decides which of several tasks learns next, from losses and gradient geometry alone.

    ::

        scheduler = Scheduler(["contrast", "rebuild"], record="record.jsonl")
        for _ in range(blocks):
            if scheduler.due():
                scheduler.sense(losses, gradients=gradients, rayleigh=quotients)
            task = scheduler.next()
            ...  # train this task

    tasks : their names.
    record : a file to keep the record in, which ``controlg audit`` accepts; it must be new, or that of ``state``.
    state : what ``state_dict`` gave, to go on from; the settings are those of then.
    random_state : where the draws start.
    blocks_per_epoch : decisions after which counts and integrals start anew.
    settings : the keys of ``sense``, ``plan`` and ``control``, two underscores for a dot: ``sense__period=20``.
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
        # The seed 0 may be what nobody gave: ``seed`` among the settings then counts.
        given = to_json({"random_state": random_state or None, "blocks_per_epoch": blocks_per_epoch, **settings})
        self._loop = _core.OwnLoop(self._tasks, given, self._record)

    @property
    def tasks(self) -> list[str]:
        """The tasks' names."""
        return list(self._tasks)

    @property
    def shares(self) -> dict[str, float]:
        """The planned share of each task."""
        return dict(zip(self._tasks, self._loop.shares))

    def warm_up(self, losses: Numbers) -> None:
        """Takes the losses before training, and after each round of a few steps on every task.

        The first round sets each loss's scale, all together the reference points. Without any, the first reading does.
        """
        self._loop.warm_up(self._each(losses))

    def due(self) -> bool:
        """Whether the next decision wants a reading first."""
        return self._loop.due()

    def sense(
        self, losses: Numbers, gradients: Any = None, *, gram: Any = None, rayleigh: Optional[Numbers] = None
    ) -> dict[str, Any]:
        """Takes a reading and plans anew; gives what was made of it.

        losses : one a task, in the order of the tasks or by their names.
        gradients : one flat gradient a task, at the shared parameters; or
        gram : their K × K inner products.
        rayleigh : one quotient of 0 to 2 a task, of its gradient at the representations: how rough it is on the graph.
            Without it tasks are told apart by conflict and progress alone.
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
        return json.loads(self._loop.sense(self._each(losses), products.tolist(), quotients))

    def next(self, steps: int = 1) -> str:
        """The task of the next block, which will have this many steps."""
        if steps < 1:
            raise ValueError(f"steps: found {steps}, expected at least 1")
        return self._tasks[self._loop.next(steps)]

    def state_dict(self) -> dict[str, Any]:
        """Everything it remembers. The record up to here is on the disk when this returns."""
        return {"saved": self._loop.save()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over what ``state_dict`` gave; what the record got since is removed from it."""
        if "saved" not in state:
            raise ValueError(f"scheduler state: found the keys {list(state)}, expected what state_dict gave")
        loop = _core.OwnLoop.restore(state["saved"], self._record)
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
    """Derives every decision of a run's folder or of a record again; the first that differs is a ``ValueError``."""
    return json.loads(_core.audit(os.fspath(run)))
