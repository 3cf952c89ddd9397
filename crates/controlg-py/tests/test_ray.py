"""Comparisons on Ray: the same results as without it, running clusters, nodes without the data, lost workers, interruption,
failing runs. Needs Ray, except for the message about its absence."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import controlg
from controlg import _ray

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


def run(out, *more, cwd=None, **options):
    done = subprocess.run(command(out, *more, **options), capture_output=True, text=True, cwd=cwd)
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


def wait_for(condition, process, seconds=600):
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


@pytest.fixture
def cluster(ray):
    """A cluster without CPUs; nodes bring them."""
    utils = pytest.importorskip("ray.cluster_utils")
    cluster = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield cluster
    cluster.shutdown()


def test_a_running_cluster_is_used_by_its_address(tmp_path, cluster):
    cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    small = ["--data", "synthetic:nodes=150", "--methods", "random", "--seeds", "2"]
    # A local cluster would have other CPUs: three are on no node here.
    too_many = command(tmp_path / "none", "--engine", f"ray={cluster.address}", "--threads=3", comparison=small)
    done = subprocess.run(too_many, capture_output=True, text=True)
    assert done.returncode == 3 and "no node of the cluster has 3 CPUs" in done.stderr
    on_ray = run(tmp_path / "ray", "--engine", f"ray={cluster.address}", comparison=small)
    assert on_ray == run(tmp_path / "plain", comparison=small)
    found = controlg.compare(
        "synthetic:nodes=150",
        "random",
        seeds=1,
        tasks="nc",
        singles=False,
        out=tmp_path / "python",
        engine=f"ray={cluster.address}",
        width=8,
        epochs=1,
        train__batches_per_epoch=40,
    )
    assert {result["method"] for result in found} >= {"random", "raw"}


def test_an_address_without_a_cluster_is_an_error(tmp_path, ray):
    done = subprocess.run(command(tmp_path / "out", "--engine", "ray=127.0.0.1:1"), capture_output=True, text=True)
    assert done.returncode == 2
    assert "--engine ray: found nobody listens at 127.0.0.1:1 (" in done.stderr


def test_the_trials_of_a_grid_are_those_of_a_search_without_an_engine(tmp_path, ray):
    grid = tmp_path / "grid.toml"
    grid.write_text('[all]\n"train.lr" = [0.001, 0.01]\n[controlg]\n"control.kp" = [0.5, 1.0]\n')
    small = ["--data", "synthetic:nodes=150", "--methods", "controlg,random", "--seeds", "1", "--grid", str(grid)]
    assert run(tmp_path / "ray", "--engine", "ray", comparison=small) == run(tmp_path / "plain", comparison=small)

    def trials(folder):
        return sorted((tmp_path / folder / "trials.jsonl").read_text().splitlines())

    assert len(trials("ray")) == 6 and trials("ray") == trials("plain")
    chosen = [(tmp_path / folder / "chosen.json").read_text() for folder in ("ray", "plain")]
    assert chosen[0] == chosen[1]
    searched = command(tmp_path / "search", "--engine", "ray", "--validation-only", comparison=small)
    subprocess.run(searched, check=True, capture_output=True)
    assert trials("search") == trials("plain") and not (tmp_path / "search" / "results.jsonl").exists()


def node_without(folder, address, temporary):
    """A node with two CPUs on which a folder is empty, in a mount namespace of its own."""
    node = f'mount -t tmpfs none "{folder}" && exec "$0" -m ray.scripts.scripts start "$@"'
    start = [sys.executable, f"--address={address}", "--num-cpus=2", "--block"]
    # Ray keeps its sockets, whose paths are short, elsewhere.
    environment = {**os.environ, "TMPDIR": str(temporary), "RAY_TMPDIR": "/tmp"}
    return subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", node, *start],
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_alive_with_cpus(node):
    return node["Alive"] and node["Resources"].get("CPU", 0) >= 2


def test_data_is_copied_once_to_a_node_that_does_not_see_it(tmp_path, cluster):
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    try:
        subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", str(home)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"mount namespaces need root on Linux: {error}")
    for name, nodes in (("first", 150), ("second", 180)):
        convert = ["data", "convert", f"synthetic:nodes={nodes}", str(home / name), "--quiet"]
        subprocess.run([sys.executable, "-m", "controlg", *convert], check=True, stdout=subprocess.DEVNULL)
    # One is given by a path below the current folder, the other by a whole path.
    small = ["--data", f"first,{home / 'second'}", "--methods", "random", "--seeds", "2"]
    plain = run(tmp_path / "plain", cwd=home, comparison=small)
    node = node_without(home, cluster.address, temporary)
    try:
        wait_for(lambda: any(is_alive_with_cpus(found) for found in cluster.global_state.node_table()), node)
        on_ray = run(tmp_path / "ray", "--engine", f"ray={cluster.address}", cwd=home, comparison=small)
    finally:
        os.killpg(node.pid, signal.SIGTERM)
        node.wait(60)
    assert on_ray == plain
    copies = temporary / f"controlg-{os.getuid()}"
    assert sorted(path.suffix for path in copies.iterdir()) == ["", "", ".lock", ".lock"]
    files = sorted(path.name for path in copies.glob("*/edges.csv"))
    assert files == ["edges.csv", "edges.csv"]


def test_a_copy_is_written_once_and_holds_the_files(tmp_path, monkeypatch):
    (tmp_path / "graph" / "more").mkdir(parents=True)
    (tmp_path / "graph" / "edges.csv").write_text("src,dst\na,b\n")
    (tmp_path / "graph" / "more" / "empty").write_text("")
    data = {"folder": str(tmp_path / "graph"), "files": ["edges.csv", "more/empty"]}

    class Store:
        stored = None
        fetched = 0

        def put(self, files):
            self.stored = files
            return "reference"

        def get(self, reference):
            assert reference == "reference"
            self.fetched += 1
            return self.stored

    store = Store()
    digest, reference = _ray.pack(store, data)
    monkeypatch.setattr(_ray.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ray", store)
    folder = Path(_ray.unpack(digest, reference))
    assert _ray.unpack(digest, reference) == str(folder) and store.fetched == 1
    assert (folder / "edges.csv").read_bytes() == (tmp_path / "graph" / "edges.csv").read_bytes()
    assert (folder / "more" / "empty").read_bytes() == b""
    # Other times tell the files of another node.
    before = _ray.stamps(data)
    os.utime(tmp_path / "graph" / "edges.csv", ns=(1, 1))
    assert _ray.stamps(data) != before and _ray.stamps({**data, "files": ["missing"]}) is None
    np.testing.assert_array_equal(store.stored["more/empty"], [])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_a_killed_worker_loses_nothing(tmp_path, ray):
    out = tmp_path / "ray"
    process = start(out, steps=120)
    victim = wait_for(lambda: lines(out) > 0 and workers(out), process)[0]
    os.kill(victim, signal.SIGKILL)
    assert process.wait(1800) == 0, process.stderr.read()
    assert cells(out) == run(tmp_path / "plain", steps=120)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_an_interrupted_comparison_continues_without_an_engine(tmp_path, ray):
    out = tmp_path / "ray"
    process = start(out, steps=120)
    wait_for(lambda: lines(out) > 2, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 130
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
