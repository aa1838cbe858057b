"""Every row of storage types that runs on a CPU runs on a GPU, with narrow and wide indices and in each precision; on the
stand-in, against the CPU."""

from __future__ import annotations

import itertools
import warnings

import fake_cupy
import numpy as np
import pytest
from test_sweep import GPU, RANDOM, host, mapped

import sparsekit as mx
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.storage import CSR, RowSparse, densify
from tests.sampling import some
from tests.sweeping import OPS, combinations, listed, stores

pytestmark = pytest.mark.usefixtures("stand_in")

#: Attributes beside those of the samples: rows that some values of them choose.
VARIANTS = ({}, {"scalar": 0.0}, {"a_min": 0.5, "a_max": 1.0}, {"axes": (0, 1)})

#: Rows that never run, on no device: those before them take every combination of storage types.
SHADOWED = {("elemwise_div", "row_sparse|csr, default -> default"), ("broadcast_div", "row_sparse|csr, default -> default")}

#: What each type of values is compared with.
TOLERANCE = {"float16": 2e-2, "float64": 1e-4}

#: Types of values and of indices; ``test_sweep`` has float32 with int64.
TYPES = [("float64", "int32"), ("float16", "int64")]

#: Cases that found planted faults which tests before them had not found.
ALWAYS = ("cast_storage-float64-int32", "FullyConnected-float16-int64", "_slice_backward-float16-int64")


@pytest.fixture(autouse=True)
def no_warnings_of_densification():
    with mx.config.set(densify="allow"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow", RuntimeWarning)
        yield


@pytest.fixture(autouse=True)
def nothing_is_added_up_in_an_order_that_varies():
    fake_cupy.counts["atomic"] = 0
    yield
    assert fake_cupy.counts["atomic"] == 0


def ways(op):
    """For each row and sample that reaches it: arrays, attributes and storage types that do."""
    found = {}
    for (number, (arrays, attrs)), more in itertools.product(enumerate(op.sample()), VARIANTS):
        if not set(more) <= set(op.attrs):
            continue
        for stypes in combinations(arrays):
            row = op.find_rule(stypes, {**op.attrs, **attrs, **more})
            if row is not None:
                found.setdefault((repr(row), number), (arrays, {**attrs, **more}, stypes))
    return found


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_row_is_reached(name):
    rows = {repr(row) for row in OPS[name].rules}
    assert rows - {row for row, _ in ways(OPS[name])} == {row for op, row in SHADOWED if op == name}


def typed(store, value, index):
    """A store whose values and indices have these types."""
    values = store.data if isinstance(store, (CSR, RowSparse)) else store
    kind = value if values.dtype.kind == "f" else values.dtype
    if isinstance(store, CSR):
        return CSR(store.data.astype(kind), store.indices.astype(index), store.indptr.astype(index), store.shape)
    if isinstance(store, RowSparse):
        return RowSparse(store.data.astype(kind), store.indices.astype(index), store.shape)
    return store.astype(kind)


def compare(op, arrays, attrs, stypes, value, index):
    def given():
        return [typed(store, value, index) for store in stores(op, arrays, attrs, stypes)]

    here = tuple(wrap(store, mx.cpu()) for store in given())
    with fake_cupy.Device(1):
        there = tuple(wrap(mapped(store, lambda part: fake_cupy.ndarray(part.copy())), GPU) for store in given())
    call = op.bind(attrs)
    try:
        wanted = listed(invoke(call, here, None, mx.cpu()))
    except mx.SparsekitError as error:  # refused here, so refused there
        with pytest.raises(type(error)):
            invoke(call, there, None, GPU)
        return
    fake_cupy.counts["atomic"] = 0
    found = listed(invoke(call, there, None, GPU))
    assert not fake_cupy.counts["atomic"], "a sum whose order is another one on every run"
    for left, right in zip((*wanted, *here), (*found, *there), strict=True):
        assert (left.stype, left.dtype, left.shape) == (right.stype, right.dtype, right.shape)
        there_values = densify(mapped(right._store, host))
        if op.name not in RANDOM:
            np.testing.assert_allclose(there_values.astype(float), densify(left._store).astype(float),
                                       rtol=TOLERANCE[value], atol=TOLERANCE[value])
        if left.stype == "csr":
            assert left._store.indices.dtype == right._store.indices.dtype


SPARSE = sorted(name for name, op in OPS.items() if any(set(stypes) - {"default"} for *_, stypes in ways(op).values()))


@pytest.mark.parametrize(("name", "value", "index"), some(
    [pytest.param(name, *types, id=f"{name}-{'-'.join(types)}") for name in SPARSE for types in TYPES],
    one_in=8, always=ALWAYS))
def test_sparse_rows_take_every_type(name, value, index):
    """A sample: ``test_grids.py`` has every kernel in every type."""
    for arrays, attrs, stypes in ways(OPS[name]).values():
        if set(stypes) - {"default"}:
            compare(OPS[name], arrays, attrs, stypes, value, index)
