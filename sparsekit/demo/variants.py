"""Three variants of a model: dense, sparse input, and sparse input with a row-sparse gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import gluon
from .settings import Settings

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.nn import Sequential
    from ..ndarray.ndarray import NDArray

FLOAT_BYTES, ROW_NUMBER_BYTES = 4, 8
#: Bytes for everything else: Python and its packages, the data, the compiler, small arrays; measured and rounded up.
OTHER_BYTES = 400_000_000
#: The initial weights of each layer are uniform between minus and plus this number.
INITIAL_RANGES = (0.07, 0.3)
#: Number of rows of the first weight that are drawn at a time, so that there is no second copy of it.
BLOCK_ROWS = 1 << 14


class Variant(NamedTuple):
    """One way to store the batch, the weight and its gradient.

    Attributes
    ----------
    key, name : str
        Name in files, and name in texts.
    dense_batch : bool
        Whether a batch is made dense before it enters the model.
    transposed : bool
        Whether the first weight is (units, features), as ``FullyConnected`` takes it.
    gradient : str
        Storage type of the gradient of the first weight.
    what : str
        Description of the variant in a sentence.
    """

    key: str
    name: str
    dense_batch: bool
    transposed: bool
    gradient: str
    what: str


VARIANTS = (
    Variant("dense", "dense", True, True, "default",
            "Every batch is converted to dense and multiplied by FullyConnected; weight and gradient are dense."),
    Variant("sparse_input", "sparse input", False, False, "default",
            "The batch stays CSR, and dot reads only its stored values; the gradient is still dense."),
    Variant("row_sparse", "row-sparse gradient", False, False, "row_sparse",
            "The gradient stores only the rows of the weight that the batch touches, and only these are updated."),
)


class FullyConnected(gluon.HybridBlock):
    """A dense layer with a weight of shape (units, features)."""

    def __init__(self, in_units: int, units: int, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        with self.name_scope():
            self._units = units
            self.weight = self.params.get("weight", shape=(units, in_units))
            self.bias = self.params.get("bias", shape=(units,), init="zeros")

    def hybrid_forward(self, F: Functions, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return ``x @ weight.T + bias``."""
        return F.FullyConnected(x, weight, bias, num_hidden=self._units)


class FullyConnectedSparse(gluon.HybridBlock):
    """A layer for CSR input with a weight of shape (features, units), whose gradient may be row-sparse."""

    def __init__(self, in_units: int, units: int, gradient: str, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(in_units, units), grad_stype=gradient)
            self.bias = self.params.get("bias", shape=(units,), init="zeros")

    def hybrid_forward(self, F: Functions, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return ``x @ weight + bias``."""
        return F.sparse.dot(x, weight) + bias


def _fill(array: NDArray, random: np.random.Generator, width: float, transposed: bool) -> None:
    """Fill a weight block by block with random values that do not depend on whether it is stored transposed."""
    rows, columns = array.shape[::-1] if transposed else array.shape
    for start in range(0, rows, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, rows)
        block = (2 * random.random((stop - start, columns), np.float32) - 1) * np.float32(width)
        if transposed:
            array[:, start:stop] = np.ascontiguousarray(block.T)
        else:
            array[start:stop] = block


def build(variant: Variant, settings: Settings) -> Sequential:
    """Build the model, with the same initial values for every variant."""
    if variant.transposed:
        first: Any = FullyConnected(settings.features, settings.units, "first_")
    else:
        first = FullyConnectedSparse(settings.features, settings.units, variant.gradient, "first_")
    model = gluon.nn.Sequential()
    model.add(first, gluon.nn.Activation("relu", prefix="relu_"),
              gluon.nn.Dense(1, in_units=settings.units, prefix="second_"))
    model.initialize("zeros")
    random = np.random.default_rng(settings.seed)
    _fill(model[0].weight.data(), random, INITIAL_RANGES[0], variant.transposed)
    _fill(model[2].weight.data(), random, INITIAL_RANGES[1], False)
    return model


def needed_memory(variant: Variant, settings: Settings) -> dict[str, int]:
    """Return the peak bytes of training a variant, by what takes them."""
    weight = FLOAT_BYTES * settings.features * settings.units
    need = {"weight": weight}
    if variant.gradient == "default":
        need["gradient"] = weight
    if variant.dense_batch:
        need["dense batch"] = FLOAT_BYTES * settings.features * settings.batch_size
    return {**need, "the rest": OTHER_BYTES}


def needed_together(chosen: Sequence[Variant], settings: Settings) -> int:
    """Return the peak bytes of training variants in turn: all weights and gradients, and one dense batch."""
    needs = [needed_memory(variant, settings) for variant in chosen]
    kept = sum(need["weight"] + need.get("gradient", 0) for need in needs)
    return kept + max(need.get("dense batch", 0) for need in needs) + OTHER_BYTES
