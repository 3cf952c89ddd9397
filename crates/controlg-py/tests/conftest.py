"""Shared fixtures: a small graph, small settings, the installed command."""

import subprocess
import sys

import numpy as np
import pytest

#: A graph for the package and the command, and settings for a short training.
DATA = "synthetic:nodes=120,features=40"
SMALL = {"epochs": 1, "width": 8, "train__batches_per_epoch": 30, "objective__p_par__parts": 4}
FLAGS = ["train.epochs=1", "encoder.width=8", "train.batches_per_epoch=30", "objective.p_par.parts=4"]


def program(*arguments, cwd=None):
    """Runs the ``controlg`` command."""
    command = [sys.executable, "-m", "controlg", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def flags():
    return [word for flag in FLAGS for word in ("--set", flag)]


@pytest.fixture
def arrays():
    """A ring with chords and random features."""
    n = 60
    ring = [(u, (u + 1) % n) for u in range(n)]
    chords = [(u, (7 * u + 3) % n) for u in range(n) if u != (7 * u + 3) % n]
    features = np.random.default_rng(1).random((n, 12), dtype=np.float32)
    return np.array(ring + chords, dtype=np.int64), features
