"""Blocks of random programs: what a net of a user may have in it."""

import functools
import os
import random
import weakref
from typing import Any

import numpy as np

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.gluon import nn

#: Columns of csr data, and ids.
COLUMNS, IDS = 40, 20


class Settings:
    """A foreign object whose attributes blocks read."""

    factor, shared = 1.0, 1.0

    def __init__(self) -> None:
        self.calls = 0

    def read(self, block: Any, what: str) -> float:
        """What a block reads, or writes to and reads, outside of what is traced."""
        self.calls += 1
        return READS[what](block)


settings = Settings()
FACTOR, VARIABLE = 1.0, "SPARSEKIT_TEST_OF_STEPS"


def _counted(block: Any) -> float:
    block.count = getattr(block, "count", 0) + 1
    return 1 / float(block.count)


def _grown(block: Any) -> float:
    vars(block).setdefault("seen", []).append(0.25)
    return 1 / sum(block.seen)


def _written(block: Any) -> float:
    held = vars(block).setdefault("numbers", np.zeros(1))
    held += 0.5
    return float(held[0])


def _written_array(block: Any) -> float:
    if "array" not in vars(block):
        object.__setattr__(block, "array", mx.nd.ones((1,)))
    block.array[:] = block.array * 0.5
    return 1 + float(block.array.asscalar())


READS = {"random": lambda block: 0.5 + random.random(), "numpy.random": lambda block: np.random.rand(),
         "object": lambda block: settings.factor, "class": lambda block: Settings.shared, "global": lambda block: FACTOR,
         "environment": lambda block: float(os.environ.get(VARIABLE, "1")), "counter": _counted, "list": _grown,
         "numbers": _written, "array": _written_array}


class Reads(gluon.HybridBlock):
    """A HybridBlock that overrides ``forward``."""

    def __init__(self, what: str, **options: Any) -> None:
        super().__init__(**options)
        self.what = what

    def forward(self, x: Any) -> Any:
        return x * settings.read(self, self.what)


class ReadsPlainly(gluon.Block):
    """A plain Block."""

    def __init__(self, what: str, **options: Any) -> None:
        super().__init__(**options)
        self.what = what

    def forward(self, x: Any) -> Any:
        return x * settings.read(self, self.what)


class OwnForward(nn.Dense):
    """A layer of the library with a ``forward`` of its user's."""

    what = "counter"

    def forward(self, x: Any) -> Any:
        return super().forward(x) * settings.read(self, self.what)


class OwnCall(nn.Dense):
    """A layer whose user overrides what calls ``forward``."""

    what = "counter"

    def __call__(self, x: Any) -> Any:
        return super().__call__(x) * settings.read(self, self.what)


class Mixin:
    """A base class that defines ``forward`` and is not a Block."""

    def forward(self, x: Any) -> Any:
        return super().forward(x) * settings.read(self, "random")


class Mixed(Mixin, nn.Dense):
    """A layer of the library with it."""


class Doubled(mx.operator.CustomOp):
    """An operator of the user's, which counts its calls."""

    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] * settings.read(settings, "random"))

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("doubled_in_steps")
class DoubledProp(mx.operator.CustomOpProp):
    """Describes it."""

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Doubled:
        return Doubled()


class Tripled(autograd.Function):
    """A function with a gradient of the user's."""

    def forward(self, x: Any) -> Any:
        return x * settings.read(settings, "random")

    def backward(self, above: Any) -> Any:
        return above * 3


class Holds(gluon.HybridBlock):
    """It may be traced, but for a block that it holds in some way."""

    def __init__(self, way: str, what: str, **options: Any) -> None:
        super().__init__(**options)
        inner, self.way = Reads(what), way
        held = {"list": [inner], "dict": {"a": (inner,)}, "method": inner.__call__, "object": Settings(),
                "partial": functools.partial(inner), "weak": weakref.ref(inner)}[way]
        if way == "object":
            held.inner = inner
        if way == "weak":
            ALIVE.append(inner)
        self.held = held

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        function = {"list": lambda x: self.held[0](x), "dict": lambda x: self.held["a"][0](x),
                    "object": lambda x: self.held.inner(x), "weak": lambda x: self.held()(x)}.get(self.way, self.held)
        return function(x * 2)


ALIVE: list[Any] = []


def lambda_of(what: str) -> Any:
    """A layer that calls a function, which reads."""
    holder = type("Holder", (), {})()
    return nn.Lambda(lambda x: x * settings.read(holder, what))


def of_one_block(what: str, width: int) -> Any:
    """A layer that has a ``forward`` of its own, and its class none."""
    net = nn.Dense(width, in_units=width)
    plain = net.forward
    net.forward = lambda x: plain(x) * settings.read(net, what)
    return net


def hooked(before: bool, width: int) -> Any:
    """A layer with a hook."""
    net = nn.Dense(width, in_units=width)
    (net.register_forward_pre_hook if before else net.register_forward_hook)(lambda *_: settings.read(net, "counter") and None)
    return net


class Applied(gluon.HybridBlock):
    """An expression of ``F`` and ``x``."""

    def __init__(self, text: str, **options: Any) -> None:
        super().__init__(**options)
        self.text = text

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return eval(self.text, {"F": F, "x": x})


def _assigned(array: Any) -> None:
    array[:] = array * 0.5


WRITES = {"assign": _assigned, "in place": lambda array: array.__imul__(0.5),
          "out": lambda array: mx.nd.broadcast_mul(array, mx.nd.ones((1,), dtype=array.dtype) / 2, out=array),
          "copyto": lambda array: (array * 0.5).copyto(array),
          "update": lambda array: mx.nd.sgd_update(array, mx.nd.ones((1,), dtype=array.dtype), lr=0.1, out=array)}


class Writes(gluon.HybridBlock):
    """It writes to an array of its own, or to a parameter, where it is traced."""

    def __init__(self, way: str, parameter: bool, **options: Any) -> None:
        super().__init__(**options)
        self.way, self.array = way, mx.nd.ones((1,))
        if parameter:
            with self.name_scope():
                self.total = self.params.get("total", shape=(1,), init="ones", grad_req="null")

    def hybrid_forward(self, F: Any, x: Any, total: Any = None) -> Any:
        array = self.array if total is None else self.total.data()
        if self.way == "set_data" and total is not None:
            self.total.set_data(array * 0.5)
        else:
            WRITES.get(self.way, _assigned)(array)
        return F.broadcast_mul(x, array)


class Recurring(gluon.HybridBlock):
    """An LSTM of one step."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.lstm = gluon.rnn.LSTM(width, input_size=width)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.squeeze(self.lstm(F.expand_dims(x, axis=0)), axis=0)


class Joined(gluon.HybridBlock):
    """Both a csr and an embedded part, and layers behind their sum."""

    def __init__(self, width: int, rest: Any, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.wide, self.deep, self.rest = Linear(width), Summed(width), rest

    def hybrid_forward(self, F: Any, rows: Any, others: Any) -> Any:
        return self.rest(self.wide(rows) + F.broadcast_mul(self.deep(others[0]), others[1]))


class Linear(gluon.HybridBlock):
    """A product with a weight of any storage type, for csr data."""

    def __init__(self, width: int, stype: str = "default", grad_stype: str = "row_sparse", **options: Any) -> None:
        super().__init__(**options)
        self.weight = self.params.get("weight", shape=(COLUMNS, width), stype=stype, grad_stype=grad_stype)

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.dot(x, weight)


class Summed(gluon.HybridBlock):
    """The sum of the embeddings of each row of ids."""

    def __init__(self, width: int, sparse_grad: bool = True, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.embedding = nn.Embedding(IDS, width, sparse_grad=sparse_grad)

    def hybrid_forward(self, F: Any, ids: Any) -> Any:
        return F.sum(self.embedding(ids), axis=1)


class Scaled(gluon.HybridBlock):
    """A factor that is an attribute, and may be set between two steps; text makes it fail."""

    factor = 1.5

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.tanh(x * self.factor)


class Residual(gluon.HybridBlock):
    """A child that is called twice, with a sum."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.inner = nn.Dense(width, in_units=width, activation="sigmoid")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x + self.inner(self.inner(x))


class Deep(gluon.Block):
    """Stochastic depth: Python decides at every call."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.inner = nn.Dense(width, in_units=width)

    def forward(self, x: Any) -> Any:
        return x + self.inner(x) if random.random() < 0.5 else x
