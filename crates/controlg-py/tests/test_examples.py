"""The README and the examples run as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert "club foretold" in run([sys.executable, HOME / "examples" / "own_graph.py"], tmp_path)


def test_compare_methods(tmp_path):
    said = run([sys.executable, HOME / "examples" / "compare_methods.py"], tmp_path)
    assert "controlg" in said and "untrained" in said


def test_pyg_loop_alone_and_on_two_ranks(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: the PyTorch example is not run")
    script = HOME / "examples" / "pyg_loop.py"
    alone = run([sys.executable, script], tmp_path)
    assert "100 blocks and 10 sensings hold" in alone
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    together = run([*torchrun, script], tmp_path)
    schedules = re.findall(r"schedule (\w+)", together)
    assert len(schedules) == 2 and set(schedules) == set(re.findall(r"schedule (\w+)", alone))


def test_what_is_wrong_with_a_comparison_is_said():
    with pytest.raises(ValueError, match="unknown method 'contrlg'"):
        compare("synthetic:nodes=100", ["contrlg"], seeds=1)
