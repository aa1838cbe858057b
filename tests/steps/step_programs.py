"""Random programs that train: drawn from a seed, made smaller, and printed."""

import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from lines import PLAIN

import sparsekit as mx

WAYS = ("TrainStep", "TrainStep", "hybridize", "eager", "Estimator")

FIRST = {"csr": ("Linear(width)", "Linear(width, grad_stype='default')", "Linear(width, stype='row_sparse')"),
         "ids": ("Summed(width)", "Summed(width, sparse_grad=False)"),
         "dense": ("nn.Dense(width, in_units=width)", "nn.Dense(width)"), "both": ("Scaled()",)}
#: Layers that are traced.
MIDDLE = ("nn.Dense(width, in_units=width, activation='relu')", "nn.LayerNorm(in_channels=width)", "nn.Dropout(0.3)",
          "nn.BatchNorm(in_channels=width)", "nn.Activation('softrelu')", "Residual(width)", "Scaled()", "Recurring(width)",
          "nn.LeakyReLU(0.1)", "Applied({expression!r})", "Applied({expression!r})", "Applied({expression!r})")
#: Layers with Python of a user's, which runs at every call.
PYTHON = ("Reads({reads!r})", "Reads({reads!r})", "ReadsPlainly({reads!r})", "OwnForward(width, in_units=width)",
          "OwnCall(width, in_units=width)", "Mixed(width, in_units=width)", "Holds({held!r}, {reads!r})", "lambda_of({reads!r})",
          "of_one_block({reads!r}, width)", "hooked(True, width)", "hooked(False, width)", "Deep(width)",
          "Writes({writes!r}, parameter=True)", "Writes({writes!r}, parameter=False)",
          "Applied(\"F.Custom(x, op_type='doubled_in_steps')\")", "nn.HybridLambda(lambda F, x: Tripled()(x))")
HYBRID = tuple(one for one in PYTHON if not one.startswith(PLAIN))
READS = ("random", "numpy.random", "object", "class", "global", "environment", "counter", "list", "numbers", "array")
WRITES = ("assign", "in place", "out", "copyto", "update", "set_data")
HELD = ("list", "dict", "method", "object", "partial", "weak")
#: Expressions of the shape of their arguments.
EXPRESSIONS = (
    "F.tanh({0})", "F.exp(-F.abs({0}))", "F.clip({0}, -0.5, 0.5)", "F.softmax({0})", "F.log_softmax({0})", "({0} * 2 - 0.5)",
    "F.transpose(F.sin(F.transpose({0})))", "F.reshape(F.reshape({0}, shape=(-1,)), shape=(-1, x.shape[1]))", "F.square({0})",
    "F.broadcast_mul({0}, F.sum({1}, axis=1, keepdims=True))", "F.broadcast_add({0}, F.mean({1}, axis=0, keepdims=True))",
    "F.where({0} > {1}, {0}, {1} * 3)", "F.dot({0}, F.dot({1}, {0}, transpose_a=True))", "({0} / ({1} * {1} + 2))",
    "F.concat(F.slice_axis({0}, axis=1, begin=0, end=2), F.slice_axis({1}, axis=1, begin=2, end=None), dim=1)",
    "F.broadcast_sub({0}, F.expand_dims(F.max({1}, axis=1), axis=1))", "F.sort({0}, axis=1)", "({0} + F.BlockGrad({1}))",
    "F.take({0}, F.argsort(F.sum({1}, axis=1)))", "F.reverse({0}, axis=0)", "F.maximum({0}, {1})", "F.round({0} * 4)",
    "F.LeakyReLU({0}, act_type='rrelu')", "F.broadcast_mul({0}, F.sqrt(F.sum(F.square({1})) + 1))",
    "F.broadcast_mul({0}, F.expand_dims(F.pick({1}, F.argmax({0}, axis=1), axis=1), axis=1))")
LOSSES = ("L2Loss", "HuberLoss", "LogisticLoss", "SigmoidBinaryCrossEntropyLoss", "L1Loss", "HingeLoss", "KLDivLoss",
          "PoissonNLLLoss", "Weighted", "Several")
ODD = {"csr": ("empty", "float64 label"), "ids": ("int64 ids", "float ids", "ids out of range", "float64 label"),
       "dense": ("transposed", "infinite", "float64 label"), "both": ("empty", "int64 ids", "ids out of range")}
HOW = ("plain", "profiled", "with a gradient of the data", "recorded", "paused", "to predict")
FAILURES = ("label", "label", "rows", "ids", "net", "schedule")
SCHEDULES = ("mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)",
             "mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.1, base_lr=0.1)",
             "mx.lr_scheduler.PolyScheduler(4, base_lr=0.1, final_lr=0.0)",
             "mx.lr_scheduler.CosineScheduler(5, base_lr=0.1, final_lr=0.01, warmup_steps=2)", "Broken(2, 0.5, base_lr=0.1)")
CHANGES = ("factors of the optimizer", "factors in place", "factors in another dict", "schedule", "context", "gradients",
           "attached anew", "hybridized", "not hybridized", "forward", "hook")
#: Those that interrupted steps may have around them: parameters and states in files are all that they change.
ALONE = ("factors of the optimizer", "factors in place", "context", "gradients", "attached anew", "hybridized", "not hybridized")
OPTIONS = {"wd": (0.1,), "clip_gradient": (0.05,), "momentum": (0.9,), "lazy_update": (True, False),
           "multi_precision": (True,), "clip_norm": (0.05, 1e9), "centered": (True,), "batch_scale": (3,),
           "learning_rate": (0.1, 0.0), "lr_scheduler": SCHEDULES}


@dataclasses.dataclass(frozen=True)
class Program:
    """A training, and its lines."""

    way: str
    kind: str
    width: int
    layers: tuple[str, ...]
    loss: str
    optimizer: str
    options: tuple[tuple[str, Any], ...]
    lines: tuple[str, ...]

    def arguments(self) -> tuple[Any, ...]:
        """What ``Training`` takes behind the way."""
        return self.kind, self.width, f"[{', '.join(self.layers)}]", self.loss, self.optimizer

    def __str__(self) -> str:
        made = ", ".join([*map(repr, self.arguments()), *(f"{name}={value!r}" for name, value in self.options)])
        text = [f"for way in ('plain', {self.way!r}):", f"    training = Training(way, {made})"]
        return "\n".join(["from lines import *", "", *text, *(f"    training.{line}" for line in self.lines)])


def optimizers() -> list[str]:
    """The names of all optimizers."""
    return sorted(mx.optimizer.Optimizer.opt_registry)


def draw(seed: int) -> Program:
    """The program of a seed."""
    chance = np.random.default_rng([20, seed])

    def one(of: Any) -> Any:
        return of[int(chance.integers(len(of)))]

    kind, optimizer = one(tuple(FIRST)), one(optimizers())
    interrupts, python = chance.random() < 0.2, PYTHON if kind != "both" else HYBRID
    # What a user's Python counts goes on when a step is interrupted, as do sums of gradients.
    python = (*MIDDLE, *python * 2) if chance.random() < 0.25 and not interrupts else MIDDLE
    layers = [_layer(one(python), chance, one) for _ in range(int(chance.integers(4)))]
    options = {name: one(OPTIONS[name]) for name in OPTIONS if chance.random() < 0.3}
    lines = [_line(kind, interrupts, chance, one) for _ in range(int(chance.integers(4, 13)))]
    first = FIRST[kind][0] if interrupts else one(FIRST[kind])  # a layer that does not know its shape has no values to compare
    return Program(one(WAYS), kind, one((4, 4, 4, 160)), (first, *layers, "nn.Dense(2, in_units=width)"), one(LOSSES),
                   optimizer, accepted(optimizer, options), tuple(lines))


def _layer(text: str, chance: np.random.Generator, one: Any) -> str:
    return text.format(reads=one(READS), held=one(HELD), writes=one(WRITES), expression=_expression(chance, one, 2))


def _expression(chance: np.random.Generator, one: Any, depth: int) -> str:
    if depth == 0 or chance.random() < 0.2:
        return "x"
    return one(EXPRESSIONS).format(*[_expression(chance, one, depth - 1) for _ in range(2)])


def accepted(optimizer: str, options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Those options that an optimizer takes, and the trainings'."""
    taken: dict[str, Any] = {}
    for name, value in options.items():
        given = mx.lr_scheduler.LRScheduler(0.1) if name == "lr_scheduler" else value
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mx.optimizer.create(optimizer, **{name: given} if name != "clip_norm" else {})
        except (TypeError, mx.SparsekitError):
            continue
        taken[name] = value
    return tuple(taken.items())


def _line(kind: str, interrupts: bool, chance: np.random.Generator, one: Any) -> str:
    changes, requests = (CHANGES, ("null", "write", "add")) if not interrupts else (ALONE, ("null", "write"))
    rows, seed, number = one((5, 5, 8, 8, 1)), int(chance.integers(100)), int(chance.integers(6))
    if chance.random() < 0.7:
        given = [str(rows), str(seed)]
        for share, text in ((0.15, "stored=6"), (0.12, f"odd={one(ODD[kind])!r}"), (0.3, "look=False"),
                            (0.1, f"how={one(HOW)!r}"), (0.05, "size=3")):
            if chance.random() < share:
                given.append(text)
        return f"train({', '.join(given)})"
    if interrupts and chance.random() < 0.4:
        return f"interrupt({rows}, {seed}, line={int(chance.integers(1, one((60, 300, 1500))))})"
    return one((f"fail({rows}, {seed}, {one(FAILURES)!r}, times={one((1, 2))})", "resume()", "reload()", "reload_states()",
                "copied()", f"cast({one(('float64', 'float32', 'float16'))!r})", f"rate({one((0.0, 0.03))})",
                f"optimizer_is({one(('wd=0.2', 'clip_gradient=0.01', 'momentum=0.5', 'beta1=0.5', 'rescale_grad=2.0'))})",
                f"optimizer_is({one(('lazy_update=False', 'lazy_update=True', 'num_update=100', 'multi_precision=True'))})",
                f"parameter({number}, {one(('lr_mult=0.0', 'lr_mult=0.5', 'wd_mult=2.0'))})",
                f"parameter({number}, grad_req={one(requests)!r})", f"change({one(changes)!r})", f"change({one(changes)!r})",
                f"double({number}, in_place={one((True, False))})", f"factor({one((0.5, 2.0))})", "start_again()"))


def smaller(program: Program) -> Iterator[Program]:
    """Programs with less in them."""
    for field in ("lines", "options"):
        held = getattr(program, field)
        for place in reversed(range(len(held))):
            yield dataclasses.replace(program, **{field: held[:place] + held[place + 1:]})
    for place, line in enumerate(program.lines):
        first, *others = line.removesuffix(")").split(", ")
        for number in range(1, len(others)):  # what is special about a step
            rest = ", ".join([first, *others[:number], *others[number + 1:]])
            yield dataclasses.replace(program, lines=(*program.lines[:place], f"{rest})", *program.lines[place + 1:]))
    for place in range(1, len(program.layers) - 1):
        yield dataclasses.replace(program, layers=program.layers[:place] + program.layers[place + 1:])
    if program.width != 4:
        yield dataclasses.replace(program, width=4)
    if program.loss != "L2Loss":
        yield dataclasses.replace(program, loss="L2Loss")
    if program.way != "TrainStep":
        yield dataclasses.replace(program, way="TrainStep")
    if program.layers[0] != FIRST[program.kind][0]:
        yield dataclasses.replace(program, layers=(FIRST[program.kind][0], *program.layers[1:]))
    if program.kind != "dense":
        yield dataclasses.replace(program, kind="dense", layers=(FIRST["dense"][0], *program.layers[1:]))
    if program.optimizer != "sgd":
        yield dataclasses.replace(program, optimizer="sgd", options=accepted("sgd", dict(program.options)))
