"""PyTorch Geometric on the batches that ours was trained on: two GCNConv layers, LayerNorm, PReLU, a linear head.

NeighborLoader needs pyg-lib or torch-sparse, for which there is no wheel of this torch; so the batches are ours, as
files, and neither drawing nor cutting them is counted here. Counted are the rows of the features and the step.

Usage: pyg_side.py MAPPED BATCHES WIDTH ROUNDS
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

CLASSES = 20


def main() -> None:
    torch.set_num_threads(2)
    mapped, folder, width, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    header = json.loads((mapped / "graph.json").read_text())
    n, d = header["nodes"], header["features"]
    x = torch.from_numpy(np.fromfile(mapped / "features.f32", dtype="<f4").reshape(n, d))
    labels = torch.randint(CLASSES, (n,))
    count = len(list(folder.glob("nodes-*.npy")))
    load = lambda name: torch.from_numpy(np.load(folder / name)).long()
    batches = [(load(f"nodes-{k}.npy").flatten(), load(f"edges-{k}.npy").t().contiguous()) for k in range(count)]

    torch.manual_seed(0)
    model = torch.nn.ModuleList(
        [GCNConv(d, width), torch.nn.LayerNorm(width), torch.nn.PReLU()]
        + [GCNConv(width, width), torch.nn.LayerNorm(width), torch.nn.PReLU(), torch.nn.Linear(width, CLASSES)]
    )
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    times = []
    for _ in range(rounds):
        for nodes, edges in batches:
            start = time.perf_counter()
            h = x[nodes]
            for conv, norm, act in (model[0:3], model[3:6]):
                h = act(norm(conv(h, edges)))
            loss = F.cross_entropy(model[6](h), labels[nodes])
            adam.zero_grad()
            loss.backward()
            adam.step()
            times.append(time.perf_counter() - start)
    print(json.dumps({"step": float(np.median(times[2:])), "peak_mb": peak_mb()}))


def peak_mb() -> float:
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


main()
