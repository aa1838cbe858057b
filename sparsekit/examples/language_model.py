"""A language model with a large vocabulary, on Python's manual: the next word, from all before it.

An embedding with a row-sparse gradient, an LSTM with projection (Sak, Senior and Beaufays 2014), and a sampled softmax.
The text runs in parallel columns; each batch carries on from the states of the one before it, through which no gradient
flows (truncated backpropagation through time).  Gradients are clipped by their common norm.  What is reported is the
perplexity by the full softmax.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import autograd, gluon, init
from ..datasets import BPTTBatches, load_pydoc
from . import running
from .sampled_softmax import SampledSoftmaxLoss, draw_candidates, full_loss

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.types import Sequences
    from ..ndarray.ndarray import NDArray

__all__ = ["Example", "LanguageModel", "main"]

#: Columns that the text is tested in: each begins without knowing what came before.
TEST_COLUMNS = 8


class LanguageModel(gluon.HybridBlock):
    """Embedding, LSTM, and the output layer with its loss.

    Parameters
    ----------
    words, width, hidden : int
        Size of the vocabulary, of its vectors, and of the LSTM's cell.
    projection : int
        Width that the LSTM's output is projected to; 0 for none.
    sparse : bool
        Whether the gradients of embedding and output layer are row_sparse.
    """

    def __init__(self, words: int, width: int, hidden: int, projection: int = 0, sparse: bool = True) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = gluon.nn.Embedding(words, width, sparse_grad=sparse)
            self.lstm = gluon.rnn.LSTM(hidden, input_size=width, projection_size=projection or None)
            self.output = SampledSoftmaxLoss(words, projection or hidden, sparse)

    def hidden(self, data: Tensor, states: Sequences | None) -> tuple[Any, Any]:
        """What each next word is predicted from, (steps * columns, width), and the last states; data (steps, columns)."""
        out, states = self.lstm(self.embedding(data), states)
        return out.reshape((-3, 0)), states

    def hybrid_forward(self, F: Functions, data: Tensor, states: Sequences | None,
                       *candidates: Tensor) -> tuple[Tensor, Any]:
        """The loss of each word, and the last states."""
        hidden, states = self.hidden(data, states)
        return self.output(hidden, *candidates), states


class Example(running.Example):
    """The language model on Python's manual."""

    score_name, more_is_better = "perplexity", False
    defaults: ClassVar[dict[str, Any]] = {
        "epochs": 2, "steps": 10, "batch_size": 16, "learning_rate": 0.1, "words": 10_000, "width": 64, "hidden": 128,
        "projection": 64, "samples": 512, "length": 20, "clip": 5.0}
    quick: ClassVar[dict[str, Any]] = {"epochs": 2, "words": 2_000, "width": 32, "hidden": 64, "projection": 32, "samples": 200}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.05, 0.1, 0.2)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """The text as numbers of words, the most frequent first."""
        found = load_pydoc(options.words, packages=options.packages or (), seed=options.seed)
        return running.Split((found.train,), (found.validation,), (found.test,), {"words": len(found.vocabulary)})

    @staticmethod
    def describe(data: running.Split) -> str:
        """The data in a line."""
        return f"{len(data.train[0]):,} words of Python's manual to train on, {data.facts['words']:,} different ones"

    def build(self) -> LanguageModel:
        """The model, at random."""
        chosen = self.options
        model = LanguageModel(self.data.facts["words"], chosen.width, chosen.hidden, chosen.projection, self.sparse)
        model.initialize(init.Xavier())
        for table in (model.embedding, model.output.weight):
            table.weight.initialize(init.Uniform(0.1), force_reinit=True)
        self.states = model.lstm.begin_state(chosen.batch_size)
        return model

    def build_objective(self) -> LanguageModel:
        """The model itself: it gives the loss."""
        found: LanguageModel = self.model
        return found

    def batches(self) -> Iterator[Any]:
        """Words (length, columns) and candidates for the words that follow; the columns begin at the text's beginning."""
        chosen = self.options
        self.states = self.model.lstm.begin_state(chosen.batch_size)
        for data, target in BPTTBatches(self.data.train[0], chosen.batch_size, chosen.length, last="discard"):
            yield data, draw_candidates(target.asnumpy().ravel(), chosen.samples, self.data.facts["words"])

    def step(self, batch: Sequence[Any]) -> NDArray:
        """Forward from the states carried over, backward, clip, update; the loss of each word."""
        data, candidates = batch
        with autograd.record():
            loss, states = self.objective(data, self.states, *candidates)
        loss.backward()
        self.states = [state.detach() for state in states]
        gradients = [one.grad() for one in self.model.collect_params().values()]
        gluon.utils.clip_global_norm(gradients, self.options.clip * loss.size)  # they are sums over words until the update
        self.trainer.step(loss.size)
        found: NDArray = loss
        return found

    def evaluate(self, columns: Sequence[Any]) -> float:
        """Perplexity of a text by the full softmax."""
        states, total, count = self.model.lstm.begin_state(TEST_COLUMNS), 0.0, 0
        with autograd.predict_mode():
            for data, target in BPTTBatches(columns[0], TEST_COLUMNS, 64):
                hidden, states = self.model.hidden(data, states)
                loss = full_loss(self.model.output, hidden, target.reshape((-1,)))
                total, count = total + float(loss.sum().asscalar()), count + loss.size
        return math.exp(total / count)

    @staticmethod
    def trivial(data: running.Split) -> float:
        """The least perplexity that is possible without looking at other words, even knowing how often the text has each."""
        counts = np.bincount(data.test[0])
        shares = counts[counts > 0] / len(data.test[0])
        return math.exp(-float(np.sum(shares * np.log(shares))))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "language_model", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
