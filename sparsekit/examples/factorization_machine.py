"""A factorization machine that predicts whether a word follows another one in books.

An example is a csr row with a 1 for the follower, one for the word and one for its ending.  None of them predicts the label
alone; the model has a vector for each, and adds the dot products of all pairs of vectors (Rendle 2010).  The vectors are a
row_sparse weight with a row_sparse gradient; ``retain`` selects the rows that a batch needs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import gluon, init, nd
from . import relation, running

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.block import HybridBlock
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray


class FactorizationMachine(gluon.HybridBlock):
    """Computes the log-odds of csr rows from their columns and the pairwise interactions of columns.

    Parameters
    ----------
    features, factors : int
        Number of columns, and length of their vectors.
    sparse : bool
        Whether the weights and their gradients are row_sparse instead of dense.

    Notes
    -----
    The sum over pairs i < j of x_i x_j ⟨v_i, v_j⟩ is half of (Σ x_i v_i)² - Σ x_i² v_i², summed over the factors.
    """

    def __init__(self, features: int, factors: int, sparse: bool = True) -> None:
        super().__init__()
        self.sparse = sparse
        stype = "row_sparse" if sparse else "default"
        with self.name_scope():
            self.bias = self.params.get("bias", shape=(1,), init=init.Zero())
            self.weight = self.params.get("weight", shape=(features, 1), init=init.Zero(), stype=stype, grad_stype=stype)
            self.vectors = self.params.get("vectors", shape=(features, factors), init=init.Normal(0.01), stype=stype,
                                           grad_stype=stype)

    def hybrid_forward(self, F: Functions, x: Tensor, rows: Tensor, bias: Tensor, weight: Tensor, vectors: Tensor) -> Tensor:
        """Return the log-odds, of shape (rows, 1); ``rows`` are the columns in which ``x`` stores values."""
        if self.sparse:
            weight, vectors = F.sparse.retain(weight, rows), F.sparse.retain(vectors, rows)
        together = F.square(F.dot(x, vectors))
        alone = F.dot(F.square(x), F.square(vectors))
        return F.dot(x, weight) + bias + 0.5 * F.sum(together - alone, axis=1, keepdims=True)


def rows_of(x: CSRNDArray) -> NDArray:
    """Return the distinct columns of csr rows as int64, padded with the last column by at most an eighth, or up to 128.

    Batches whose numbers of columns differ little get one shape and use one compiled program.  Repeated columns do not change
    its result.
    """
    columns = nd.sparse.dot(x, nd.ones((x.shape[0], 1)), transpose_a=True).indices.asnumpy()  # sooner than by sorting
    step = max(128, 1 << max(0, len(columns).bit_length() - 4))
    rows = np.full(min(-(-len(columns) // step) * step, x.data.size), columns[-1], np.int64)
    rows[:len(columns)] = columns
    return nd.from_numpy(rows)


class Example(running.Example):
    """A factorization machine on pairs of words."""

    defaults: ClassVar[dict[str, Any]] = {"epochs": 5, "steps": 20, "batch_size": 64, "learning_rate": 0.1, "factors": 32}
    quick: ClassVar[dict[str, Any]] = {"epochs": 5}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.02, 0.05, 0.1, 0.2), "batch_size": (64, 256),
                                                        "factors": (32, 64)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """Return pairs of the relation with label 1, and as many others with label 0."""
        counted = relation.count_relation()
        parts = [(relation.one_hot(counted, part.word, part.follower), part.label)
                 for part in relation.draw_pairs(counted, options.seed)]
        return running.split_validation(*parts)

    @staticmethod
    def describe(data: running.Split) -> str:
        """Describe the data in a line."""
        rows, columns = data.train[0].shape
        return f"{rows:,} pairs of words, half of them real; {columns:,} words, followers and endings"

    def build(self) -> HybridBlock:
        """Build the model, with random vectors and all other weights 0."""
        model = FactorizationMachine(self.data.train[0].shape[1], self.options.factors, self.sparse)
        model.initialize()
        return model

    def inputs(self, *columns: NDArray) -> tuple[Any, ...]:
        """Return csr rows and their distinct columns."""
        x: Any = columns[0]
        return x, rows_of(x)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "factorization_machine", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
