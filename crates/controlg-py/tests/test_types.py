"""The stub matches the module, and the package type-checks."""

import subprocess
import sys
from pathlib import Path

import pytest

import controlg


def check(tmp_path, *command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_matches_the_module(tmp_path):
    pytest.importorskip("mypy")
    check(tmp_path, "mypy.stubtest", "controlg._core")


def test_the_package_type_checks(tmp_path):
    pytest.importorskip("mypy")
    names = [path.stem for path in Path(controlg.__file__).parent.glob("*.py") if path.name != "torch.py"]
    modules = [word for name in names for word in ("-m", f"controlg.{name}".removesuffix(".__init__"))]
    check(tmp_path, "mypy", "--strict", "--no-warn-return-any", "--cache-dir", str(tmp_path / "cache"), *modules)
