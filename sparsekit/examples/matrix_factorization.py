"""Matrix factorization with sparse embeddings: how often does a module's documentation use a word?

Each module and each word has a vector and a bias, looked up by number.  A batch looks up a few rows of each table; with
``sparse_grad`` only they have a gradient and are updated (Koren, Bell and Volinsky 2009).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import autograd, gluon, init, nd
from ..datasets import fetch_movielens
from . import relation, running

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.block import HybridBlock

__all__ = ["Example", "MatrixFactorization", "main"]


class MatrixFactorization(gluon.HybridBlock):
    """The product of a user's and an item's vector, and biases.

    Parameters
    ----------
    users, items, factors : int
        Numbers of users and items, and the length of their vectors.
    mean : float
        What the rating is without user and item.
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
        """What each user is expected to rate the item, (pairs, 1)."""
        product = F.sum(self.user(user) * self.item(item), axis=1, keepdims=True)
        found: Tensor = product + self.user_bias(user) + self.item_bias(item) + self.mean
        return found


class Example(running.Example):
    """Matrix factorization of counts of words, or of MovieLens where it can be downloaded."""

    score_name, more_is_better = "root mean square error", False
    defaults: ClassVar[dict[str, Any]] = {"epochs": 5, "steps": 20, "batch_size": 256, "learning_rate": 0.05, "factors": 8,
                                          "movielens": ""}
    quick: ClassVar[dict[str, Any]] = {"epochs": 2}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.03, 0.05, 0.1, 0.2), "factors": (4, 8, 16)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """Users, items, and logarithms of counts or ratings."""
        if options.movielens:
            data = fetch_movielens(options.movielens, test_share=0.2, seed=options.seed)
            return shuffled([(part.user.astype(np.int32), part.item.astype(np.int32), part.rating) for part in data[:2]],
                            data.shape, options.seed)
        found = relation.count_relation(options.packages or ["numpy", "numba"])
        entries = found.module, found.word, np.log1p(found.count)
        testing = relation.split(len(found.word), options.seed)
        parts = [tuple(column[chosen] for column in entries) for chosen in (~testing, testing)]
        return shuffled(parts, (len(found.modules), len(found.words)), options.seed)

    @staticmethod
    def describe(data: running.Split) -> str:
        """The data in a line."""
        users, items = data.facts["shape"]
        return f"{sum(len(part[0]) for part in data[:3]):,} ratings, {users:,} modules or users, {items:,} words or items"

    def build(self) -> HybridBlock:
        """The model, vectors at random, biases 0."""
        mean = float(self.data.train[2].mean())
        users, items = self.data.facts["shape"]
        model = MatrixFactorization(users, items, self.options.factors, mean, self.sparse)
        model.initialize()
        return model

    def loss(self) -> HybridBlock:
        """Half the squared error."""
        return gluon.loss.L2Loss()

    def batches(self) -> Iterator[Any]:
        """Users, items, ratings."""
        rows = gluon.data.ArrayDataset(*(nd.array(part, dtype=part.dtype) for part in self.data.train))
        yield from gluon.data.DataLoader(rows, self.options.batch_size, shuffle=True, last_batch="discard")

    def evaluate(self, columns: Sequence[Any]) -> float:
        """Root mean square error."""
        user, item, rating = columns
        with autograd.predict_mode():
            said = self.model(*(nd.array(part, dtype=part.dtype) for part in (user, item))).asnumpy()[:, 0]
        return float(np.sqrt(np.mean((said - rating) ** 2)))

    @staticmethod
    def trivial(data: running.Split) -> float:
        """The least error that is possible without looking at user and item, even knowing the ratings: from their mean."""
        return float(np.std(data.test[2]))


def shuffled(parts: Sequence[Sequence[Any]], shape: tuple[int, int], seed: int) -> running.Split:
    """Ratings for training, in a random order, so that a part of them can be kept, and for testing."""
    train, test = parts
    order = np.random.default_rng(seed).permutation(len(train[0]))
    return running.carve([column[order] for column in train], test, shape=shape)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "matrix_factorization", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
