"""Batches in the layout that takes less memory: csr if they are mostly zeros, dense if hardly any value is zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from ...gluon.parameter import Parameter
from ...ndarray.ndarray import NDArray
from ..candidate import Candidate
from ..source import Edit, Source
from .base import Look, Remedy, assignments, at, constant, named

__all__ = ["BatchLayout"]

#: Dense arrays are looked through if they have so many bytes, and are mostly zeros below this density.
LEAST_BYTES, SPARSE = 16384, 0.1

#: Operators that take csr data as their first input.
_TAKE_CSR = ("FullyConnected", "dot")


class BatchLayout(Remedy):
    """Hold batches as csr, or dense."""

    name = "batch layout"
    rules = ("hardly_sparse",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each array that the program holds in the larger layout."""
        full = {tuple(array["shape"]) for finding in look.found(*self.rules) if finding.event
                for array in finding.event["inputs"] if array["stype"] == "csr"}
        inputs = {tuple(record["inputs"][0]["shape"]) for record in look.profile.records
                  if record["name"] in _TAKE_CSR and record["inputs"] and record["inputs"][0]["stype"] == "default"}
        owned = {id(array) for one in look.program.originals(Parameter)
                 for array in (*one._arrays.values(), *one._grads.values())}
        for array in look.program.originals(NDArray):
            if id(array) in owned or array._entry is not None:
                continue
            if array.stype == "csr" and array.shape in full:
                yield _candidate(look, array, "default")
            elif array.stype == "default" and array.shape in inputs and _mostly_zero(array):
                yield _candidate(look, array, "csr")


def _mostly_zero(array: NDArray) -> bool:
    if array.ndim != 2 or array.size * array.dtype.itemsize < LEAST_BYTES:
        return False
    return bool(np.count_nonzero(array.asnumpy()) < SPARSE * array.size)


def _candidate(look: Look, array: NDArray, stype: str) -> Candidate:
    path = look.program.path_of(array)
    edits, where, why = _edits(look, path, stype)
    return Candidate(BatchLayout.name, f"{path} as {'csr' if stype == 'csr' else 'a dense array'}", where, edits,
                     replace={id(array): lambda copy: copy.tostype(stype)}, unpatched=why,
                     lines=f'{path} = {path}.tostype("{stype}")')


def _edits(look: Look, path: str, stype: str) -> tuple[tuple[Edit, ...], str, str]:
    found = assignments(look, path)
    if len(found) != 1:
        return (), "", f"{len(found) or 'no'} lines that assign {path} are in the program's text"
    source, value = found[0]
    return (source.replace(value, _as(source, value, stype)),), at(source, value), ""


def _as(source: Source, value: ast.expr, stype: str) -> str:
    """An expression whose array has this storage type."""
    if (isinstance(value, ast.Call) and named(value) == "tostype" and isinstance(value.func, ast.Attribute)
            and value.args and constant(value.args[0]) is not None):
        inner = source.closed(value.func.value)
        return inner if stype == "default" else f'{inner}.tostype("{stype}")'
    return f'{source.closed(value)}.tostype("{stype}")'
