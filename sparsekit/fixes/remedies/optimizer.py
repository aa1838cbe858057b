"""Updates of the rows that a gradient stores, in place of all rows: lazily, or exactly and later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ...gluon.trainer import Trainer
from ..candidate import Candidate
from .base import Look, Remedy, argument, at, constant, named

if TYPE_CHECKING:
    from ..source import Edit, Source


class LazyOptimizer(Remedy):
    """Update the rows that the gradient stores."""

    name = "lazy optimizer"
    rules = ("eager_update",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """For each trainer that updates all rows: lazily, and if that changes the answer, exactly."""
        if not look.findings_of(*self.rules):
            return
        for trainer in look.program.originals(Trainer):
            if getattr(trainer.optimizer, "lazy_update", None) is False:
                yield _candidate(look, trainer, "True", (exact(look, trainer),) if trainer.optimizer._missed else ())


def exact(look: Look, trainer: Trainer) -> Candidate:
    """The candidate that makes a trainer's updates lazy and exact."""
    return _candidate(look, trainer, '"exact"', ())


def _candidate(look: Look, trainer: Trainer, value: str, otherwise: tuple[Candidate, ...]) -> Candidate:
    kind = type(trainer.optimizer).__name__
    edits, where, why = _edits(look, kind, value)
    lazy = ast.literal_eval(value)
    name = "exact lazy optimizer" if lazy == "exact" else LazyOptimizer.name
    return Candidate(name, f"{kind}(…, lazy_update={value})", where, edits, partial(_set, trainer, lazy),
                     lines=f'gluon.Trainer(…, {{…, "lazy_update": {value}}})', unpatched=why, otherwise=otherwise)


def _set(trainer: Trainer, lazy: bool | str) -> None:
    optimizer = trainer.optimizer
    optimizer.lazy_update = lazy
    if hasattr(optimizer, "_like_weight"):
        optimizer._like_weight = bool(lazy)


def _edits(look: Look, kind: str, value: str) -> tuple[tuple[Edit, ...], str, str]:
    """The edit of the only trainer or optimizer of this kind in the text, its place, and why there is none."""
    constructors = look.everywhere(lambda call: named(call) == kind)
    if len(constructors) == 1:
        return (constructors[0][0].keyword(constructors[0][1], "lazy_update", value),), at(*constructors[0]), ""
    trainers = [(source, call) for source, call in look.everywhere(lambda call: named(call) == "Trainer")
                if str(constant(argument(call, 1, "optimizer")) or "").lower() == kind.lower()]
    if len(trainers) != 1:
        return (), "", f"{len(trainers) or 'no'} lines that make a Trainer with {kind.lower()!r} are in the program's text"
    source, call = trainers[0]
    edit = _in_settings(source, call, value)
    return ((edit,) if edit else ()), at(source, call), "" if edit else "the settings of the optimizer are made elsewhere"


def _in_settings(source: Source, call: ast.Call, value: str) -> Edit | None:
    settings = argument(call, 2, "optimizer_params")
    if settings is None:
        return source.keyword(call, "optimizer_params", f'{{"lazy_update": {value}}}')
    if not isinstance(settings, ast.Dict):
        return None
    for key, setting in zip(settings.keys, settings.values, strict=True):
        if constant(key) == "lazy_update":
            return source.replace(setting, value)
    return source.inserted(settings, 1, f'"lazy_update": {value}')
