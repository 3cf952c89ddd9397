"""The scheduler in PyTorch; skipped if torch is not installed."""

import random

import numpy as np
import pytest
from conftest import SMALL

torch = pytest.importorskip("torch", reason="torch is not installed: controlg.torch is not tested")

import controlg  # noqa: E402
import controlg.torch as cg  # noqa: E402


def test_the_rayleigh_quotient_equals_that_of_the_dense_laplacian():
    torch.manual_seed(0)
    n = 30
    edges = torch.randint(n - 1, (2, 80))  # the last node is isolated
    adjacency = torch.zeros(n, n, dtype=torch.float64)
    adjacency[edges[0], edges[1]] = adjacency[edges[1], edges[0]] = 1
    adjacency.fill_diagonal_(0)
    degree = adjacency.sum(1)
    scale = degree.clamp(min=1).rsqrt()
    laplacian = torch.diag((degree > 0).double()) - scale[:, None] * adjacency * scale
    h = torch.randn(n, 4)
    expected = torch.trace(h.double().T @ laplacian @ h.double()) / h.double().square().sum()
    assert abs(cg.Rayleigh(edges)(h) - expected.item()) < 1e-9
    assert abs(cg.Rayleigh(torch.cat([edges, edges.flip(0)], 1))(h) - expected.item()) < 1e-9


def test_measuring_leaves_gradients_unchanged(tmp_path):
    torch.manual_seed(0)
    x, edges = torch.randn(20, 5), torch.randint(20, (2, 60))
    encoder = torch.nn.Linear(5, 3)
    z = encoder(x)
    shared = [lambda: z.square().mean(), lambda: z.sum() * 0.1]
    losses, products, quotients = cg.measure(shared, list(encoder.parameters()), cg.Rayleigh(edges), z)
    assert encoder.weight.grad is None
    rows = []
    for closure in shared:
        encoder.zero_grad()
        closure().backward(retain_graph=True)
        rows.append(torch.cat([p.grad.reshape(-1) for p in encoder.parameters()]).double().numpy())
    assert np.allclose(products, np.array(rows) @ np.array(rows).T, rtol=1e-5)
    assert np.allclose(losses, [float(closure().detach()) for closure in shared])
    assert all(0 <= q <= 2 for q in quotients)

    def closure(power):
        def give():
            own = encoder(x)
            return own.abs().pow(power).mean(), own

        return give

    record = tmp_path / "record.jsonl"
    scheduler = cg.Scheduler({"a": closure(1), "b": closure(2)}, encoder.parameters(), edges, record=record)
    assert {scheduler.next() for _ in range(30)} == {"a", "b"}
    assert controlg.audit(record)["sensings"] == 3


def test_measuring_restores_the_generator_and_uses_one_sample():
    x, edges = torch.randn(20, 5), torch.randint(20, (2, 60))
    encoder = torch.nn.Linear(5, 3)

    def of_torch():
        z = encoder(x + torch.randn_like(x))
        return z.square().mean(), z

    def of_python():
        z = encoder(x * random.random())
        return z.square().mean(), z

    def of_numpy():
        z = encoder(x * np.random.rand())
        return z.square().mean(), z

    def seeded():
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)

    def draws():
        return torch.rand(3).tolist(), random.random(), np.random.rand()

    closures = {"torch": of_torch, "python": of_python, "numpy": of_numpy}
    scheduler = cg.Scheduler(closures, encoder.parameters(), edges, random_state=2**40)
    seeded()
    expected = draws()
    seeded()
    readings = []
    for _ in range(2):
        readings.append(scheduler._measured())
    scheduler.next()
    assert draws() == expected and readings[0] == readings[1]


def test_measuring_restores_the_generators_of_all_devices(monkeypatch):
    kept, fork = [], torch.random.fork_rng

    def watched(devices):
        kept.extend(devices)
        return fork([])

    monkeypatch.setattr(torch.random, "fork_rng", watched)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with cg._frozen_streams(0):
        assert kept == [0, 1]


def test_measuring_restores_running_statistics():
    x, edges = torch.randn(20, 5), torch.randint(20, (2, 60))
    encoder = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.BatchNorm1d(3))
    head = torch.nn.BatchNorm1d(3)

    def state():
        return [buffer.clone() for layer in (encoder, head) for buffer in layer.buffers()]

    def same(one, other):
        return all(torch.equal(a, b) for a, b in zip(one, other))

    def fails():
        encoder(x)
        raise KeyError

    parameters = list(encoder.parameters())
    z = encoder(x)
    before = state()
    both = {"a": lambda: head(z).pow(4).mean(), "b": lambda: encoder(x).square().mean()}
    cg.measure(list(both.values()), parameters, cg.Rayleigh(edges), z)
    cg.Scheduler(both, parameters, edges, embedding=lambda: encoder(x)).read()
    with pytest.raises(KeyError):
        cg.measure([fails], parameters, cg.Rayleigh(edges))
    assert same(state(), before)
    z.sum().backward()  # the graph built before can still be backpropagated
    encoder(x)
    assert not same(state(), before)  # steps of the loop do change them


@pytest.fixture
def geometric():
    return pytest.importorskip("torch_geometric", reason="torch_geometric is not installed: its graphs are not read")


@pytest.fixture
def data(arrays, geometric):
    """The graph of the arrays with labels and masks."""
    edges, features = arrays
    edge_index, part = torch.from_numpy(edges.T.copy()), torch.arange(60) % 3
    masks = {f"{name}_mask": part == at for at, name in enumerate(("train", "val", "test"))}
    return geometric.data.Data(x=torch.from_numpy(features), edge_index=edge_index, y=torch.arange(60) // 20, **masks)


def same(one, other):
    return one.edge_index.tobytes() == other.edge_index.tobytes() and one.x.tobytes() == other.x.tobytes()


def test_a_pyg_graph_equals_the_graph_of_its_arrays(arrays, data):
    graph = controlg.load_graph(data)
    assert same(graph, controlg.load_graph(*arrays)) and graph.notes == []
    assert graph.labels.tolist() == data.y.tolist() and len(graph.splits) == 1
    model = controlg.ControlG(**SMALL).fit(data)
    assert model.embedding_.tobytes() == controlg.ControlG(**SMALL).fit_transform(arrays).tobytes()
    score = controlg.evaluate(model.embedding_, graph=data)
    assert score["protocol"] == "own" and model.score(data) == score["value"] / 100
    assert controlg.evaluate(torch.from_numpy(model.embedding_), data.y)["value"] >= 0


def test_weights_of_a_pyg_graph(arrays, data, geometric):
    edges, features = arrays
    weights = torch.arange(1.0, len(edges) + 1)
    weighted = [(int(u), int(v), float(weight)) for (u, v), weight in zip(edges, weights)]
    expected = controlg.ControlG(**SMALL).fit_transform((weighted, features)).tobytes()
    for name in ("edge_weight", "edge_attr"):
        given = geometric.data.Data(x=data.x, edge_index=data.edge_index, **{name: weights})
        assert controlg.ControlG(**SMALL).fit_transform(given).tobytes() == expected


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_tensors(arrays, data, geometric):
    expected = controlg.load_graph(*arrays)
    for layout in (torch.sparse_csr, torch.sparse_coo):
        transposed = geometric.transforms.ToSparseTensor(layout=layout)(data.clone())
        assert "edge_index" not in transposed and same(controlg.load_graph(transposed), expected)
        assert controlg.load_graph(transposed).labels is not None
    sparse = geometric.data.Data(x=data.x.to_sparse(), edge_index=data.edge_index)
    assert same(controlg.load_graph(sparse), expected)
    bare = controlg.load_graph(geometric.data.Data(edge_index=data.edge_index, num_nodes=70))
    assert bare.n_nodes == 70 and bare.has_features_from_edges


def test_a_pyg_graph_with_types(data, geometric):
    hetero = geometric.data.HeteroData()
    hetero["paper"].x, hetero["author"].x = torch.ones(60, 2), torch.ones(60, 2)
    hetero["author", "writes", "paper"].edge_index = data.edge_index
    typed = controlg.load_graph(hetero)
    assert typed.schema == "types paper, author; relations author-writes-paper"
    assert (typed.n_nodes, typed.n_features) == (120, 4)
    assert controlg.load_graph(hetero.to_homogeneous()).n_nodes == 120
