"""The training epoch of ``sparsekit bench epoch`` as one hand-written function of numba; see ``protocol.py``.

It is the floor for a step on one core: every batch is a single compiled call, the first layer's gradient is never stored, and
the weights are updated where they lie.  It does nothing else: no other network, no losses, no gradients to look at.
"""

from __future__ import annotations

import sys
import time

import numba
import numpy
from protocol import serve

RATE = numpy.float32(0.01)


@numba.njit(fastmath={"contract", "reassoc"}, error_model="numpy")
def sigmoid(value):
    return numpy.float32(1) / (numpy.float32(1) + numpy.exp(-value))


@numba.njit(fastmath={"contract", "reassoc"}, error_model="numpy")
def step(data, indices, indptr, label, weight, bias, second, second_bias, third, third_bias, hidden, inner, change):
    """One batch: forward pass, backward pass and updates; ``hidden``, ``inner`` and ``change`` are working memory."""
    rows, width, narrow, rate = hidden.shape[0], hidden.shape[1], inner.shape[1], RATE / numpy.float32(hidden.shape[0])
    for row in range(rows):
        total = hidden[row]
        total[:] = bias
        for place in range(indptr[row], indptr[row + 1]):
            value, source = data[place], weight[indices[place]]
            for column in range(width):
                total[column] += value * source[column]
        for column in range(width):
            total[column] = sigmoid(total[column])
        for unit in range(narrow):
            found = second_bias[unit]
            for column in range(width):
                found += total[column] * second[unit, column]
            inner[row, unit] = sigmoid(found)
    for row in range(rows):
        out = third_bias[0]
        for unit in range(narrow):
            out += inner[row, unit] * third[unit]
        out = sigmoid(out)
        # The loss applies another sigmoid, as the tutorial has it.
        change[row, width] = (sigmoid(out) - label[row]) * out * (numpy.float32(1) - out)
        change[row, :width] = 0
        for unit in range(narrow):
            given = change[row, width] * third[unit] * inner[row, unit] * (numpy.float32(1) - inner[row, unit])
            change[row, width + 1 + unit] = given
            for column in range(width):
                change[row, column] += given * second[unit, column]
        for column in range(width):
            change[row, column] *= rate * hidden[row, column] * (numpy.float32(1) - hidden[row, column])
    for row in range(rows):  # all gradients are known now
        third_bias[0] -= rate * change[row, width]
        for unit in range(narrow):
            third[unit] -= rate * change[row, width] * inner[row, unit]
            given = rate * change[row, width + 1 + unit]
            second_bias[unit] -= given
            for column in range(width):
                second[unit, column] -= given * hidden[row, column]
        for column in range(width):
            bias[column] -= change[row, column]
        for place in range(indptr[row], indptr[row + 1]):
            value, target = data[place], weight[indices[place]]
            for column in range(width):
                target[column] -= value * change[row, column]


def memory(rows: int, width: int = 128, narrow: int = 8) -> list[numpy.ndarray]:
    """Working memory of a step."""
    return [numpy.empty(shape, numpy.float32) for shape in ((rows, width), (rows, narrow), (rows, width + 1 + narrow))]


class Worker:
    """State between commands: the batches and the weights."""

    def info(self):
        form = "one compiled function for the whole step, written by hand for this network; batches parsed beforehand"
        return {"name": "numba", "version": numba.__version__, "python": sys.version.split()[0], "form": form}

    def load(self, path):
        """Slice the data set into batches and make the weights."""
        with numpy.load(path) as stored:
            parts = {name: stored[name] for name in stored.files}
        batch, stored = int(parts["batch_size"]), int(parts["indptr"][1])
        indptr = numpy.arange(0, batch * stored + 1, stored)
        pieces = [array.reshape(-1, batch * stored) for array in (parts["data"], parts["indices"])]
        labels = parts["label"].reshape(-1, batch).astype(numpy.float32)
        self.batches = [(data, indices, indptr, label) for data, indices, label in zip(*pieces, labels, strict=True)]
        random = numpy.random.default_rng(0)
        shapes = [(int(parts["features"]), 128), (128,), (8, 128), (8,), (8,), (1,)]
        self.weights = [random.uniform(-0.07, 0.07, shape).astype(numpy.float32) for shape in shapes]
        self.memory = memory(batch)
        return {"forms": {"epoch": {"": []}}, "failed": {}}

    def time(self, operation):
        """Train one epoch; milliseconds."""
        weights, held, start = self.weights, self.memory, time.perf_counter()
        for batch in self.batches:
            step(*batch, *weights, *held)
        return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    serve(Worker())
