"""The six workloads: sizes, data, and a lower bound of the time of one step."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEED = 20240607
REAL, INDEX = 4, 4  # bytes of a number and of a column index


@dataclass(frozen=True)
class Size:
    """The shapes of a workload. Zero means not applicable."""

    nodes: int
    edges: int = 0  # undirected, without self-loops
    features: int = 0
    per_row: int = 0  # nonzero features per node; 0 means dense
    hidden: int = 0
    classes: int = 0
    out: int = 0  # width of the projection head
    anchors: int = 0


SIZES = {
    "w1": Size(nodes=2_708, edges=5_278, features=1_433, per_row=18, hidden=512),
    "w2": Size(nodes=18_333, edges=81_894, features=6_805, per_row=60, hidden=512),
    "w3": Size(nodes=169_343, edges=1_157_799, features=128, hidden=256, classes=20),
    "w4": Size(nodes=2_708, hidden=512),
    "w5": Size(nodes=2_708, edges=5_278, features=1_433, per_row=18, hidden=512, out=256),
    "w6": Size(nodes=2_708, edges=5_278, features=1_433, per_row=18, hidden=512, out=512, anchors=2_048),
}

VIEWS = ("w5", "w6")  # two views with batch norm; also run with bf16 factors
DROPPED = 0.3  # share of edges and of feature columns that a view lacks
HOPS = 3  # steps of the walks of w6

TITLES = {
    "w1": "masked features, GCN 512-512, MSE on half of 2,708 nodes",
    "w2": "links, GCN 512-512, BCE on 163,788 dot products",
    "w3": "classes, GCN 256-256, cross-entropy on 169,343 nodes",
    "w4": "InfoNCE over 2,708 x 512, full softmax",
    "w5": "two views, GCN 512-512 with batch norm, projector 256-256, Barlow Twins on 2,708 nodes",
    "w6": "two views, GCN 512-512 with batch norm, projector 512-512, InfoNCE over 2,048 nodes and their walks",
}


def generate(name: str, folder: Path) -> None:
    """Writes the arrays of a workload as .npy files; deterministic."""
    size = SIZES[name]
    rng = np.random.default_rng([SEED, int(name[1:])])
    save = lambda stem, array: np.save(folder / f"{stem}.npy", array)
    if name == "w4":
        for stem in ("p", "q"):
            rows = rng.standard_normal((size.nodes, size.hidden), dtype=np.float32)
            save(stem, rows / np.linalg.norm(rows, axis=1, keepdims=True))
        return

    us, vs = random_edges(rng, size.nodes, size.edges)
    if name in VIEWS:
        save_views(rng, size, us, vs, save)
        return
    for stem, array in zip(("offsets", "columns", "values"), normalized_adjacency(size.nodes, us, vs)):
        save(f"adj_{stem}", array)
    save_features(rng, size, save)
    save_encoder(rng, size, save)

    if name == "w1":
        save("masked", np.sort(rng.choice(size.nodes, size.nodes // 2, replace=False)).astype(np.int64))
        save_linear(rng, save, "d", size.hidden, size.features)
    elif name == "w2":
        false_us, false_vs = rng.integers(0, size.nodes, (2, size.edges))
        save("us", np.concatenate([us, false_us]).astype(np.int64))
        save("vs", np.concatenate([vs, false_vs]).astype(np.int64))
        save("y", np.repeat(np.array([1, 0], np.float32), size.edges))
    else:
        save("targets", rng.integers(0, size.classes, size.nodes, dtype=np.int64))
        save_linear(rng, save, "c", size.hidden, size.classes)


def random_edges(rng, nodes: int, edges: int):
    """A simple undirected graph with a mild degree skew: endpoints drawn by log-normal weights."""
    weight = np.cumsum(rng.lognormal(sigma=0.8, size=nodes))
    pairs = np.empty(0, np.int64)
    while len(pairs) < edges:
        ends = np.searchsorted(weight, rng.random((2, edges)) * weight[-1])
        low, high = ends.min(axis=0), ends.max(axis=0)
        pairs = np.unique(np.concatenate([pairs, (low * nodes + high)[low < high]]))
    pairs = np.sort(rng.choice(pairs, edges, replace=False))
    return pairs // nodes, pairs % nodes


def save_views(rng, size: Size, us, vs, save) -> None:
    """Two views of a graph, fixed for all steps, with the encoder and the projection head."""
    for view in "12":
        kept = rng.random(size.edges) >= DROPPED
        parts = normalized_adjacency(size.nodes, us[kept], vs[kept])
        for stem, array in zip(("offsets", "columns", "values"), parts):
            save(f"adj{view}_{stem}", array)
        save(f"keep{view}", (rng.random(size.features) >= DROPPED).astype(np.float32))
    # The walk D^-1 A; an isolated node stays where it is.
    isolated = np.flatnonzero(np.bincount(np.concatenate([us, vs]), minlength=size.nodes) == 0)
    offsets, columns, rows, degree = sorted_rows(size.nodes, us, vs, isolated)
    save("walk_offsets", offsets)
    save("walk_columns", columns)
    save("walk_values", (1 / degree[rows]).astype(np.float32))
    save("anchors", np.sort(rng.choice(size.nodes, size.anchors, replace=False)).astype(np.int64))
    save_features(rng, size, save)
    save_encoder(rng, size, save)
    save_linear(rng, save, "p", size.hidden, size.out)
    save_linear(rng, save, "q", size.out, size.out)


def sorted_rows(nodes: int, us, vs, loops):
    """Offsets, columns and rows of the edges in both directions and of self-loops, and the entries per row."""
    rows, columns = np.concatenate([us, vs, loops]), np.concatenate([vs, us, loops])
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    degree = np.bincount(rows, minlength=nodes)
    offsets = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    return offsets, columns.astype(np.int32), rows, degree


def normalized_adjacency(nodes: int, us, vs):
    """D^-1/2 (A + I) D^-1/2 as CSR offsets, columns and values, with sorted rows."""
    offsets, columns, rows, degree = sorted_rows(nodes, us, vs, np.arange(nodes))
    scale = 1 / np.sqrt(degree)
    return offsets, columns, (scale[rows] * scale[columns]).astype(np.float32)


def save_features(rng, size: Size, save) -> None:
    """Dense normal features, or `per_row` equal nonzero features per node that sum to one."""
    if size.per_row == 0:
        save("x", rng.standard_normal((size.nodes, size.features), dtype=np.float32))
        return
    # Weighted sampling without replacement: the smallest of exponential draws divided by their
    # weights. The weights decrease slowly, like word frequencies.
    rarity = np.sqrt(np.arange(1, size.features + 1, dtype=np.float32))
    columns = np.empty((size.nodes, size.per_row), np.int32)
    for start in range(0, size.nodes, 1024):
        rows = columns[start : start + 1024]
        keys = rng.standard_exponential((len(rows), size.features), dtype=np.float32) * rarity
        rows[:] = np.sort(np.argpartition(keys, size.per_row, axis=1)[:, : size.per_row], axis=1)
    save("x_offsets", np.arange(0, columns.size + 1, size.per_row, dtype=np.int64))
    save("x_columns", columns.ravel())
    save("x_values", np.full(columns.size, 1 / size.per_row, np.float32))
    save("x_shape", np.array([size.nodes, size.features], np.int64))


def save_encoder(rng, size: Size, save) -> None:
    for layer, width in (("1", size.features), ("2", size.hidden)):
        save_linear(rng, save, layer, width, size.hidden)
        save(f"a{layer}", np.full(1, 0.25, np.float32))


def save_linear(rng, save, suffix: str, rows: int, columns: int) -> None:
    """Xavier-uniform weights and zero biases."""
    bound = np.sqrt(6 / (rows + columns))
    save(f"w{suffix}", rng.uniform(-bound, bound, (rows, columns)).astype(np.float32))
    save(f"b{suffix}", np.zeros(columns, np.float32))


def floor(name: str) -> tuple[float, float]:
    """The dense floating-point operations and the memory traffic that a step cannot avoid.

    Dense products are those of the formulas: one forward, and one for the gradient of each factor
    that needs one. Bytes count everything outside dense products, each array once: a sparse product
    reads its matrix and its input and writes its result; Adam reads parameter, gradient and two
    moments and writes three of them. Row-wise work (bias, activation, losses) is free: it can be
    fused with a product.
    """
    s = SIZES[name]
    n, d, h = s.nodes, s.features, s.hidden
    if name == "w4":
        # Logits, dP and dQ; then P and Q are updated with their gradients.
        return 3 * product(n, h, n), 2 * 3 * REAL * n * h

    if name in VIEWS:
        return floor_of_views(name, s)
    adjacency = sparse_bytes(n, 2 * s.edges + n)
    propagation = adjacency + 2 * REAL * n * h  # one product of the adjacency with n x h
    encoder = d * h + h + 1 + h * h + h + 1
    second_layer = 3 * product(n, h, h)
    if name == "w3":
        # The adjacency times X is constant; the first layer needs no gradient of its input. The
        # adjacency is applied to n x h in the second layer, forward and backward.
        head = 3 * product(n, h, s.classes)
        flops = 2 * product(n, d, h) + second_layer + head
        return flops, 2 * propagation + adam_bytes(encoder + h * s.classes + s.classes)

    # X W1 forward and its transpose times the gradient backward; the adjacency is applied in
    # both layers, forward and backward.
    features = sparse_bytes(n, n * s.per_row) + REAL * (d * h + n * h)
    moved = 2 * features + 4 * propagation
    if name == "w1":
        masked = n // 2
        head = 3 * product(masked, h, d)
        return second_layer + head, moved + adam_bytes(encoder + h * d + d)
    # Dot products read Z and the pairs; the backward pass reads both again and writes dZ.
    pairs = 2 * s.edges
    dots = REAL * n * h + pairs * (2 * INDEX + REAL)
    return second_layer, moved + dots + (dots + REAL * n * h) + adam_bytes(encoder)


def floor_of_views(name: str, s: Size) -> tuple[float, float]:
    """`floor` for two views. Norms are row-wise work here."""
    n, d, h, rows = s.nodes, s.features, s.hidden, s.anchors or s.nodes
    adjacency = sparse_bytes(n, round(2 * s.edges * (1 - DROPPED)) + n)
    features = sparse_bytes(n, round(n * s.per_row * (1 - DROPPED))) + REAL * (d * h + n * h)
    view = 2 * features + 4 * (adjacency + 2 * REAL * n * h)
    head = 3 * (product(rows, h, s.out) + product(rows, s.out, s.out))
    if name == "w5":
        loss, walks = 3 * product(s.out, n, s.out), 0.0
    else:
        loss = 3 * product(rows, s.out, rows)
        walks = 2 * HOPS * (sparse_bytes(n, 2 * s.edges) + 2 * REAL * n * h)
    parameters = d * h + 2 * h + 1 + h * h + 2 * h + 1 + h * s.out + s.out + s.out**2 + s.out
    return 2 * (3 * product(n, h, h) + head) + loss, 2 * view + walks + adam_bytes(parameters)


def product(m: int, k: int, n: int) -> float:
    return 2.0 * m * k * n


def sparse_bytes(rows: int, entries: int) -> float:
    return 8.0 * (rows + 1) + entries * (INDEX + REAL)


def adam_bytes(parameters: int) -> float:
    return 7.0 * REAL * parameters
