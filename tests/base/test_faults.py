"""Whose fault an error is: the library's own look like it, mistakes keep their names, the user's errors arrive as raised."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import os
import sys
import traceback
import types
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import InternalError
from tests.calls import refused
from tests.sampling import seed

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


#: Of the functions that a call runs, about as many fail.
SOME = 12

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
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("sparsekit.") and name not in APART]
    known = {one.__code__: one for module in modules for one in functions_of(module)
             if one.__module__.startswith("sparsekit.") and one.__module__ not in APART}
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
    """Unless the library goes on without what failed.  Of many functions a sample fails, others with each ``--all``."""
    monkeypatch.chdir(tmp_path)
    make, call = CALLS[name]
    call(make())
    made = make()
    functions = functions_run(lambda: call(made))
    apart = max(len(functions) // SOME, 1)
    functions = functions[seed() % apart::apart]
    found = {f"{function.__module__}:{function.__qualname__}, {kind.__name__}": outcome(make, call, function, kind("planted"))
             for function, kind in zip(functions, itertools.cycle(ERRORS), strict=False)}
    assert {name: said for name, said in found.items() if said not in ("internal", "went on")} == {}
    assert sum(said == "internal" for said in found.values()) >= 3


def outcome(make, call, function, error):
    """What becomes of a call inside of which a function raises, in a process of its own: what failed half-way stays there."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        try:
            made = make()
            try:
                with failing(function, error):
                    call(made)
                said = "went on"
            except InternalError as found:
                said = "internal" if error in causes(found) else f"of another cause: {found!r}"
            except BaseException as found:
                said = repr(found)
            os.write(writing, said.encode()[:4000])
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        said = file.read().decode()
    os.waitpid(child, 0)
    return said


def test_what_the_interpreter_says_of_the_librarys_own_objects_is_an_internal_error(monkeypatch):
    """Without a statement that raises it: an attribute of None, a key of a table, a function that is none."""
    from sparsekit.ndarray import files

    x = X()
    for name, value, kind in (("_encoded", None, TypeError), ("failures_named", 3, TypeError),
                              ("_named", lambda data: None.items(), AttributeError),
                              ("_named", lambda data: {}["names"], KeyError)):
        with monkeypatch.context() as patch:
            patch.setattr(files, name, value)
            with pytest.raises(InternalError) as found:
                mx.nd.save("made", [x])
        assert isinstance(found.value.__cause__, kind)
    monkeypatch.delattr(files, "_encoded")
    with pytest.raises(InternalError, match="name '_encoded' is not defined") as found:
        files.save_tobuffer([x])
    assert isinstance(found.value.__cause__, NameError)


def test_an_internal_error_says_what_to_report(monkeypatch):
    from sparsekit.ndarray import files

    def fails(*_):
        assert [] == [1], "two lists differ"

    monkeypatch.setattr(files, "_named", fails)
    with pytest.raises(InternalError) as found:
        mx.nd.save("made", [X()])
    assert str(found.value).startswith("save failed: AssertionError: two lists differ")
    assert f"This is a defect of sparsekit {mx.__version__}, not of your program." in str(found.value)
    assert "Hint: please report it with this traceback" in str(found.value)
    assert isinstance(found.value, mx.SparsekitError)
    assert not isinstance(found.value, (TypeError, ValueError, LookupError, AttributeError))
    assert [one.name for one in traceback.extract_tb(found.value.__cause__.__traceback__)][-1] == "fails"


class Own(Exception):
    """Of a user's program."""


class Odd:
    """An array that cannot be read."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *_, **__):
        raise self.error

    def __iter__(self):
        raise self.error

    def __len__(self):
        return 2

    def __getitem__(self, key):
        raise self.error


def users(error):
    """Calls of the library that call the user's code, which raises this."""
    def fails(*_, **__):
        raise error

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            fails()

    class Plain(mx.gluon.Block):
        forward = fails

    def hooked():
        net = dense()
        net.register_forward_hook(fails)
        return net(X())

    def fitted():
        net = dense()
        made = mx.gluon.contrib.estimator.Estimator(net, mx.gluon.loss.L2Loss(), trainer=mx.gluon.Trainer(
            net.collect_params(), "sgd"))
        handler = type("Handler", (mx.gluon.contrib.estimator.BatchEnd,), {"batch_end": fails})()
        data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(X(), mx.nd.zeros((4, 2))), batch_size=4)
        made.fit(data, epochs=1, event_handlers=[handler])

    def stepped():
        net = Net()
        net.initialize()
        net.hybridize()
        return mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), mx.gluon.Trainer(dense().collect_params(), "sgd"))(X(), X())

    return {
        "forward": lambda: Plain()(X()), "hybrid_forward": lambda: Net()(X()), "hook": hooked,
        "apply": lambda: dense().apply(fails),
        "handler": fitted, "compiled step": stepped,
        "metric": lambda: mx.metric.CustomMetric(fails).update([X()], [X()]),
        "data set": lambda: list(mx.gluon.data.DataLoader(mx.gluon.data.SimpleDataset([1]).transform(fails), batch_size=1)),
        "updater": lambda: (made := store(), made._set_updater(fails), made.push("a", mx.nd.ones((2,)))),
    }


@pytest.mark.parametrize("name", list(users(None)))
@pytest.mark.parametrize("error", [kind("mine") for kind in (Own, AssertionError, KeyError, TimeoutError, RuntimeError)],
                         ids=lambda error: type(error).__name__)
def test_errors_of_the_users_functions_arrive_as_they_were_raised(name, error):
    with pytest.raises(type(error)) as found:
        users(error)[name]()
    assert found.value is error


@pytest.mark.parametrize("call", [mx.nd.array, mx.nd.sparse.csr_matrix, lambda odd: mx.io.NDArrayIter(odd),
                                  lambda odd: mx.nd.ones((2, 2)).__setitem__(0, odd)],
                         ids=["array", "csr", "iterator", "assignment"])
def test_errors_of_the_users_arrays_arrive_or_are_the_cause_of_a_named_error(call):
    """An error of a class of the user's arrives; a builtin one says that the object is no array, which gets a name."""
    for error in (Own("mine"), TimeoutError("mine")):
        with pytest.raises((Own, TimeoutError, mx.SparsekitError)) as found:
            call(Odd(error))
        assert error in causes(found.value)
        assert not isinstance(found.value, InternalError)
    for kind in (ValueError, TypeError, KeyError):
        with pytest.raises(mx.SparsekitError) as found:
            call(Odd(kind("mine")))
        assert not isinstance(found.value, InternalError)


#: A call, the misspelt argument, and what was meant.
MISSPELT = {
    "layer": (lambda: mx.gluon.nn.Dense(2, unts=3), "unts", "units"),
    "loss": (lambda: mx.gluon.loss.L2Loss(weihgt=1), "weihgt", "weight"),
    "recurrent layer": (lambda: mx.gluon.rnn.LSTM(3, num_layer=2), "num_layer", "num_layers"),
    "container": (lambda: mx.gluon.nn.HybridSequential(prefx="a"), "prefx", "prefix"),
    "loader": (lambda: mx.gluon.data.DataLoader([1], batch_sise=1), "batch_sise", "batch_size"),
    "iterator": (lambda: mx.io.NDArrayIter(X(), bach_size=1), "bach_size", "batch_size"),
    "trainer": (lambda: mx.gluon.Trainer(dense().collect_params(), "sgd", kvstor=None), "kvstor", "kvstore"),
    "step": (lambda: trainer().step(4, ignore_stale=True), "ignore_stale", "ignore_stale_grad"),
    "optimizer": (lambda: mx.optimizer.create("sgd", momentun=1), "momentun", "momentum"),
    "initialize": (lambda: dense().initialize(intt=1), "intt", "init"),
    "profiler": (lambda: mx.Profiler(torhc=True), "torhc", "torch"),
    "parameter": (lambda: mx.gluon.Parameter("w", shap=1), "shap", "shape"),
    "compiled step": (lambda: mx.gluon.TrainStep(dense(), None, None, strct=True), "strct", "strict"),
    "metric": (lambda: mx.metric.Accuracy(axs=1), "axs", "axis"),
    "module": (lambda: mx.mod.Module(mx.sym.var("x"), contxt=1), "contxt", "context"),
    "store": (lambda: store().push("a", vaule_=1), "vaule_", "value"),
    "estimator": (lambda: mx.gluon.contrib.estimator.Estimator(dense(), mx.gluon.loss.L2Loss(), train_metrix=1), "train_metrix",
                  "train_metrics"),
    "trace": (lambda: mx.profiler.load("a", maxbytes=1), "maxbytes", "max_bytes"),
    "schedule": (lambda: mx.lr_scheduler.FactorScheduler(stp=1), "stp", "step"),
    "initializer": (lambda: mx.init.Normal(sigm=1), "sigm", "sigma"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_argument_is_a_named_error_with_the_nearest_name(name):
    call, wrong, right = MISSPELT[name]
    with pytest.raises(mx.UnknownNameError, match=rf"argument of .* named '{wrong}'[^ ]*\nHint: did you mean.* '{right}'"):
        call()


@pytest.mark.parametrize("call", [
    lambda: X() + np.array([None]), lambda: X() / np.array([None, 1.0, 2.0]), lambda: X() > np.array([["a"]], dtype=object),
    lambda: np.array([None]) * X(), lambda: mx.nd.maximum(np.array([None]), X()), lambda: X().tostype("csr") * np.array([None]),
    lambda: mx.init.MSRAPrelu(slope=np.array([None])), lambda: mx.gluon.nn.LeakyReLU(np.array([None])),
    lambda: mx.lr_scheduler.LRScheduler(mx.cpu()), lambda: mx.gluon.data.default_batchify_fn(int),
    lambda: mx.gluon.nn.Dense(2, in_units=3, dtype="bool").initialize()])
def test_what_an_argument_holds_or_is_makes_an_error_a_mistake(call):
    with pytest.raises(mx.SparsekitError) as found:
        call()
    assert not isinstance(found.value, InternalError)


@pytest.mark.parametrize("kind", [AssertionError, ValueError, NameError, RuntimeError])
def test_an_error_of_the_users_getattr_is_no_fault_of_the_library(kind):
    class Asked:
        def __getattr__(self, name):
            raise kind("mine")

    with pytest.raises((kind, mx.SparsekitError)) as found:
        mx.nd.array(Asked())
    assert not isinstance(found.value, InternalError)
    assert any(str(one) == "mine" for one in causes(found.value))


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no text")

    __str__ = __repr__


@pytest.mark.parametrize("value", [None, 3, ["macro"], {}, np.arange(3), Unshowable(), "x" * 10**6],
                         ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("function", [
    lambda value: mx.metric.F1(average=value), lambda value: mx.gluon.nn.Activation(value),
    lambda value: mx.gluon.rnn.LSTM(2, layout=value), lambda value: mx.gluon.Parameter("weight", shape=(1,), grad_req=value),
    lambda value: mx.gluon.data.BatchSampler(range(3), 2, value), lambda value: mx.initializer.Orthogonal(rand_type=value),
    lambda value: mx.io.NDArrayIter(np.zeros(2), last_batch_handle=value), lambda value: mx.profiler.dumps(sort_by=value)])
def test_a_value_that_is_not_one_of_some_words_is_refused_by_name_whatever_it_is(function, value):
    message = str(refused(mx.UnknownNameError, "^There is no .* named ", function, value))
    assert len(message) < 400
