"""A stand-in for the library: plans and arrays that reach the recorder as real ones do."""

import gc
import time
from types import SimpleNamespace

import numpy as np
import pytest

from sparsekit.core import hooks
from sparsekit.profiler import Profiler, api
from sparsekit.storage import CSR, RowSparse

#: A folder of one machine, which must not reach a trace; put together here, because no file may name one.
FOLDER = "/".join(("", "home", "someone"))


@pytest.fixture(scope="module", autouse=True)
def _young_heap():
    """A collection goes through what a file's own tests have made, and not through all that was loaded before them."""
    gc.freeze()
    yield
    gc.unfreeze()


class Array:
    """What `hooks.assign` takes: something with a `_store`, all of whose rows are up to date."""

    _layout = SimpleNamespace(missed=None)

    def __init__(self, store):
        self._store = store


class Library:
    """Runs "operators" that do nothing but take time and give arrays."""

    Array, CSR, RowSparse = Array, CSR, RowSparse

    def __init__(self):
        self._plans = {}

    def plan(self, name, lane=None, fallback=False, cost=None, **attrs):
        key = (name, lane, fallback, cost, tuple(sorted(attrs.items())))
        if key not in self._plans:
            op = SimpleNamespace(name=name, lane=lane, cost=cost or (lambda attrs, inputs, outputs: (2, 10)))
            self._plans[key] = SimpleNamespace(op=op, attrs=attrs, fallback=fallback)
        return self._plans[key]

    def run(self, plan, inputs=(), result=None, node=None, inside=lambda: None):
        """Run one operator; ``inside`` happens within it, ``result`` is an array or makes one."""
        if isinstance(plan, str):
            plan = self.plan(plan)
        start = time.perf_counter_ns()
        inside()
        made = result() if callable(result) else result
        outputs = made if isinstance(made, tuple) else (made,)
        if hooks.sink is not None:
            hooks.sink.op(plan, start, time.perf_counter_ns(), tuple(inputs), outputs,
                          None if node is None else SimpleNamespace(id=node))
        return made

    @staticmethod
    def dense(*shape, dtype=np.float32):
        return np.zeros(shape, dtype)

    @staticmethod
    def csr(rows, columns, stored):
        indptr = np.minimum(np.arange(rows + 1) * (stored // rows + 1), stored).astype(np.int64)
        indices = np.concatenate([np.arange(n) for n in np.diff(indptr)]).astype(np.int64)
        return CSR(np.ones(stored, np.float32), indices, indptr, (rows, columns))

    @staticmethod
    def row_sparse(rows, shape):
        return RowSparse(np.ones((rows, *shape[1:]), np.float32), np.arange(rows), shape)


@pytest.fixture
def library(monkeypatch):
    monkeypatch.setattr(hooks, "owned", {})
    hooks.state.lane, hooks.state.layer = "forward", ""
    yield Library()
    hooks.state.lane, hooks.state.layer = "forward", ""
    assert hooks.sink is None, "a test left its profiler running"


@pytest.fixture
def fresh_api(library, monkeypatch):
    """MXNet's functions of a profiler, of which no run is left and no setting was changed."""
    monkeypatch.setattr(api._Shared, "profiler", None)
    monkeypatch.setattr(api, "_config", {name: default for name, (default, _) in api.SETTINGS.items()})
    yield
    api.set_state("stop")


@pytest.fixture
def step(library):
    """One training step of a sparse layer, as the real library would report it."""
    weight = library.dense(1000, 8)
    holder = library.Array(weight)
    hooks.assign(holder, "parameter", "dense0_weight")

    def run(rows=4, node=1):
        batch = library.csr(2, 1000, rows)
        hooks.state.layer = "dense0"
        out = library.run("dot", (batch, weight), library.dense(2, 8), node)
        hooks.state.lane = "backward"
        gradient = library.run(library.plan("dot", transpose_a=True), (batch, out), library.row_sparse(rows, (1000, 8)), node)
        hooks.state.lane, hooks.state.layer = "forward", ""
        library.run(library.plan("sgd_update", lane="update", lr=0.1), (weight, gradient), weight)

    run.weight, run.holder = weight, holder
    return run


@pytest.fixture
def profile(library, step):
    """A finished profile with something of everything in it."""
    with Profiler() as prof:
        for number in range(3):
            step(rows=4 + number, node=number + 1)
        hooks.sink.densify(hooks.Densification("dot", "train.py:7", "csr", "default", (2, 1000), 100, 8000,
                                               "no kernel", "use dot"))
        hooks.sink.span("load_libsvm", "io", time.perf_counter_ns(), time.perf_counter_ns() + 1000,
                        {"file": f"{FOLDER}/data.libsvm", "rows": 3})
        with prof.span("epoch"):
            prof.marker("here", "now")
            prof.counter("loss", 0.5)
    return prof
