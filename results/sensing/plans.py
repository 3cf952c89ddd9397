"""Compares the planned shares and the cost of sensing of runs with those of the first run.

    python3 plans.py WHOLE RUN...

Prints the mean absolute difference of the planned shares over blocks and objectives, that of their means over the run,
and the median milliseconds of a sensing and of a step.
"""

import json
import statistics
import sys
from pathlib import Path


def read(folder):
    """The planned shares of each block, and the milliseconds of the steps and of the sensings."""
    plans, steps, sensings = [], [], []
    for line in (Path(folder) / "trace.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "sense":
            sensings.append(record["ms"])
        elif record["kind"] == "block" and record.get("plan"):
            plans.append(record["plan"])
            steps.append(record["ms"] / record["steps"])
    return plans, statistics.median(steps), statistics.median(sensings)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def main():
    whole = read(sys.argv[1])[0]
    print("| run | by block | of the means | ms of a sensing | ms of a step |")
    print("|---|---:|---:|---:|---:|")
    for folder in sys.argv[1:]:
        plans, step, sensing = read(folder)
        by_block = mean(abs(x - y) for one, other in zip(whole, plans) for x, y in zip(one, other))
        of_means = mean(abs(mean(x) - mean(y)) for x, y in zip(zip(*whole), zip(*plans)))
        print(f"| {Path(folder).name} | {by_block:.3f} | {of_means:.3f} | {sensing:.0f} | {step:.0f} |")


main()
