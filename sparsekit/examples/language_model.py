"""A language model with a large vocabulary that predicts the next word of books.

The model is an embedding with a row-sparse gradient, an LSTM with projection (Sak, Senior and Beaufays 2014), and a sampled
softmax.  The text is split into parallel columns.  Each batch starts from the final states of the previous one, and gradients
stop there (truncated backpropagation through time).  Gradients are clipped by their global norm.  The score is the perplexity
with the full softmax.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import autograd, gluon, init
from ..base.config import config
from ..datasets import BPTTBatches, load_book_tokens
from . import running
from .sampled_softmax import SampledSoftmaxLoss, draw_candidates, full_loss

if TYPE_CHECKING:
    from ..core.types import Functions, Tensor
    from ..gluon.types import Sequences
    from ..ndarray.ndarray import NDArray

#: Number of parallel columns of the text in evaluation; each starts from states of 0.
TEST_COLUMNS = 8


class LanguageModel(gluon.HybridBlock):
    """An embedding, an LSTM, and an output layer with its loss.

    Parameters
    ----------
    words, width, hidden : int
        Size of the vocabulary, of the word vectors, and of the LSTM's cell state.
    projection : int
        Size to which the LSTM's output is projected; 0 for no projection.
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
        """Return the LSTM's outputs for ``data`` of shape (steps, columns), reshaped to (steps * columns, size), and states."""
        out, states = self.lstm(self.embedding(data), states)
        return out.reshape((-3, 0)), states

    def hybrid_forward(self, F: Functions, data: Tensor, states: Sequences | None,
                       *candidates: Tensor) -> tuple[Tensor, Any]:
        """Return the loss of each word, and the final states."""
        hidden, states = self.hidden(data, states)
        return self.output(hidden, *candidates), states


class Example(running.Example):
    """The language model on books."""

    score_name, more_is_better = "perplexity", False
    defaults: ClassVar[dict[str, Any]] = {
        "epochs": 2, "steps": 10, "batch_size": 16, "learning_rate": 0.1, "words": 10_000, "width": 64, "hidden": 128,
        "projection": 64, "samples": 512, "length": 20, "clip": 5.0}
    quick: ClassVar[dict[str, Any]] = {"epochs": 2, "words": 2_000, "width": 32, "hidden": 64, "projection": 32, "samples": 200}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {"learning_rate": (0.05, 0.1, 0.2)}

    @staticmethod
    def load(options: argparse.Namespace) -> running.Split:
        """Return the text as word indices, which are ordered by frequency."""
        books = load_book_tokens(options.words)
        return running.Split((books.train,), (books.validation,), (books.test,), {"words": len(books.vocabulary)})

    @staticmethod
    def describe(data: running.Split) -> str:
        """Describe the data in a line."""
        return f"{len(data.train[0]):,} words of books to train on, {data.facts['words']:,} different ones"

    def build(self) -> LanguageModel:
        """Build the model with random weights."""
        chosen = self.options
        model = LanguageModel(self.data.facts["words"], chosen.width, chosen.hidden, chosen.projection, self.sparse)
        model.initialize(init.Xavier())
        for table in (model.embedding, model.output.weight):
            table.weight.initialize(init.Uniform(0.1), force_reinit=True)
        self.states = model.lstm.begin_state(chosen.batch_size)
        return model

    def build_step(self) -> gluon.TrainStep:
        """Return a step of the model, which returns its loss, with clipping."""
        return gluon.TrainStep(self.model, None, self.trainer, clip_norm=self.options.clip)

    def batches(self) -> Iterator[Any]:
        """Yield words of shape (length, columns) and candidates for the next words, from the beginning of the text."""
        chosen = self.options
        self.states = self.model.lstm.begin_state(chosen.batch_size)
        for data, target in BPTTBatches(self.data.train[0], chosen.batch_size, chosen.length, last="discard"):
            yield data, draw_candidates(target.asnumpy().ravel(), chosen.samples, self.data.facts["words"])

    def step(self, batch: Sequence[Any]) -> NDArray:
        """Run forward from the states of the last batch, backward, clipping and update; return the loss of each word."""
        data, candidates = batch
        with config.set(tables=config.tables and self.options.hybridize):
            loss, self.states = self.train((data, self.states, *candidates), batch_size=data.size)
        computed: NDArray = loss
        return computed

    def evaluate(self, columns: Sequence[Any]) -> float:
        """Return the perplexity of a text with the full softmax."""
        states, total, count = self.model.lstm.begin_state(TEST_COLUMNS), 0.0, 0
        with autograd.predict_mode():
            for data, target in BPTTBatches(columns[0], TEST_COLUMNS, 64):
                hidden, states = self.model.hidden(data, states)
                loss = full_loss(self.model.output, hidden, target.reshape((-1,)))
                total, count = total + float(loss.sum().asscalar()), count + loss.size
        return math.exp(total / count)

    @staticmethod
    def trivial(data: running.Split) -> float:
        """Return the perplexity of the word frequencies of the test text, the best unigram model."""
        counts = np.bincount(data.test[0])
        shares = counts[counts > 0] / len(data.test[0])
        return math.exp(-float(np.sum(shares * np.log(shares))))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example."""
    return running.main(Example, "language_model", __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
