"""Batches of PyTorch stay sparse: conversions to strided tensors are left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..candidate import Candidate
from .base import Look, Remedy, at, named

__all__ = ["CsrTensor"]

#: Sparse layouts that products take.
_SPARSE = ("csr", "coo", "row_sparse")


class CsrTensor(Remedy):
    """Leave ``to_dense()`` of a sparse tensor out."""

    name = "sparse input kept (PyTorch)"
    of_torch = True
    rules = ("repeated_conversion", "became_dense")

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each conversion that the step makes."""
        lines = [record["line"] for record in look.profile.records if record["name"] in ("aten::to_dense", "aten::_to_dense")
                 and record["inputs"] and record["inputs"][0]["stype"] in _SPARSE]
        for source, call in look.calls_at(_to_dense, lines) if lines else ():
            assert isinstance(call.func, ast.Attribute)
            kept = source.text_of(call.func.value)
            yield Candidate(self.name, f"{kept} instead of {source.text_of(call)}", at(source, call),
                            (source.replace(call, kept),))


def _to_dense(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and named(call) == "to_dense" and not call.args and not call.keywords
