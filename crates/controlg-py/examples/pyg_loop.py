"""The scheduler in a PyTorch Geometric loop: three objectives, one encoder, an auditable record.

``python pyg_loop.py cora`` trains on Cora. With ``torchrun --nproc-per-node 2 pyg_loop.py cora`` both ranks print the same
schedule.
"""

# %% The graph and the encoder.
import hashlib
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import GCNConv

import controlg
import controlg.torch

torch.manual_seed(0)
torch.set_num_threads(1)
if "RANK" in os.environ:
    dist.init_process_group("gloo")

graph = controlg.load_graph(sys.argv[1] if len(sys.argv) > 1 else "synthetic:nodes=300,features=32")
x, edge_index = torch.from_numpy(graph.x), torch.from_numpy(graph.edge_index)
n, width = len(x), 64


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = GCNConv(x.shape[1], width), GCNConv(width, width)

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.second(F.relu(self.first(x, edge_index)), edge_index)
        return z


encoder = Encoder()
decoder = torch.nn.Linear(width, x.shape[1])
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)


# %% Three objectives. Each returns its loss and the node representations.
def link() -> tuple[Tensor, Tensor]:
    z = encoder(x)
    u, v = edge_index
    negative = torch.randint(n, v.shape)
    positive_score, negative_score = (z[u] * z[v]).sum(1), (z[u] * z[negative]).sum(1)
    return F.softplus(-positive_score).mean() + F.softplus(negative_score).mean(), z


def reconstruct() -> tuple[Tensor, Tensor]:
    masked = torch.rand(n) < 0.5
    z = encoder(x * ~masked.unsqueeze(1))
    return F.mse_loss(decoder(z)[masked], x[masked]), z


def decorrelate() -> tuple[Tensor, Tensor]:
    z = encoder(x)
    centered = (z - z.mean(0)) / (z.std(0) + 1e-6)
    return ((centered.T @ centered / n - torch.eye(width)) ** 2).mean(), z


losses = {"link": link, "reconstruct": reconstruct, "decorrelate": decorrelate}

# %% The training loop: the scheduler names the objective of each step.
scheduler = controlg.torch.Scheduler(losses, encoder.parameters(), edge_index, record="record.jsonl")
tasks = []
for step in range(100):
    tasks.append(scheduler.next())
    loss, _ = losses[tasks[-1]]()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %% Audit: re-derive every decision from the record.
print("schedule", hashlib.sha256(" ".join(tasks).encode()).hexdigest()[:16], flush=True)
if not dist.is_initialized() or dist.get_rank() == 0:
    summary = controlg.audit("record.jsonl")
    print(f"{summary['blocks']} blocks and {summary['sensings']} sensings verified;", scheduler.shares)
if dist.is_initialized():
    dist.destroy_process_group()
