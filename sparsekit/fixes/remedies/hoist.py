"""A conversion of the same array in every step is made once, before the loop or the function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..candidate import Candidate
from ..source import Source
from .base import Look, Remedy, at, constant, named, names_of, outside

if TYPE_CHECKING:
    from ..source import Edit

__all__ = ["HoistedConversion", "before"]


class HoistedConversion(Remedy):
    """Convert once, before the loop."""

    name = "conversion hoisted"
    rules = ("repeated_conversion",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each conversion whose array the loop around it, or the function, does not assign."""
        lines = [finding.event["line"] for finding in look.found(*self.rules) if finding.event]
        if not lines:
            return
        for source, call in look.calls_at(_converts, lines):
            place = outside(source, call)
            if place is None:
                continue
            text = source.text_of(call)
            name = _new_name(source, call)
            yield Candidate(self.name, f"{name} = {text} before the loop", at(source, call),
                            before(source, place, name, text, source.replace(call, name)), extra={name: text})


def before(source: Source, place: ast.stmt, name: str, text: str, *edits: Edit) -> tuple[Edit, ...]:
    """The edits that define a name before a statement, and others."""
    return (source.before(place, [f"{name} = {text}"]), *edits)


def _converts(call: ast.Call) -> bool:
    if named(call) == "tostype":
        return isinstance(call.func, ast.Attribute) and len(call.args) == 1
    return named(call) in ("cast_storage", "csr_matrix", "row_sparse_array") and len(call.args) >= 1


def _new_name(source: Source, call: ast.Call) -> str:
    """``batch_csr`` for ``batch.tostype("csr")``, if the text has no such name yet."""
    of = call.func.value if named(call) == "tostype" and isinstance(call.func, ast.Attribute) else call.args[0]
    base = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "array")
    kind = constant(call.args[-1])
    kind = {"default": "dense", None: "csr" if named(call) == "csr_matrix" else "sparse"}.get(kind, kind)
    name = f"{base}_{kind}"
    while name in names_of(source.tree):
        name += "_"
    return name
