"""scikit-learn: its own estimator checks, pipelines, clones, containers and scores."""

import copy
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import DATA, SMALL

from controlg import ControlG, NotFittedError, evaluate, load_graph

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed: its checks are not run")

from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import ParameterGrid  # noqa: E402
from sklearn.neighbors import kneighbors_graph  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402


class OfNeighbors(ControlG):
    """The estimator for scikit-learn's checks, which pass a table: its rows are the nodes, nearest neighbors the edges."""

    def _with_edges(self, X):
        rows = X if hasattr(X, "shape") else np.asarray(X)
        if len(rows.shape) != 2 or rows.shape[0] < 2:
            raise ValueError(f"found shape {rows.shape}, n_samples = 1 or not two dimensions. Reshape your data")
        if hasattr(rows, "tocsr"):
            return kneighbors_graph(rows, 1), rows
        points = np.asarray(rows)
        points = points.real if points.dtype.kind == "c" else points.astype(float)
        points = np.nan_to_num(points, posinf=0, neginf=0)
        edges = kneighbors_graph(points, min(3, len(points) - 1))
        if hasattr(X, "iloc"):
            edges = [(X.index[u], X.index[v]) for u, v in zip(*edges.nonzero())]
        return edges, rows

    def fit(self, X, y=None):
        return super().fit(self._with_edges(X), y)

    def fit_transform(self, X, y=None):
        self.fit(X, y)
        return self._contained(self.embedding_, self.nodes_)

    def transform(self, X):
        self._check_fitted()
        return super().transform(self._with_edges(X))

    def score(self, X, y=None):
        rows = super().transform(self._with_edges(X))
        return float(np.mean(rows))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


#: The checks that pass. Newer versions of scikit-learn may have more; these must pass too.
PASS = """
    check_estimator_cloneable check_estimator_tags_renamed check_valid_tag_types check_estimator_repr
    check_no_attributes_set_in_init check_fit_score_takes_y check_estimators_overwrite_params
    check_dont_overwrite_parameters check_estimators_fit_returns_self check_readonly_memmap_input
    check_estimators_unfitted check_n_features_in_after_fitting check_mixin_order check_positive_only_tag_during_fit
    check_estimators_dtypes check_complex_data check_dtype_object check_estimators_empty_data_messages
    check_pipeline_consistency check_estimators_nan_inf check_estimator_sparse_tag check_estimator_sparse_array
    check_estimator_sparse_matrix check_estimators_pickle check_f_contiguous_array_estimator
    check_transformer_data_not_an_array check_transformer_general check_transformer_preserve_dtypes
    check_transformers_unfitted check_transformer_n_iter check_parameters_default_constructible check_fit2d_1sample
    check_fit2d_1feature check_get_params_invariance check_set_params check_dict_unchanged check_fit_idempotent
    check_fit_check_is_fitted check_n_features_in check_fit1d check_fit2d_predict1d
""".split()

#: The checks that cannot hold, and why.
NOT_APPLICABLE = {
    "check_do_not_raise_errors_in_init_or_set_params": "parameters are checked at construction, to report typos early",
    "check_methods_sample_order_invariance": "the order of the nodes decides the order of sums and of random draws",
    "check_methods_subset_invariance": "the embedding of a node depends on its neighbors, which a subset lacks",
    "check_array_api_input": "embeddings are NumPy arrays",
}

#: Checks that scikit-learn does not run by itself for estimators of others.
MORE = """
    check_set_output_transform check_set_output_transform_pandas check_set_output_transform_polars
    check_global_output_transform_pandas check_global_set_output_transform_polars
    check_transformer_get_feature_names_out check_transformer_get_feature_names_out_pandas
""".split()


def small():
    return OfNeighbors(
        epochs=1, width=4, method="p_recon", train__batches_per_epoch=5, train__warmup_rounds=1, normalize="none"
    )


@pytest.mark.filterwarnings("ignore")
def test_estimator_checks():
    results = estimator_checks.check_estimator(small(), on_fail=None, on_skip=None)
    wrong = {
        result["check_name"]: repr(result["exception"])
        for result in results
        if result["status"] == "failed" and result["check_name"] not in NOT_APPLICABLE
    }
    assert wrong == {}
    ran = {result["check_name"] for result in results}
    assert {name for name in PASS if hasattr(estimator_checks, name)} <= ran


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MORE)
def test_checks_of_names_and_containers(name):
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    getattr(estimator_checks, name)("OfNeighbors", small())


def test_a_pipeline_trains_the_classifier_on_y_and_the_embedding_on_the_graph():
    graph = load_graph(DATA)
    pipeline = make_pipeline(ControlG(**SMALL), StandardScaler(), LogisticRegression())
    pipeline.fit(graph, graph.labels)
    plain = ControlG(**SMALL).fit(graph)
    assert pipeline[0].embedding_.tobytes() == plain.embedding_.tobytes()
    assert pipeline.predict(graph).shape == (120,) and pipeline.score(graph, graph.labels) > 0.3
    shuffled = clone(pipeline).fit(graph, np.roll(graph.labels, 7))
    assert shuffled[0].embedding_.tobytes() == plain.embedding_.tobytes()
    assert "ControlG" in pipeline._repr_html_()
    assert "controlg__plan__delta" in pipeline.get_params()
    pipeline.set_params(controlg__width=4).fit(graph, graph.labels)
    assert pipeline[0].embedding_.shape == (120, 4)


def test_clone_and_parameter_grid():
    original = ControlG(**SMALL, plan__delta=0.3, objectives=["p_link", "p_recon"])
    copied = clone(original)
    assert copied is not original and copied.get_params() == original.get_params()
    grid = ParameterGrid({"plan__delta": [0.1, 0.3], "method": ["controlg", "random"]})
    runs = [clone(original).set_params(**params).fit(DATA) for params in grid]
    assert len({run.embedding_.tobytes() for run in runs}) > 1
    assert all(run.embedding_.shape == (120, 8) for run in runs)
    assert clone(original.set_output(transform="pandas"))._sklearn_output_config == {"transform": "pandas"}
    assert copy.deepcopy(original).get_params() == original.get_params()


def test_containers():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    edges = [("b", "a"), ("a", "c"), ("c", "b"), ("c", "d")]
    model = ControlG(**SMALL).set_output(transform="pandas")
    table = model.fit_transform(edges)
    assert isinstance(table, pandas.DataFrame) and table.index.tolist() == ["b", "a", "c", "d"] == model.nodes_
    assert table.columns.tolist() == [f"controlg{at}" for at in range(8)] == model.get_feature_names_out().tolist()
    assert isinstance(model.embedding_, np.ndarray) and np.array_equal(table.to_numpy(), model.embedding_)
    assert model.transform([("x", "y")]).index.tolist() == ["x", "y"]
    table = model.set_output(transform="polars").transform(edges)
    assert isinstance(table, polars.DataFrame) and np.array_equal(table.to_numpy(), model.embedding_)
    assert isinstance(model.set_output(transform=None).transform(edges), polars.DataFrame)
    assert isinstance(model.set_output(transform="default").transform(edges), np.ndarray)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(ControlG(**SMALL).fit_transform(edges), pandas.DataFrame)
    with pytest.raises(ValueError, match="transform: found 'numpy', expected one of default, pandas, polars"):
        model.set_output(transform="numpy")
    assert evaluate(table, [0, 1, 0, 1], task="cluster")["value"] >= 0


def test_score_is_the_accuracy_of_the_probe():
    graph = load_graph(DATA)
    model = ControlG(**SMALL, random_state=3).fit(graph)
    expected = evaluate(model.embedding_, graph.labels, random_state=3)["value"] / 100
    assert 0 <= expected <= 1 and model.score(graph) == expected == model.score(DATA, graph.labels)
    assert model.score(graph, [f"class {label}" for label in graph.labels]) == expected
    with pytest.raises(ValueError, match="labels: found nothing, expected labels"):
        ControlG(**SMALL).fit(graph.edge_index).score(graph.edge_index)


def test_an_estimator_that_is_not_fitted():
    from sklearn.exceptions import NotFittedError as Theirs

    for use in (lambda m: m.transform(DATA), lambda m: m.score(DATA), lambda m: m.save("x"), lambda m: m.schedule_):
        for error in (NotFittedError, Theirs):
            with pytest.raises(error, match="call fit first"):
                use(ControlG())


def test_the_page_of_a_notebook():
    text = ControlG(method="random", plan__delta=0.3)._repr_html_()
    assert "not fitted yet" in text and "plan__delta" in text and "random" in text
    edges = [("<b>", "a"), ("a", "c"), ("c", "<b>"), ("c", "d")]
    text = ControlG(**SMALL).fit(edges)._repr_html_()
    assert "4 nodes × 8, from" in text and "30 steps" in text and "features are structural" in text and "<b>" not in text


def test_a_run_is_replaced_only_if_asked_and_only_a_run(tmp_path):
    model = ControlG(**SMALL).fit(DATA)
    model.save(tmp_path / "run")
    with pytest.raises(ValueError, match="expected a new or empty folder"):
        model.save(tmp_path / "run")
    other = ControlG(**SMALL, random_state=1).fit(DATA)
    other.save(tmp_path / "run", overwrite=True)
    assert ControlG.load(tmp_path / "run").embedding_.tobytes() == other.embedding_.tobytes()
    (tmp_path / "run" / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match="thesis.tex, which is no file of a run"):
        model.save(tmp_path / "run", overwrite=True)
    assert ControlG.load(tmp_path / "run").embedding_.tobytes() == other.embedding_.tobytes()


def test_everything_works_without_scikit_learn(tmp_path):
    script = """
        import sys
        for name in ("sklearn", "scipy", "pandas", "polars", "tqdm", "networkx"):
            sys.modules[name] = None
        import controlg
        from controlg import ControlG
        data = "synthetic:nodes=120,features=40"
        model = ControlG(epochs=1, width=8, train__batches_per_epoch=30, objective__p_par__parts=4, verbose=True)
        rows = model.fit_transform(data, [0] * 120)
        print(rows.shape, model.transform(data).shape, 0 <= model.score(data) <= 1, len(model.get_feature_names_out()))
        model.set_output(transform="default")
        model._repr_html_()
        try:
            model.set_output(transform="pandas").transform(data)
        except ImportError as error:
            print(error)
        try:
            ControlG().schedule_
        except controlg.NotFittedError:
            print("not fitted")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "(120, 8) (120, 8) True 8",
        "set_output(transform='pandas') needs pandas, which is not installed",
        "not fitted",
    ]
