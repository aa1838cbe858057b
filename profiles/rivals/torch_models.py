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


def rows(count, width):
    """A table whose rows are looked up."""
    return torch.nn.Embedding(count, width, sparse=True)


def bags(count, width):
    """A table whose rows are added up, with weights."""
    return torch.nn.EmbeddingBag(count, width, mode="sum", sparse=True)


class Linear(torch.nn.Module):
    def __init__(self, sizes, tables):
        super().__init__()
        self.weight = tables.bags(sizes["features"], 1)
        self.bias = torch.nn.Parameter(torch.zeros(1))

    def forward(self, columns, values):
        return self.weight(columns, per_sample_weights=values) + self.bias


class Machine(torch.nn.Module):
    def __init__(self, sizes, tables):
        super().__init__()
        self.linear = Linear(sizes, tables)
        self.vectors = tables.rows(sizes["features"], sizes["factors"])

    def forward(self, columns, values):
        rows = self.vectors(columns) * values[..., None]
        pairs = rows.sum(1).square() - rows.square().sum(1)
        return self.linear(columns, values) + 0.5 * pairs.sum(1, keepdim=True)


class Factorization(torch.nn.Module):
    def __init__(self, sizes, tables):
        super().__init__()
        self.tables = torch.nn.ModuleList(
            tables.rows(sizes[name], width) for width in (sizes["factors"], 1) for name in ("users", "items"))

    def forward(self, user, item):
        first, second, left, right = self.tables
        return (first(user) * second(item)).sum(1, keepdim=True) + left(user) + right(item)


class WideAndDeep(torch.nn.Module):
    def __init__(self, sizes, tables):
        super().__init__()
        self.wide = tables.bags(sizes["columns"], 1)
        self.table = tables.rows(sizes["rows"] // sizes["categories"] * sizes["categories"], sizes["width"])
        hidden = sizes["hidden"]
        self.deep = torch.nn.Sequential(
            torch.nn.Linear(sizes["categories"] * sizes["width"], hidden), torch.nn.ReLU(),
            torch.nn.Linear(hidden, hidden // 2), torch.nn.ReLU(), torch.nn.Linear(hidden // 2, 1))

    def forward(self, columns, values, codes):
        return self.wide(columns, per_sample_weights=values) + self.deep(self.table(codes).flatten(1))


class Language(torch.nn.Module):
    def __init__(self, sizes, tables):
        super().__init__()
        self.embedding = tables.rows(sizes["words"], sizes["width"])
        self.lstm = torch.nn.LSTM(sizes["width"], sizes["hidden"], proj_size=sizes["projection"])
        self.weight = tables.rows(sizes["words"], sizes["projection"] or sizes["hidden"])
        self.bias = tables.rows(sizes["words"], 1)

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


def adagrad(parameters):
    """AdaGrad of some parameters, sqrt(EPSILON + sum of squares), as the others have it; nothing for none."""
    return [torch.optim.Adagrad(parameters, lr=RATE, eps=0.0, initial_accumulator_value=EPSILON)] if parameters else []


class Worker:
    """A model and its batches; ``tables`` makes the tables of rows."""

    tables = sys.modules[__name__]

    def info(self):
        return {"name": "torch", "version": torch.__version__, "python": sys.version.split()[0]}

    def optimizers_of(self, model):
        """Fill the parameters with their initial values, and give what updates them."""
        fill(model.parameters())
        sparse = [one.weight for one in model.modules() if getattr(one, "sparse", False)]
        kept = {id(one) for one in sparse}
        return adagrad(sparse) + adagrad([one for one in model.parameters() if id(one) not in kept])

    def load(self, path, name):
        torch.set_num_threads(2)
        with numpy.load(path) as stored:
            self.sizes = json.loads(str(stored["sizes"]))
            arrays = {key: torch.from_numpy(stored[key]) for key in stored.files if key != "sizes"}
        self.name, self.model = name, MODELS[name](self.sizes, self.tables)
        self.optimizers = self.optimizers_of(self.model)
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
