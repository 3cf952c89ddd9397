"""What the bindings cost: ``fit`` beside the program on the same run, and one decision of the scheduler.

Run it with the wheel installed: ``python overhead.py [DATA]``. Runs alternate, and ratios are taken pair by pair, so that
a machine which is busy for a while is busy for both.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from controlg import ControlG, Scheduler, load_graph

DATA = sys.argv[1] if len(sys.argv) > 1 else "synthetic:nodes=2000,features=500"
EPOCHS, PAIRS = 10, 5


def trained_ms(record):
    """Milliseconds of the lines of a record: the training itself."""
    return sum(json.loads(line).get("ms", 0.0) for line in record.splitlines())


def by_python(graph):
    """Seconds of ``fit``, callback included, and the share of them that is no training."""
    lines = []
    begun = time.perf_counter()
    model = ControlG(data=DATA, epochs=EPOCHS, callback=lambda *line: lines.append(line)).fit(graph)
    seconds = time.perf_counter() - begun
    return seconds, 1 - trained_ms(model.record_) / 1e3 / seconds


def by_program():
    """The same of ``controlg pretrain`` as it tells itself, without starting and reading."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "controlg", "pretrain", DATA, "--quiet", "--json", "--out", f"{home}/run"]
        said = subprocess.run([*command, "--set", f"train.epochs={EPOCHS}"], capture_output=True, text=True, check=True)
        record = (Path(home) / "run" / "trace.jsonl").read_text()
        seconds = json.loads(said.stdout)["seconds"]
        return seconds, 1 - trained_ms(record) / 1e3 / seconds


def decision(record=None):
    """Microseconds of ``Scheduler.next``, the best of several rounds."""
    rounds = []
    scheduler = Scheduler(list("abcde"), sense__period=1_000_000, blocks_per_epoch=1_000_000, record=record)
    scheduler.sense([1] * 5, gram=np.eye(5), rayleigh=[1] * 5)
    for _ in range(20):
        begun = time.perf_counter()
        for _ in range(500):
            scheduler.next()
        rounds.append((time.perf_counter() - begun) / 500)
    return min(rounds) * 1e6


graph = load_graph(DATA)
print(graph)
ratios = []
for pair in range(PAIRS):
    (ours, our_rest), (theirs, their_rest) = by_python(graph), by_program()
    ratios.append(ours / theirs)
    print(f"fit {ours:.2f} s, {our_rest:.1%} of it no training; program {theirs:.2f} s, {their_rest:.1%}")
print(f"fit takes {statistics.median(ratios):.3f} of the program's time, median of {PAIRS}")
print(f"Scheduler.next(): {decision():.1f} µs")
with tempfile.TemporaryDirectory() as home:
    print(f"Scheduler.next() with a record: {decision(f'{home}/record.jsonl'):.1f} µs")
