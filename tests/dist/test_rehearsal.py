"""Before a server's first step, its kernels have been called for each kind: optimizer, element type, storage type, axes."""

import queue
from types import SimpleNamespace

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.dist import rehearsal
from sparsekit.dist.messages import KeySpec
from sparsekit.dist.rehearsal import FIRST, Rehearsal
from sparsekit.dist.shard import Shard
from sparsekit.optimizer.states import described
from sparsekit.optimizer.updater import Updater

TABLE, BIAS = KeySpec((5000, 8), "float32", "row_sparse", "rows:16"), KeySpec((10,), "float32")


@pytest.fixture
def steps(monkeypatch):
    """A rehearsal whose steps are made here, when they are asked for, and what each of them updated."""
    made = []

    def update(self, index, gradient, weight, before=Updater.__call__):
        made.append((type(self.optimizer).__name__, weight.stype, gradient.stype, weight.shape, weight.dtype))
        before(self, index, gradient, weight)

    monkeypatch.setattr(Updater, "__call__", update)
    monkeypatch.setattr(rehearsal, "threading", SimpleNamespace(Thread=lambda **how: SimpleNamespace(start=lambda: None)))

    def run(one):
        while True:
            try:
                one._step(*one._asked.get_nowait())
            except queue.Empty:
                found = sorted(set(made), key=repr)
                made.clear()
                return found

    return run


def text(name="adagrad"):
    return described(mx.optimizer.create(name, learning_rate=0.1))


def test_each_kind_is_made_once_whichever_comes_first(steps):
    one = Rehearsal()
    one.key(TABLE)
    one.key(BIAS)
    assert steps(one) == [], "without an optimizer, sums replace values"
    one.optimizer(text())
    assert steps(one) == [("AdaGrad", "default", "default", (2,), np.float32),
                          ("AdaGrad", "row_sparse", "row_sparse", (2, 2), np.float32)]
    one.key(TABLE._replace(shape=(70, 3)))
    one.after("init", (0, 0, "more", BIAS, None, None))
    assert steps(one) == [], "kinds that have been made"
    one.after("init", (0, 0, "half", BIAS._replace(dtype="float64"), None, None))
    assert [kind[-1] for kind in steps(one)] == [np.float64]
    one.after("optimizer", (0, 0, 2, text("adam")))
    assert {kind[0] for kind in steps(one)} == {"Adam"}


def test_a_server_that_starts_again_rehearses_what_its_journal_has(steps, tmp_path):
    before = Shard(str(tmp_path), 0, 1, 1)
    before.init(0, 0, "table", TABLE._replace(shape=(40, 8)), None, np.zeros((40, 8), "f"))
    before.optimizer(0, 0, 1, text())
    before.close()
    one = Rehearsal()
    one.of(Shard(str(tmp_path), 0, 1, 1, started_before=True))
    assert [kind[:3] for kind in steps(one)] == [("AdaGrad", "row_sparse", "row_sparse")]


def test_optimizers_of_the_user_are_not_run(steps):
    calls = []

    @mx.optimizer.register
    class Counted(mx.optimizer.SGD):
        def update(self, *arguments):
            calls.append(arguments)

    one = Rehearsal()
    one.key(BIAS)
    one.optimizer(described(Counted()))
    assert steps(one) == []
    assert not calls


def test_the_thread_goes_on_after_what_fails():
    one = Rehearsal()
    one.optimizer("no optimizer at all")
    one.key(KeySpec((3,), "no type"))
    done = queue.SimpleQueue()

    class Last(str):
        """An optimizer that says that it has been reached."""

    one._step = lambda optimizer, spec: done.put((optimizer, spec)) if isinstance(optimizer, Last) else None
    one._asked.put((Last("last"), FIRST))
    assert done.get(timeout=400) == ("last", FIRST)
