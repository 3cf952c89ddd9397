"""The estimator, checked against the command."""

import json
import pickle
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import DATA, SMALL, flags, program

from controlg import ControlG, evaluate, load_graph
from controlg._record import blocks


@pytest.fixture(scope="module")
def fitted():
    return ControlG(**SMALL, random_state=3).fit(DATA)


def test_the_estimator_gives_the_bytes_of_the_command(fitted, tmp_path):
    done = program("pretrain", DATA, "--seed", 3, "--out", tmp_path / "run", "--quiet", *flags())
    assert done.returncode == 0, done.stderr
    theirs = np.load(tmp_path / "run" / "embeddings.npy")
    assert fitted.embedding_.dtype == np.float32 and fitted.embedding_.tobytes() == theirs.tobytes()
    tasks = [json.loads(line).get("task") for line in (tmp_path / "run" / "trace.jsonl").open()]
    assert fitted.schedule_["task"].tolist() == [task for task in tasks if task]
    assert ControlG(**SMALL, random_state=3, n_jobs=1).fit_transform(DATA).tobytes() == theirs.tobytes()

    fitted.save(tmp_path / "ours")
    for name in ("config.toml", "embeddings.npy", "model.safetensors", "ids.txt"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "run" / name).read_bytes(), name
    assert program("audit", tmp_path / "ours").returncode == 0
    loaded = ControlG.load(tmp_path / "run")
    assert loaded.transform(DATA).tobytes() == theirs.tobytes()
    assert loaded.fit_transform(DATA).tobytes() == theirs.tobytes()


def test_arrays_give_the_bytes_of_the_same_graph_in_files(arrays, tmp_path):
    edges, features = arrays
    lines = "".join(f"{u},{v}\n" for u, v in edges)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "edges.csv").write_text("src,dst\n" + lines)
    np.save(tmp_path / "own" / "features.npy", features)
    done = program("pretrain", tmp_path / "own", "--out", tmp_path / "run", "--quiet", *flags())
    assert done.returncode == 0, done.stderr
    theirs = np.load(tmp_path / "run" / "embeddings.npy").tobytes()
    assert ControlG(**SMALL).fit_transform((edges, features)).tobytes() == theirs


def test_all_graph_inputs_give_the_same_graph(arrays):
    edges, features = arrays
    expected = ControlG(**SMALL).fit_transform((edges, features)).tobytes()
    geometric = SimpleNamespace(edge_index=edges.T.astype(np.int32), x=features)
    assert ControlG(**SMALL).fit_transform((edges.T, features.astype(np.float64))).tobytes() == expected
    assert ControlG(**SMALL).fit_transform(geometric).tobytes() == expected
    assert ControlG(**SMALL).fit_transform(load_graph(edges, features)).tobytes() == expected


def test_scipy_and_networkx(arrays):
    sparse = pytest.importorskip("scipy.sparse")
    networkx = pytest.importorskip("networkx")
    edges, features = arrays
    n = len(features)
    matrix = sparse.coo_matrix((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    matrix.data[:] = 1
    expected = ControlG(**SMALL).fit_transform((edges, features)).tobytes()
    assert ControlG(**SMALL).fit_transform((matrix, features)).tobytes() == expected
    graph = networkx.Graph()
    graph.add_nodes_from(f"node {u}" for u in range(n))
    graph.add_edges_from((f"node {u}", f"node {v}") for u, v in edges)
    named = ControlG(**SMALL).fit((graph, features))
    assert named.embedding_.tobytes() == expected and named.nodes_[1] == "node 1"
    rows = sparse.csr_matrix(np.where(features > 0.5, features, 0))
    assert ControlG(**SMALL).fit_transform((edges, rows)).shape == (n, 8)


def test_duplicate_matrix_entries_are_summed_without_changing_the_input(arrays):
    sparse = pytest.importorskip("scipy.sparse")
    _, features = arrays
    ends = (np.array([0, 0, 1, 2, 2]), np.array([1, 1, 2, 3, 3]))
    twice = sparse.coo_matrix((np.array([1.0, 1, 2, 1, -1]), ends), shape=(60, 60))  # those of 2 and 3 cancel out
    by_rows = sparse.csr_matrix((twice.data, ends[1], np.searchsorted(ends[0], np.arange(61))), shape=(60, 60))
    once = sparse.coo_matrix((np.array([2.0, 2]), ([0, 1], [1, 2])), shape=(60, 60))
    expected = ControlG(**SMALL).fit_transform((once, features)).tobytes()
    for matrix in (twice, twice.tocsr(), by_rows):
        assert load_graph(matrix).n_edges == 2
        assert ControlG(**SMALL).fit_transform((matrix, features)).tobytes() == expected
    assert load_graph(once, by_rows).x.tobytes() == twice.toarray().astype(np.float32).tobytes()
    assert twice.nnz == by_rows.nnz == 5


def test_two_names_of_a_setting_are_one_parameter():
    assert ControlG(seed=5).get_params()["random_state"] == 5
    assert ControlG(seed=5).set_params(random_state=0).get_params() == ControlG().get_params()
    assert ControlG(train__epochs=3).set_params(epochs=10).get_params() == ControlG(epochs=10).get_params()
    assert ControlG(epochs=3).set_params(train__epochs=10).get_params() == ControlG(epochs=10).get_params()
    named = ControlG(**SMALL, seed=5).set_params(random_state=3).fit(DATA)
    assert json.loads(named.record_.splitlines()[0])["seed"] == 3
    for settings, words in (
        ({"epochs": 3, "train__epochs": 10}, "found both epochs and train__epochs"),
        ({"random_state": 7, "seed": 5}, "found both random_state and seed"),
        ({"plan__delta": 0.1, "plan.delta": 0.3}, "found both plan__delta and plan.delta"),
    ):
        with pytest.raises(ValueError, match=words):
            ControlG(**settings).fit(DATA)


def test_structural_features_are_refused_for_a_graph_with_features(arrays):
    edges, features = arrays
    own, made = load_graph(edges, features), load_graph(edges, features, features="structural")
    assert made.has_features_from_edges and not own.has_features_from_edges
    with pytest.raises(ValueError, match="its own features, expected one from load_graph"):
        ControlG(**SMALL, features="structural").fit(own)
    model = ControlG(**SMALL, features="structural").fit(made)
    assert model.embedding_.tobytes() == ControlG(**SMALL, features="structural").fit_transform(edges).tobytes()
    with pytest.raises(ValueError, match="its own features"):
        model.transform(own)


def test_columns_have_one_entry_per_block_when_lines_differ():
    lines = [
        {"kind": "run", "objectives": ["a", "b"]},
        {"kind": "block", "block": 1, "loss": None, "seal": "x"},
        {"kind": "block", "block": 2, "task": "a", "slope": [1.0, 2.0], "loss": 3.0},
    ]
    columns = blocks("\n".join(map(json.dumps, lines)))
    assert list(columns) == ["block", "loss", "task", "slope_a", "slope_b"]
    assert columns["task"].tolist() == ["", "a"] and columns["block"].tolist() == [1, 2]
    for name, last in (("loss", 3), ("slope_a", 1), ("slope_b", 2)):
        assert np.isnan(columns[name][0]) and columns[name][1] == last


def test_columns_have_equal_length_when_only_some_blocks_have_slopes():
    schedule = ControlG(**SMALL, method="autossl").fit(DATA).schedule_
    assert {len(column) for column in schedule.values()} == {len(schedule["block"])}
    assert 0 < np.isnan(schedule["slope_p_link"]).sum() < len(schedule["block"])


def test_attributes_before_fit_and_after_load(fitted, tmp_path):
    assert not hasattr(ControlG(), "schedule_") and not hasattr(ControlG(), "sensings_")
    fitted.save(tmp_path / "run")
    loaded = ControlG.load(tmp_path / "run")
    assert loaded.n_features_in_ == fitted.n_features_in_ == 40
    assert loaded.get_params() == fitted.get_params() | {"data": DATA}
    assert hasattr(loaded, "schedule_")


def test_columns_fit_a_data_frame(fitted):
    schedule, sensings = fitted.schedule_, fitted.sensings_
    assert {len(column) for column in schedule.values()} == {len(schedule["task"])}
    assert schedule["plan_p_link"].dtype == float and "gram_p_link_p_recon" in sensings
    assert {column.ndim for column in (*schedule.values(), *sensings.values())} == {1}


def test_new_nodes_are_embedded(arrays):
    edges, features = arrays
    model = ControlG(**SMALL).fit((edges, features))
    more = np.vstack([features, features[:1]])
    assert model.transform(np.vstack([edges, [[60, 0]]]), more).shape == (61, 8)
    with pytest.raises(ValueError, match="X has 5 features, but ControlG is expecting 12 features as input"):
        model.transform(edges, features[:, :5])


def test_an_estimator_can_be_pickled(fitted):
    back = pickle.loads(pickle.dumps(fitted))
    assert back.embedding_.tobytes() == fitted.embedding_.tobytes()
    assert back.transform(DATA).tobytes() == fitted.embedding_.tobytes()
    assert back.get_params() == fitted.get_params()


def test_scores_equal_those_of_the_command(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    done = program("evaluate", tmp_path / "run", "--tasks", "nc,cluster", "--json", "--quiet", "--no-floors")
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    graph = load_graph(DATA)
    ours = evaluate(fitted.embedding_, graph.labels, random_state=3)
    cluster = evaluate(fitted.embedding_, graph=graph, task="cluster")
    for mine, other in ((ours, theirs["nc"]), (cluster, theirs["cluster"])):
        assert {**mine, "seconds": 0} == {**other, "seconds": 0}
    mask = np.arange(120) % 3
    own = evaluate(fitted.embedding_, graph.labels, {"train": mask == 0, "val": mask == 1, "test": mask == 2})
    assert own["protocol"] == "own" and 0 <= own["value"] <= 100


def test_a_graph_with_splits_of_two_protocols(fitted, tmp_path):
    graph = load_graph(DATA)
    folder = tmp_path / "own"
    folder.mkdir()
    folder.joinpath("edges.csv").write_text("src,dst\n" + "".join(f"{u},{v}\n" for u, v in graph.edge_index.T))
    folder.joinpath("labels.csv").write_text("id,label\n" + "".join(f"{u},{c}\n" for u, c in enumerate(graph.labels)))
    parts = ["train", "val", "test"]
    rows = [f"{u},{parts[u % 3]},{parts[(u + 1) % 3]},{parts[u // 40]}\n" for u in range(120)]
    folder.joinpath("splits.csv").write_text("id,first:0,first:1,planetoid-public\n" + "".join(rows))
    np.save(tmp_path / "z.npy", fitted.embedding_)
    own = load_graph(folder)
    for split, flags in ((None, []), ("first", ["--protocol", "first"])):
        done = program("evaluate", tmp_path / "z.npy", "--data", folder, "--tasks", "nc", "--json", "--quiet", *flags)
        assert done.returncode == 0, done.stderr
        ours = evaluate(fitted.embedding_, split=split, graph=own)
        assert {**ours, "seconds": 0} == {**json.loads(done.stdout)["nc"], "seconds": 0}
        assert ours["protocol"] == "first"
    public = evaluate(fitted.embedding_, split="planetoid-public", graph=own)
    assert public["protocol"] == "planetoid-public"
    assert public["value"] == evaluate(fitted.embedding_, graph.labels, own.splits[2])["value"]
    assert evaluate(fitted.embedding_, split="random-10-10-80", graph=own)["protocol"] == "random-10-10-80"
    for task in ("cluster", "lp"):
        with pytest.raises(ValueError, match=f"split: found one for the task '{task}', expected one for 'nc' only"):
            evaluate(fitted.embedding_, split="first", graph=own, task=task)
    assert evaluate(fitted.embedding_, graph=own, task="cluster")["value"] >= 0


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda e, x: (e[:, 0], x), "edges: found .* expected 2 × E or E × 2 node numbers"),
        (lambda e, x: (e.astype(float), x), "edges: found reals, expected whole numbers"),
        (lambda e, x: (e + 1, x), "X: found 60 rows, expected one for each node: edge 58 has the node 60"),
        (lambda e, x: (-e, x), "found -1, expected a node in 0..60"),
        (lambda e, x: (e, x[:, 0]), "X: found 60 elements, expected two dimensions"),
        (lambda e, x: (e, x.astype(str)), "X: found text, expected numbers"),
        (lambda e, x: (e, np.where(x == x[2, 3], np.nan, x)), "row 2, column 3: found NaN, expected a finite number"),
        (lambda e, x: (e, np.where(x == x[2, 3], 1e300, x.astype(float))), "found inf, expected a finite number"),
    ],
)
def test_bad_arrays_are_named(arrays, change, words):
    with pytest.raises(ValueError, match=words):
        ControlG(**SMALL).fit(change(*arrays))


def test_errors_have_the_text_of_the_command(arrays, tmp_path):
    done = program("pretrain", DATA, "--out", tmp_path / "run", "--set", "train.lr=-1")
    with pytest.raises(ValueError) as caught:
        ControlG(train__lr=-1)
    assert done.returncode == 2 and done.stderr.strip() == f"controlg: {caught.value}"
    edges, features = arrays
    features[2, 3] = np.nan
    np.save(tmp_path / "features.npy", features)
    (tmp_path / "edges.csv").write_text("src,dst\n0,1\n")
    done = program("pretrain", tmp_path, "--out", tmp_path / "run")
    with pytest.raises(ValueError) as caught:
        ControlG().fit(tmp_path)
    assert done.stderr.strip() == f"controlg: {caught.value}"
    with pytest.raises(ValueError, match="call fit first"):
        ControlG().schedule_


def test_other_threads_run_during_training():
    count, over = 0, threading.Event()

    def work():
        nonlocal count
        while not over.is_set():
            count += 1
            time.sleep(0.001)

    thread = threading.Thread(target=work)
    thread.start()
    ControlG(**{**SMALL, "epochs": 20}).fit(DATA)
    over.set()
    thread.join()
    assert count > 5
