"""The parameters of the estimator are the settings of the library."""

import inspect
import json
import pydoc
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, SMALL, program
from write_parameters import written

import controlg
from controlg import ControlG
from controlg._settings import KEYS, OTHERS


def test_the_written_file_is_that_of_the_library():
    found = (Path(controlg.__file__).parent / "_parameters.py").read_text(encoding="utf-8")
    assert found == written(), "a setting has changed: run python tests/write_parameters.py and build again"


def test_every_setting_of_the_command_is_a_parameter_with_its_default_in_the_help():
    listed = json.loads(program("list", "config", "--json").stdout)
    assert len(listed) > 100
    parameters = inspect.signature(ControlG).parameters
    assert set(parameters) == set(KEYS) | set(OTHERS)
    assert {setting["name"] for setting in listed} == set(KEYS.values())
    text = " ".join(pydoc.plain(pydoc.render_doc(ControlG)).replace("|", " ").split())
    text = text[text.index("Takes every setting of the run file") :]
    for setting in listed:
        name = next(name for name, key in KEYS.items() if key == setting["name"])
        assert f" {name} : " in text
        if setting["default"] != '""':
            entry = text[text.index(f" {name} : ") :].split(" : ")[1]
            assert f"default {setting['default']})" in entry, name
    assert parameters["random_state"].default == 0 and parameters["train__lr"].default is None


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"plan__dleta": 1}, "unknown parameter 'plan__dleta', did you mean 'plan__delta'?"),
        ({"epoch": 1}, "unknown parameter 'epoch', did you mean 'epochs'?"),
        ({"lr": 1}, "unknown parameter 'lr', did you mean 'train__lr' or 'mix__gradnorm__lr'?"),
        ({"n_job": 1}, "unknown parameter 'n_job', did you mean 'n_jobs'?"),
        ({"zzz": 1}, r"unknown parameter 'zzz'; help\(ControlG.__init__\) lists the parameters"),
        ({"method": "contrlg"}, "unknown method 'contrlg', did you mean 'controlg'"),
        ({"objectives": ["p_lnk"]}, "unknown objective 'p_lnk', did you mean 'p_link'"),
        ({"encoder__kind": "gnn"}, "unknown encoder 'gnn'"),
        ({"preset": "papr"}, "preset: found \"papr\", expected tuned, paper"),
        ({"train__lr": -1}, "train.lr: found -1.0, expected a number from 0 to 10"),
        ({"epochs": 2.5}, "train.epochs: found 2.5, expected 1 to 1000000"),
        ({"random_state": -1}, "seed: found -1, expected a whole number from 0"),
        ({"n_jobs": 0}, "n_jobs: found 0, expected a whole number from 1, or -1 for all cores"),
        ({"width": "wide"}, "encoder.width: found \"wide\", expected 1 to 65536"),
        ({"random_state": np.random}, "settings: found <module"),
    ],
)
def test_parameters_are_checked_at_construction_and_when_they_are_set(settings, words):
    with pytest.raises(ValueError, match=words):
        ControlG(**settings)
    model = ControlG()
    with pytest.raises(ValueError, match=words):
        model.set_params(**{"verbose": True, **settings})
    assert model.get_params() == ControlG().get_params()


def test_other_names_of_a_parameter():
    for other, name, value in (
        ("seed", "random_state", 5),
        ("train__epochs", "epochs", 3),
        ("plan.delta", "plan__delta", 0.3),
        ("objective__cca-ssg__lambda", "objective__cca_ssg__lambda", 0.1),
        ("normalise", "normalize", "columns"),  # kept from version 0.1
        ("mix__autossl-es__steps", "mix__autossl_es__steps", 3),
    ):
        model = ControlG(**{other: value})
        assert getattr(model, name) == value and model.get_params()[name] == value
        assert repr(model) == f"ControlG({name}={value!r})"
    columns = ControlG(**SMALL, **{"normalise": "columns"}).fit_transform(DATA)  # kept from version 0.1
    assert columns.tobytes() == ControlG(**SMALL, normalize="columns").fit_transform(DATA).tobytes()


def test_numpy_values():
    model = ControlG(**{**SMALL, "epochs": np.int64(1)}, train__lr=np.float32(0.5), control__kp=np.full(5, 0.25))
    assert model.fit(DATA).n_steps_ == 30 and "kp = [0.25, 0.25" in model.config_
