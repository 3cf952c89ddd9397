"""PyTorch Geometric with NeighborLoader: time to sample an induced subgraph and train one step on it.

Usage: loader_side.py BINARY WIDTH STARTS FANOUT STEPS WORKERS
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from model import CLASSES, Training, load_features, peak_mb
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader


def main() -> None:
    folder = Path(sys.argv[1])
    width, starts, fanout, steps, workers = map(int, sys.argv[2:])
    x = load_features(folder)
    training = Training(x.shape[1], width)
    offsets = np.fromfile(folder / "adjacency.offsets.u64", dtype="<u8").astype(np.int64)
    columns = np.fromfile(folder / "adjacency.columns.u32", dtype="<u4").astype(np.int64)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    edges = torch.from_numpy(np.stack([columns, rows]))
    data = Data(x=x, edge_index=edges, y=torch.randint(CLASSES, (x.shape[0],)))
    warnings.simplefilter("ignore")  # torch-sparse is deprecated in favor of pyg-lib
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
