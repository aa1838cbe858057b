"""Every operator in a block: as it is written, hybridized, and exported and read back, it gives the same to the bit.

What runs on arrays runs as a program and as a symbol: values, storage types, gradients, and inputs that operators write to.
"""

import itertools

import pytest

import sparsekit as mx
from sparsekit.base.errors import SparsekitError, UnsupportedError
from sparsekit.core.dispatch import wrap
from sparsekit.ndarray.functions import F as ARRAYS
from sparsekit.symbol.functions import F as SYMBOLS
from tests.calls import refused
from tests.sweeping import CPU, OPS, combinations, described, stores

#: Combinations of storage types that an operator is tried with.
COMBINATIONS = 4


class Calls(mx.gluon.HybridBlock):
    """One operator."""

    def __init__(self, op, attrs):
        super().__init__(prefix="calls_")
        self.op, self.attrs = op, attrs

    def hybrid_forward(self, F, *arrays):
        return getattr(ARRAYS if F is mx.nd else SYMBOLS, self.op.name)(*arrays, **self.attrs)


def cases():
    for name, op in sorted(OPS.items()):
        for number, (arrays, attrs) in enumerate(op.sample()):
            if arrays:  # a block without arrays among its arguments does not know where to compute, in MXNet neither
                yield pytest.param(op, arrays, attrs, id=f"{name}-{number}")


def inputs_of(op, arrays, attrs, stypes):
    """New arrays."""
    return [wrap(store, CPU) for store in stores(op, arrays, attrs, stypes)]


def observed(block, arrays, record):
    """Results, inputs as they are afterwards, and gradients; or the kind of the error."""
    mx.random.seed(3)
    floats = [array for array in arrays if array.dtype.kind == "f"] if record else []
    for array in floats:
        array.attach_grad()
    try:
        with mx.autograd.record() if record else mx.autograd.predict_mode():
            made = block(*arrays)
            made = made if isinstance(made, (list, tuple)) else [made]
        heads = [one for one in made if one.dtype.kind == "f" and one._entry is not None] if record else []
        if heads:
            mx.autograd.backward(heads)
    except SparsekitError as error:
        return type(error).__name__
    return [described(one) for one in made], [described(one) for one in arrays], [described(one.grad) for one in floats]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("op", "arrays", "attrs"), list(cases()))
def test_as_written_hybridized_and_read_back(op, arrays, attrs, tmp_path):
    """With dense arrays also where nothing is recorded, and from files; ``symbol/test_sweep.py`` has symbols of sparse arrays."""
    for number, stypes in enumerate(itertools.islice(combinations(arrays), COMBINATIONS)):
        block = Calls(op, attrs)
        for record in (True, False) if number == 0 else (True,):
            block.hybridize(False)
            expected = observed(block, inputs_of(op, arrays, attrs, stypes), record)
            block.hybridize()
            for _ in range(2):
                assert observed(block, inputs_of(op, arrays, attrs, stypes), record) == expected, (stypes, record)
        if number or isinstance(expected, str):
            continue
        if not expected[0]:
            refused(UnsupportedError, "returns no arrays", block.export, str(tmp_path / "net"))
            continue
        files = block.export(str(tmp_path / "net"))
        names = ["data"] if len(arrays) == 1 else [f"data{place}" for place in range(len(arrays))]
        read = mx.gluon.SymbolBlock.imports(files[0], names, files[1])
        assert observed(read, inputs_of(op, arrays, attrs, stypes), False)[0] == expected[0], stypes
