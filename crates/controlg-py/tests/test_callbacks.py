"""Callbacks, early stopping, progress, and interrupts."""

import json
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from conftest import DATA, SMALL, program

from controlg import ControlG, EarlyStopping, StopTraining

LONG = {**SMALL, "epochs": 100000}


def test_every_callback_gets_every_line():
    seen, other = [], []
    model = ControlG(
        **SMALL,
        callback=lambda done, steps, line: seen.append((done, steps, line["kind"])),
        callbacks=[lambda done, steps, line: other.append(line["kind"])],
    ).fit(DATA)
    assert seen[-1][:2] == (30, 30) and sum(kind == "block" for *_, kind in seen) == len(model.schedule_["task"])
    assert other == [kind for *_, kind in seen]
    assert model.partial_ is False and model.n_steps_ == 30


def test_a_callback_stops_training_at_the_same_block_each_time(tmp_path):
    def by_answer(done, steps, line):
        return done >= 60

    def by_exception(done, steps, line):
        if done >= 60:
            raise StopTraining

    runs = [ControlG(**LONG, callbacks=[stop]).fit(DATA) for stop in (by_answer, by_exception, by_answer)]
    assert {run.embedding_.tobytes() for run in runs} == {runs[0].embedding_.tobytes()}
    assert all(run.partial_ and run.n_steps_ == 60 for run in runs)
    assert runs[0].transform(DATA).tobytes() == runs[0].embedding_.tobytes()
    runs[0].save(tmp_path / "run")
    assert program("audit", tmp_path / "run").returncode == 0
    loaded = ControlG.load(tmp_path / "run")
    assert loaded.partial_ and loaded.n_steps_ == 60
    # A value that is only truthy is no answer: callbacks of version 0.1 could return anything.
    assert not ControlG(**SMALL, callback=lambda *_: "text").fit(DATA).partial_


def test_any_other_exception_leaves_the_estimator_unchanged():
    def fail(done, steps, line):
        if done > 40:
            raise StopAsyncIteration("enough")

    model = ControlG(**SMALL).fit(DATA)
    before = model.embedding_
    with pytest.raises(StopAsyncIteration):
        model.set_params(epochs=100000, callback=fail).fit(DATA)
    assert model.embedding_ is before and not model.partial_
    with pytest.raises(ValueError, match="callbacks: found 3, expected functions"):
        ControlG(callbacks=[3])


@pytest.mark.parametrize("method", ["controlg", "random", "uniform", "p_link"])
def test_early_stopping(method):
    stopping = EarlyStopping(patience=2, min_delta=0.5)  # losses are rarely halved
    settings = {**LONG, "train__batches_per_epoch": 10, "train__warmup_rounds": 1}
    first = ControlG(**settings, method=method, callbacks=[stopping]).fit(DATA)
    again = ControlG(**settings, method=method, callbacks=[stopping]).fit(DATA)  # it starts anew
    assert first.partial_ and first.n_steps_ < 1000
    assert again.n_steps_ == first.n_steps_ and again.embedding_.tobytes() == first.embedding_.tobytes()
    for wrong in ({"patience": 0}, {"min_delta": 1}):
        with pytest.raises(ValueError, match="expected"):
            EarlyStopping(**wrong)


@pytest.fixture
def alarm():
    """Raises KeyboardInterrupt after some seconds, as Ctrl-C does."""
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("callbacks", [None, [lambda *_: None]])
def test_an_interrupt_keeps_what_was_learned(alarm, callbacks):
    model = ControlG(**LONG, callbacks=callbacks)
    begun = time.monotonic()
    alarm(1.0)
    with pytest.warns(UserWarning, match="training was interrupted: the embeddings are those after"):
        model.fit(DATA)
    assert time.monotonic() - begun < 60
    assert model.partial_ and 30 < model.n_steps_ < 30 * LONG["epochs"]
    steps = model.n_steps_
    stopped = ControlG(**LONG, callbacks=[lambda done, *_: done >= steps]).fit(DATA)
    assert model.embedding_.tobytes() == stopped.embedding_.tobytes()
    assert not model.set_params(epochs=1).fit(DATA).partial_


def test_an_interrupt_before_the_first_block_is_raised(alarm):
    def slow(done, steps, line):
        assert line["kind"] == "warmup"
        time.sleep(5)

    model = ControlG(**LONG, callbacks=[slow])
    alarm(0.5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(DATA)
    assert not hasattr(model, "embedding_")


def test_ctrl_c_in_a_program():
    script = """
        import os, signal, threading, warnings
        from controlg import ControlG
        warnings.simplefilter("error")
        threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            ControlG(epochs=100000, width=8, objective__p_par__parts=4).fit("synthetic:nodes=120,features=40")
        except UserWarning as warning:
            print(warning)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "training was interrupted" in done.stdout, done.stderr


def test_the_progress_bar(capsys):
    pytest.importorskip("tqdm")
    ControlG(**SMALL, verbose=True).fit(np.array([[0, 1], [1, 2], [2, 0], [2, 3]] * 3))
    said = capsys.readouterr().err
    assert "30/30" in said and "pretraining: 100%" in said and "features are structural" in said
    assert ControlG(**SMALL).fit(DATA) and capsys.readouterr().err == ""


def test_progress_without_tqdm(capsys, monkeypatch):
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    ControlG(**{**SMALL, "epochs": 3}, verbose=1).fit(DATA)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("pretraining: 90 of 90 steps, p_") and len(lines) <= 11


def test_a_callback_gets_the_lines_of_the_record():
    lines = []
    model = ControlG(**SMALL, callbacks=[lambda done, steps, line: lines.append(line)]).fit(DATA)
    stored = [json.loads(text) for text in model.record_.splitlines()[1:]]
    assert [{**line, "seal": 0} for line in stored] == [{**line, "seal": 0} for line in lines]
