"""Every kind of graph, features and labels that the package accepts, and how it names what it does not."""

from types import SimpleNamespace

import numpy as np
import pytest
from conftest import DATA, SMALL

from controlg import ControlG, evaluate, load_graph


def same(one, other):
    """Whether two graphs are equal."""
    return one.edge_index.tobytes() == other.edge_index.tobytes() and one.x.tobytes() == other.x.tobytes()


def test_y_is_never_trained_on(arrays):
    edges, features = arrays
    labels = np.arange(60) % 3
    plain = ControlG(**SMALL).fit_transform((edges, features)).tobytes()
    assert ControlG(**SMALL).fit((edges, features), labels).embedding_.tobytes() == plain
    assert ControlG(**SMALL).fit_transform(edges, labels, features=features).tobytes() == plain
    assert ControlG(**SMALL).fit_transform(edges, [str(label) for label in labels], features=features).tobytes() == plain
    assert ControlG(**SMALL).fit(edges, labels).embedding_.tobytes() == ControlG(**SMALL).fit_transform(edges).tobytes()
    one_hot = np.eye(3, dtype=int)[labels]
    assert ControlG(**SMALL).fit((edges, features), one_hot).embedding_.tobytes() == plain


def test_features_in_the_place_of_y_are_refused(arrays):
    sparse = pytest.importorskip("scipy.sparse")
    edges, features = arrays
    for second in (features, features.tolist(), sparse.csr_matrix(features), features[:, :1]):
        for call in (ControlG(**SMALL).fit, ControlG(**SMALL).fit_transform):
            with pytest.raises(ValueError, match=r"y: found an array of two dimensions.*fit\(\(graph, features\)\)"):
                call(edges, second)
    model = ControlG(**SMALL).fit((edges, features))
    # scikit-learn passes no y to transform.
    assert model.transform(edges, features).tobytes() == model.transform((edges, features)).tobytes()
    with pytest.raises(ValueError, match="found in the tuple and as an argument"):
        model.transform((edges, features), features)
    with pytest.raises(ValueError, match=r"a tuple of 3 elements, expected \(graph, features\)"):
        model.fit((edges, features, features))


def test_tuples_lists_and_arrays_of_edges(arrays):
    edges, features = arrays
    expected = load_graph(edges, features)
    pairs = [(int(u), int(v)) for u, v in edges]
    for graph in (pairs, tuple(pairs), edges.T, (edges[:, 0], edges[:, 1]), edges.tolist(), edges.T.tolist()):
        assert same(load_graph(graph, features), expected)
    assert same(load_graph((pairs, features)), expected)
    assert load_graph([(0, 1), (2, 3)]).edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    weighted = load_graph([(0, 1, 2.0), (1, 2, 1.0)])
    assert weighted.n_edges == 2
    with pytest.raises(ValueError, match=r"edges, edge 1: found \(1, 2, 3, 4\), expected \(u, v\)"):
        load_graph([(0, 1), (1, 2, 3, 4)])
    with pytest.raises(ValueError, match="edge 1, weight: found 0, expected a positive weight"):
        load_graph([(0, 1, 1.0), (1, 2, 0.0)])


def test_weights_of_duplicate_edges_are_summed():
    pandas = pytest.importorskip("pandas")
    networkx = pytest.importorskip("networkx")
    once = [(0, 1, 2.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0)]
    twice = [(0, 1, 1.0), (0, 1, 1.0), *once[1:]]
    table = pandas.DataFrame(twice, columns=["src", "dst", "weight"])
    multi = networkx.MultiGraph()
    multi.add_nodes_from(range(4))
    multi.add_weighted_edges_from(twice)
    expected = ControlG(**SMALL).fit_transform(once).tobytes()
    for graph in (twice, table, multi):
        model = ControlG(**SMALL).fit(graph)
        assert model.embedding_.tobytes() == expected
        assert any("summed" in note for note in model.notes_), model.notes_
    plain = ControlG(**SMALL).fit_transform([edge[:2] for edge in once]).tobytes()
    assert ControlG(**SMALL).fit_transform([edge[:2] for edge in twice]).tobytes() == plain != expected
    assert ControlG(**SMALL).fit_transform([(u, v, 1.0) for u, v, _ in once]).tobytes() == plain


def test_edges_with_ids():
    for edges in ([("b", "a"), ("a", "c")], np.array([["b", "a"], ["a", "c"]]), [["b", "a"], ["a", "c"]]):
        model = ControlG(**SMALL, method="p_link").fit(edges)
        assert model.nodes_ == ["b", "a", "c"]
    graph = load_graph([("b", 1), (1, 2.5)])
    assert graph.ids == ["b", "1", "2.5"] and graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    with pytest.raises(ValueError, match="X: found rows without node ids"):
        load_graph([("b", "a")], np.ones((2, 3)))


def frames():
    return [pytest.param(name, id=name) for name in ("pandas", "polars")]


@pytest.mark.parametrize("library", frames())
def test_edge_tables(library, arrays):
    frame = pytest.importorskip(library).DataFrame
    edges, features = arrays
    for names in (("src", "dst"), ("source", "target"), ("Source", "Target")):
        table = frame({names[0]: edges[:, 0], names[1]: edges[:, 1]})
        assert same(load_graph(table, features), load_graph(edges, features))
    named = frame({"year": [1, 2], "src": ["b", "a"], "dst": ["a", "c"], "weight": [2.0, 1.0]})
    graph = load_graph(named)
    assert graph.ids == ["b", "a", "c"] and graph.notes[0] == "edges: the columns year are not used"
    numbers = load_graph(frame({"src": [30, 10], "dst": [20, 20]}))
    assert numbers.ids == ["10", "20", "30"] and numbers.n_nodes == 3
    with pytest.raises(ValueError, match=r"a table with the columns a, b, expected src and dst \(or source and target\)"):
        load_graph(frame({"a": [0], "b": [1]}))
    with pytest.raises(ValueError, match="edges, row 1, column 'src': found nothing, expected a node id"):
        load_graph(frame({"src": ["a", None], "dst": ["b", "c"]}))


def test_a_lazy_table():
    polars = pytest.importorskip("polars")
    assert load_graph(polars.LazyFrame({"src": [0, 1], "dst": [1, 2]})).n_edges == 2


@pytest.mark.parametrize("library", frames())
def test_feature_names_are_kept_and_columns_matched(library, arrays, tmp_path):
    frame = pytest.importorskip(library).DataFrame
    edges, features = arrays
    names = [f"f{at}" for at in range(12)]
    table = frame(features, columns=names) if library == "pandas" else frame(features, schema=names)
    model = ControlG(**SMALL).fit((edges, table))
    assert model.feature_names_in_.tolist() == names and model.n_features_in_ == 12
    expected = model.embedding_.tobytes()
    assert expected == ControlG(**SMALL).fit_transform((edges, features)).tobytes()
    model.save(tmp_path / "run")
    for fitted in (model, ControlG.load(tmp_path / "run")):
        assert fitted.feature_names_in_.tolist() == names
        assert fitted.transform((edges, table[names[::-1]])).tobytes() == expected
        with pytest.raises(ValueError, match="X: found no column 'f0'; the feature names should match those passed"):
            fitted.transform((edges, table[names[1:]]))
        other = table.rename(columns={"f0": "age"}) if library == "pandas" else table.rename({"f0": "age"})
        with pytest.raises(ValueError, match="X: found no column 'f0' and other columns 'age'"):
            fitted.transform((edges, other))
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            fitted.transform((edges, features))
    unnamed = ControlG(**SMALL).fit((edges, features))
    assert not hasattr(unnamed, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but ControlG was fitted without"):
        unnamed.transform((edges, table))
    assert not hasattr(model.fit((edges, features)), "feature_names_in_")
    text = frame({"age": [1.0, 2.0], "city": ["x", "y"]})
    with pytest.raises(ValueError, match="X, column 'city': found .*expected numbers"):
        load_graph([(0, 1)], text)


def test_the_index_of_a_data_frame_holds_the_nodes():
    pandas = pytest.importorskip("pandas")
    networkx = pytest.importorskip("networkx")
    edges = pandas.DataFrame({"src": ["b", "a"], "dst": ["a", "c"]})
    X = pandas.DataFrame({"f": [1.0, 2.0, 3.0, 4.0]}, index=["a", "b", "c", "alone"])
    graph = load_graph(edges, X)
    assert graph.ids == ["a", "b", "c", "alone"] and graph.x.ravel().tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="X: found no row for node 'c', which has an edge"):
        load_graph(edges, X.loc[["a", "b"]])
    with pytest.raises(ValueError, match="X: found an index with duplicates"):
        load_graph(edges, pandas.concat([X, X]))
    named = networkx.Graph([("b", "a"), ("a", "c")])
    assert load_graph(named, X.loc[["a", "b", "c"]]).x.ravel().tolist() == [2, 1, 3]
    numbers = pandas.DataFrame({"f": [0.0, 1.0, 2.0]}, index=[2, 0, 1])
    assert load_graph([(0, 1), (1, 2)], numbers).x.ravel().tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="X: found 7 in the index, expected the nodes of the graph"):
        load_graph([(0, 1), (1, 2)], numbers.set_axis([7, 8, 9]))


def test_igraph(arrays):
    igraph = pytest.importorskip("igraph")
    edges, features = arrays
    graph = igraph.Graph(n=60, edges=edges.tolist())
    assert same(load_graph(graph, features), load_graph(edges, features))
    graph.vs["name"] = [f"node {u}" for u in range(60)]
    graph = graph.simplify()  # one edge between two nodes
    graph.es["weight"] = [1.0 + at % 3 for at in range(graph.ecount())]
    model = ControlG(**SMALL).fit((graph, features))
    assert model.nodes_[2] == "node 2"
    weighted = [(u, v, 1.0 + at % 3) for at, (u, v) in enumerate(graph.get_edgelist())]
    assert model.embedding_.tobytes() == ControlG(**SMALL).fit_transform((weighted, features)).tobytes()


def geometric(edges, features, **more):
    """An object with the attributes of ``torch_geometric.data.Data``."""
    return SimpleNamespace(edge_index=edges.T, x=features, **more)


def test_labels_and_masks_of_a_data_object(arrays):
    edges, features = arrays
    part = np.arange(60) % 3
    y, masks = (np.arange(60) // 20)[:, None], {f"{name}_mask": part == at for at, name in enumerate(("train", "val", "test"))}
    data = geometric(edges, features, y=y, **masks)
    graph = load_graph(data)
    assert graph.labels.tolist() == y.ravel().tolist() and len(graph.splits) == 1 and graph.notes == []
    assert graph.splits[0]["train"].tolist() == np.flatnonzero(part == 0).tolist()
    model = ControlG(**SMALL).fit(data)
    assert model.embedding_.tobytes() == ControlG(**SMALL).fit_transform((edges, features)).tobytes()
    score = evaluate(model.embedding_, graph=data)
    given = evaluate(model.embedding_, y.ravel(), tuple(masks.values()))
    assert score["protocol"] == "own" and score == {**given, "seconds": score["seconds"]}
    assert model.score(data) == score["value"] / 100
    several = {name: np.stack([mask, mask], axis=1) for name, mask in masks.items()}
    assert len(load_graph(geometric(edges, features, y=y, **several)).splits) == 2
    for more, words in (
        ({"y": np.ones((60, 4))}, "y: not kept for evaluation, found 60 × 4 elements of reals, not one class a node"),
        ({**masks, "val_mask": part == 0}, "masks: not kept for evaluation, a node is in two of them"),
        ({**masks, "val_mask": part[:9] == 0}, "masks: not kept for evaluation, their shapes are not those of the nodes"),
    ):
        assert words in load_graph(geometric(edges, features, **more)).notes


def test_weights_of_a_data_object(arrays):
    edges, features = arrays
    weights = np.arange(1.0, len(edges) + 1)
    weighted = [(int(u), int(v), weight) for (u, v), weight in zip(edges, weights)]
    expected = ControlG(**SMALL).fit_transform((weighted, features)).tobytes()
    for name in ("edge_weight", "edge_attr"):
        for values in (weights, weights[:, None]):
            model = ControlG(**SMALL).fit(geometric(edges, features, **{name: values}))
            assert model.embedding_.tobytes() == expected
            assert ("edge_attr: used as the weights of the edges" in model.notes_) == (name == "edge_attr")
    plain = load_graph(geometric(edges, features, edge_attr=np.zeros((len(edges), 3))))
    assert "edge_attr: not used, only one positive number for each edge is, as its weight" in plain.notes


class SparseTensor:
    """The attributes of ``torch_sparse.SparseTensor``."""

    def __init__(self, row, col, value, n):
        self.entries, self.n = (row, col, value), n

    def coo(self):
        return self.entries

    def sparse_sizes(self):
        return self.n, self.n


def test_adj_t(arrays):
    edges, features = arrays
    data = SimpleNamespace(adj_t=SparseTensor(edges[:, 1], edges[:, 0], None, 60), x=features)
    assert same(load_graph(data), load_graph(edges, features))
    assert load_graph(SparseTensor(edges[:, 1], edges[:, 0], None, 60)).n_nodes == 60
    with pytest.raises(ValueError, match="a SimpleNamespace without edges, expected edge_index or adj_t"):
        load_graph(SimpleNamespace(edge_index=None, x=features))


class Typed(dict):
    """The parts of a HeteroData that are read: stores by type and by edge type."""

    def __init__(self, stores, edges):
        super().__init__({**stores, **{key: SimpleNamespace(edge_index=pairs) for key, pairs in edges.items()}})
        self.node_types, self.edge_types = list(stores), list(edges)


def typed_parts():
    rng = np.random.default_rng(0)
    writes = np.stack([rng.integers(0, 20, 90), rng.integers(0, 30, 90)])
    cites = np.stack([rng.integers(0, 30, 60), rng.integers(0, 30, 60)])
    edges = {("author", "writes", "paper"): writes, ("paper", "cites", "paper"): cites}
    return edges, {"author": rng.random((20, 4), dtype=np.float32), "paper": rng.random((30, 6), dtype=np.float32)}


def test_graphs_with_types():
    edges, features = typed_parts()
    from_dict = load_graph(edges, features)
    assert from_dict.schema == "types author, paper; relations author-writes-paper, paper-cites-paper"
    assert (from_dict.n_nodes, from_dict.n_features) == (50, 10)
    assert from_dict.ids[:2] == ["author:0", "author:1"] and from_dict.ids[20] == "paper:0"
    train = np.arange(30) < 10
    stores = {
        "author": SimpleNamespace(x=features["author"], num_nodes=20),
        "paper": SimpleNamespace(
            x=features["paper"], num_nodes=30, y=np.arange(30) % 3, train_mask=train, val_mask=~train, test_mask=train & False
        ),
    }
    from_pyg = load_graph(Typed(stores, edges))
    assert same(from_pyg, from_dict) and from_pyg.schema == from_dict.schema
    assert from_pyg.labels.tolist() == [-1] * 20 + (np.arange(30) % 3).tolist()
    assert from_pyg.splits[0]["train"].tolist() == list(range(20, 30))
    model = ControlG(**SMALL, encoder__kind="rgcn").fit((edges, features))
    assert model.embedding_.shape[0] == 50


def test_direction_is_kept(arrays):
    edges, features = arrays
    one_way = load_graph(edges, features, directed=True)
    assert one_way.schema == "types node; relations node-edge-node"
    assert load_graph(edges, features).schema is None
    again = load_graph(np.concatenate([edges, edges[:, ::-1]]), features, directed=True)
    # The pairs of nodes are the same, but more edges have a reverse.
    assert np.array_equal(one_way.edge_index, again.edge_index)
    model = ControlG(**SMALL, encoder__kind="rgcn", directed=True).fit((edges, features))
    assert np.array_equal(model.transform((edges, features)), model.embedding_)
    reverse = ControlG(**SMALL, encoder__kind="rgcn", directed=True).fit((edges[:, ::-1], features))
    assert not np.array_equal(reverse.embedding_, model.embedding_)
    types, rows = typed_parts()
    assert load_graph(types, rows, directed=True).schema == load_graph(types, rows).schema


def test_bad_graphs_with_types_are_errors():
    edges, features = typed_parts()
    with pytest.raises(ValueError, match="relation author-writes-paper, edge 0: found 40, expected a node of type paper, in 0..30"):
        load_graph({**edges, ("author", "writes", "paper"): np.array([[0], [40]])}, features)
    with pytest.raises(ValueError, match="X: found features of 'venue', expected node types of the graph"):
        load_graph(Typed({name: SimpleNamespace(x=rows, num_nodes=len(rows)) for name, rows in features.items()}, edges), {"venue": 1})
    with pytest.raises(ValueError, match="author-writes-paper: found .* expected 2 x E edges"):
        load_graph({("author", "writes", "paper"): np.zeros((3, 4), dtype=int)})
    with pytest.raises(ValueError, match="X: found features without types"):
        load_graph(edges, features["paper"])


def test_rows_of_x_are_blamed(arrays):
    edges, features = arrays
    with pytest.raises(ValueError, match="X: found 50 rows, expected one for each node: edge 49 has the node 50"):
        load_graph(edges, features[:50])
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_matrix((np.ones(len(edges)), edges.T), shape=(60, 60))
    with pytest.raises(ValueError, match="X: found 59 rows, expected 60, one for each node"):
        load_graph(matrix, features[:59])
    with pytest.raises(ValueError, match="X: found features, expected None: a data set brings its own"):
        ControlG(**SMALL).fit((DATA, features))


def test_labels_of_any_type():
    graph = load_graph(DATA)
    rows, classes = graph.x, graph.labels
    words = [f"class {label}" for label in classes]
    split = {"train": np.arange(40), "val": np.arange(40, 80), "test": np.arange(80, 120)}
    expected = evaluate(rows, classes, split)["value"]
    for labels in (words, np.array(words), np.array(words, dtype=object), classes.astype(float), 1000 * (classes + 1)):
        assert evaluate(rows, labels, split)["value"] == expected
    for library in ("pandas", "polars"):
        series = getattr(pytest.importorskip(library), "Series")
        assert evaluate(rows, series(words), split)["value"] == expected
    missing = [None if at % 5 == 0 else word for at, word in enumerate(words)]
    gaps = np.where(np.arange(120) % 5 == 0, -1, classes)
    value = evaluate(rows, gaps, task="cluster")["value"]
    assert evaluate(rows, missing, task="cluster")["value"] == value
    assert evaluate(rows, [word or "" for word in missing], task="cluster")["value"] == value
    assert evaluate(rows, np.where(gaps < 0, np.nan, gaps), task="cluster")["value"] == value
    with pytest.raises(ValueError, match="labels: found reals, expected classes: whole numbers or text"):
        evaluate(rows, classes + 0.5)
    with pytest.raises(ValueError, match="labels: found 119, expected 120, one for each row of the embeddings"):
        evaluate(rows, classes[1:])


def test_clustering_needs_no_graph():
    graph = load_graph(DATA)
    alone, beside = evaluate(graph.x, graph.labels, task="cluster"), evaluate(graph.x, graph=graph, task="cluster")
    assert set(beside) - set(alone) == {"modularity", "conductance"}
    assert all(alone[name] == beside[name] for name in alone if name != "seconds")


def test_ids_that_occur_in_no_edge_are_in_the_notes(tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst\na,b\nb,c\n")
    (tmp_path / "labels.csv").write_text("id,label\na,x\nyan,y\n")
    (tmp_path / "splits.csv").write_text("id,split\na,train\nzoe,test\n")
    graph = load_graph(str(tmp_path))
    assert graph.ids == ["a", "b", "c", "yan", "zoe"]
    for file, name in [("labels", "yan"), ("splits", "zoe")]:
        note = f"{file}.csv: ids that occur in no edge become isolated nodes, 1 in all: {name}"
        assert any(known.endswith(note) for known in graph.notes), graph.notes
