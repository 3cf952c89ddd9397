"""PyTorch at its best: CSR products, own derivatives where torch's are slow, fused Adam.

Usage: torch_side.py WORKLOAD DIR | gemm | bandwidth
"""

import json
import sys
import time
import warnings

import torch
import torch.nn.functional as F
from torch.autograd import Function

from side import ADAM, THREADS, Arrays, serve

leaky_relu_backward = torch.ops.aten.leaky_relu_backward.grad_input

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")


def main() -> None:
    torch.set_num_threads(THREADS)
    what = sys.argv[1]
    if what == "gemm":
        print(json.dumps({"gflops": gemm_rate()}))
    elif what == "bandwidth":
        print(json.dumps({"gb_s": bandwidth()}))
    else:
        serve(STEPS[what](Arrays(sys.argv[2])))


def csr(offsets, columns, values, shape):
    return torch.sparse_csr_tensor(offsets, columns, values, shape, check_invariants=False)


def spmm(matrix, dense):
    """The `reduce` kernel: faster here than the library call behind a plain `@`."""
    return torch.sparse.mm(matrix, dense, "sum")


class Product(Function):
    """A fixed sparse matrix times a dense one; the backward pass uses the stored transpose."""

    @staticmethod
    def forward(ctx, matrix, transpose, dense):
        ctx.transpose = transpose
        return spmm(matrix, dense)

    @staticmethod
    def backward(ctx, grad):
        return None, None, spmm(ctx.transpose, grad)


class Prelu(Function):
    """PReLU with one positive slope, in place both ways.

    torch's own backward writes the slope's gradient per element before it sums it. Here the
    result, whose signs are those of the input, is overwritten when nothing needs it any more:
    all that used it comes later in the forward pass, so earlier in the backward one.
    """

    @staticmethod
    def forward(ctx, x, slope):
        ctx.slope = slope.item()
        ctx.mark_dirty(x)
        y = F.leaky_relu_(x, ctx.slope)
        ctx.y = y.detach()
        return y

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        leaky_relu_backward(grad, ctx.y, ctx.slope, True, grad_input=grad)
        # Where y is negative, x = y / slope and the incoming gradient was grad / slope.
        negative = ctx.y.clamp_max_(0).view(-1)
        return grad, torch.dot(negative, grad.view(-1)).view(1) / ctx.slope**2


class PairDots(Function):
    """Dot products sampled on the pattern of the pairs, without gathering rows.

    The gradient is a product with the symmetric graph of the pairs, weighted by their gradients.
    """

    @staticmethod
    def forward(ctx, z, pairs, both, source):
        ctx.both, ctx.source = both, source
        ctx.save_for_backward(z)
        return torch.sparse.sampled_addmm(pairs, z, z.t(), beta=0.0).values()

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        offsets, columns = ctx.both
        graph = csr(offsets, columns, grad.index_select(0, ctx.source), (len(z), len(z)))
        return spmm(graph, z), None, None, None


def sorted_pairs(rows, columns, n):
    """Offsets and columns of a CSR pattern, and which pair each of its entries comes from."""
    order = torch.argsort(rows * n + columns)
    counts = torch.bincount(rows, minlength=n)
    return F.pad(counts.cumsum(0), (1, 0)), columns[order], order


class Model:
    """The parameters named in the folder, and Adam over them."""

    def __init__(self, arrays: Arrays, names: str):
        self.params = {name: arrays(name).requires_grad_() for name in names.split()}
        self.adam = torch.optim.Adam(self.params.values(), fused=True, **ADAM)
        offsets, columns, values = arrays.csr("adj")
        self.n = len(offsets) - 1
        self.adjacency = csr(offsets, columns, values, (self.n, self.n))

    def spread(self, h):
        return Product.apply(self.adjacency, self.adjacency, h)

    def second_layer(self, h):
        # The adjacency first: bias and product are then one call.
        p = self.params
        return Prelu.apply(torch.addmm(p["b2"], self.spread(h), p["w2"]), p["a2"])

    def encode_sparse(self, x, x_transpose):
        p = self.params
        h = self.spread(Product.apply(x, x_transpose, p["w1"])).add_(p["b1"])
        return self.second_layer(Prelu.apply(h, p["a1"]))

    def encode_spread(self, spread_x):
        p = self.params
        return self.second_layer(Prelu.apply(torch.addmm(p["b1"], spread_x, p["w1"]), p["a1"]))

    def update(self, loss):
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        return loss.detach()


def sparse_features(arrays, keep=None):
    """X and its transpose as CSR; rows outside of `keep` have no entries."""
    offsets, columns, values = arrays.csr("x")
    n, d = arrays("x_shape").tolist()
    rows = torch.repeat_interleave(torch.arange(n), offsets.diff())
    if keep is not None:
        kept = keep[rows]
        rows, columns, values = rows[kept], columns[kept], values[kept]
    pair = []
    for size, (r, c) in (((n, d), (rows, columns)), ((d, n), (columns, rows))):
        starts, ends, order = sorted_pairs(r, c, max(n, d))
        pair.append(csr(starts[: size[0] + 1], ends, values[order], size))
    return pair


def masked_features(arrays):
    model = Model(arrays, "w1 b1 a1 w2 b2 a2 wd bd")
    masked = arrays("masked")
    target = sparse_features(arrays)[0].to_dense()[masked]
    keep = torch.ones(model.n, dtype=torch.bool)
    keep[masked] = False
    x, x_transpose = sparse_features(arrays, keep)

    def step():
        z = model.encode_sparse(x, x_transpose).index_select(0, masked)
        predicted = torch.addmm(model.params["bd"], z, model.params["wd"])
        return model.update(F.mse_loss(predicted, target))

    return step


def links(arrays):
    model = Model(arrays, "w1 b1 a1 w2 b2 a2")
    x, x_transpose = sparse_features(arrays)
    us, vs, y, n = arrays("us"), arrays("vs"), arrays("y"), model.n
    offsets, columns, order = sorted_pairs(us, vs, n)
    pairs, y = csr(offsets, columns, torch.zeros(len(us)), (n, n)), y[order]
    # Entries of the symmetric graph take the gradient of the pair they come from, whose place in
    # `pairs` is the rank of the pair.
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order))
    offsets, columns, order = sorted_pairs(torch.cat([us, vs]), torch.cat([vs, us]), n)
    both, source = (offsets, columns), rank[order % len(us)]

    def step():
        scores = PairDots.apply(model.encode_sparse(x, x_transpose), pairs, both, source)
        return model.update(F.binary_cross_entropy_with_logits(scores, y))

    return step


def classes(arrays):
    model = Model(arrays, "w1 b1 a1 w2 b2 a2 wc bc")
    targets = arrays("targets")
    spread_x = spmm(model.adjacency, arrays("x"))

    def step():
        z = model.encode_spread(spread_x)
        return model.update(F.cross_entropy(torch.addmm(model.params["bc"], z, model.params["wc"]), targets))

    return step


def info_nce(arrays):
    p, q = (arrays(name).requires_grad_() for name in "pq")
    diagonal = torch.arange(len(p))

    def step():
        p.grad = q.grad = None
        # Scaling P instead of the logits saves two passes over them.
        loss = F.cross_entropy((p / 0.2) @ q.t(), diagonal)
        loss.backward()
        with torch.no_grad():
            p.sub_(p.grad, alpha=0.1)
            q.sub_(q.grad, alpha=0.1)
        return loss.detach()

    return step


STEPS = {"w1": masked_features, "w2": links, "w3": classes, "w4": info_nce}


def gemm_rate(size: int = 2048, repeats: int = 12) -> float:
    """10^9 operations a second of a large dense product, the best of some."""
    a, b = torch.randn(2, size, size)
    out = torch.empty(size, size)
    return 2 * size**3 / fastest(lambda: torch.mm(a, b, out=out), repeats) / 1e9


def bandwidth(numbers: int = 1 << 26, repeats: int = 12) -> float:
    """10^9 bytes a second, read and written, of a copy far larger than any cache."""
    a, b = torch.ones(2, numbers)
    return 2 * 4 * numbers / fastest(lambda: b.copy_(a), repeats) / 1e9


def fastest(work, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
