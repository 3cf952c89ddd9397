#!/usr/bin/env python3
"""Measures what the runs of a reproduction cost and prints costs.json.

    python3 measure-costs.py path/to/controlg > costs.json      # data from CONTROLG_DATA, about an hour

For each data set, kind of training edges and encoder: milliseconds of a step on each objective and of a sensing, seconds
around the steps (reading, preparing, embedding) and of an evaluation, and peak memory. All times are CPU times of one
thread, so other work on the machine counts little.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
DATA = sys.argv[2].split(",") if len(sys.argv) > 2 else "cora citeseer chameleon squirrel actor pubmed coauthor-cs".split()
GAT = ["cora", "citeseer", "chameleon"]
BASELINES = ["dgi", "grace", "mvgrl", "bgrl"]


def call(*arguments):
    """The JSON that the program prints, its CPU seconds, and its seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run([PROGRAM, *arguments, "--json", "--quiet", "--threads", "1"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        print(" ".join(arguments), done.stderr.strip(), file=sys.stderr)
        return None
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), cpu, time.time() - start


def run(folder, data, method, tasks, settings):
    """Costs of one run: steps by objective, sensing, overhead, evaluation, memory."""
    out = os.path.join(folder, f"{data}-{method}-{tasks}")
    arguments = ["pretrain", data, "--method", method, "--out", out, "--force"]
    arguments += ["--task", "lp"] if tasks == "lp" else []
    for setting in settings:
        arguments += ["--set", setting]
    pretrained = call(*arguments)
    if pretrained is None:
        return {}
    outcome, cpu, wall = pretrained
    lines = {}
    with open(os.path.join(out, "trace.jsonl")) as record:
        for line in map(json.loads, record):
            if line["kind"] != "run":
                name = line["task"] if line["kind"] == "block" else line["kind"]
                lines.setdefault(name, []).append(line["ms"] / line.get("steps", 1))
    # On a busy machine a step takes longer than its CPU time: the medians give the proportions, the CPU time the scale.
    medians = {name: sorted(each)[len(each) // 2] for name, each in lines.items()}
    around = max(wall - sum(map(sum, lines.values())) / 1e3, 0.0)
    scale = cpu / (around + sum(medians[name] * len(each) for name, each in lines.items()) / 1e3)
    found = {name if name != "sense" else "sensing": round(scale * ms, 2) for name, ms in medians.items() if name != "warmup"}
    found["overhead"] = round(scale * around, 2)
    found["peak_mb"] = round(outcome["peak_bytes"] / 1e6)
    evaluated = call("evaluate", out, "--tasks", tasks, "--no-floors")
    if evaluated is not None:
        found["evaluation"] = round(evaluated[1], 2)
    return found


def costs(folder, data, tasks, settings):
    short = ["train.epochs=1", "train.block=1", *settings]
    loop = ["train.batches_per_epoch=30", "train.warmup_rounds=1", "sense.period=6", "plan.floor=0.15"]
    found = run(folder, data, "controlg", tasks, [*short, *loop])
    for method in BASELINES if not settings else []:
        own = run(folder, data, method, tasks, [*short, "train.batches_per_epoch=4", "train.warmup_steps=0"])
        if own:
            found[method] = own[method]
            found["peak_mb"] = max(found["peak_mb"], own["peak_mb"])
    return found


def main():
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for data in DATA:
            table[data] = {"all": costs(folder, data, "nc,cluster", []), "train": costs(folder, data, "lp", [])}
            if data in GAT:
                table[data]["gat"] = costs(folder, data, "nc,cluster", ["encoder.kind=gat"])
            print(data, json.dumps(table[data]), file=sys.stderr)
    lines = []
    for data, kinds in table.items():
        kinds = ",\n".join(f'  "{kind}": {json.dumps(costs)}' for kind, costs in kinds.items())
        lines.append(f' "{data}": {{\n{kinds}\n }}')
    print("{\n" + ",\n".join(lines) + "\n}")


main()
