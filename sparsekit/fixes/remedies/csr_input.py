"""Batches stay sparse: the conversion to a dense array, or to a strided tensor of PyTorch, is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..candidate import Candidate
from ..source import Source
from .base import Look, Remedy, at, constant, named

#: Methods that make a dense array of a sparse one, of this library and of scipy.
_DENSE = ("toarray", "todense")

#: Sparse layouts that products of PyTorch take.
_SPARSE = ("csr", "coo", "row_sparse")


class CsrInput(Remedy):
    """Leave the conversion of a csr batch to a dense array out."""

    name = "csr input kept"
    rules = ("dense_gradient", "repeated_conversion", "dense_by_nature")

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each conversion that the step makes."""
        lines = [record["line"] for record in look.profile.records if record["name"] == "cast_storage" and not record["depth"]
                 and record["inputs"] and record["inputs"][0]["stype"] == "csr" and record["outputs"][0]["stype"] == "default"]
        if lines:
            for source, call in look.calls_at(_to_default, lines):
                assert isinstance(call.func, ast.Attribute)
                kept = source.closed(call.func.value)
                yield Candidate(self.name, f"{kept} instead of {source.text_of(call)}", at(source, call),
                                (source.replace(call, kept),))
        for source, call in look.calls(_array_of_scipy):
            converted = _as_csr(source, call)
            yield Candidate(self.name, f"{converted} instead of {source.text_of(call)}", at(source, call),
                            (source.replace(call, converted),))


def _to_default(call: ast.Call) -> bool:
    return (isinstance(call.func, ast.Attribute) and call.func.attr == "tostype" and len(call.args) == 1
            and constant(call.args[0]) == "default")


def _array_of_scipy(call: ast.Call) -> bool:
    """Whether a call is ``mx.nd.array(matrix.toarray())``."""
    dense = call.args[0] if call.args else None
    return (named(call) == "array" and isinstance(call.func, ast.Attribute) and isinstance(dense, ast.Call)
            and named(dense) in _DENSE and isinstance(dense.func, ast.Attribute) and not dense.args
            and not any(isinstance(argument, ast.Starred) for argument in call.args))


def _as_csr(source: Source, call: ast.Call) -> str:
    dense = call.args[0]
    assert isinstance(call.func, ast.Attribute)
    assert isinstance(dense, ast.Call)
    assert isinstance(dense.func, ast.Attribute)
    # By name: the second argument of csr_matrix is the shape.
    arguments = [f"{name}={source.text_of(value)}" for name, value in zip(("ctx", "dtype"), call.args[1:], strict=False)]
    arguments += [f"{keyword.arg}={source.text_of(keyword.value)}" for keyword in call.keywords]
    return f"{source.text_of(call.func.value)}.sparse.csr_matrix({', '.join([source.text_of(dense.func.value), *arguments])})"


# --------------------------------------------------------------------------- PyTorch


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
