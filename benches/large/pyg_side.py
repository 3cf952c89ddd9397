"""PyTorch Geometric on the mini-batches of a ControlG run, read from files. The time includes gathering the features and the
training step, but not sampling.

Usage: pyg_side.py BINARY BATCHES WIDTH ROUNDS
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from model import CLASSES, Training, load_features, peak_mb


def main() -> None:
    binary, folder, width, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    x = load_features(binary)
    training = Training(x.shape[1], width)
    labels = torch.randint(CLASSES, (x.shape[0],))
    count = len(list(folder.glob("nodes-*.npy")))
    load = lambda name: torch.from_numpy(np.load(folder / name)).long()
    batches = [(load(f"nodes-{k}.npy").flatten(), load(f"edges-{k}.npy").t().contiguous()) for k in range(count)]
    times = []
    for _ in range(rounds):
        for nodes, edges in batches:
            start = time.perf_counter()
            training.step(x[nodes], edges, labels[nodes])
            times.append(time.perf_counter() - start)
    print(json.dumps({"step": float(np.median(times[2:])), "peak_mb": peak_mb()}))


main()
