"""Comparisons on Ray: the same results as without it, lost workers, interruption, failing runs. Needs Ray, except for the
message about its absence."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import controlg

SETTINGS = ["encoder.width=8", "train.epochs=1", "objective.p_par.parts=3", "objective.p_decor.width=8"]
COMPARISON = ["--data", "synthetic:nodes=150,synthetic:nodes=180", "--methods", "controlg,random,uniform", "--seeds", "2"]
#: Tells the processes of a test from others.
MARK = "CONTROLG_TEST_MARK"


@pytest.fixture
def ray():
    return pytest.importorskip("ray", reason="Ray is not installed (pip install controlg[ray])")


def command(out, *more, comparison=COMPARISON, steps=40):
    settings = [f"--set={setting}" for setting in [*SETTINGS, f"train.batches_per_epoch={steps}"]]
    compare = ["compare", *comparison, "--tasks", "nc", "--no-singles", "--quiet", "--out", out, *settings, *more]
    return [sys.executable, "-m", "controlg", *map(str, compare)]


def run(out, *more, **options):
    done = subprocess.run(command(out, *more, **options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return cells(out)


def cells(out):
    """The result lines without times and memory, in a fixed order."""
    found = [json.loads(line) for line in (Path(out) / "results.jsonl").read_text().splitlines()]
    for cell in found:
        for unsteady in ("seconds", "peak_mb", "threads", "seal"):
            del cell[unsteady]
    return sorted(json.dumps(cell, sort_keys=True) for cell in found)


def start(out, *more, **options):
    return subprocess.Popen(
        command(out, "--engine", "ray", *more, **options),
        env={**os.environ, MARK: str(out)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, process, seconds=180):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.05)
    return found


def workers(out):
    """The Ray workers of a comparison that run a job now."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_job = b"run-job" in (folder / "cmdline").read_bytes().split(b"\0")
            if is_job and f"{MARK}={out}".encode() in (folder / "environ").read_bytes():
                found.append(int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]))
        except (OSError, IndexError):
            continue  # it has ended
    return found


def lines(out):
    results = Path(out) / "results.jsonl"
    return results.read_text().count("\n") if results.exists() else 0


def test_without_ray_the_message_says_how_to_install_it(tmp_path, monkeypatch):
    (tmp_path / "ray.py").write_text("raise ImportError('no Ray')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(command(tmp_path / "out", "--engine", "ray"), capture_output=True, text=True)
    assert done.returncode == 2
    expected = "controlg: --engine ray: found Ray is not installed: pip install controlg[ray], expected a Ray cluster\n"
    assert done.stderr == expected
    with pytest.raises(ValueError, match="Slurm is on the command line"):
        controlg.compare("synthetic:nodes=150", "random", engine="slurm")


def test_ray_is_not_imported_without_it():
    code = "import controlg, sys; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_cells_are_those_of_a_comparison_without_an_engine(tmp_path, ray):
    plain = run(tmp_path / "plain")
    assert len(plain) == 2 * 2 * 8
    assert run(tmp_path / "ray", "--engine", "ray") == plain


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_a_killed_worker_loses_nothing(tmp_path, ray):
    out = tmp_path / "ray"
    process = start(out, steps=120)
    victim = wait_for(lambda: lines(out) > 0 and workers(out), process)[0]
    os.kill(victim, signal.SIGKILL)
    assert process.wait(600) == 0, process.stderr.read()
    assert cells(out) == run(tmp_path / "plain", steps=120)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_an_interrupted_comparison_continues_without_an_engine(tmp_path, ray):
    out = tmp_path / "ray"
    process = start(out, steps=120)
    wait_for(lambda: lines(out) > 2, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert 2 < lines(out) < 32
    assert run(out, steps=120) == run(tmp_path / "plain", steps=120)


def test_a_run_that_fails_twice_is_reported_and_the_rest_goes_on(tmp_path, ray):
    out = tmp_path / "ray"
    comparison = ["--data", "synthetic:nodes=150", "--methods", "random,mvgrl", "--seeds", "1"]
    failing = command(out, "--engine", "ray", "--set=train.batch=cluster", comparison=comparison)
    done = subprocess.run(failing, capture_output=True, text=True)
    assert done.returncode == 3
    assert "1 runs failed" in done.stderr and "failed twice: train.batch: found mvgrl" in done.stderr
    methods = {json.loads(cell)["method"] for cell in cells(out)}
    assert {"random", "raw", "untrained"} <= methods and "mvgrl" not in methods
