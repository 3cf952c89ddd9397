"""Overhead of the bindings: ``fit`` against the command on the same run, and the time of one scheduler decision.

Run with the wheel installed: ``python overhead.py [DATA]``. It compares CPU time, which other load on the machine
disturbs least; the runs alternate, and ratios are taken pair by pair.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from controlg import ControlG, Scheduler, load_graph

DATA = sys.argv[1] if len(sys.argv) > 1 else "synthetic:nodes=2000,features=500"
EPOCHS, PAIRS = 4, 5


def by_python(graph):
    """CPU seconds of ``fit`` with a callback, and the share of its wall time outside of training."""
    lines = []
    begun, cpu = time.perf_counter(), time.process_time()
    model = ControlG(data=DATA, epochs=EPOCHS, callback=lambda *line: lines.append(line)).fit(graph)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    trained = sum(json.loads(line).get("ms", 0.0) for line in model.record_.splitlines()) / 1e3
    return cpu, 1 - trained / seconds


def by_program(*arguments):
    """CPU seconds of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "controlg", *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


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
    ours, rest = by_python(graph)
    with tempfile.TemporaryDirectory() as home:
        run = ["pretrain", DATA, "--quiet", "--out", f"{home}/run", "--set", f"train.epochs={EPOCHS}"]
        theirs = by_program(*run) - by_program("data", "info", DATA)  # minus startup and loading
    ratios.append(ours / theirs)
    print(f"fit {ours:.2f} s CPU, command {theirs:.2f} s CPU; {rest:.1%} of the wall time of fit is not training")
print(f"fit / command: {statistics.median(ratios):.3f}, median of {PAIRS}")
print(f"Scheduler.next(): {decision():.1f} µs")
with tempfile.TemporaryDirectory() as home:
    print(f"Scheduler.next() with a record: {decision(f'{home}/record.jsonl'):.1f} µs")
