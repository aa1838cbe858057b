"""``gluon.TrainStep`` in place of record, backward and step, which runs all of it as compiled code."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..candidate import Candidate
from ..source import Edit, Source
from .base import Look, Remedy, at, named, names_of, outside

__all__ = ["OneStep"]


class _Step(NamedTuple):
    """The statements of a step, and the texts of what they name."""

    statements: Sequence[ast.stmt]
    loss: str
    net: str
    function: str
    data: ast.expr
    label: ast.expr
    trainer: str
    size: ast.expr


class OneStep(Remedy):
    """Make the step by one object."""

    name = "TrainStep"
    rules = ("between_operators",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each sequence of record, backward and step."""
        for source, node in look.parts():
            for body in _bodies(node):
                for place in range(len(body) - 2):
                    step = _match(source, body[place: place + 3], node)
                    made = None if step is None else self._candidate(look, source, step)
                    if made is not None:
                        yield made

    def _candidate(self, look: Look, source: Source, step: _Step) -> Candidate | None:
        make = _maker(look)
        text = f"{make}({step.net}, {step.function}, {step.trainer})"
        place = outside(source, step.statements[0], ast.parse(text, mode="eval"))
        if not make or place is None:
            return None
        name = "train_step"
        while name in names_of(source.tree):
            name += "_"
        edits = (source.before(place, [f"{name} = {text}"]), *_around(source, step, f"{step.loss} = {name}("))
        return Candidate(self.name, f"{name} = {text}", at(source, step.statements[0]), edits, extra={name: text}, for_time=True)


def _around(source: Source, step: _Step, head: str) -> Iterator[Edit]:
    """The edits that leave data, label and size as they are, which other fixes may change, and make one call around them."""
    parts = [source.span(one) for one in (step.data, step.label, step.size)]
    ends = [source.span(step.statements[0])[0], *(stop for _, stop in parts)]
    starts = [*(start for start, _ in parts), source.span(step.statements[-1])[1]]
    for stop, start, new in zip(ends, starts, (head, ", ", ", ", ")"), strict=True):
        yield source.between(stop, start, new)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for inner in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            found = getattr(inner, name, None)
            if isinstance(found, list):
                yield found


def _match(source: Source, three: Sequence[ast.stmt], node: ast.AST) -> _Step | None:
    """``with record(): loss = function(net(x), y)``, ``loss.backward()``, ``trainer.step(n)``."""
    block, backward, update = three
    if not isinstance(block, ast.With) or len(block.items) != 1 or not _is_call(block.items[0].context_expr, "record", 0):
        return None
    made = _loss(source, block.body, node)
    if made is None or not isinstance(backward, ast.Expr) or not isinstance(update, ast.Expr):
        return None
    loss, function, net, data, label = made
    if not _is_call(backward.value, "backward", 0) or source.text_of(backward.value) != f"{loss}.backward()":
        return None
    if not isinstance(update.value, ast.Call) or not _is_call(update.value, "step", 1):
        return None
    assert isinstance(update.value.func, ast.Attribute)
    return _Step(three, loss, net, function, data, label, source.text_of(update.value.func.value), update.value.args[0])


def _is_call(node: ast.expr, name: str, arguments: int) -> bool:
    return (isinstance(node, ast.Call) and named(node) == name and isinstance(node.func, ast.Attribute)
            and len(node.args) == arguments and not node.keywords)


def _loss(source: Source, body: Sequence[ast.stmt], node: ast.AST) -> tuple[str, str, str, ast.expr, ast.expr] | None:
    """Names of the loss, its function, the net, data and label, from one assignment or two."""
    assigns = [one for one in body
               if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)]
    if len(assigns) != len(body) or not 1 <= len(body) <= 2:
        return None
    call = assigns[-1].value
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.keywords:
        return None
    output = call.args[0]
    if len(assigns) == 2:
        name = assigns[0].targets[0]
        assert isinstance(name, ast.Name)
        uses = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name.id]
        if not isinstance(output, ast.Name) or output.id != name.id or len(uses) != 2:
            return None
        output = assigns[0].value
    if not isinstance(output, ast.Call) or len(output.args) != 1 or output.keywords:
        return None
    target = assigns[-1].targets[0]
    return source.text_of(target), source.text_of(call.func), source.text_of(output.func), output.args[0], call.args[1]


def _maker(look: Look) -> str:
    """How the program can name ``TrainStep``."""
    for _, names in look.program.codes():
        for name, value in names.items():
            if isinstance(value, types.ModuleType):
                path: Any = {"sparsekit": ".gluon.TrainStep", "sparsekit.gluon": ".TrainStep"}.get(value.__name__)
                if path:
                    return f"{name}{path}"
    return ""
