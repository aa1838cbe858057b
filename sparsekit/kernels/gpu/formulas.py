"""Copies of several arrays, and functions of elements that would be several launches of cupy's; they are in ``formulas.cu``.

A rule of an operator says both: numpy's calls, which tables note too, and the name of the function here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .launch import Kernel, xp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, DType

_copy_four = Kernel("copy_four", "data index pointer place data* index* pointer* place* count count count count")

FORMULAS = {name: Kernel(name, f"{'data ' * arrays}data* count") for name, arrays in {
    "sigmoid": 1, "sigmoid_slope": 2, "relu_slope": 2, "softplus": 1, "cross_entropy": 2, "cross_entropy_slope": 3}.items()}


def compute(name: str, dtype: DType, *arrays: Array) -> Array:
    """The function of arrays of one shape, as an array of this type."""
    shape = arrays[0].shape
    for array in arrays[1:]:
        assert array.shape == shape, "the operator has checked it"
    out: Array = xp().empty(shape, dtype)
    FORMULAS[name](out.size, *arrays, out, out.size)
    return out


def copy_each(pairs: Sequence[tuple[Array, Array]]) -> None:
    """Copy the second array of each pair, which has the shape and type of the first, into that."""
    plain = [pair for pair in pairs if pair[0].flags.c_contiguous and pair[1].flags.c_contiguous]
    for target, source in pairs:
        if not (target.flags.c_contiguous and source.flags.c_contiguous):
            target[...] = source
    for start in range(0, len(plain), 4):
        some = plain[start:start + 4]
        if len(some) == 1:
            some[0][0][...] = some[0][1]
            continue
        counts = [target.size for target, _ in some] + [0] * (4 - len(some))
        some += some[:1] * (4 - len(some))
        _copy_four(sum(counts), *[source for _, source in some], *[target for target, _ in some], *counts)
