"""Kernels are silent about division by zero, overflow and the like, whatever numpy is told to say elsewhere."""

import contextlib
import threading
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.core.dispatch import invoke
from sparsekit.core.op import registry
from tests.calls import differentiated, refused, variable

HARD = np.array([0.0, 3e38, -3e38, 1e-45, np.inf, -np.inf, np.nan], np.float32)


def hardened(value):
    """The sample with numbers in it that overflow, divide by zero or are none."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return np.resize(HARD, value.shape).astype(np.float32)


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")
@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.IndexWarning")
@pytest.mark.parametrize("op", sorted({op.name: op for op in registry.values()}.values(), key=lambda op: op.name),
                         ids=lambda op: op.name)
def test_no_operator_warns_of_hard_numbers(op):
    for inputs, attrs in op.sample():
        arrays = [mx.nd.array(hardened(value), dtype=value.dtype) if isinstance(value, np.ndarray) else value
                  for value in inputs]
        with contextlib.suppress(mx.MXNetError):  # an operator may refuse such numbers, with an error of its own
            invoke(op.bind(attrs), tuple(arrays), ctx=mx.cpu())


@pytest.mark.parametrize("setting", ["raise", "warn"])
def test_the_users_error_state_is_neither_used_nor_changed(setting):
    zero, large = mx.nd.zeros((3,)), mx.nd.array([3e38, 1.0, 0.0])
    with np.errstate(all=setting):
        before = np.geterr()
        for made in (1 / zero, large + large, large * large, mx.nd.log(zero), mx.nd.exp(large), large.astype("float16"),
                     zero / zero, large**3):
            assert not np.isfinite(made.asnumpy()).all()
        zero[:] = 1e300
        zero += 1e300
        half = mx.nd.zeros((3,), dtype="float16")
        half[:] = large
        large.copyto(half)
        sparse = large.reshape((1, 3)).tostype("csr")
        assert (sparse * sparse).stype == sparse.astype("float16").stype == "csr"
        assert np.geterr() == before
        with pytest.raises(FloatingPointError) if setting == "raise" else pytest.warns(RuntimeWarning):
            np.float32(1) / np.zeros(1, np.float32)


def test_gradients_are_silent_too():
    x = variable(mx.nd.array([0.0, 1.0]))
    differentiated(lambda: mx.nd.log(x) * mx.nd.array([3e38, 1.0]))
    assert x.grad.asnumpy().tolist() == [np.inf, 1.0]


def test_every_thread_is_silent():
    found = []

    def work():
        with warnings.catch_warnings(record=True) as said:
            found.append(((mx.nd.ones((2,)) / 0).asnumpy().tolist(), len(said)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [([np.inf, np.inf], 0)] * 3


def test_operators_run_in_what_interrupts_a_kernel():
    def handler():  # a signal handler, or a finalizer
        with mx.autograd.record():
            first = mx.nd.ones((2, 2)) / 0
        again = mx.nd.ones((2, 2)) / 0
        return first, again, mx.nd.ones((2, 2)) + mx.nd.ones((2, 2)), mx.nd.dot(first, first, out=again)

    handler()  # so that the plans are known
    made = hooks.ignore_fp_errors(handler)
    assert made[0].asnumpy().tolist() == [[np.inf, np.inf]] * 2
    assert made[2].asnumpy().tolist() == [[2, 2], [2, 2]]


def test_an_error_of_the_kernels_own_passes():
    def fail():
        raise RuntimeError("of its own")

    refused(RuntimeError, "of its own", hooks.ignore_fp_errors, fail)


def test_a_finalizer_runs_while_a_thread_first_asks_for_its_state(monkeypatch):
    """Such as that of a store in garbage, which the garbage collector may call at any moment."""
    made, new = [], hooks.contextvars.Context

    def collect():
        with mx.autograd.record():
            made.append((1 / mx.nd.zeros((1,)), mx.autograd.is_recording()))
        return new()

    monkeypatch.setattr(hooks.contextvars, "Context", collect)
    thread = threading.Thread(target=lambda: made.append(mx.autograd.is_recording()))
    thread.start()
    thread.join()
    assert [one[1] for one in made[:-1]] == [True]
    assert made[-1] is False
