"""``sparsekit bench ranking``: the time in which recommenders for implicit feedback rank unseen items equally well."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import autograd, gluon, init, nd, optimizer
from .. import random as seeds
from ..base.errors import LazyUpdateWarning
from ..datasets.books import load_books
from .estimators import PASSES, QUICK_PASSES, Way, compare, rivals
from .harness import Session

if TYPE_CHECKING:
    from ..base.types import Array
    from ..core.types import Functions, Tensor
    from ..ndarray.ndarray import NDArray

FACTORS, BATCH = 32, 1024
#: Of the words of each paragraph, those that no model sees.
TEST_SHARE = 0.1


class Data(NamedTuple):
    """Which user has which item: pairs to train on, and to test pairs with an item that the user does not have.

    Attributes
    ----------
    users, items : int
    keys : array of int64, shape (pairs,)
        ``user * items + item`` of the pairs to train on, sorted.
    test_rows : array of int64, shape (pairs, 3)
        User, item, and the other item.
    test_label : array of bool, shape (pairs,)
        True: the item is to be ranked before the other.
    """

    users: int
    items: int
    keys: Array
    test_rows: Array
    test_label: Array

    def drawn(self, random: np.random.Generator, keys: Array) -> Array:
        """Users, items and other items of pairs, of shape (pairs, 3), without those whose user has the other item too.

        An item is drawn as another as often as users have it, which is how implicit draws.
        """
        user, item = np.divmod(keys, self.items)
        other = self.keys[random.integers(self.keys.size, size=keys.size)] % self.items
        drawn_keys = user * self.items + other
        place = np.searchsorted(self.keys, drawn_keys)
        has = self.keys[np.minimum(place, self.keys.size - 1)] == drawn_keys
        kept: Array = np.stack([user, item, other], axis=1)[~has]
        return kept


def _data() -> Data:
    """Paragraphs of books as users, and their words as items."""
    rows = load_books(counts="binary", normalise=False).train.data.asscipy().tocoo()
    users, items = rows.shape
    keys = np.sort(rows.row.astype(np.int64) * items + rows.col)
    random = np.random.default_rng(0)
    testing = random.random(keys.size) < TEST_SHARE
    both_parts = Data(users, items, keys, keys, keys)  # an item of the other part is none that the user does not have
    test = both_parts.drawn(random, keys[testing])
    return Data(users, items, keys[~testing], test, np.ones(len(test), bool))


class _Preferences(gluon.HybridBlock):
    """By how much a user's item has a higher score than another: the product of vectors, plus the item's bias."""

    def __init__(self, users: int, items: int) -> None:
        super().__init__()
        with self.name_scope():
            self.user, self.item, self.bias = (
                gluon.nn.Embedding(size, width, sparse_grad=True, weight_initializer=start) for size, width, start in (
                    (users, FACTORS, init.Normal(0.1)), (items, FACTORS, init.Normal(0.1)), (items, 1, init.Zero())))

    def hybrid_forward(self, F: Functions, user: Tensor, pair: Tensor) -> Tensor:
        """Return the differences, of shape (pairs,), of items of shape (pairs, 2)."""
        products = F.broadcast_mul(self.item(pair), F.expand_dims(self.user(user), axis=1))
        scores = F.sum(products, axis=2) + F.reshape(self.bias(pair), shape=(-1, 2))
        better, worse = F.slice_axis(scores, axis=1, begin=0, end=1), F.slice_axis(scores, axis=1, begin=1, end=2)
        apart: Tensor = F.reshape(better - worse, shape=(-1,))
        return apart


class _Recommender:
    """Bayesian personalized ranking (Rendle and others 2009) with AdaGrad, in steps of some pairs."""

    def __init__(self, data: Data, rate: float) -> None:
        seeds.seed(0)
        self.random = np.random.default_rng(0)
        self.net = _Preferences(data.users, data.items)
        self.net.initialize()
        # Weight decay of the rows that a batch has, of implicit's strength.
        trainer = gluon.Trainer(self.net.collect_params(), optimizer.AdaGrad(learning_rate=rate, wd=0.01))
        self.step = gluon.TrainStep(self.net, gluon.loss.LogisticLoss(label_format="binary"), trainer)

    def train(self, data: Data, passes: int) -> float:
        """Train on all pairs so many times, but for an incomplete batch; seconds of the processor, with those of all threads."""
        start, label = time.process_time(), nd.ones(BATCH)
        for _ in range(passes):
            drawn = data.drawn(self.random, self.random.permutation(data.keys))
            for begin in range(0, len(drawn) - BATCH + 1, BATCH):
                self.step(_inputs(drawn[begin:begin + BATCH]), label)
        return time.process_time() - start

    def score(self, rows: Array, label: Array) -> float:
        """The share of pairs that are in order."""
        with autograd.pause():
            return float(((self.net(*_inputs(rows)).asnumpy() > 0) == label).mean())


def _inputs(drawn: Array) -> tuple[NDArray, NDArray]:
    return nd.array(drawn[:, 0], dtype=np.int64), nd.array(drawn[:, 1:], dtype=np.int64)


def measure(session: Session) -> None:
    """Measure the time to equal order."""
    data = _data()
    own = Way(lambda rate: _Recommender(data, rate), (0.1, 0.3, 1.0), "learning_rate", _Recommender.train)
    ways = {"sparsekit": own, **rivals(session, "ranking", lambda: {
        "users": data.users, "items": data.items, "factors": FACTORS, "keys": data.keys, "test": data.test_rows},
        (0.01, 0.03, 0.1, 0.3))}
    title = f"{data.keys.size:,} pairs of {data.users:,} paragraphs and {data.items:,} words, {FACTORS} factors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LazyUpdateWarning)  # of unused rows, as in implicit
        compare(session, ways, data, QUICK_PASSES if session.quick else PASSES, title, "a share in order")
