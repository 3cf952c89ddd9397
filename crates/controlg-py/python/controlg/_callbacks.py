"""Callbacks of a training: early stopping and the progress bar."""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from typing import Any, Callable, Optional, Sequence

from ._parameters import Callback


class StopTraining(Exception):
    """Raised in a callback to end the training after the current block and keep its model."""


class EarlyStopping:
    """A callback that ends the training when the losses stop improving.

    It watches the loss of every objective on the fixed sample of the sensings, or the mean loss of the blocks of an
    epoch for a method without sensings. Training ends when, for ``patience`` of these measurements in a row, no loss was
    lower than its best value so far by ``min_delta``, relative to that value.

    Lower pretraining losses need not give better embeddings, so this saves time rather than improves them. To stop by a
    score of your own, write a callback that returns ``True``.
    """

    def __init__(self, patience: int = 5, min_delta: float = 0.01) -> None:
        if isinstance(patience, bool) or int(patience) != patience or patience < 1:
            raise ValueError(f"patience: found {patience!r}, expected a whole number from 1")
        if not 0 <= min_delta < 1:
            raise ValueError(f"min_delta: found {min_delta!r}, expected at least 0 and below 1")
        self.patience = patience
        self.min_delta = min_delta
        self._start()

    def _start(self) -> None:
        self._best: list[float] = []
        self._waited = 0
        self._senses = False
        self._epoch: list[list[float]] = []

    def __call__(self, steps_done: int, total_steps: int, line: dict[str, Any]) -> bool:
        if line["kind"] not in ("sense", "block"):
            return False
        first = (line["epoch"], line["block"]) == (1, 1)
        if line["kind"] == "sense":
            if first:
                self._start()  # another training
            self._senses = True
            return self._measured(line["loss"])
        if self._senses:
            return False
        if first:
            self._start()
        elif line["block"] == 1:
            losses = [sum(column) / len(column) for column in zip(*self._epoch)]
            self._epoch = [self._of_block(line)]
            return self._measured(losses)
        self._epoch.append(self._of_block(line))
        return False

    def _of_block(self, line: dict[str, Any]) -> list[float]:
        losses: list[float] = line.get("losses") or [line["loss"]]
        return losses

    def _measured(self, losses: list[float]) -> bool:
        if not self._best:
            self._best = list(losses)
            return False
        better = [loss < best - self.min_delta * abs(best) for loss, best in zip(losses, self._best)]
        self._best = [min(loss, best) for loss, best in zip(losses, self._best)]
        self._waited = 0 if any(better) else self._waited + 1
        return self._waited >= self.patience


def watch(callbacks: Sequence[Callback], bar: Optional[ProgressBar]) -> Optional[Callable[[int, int, str], bool]]:
    """All callbacks as the one that the library calls; ``None`` if there are none."""
    if not callbacks and bar is None:
        return None

    def call(done: int, steps: int, text: str) -> bool:
        line = json.loads(text)
        if bar is not None:
            bar.show(done, steps, line)
        stop = False
        for callback in callbacks:
            try:
                stop |= callback(done, steps, line) is True
            except StopTraining:
                stop = True
        return stop

    return call


class ProgressBar:
    """Steps done, objective and loss: by tqdm if it is installed, which also draws in notebooks; else as lines."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._shown = 0
        self._when = 0.0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a notebook without widgets gets the bar as text
                self._tqdm: Any = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            self._tqdm = None

    def show(self, done: int, steps: int, line: dict[str, Any]) -> None:
        """Draws a line of the record, at most a few times a second."""
        now = time.monotonic()
        if done < steps and now - self._when < 0.2:
            return
        self._when = now
        words = f"{line.get('task') or line['kind']}" + (f" {line['loss']:.3f}" if line["kind"] == "block" else "")
        if self._tqdm is not None:
            if self._bar is None:
                self._bar = self._tqdm(total=steps, unit="step", desc="pretraining")
            self._bar.set_postfix_str(words, refresh=False)
            self._bar.update(done - self._bar.n)
        elif sys.stderr.isatty():
            sys.stderr.write(f"\rpretraining: {done} of {steps} steps, {words}\x1b[K")
            sys.stderr.flush()
            self._shown = done
        elif done == steps or 10 * done // steps > 10 * self._shown // steps:
            print(f"pretraining: {done} of {steps} steps, {words}", file=sys.stderr)
            self._shown = done

    def close(self) -> None:
        """Ends the line."""
        if self._bar is not None:
            self._bar.close()
        elif self._shown and sys.stderr.isatty():
            print(file=sys.stderr)
