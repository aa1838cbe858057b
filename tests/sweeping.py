"""What the sweeps over the registry share: the operators, and their samples in every storage type."""

from __future__ import annotations

import itertools

import numpy as np

import sparsekit as mx
import sparsekit.ndarray  # declares the operators
from sparsekit.core.op import registry
from sparsekit.storage import RowSparse, convert
from tests.sampling import chosen

OPS = {op.name: op for op in registry.values()}
STYPES = ("default", "row_sparse", "csr")
CPU = mx.cpu()

#: Element types whose kernels for sparse rows are compiled for one operator in four: int64 stands for them.
RARE = ("int8", "int32", "uint8")

#: Of the combinations that no row declares with several sparse inputs, one in so many is tried.
ONE_IN = 20


def can_be(array, stype):
    return stype == "default" or (array.ndim == 2 and stype == "csr") or (array.ndim >= 1 and stype == "row_sparse")


def combinations(arrays):
    """Every combination of storage types that the arrays can have."""
    for stypes in itertools.product(STYPES, repeat=len(arrays)):
        if all(map(can_be, arrays, stypes)):
            yield stypes


def tried(op, number, arrays, attrs):
    """The combinations that sweeps try of an operator's sample of this number: each that a row declares, and some others.

    What no row declares takes the same few ways, so of those combinations each with one sparse input is tried, and a sample of
    the others.
    """
    complete = op.bind(attrs).attrs
    for stypes in combinations(arrays):
        few = len(stypes) - stypes.count("default") <= 1
        if few or op.find_rule(stypes, complete) is not None or chosen(f"{op.name}-{number}-{'-'.join(stypes)}", ONE_IN):
            yield stypes


def compiled_for(name, kind, stypes):
    """Whether rows of an operator are tried in an element type: dense ones are in all, and those of sparse arrays in few."""
    return kind not in RARE or set(stypes) == {"default"} or chosen(f"{name}, {kind}", 4)


def stores(op, arrays, attrs, stypes):
    """The inputs in their storage types; a row_sparse weight of a step holds all its rows, as it must."""
    made = [convert(np.array(array, order="C"), stype) for array, stype in zip(arrays, stypes, strict=True)]
    for place in op.written(op.bind(attrs).attrs):
        if stypes[place] == "row_sparse":
            made[place] = RowSparse(arrays[place].copy(), np.arange(len(arrays[place])), arrays[place].shape)
    return made


def listed(made):
    return made if isinstance(made, list) else [made]


def described(array):
    """An array to the bit: storage type, element type, shape, and its components."""
    parts = [getattr(array._store, name) for name in getattr(array._store, "components", ())] or [array._store]
    return array.stype, str(array.dtype), array.shape, *((str(part.dtype), part.tobytes()) for part in parts)
