"""``torchrun … -m controlg pretrain``: the same bytes with any number of ranks, wrong use. Needs PyTorch."""

import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

SETTINGS = ["train.batch=cluster", "train.batch_nodes=160", "train.shards=4", "train.epochs=2", "encoder.width=16"]
SETTINGS += ["train.batches_per_epoch=15"]


def pretrain(ranks, out, *more):
    launcher = [] if ranks == 1 else ["-m", "torch.distributed.run", "--nproc_per_node", str(ranks)]
    command = [sys.executable, *launcher, "-m", "controlg", "pretrain", "synthetic:nodes=1200,features=40"]
    command += ["--threads", "1", "--quiet", "--out", str(out), *(f"--set={setting}" for setting in SETTINGS)]
    return subprocess.run([*command, *more], capture_output=True, text=True, timeout=600)


def bytes_of(ranks, out, *more):
    done = pretrain(ranks, out, *more)
    assert done.returncode == 0, done.stderr
    return (out / "embeddings.npy").read_bytes()


def test_the_bytes_do_not_depend_on_the_number_of_ranks(tmp_path):
    one = bytes_of(1, tmp_path / "1")
    assert bytes_of(2, tmp_path / "2") == one
    assert bytes_of(4, tmp_path / "4") == one


def test_wrong_use_is_reported_once(tmp_path):
    done = pretrain(2, tmp_path / "run", "--set=train.shards=1")
    assert done.returncode != 0
    found = [line for line in done.stderr.splitlines() if line.startswith("controlg: ")]
    assert found == ["controlg: train.shards: found 1, expected at least 2, one per rank"]
    assert not (tmp_path / "run").exists()
