"""PyTorch Geometric with its NeighborLoader: drawing a neighborhood with all edges among its nodes, and the step on it.

Usage: loader_side.py MAPPED WIDTH STARTS FANOUT STEPS WORKERS
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from model import CLASSES, Training, features_of, peak_mb
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader


def main() -> None:
    mapped = Path(sys.argv[1])
    width, starts, fanout, steps, workers = map(int, sys.argv[2:])
    x = features_of(mapped)
    training = Training(x.shape[1], width)
    offsets = np.fromfile(mapped / "adjacency.offsets.u64", dtype="<u8").astype(np.int64)
    columns = np.fromfile(mapped / "adjacency.columns.u32", dtype="<u4").astype(np.int64)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    edges = torch.from_numpy(np.stack([columns, rows]))
    data = Data(x=x, edge_index=edges, y=torch.randint(CLASSES, (x.shape[0],)))
    warnings.simplefilter("ignore")  # that torch-sparse will be dropped in favor of pyg-lib
    loader = NeighborLoader(
        data, num_neighbors=[fanout, fanout], batch_size=starts, shuffle=True, subgraph_type="induced", num_workers=workers
    )
    times, sizes = [], []
    last = time.perf_counter()
    for batch in loader:
        training.step(batch.x, batch.edge_index, batch.y)
        now = time.perf_counter()
        times.append(now - last)
        sizes.append((batch.num_nodes, batch.num_edges))
        last = now
        if len(times) == steps:
            break
    nodes, n_edges = np.mean(sizes, axis=0)
    print(json.dumps({"step": float(np.median(times[2:])), "peak_mb": peak_mb(), "nodes": nodes, "edges": n_edges}))


main()
