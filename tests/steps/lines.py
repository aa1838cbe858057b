"""What the lines of a random program use: batches, and a training that runs in one of several ways.

Everything here and in the programs is sparsekit's public surface, so that it outlives what runs behind it.
"""

import collections
import contextlib
import copy
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import user_blocks
from user_blocks import COLUMNS, IDS, Joined, Scaled, Settings, settings

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.gluon import nn
from sparsekit.gluon.contrib.estimator import BatchBegin, BatchEnd, Estimator

#: Layers that are no HybridBlocks.
PLAIN = "ReadsPlainly", "lambda_of", "Deep"

PACKAGE = str(Path(mx.__file__).parent) + os.sep


class Weighted(gluon.loss.Loss):
    """A loss that overrides ``forward`` and draws a number."""

    def __init__(self) -> None:
        super().__init__(None, 0)

    def forward(self, pred: Any, label: Any, weight: Any = None) -> Any:
        return mx.nd.mean(mx.nd.square(pred - label), axis=1) * settings.read(self, "numpy.random")


class Several(gluon.loss.Loss):
    """A loss that returns more than the loss."""

    def __init__(self) -> None:
        super().__init__(None, 0)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, weight: Any = None) -> Any:
        loss = F.square(pred - label)
        return F.mean(loss if weight is None else F.broadcast_mul(loss, weight), axis=1), [F.tanh(pred), label], None


#: Every loss takes a label of the prediction's shape.
LOSSES = {"Weighted": Weighted, "Several": Several}


class Broken(mx.lr_scheduler.FactorScheduler):
    """A schedule that fails if it is told to."""

    broken = False

    def __call__(self, num_update: int) -> float:
        if self.broken:
            raise OSError("broken")
        return super().__call__(num_update)


def rows_of_csr(rows: int, stored: int, dtype: str, chance: np.random.Generator) -> Any:
    """A csr matrix with so many values in each row."""
    places = [np.sort(chance.choice(COLUMNS, stored, replace=False)) for _ in range(rows)]
    values = chance.standard_normal(rows * stored).astype(dtype)
    return mx.nd.sparse.csr_matrix((values, np.array(places, "int64").reshape(-1), np.arange(rows + 1) * stored), (rows, COLUMNS))


def batch(kind: str, width: int, dtype: str, rows: int, seed: int, stored: int = 3, odd: str = "") -> tuple[Any, Any]:
    """Data and labels, or lists of them; ``stored`` is the number of values or ids in each row, and ``odd`` what is special."""
    chance = np.random.default_rng(seed)
    label = mx.nd.array(chance.random((rows, 2)), dtype="float64" if odd == "float64 label" else dtype)
    if kind == "dense":
        values = chance.standard_normal((rows, width)).astype(dtype)
        if odd == "infinite":
            values[0, 0] = np.inf
        data = mx.nd.array(values)
        return mx.nd.array(values.T).T if odd == "transposed" else data, label
    high = 2 * IDS if odd == "ids out of range" else IDS
    kinds = {"int64 ids": "int64", "float ids": "float32"}
    ids = mx.nd.array(chance.integers(0, high, (rows, stored)), dtype=kinds.get(odd, "int32"))
    if kind == "ids":
        return ids, label
    data = rows_of_csr(rows, 0 if odd == "empty" else stored, dtype, chance)
    if kind == "csr":
        return data, label
    factors, weights = (mx.nd.array(chance.random((rows, 1)), dtype=dtype) for _ in range(2))
    return [data, [ids, factors]], (label, weights)


class Alarm(Exception):
    """What a signal's handler may raise."""


class Interrupted:
    """Raises an exception at the given line of the library's code."""

    def __init__(self, line: int, kind: type[BaseException]) -> None:
        self.left, self.raised, self.kind = line, False, kind

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line" and not self.raised:
            self.left -= 1
            if self.left <= 0:
                self.raised = True
                raise self.kind
        return self


class Losses(BatchBegin, BatchEnd):
    """Keeps the loss that an ``Estimator`` tells, and seeds random numbers, of which it draws some itself."""

    last: Any = None

    def __init__(self, seed: Callable[[], None]) -> None:
        self.seed = seed

    def batch_begin(self, *args: Any, **kwargs: Any) -> None:
        self.seed()

    def batch_end(self, estimator: Any, *args: Any, loss: Any, **kwargs: Any) -> None:
        self.last = loss[0]


def events(profile: Any) -> list[Any]:
    """What a profile tells of operators, without times and numbers of layers; nodes that occur twice are numbered."""
    records = [record for record in profile.records if record["kind"] == "op"]
    count = collections.Counter(record["node"] for record in records)
    numbers = {node: number for number, node in enumerate(node for node in count if node is not None and count[node] > 1)}
    kept = ("name", "lane", "attrs", "fallback", "became_dense", "inputs", "outputs", "bytes", "flops", "dense_flops")
    return [[record["layer"].rstrip("0123456789_"), *[repr(described(record[name])) for name in kept],
             numbers.get(record["node"])] for record in records]


def described(value: Any) -> Any:
    """The same; arrays without what they serve as, which follows from the memory that they lie in: a table has less of it."""
    if isinstance(value, list):
        return [{name: part for name, part in array.items() if name not in ("role", "owner")} for array in value]
    return value


class Training:
    """A net, its loss and its trainer; ``way`` says how a step runs.

    "plain" are eager lines, one operator at a time.  Of the others, "hybridize" and "eager" are the same lines, with tables of
    calls, and "TrainStep" and "Estimator" run the classes of these names.
    """

    def __init__(self, way: str, kind: str, width: int, layers: str, loss: str, optimizer: str, clip_norm: float | None = None,
                 **options: Any) -> None:
        self.way, self.kind, self.width, self.dtype, self.count = way, kind, width, "float32", 0
        self.infinite = False
        self.optimizer, self.clip_norm, self.options = optimizer, clip_norm, options
        settings.factor = Settings.shared = user_blocks.FACTOR = 1.0
        os.environ.pop(user_blocks.VARIABLE, None)
        mx.random.seed(1)
        self.net = (nn.Sequential if any(name in layers for name in PLAIN) else nn.HybridSequential)(prefix="net_")
        with self.net.name_scope():
            self.net.add(*eval(layers, {**vars(user_blocks), "width": width}))
        if kind == "both":
            self.net = Joined(width, self.net, prefix="joined_")
        self.net.initialize(mx.init.Normal(0.3))
        self.loss = LOSSES[loss]() if loss in LOSSES else getattr(gluon.loss, loss)()
        if way in ("hybridize", "Estimator"):
            self.net.hybridize()
            self.loss.hybridize()
        self.begin()

    def begin(self) -> None:
        """Make the trainer, and what runs its steps; a row_sparse weight has one trainer at a time."""
        self.trainer = self.compiled = self.estimator = None
        made = dict(self.options)
        if "lr_scheduler" in made:
            made["lr_scheduler"] = eval(made["lr_scheduler"], {"mx": mx, "Broken": Broken})
        self.trainer = gluon.Trainer(self.net.collect_params(), self.optimizer, made)
        self.compiled = None
        if self.way == "TrainStep":
            self.compiled = gluon.TrainStep(self.net, self.loss, self.trainer, clip_norm=self.clip_norm)
        if self.way == "Estimator":
            self.estimator = Estimator(self.net, self.loss, trainer=self.trainer)
            self.estimator.logger.setLevel("CRITICAL")

    @property
    def parameters(self) -> list[Any]:
        """The net's parameters, in their order."""
        return list(self.net.collect_params().values())

    def run(self, data: Any, label: Any, size: int | None = None, plainly: bool = False) -> Any:
        """One step; the result is what the loss returns."""
        self.count += 1
        self.seed()
        with mx.config.set(tables=False) if self.way == "plain" else contextlib.nullcontext():
            if not plainly and self.compiled is not None:
                return self.compiled(data, label, size)
            if not plainly and self.way == "Estimator" and not self.unlike_estimator(data, size):
                loader, told = gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), data.shape[0]), Losses(self.seed)
                self.estimator.fit(loader, epochs=1, event_handlers=[told])
                return told.last
            with autograd.record():
                output = self.net(*data) if isinstance(data, list) else self.net(data)
                loss = self.loss(output, *label) if isinstance(label, tuple) else self.loss(output, label)
            (loss[0] if isinstance(loss, (tuple, list)) else loss).backward()
            size = size or (data[0] if isinstance(data, list) else data).shape[0]
            if self.clip_norm is not None:
                ordered = sorted(self.parameters, key=lambda one: one.name)
                gradients = [one.grad() for one in ordered if one.grad_req != "null"]
                gluon.utils.clip_global_norm(gradients, self.clip_norm * size)
            self.trainer.step(size)
        return loss

    def seed(self) -> None:
        """Have every step draw the same numbers in each way."""
        mx.random.seed(self.count)
        random.seed(self.count)
        np.random.seed(self.count)

    def unlike_estimator(self, data: Any, size: int | None) -> bool:
        """Whether an ``Estimator`` cannot make this step, or does more, so that plain lines make it."""
        other_loss = isinstance(self.loss, (Several, gluon.loss.PoissonNLLLoss))  # of which each row has not one value
        return size is not None or self.clip_norm is not None or isinstance(data, list) or other_loss

    # the lines of programs

    def train(self, rows: int, seed: int, stored: int = 3, odd: str = "", look: bool = True, how: str = "",
              size: int | None = None) -> Any:
        """A step; ``look`` says whether somebody reads the gradients afterwards, and ``how`` what is special about the step."""
        data, label = batch(self.kind, self.width, self.dtype, rows, seed, stored, odd)
        self.infinite = self.infinite or odd == "infinite"
        plainly = how == "plain" or bool(how and self.way == "Estimator")
        if how == "profiled":
            with mx.Profiler() as profile:
                loss = self.run(data, label, size, plainly)
            return loss, events(profile) if self.clip_norm is None else None  # which a compiled step computes in another way
        if how == "with a gradient of the data" and self.kind == "dense":
            data.attach_grad()
            return self.run(data, label, size, plainly), data.grad
        modes = {"recorded": autograd.record, "paused": autograd.pause, "to predict": autograd.predict_mode}
        with modes.get(how, contextlib.nullcontext)():
            return self.run(data, label, size, plainly)

    def fail(self, rows: int, seed: int, how: str = "label", times: int = 1) -> list[str]:
        """Steps that fail; the result are the errors' classes."""
        found = []
        for _ in range(times):
            data, label = batch(self.kind, self.width, self.dtype, rows, seed, odd="ids out of range" if how == "ids" else "")
            if how == "label":
                _, label = batch(self.kind, self.width, self.dtype, rows + 1, seed)
            if how == "rows" and self.kind == "both":
                data[1][0] = data[1][0][: rows - 1]
            if how == "rows" and self.kind == "dense":
                data = mx.nd.concat(data, data, dim=1)
            with self.broken(how), mx.config.set(indices="error"):
                try:
                    self.run(data, label, plainly=self.way == "Estimator")
                except (mx.SparsekitError, OSError) as error:
                    found.append(type(error).__name__)
        return found

    @contextlib.contextmanager
    def broken(self, what: str) -> Iterator[None]:
        """Have a schedule fail, or the blocks whose factor can be set."""
        schedule, before = self.trainer.optimizer.lr_scheduler, {}
        if what == "schedule" and isinstance(schedule, Broken):
            schedule.broken = True
        if what == "net":
            before = {one: one.factor for one in self.scaled()}
            for one in before:
                one.factor = None
        try:
            yield
        finally:
            if isinstance(schedule, Broken):
                schedule.broken = False
            for one, factor in before.items():
                one.factor = factor

    def scaled(self) -> list[Any]:
        """Each ``Scaled`` of the net."""
        found: list[Any] = []
        self.net.apply(lambda block: found.append(block) if isinstance(block, Scaled) else None)
        return found

    def interrupt(self, rows: int, seed: int, line: int, kind: type[BaseException] = KeyboardInterrupt) -> Any:
        """A step that Ctrl-C or a signal's handler ends at a line of the library, except in the plain training."""
        if self.way == "plain":
            return self.train(rows, seed)
        given = batch(self.kind, self.width, self.dtype, rows, seed)
        interrupted = Interrupted(line, kind)
        before = sys.gettrace()
        sys.settrace(interrupted)
        try:
            return self.run(*given)
        except kind:
            return None
        finally:
            sys.settrace(before)

    def resume(self) -> None:
        """Save everything and go on with a new trainer, except in the plain training."""
        if self.way == "plain":
            return
        parameters = self.trainer.optimizer.param_dict
        with tempfile.TemporaryDirectory() as folder:
            self.trainer.save_states(f"{folder}/states")
            self.begin()
            self.trainer.load_states(f"{folder}/states")
        if not parameters:  # which a line has taken from the optimizer, and a trainer gives it
            self.trainer.optimizer.param_dict = {}

    def reload(self) -> None:
        """Save the parameters and load them."""
        with tempfile.TemporaryDirectory() as folder:
            self.net.save_parameters(f"{folder}/parameters")
            self.net.load_parameters(f"{folder}/parameters")

    def reload_states(self) -> None:
        """Save the states and load them."""
        with tempfile.TemporaryDirectory() as folder:
            self.trainer.save_states(f"{folder}/states")
            self.trainer.load_states(f"{folder}/states")

    def copied(self) -> None:
        """Go on with a copy of the net, whose trainer is new."""
        self.net, self.loss = copy.deepcopy((self.net, self.loss))
        self.begin()

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
        for name, value in settings_.items():
            setattr(self.one(number), name, value)

    def one(self, number: int) -> Any:
        """A parameter."""
        found = self.parameters
        return found[number % len(found)]

    def double(self, number: int, in_place: bool) -> None:
        """Double the values of a parameter."""
        one = self.one(number)
        if in_place:
            one.data()[:] = one.data() * 2
        else:
            one.set_data(one.data() * 2)

    def factor(self, value: float) -> None:
        """Set the attribute of each ``Scaled``, and what ``Reads`` reads."""
        settings.factor = Settings.shared = user_blocks.FACTOR = value
        os.environ[user_blocks.VARIABLE] = str(value)
        for one in self.scaled():
            one.factor = value

    def start_again(self) -> None:
        """Initialize the parameters anew."""
        mx.random.seed(9)
        self.net.initialize(mx.init.Normal(0.2), force_reinit=True)

    def attach_anew(self) -> None:
        """Give the values of a parameter another gradient, which plain lines that clip would not find."""
        one = self.one(0)
        if self.clip_norm is None and one.grad_req != "null":
            one.data().attach_grad("write", one.grad().stype)

    def change(self, what: str) -> None:
        """Change something else."""
        CHANGES[what](self)


def _reforward(training: Training) -> None:
    """Give the last layer a ``forward`` of its own."""
    last = training.net[-1] if training.kind != "both" else training.net.rest[-1]
    plain = last.forward
    last.forward = lambda x: plain(x) * settings.read(last, "counter")


def _hook(training: Training) -> None:
    training.net.register_forward_hook(lambda *_: settings.read(training.net, "counter") and None)


CHANGES: dict[str, Callable[[Training], Any]] = {
    "factors of the optimizer": lambda training: training.trainer.optimizer.set_lr_mult({0: 0.1, 1: 0.2}),
    "factors in place": lambda training: training.trainer.optimizer.lr_mult.update({0: 0.1, 1: 0.2}),
    "factors in another dict": lambda training: training.optimizer_is(wd_mult={0: 0.1}, param_dict={}),
    "schedule": lambda training: training.optimizer_is(lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)),
    "context": lambda training: training.net.collect_params().reset_ctx(mx.cpu()),
    "gradients": lambda training: training.net.collect_params().zero_grad(),
    "attached anew": lambda training: training.attach_anew(),
    "hybridized": lambda training: training.net.hybridize(training.way != "plain"),
    "not hybridized": lambda training: training.net.hybridize(False),
    "forward": _reforward,
    "hook": _hook,
}
