"""The stub says what the module is, and the package keeps to its types."""

import subprocess
import sys
from pathlib import Path

import pytest

import controlg


def check(tmp_path, *command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_is_that_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    check(tmp_path, "mypy.stubtest", "controlg._core")


def test_the_package_is_typed(tmp_path):
    pytest.importorskip("mypy")
    files = [str(path) for path in Path(controlg.__file__).parent.glob("*.py") if path.name != "torch.py"]
    check(tmp_path, "mypy", "--strict", "--no-warn-return-any", "--cache-dir", str(tmp_path / "cache"), *files)
