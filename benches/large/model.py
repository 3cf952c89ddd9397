"""The network of both PyTorch Geometric comparisons: two GCNConv layers with LayerNorm and PReLU, and a linear head."""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

CLASSES = 20


class Training:
    def __init__(self, features: int, width: int):
        torch.set_num_threads(2)
        torch.manual_seed(0)
        self.model = torch.nn.ModuleList(
            [GCNConv(features, width), torch.nn.LayerNorm(width), torch.nn.PReLU()]
            + [GCNConv(width, width), torch.nn.LayerNorm(width), torch.nn.PReLU(), torch.nn.Linear(width, CLASSES)]
        )
        self.adam = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)

    def step(self, h: torch.Tensor, edges: torch.Tensor, labels: torch.Tensor) -> None:
        for conv, norm, act in (self.model[0:3], self.model[3:6]):
            h = act(norm(conv(h, edges)))
        loss = F.cross_entropy(self.model[6](h), labels)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()


def load_features(folder: Path) -> torch.Tensor:
    header = json.loads((folder / "graph.json").read_text())
    shape = header["nodes"], header["features"]
    return torch.from_numpy(np.fromfile(folder / "features.f32", dtype="<f4").reshape(shape))


def peak_mb() -> float:
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
