"""What the bindings cost: ``fit`` beside the program on the same run, and one decision of the scheduler.

Run it with the wheel installed: ``python overhead.py [DATA]``. What is compared is time of the CPU, which other work on
the machine disturbs least; runs alternate, and ratios are taken pair by pair.
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
    """CPU seconds of ``fit``, callback included, and the share of its time that is no training."""
    lines = []
    begun, cpu = time.perf_counter(), time.process_time()
    model = ControlG(data=DATA, epochs=EPOCHS, callback=lambda *line: lines.append(line)).fit(graph)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    trained = sum(json.loads(line).get("ms", 0.0) for line in model.record_.splitlines()) / 1e3
    return cpu, 1 - trained / seconds


def by_program(*arguments):
    """CPU seconds of the program."""
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
        theirs = by_program(*run) - by_program("data", "info", DATA)  # without starting and reading
    ratios.append(ours / theirs)
    print(f"fit {ours:.2f} s of the CPU, program {theirs:.2f} s; {rest:.1%} of the time of fit is no training")
print(f"fit takes {statistics.median(ratios):.3f} of the program, median of {PAIRS}")
print(f"Scheduler.next(): {decision():.1f} µs")
with tempfile.TemporaryDirectory() as home:
    print(f"Scheduler.next() with a record: {decision(f'{home}/record.jsonl'):.1f} µs")
