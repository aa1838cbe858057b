"""The models of the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..gluon import HybridBlock
from ..initializer import Zero
from ..ndarray import array

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..ndarray.ndarray import NDArray


class Linear(HybridBlock):
    """``x @ weight + bias`` of csr rows, with a row-sparse gradient of the weight.

    Parameters
    ----------
    features, outputs : int
    dtype : str
    """

    def __init__(self, features: int, outputs: int, dtype: str) -> None:
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(features, outputs), dtype=dtype, init=Zero(), grad_stype="row_sparse")
            self.bias = self.params.get("bias", shape=(outputs,), dtype=dtype, init=Zero())

    def hybrid_forward(self, F: Functions, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The outputs, of shape (rows, outputs)."""
        return F.dot(x, weight) + bias

    def inputs(self, rows: NDArray) -> list[NDArray]:
        """What the block is called with for rows, a csr array."""
        return [rows]


class Interactions(Linear):
    """A factorization machine (S. Rendle, 2010): a linear model plus the dot products of the vectors of all pairs of columns.

    Parameters
    ----------
    features, outputs : int
    dtype : str
    factors : int
        Length of the vectors of the columns.  Each output has its own vectors.

    Notes
    -----
    The sum over pairs i < j of x_i x_j ⟨v_i, v_j⟩ is half of (Σ x_i v_i)² - Σ x_i² v_i², summed over the factors.
    """

    def __init__(self, features: int, outputs: int, dtype: str, factors: int) -> None:
        HybridBlock.__init__(self)
        self._outputs, self._factors = outputs, factors
        both: dict[str, Any] = {"dtype": dtype, "init": Zero(), "stype": "row_sparse", "grad_stype": "row_sparse"}
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(features, outputs), **both)
            self.bias = self.params.get("bias", shape=(outputs,), dtype=dtype, init=Zero())
            self.vectors = self.params.get("vectors", shape=(features, outputs * factors), **both)

    def hybrid_forward(self, F: Functions, x: Tensor, rows: Tensor, weight: Tensor, bias: Tensor,  # type: ignore[override]
                       vectors: Tensor) -> Tensor:  # it is given the columns too
        """The outputs, of shape (rows, outputs); ``rows`` are the columns in which ``x`` stores values."""
        weight, vectors = F.sparse.retain(weight, rows), F.sparse.retain(vectors, rows)
        together = F.square(F.dot(x, vectors))
        alone = F.dot(F.square(x), F.square(vectors))
        pairs = F.sum(F.reshape(together - alone, shape=(-1, self._outputs, self._factors)), axis=2)
        return F.dot(x, weight) + bias + 0.5 * pairs

    def inputs(self, rows: NDArray) -> list[NDArray]:
        """The rows, and the columns in which they store values, as many as a power of two: the last is repeated."""
        columns = np.unique(rows._store.indices) if rows._store.indices.size else np.zeros(1, np.int64)
        size = 1 << (columns.shape[0] - 1).bit_length()
        padded = np.concatenate([columns, np.full(size - columns.shape[0], columns[-1])])
        return [*super().inputs(rows), array(padded, dtype="int64")]
