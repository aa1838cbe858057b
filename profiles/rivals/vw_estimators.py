"""Vowpal Wabbit's linear model for ``sparsekit bench sklearn``; see ``protocol.py`` and ``sparsekit/bench/estimators.py``.

Rows are parsed before the time is taken, and stand in memory in the form that Vowpal Wabbit learns from.  What it does by
itself, an AdaGrad of its own with normalized features, stays as it comes; the constant is its own too.
"""

from __future__ import annotations

import itertools
import random
import sys
import time

import numpy
import vowpalwabbit
from protocol import serve


class Worker:
    """A model, and the rows to train on and to test."""

    def __init__(self):
        self.model, self.rows = None, []

    def info(self):
        return {"name": "vw", "version": vowpalwabbit.__version__, "python": sys.version.split()[0]}

    def load(self, path):
        with numpy.load(path) as stored:
            self.columns = int(stored["columns"])
            self.lines, self.test = (list(lines(*(stored[f"{part}_{name}"] for name in ("data", "indices", "indptr", "label"))))
                                     for part in ("train", "test"))

    def make(self, rate):
        bits = (self.columns - 1).bit_length()
        options = f"--quiet --loss_function logistic --bit_precision {bits} --learning_rate {float(rate)} --random_seed 0"
        self.finish()
        self.model = vowpalwabbit.Workspace(options)
        self.rows = [self.model.parse(line) for line in self.lines]
        self.order = random.Random(0)

    def finish(self):
        """Give back what the model before took."""
        for row in self.rows:
            self.model.finish_example(row)
        if self.model is not None:
            self.model.finish()

    def train(self, passes):
        """Seconds of the processor, with those of all threads, that some passes take."""
        start = time.process_time()
        for _ in range(int(passes)):
            self.order.shuffle(self.rows)
            for row in self.rows:
                self.model.learn(row)
        return time.process_time() - start

    def accuracy(self):
        right = sum((self.model.predict(line) > 0) == line.startswith("1") for line in self.test)
        return right / len(self.test)


def lines(data, indices, indptr, label):
    """Rows as Vowpal Wabbit reads them: the label, 1 or -1, and pairs of column and value."""
    for row, (begin, end) in enumerate(itertools.pairwise(indptr)):
        pairs = " ".join(f"{column}:{value}" for column, value in zip(indices[begin:end], data[begin:end], strict=True))
        yield f"{'1' if label[row] > 0.5 else '-1'} | {pairs}"


if __name__ == "__main__":
    serve(Worker())
