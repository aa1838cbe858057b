"""PyTorch's equivalents of the models of ``sparsekit bench models``; see ``protocol.py`` and ``sparsekit/bench/models.py``."""

from __future__ import annotations

import json
import sys
import time

import numpy
import torch
from protocol import peak_memory, serve
from torch.nn import functional

RATE, EPSILON, NEVER = 0.002, 1e-6, -1e30


class Linear(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.weight = torch.nn.EmbeddingBag(sizes["features"], 1, mode="sum", sparse=True)
        self.bias = torch.nn.Parameter(torch.zeros(1))

    def forward(self, columns, values):
        return self.weight(columns, per_sample_weights=values) + self.bias


class Machine(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.linear = Linear(sizes)
        self.vectors = torch.nn.Embedding(sizes["features"], sizes["factors"], sparse=True)

    def forward(self, columns, values):
        rows = self.vectors(columns) * values[..., None]
        pairs = rows.sum(1).square() - rows.square().sum(1)
        return self.linear(columns, values) + 0.5 * pairs.sum(1, keepdim=True)


class Factorization(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.tables = torch.nn.ModuleList(
            torch.nn.Embedding(sizes[name], width, sparse=True) for width in (sizes["factors"], 1) for name in ("users", "items"))

    def forward(self, user, item):
        first, second, left, right = self.tables
        return (first(user) * second(item)).sum(1, keepdim=True) + left(user) + right(item)


class WideAndDeep(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.wide = torch.nn.EmbeddingBag(sizes["columns"], 1, mode="sum", sparse=True)
        rows = sizes["rows"] // sizes["categories"] * sizes["categories"]
        self.table = torch.nn.Embedding(rows, sizes["width"], sparse=True)
        hidden = sizes["hidden"]
        self.deep = torch.nn.Sequential(
            torch.nn.Linear(sizes["categories"] * sizes["width"], hidden), torch.nn.ReLU(),
            torch.nn.Linear(hidden, hidden // 2), torch.nn.ReLU(), torch.nn.Linear(hidden // 2, 1))

    def forward(self, columns, values, codes):
        return self.wide(columns, per_sample_weights=values) + self.deep(self.table(codes).flatten(1))


class Language(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.embedding = torch.nn.Embedding(sizes["words"], sizes["width"], sparse=True)
        self.lstm = torch.nn.LSTM(sizes["width"], sizes["hidden"], proj_size=sizes["projection"])
        self.weight = torch.nn.Embedding(sizes["words"], sizes["projection"] or sizes["hidden"], sparse=True)
        self.bias = torch.nn.Embedding(sizes["words"], 1, sparse=True)

    def forward(self, data, states, classes, log_expected, rows, columns):
        hidden, states = self.lstm(self.embedding(data), states)
        hidden = hidden.flatten(0, 1)
        count = hidden.shape[0]
        weight, shift = self.weight(classes), self.bias(classes)[:, 0] - log_expected
        right = (hidden * weight[:count]).sum(1) + shift[:count]
        others = torch.addmm(shift[count:], hidden, weight[count:].T).index_put((rows, columns), torch.tensor(NEVER))
        return torch.logsumexp(torch.cat([right[:, None], others], 1), 1) - right, states


MODELS = {"linear": Linear, "machine": Machine, "factorization": Factorization, "wide_and_deep": WideAndDeep,
          "language": Language, "projected": Language}


def fill(parameters):
    """Initial values that every library draws alike: the largest first, small and normal; vectors are 0."""
    for number, parameter in enumerate(sorted(parameters, key=lambda one: -one.numel())):
        if parameter.dim() > 1:
            values = numpy.random.default_rng(number).standard_normal(tuple(parameter.shape), numpy.float32)
            parameter.data.copy_(torch.from_numpy(values).mul_(0.05))
        else:
            parameter.data.zero_()


class Worker:
    """A model and its batches."""

    def info(self):
        return {"name": "torch", "version": torch.__version__, "python": sys.version.split()[0]}

    def load(self, path, name):
        torch.set_num_threads(2)
        with numpy.load(path) as stored:
            self.sizes = json.loads(str(stored["sizes"]))
            arrays = {key: torch.from_numpy(stored[key]) for key in stored.files if key != "sizes"}
        self.name, self.model = name, MODELS[name](self.sizes)
        fill(self.model.parameters())
        sparse = [one.weight for one in self.model.modules() if getattr(one, "sparse", False)]
        kept = {id(one) for one in sparse}
        dense = [one for one in self.model.parameters() if id(one) not in kept]
        # sqrt(EPSILON + sum of squares), as the others have it
        options = {"lr": RATE, "eps": 0.0, "initial_accumulator_value": EPSILON}
        self.optimizers = [torch.optim.Adagrad(some, **options) for some in (sparse, dense) if some]
        self.batches = [self._batch({key: value[one] for key, value in arrays.items()})
                        for one in range(len(next(iter(arrays.values()))))]
        self.states = None
        return {"forms": {name: {"": [float(self._step(batch)) for batch in self.batches]}}, "failed": {}}

    def _batch(self, part):
        if "length" not in self.sizes:
            return [part[name] for name in ("user", "item", "columns", "values", "codes", "label") if name in part]
        target, drawn = part["classes"].split([part["data"].numel(), self.sizes["samples"]])
        hits = (target[:, None] == drawn).nonzero(as_tuple=True)
        return [part["data"], part["classes"], part["log_expected"], *hits]

    def _step(self, batch):
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        if "length" in self.sizes:
            data, *candidates = batch
            loss, states = self.model(data, self.states, *candidates)
            self.states = tuple(state.detach() for state in states)
            loss = loss.mean()
        else:
            *inputs, label = batch
            said = self.model(*inputs)[:, 0]
            loss = (0.5 * (said - label).square().mean() if self.name == "factorization"
                    else functional.binary_cross_entropy_with_logits(said, label))
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return loss.detach()

    def time(self, operation):
        start = time.perf_counter()
        for batch in self.batches:
            self._step(batch)
        return (time.perf_counter() - start) / len(self.batches) * 1e3

    def peak(self):
        return peak_memory()


if __name__ == "__main__":
    serve(Worker())
