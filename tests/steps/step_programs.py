"""Random programs that train: drawn from a seed, made smaller, and printed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

import sparsekit as mx

WAYS = ("TrainStep", "hybridize")

FIRST = {"csr": ("Linear(width)", "Linear(width, grad_stype='default')", "Linear(width, stype='row_sparse')"),
         "ids": ("Summed(width)", "Summed(width, sparse_grad=False)"),
         "dense": ("nn.Dense(width, in_units=width)", "nn.Dense(width)")}
MIDDLE = ("nn.Dense(width, in_units=width, activation='relu')", "nn.LayerNorm(in_channels=width)", "nn.Dropout(0.3)",
          "nn.BatchNorm(in_channels=width)", "nn.Activation('softrelu')", "Residual(width)", "Scaled()", "Counted()",
          "Deep(width)")
LOSSES = ("L2Loss", "HuberLoss", "LogisticLoss", "SigmoidBinaryCrossEntropyLoss", "Weighted")
SCHEDULES = ("mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)",
             "mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.1, base_lr=0.1)",
             "mx.lr_scheduler.PolyScheduler(4, base_lr=0.1, final_lr=0.0)",
             "mx.lr_scheduler.CosineScheduler(5, base_lr=0.1, final_lr=0.01, warmup_steps=2)")
OPTIONS = {"wd": (0.1,), "clip_gradient": (0.05,), "momentum": (0.9,), "lazy_update": (True, False),
           "multi_precision": (True,), "centered": (True,), "batch_scale": (3,), "learning_rate": (0.1, 0.0),
           "lr_scheduler": SCHEDULES}


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
    layers = (one(FIRST[kind]), *(one(MIDDLE) for _ in range(int(chance.integers(4)))), "nn.Dense(2, in_units=width)")
    options = {name: one(OPTIONS[name]) for name in OPTIONS if chance.random() < 0.3}
    lines = [_line(chance, one) for _ in range(int(chance.integers(4, 13)))]
    return Program(one(WAYS), kind, one((4, 4, 160)), layers, one(LOSSES), optimizer, accepted(optimizer, options), tuple(lines))


def accepted(optimizer: str, options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Those options that an optimizer takes."""
    taken: dict[str, Any] = {}
    for name, value in options.items():
        given = eval(value, {"mx": mx}) if name == "lr_scheduler" else value
        try:
            mx.optimizer.create(optimizer, **{**taken, name: given})
        except (TypeError, mx.SparsekitError):
            continue
        taken[name] = value
    return tuple(taken.items())


def _line(chance: np.random.Generator, one: Any) -> str:
    rows, seed = one((5, 8)), int(chance.integers(100))
    if chance.random() < 0.65:
        stored, look = (", stored=6" if chance.random() < 0.2 else ""), (", look=False" if chance.random() < 0.4 else "")
        return f"train({rows}, {seed}{stored}{look})"
    number = int(chance.integers(6))
    return one((f"fail({rows}, {seed})", f"interrupt({rows}, {seed}, line={int(chance.integers(1, 1500))})", "resume()",
                "reload()", f"cast({one(('float64', 'float32'))!r})", f"rate({one((0.0, 0.03))})",
                f"optimizer_is({one(('wd=0.2', 'clip_gradient=0.01', 'momentum=0.5', 'beta1=0.5', 'rescale_grad=2.0'))})",
                f"parameter({number}, {one(('lr_mult=0.0', 'lr_mult=0.5', 'wd_mult=2.0'))})",
                f"parameter({number}, grad_req={one(('null', 'write', 'add'))!r})",
                f"double({number}, in_place={one((True, False))})", f"factor({one((0.5, 2.0))})", "start_again()"))


def smaller(program: Program) -> Iterator[Program]:
    """Programs with less in them."""
    for field in ("lines", "options"):
        held = getattr(program, field)
        for place in reversed(range(len(held))):
            yield dataclasses.replace(program, **{field: held[:place] + held[place + 1:]})
    for place in range(1, len(program.layers) - 1):
        yield dataclasses.replace(program, layers=program.layers[:place] + program.layers[place + 1:])
    if program.width != 4:
        yield dataclasses.replace(program, width=4)
    if program.loss != "L2Loss":
        yield dataclasses.replace(program, loss="L2Loss")
    if program.layers[0] != FIRST[program.kind][0]:
        yield dataclasses.replace(program, layers=(FIRST[program.kind][0], *program.layers[1:]))
    if program.kind != "dense":
        yield dataclasses.replace(program, kind="dense", layers=(FIRST["dense"][0], *program.layers[1:]))
    if program.optimizer != "sgd":
        yield dataclasses.replace(program, optimizer="sgd", options=accepted("sgd", dict(program.options)))
