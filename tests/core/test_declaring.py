"""An operator that is declared step by step, with calls between the steps."""

import dis
import inspect

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import GradientError, StorageFallbackWarning
from sparsekit.core import infer
from sparsekit.core.dispatch import invoke
from sparsekit.core.op import Op, registry
from sparsekit.ops import samples
from sparsekit.ops.elementwise.unary import on_data
from tests.calls import differentiated, refused, variable


@pytest.fixture
def twice():
    """An operator with a row for dense arrays; it is gone after the test."""
    op = Op("_declared_in_a_test", "data", shape=infer.unchanged, sample=samples.one(), doc="Twice.")
    op.forward("default -> default")(lambda k, x, attrs: 2 * x)
    yield op
    del registry[op.name]
    vars(mx.nd._F).pop(op.name, None)


def call(array):
    return getattr(mx.nd._F, "_declared_in_a_test")(array)  # noqa: B009 - a plain name would be mangled


def test_a_row_declared_after_a_call_is_used_by_the_next(twice):
    x = mx.nd.sparse.csr_matrix([[0.0, 3.0]])
    with pytest.warns(StorageFallbackWarning):
        assert call(x).stype == "default"
    twice.forward("csr -> csr")(lambda k, x, attrs: on_data(x, 2 * x.data))
    assert call(x).stype == "csr"
    assert call(x).asnumpy().tolist() == [[0.0, 6.0]]


def test_a_gradient_declared_after_a_call_is_used_by_the_next(twice):
    x = variable(mx.nd.array([1.0, 2.0]))
    with pytest.raises(GradientError), mx.autograd.record():
        call(x).backward()
    twice.gradient(lambda F, g, data, out, attrs, want: 2 * g)
    differentiated(call, x)
    assert np.array_equal(x.grad.asnumpy(), [2.0, 2.0])


def test_what_is_declared_cannot_be_set_later(twice):
    for op in (twice, registry["sgd_update"], registry["CTCLoss"]):
        for name in vars(op):
            with pytest.raises(mx.SparsekitError, match=f"{name} of the operator {op.name} cannot be set"):
                setattr(op, name, getattr(op, name))


def test_the_gradient_gets_what_saves_names_and_none_for_the_rest():
    given = {}
    x, head = mx.nd.array([1.0, 2.0]), [3.0, 4.0]
    for saves in (None, (), ("data",), ("out",), ("data", "out")):
        op = Op("_saving_in_a_test", "data", shape=infer.unchanged, sample=samples.one(), doc="Twice.", saves=saves)
        op.forward("default -> default")(lambda k, x, attrs: 2 * x)
        op.gradient(lambda F, g, data, out, attrs, want: given.update(data=data, out=out) or 2 * g)
        try:
            x.attach_grad()
            with mx.autograd.record():
                y = invoke(op.bind({}), (x,))
            y.backward(mx.nd.array(head))
        finally:
            del registry[op.name]
        kept = ("data", "out") if saves is None else saves
        assert {name for name, array in given.items() if array is not None} == set(kept)
        assert x.grad.asnumpy().tolist() == [6.0, 8.0]


def test_saves_must_name_an_input_or_out():
    with pytest.raises(mx.SparsekitError, match=r"dat.*_misspelt|_misspelt.*dat"):
        Op("_misspelt", "data", shape=infer.unchanged, sample=samples.one(), doc="", saves=("dat",))
    assert "_misspelt" not in registry


def test_every_gradient_reads_all_that_its_operator_saves():
    """What no code of the rule reads need not be kept; rules of ``*rest`` and of helpers are not looked into."""
    for op in set(registry.values()):
        rule = op.gradient_function
        if rule is None or rule.__code__.co_flags & inspect.CO_VARARGS:
            continue
        code = rule.__code__
        names = code.co_varnames[2: code.co_argcount - 2]
        found = [one.argval for one in dis.get_instructions(code) if "FAST" in one.opname or "DEREF" in one.opname]
        read = {name for one in found for name in (one if isinstance(one, tuple) else (one,))}  # Python 3.13 reads two at once
        inputs_read, out_read = bool(read & set(names[:-1])), names[-1] in read
        assert (op.saves_inputs, op.saves_outputs) == (inputs_read, out_read), op.name


def test_the_name_out_is_kept_for_the_buffer(twice):
    refused(mx.SparsekitError, "input named 'out'", lambda: twice.forward("csr -> csr")(lambda k, out, attrs: out))
    twice.forward("csr -> csr")(lambda k, x, attrs, out=None: x)
    result, label = mx.nd.ones((1, 1)), mx.nd.zeros((1,))
    made = mx.nd.ones((1, 1))
    mx.nd._internal._softmax_output_backward(result, label, out=made)
    assert made.asscalar() == 0


def test_a_negative_zero_is_not_taken_for_zero():
    """As a key of a dictionary it equals zero, and calls are remembered by their attributes."""
    one = mx.nd.ones((1,))
    for zero in (0.0, -0.0, 0, -0.0, 0.0):
        sign = np.copysign(1, np.float64(zero))
        assert np.copysign(1, mx.nd.full((1,), zero).asnumpy()) == sign
        assert (one / zero).asnumpy() == sign * np.inf
        assert mx.nd.broadcast_div(one, mx.nd.full((1,), zero)).asnumpy() == sign * np.inf
        with np.errstate(divide="ignore"):
            assert mx.nd._internal._rdiv_scalar(mx.nd.full((1,), zero), scalar=1).asnumpy() == sign * np.inf
