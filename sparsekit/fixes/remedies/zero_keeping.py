"""Functions that keep zero, in place of formulas that compute the same by way of a dense array."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..candidate import Candidate
from ..source import Source
from .base import Look, Remedy, at, constant, named


class ZeroKeeping(Remedy):
    """Write log1p(x) for log(1 + x), and expm1(x) for exp(x) - 1."""

    name = "zero-keeping operator"
    rules = ("dense_by_nature", "became_dense")

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each formula in the step that has a function of its own."""
        if not look.profile.densified:
            return
        for source, node in look.expressions():
            new = _logarithm(source, node) or _exponential(source, node)
            if new:
                yield Candidate(self.name, f"{new} instead of {source.text_of(node)}", at(source, node),
                                (source.replace(node, new),))


def _logarithm(source: Source, node: ast.expr) -> str:
    """``F.log1p(x)`` for ``F.log(1 + x)``, and ``x.log1p()`` for ``(x + 1).log()``."""
    if not isinstance(node, ast.Call) or named(node) != "log" or not isinstance(node.func, ast.Attribute) or node.keywords:
        return ""
    if len(node.args) == 1:
        inner = _one_more(node.args[0])
        return f"{source.text_of(node.func.value)}.log1p({source.text_of(inner)})" if inner is not None else ""
    inner = _one_more(node.func.value) if not node.args else None
    return f"{source.closed(inner)}.log1p()" if inner is not None else ""


def _exponential(source: Source, node: ast.expr) -> str:
    """``F.expm1(x)`` for ``F.exp(x) - 1``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or constant(node.right) != 1:
        return ""
    call = node.left
    if not isinstance(call, ast.Call) or named(call) != "exp" or not isinstance(call.func, ast.Attribute) or call.keywords:
        return ""
    if len(call.args) == 1:
        return f"{source.text_of(call.func.value)}.expm1({source.text_of(call.args[0])})"
    return f"{source.text_of(call.func.value)}.expm1()" if not call.args else ""


def _one_more(node: ast.expr) -> ast.expr | None:
    """``x`` of ``x + 1`` or ``1 + x``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    if constant(node.right) == 1:
        return node.left
    return node.right if constant(node.left) == 1 else None
