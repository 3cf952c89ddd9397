"""PyTorch Geometric as its users write it: GCNConv over edge_index, dense features, autograd.

Usage: pyg_side.py WORKLOAD DIR [bf16]
"""

import sys

import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv, SimpleConv

from plain_side import barlow
from side import ADAM, HOPS, TEMPERATURE, THREADS, Arrays, autocast, serve


def main() -> None:
    torch.set_num_threads(THREADS)
    serve(STEPS[sys.argv[1]](Arrays(sys.argv[2])))


class Encoder(torch.nn.Module):
    """Two GCNConv layers with PReLU. The edge weights are already normalized and include self-loops."""

    def __init__(self, arrays: Arrays):
        super().__init__()
        offsets, columns, self.edge_weight = arrays.csr("adj")
        rows = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
        self.edge_index = torch.stack([columns, rows])
        self.conv1, self.act1 = self.layer(arrays, "1")
        self.conv2, self.act2 = self.layer(arrays, "2")

    @staticmethod
    def layer(arrays, suffix):
        weight = arrays(f"w{suffix}")
        conv, act = GCNConv(*weight.shape, normalize=False), torch.nn.PReLU()
        with torch.no_grad():
            conv.lin.weight.copy_(weight.t())
            conv.bias.copy_(arrays(f"b{suffix}"))
            act.weight.copy_(arrays(f"a{suffix}"))
        return conv, act

    def forward(self, x):
        h = self.act1(self.conv1(x, self.edge_index, self.edge_weight))
        return self.act2(self.conv2(h, self.edge_index, self.edge_weight))


def linear(arrays, suffix):
    weight = arrays(f"w{suffix}")
    layer = torch.nn.Linear(*weight.shape)
    with torch.no_grad():
        layer.weight.copy_(weight.t())
        layer.bias.copy_(arrays(f"b{suffix}"))
    return layer


def dense_features(arrays):
    shape = tuple(arrays("x_shape").tolist())
    offsets, columns, values = arrays.csr("x")
    rows = torch.repeat_interleave(torch.arange(shape[0]), offsets.diff())
    x = torch.zeros(shape)
    x[rows, columns] = values
    return x


def trainer(modules, loss_of):
    adam = torch.optim.Adam(modules.parameters(), fused=True, **ADAM)

    def step():
        adam.zero_grad()
        with autocast():
            loss = loss_of()
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def masked_features(arrays):
    encoder, decoder = Encoder(arrays), linear(arrays, "d")
    x, masked = dense_features(arrays), arrays("masked")
    target, x_masked = x[masked], x.clone()
    x_masked[masked] = 0

    def loss():
        return F.mse_loss(decoder(encoder(x_masked)[masked]), target)

    return trainer(torch.nn.ModuleList([encoder, decoder]), loss)


def links(arrays):
    encoder, x = Encoder(arrays), dense_features(arrays)
    us, vs, y = arrays("us"), arrays("vs"), arrays("y")

    def loss():
        z = encoder(x)
        return F.binary_cross_entropy_with_logits((z[us] * z[vs]).sum(dim=-1), y)

    return trainer(encoder, loss)


def classes(arrays):
    encoder, classifier = Encoder(arrays), linear(arrays, "c")
    x, targets = arrays("x"), arrays("targets")
    return trainer(
        torch.nn.ModuleList([encoder, classifier]), lambda: F.cross_entropy(classifier(encoder(x)), targets)
    )


def info_nce(arrays):
    """The loss as it is usually written; there is no graph."""
    p, q = (torch.nn.Parameter(arrays(name)) for name in "pq")
    diagonal = torch.arange(len(p))
    sgd = torch.optim.SGD([p, q], lr=0.1)

    def step():
        sgd.zero_grad()
        loss = F.cross_entropy(p @ q.t() / 0.2, diagonal)
        loss.backward()
        sgd.step()
        return loss.detach()

    return step


class TwoViews(torch.nn.Module):
    """Two fixed views, two GCNConv layers with batch norm and PReLU, and the projection head."""

    def __init__(self, arrays: Arrays):
        super().__init__()
        self.edges = []
        for view in "12":
            offsets, columns, weight = arrays.csr(f"adj{view}")
            rows = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
            self.edges.append((torch.stack([columns, rows]), weight))
        x = dense_features(arrays)
        self.x = [x * arrays(f"keep{view}") for view in "12"]
        self.layers = torch.nn.ModuleList(self.layer(arrays, suffix) for suffix in "12")
        self.head = torch.nn.Sequential(linear(arrays, "p"), torch.nn.ReLU(), linear(arrays, "q"))

    @staticmethod
    def layer(arrays, suffix):
        weight = arrays(f"w{suffix}")
        conv = GCNConv(*weight.shape, normalize=False, bias=False)
        with torch.no_grad():
            conv.lin.weight.copy_(weight.t())
        return torch.nn.ModuleList([conv, torch.nn.BatchNorm1d(weight.shape[1]), torch.nn.PReLU()])

    def forward(self, view):
        h, (edge_index, weight) = self.x[view], self.edges[view]
        for conv, norm, act in self.layers:
            h = act(norm(conv(h, edge_index, weight)))
        return h


def two_views_barlow(arrays):
    model = TwoViews(arrays)
    return trainer(model, lambda: barlow(*(model.head(model(view)) for view in range(2))))


def two_views_info_nce(arrays):
    model, anchors = TwoViews(arrays), arrays("anchors")
    offsets, columns, _ = arrays.csr("walk")
    rows = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
    edge_index, walk = torch.stack([columns, rows]), SimpleConv(aggr="mean")
    diagonal = torch.arange(len(anchors))

    def loss():
        z, contexts = (model(view) for view in range(2))
        sums = contexts
        for _ in range(HOPS):
            sums = contexts + walk(sums, edge_index)
        p, q = (F.normalize(model.head(rows[anchors]), eps=1e-8) for rows in (z, sums / (HOPS + 1)))
        return F.cross_entropy(p @ q.t() / TEMPERATURE, diagonal)

    return trainer(model, loss)


STEPS = {
    "w1": masked_features,
    "w2": links,
    "w3": classes,
    "w4": info_nce,
    "w5": two_views_barlow,
    "w6": two_views_info_nce,
}


if __name__ == "__main__":
    main()
