"""A factorization machine: will a module's documentation use a word?

An example is a csr row with a 1 for the word, one for the module and one for its folder.  Neither tells the answer; the
machine gives each a vector, and adds the products of the vectors of each two (Rendle 2010).  The vectors are a row_sparse
weight with a row_sparse gradient: ``retain`` takes from it the rows that a batch needs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import autograd, gluon, init, nd
from . import relation, running

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.block import HybridBlock
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray

__all__ = ["Example", "FactorizationMachine", "main", "rows_of"]


class FactorizationMachine(gluon.HybridBlock):
    """The logarithm of the odds of csr rows, from their columns and the interactions of each two.

    Parameters
    ----------
    features, factors : int
        Number of columns, and the length of their vectors.
    sparse : bool
        Whether the weights and their gradients are row_sparse.

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
        """The logarithm of the odds, (rows, 1); ``rows`` are the columns that ``x`` has."""
        if self.sparse:
            weight, vectors = F.sparse.retain(weight, rows), F.sparse.retain(vectors, rows)
        together = F.square(F.dot(x, vectors))
        alone = F.dot(F.square(x), F.square(vectors))
        return F.dot(x, weight) + bias + 0.5 * F.sum(together - alone, axis=1, keepdims=True)


def rows_of(x: CSRNDArray, size: int) -> NDArray:
    """The columns that csr rows have, as an array of always ``size`` numbers: a program is made for shapes.

    What is left over is filled with the last one, which changes nothing.
    """
    rows = np.unique(x.indices.asnumpy())
    return nd.array(np.concatenate([rows, np.full(size - len(rows), rows[-1])]), dtype="int64")


class Example(running.Example):
    """A factorization machine on pairs of modules and words."""

    defaults: ClassVar[dict[str, Any]] = {"epochs": 5, "steps": 20, "batch_size": 64, "learning_rate": 0.1, "factors": 32}
    quick: ClassVar[dict[str, Any]] = {"epochs": 5}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.02, 0.05, 0.1, 0.2), "batch_size": (64, 256),
                                                        "factors": (16, 32)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """Pairs that are in the relation, label 1, and as many that are not."""
        found = relation.count_relation(options.packages or ["numpy", "numba"])
        parts = [(relation.one_hot(found, part.module, part.word), part.label)
                 for part in relation.draw_pairs(found, options.seed)]
        return running.carve(*parts)

    @staticmethod
    def describe(data: running.Split) -> str:
        """The data in a line."""
        rows, columns = data.train[0].shape
        return f"{rows:,} pairs of a module and a word, half of them real; {columns:,} modules, folders and words"

    def build(self) -> HybridBlock:
        """The model, vectors at random, all else 0."""
        model = FactorizationMachine(self.data.train[0].shape[1], self.options.factors, self.sparse)
        model.initialize()
        return model

    def batches(self) -> Iterator[Any]:
        """Csr rows, the columns that they have, and labels; dense rows if all is to be dense."""
        rows = gluon.data.ArrayDataset(self.data.train[0], nd.array(self.data.train[1]))
        for x, y in gluon.data.DataLoader(rows, self.options.batch_size, shuffle=True, last_batch="discard"):
            needed = rows_of(x, x.data.size)
            yield x if self.sparse else x.tostype("default"), needed, y

    def evaluate(self, columns: Sequence[Any]) -> float:
        """Share of pairs that are classified correctly."""
        x, label = columns
        with autograd.predict_mode():
            return self.accuracy(self.model(x, rows_of(x, x.data.size)), label)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "factorization_machine", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
