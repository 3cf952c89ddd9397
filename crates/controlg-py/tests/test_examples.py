"""The README and the examples run as printed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import program

from controlg import compare

HOME = Path(__file__).parent.parent


def run(command, folder):
    threads = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, env=threads)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme(tmp_path):
    pieces = re.findall(r"```python\n(.*?)```", (HOME / "README.md").read_text(), re.DOTALL)
    assert len(pieces) == 3
    (tmp_path / "readme.py").write_text("\n".join(pieces))
    said = run([sys.executable, "readme.py"], tmp_path)
    assert "% accuracy, random-10-10-80" in said and (tmp_path / "my-run" / "trace.jsonl").exists()


def test_own_graph(tmp_path):
    pytest.importorskip("networkx")
    assert "side predicted" in run([sys.executable, HOME / "examples" / "own_graph.py"], tmp_path)


def test_compare_methods(tmp_path):
    pytest.importorskip("matplotlib")
    said = run([sys.executable, HOME / "examples" / "compare_methods.py"], tmp_path)
    assert "controlg" in said and "untrained" in said and (tmp_path / "comparison.png").exists()


def test_the_notebook(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for module in ("ipykernel", "pandas"):
        pytest.importorskip(module)
    notebook = nbformat.read(HOME / "examples" / "first_hour.ipynb", as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells), "clear its outputs"
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    done = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = json.dumps([cell.get("outputs", []) for cell in done.cells])
    for words in ("% accuracy", "% NMI with", "stopped early: True", "(301, 32)", "<strong>ControlG</strong>", "200/200"):
        assert words in said, words
    assert (tmp_path / "first-run" / "trace.jsonl").exists()


@pytest.mark.parametrize("data", ["synthetic:nodes=300,features=32", "cora"])
def test_pyg_loop_alone_and_on_two_ranks(data, tmp_path):
    for module in ("torch", "torch_geometric"):
        pytest.importorskip(module, reason=f"{module} is not installed: the PyTorch example is not run")
    if data == "cora" and "CONTROLG_DATA" not in os.environ:
        pytest.skip("CONTROLG_DATA is not set: the example is not run on Cora")
    script = HOME / "examples" / "pyg_loop.py"
    alone, together = tmp_path / "alone", tmp_path / "together"
    alone.mkdir()
    together.mkdir()
    one = run([sys.executable, script, data], alone)
    assert "100 blocks and 10 sensings verified" in one
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two = run([*torchrun, script, data], together)
    schedules = re.findall(r"schedule (\w+)", two)
    assert len(schedules) == 2 and set(schedules) == set(re.findall(r"schedule (\w+)", one))
    for record in (alone / "record.jsonl", together / "record.jsonl"):
        assert program("audit", record).returncode == 0


def test_errors_of_a_comparison():
    with pytest.raises(ValueError, match="unknown method 'contrlg'"):
        compare("synthetic:nodes=100", ["contrlg"], seeds=1)
    with pytest.raises(ValueError, match="found both epochs and train__epochs"):
        compare("synthetic:nodes=100", "random", seeds=1, epochs=3, train__epochs=10)


def test_a_comparison_folder_is_reused_and_returns_its_own_results(tmp_path):
    small = {"epochs": 1, "width": 8, "train__batches_per_epoch": 30, "objective__p_par__parts": 4}
    data, out = "synthetic:nodes=100", tmp_path / "out"
    first = compare(data, "random", seeds=1, tasks="nc", singles=False, out=out, **small)
    assert {cell["method"] for cell in first} >= {"random", "raw"} and {cell["task"] for cell in first} == {"nc"}
    second = compare(data, "random", seeds=1, tasks="nc", singles=False, out=out, **{**small, "width": 16})
    assert len(second) == len(first) and (out / "tables.md").exists()
    assert compare(data, "random", seeds=1, tasks="nc", singles=False, out=out, **small) == first
