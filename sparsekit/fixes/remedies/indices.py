"""Indices of 32 bits for sparse arrays that have fewer than 2**31 rows, columns and stored values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...ndarray.ndarray import NDArray
from ...ndarray.sparse_creation import csr_matrix, row_sparse_array
from ..candidate import Candidate
from .base import Look, Remedy, assigned, at, named

__all__ = ["NarrowIndices"]

#: Functions that take ``index_dtype``.
_MAKERS = ("csr_matrix", "row_sparse_array")


class NarrowIndices(Remedy):
    """Make sparse arrays with indices of 32 bits."""

    name = "int32 indices"
    rules = ("wide_indices",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for all arrays that the program holds, or one for the call that makes them in the step."""
        shapes = {(tuple(array["shape"]), array["nnz"]) for finding in look.found(*self.rules) if finding.event
                  for array in finding.event["inputs"] if array["index_dtype"] == "int64"}
        if not shapes:
            return
        held = [one for one in look.program.originals(NDArray)
                if one.stype != "default" and (one.shape, _stored(one)) in shapes and one._entry is None]
        inside = look.calls(lambda call: named(call) in _MAKERS)
        if held:
            edits = []
            names = [look.program.path_of(one) for one in held]
            for name in dict.fromkeys(names):
                edits += [(source, call) for source, call in assigned(look, name) if named(call) in _MAKERS]
            edits = edits or look.everywhere(lambda call: named(call) in _MAKERS)[:1]
            yield Candidate(self.name, f"{', '.join(dict.fromkeys(names[:3]))}: index_dtype='int32'",
                            at(*edits[0]) if edits else "",
                            tuple(source.keyword(call, "index_dtype", '"int32"') for source, call in edits),
                            replace={id(one): _narrowed for one in held},
                            lines=f"mx.nd.sparse.csr_matrix({names[0]}, index_dtype='int32')",
                            unpatched="" if edits else f"no call of csr_matrix that makes {names[0]} stands in the text")
        elif inside:
            yield Candidate(self.name, "index_dtype='int32'", at(*inside[0]),
                            tuple(source.keyword(call, "index_dtype", '"int32"') for source, call in inside))


def _stored(array: NDArray) -> int:
    return int(array._store.data.shape[0]) if array.stype == "csr" else int(array._store.data.size)


def _narrowed(array: Any) -> Any:  # Any: a sparse array
    make = csr_matrix if array.stype == "csr" else row_sparse_array
    return make(array, index_dtype="int32")
