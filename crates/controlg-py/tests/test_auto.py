"""``ControlG(auto=True)``, checked against ``controlg pretrain --auto``."""

import json

import numpy as np
import pytest
from conftest import DATA, program

from controlg import ControlG

SMALL = {"epochs": 1, "width": 8, "train__batches_per_epoch": 16, "embed__features": 4, "method": "random"}
FLAGS = ["train.epochs=1", "encoder.width=8", "train.batches_per_epoch=16", "embed.features=4", "method=random"]


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    run = tmp_path_factory.mktemp("auto") / "run"
    flags = [word for flag in FLAGS for word in ("--set", flag)]
    done = program("pretrain", DATA, "--auto", "--seed", 3, "--out", run, "--quiet", *flags)
    assert done.returncode == 0, done.stderr
    return run


def test_the_search_and_its_full_run_are_those_of_the_command(command, tmp_path, capfd):
    model = ControlG(**SMALL, random_state=3, auto=True, verbose=True).fit(DATA)
    assert model.embedding_.tobytes() == np.load(command / "embeddings.npy").tobytes()
    assert model.auto_ == json.loads((command / "auto.json").read_text())
    assert isinstance(model.auto_["winner"], int) and len(model.auto_["candidates"]) == 8
    said = capfd.readouterr().err
    assert "auto: 8 candidates" in said and "auto: chose candidate" in said

    model.save(tmp_path / "ours")
    for name in ("config.toml", "auto.json", "embeddings.npy", "model.safetensors", "auto/round-2"):
        ours, theirs = tmp_path / "ours" / name, command / name
        assert ours.is_dir() == theirs.is_dir()
        if ours.is_dir():
            assert sorted(path.name for path in ours.iterdir()) == sorted(path.name for path in theirs.iterdir())
        else:
            assert ours.read_bytes() == theirs.read_bytes(), name
    audited = program("audit", tmp_path / "ours")
    assert audited.returncode == 0, audited.stderr
    # The choice follows from the short runs.
    search = tmp_path / "ours" / "auto.json"
    other = (model.auto_["winner"] + 1) % 8
    without_seal = {key: value for key, value in model.auto_.items() if key != "seal"}
    search.write_text(json.dumps({**without_seal, "winner": other}))
    assert program("audit", tmp_path / "ours").returncode == 1

    # A later fit without the search forgets it, and replaces it in the folder.
    model.set_params(auto=False).fit(DATA)
    assert not hasattr(model, "auto_")
    model.save(tmp_path / "ours", overwrite=True)
    assert not search.exists() and not (tmp_path / "ours" / "auto").exists()


def test_a_loaded_run_keeps_its_search(command, tmp_path):
    loaded = ControlG.load(command)
    assert loaded.auto_ == json.loads((command / "auto.json").read_text())
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "auto.json").read_bytes() == (command / "auto.json").read_bytes()
    assert program("audit", tmp_path / "again").returncode == 0


def test_the_parameter_is_checked():
    with pytest.raises(ValueError, match="auto: found 'yes', expected True or False"):
        ControlG(auto="yes")
    assert ControlG(auto=True).get_params()["auto"] is True
