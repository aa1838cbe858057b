"""Matrix factorization with sparse embeddings that predicts how often a word follows another one in books.

Each word and each follower has a vector and a bias (Koren, Bell and Volinsky 2009).  A batch looks up a few rows of each table;
with ``sparse_grad`` only these rows have a gradient and are updated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import gluon, init, nd
from ..datasets import fetch_movielens
from . import relation, running

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.block import HybridBlock


class MatrixFactorization(gluon.HybridBlock):
    """Computes ratings: the dot product of a user's and an item's vector, plus their biases and a mean.

    Parameters
    ----------
    users, items, factors : int
        Numbers of users and items, and length of their vectors.
    mean : float
        Mean rating, which is added to every result.
    sparse : bool
        Whether the gradients of the tables are row_sparse.
    """

    def __init__(self, users: int, items: int, factors: int, mean: float = 0.0, sparse: bool = True) -> None:
        super().__init__()
        self.mean = mean
        with self.name_scope():
            self.user, self.item = (gluon.nn.Embedding(size, factors, sparse_grad=sparse, weight_initializer=init.Normal(0.1))
                                    for size in (users, items))
            self.user_bias, self.item_bias = (gluon.nn.Embedding(size, 1, sparse_grad=sparse, weight_initializer=init.Zero())
                                              for size in (users, items))

    def hybrid_forward(self, F: Functions, user: Tensor, item: Tensor) -> Tensor:
        """Return the predicted ratings, of shape (pairs, 1)."""
        product = F.sum(self.user(user) * self.item(item), axis=1, keepdims=True)
        rating: Tensor = product + self.user_bias(user) + self.item_bias(item) + self.mean
        return rating


class Example(running.Example):
    """Matrix factorization of word counts, or with ``--movielens`` of MovieLens ratings, which are downloaded."""

    score_name, more_is_better = "root mean square error", False
    defaults: ClassVar[dict[str, Any]] = {"epochs": 5, "steps": 20, "batch_size": 256, "learning_rate": 0.05, "factors": 8,
                                          "movielens": ""}
    quick: ClassVar[dict[str, Any]] = {"epochs": 2}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.03, 0.05, 0.1, 0.2), "factors": (4, 8, 16)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """Return users, items, and ratings: those of MovieLens, or ``log(1 + count)`` of words."""
        if options.movielens:
            data = fetch_movielens(options.movielens, test_share=0.2, seed=options.seed)
            return shuffled([(part.user.astype(np.int32), part.item.astype(np.int32), part.rating) for part in data[:2]],
                            data.shape, options.seed)
        counted = relation.count_relation()
        entries = counted.word, counted.follower, np.log1p(counted.count)
        testing = relation.split(len(counted.word), options.seed)
        parts = [tuple(column[chosen] for column in entries) for chosen in (~testing, testing)]
        return shuffled(parts, (len(counted.words), len(counted.words)), options.seed)

    @staticmethod
    def describe(data: running.Split) -> str:
        """Describe the data in a line."""
        users, items = data.facts["shape"]
        return f"{sum(len(part[0]) for part in data[:3]):,} ratings, {users:,} words or users, {items:,} followers or items"

    def build(self) -> HybridBlock:
        """Build the model, with random vectors and biases of 0."""
        mean = float(self.data.train[2].mean())
        users, items = self.data.facts["shape"]
        model = MatrixFactorization(users, items, self.options.factors, mean, self.sparse)
        model.initialize()
        return model

    def loss(self) -> HybridBlock:
        """Return the loss, half the squared error."""
        return gluon.loss.L2Loss()

    def arrays(self, part: Sequence[Any]) -> tuple[Any, ...]:
        """Return users, items and ratings."""
        return tuple(nd.array(column, dtype=column.dtype) for column in part)

    def evaluate(self, columns: Sequence[Any]) -> float:
        """Return the root mean square error."""
        said, rating = self.predict(columns)
        return float(np.sqrt(np.mean((said - rating) ** 2)))

    @staticmethod
    def trivial(data: running.Split) -> float:
        """Return the error of the mean of the test ratings, the best constant predictor."""
        return float(np.std(data.test[2]))


def shuffled(parts: Sequence[Sequence[Any]], shape: tuple[int, int], seed: int) -> running.Split:
    """Split training ratings, after shuffling them, into training and validation data; ``parts`` are training and test."""
    train, test = parts
    order = np.random.default_rng(seed).permutation(len(train[0]))
    return running.split_validation([column[order] for column in train], test, shape=shape)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "matrix_factorization", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
