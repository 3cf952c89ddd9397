"""PyTorch as a careful user would write it: CSR products with stored transposes, autograd otherwise, fused Adam.

Usage: plain_side.py WORKLOAD DIR [bf16]
"""

import sys
import warnings

import torch
import torch.nn.functional as F
from torch.amp import custom_fwd
from torch.autograd import Function

from side import ADAM, HOPS, LAMBDA, TEMPERATURE, THREADS, Arrays, autocast, serve

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")


def main() -> None:
    torch.set_num_threads(THREADS)
    serve(STEPS[sys.argv[1]](Arrays(sys.argv[2])))


def csr(offsets, columns, values, shape):
    return torch.sparse_csr_tensor(offsets, columns, values, shape, check_invariants=False)


def spmm(matrix, dense):
    """Uses the `reduce` kernel, which is faster here than the one behind `@`."""
    return torch.sparse.mm(matrix, dense, "sum")


class Product(Function):
    """A fixed sparse matrix times a dense one; the backward pass uses the stored transpose. It has no bf16 kernel."""

    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, matrix, transpose, dense):
        ctx.transpose = transpose
        return spmm(matrix, dense)

    @staticmethod
    def backward(ctx, grad):
        return None, None, spmm(ctx.transpose, grad)


def sorted_pairs(rows, columns, n):
    """Offsets and columns of a CSR pattern, and the pair that each entry comes from."""
    order = torch.argsort(rows * n + columns)
    counts = torch.bincount(rows, minlength=n)
    return F.pad(counts.cumsum(0), (1, 0)), columns[order], order


class Model:
    """The named parameters, read from the folder, and their Adam optimizer."""

    def __init__(self, arrays: Arrays, names: str):
        self.params = {name: arrays(name).requires_grad_() for name in names.split()}
        self.adam = torch.optim.Adam(self.params.values(), fused=True, **ADAM)
        offsets, columns, values = arrays.csr("adj")
        self.n = len(offsets) - 1
        self.adjacency = csr(offsets, columns, values, (self.n, self.n))

    def propagate(self, h):
        return Product.apply(self.adjacency, self.adjacency, h)

    def prelu(self, x, slope):
        return F.prelu(x, self.params[slope])

    def second_layer(self, h):
        # Multiply by the adjacency first, so that bias and product are one call.
        p = self.params
        return self.prelu(torch.addmm(p["b2"], self.propagate(h), p["w2"]), "a2")

    def encode_sparse(self, x, x_transpose):
        p = self.params
        h = self.propagate(Product.apply(x, x_transpose, p["w1"])).add_(p["b1"])
        return self.second_layer(self.prelu(h, "a1"))

    def encode_propagated(self, propagated_x):
        p = self.params
        return self.second_layer(self.prelu(torch.addmm(p["b1"], propagated_x, p["w1"]), "a1"))

    def update(self, loss):
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        return loss.detach()


def sparse_features(arrays, keep=None):
    """X and its transpose as CSR; rows outside `keep` are empty."""
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


def masked_features(arrays, model=Model):
    model = model(arrays, "w1 b1 a1 w2 b2 a2 wd bd")
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
    us, vs, y = arrays("us"), arrays("vs"), arrays("y")

    def step():
        z = model.encode_sparse(x, x_transpose)
        scores = (z[us] * z[vs]).sum(dim=-1)
        return model.update(F.binary_cross_entropy_with_logits(scores, y))

    return step


def classes(arrays, model=Model):
    model = model(arrays, "w1 b1 a1 w2 b2 a2 wc bc")
    targets = arrays("targets")
    propagated_x = spmm(model.adjacency, arrays("x"))

    def step():
        z = model.encode_propagated(propagated_x)
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


class TwoViews:
    """Two fixed views of a graph, the encoder with batch norms, and the projection head."""

    def __init__(self, arrays: Arrays):
        self.params = {name: arrays(name).requires_grad_() for name in "w1 a1 w2 a2 wp bp wq bq".split()}
        width = self.params["w1"].shape[1]
        for layer in "12":
            self.params[f"g{layer}"] = torch.ones(width, requires_grad=True)
            self.params[f"c{layer}"] = torch.zeros(width, requires_grad=True)
        self.adam = torch.optim.Adam(self.params.values(), fused=True, **ADAM)
        self.x, self.x_transpose = sparse_features(arrays)
        n = self.x.shape[0]
        self.adjacency = [csr(*arrays.csr(f"adj{view}"), (n, n)) for view in "12"]
        self.keep = [arrays(f"keep{view}").unsqueeze(1) for view in "12"]

    def norm_prelu(self, h, layer):
        p = self.params
        h = F.batch_norm(h, None, None, p[f"g{layer}"], p[f"c{layer}"], training=True, eps=1e-5)
        return self.prelu(h, p[f"a{layer}"])

    def prelu(self, x, slope):
        return F.prelu(x, slope.to(x.dtype))

    def encode(self, view):
        adjacency, p = self.adjacency[view], self.params
        h = Product.apply(self.x, self.x_transpose, p["w1"] * self.keep[view])
        h = self.norm_prelu(Product.apply(adjacency, adjacency, h), "1")
        return self.norm_prelu(Product.apply(adjacency, adjacency, h @ p["w2"]), "2")

    def project(self, z):
        p = self.params
        return torch.addmm(p["bq"], F.relu_(torch.addmm(p["bp"], z, p["wp"])), p["wq"])

    update = Model.update


def barlow(y1, y2):
    """The loss of standardized columns."""
    y1, y2 = (standardized(y) for y in (y1, y2))
    c = (y1.t() @ y2).float() / len(y1)
    diagonal = c.diagonal()
    return (1 - diagonal).square().sum() + LAMBDA * (c.square().sum() - diagonal.square().sum())


def standardized(y):
    variance, mean = torch.var_mean(y.float(), dim=0, correction=0)
    return (y - mean) / (variance.sqrt() + 1e-5)


def two_views_barlow(arrays, model=TwoViews):
    model = model(arrays)

    def step():
        with autocast():
            loss = barlow(*(model.project(model.encode(view)) for view in range(2)))
        return model.update(loss)

    return step


def two_views_info_nce(arrays, model=TwoViews):
    model, anchors = model(arrays), arrays("anchors")
    n, diagonal = model.x.shape[0], torch.arange(len(anchors))
    offsets, columns, values = arrays.csr("walk")
    rows = torch.repeat_interleave(torch.arange(n), offsets.diff())
    starts, ends, order = sorted_pairs(columns, rows, n)
    walk, walk_transpose = csr(offsets, columns, values, (n, n)), csr(starts, ends, values[order], (n, n))

    def step():
        with autocast():
            z, contexts = (model.encode(view) for view in range(2))
            sums = contexts
            for _ in range(HOPS):
                sums = contexts + Product.apply(walk, walk_transpose, sums)
            rows = (z, sums / (HOPS + 1))
            p, q = (F.normalize(model.project(z.index_select(0, anchors)), eps=1e-8) for z in rows)
            loss = F.cross_entropy((p / TEMPERATURE) @ q.t(), diagonal)
        return model.update(loss)

    return step


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
