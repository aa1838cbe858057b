"""A program: every operator with attributes that make no sense, on dense, csr and row_sparse arrays, in little memory.

``absurd.py PART PARTS VALUES SEED [OPERATOR ...]`` takes every PARTS-th operator from PART on, and VALUES of the values
for each attribute, all for 0.  What it runs stands on the error stream before it does, so that a crash has a name.  It
prints a line for each error without a name, and for each result that inference did not announce.
"""

from __future__ import annotations

import itertools
import random
import sys
import warnings

import numpy as np

import sparsekit as mx
import sparsekit.ndarray  # declares the operators
from sparsekit.base.dtypes import ELEMENT_TYPES
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.core.op import registry
from sparsekit.storage import convert

CPU = mx.cpu()

HUGE = 1 << 62

VALUES = [
    HUGE, -HUGE, 1 << 63, 1 << 31, -(1 << 31), 10**400, -(10**400), -1, 0, 1000, float("nan"), float("inf"), -float("inf"),
    1.5, 1e300, "x", "", "\ud800", b"x", None, True, (), (HUGE,), (-1,), (HUGE, HUGE), (0, 0), (1 << 32, 1 << 32), (-HUGE, 3),
    (2, 3, HUGE), (float("nan"),), ("x",), (None,), ((1, 2), (3, HUGE)), (1,) * 40, [HUGE], (1, 1), (2, 3), (0, 5), (3, 1, 2),
    2, 7, np.int64(HUGE), np.int32(-5),
    np.float32("nan"), np.array([3, HUGE]), {}, {"a": 1}, object, 1j, range(3), slice(HUGE), ...,
]


class Odd:
    """Is no number, and nothing else."""

    def __repr__(self):
        return "Odd()"


def combinations(op):
    """The inputs of each sample, as dense arrays and in each sparse storage type."""
    for inputs, attrs in itertools.islice(op.sample(), 2):
        stores = [np.asarray(value) for value in inputs]
        yield "default", [wrap(store.copy(), CPU) for store in stores], attrs
        for stype in ("csr", "row_sparse"):
            fit = [store.ndim == 2 or (stype == "row_sparse" and store.ndim > 0) for store in stores]
            if any(fit):
                yield stype, [wrap(convert(store, stype) if fits else store.copy(), CPU)
                              for store, fits in zip(stores, fit, strict=True)], attrs


def named(op, values):
    """``values`` of the absurd attributes, for each attribute of an operator."""
    for name in op.attrs:
        chosen = [*VALUES, Odd()]
        if values:
            chosen = random.sample(chosen, values)
        for value in chosen:
            yield name, value


def read(array, what):
    """Look at an array, or at the structure of a sparse one."""
    try:
        if array.stype != "default":
            array.check_format()
        elif array.size < 10**6:
            array.asnumpy()
    except mx.SparsekitError:
        print(f"{what}: gave a malformed {array.stype} array")


class Sweep:
    """What was found in one run."""

    def __init__(self):
        self.calls = self.results = 0

    def run(self, op, values):
        cases = list(combinations(op))
        for name, value in named(op, values):
            for place, (stype, arrays, attrs) in enumerate(cases):
                what = f"{op.name}({stype}, {name}={type(value).__name__} {value!a:.60}) sample {place}"
                print(what, file=sys.stderr, flush=True)
                try:
                    self.call(op, arrays, {**attrs, name: value}, what)
                except mx.SparsekitError:
                    pass
                except Exception as error:
                    print(f"{what}: {type(error).__name__}: {error!s:.120}".replace("\n", " "))

    def call(self, op, arrays, attrs, what):
        self.calls += 1
        arrays = [array.copy() if op.mutates else array for array in arrays]
        call = op.bind(attrs)
        announced = call.infer_shape([array.shape for array in arrays])
        made = invoke(call, tuple(arrays))
        self.results += 1
        results = made if isinstance(made, list) else [made]
        odd = {str(result.dtype) for result in results} - set(ELEMENT_TYPES)
        if odd:
            print(f"{what}: gave {odd}")
            return
        if announced is not None and not op.mutates:
            shapes = announced if call.outputs > 1 else [announced]
            for shape, result in zip(shapes, results, strict=False):
                if tuple(shape) != result.shape:
                    print(f"{what}: announced {shape!r:.80}, gave {result.shape!r:.80}")
        for array in results:
            read(array, what)


def main(part, parts, values, seed, *names):
    random.seed(int(seed))
    sweep = Sweep()
    unique = sorted(set(registry.values()), key=lambda op: op.name)
    chosen = [op for op in unique if op.name in names] if names else unique[int(part)::int(parts)]
    with mx.config.set(densify_limit=1 << 26), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for op in chosen:
            sweep.run(op, int(values))
    print(f"{sweep.calls} calls, {sweep.results} results", file=sys.stderr)
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
