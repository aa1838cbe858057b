"""Whose fault an error is: the library's own look like its own, mistakes keep their names, and the user's errors arrive as raised."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import sys
import types
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import InternalError

ERRORS = (AssertionError, AttributeError, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError, NameError)

#: Modules whose functions are left alone: what tells whose fault an error is, and what must not fail where it is called.
APART = ("sparsekit.base.entry", "sparsekit.base.faults", "sparsekit.base.errors", "sparsekit.base.signal_safe",
         "sparsekit.base.scoped", "sparsekit.base.forking", "sparsekit.base.version", "sparsekit.core.hooks",
         "sparsekit.base.weak_references", "sparsekit.core.trace", "sparsekit.base.rng")


def dense():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    return net


def trainer():
    net = dense()
    made = mx.gluon.Trainer(net.collect_params(), "adam")
    with mx.autograd.record():
        loss = net(X()).sum()
    loss.backward()
    return made


def compiled():
    net = dense()
    net.hybridize()
    return mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), mx.gluon.Trainer(net.collect_params(), "sgd"))


def profile():
    with mx.Profiler() as found:
        mx.nd.ones((2, 2)) + 1
    return found


def module():
    made = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), label_names=None)
    made.bind([("data", (4, 3))])
    made.init_params()
    return made


def store():
    made = mx.kv.create("local")
    made.init("a", mx.nd.ones((2,)))
    return made


def X():
    return mx.nd.ones((4, 3))


#: A public call of each family, on what is made first.
CALLS = {
    "product": (lambda: X().tostype("csr"), lambda x: mx.nd.dot(x, mx.nd.ones((3, 5)))),
    "array": (lambda: [[1.0]], mx.nd.array),
    "csr array": (lambda: np.eye(2), mx.nd.sparse.csr_matrix),
    "conversion": (X, lambda x: x.tostype("row_sparse")),
    "layer": (lambda: 3, mx.gluon.nn.Dense),
    "initialization": (lambda: mx.gluon.nn.Dense(2, in_units=3), lambda net: net.initialize()),
    "trainer": (trainer, lambda made: made.step(4)),
    "compiled step": (compiled, lambda step: step(X(), mx.nd.zeros((4, 2)))),
    "file": (X, lambda x: mx.nd.save("made", [x])),
    "iterator": (X, lambda x: mx.io.NDArrayIter(x, batch_size=2)),
    "batch": (lambda: mx.io.NDArrayIter(X(), batch_size=2), lambda data: data.next()),
    "metric": (mx.metric.Accuracy, lambda metric: metric.update([mx.nd.zeros(4)], [X()])),
    "profile": (profile, lambda found: found.table()),
    "key-value store": (store, lambda made: made.push("a", mx.nd.ones((2,)))),
    "executor": (lambda: mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc").simple_bind(mx.cpu(), data=(4, 3)),
                 lambda made: made.forward()),
    "module": (module, lambda made: made.forward(mx.io.DataBatch([X()]))),
    "optimizer": (lambda: "adam", mx.optimizer.create),
}


def functions_of(namespace):
    for value in list(vars(namespace).values()):
        for one in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
            while isinstance(one, types.FunctionType):
                yield one
                one = vars(one).get("__wrapped__")
        if isinstance(value, type) and isinstance(namespace, types.ModuleType) and value.__module__ == namespace.__name__:
            yield from functions_of(value)


def functions_run(call):
    """The library's functions that a call runs, in their order."""
    codes = {}

    def note(frame, event, _):
        if event == "call":
            codes.setdefault(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    known = {one.__code__: one for name, module in list(sys.modules.items()) if name.startswith("sparsekit.") and name not in APART
             for one in functions_of(module) if one.__module__.startswith("sparsekit.") and one.__module__ not in APART}
    return [known[code] for code in codes if code in known and not code.co_freevars and not code.co_flags & 0x2A0]


def planted(*_, **__):
    import builtins
    raise builtins.planted_error


@contextlib.contextmanager
def failing(function, error):
    before = function.__code__
    builtins.planted_error = error
    function.__code__ = planted.__code__
    try:
        yield
    finally:
        function.__code__ = before
        del builtins.planted_error


def causes(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name", CALLS)
def test_a_fault_anywhere_inside_a_public_call_is_an_internal_error(name, tmp_path, monkeypatch):
    """Unless the library goes on without what failed."""
    monkeypatch.chdir(tmp_path)
    make, call = CALLS[name]
    call(make())
    made = make()
    functions = functions_run(lambda: call(made))
    wrong, faults = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function, kind in zip(functions, itertools.cycle(ERRORS), strict=False):
            made, error = make(), kind("planted")
            try:
                with failing(function, error):
                    call(made)
            except InternalError as found:
                faults += 1
                if error not in causes(found):
                    wrong.append((function.__qualname__, "another cause", found))
            except BaseException as found:
                wrong.append((f"{function.__module__}:{function.__qualname__}", kind.__name__, repr(found)[:90]))
    assert wrong == [], "\n".join(map(str, wrong))
    assert faults >= 3
