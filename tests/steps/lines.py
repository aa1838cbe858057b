"""What the lines of a random program use: blocks of a user, batches, and a training that runs in one of several ways.

Everything here and in the programs is sparsekit's public surface, so that it outlives what runs behind it.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.gluon import nn

#: Columns of csr data, and ids.
COLUMNS, IDS = 40, 20

PACKAGE = str(Path(mx.__file__).parent) + os.sep


class Settings:
    """A foreign object whose attributes a block reads."""

    factor = 1.0


settings = Settings()


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
    """A factor that is an attribute, and may be set between two steps."""

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


class Counted(gluon.HybridBlock):
    """A HybridBlock that overrides ``forward`` itself: it counts, and reads a foreign object."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * (settings.factor / self.calls)


class Weighted(gluon.loss.Loss):
    """A loss that overrides ``forward`` and draws a number."""

    def __init__(self) -> None:
        super().__init__(None, 0)

    def forward(self, pred: Any, label: Any) -> Any:
        return mx.nd.mean(mx.nd.square(pred - label), axis=1) * float(np.random.random())


#: Every loss takes a label of the prediction's shape.
LOSSES = {"L2Loss": gluon.loss.L2Loss, "HuberLoss": gluon.loss.HuberLoss, "LogisticLoss": gluon.loss.LogisticLoss,
          "SigmoidBinaryCrossEntropyLoss": gluon.loss.SigmoidBinaryCrossEntropyLoss, "Weighted": Weighted}


def batch(kind: str, width: int, dtype: str, rows: int, seed: int, stored: int = 3) -> tuple[Any, Any]:
    """Data and labels; ``stored`` is the number of values or ids in each row."""
    chance = np.random.default_rng(seed)
    label = mx.nd.array(chance.random((rows, 2)), dtype=dtype)
    if kind == "ids":
        return mx.nd.array(chance.integers(0, IDS, (rows, stored)), dtype="int32"), label
    if kind == "dense":
        return mx.nd.array(chance.standard_normal((rows, width)), dtype=dtype), label
    places = np.stack([np.sort(chance.choice(COLUMNS, stored, replace=False)) for _ in range(rows)]).reshape(-1)
    values = chance.standard_normal(rows * stored).astype(dtype)
    starts = np.arange(rows + 1) * stored
    return mx.nd.sparse.csr_matrix((values, places, starts), shape=(rows, COLUMNS)), label


class Interrupted:
    """Raises KeyboardInterrupt at the given line of the library's code."""

    def __init__(self, line: int) -> None:
        self.left, self.raised = line, False

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line" and not self.raised:
            self.left -= 1
            if self.left <= 0:
                self.raised = True
                raise KeyboardInterrupt
        return self


class Training:
    """A net, its loss and its trainer; ``way`` says how a step runs: "plain", "TrainStep" or "hybridize"."""

    def __init__(self, way: str, kind: str, width: int, layers: str, loss: str, optimizer: str, **options: Any) -> None:
        self.way, self.kind, self.width, self.dtype, self.count = way, kind, width, "float32", 0
        self.optimizer, self.options = optimizer, options
        settings.factor = 1.0
        mx.random.seed(1)
        self.net = nn.HybridSequential(prefix="net_") if "Deep" not in layers else nn.Sequential(prefix="net_")
        with self.net.name_scope():
            self.net.add(*eval(layers, {**globals(), "width": width}))
        self.net.initialize(mx.init.Normal(0.3))
        self.loss = LOSSES[loss]()
        if way == "hybridize":
            self.net.hybridize()
            self.loss.hybridize()
        self.begin()

    def begin(self) -> None:
        """Make the trainer, and what runs its steps."""
        with self.options_made() as options:
            self.trainer = gluon.Trainer(self.net.collect_params(), self.optimizer, options)
        self.compiled = gluon.TrainStep(self.net, self.loss, self.trainer) if self.way == "TrainStep" else None

    @contextlib.contextmanager
    def options_made(self) -> Any:
        """The optimizer's arguments, with a new schedule."""
        made = dict(self.options)
        if "lr_scheduler" in made:
            made["lr_scheduler"] = eval(made["lr_scheduler"], {"mx": mx})
        yield made

    @property
    def parameters(self) -> list[Any]:
        """The net's parameters, in their order."""
        return list(self.net.collect_params().values())

    def run(self, data: Any, label: Any) -> Any:
        """One step; the result is the loss of each row."""
        self.count += 1
        mx.random.seed(self.count)
        random.seed(self.count)
        np.random.seed(self.count)
        if self.compiled is not None:
            return self.compiled(data, label)
        with mx.config.set(tables=False) if self.way == "plain" else contextlib.nullcontext():
            with autograd.record():
                loss = self.loss(self.net(data), label)
            loss.backward()
            self.trainer.step(data.shape[0])
        return loss

    # the lines of programs

    def train(self, rows: int, seed: int, stored: int = 3, look: bool = True) -> Any:
        """A step; ``look`` says whether somebody reads the gradients afterwards."""
        return self.run(*batch(self.kind, self.width, self.dtype, rows, seed, stored))

    def fail(self, rows: int, seed: int) -> str:
        """A step whose label has one row too many; the result is the error's class."""
        data, _ = batch(self.kind, self.width, self.dtype, rows, seed)
        _, label = batch(self.kind, self.width, self.dtype, rows + 1, seed)
        try:
            self.run(data, label)
        except mx.SparsekitError as error:
            return type(error).__name__
        return "no error"

    def interrupt(self, rows: int, seed: int, line: int) -> Any:
        """A step that Ctrl-C ends at a line of the library, except in the plain training."""
        if self.way == "plain":
            return self.train(rows, seed)
        given = batch(self.kind, self.width, self.dtype, rows, seed)
        interrupted = Interrupted(line)
        before = sys.gettrace()
        sys.settrace(interrupted)
        try:
            return self.run(*given)
        except KeyboardInterrupt:
            return None
        finally:
            sys.settrace(before)

    def resume(self) -> None:
        """Save everything and go on with a new trainer, except in the plain training."""
        if self.way == "plain":
            return
        with tempfile.TemporaryDirectory() as folder:
            self.trainer.save_states(f"{folder}/states")
            self.begin()
            self.trainer.load_states(f"{folder}/states")

    def reload(self) -> None:
        """Save the parameters and load them."""
        with tempfile.TemporaryDirectory() as folder:
            self.net.save_parameters(f"{folder}/parameters")
            self.net.load_parameters(f"{folder}/parameters")

    def cast(self, dtype: str) -> None:
        """Change the element type of everything; an optimizer's states go with the trainer."""
        self.net.cast(dtype)
        self.dtype = dtype
        self.begin()

    def rate(self, value: float) -> None:
        """Set the learning rate, unless a schedule does."""
        if "lr_scheduler" not in self.options:
            self.trainer.set_learning_rate(value)

    def optimizer_is(self, **settings_: Any) -> None:
        """Set attributes of the optimizer that it has."""
        for name, value in settings_.items():
            if hasattr(self.trainer.optimizer, name):
                setattr(self.trainer.optimizer, name, value)

    def parameter(self, number: int, **settings_: Any) -> None:
        """Set attributes of a parameter."""
        found = self.parameters
        for name, value in settings_.items():
            setattr(found[number % len(found)], name, value)

    def double(self, number: int, in_place: bool) -> None:
        """Double the values of a parameter."""
        found = self.parameters
        one = found[number % len(found)]
        if in_place:
            one.data()[:] = one.data() * 2
        else:
            one.set_data(one.data() * 2)

    def factor(self, value: float) -> None:
        """Set the attribute of each ``Scaled``, and the one of the foreign object."""
        settings.factor = value
        for child in self.net:
            if isinstance(child, Scaled):
                child.factor = value

    def start_again(self) -> None:
        """Initialize the parameters anew."""
        mx.random.seed(9)
        self.net.initialize(mx.init.Normal(0.2), force_reinit=True)
