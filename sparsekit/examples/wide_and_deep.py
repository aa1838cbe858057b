"""A wide-and-deep model that predicts whether a word follows another one in books.

The wide part is linear in crossed features, a csr row with a 1 for the combination of follower and ending; it memorizes.  The
deep part is a network on embeddings of follower, word and ending; it generalizes (Cheng et al. 2016).  The weight of the wide
part and the table of the deep part have row_sparse gradients.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .. import gluon, init, nd
from . import relation, running

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.block import HybridBlock


class WideAndDeep(gluon.HybridBlock):
    """Computes log-odds, the sum of a linear and a deep part.

    Parameters
    ----------
    columns : int
        Number of columns of the wide part's csr rows.
    sizes : sequence of int
        Number of values of each category of the deep part.
    width : int
        Length of the embedding vectors.
    hidden : sequence of int
        Units of the hidden layers.
    sparse : bool
        Whether gradients are row_sparse.
    """

    def __init__(self, columns: int, sizes: Sequence[int], width: int, hidden: Sequence[int], sparse: bool = True) -> None:
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(columns, 1), init=init.Zero(),
                                          grad_stype="row_sparse" if sparse else "default")
            # One table with separate rows for each category needs one look-up, one gradient and one update.
            self.table = gluon.nn.Embedding(sum(sizes), width, sparse_grad=sparse, weight_initializer=init.Normal(0.1))
            self.deep = gluon.nn.HybridSequential()
            for units, inputs in zip(hidden, [len(sizes) * width, *hidden], strict=False):
                self.deep.add(gluon.nn.Dense(units, activation="relu", in_units=inputs))
            self.deep.add(gluon.nn.Dense(1, in_units=hidden[-1]))

    def hybrid_forward(self, F: Functions, wide: Tensor, categories: Tensor, weight: Tensor) -> Tensor:
        """Return the log-odds, of shape (rows, 1)."""
        score: Tensor = F.dot(wide, weight) + self.deep(F.flatten(self.table(categories)))
        return score


class Example(running.Example):
    """Wide and deep on pairs of words."""

    defaults: ClassVar[dict[str, Any]] = {"epochs": 4, "steps": 20, "batch_size": 256, "learning_rate": 0.1, "width": 16,
                                          "hidden": 32}
    quick: ClassVar[dict[str, Any]] = {"epochs": 3}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.02, 0.05, 0.1), "hidden": (16, 32)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """Return pairs of the relation with label 1, and as many others with label 0."""
        counted = relation.count_relation()
        parts = [(relation.crossed(counted, part.word, part.follower), relation.columns_of(counted, part.word, part.follower)[0],
                  part.label) for part in relation.draw_pairs(counted, options.seed)]
        return running.split_validation(*parts, sizes=(len(counted.words), len(counted.words), len(counted.endings)))

    @staticmethod
    def describe(data: running.Split) -> str:
        """Describe the data in a line."""
        rows, columns = data.train[0].shape
        return (f"{rows:,} pairs of words, half of them real; {columns:,} crossings, "
                f"{sum(data.facts['sizes']):,} followers, words and endings")

    def build(self) -> HybridBlock:
        """Build the model, with a wide part of 0 and a random deep part."""
        hidden = self.options.hidden, self.options.hidden // 2
        model = WideAndDeep(self.data.train[0].shape[1], self.data.facts["sizes"], self.options.width, hidden, self.sparse)
        model.initialize(init.Xavier())
        return model

    def arrays(self, part: Sequence[Any]) -> tuple[Any, ...]:
        """Return csr rows, categories and labels."""
        wide, categories, label = part
        return wide, nd.array(categories, dtype="int32"), nd.array(label)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "wide_and_deep", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
