"""Numbers of floating-point operations: the useful ones, and those of a dense computation.

A cost function gets the attributes and the inputs and outputs as the plain descriptions of the
profiler's records (keys ``stype``, ``shape``, ``nnz``).

A multiplication and an addition are two operations; a division, a comparison, a root or a function such as ``exp`` is one.
Products count what the sum over the inner axis takes, without a scale ``alpha``.  Of triangles and symmetric results only
what is different is counted, as in LAPACK Working Note 41 (E. Anderson, J. Dongarra, S. Ostrouchov, 1992), whatever the
kernel computes besides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from ..base.types import Attrs, Shape


class Meta(TypedDict):
    """What a cost function reads of the description of an array."""

    stype: str
    shape: Shape
    nnz: int


Cost = Callable[["Attrs", Sequence[Meta], Sequence[Meta]], tuple[int, int]]


def none(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """Nothing is computed, only moved."""
    return 0, 0


def elementwise(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """One operation per stored value of the result."""
    return sum(out["nnz"] for out in outputs), sum(math.prod(out["shape"]) for out in outputs)


def reduction(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """One operation per stored value of the input."""
    return inputs[0]["nnz"], math.prod(inputs[0]["shape"])


def each(times: int) -> Cost:
    """So many operations per stored value of the first result."""
    return lambda attrs, inputs, outputs: (times * outputs[0]["nnz"], times * math.prod(outputs[0]["shape"]))


def each_taken(times: int) -> Cost:
    """So many operations per stored value of the first input."""
    return lambda attrs, inputs, outputs: (times * inputs[0]["nnz"], times * math.prod(inputs[0]["shape"]))


def summed(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """One operation per stored value of each input but the first."""
    return sum(array["nnz"] for array in inputs[1:]), sum(math.prod(array["shape"]) for array in inputs[1:])


def pairs(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """One multiplication per value of the result and each input but the first."""
    work = (len(inputs) - 1) * math.prod(outputs[0]["shape"])
    return work, work


def ordering(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """``n log2 n`` comparisons of each line of n values along the axis."""
    shape, axis = inputs[0]["shape"], attrs.get("axis")
    size = math.prod(shape)
    line = size if axis is None or not shape else shape[int(axis)]
    work = size * math.ceil(math.log2(line)) if line > 1 else 0
    return work, work


def _stored_share(array: Meta) -> float:
    size = math.prod(array["shape"])
    return 1.0 if array["stype"] == "default" else array["nnz"] / size if size else 0.0


def _contracted(inner: int, left: Meta, right: Meta, outputs: Sequence[Meta]) -> tuple[int, int]:
    dense = 2 * inner * math.prod(outputs[0]["shape"])
    return round(dense * _stored_share(left) * _stored_share(right)), dense


def dot(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """A multiplication and an addition for each stored value of the sparser side and each partner."""
    left, right = inputs[:2]
    return _contracted(left["shape"][0 if attrs.get("transpose_a") else -1], left, right, outputs)


def dot_gradient(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """As ``dot``: what the product took, for the gradient of one side; the inputs are gradient, left and right."""
    return dot(attrs, inputs[1:], inputs[:1])


def product(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """As ``dot``, of batches of matrices whose rows are on the attribute ``axis``, or the last axis but one."""
    left, right = inputs[:2]
    return _contracted(left["shape"][attrs.get("axis", -2) if attrs.get("transpose_a") else -1], left, right, outputs)


def fully_connected(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """As ``dot``, plus the bias."""
    useful, dense = _contracted(inputs[1]["shape"][-1], inputs[0], inputs[1], outputs)
    bias = math.prod(outputs[0]["shape"]) if len(inputs) > 2 else 0
    return useful + bias, dense + bias


def matrices(count: Callable[[int, int], float]) -> Cost:
    """``count(rows, columns)`` operations for each of the first input's matrices, its last two axes."""

    def work(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
        *batch, rows, columns = inputs[0]["shape"]
        turned = attrs.get("transpose")
        operations = math.prod(batch) * round(count(columns, rows) if turned else count(rows, columns))
        return operations, operations

    return work


def triangular(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """A triangle of n rows times other matrices, or solved for them: n operations for each value of those."""
    work = inputs[0]["shape"][-1] * math.prod(inputs[1]["shape"])
    return work, work


def update(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
    """Four operations for each stored value of the gradient, which is the second input."""
    return 4 * inputs[1]["nnz"], 4 * math.prod(inputs[0]["shape"])


def updates(group: int, counter: str) -> Cost:
    """As ``update``, of as many groups of arrays as the attribute ``counter`` says."""

    def count(attrs: Attrs, inputs: Sequence[Meta], outputs: Sequence[Meta]) -> tuple[int, int]:
        costs = [update(attrs, inputs[place:], outputs) for place in range(0, group * attrs[counter], group)]
        return sum(useful for useful, _ in costs), sum(dense for _, dense in costs)

    return count
