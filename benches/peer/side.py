"""Shared by the Python sides: reads the arrays and answers `run N` on standard input."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

THREADS = 2
HOPS, TEMPERATURE, LAMBDA = 3, 0.2, 0.01  # of w5 and w6
ADAM = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8)


def autocast():
    """Dense products with bf16 factors, if the last argument says so."""
    return torch.autocast("cpu", torch.bfloat16, enabled=sys.argv[-1] == "bf16")


class Arrays:
    """The arrays of a workload, as tensors."""

    def __init__(self, folder: str):
        self.folder = Path(folder)

    def __call__(self, stem: str) -> torch.Tensor:
        return torch.from_numpy(np.load(self.folder / f"{stem}.npy"))

    def csr(self, stem: str):
        """Offsets, columns and values, with 64-bit indices as PyTorch needs them."""
        return self(f"{stem}_offsets"), self(f"{stem}_columns").long(), self(f"{stem}_values")


def serve(step) -> None:
    """Serves requests. `step` runs one step and returns the loss before the update."""
    print("ready", flush=True)
    for line in sys.stdin:
        command = line.split()
        if command[:1] == ["quit"]:
            return
        times, losses = [], []
        for _ in range(int(command[1])):
            start = time.perf_counter()
            loss = float(step())
            times.append((time.perf_counter() - start) * 1e3)
            losses.append(loss)
        print(json.dumps({"ms": times, "loss": losses, "peak_mb": peak_mb()}), flush=True)


def peak_mb() -> float:
    """Peak memory of this process."""
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
