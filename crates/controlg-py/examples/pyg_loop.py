"""The scheduler in a PyTorch Geometric loop: three objectives, one encoder, and a record that ``controlg audit`` accepts.

Start it alone, or with ``torchrun --nproc-per-node 2 pyg_loop.py``: both ranks print the same schedule. Where PyTorch
Geometric or Cora are missing, a graph and a convolution of a few lines stand in.
"""

# %% The graph and the encoder.
import hashlib
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F

import controlg
import controlg.torch

torch.manual_seed(0)
torch.set_num_threads(1)
if "RANK" in os.environ:
    dist.init_process_group("gloo")

try:
    from torch_geometric.nn import GCNConv
except ImportError:

    class GCNConv(torch.nn.Module):
        """A graph convolution with self loops and symmetric weights."""

        def __init__(self, n_in, n_out):
            super().__init__()
            self.lin = torch.nn.Linear(n_in, n_out)

        def forward(self, x, edge_index):
            loops = torch.arange(len(x)).repeat(2, 1)
            u, v = torch.cat([edge_index, loops], dim=1)
            scale = torch.bincount(v, minlength=len(x)).float().rsqrt()
            return torch.zeros(len(x), self.lin.out_features).index_add(
                0, v, self.lin(x)[u] * (scale[u] * scale[v]).unsqueeze(1)
            )


class Encoder(torch.nn.Module):
    def __init__(self, n_in, width):
        super().__init__()
        self.first, self.second = GCNConv(n_in, width), GCNConv(width, width)

    def forward(self, x, edge_index):
        return self.second(F.relu(self.first(x, edge_index)), edge_index)


def some_graph(n=300):
    """Two groups with features of their own, and most edges within them."""
    group = torch.arange(n) % 2
    u, v = torch.randint(n, (2, 12 * n))
    keep = (group[u] == group[v]) | (torch.rand(len(u)) < 0.1)
    edges = torch.stack([u[keep], v[keep]])
    x = torch.randn(n, 32) + 0.5 * F.one_hot(group, 32)
    return x, torch.cat([edges, edges.flip(0)], dim=1)


if len(sys.argv) > 1:  # the folder that holds PyTorch Geometric's Cora
    from torch_geometric.datasets import Planetoid

    data = Planetoid(sys.argv[1], "Cora")[0]
    x, edge_index = data.x, data.edge_index
else:
    x, edge_index = some_graph()

n, width = len(x), 64
encoder = Encoder(x.shape[1], width)
decoder = torch.nn.Linear(width, x.shape[1])
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)


# %% Three objectives. Each gives its loss and the representations that it was computed from.
def link():
    z = encoder(x, edge_index)
    u, v = edge_index
    wrong = torch.randint(n, v.shape)
    there, absent = (z[u] * z[v]).sum(1), (z[u] * z[wrong]).sum(1)
    return F.softplus(-there).mean() + F.softplus(absent).mean(), z


def rebuild():
    masked = torch.rand(n) < 0.5
    z = encoder(x * ~masked.unsqueeze(1), edge_index)
    return F.mse_loss(decoder(z)[masked], x[masked]), z


def decorrelate():
    z = encoder(x, edge_index)
    centred = (z - z.mean(0)) / (z.std(0) + 1e-6)
    return ((centred.T @ centred / n - torch.eye(width)) ** 2).mean(), z


losses = {"link": link, "rebuild": rebuild, "decorrelate": decorrelate}

# %% The loop. What the scheduler changes in it: where it is made, and who is asked for the next loss.
record = os.path.join(tempfile.mkdtemp(), "record.jsonl")
scheduler = controlg.torch.Scheduler(losses, encoder.parameters(), edge_index, record=record)
tasks = []
for step in range(100):
    tasks.append(scheduler.next())
    loss, _ = losses[tasks[-1]]()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %% Every decision follows from the record.
print("schedule", hashlib.sha256(" ".join(tasks).encode()).hexdigest()[:16], flush=True)
if not dist.is_initialized() or dist.get_rank() == 0:
    summary = controlg.audit(record)
    print(f"{summary['blocks']} blocks and {summary['sensings']} sensings hold;", scheduler.shares)
if dist.is_initialized():
    dist.destroy_process_group()
