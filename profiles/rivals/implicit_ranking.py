"""implicit's personalized ranking for ``sparsekit bench ranking``; see ``protocol.py`` and ``sparsekit/bench/ranking.py``."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # what implicit asks for: its own threads are two

import sys
import time

import implicit
import numpy
from implicit.cpu.bpr import BayesianPersonalizedRanking
from protocol import serve
from scipy import sparse


class Worker:
    """A model, and the pairs to train on and to test."""

    def info(self):
        return {"name": "implicit", "version": implicit.__version__, "python": sys.version.split()[0]}

    def load(self, path):
        with numpy.load(path) as stored:
            users, items, self.factors = (int(stored[name]) for name in ("users", "items", "factors"))
            user, item = numpy.divmod(stored["keys"], items)
            self.rows = sparse.csr_matrix((numpy.ones(len(user), numpy.float32), (user, item)), shape=(users, items))
            self.test = stored["test"]

    def make(self, rate):
        self.model = BayesianPersonalizedRanking(factors=self.factors, learning_rate=float(rate), iterations=0, num_threads=2,
                                                 random_state=0)
        self.model.fit(self.rows, show_progress=False)

    def train(self, passes):
        """Seconds of the processor, with those of all threads, that some passes take; it goes on from where it was."""
        self.model.iterations = int(passes)
        self.model.random_state += 1  # other pairs than before
        start = time.process_time()
        self.model.fit(self.rows, show_progress=False)
        return time.process_time() - start

    def accuracy(self):
        user, item, other = self.test.T
        users, items = self.model.user_factors[user], self.model.item_factors
        return float(((users * (items[item] - items[other])).sum(axis=1) > 0).mean())


if __name__ == "__main__":
    serve(Worker())
