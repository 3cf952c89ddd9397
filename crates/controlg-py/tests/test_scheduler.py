"""The scheduler in a custom loop."""

import json

import numpy as np
import pytest
from conftest import program

from controlg import Scheduler, audit

NAMES = ["a", "b", "c"]


def drive(scheduler, blocks):
    tasks = []
    for block in blocks:
        if scheduler.due():
            x = np.sin(0.37 * block)
            gradients = np.array([[1.0, x, 0.0], [0.0, 1.0, 0.3], [-0.2, 0.0, 1.0]])
            scheduler.sense([1 + x / 10, 0.8, 0.5], gradients, rayleigh={"a": 0.3, "b": 1.0, "c": 1.4})
        tasks.append(scheduler.next())
    return tasks


def test_the_record_passes_the_audit_and_a_changed_one_fails(tmp_path):
    record = tmp_path / "record.jsonl"
    scheduler = Scheduler(NAMES, record=record, random_state=5, plan__delta=0.2)
    scheduler.warm_up([1, 1, 1])
    tasks = drive(scheduler, range(120))
    assert set(tasks) == set(NAMES) and abs(sum(scheduler.shares.values()) - 1) < 1e-12
    assert audit(record)["blocks"] == 120
    done = program("audit", record, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["sensings"] == 12, done.stderr
    record.write_text(record.read_text().replace('"task":"a"', '"task":"b"', 1))
    assert program("audit", record).returncode == 1
    with pytest.raises(ValueError):
        audit(record)


def test_both_names_of_the_seed_are_refused():
    assert drive(Scheduler(NAMES, seed=5), range(30)) == drive(Scheduler(NAMES, random_state=5), range(30))
    with pytest.raises(ValueError, match="found both random_state and seed"):
        Scheduler(NAMES, random_state=7, seed=5)


def test_a_saved_state_continues_schedule_and_record(tmp_path):
    whole = drive(Scheduler(NAMES), range(90))
    record = tmp_path / "record.jsonl"
    first = Scheduler(NAMES, record=record)
    tasks = drive(first, range(50))
    state = json.loads(json.dumps(first.state_dict()))
    drive(first, range(50, 60))
    second = Scheduler(NAMES, record=record, state=state)
    assert tasks + drive(second, range(50, 90)) == whole
    assert audit(record)["blocks"] == 90
    with pytest.raises(ValueError, match="expected \\['a', 'b'\\]"):
        Scheduler(["a", "b"], state=state)
    with pytest.raises(ValueError, match="expected a new file"):
        Scheduler(NAMES, record=record)


def test_invalid_arguments_are_refused():
    scheduler = Scheduler(NAMES)
    with pytest.raises(ValueError, match="due before this block"):
        scheduler.next()
    with pytest.raises(ValueError, match="3 finite numbers"):
        scheduler.sense([1, 2, np.nan], gram=np.eye(3))
    with pytest.raises(ValueError, match="3 × 3 inner products"):
        scheduler.sense([1, 2, 3], gram=np.eye(2))
    with pytest.raises(ValueError, match="expected one of them"):
        scheduler.sense([1, 2, 3])
    with pytest.raises(ValueError, match="did you mean 'plan.delta'"):
        Scheduler(NAMES, plan__dleta=1)
    with pytest.raises(ValueError, match="twice"):
        Scheduler(["a", "a"])
