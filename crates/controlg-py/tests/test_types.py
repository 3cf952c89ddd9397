"""The stub matches the module, and the package type-checks."""

import subprocess
import sys
from pathlib import Path

import pytest

import controlg

HOME = Path(__file__).parent.parent


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
    check(tmp_path, "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *modules)


def test_the_examples_type_check(tmp_path):
    pytest.importorskip("mypy")
    scripts = [str(path) for path in (HOME / "examples").glob("*.py") if path.name != "pyg_loop.py"]
    assert len(scripts) >= 2
    # NetworkX has no types of its own.
    check(tmp_path, "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), *scripts)


def test_the_pytorch_part_type_checks(tmp_path):
    pytest.importorskip("mypy")
    for module in ("torch", "torch_geometric"):
        pytest.importorskip(module, reason=f"{module} is not installed: controlg.torch is not type-checked")
    # Some functions of torch have no types.
    strict = ["--strict", "--allow-untyped-calls", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache")]
    check(tmp_path, "mypy", *strict, "-m", "controlg.torch")
    check(tmp_path, "mypy", *strict, str(HOME / "examples" / "pyg_loop.py"))


PROGRAM = """
from controlg import ControlG, EarlyStopping, evaluate

model = ControlG(epochs=2, train__lr=0.01, encoder__norm="batch", callbacks=[EarlyStopping(patience=3)], control__kp=[0.5])
score: float = model.fit("cora").score("cora")
found = evaluate(model.embedding_, ["a", "b"], task="cluster")
"""


def test_a_type_checker_knows_the_parameters(tmp_path):
    api = pytest.importorskip("mypy.api")

    def said(program):
        (tmp_path / "program.py").write_text(program)
        return api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "program.py")])[0]

    assert said(PROGRAM).startswith("Success")
    assert 'Unexpected keyword argument "train__rl"' in said(PROGRAM.replace("train__lr", "train__rl"))
    assert 'Argument "encoder__norm" to "ControlG"' in said(PROGRAM.replace('"batch"', '"bach"'))
    assert 'Argument "epochs" to "ControlG"' in said(PROGRAM.replace("epochs=2", 'epochs="two"'))
