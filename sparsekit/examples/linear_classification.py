"""Sparse logistic regression that predicts whether a paragraph is of an essay or of a story.

A paragraph is a csr row with 262,144 columns for hashed words and pairs of words, about 120 of which are stored.  The
weight has a row for each column; its gradient stores only the rows that a batch touches, and only these are updated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .. import gluon, init
from ..datasets.books import ESSAYISTS, load_books
from . import running

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.block import HybridBlock


class LogisticRegression(gluon.HybridBlock):
    """Computes the log-odds of each row, ``x @ weight + bias``.

    Parameters
    ----------
    features : int
    sparse : bool
        Whether the weight's gradient is row_sparse.
    """

    def __init__(self, features: int, sparse: bool = True) -> None:
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(features, 1), init=init.Zero(),
                                          grad_stype="row_sparse" if sparse else "default")
            self.bias = self.params.get("bias", shape=(1,), init=init.Zero())

    def hybrid_forward(self, F: Functions, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return the log-odds, of shape (rows, 1)."""
        return F.dot(x, weight) + bias


class Example(running.Example):
    """Logistic regression on paragraphs of books."""

    defaults: ClassVar[dict[str, Any]] = {"epochs": 8, "steps": 20, "batch_size": 32, "learning_rate": 0.4,
                                          "features": 2**18}
    quick: ClassVar[dict[str, Any]] = {"features": 2**14, "epochs": 2}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.1, 0.2, 0.4, 0.8), "batch_size": (32, 64)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """Return paragraphs as csr arrays, with label 1 for those of essays: Darwin's, Mill's and Thoreau's."""
        books = load_books(options.features, ESSAYISTS, pairs=True, seed=options.seed)
        return running.split_validation(books.train, books.test)

    @staticmethod
    def describe(data: running.Split) -> str:
        """Describe the data in a line."""
        rows, features = data.train[0].shape
        return f"{rows:,} paragraphs of essays and stories to train on; {features:,} columns of words and pairs of words"

    def build(self) -> HybridBlock:
        """Build the model, with all weights 0."""
        model = LogisticRegression(self.data.train[0].shape[1], self.sparse)
        model.initialize()
        return model


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "linear_classification", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
