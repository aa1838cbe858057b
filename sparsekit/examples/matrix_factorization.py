"""Matrix factorization with sparse embeddings: how often does a module's documentation use a word?

Each module and each word has a vector and a bias, looked up by number.  A batch looks up a few rows of each table; with
``sparse_grad`` only they have a gradient and are updated (Koren, Bell and Volinsky 2009).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import autograd, gluon, init, nd
from ..datasets import fetch_movielens
from . import relation, running

__all__ = ["Example", "MatrixFactorization", "Rated", "main"]


class Rated(NamedTuple):
    """Users, items and ratings: arrays of int32, int32 and float32."""

    user: Any
    item: Any
    rating: Any


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

    def hybrid_forward(self, F: Any, user: Any, item: Any) -> Any:
        """What each user is expected to rate the item, (pairs, 1)."""
        product = F.sum(self.user(user) * self.item(item), axis=1, keepdims=True)
        return product + self.user_bias(user) + self.item_bias(item) + self.mean


class Example(running.Example):
    """Matrix factorization of counts of words, or of MovieLens where it can be downloaded."""

    score_name, more_is_better = "root mean square error", False
    defaults: ClassVar[dict[str, Any]] = {"epochs": 3, "steps": 20, "batch_size": 256, "learning_rate": 0.07, "factors": 8,
                                          "movielens": ""}
    quick: ClassVar[dict[str, Any]] = {"epochs": 2}

    @staticmethod
    def load(options: argparse.Namespace) -> Any:
        """Logarithms of counts, or ratings; for training and testing, and the numbers of users and items."""
        if options.movielens:
            data = fetch_movielens(options.movielens, test_share=0.2, seed=options.seed)
            parts = [Rated(part.user.astype(np.int32), part.item.astype(np.int32), part.rating) for part in data[:2]]
            return parts[0], parts[1], data.shape
        found = relation.count_relation(options.packages or ["numpy", "numba"])
        entries = Rated(found.module, found.word, np.log1p(found.count))
        testing = relation.split(len(found.word), options.seed)
        train, test = (Rated(*(part[chosen] for part in entries)) for chosen in (~testing, testing))
        return train, test, (len(found.modules), len(found.words))

    @staticmethod
    def describe(data: Any) -> str:
        """The data in a line."""
        train, test, (users, items) = data
        return f"{len(train.user) + len(test.user):,} ratings, {users:,} modules or users, {items:,} words or items"

    def build(self) -> Any:
        """The model, vectors at random, biases 0."""
        train, _, (users, items) = self.data
        model = MatrixFactorization(users, items, self.options.factors, float(train.rating.mean()), self.sparse)
        model.initialize()
        return model

    def loss(self) -> Any:
        """Half the squared error."""
        return gluon.loss.L2Loss()

    def batches(self) -> Iterator[Any]:
        """Users, items, ratings."""
        rows = gluon.data.ArrayDataset(*(nd.array(part, dtype=part.dtype) for part in self.data[0]))
        yield from gluon.data.DataLoader(rows, self.options.batch_size, shuffle=True, last_batch="discard")

    def score(self) -> float:
        """Root mean square error on the ratings kept for testing."""
        test = self.data[1]
        with autograd.predict_mode():
            said = self.model(*(nd.array(part, dtype=part.dtype) for part in test[:2])).asnumpy()[:, 0]
        return float(np.sqrt(np.mean((said - test.rating) ** 2)))

    @staticmethod
    def trivial(data: Any) -> float:
        """Mean, and the mean deviations of users and of items, each drawn towards 0 where there are few: no interaction."""
        train, test, (users, items) = data
        mean = train.rating.mean()
        item = _deviations(train.item, train.rating - mean, items)
        user = _deviations(train.user, train.rating - mean - item[train.item], users)
        return float(np.sqrt(np.mean((mean + user[test.user] + item[test.item] - test.rating) ** 2)))


def _deviations(group: Any, values: Any, size: int, few: float = 3.0) -> Any:
    return np.bincount(group, values, size) / (np.bincount(group, minlength=size) + few)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "matrix_factorization", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
