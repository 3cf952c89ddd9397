"""Tuned PyTorch: `plain_side.py` with custom backward passes where autograd is slow.

Usage: torch_side.py WORKLOAD DIR [bf16] | gemm | bandwidth
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch.autograd import Function

import plain_side
from plain_side import csr, sorted_pairs, sparse_features, spmm
from side import THREADS, Arrays, serve

leaky_relu_backward = torch.ops.aten.leaky_relu_backward.grad_input


def main() -> None:
    torch.set_num_threads(THREADS)
    what = sys.argv[1]
    if what == "gemm":
        print(json.dumps({"gflops": gemm_rate()}))
    elif what == "bandwidth":
        print(json.dumps({"gb_s": bandwidth()}))
    else:
        serve(STEPS[what](Arrays(sys.argv[2])))


class Prelu(Function):
    """PReLU with one positive slope, in place in the forward and the backward pass.

    The backward pass of PyTorch materializes the gradient of the slope per element before summing
    it. Here the output, which has the signs of the input, is overwritten in the backward pass, when
    nothing needs it any more.
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
    """Sampled dot products (SDDMM) on the pattern of the pairs, without gathering rows.

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


class Model(plain_side.Model):
    """The model of `plain_side.py` with in-place activations."""

    def prelu(self, x, slope):
        return Prelu.apply(x, self.params[slope])


def masked_features(arrays):
    return plain_side.masked_features(arrays, Model)


def links(arrays):
    model = Model(arrays, "w1 b1 a1 w2 b2 a2")
    x, x_transpose = sparse_features(arrays)
    us, vs, y, n = arrays("us"), arrays("vs"), arrays("y"), model.n
    offsets, columns, order = sorted_pairs(us, vs, n)
    pairs, y = csr(offsets, columns, torch.zeros(len(us)), (n, n)), y[order]
    # Entries of the symmetric graph take the gradient of their pair, whose index in `pairs` is the
    # rank of the pair.
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order))
    offsets, columns, order = sorted_pairs(torch.cat([us, vs]), torch.cat([vs, us]), n)
    both, source = (offsets, columns), rank[order % len(us)]

    def step():
        scores = PairDots.apply(model.encode_sparse(x, x_transpose), pairs, both, source)
        return model.update(F.binary_cross_entropy_with_logits(scores, y))

    return step


def classes(arrays):
    return plain_side.classes(arrays, Model)


class TwoViews(plain_side.TwoViews):
    """The views of `plain_side.py` with in-place activations."""

    def prelu(self, x, slope):
        return Prelu.apply(x, slope)


def two_views_barlow(arrays):
    return plain_side.two_views_barlow(arrays, TwoViews)


def two_views_info_nce(arrays):
    return plain_side.two_views_info_nce(arrays, TwoViews)


STEPS = {
    "w1": masked_features,
    "w2": links,
    "w3": classes,
    "w4": plain_side.info_nce,
    "w5": two_views_barlow,
    "w6": two_views_info_nce,
}


def gemm_rate(size: int = 2048, repeats: int = 12) -> float:
    """GFLOP/s of a large dense product, best of several runs."""
    a, b = torch.randn(2, size, size)
    out = torch.empty(size, size)
    return 2 * size**3 / fastest(lambda: torch.mm(a, b, out=out), repeats) / 1e9


def bandwidth(numbers: int = 1 << 26, repeats: int = 12) -> float:
    """GB/s, read and written, of a copy much larger than any cache."""
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
