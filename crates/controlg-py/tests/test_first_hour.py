"""Plays the first hour of a new user with the installed wheel: the README from top to bottom, the quick start twice, and one
graph in seven formats. The notebook is run by ``test_examples.py``."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import program

import controlg

ROOT = Path(os.environ.get("CONTROLG_REPOSITORY", Path(__file__).resolve().parents[3]))
BLOCK = re.compile(r"^<!-- run -->\n```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SMALL = ["--set", "train.epochs=2", "--set", "train.batches_per_epoch=20", "--set", "encoder.width=8"]


def readme():
    """The marked blocks of the README, in order, as (language, text)."""
    page = ROOT / "README.md"
    if not page.exists():
        pytest.skip("the repository's README is not here")
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def play(language, text, folder):
    """Runs a block as a user would paste it; a shell goes on after a failed command."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["sh", "-c", text] if language == "sh" else [sys.executable, "-c", text]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path})


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_readme_from_top_to_bottom_and_again(tmp_path):
    blocks = readme()
    assert [language for language, _ in blocks] == ["sh", "python", "sh"]
    for language, text in blocks:
        strict = "set -e\n" + text if language == "sh" else text
        done = play(language, strict, tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr and "panicked" not in done.stderr
    assert (tmp_path / "my-run" / "report.html").exists()
    assert (tmp_path / "friends" / "embeddings.npy").exists()

    before = (tmp_path / "my-run" / "embeddings.npy").read_bytes()
    again = play(*blocks[0], tmp_path)
    assert "found a finished run of controlg on synthetic" in again.stderr
    assert "--resume" in again.stderr and "--force" in again.stderr
    assert (tmp_path / "my-run" / "embeddings.npy").read_bytes() == before
    assert "found a finished run" in play(*blocks[2], tmp_path).stderr


#: A small graph: two rings of ten nodes with a bridge, and two features on different scales.
EDGES = [(f"n{k}", f"n{(k + 1) % 10}") for k in range(10)]
EDGES += [(f"n{10 + k}", f"n{10 + (k + 1) % 10}") for k in range(10)] + [("n0", "n10")]
NODES = [f"n{k}" for k in range(20)]
FEATURES = [(k % 4 + 0.5, 1000.0 * (k // 10) + 10 * k) for k in range(20)]


def write_delimited(folder, delimiter, suffix, decimal="."):
    number = lambda x: str(x).replace(".", decimal)
    lines = [delimiter.join(("src", "dst"))] + [delimiter.join(edge) for edge in EDGES]
    (folder / f"edges.{suffix}").write_text("\n".join(lines) + "\n")
    lines = [delimiter.join(("id", "a", "b"))]
    lines += [delimiter.join((node, number(a), number(b))) for node, (a, b) in zip(NODES, FEATURES)]
    (folder / f"features.{suffix}").write_text("\n".join(lines) + "\n")


def write_parquet(folder):
    polars = pytest.importorskip("polars")
    polars.DataFrame(EDGES, schema=["src", "dst"], orient="row").write_parquet(folder / "edges.parquet")
    table = {"id": NODES, "a": [a for a, _ in FEATURES], "b": [b for _, b in FEATURES]}
    polars.DataFrame(table).write_parquet(folder / "features.parquet")


def write_arrays(folder):
    write_delimited(folder, ",", "csv")
    (folder / "features.csv").unlink()
    (folder / "ids.txt").write_text("\n".join(NODES) + "\n")
    np.save(folder / "features.npy", np.array(FEATURES, dtype=np.float32))


FORMATS = {
    "csv": lambda folder: write_delimited(folder, ",", "csv"),
    "tsv": lambda folder: write_delimited(folder, "\t", "tsv"),
    "semicolons": lambda folder: write_delimited(folder, ";", "csv", decimal=","),
    "parquet": write_parquet,
    "numpy": write_arrays,
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The embeddings of the graph, by node."""
    home = tmp_path_factory.mktemp("expected")
    (home / "graph").mkdir()
    FORMATS["csv"](home / "graph")
    return embed(home)


def embed(home):
    done = program("pretrain", home / "graph", "--out", home / "run", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "features are standardized by columns (columns on different scales)" in done.stderr
    ids = (home / "run" / "ids.txt").read_text().split()
    return dict(zip(ids, np.load(home / "run" / "embeddings.npy")))


@pytest.mark.parametrize("name", FORMATS)
def test_one_graph_in_files_of_five_formats(name, tmp_path, expected):
    (tmp_path / "graph").mkdir()
    FORMATS[name](tmp_path / "graph")
    found = embed(tmp_path)
    assert sorted(found) == sorted(expected)
    for node, row in expected.items():
        np.testing.assert_array_equal(found[node], row)


def objects():
    """The graph and its features; a table of edges needs features with node ids."""
    networkx = pytest.importorskip("networkx")
    pandas = pytest.importorskip("pandas")
    graph = networkx.Graph()
    graph.add_nodes_from(NODES)
    graph.add_edges_from(EDGES)
    edges = pandas.DataFrame(EDGES, columns=["src", "dst"])
    features = pandas.DataFrame(FEATURES, columns=["a", "b"], index=NODES)
    return {"networkx": (graph, np.array(FEATURES)), "pandas": (edges, features)}


@pytest.mark.parametrize("name", ["networkx", "pandas"])
def test_one_graph_as_objects_of_two_libraries(name, tmp_path):
    model = controlg.ControlG(epochs=2, width=8, train__batches_per_epoch=20)
    embedding = model.fit_transform(objects()[name])
    assert embedding.shape == (20, 8) and sorted(model.nodes_) == sorted(NODES)
    assert any("standardized by columns" in note for note in model.notes_)
    model.save(tmp_path / "run")
    assert program("audit", tmp_path / "run").returncode == 0
