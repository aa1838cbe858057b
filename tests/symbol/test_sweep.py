"""Every operator in every combination of storage types, called and as a symbol: one behaviour.

Values, storage types, gradients, warnings, the ledger of arrays that became dense, and errors are the same to the bit.
"""

import warnings

import pytest

import sparsekit as mx
from sparsekit.base.errors import SparsekitError, StorageFallbackWarning
from sparsekit.core import dispatch, hooks
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.ndarray.functions import invoke_update
from sparsekit.ops.update.update import Update
from sparsekit.symbol.node import SymbolNode
from sparsekit.symbol.symbol import Symbol
from tests.sweeping import CPU, OPS, described, listed, stores, tried


def cases():
    for name, op in sorted(OPS.items()):
        for number, (arrays, attrs) in enumerate(op.sample()):
            yield pytest.param(op, arrays, attrs, list(tried(op, number, arrays, attrs)), id=f"{name}-{number}")


def states_of(op, attrs):
    """Places of inputs that are not arguments, but states."""
    call = op.bind(attrs)
    weights = op.weights(call.attrs) if isinstance(op, Update) else ()
    return [place for place in op.written(call.attrs) if place not in weights]


def observed(run):
    """What ``run()`` gives, or the kind of its error, with the warnings and the ledger's entries of that time."""
    dispatch._warned.clear()
    mx.random.seed(3)
    hooks.ledger.clear()  # it keeps the latest only, so that its length tells nothing
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", StorageFallbackWarning)
        try:
            found = run()
        except SparsekitError as error:
            found = type(error).__name__
    messages = [str(warning.message) for warning in seen if issubclass(warning.category, StorageFallbackWarning)]
    return found, messages, [entry._replace(line="") for entry in hooks.ledger]


def imperative(op, arrays, attrs, stypes):
    inputs = [wrap(store, CPU) for store in stores(op, arrays, attrs, stypes)]
    states = states_of(op, attrs)
    arguments = [array for place, array in enumerate(inputs) if place not in states]
    for array in arguments:
        array.attach_grad()
    call, function = op.bind(attrs), invoke_update if isinstance(op, Update) else invoke

    def run():
        with mx.autograd.record():
            results = listed(function(call, tuple(inputs), None, CPU))
        heads = [result for result in results if result._entry is not None]
        values = [described(result) for result in results]
        error = ""
        try:
            if heads:
                mx.autograd.backward(heads)
        except SparsekitError as found:
            error = found.message
        kept = [described(inputs[place]) for place in states]
        return values, kept, error or [described(array.grad) for array in arguments]

    return observed(run)


def symbolic(op, arrays, attrs, stypes):
    inputs = [wrap(store, CPU) for store in stores(op, arrays, attrs, stypes)]
    states = states_of(op, attrs)
    variables = [SymbolNode(f"x{place}") for place in range(len(inputs))]
    node = SymbolNode("y", op.bind(attrs), [(variable, 0) for variable in variables], op.name)
    symbol = Symbol([(node, place) for place in range(node.visible)])
    arguments = {f"x{place}": array for place, array in enumerate(inputs) if place not in states}
    grads = {name: mx.nd.zeros(array.shape, dtype=array.dtype, stype=array.stype) for name, array in arguments.items()}
    dispatch._warned.clear()

    def run():
        executor = symbol.bind(CPU, arguments, grads, aux_states={f"x{place}": inputs[place] for place in states})
        values = [described(result) for result in executor.forward(is_train=True)]
        error = ""
        try:
            if any(result._entry is not None for result in executor._results):
                executor.backward()
        except SparsekitError as found:
            error = found.message
        kept = [described(array) for array in executor.aux_arrays]
        return values, kept, error or [described(array) for array in executor.grad_arrays]

    return observed(run)


@pytest.fixture(autouse=True)
def forget_warnings():
    yield
    dispatch._warned.clear()


@pytest.mark.parametrize(("op", "arrays", "attrs", "combinations"), list(cases()))
def test_called_and_as_a_symbol_it_is_one(op, arrays, attrs, combinations):
    if op.bind(attrs).visible == 0:
        assert op.name == "reset_arrays"  # the only one that gives nothing, so that no symbol can stand for its result
        return
    for stypes in combinations:
        assert symbolic(op, arrays, attrs, stypes) == imperative(op, arrays, attrs, stypes), stypes
