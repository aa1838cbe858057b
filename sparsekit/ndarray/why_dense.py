"""Why an array is dense, from the records of the library and of the latest profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core import hooks
from ..core.op import label_of

if TYPE_CHECKING:
    from .ndarray import NDArray

CREATED, UNKNOWN, SPARSE = "created", "unknown", "sparse"


class WhyDense(NamedTuple):
    """Why an array is dense; prints as a sentence.

    Attributes
    ----------
    kind : str
        ``"fallback"`` and ``"dense by nature"`` are implicit conversions of a sparse array, as in the profiler's ledger.
        ``"asked"`` is an explicit conversion or a product.  ``"created"`` means that the array was not computed from a sparse
        one, ``"unknown"`` that nothing was recorded, and ``"sparse"`` that the array is not dense.
    op, line : str
        Operator that made the array, or one that it was computed from, dense, and the line that called the operator.  Either
        may be empty.
    source : str
        Storage type of the sparse array that became dense.
    shape : tuple of int
        Shape of that array.
    remedy : str
        Code to write instead, or how to find out more.
    """

    kind: str
    op: str = ""
    line: str = ""
    source: str = ""
    shape: tuple[int, ...] = ()
    remedy: str = ""

    def __repr__(self) -> str:
        at = f" at {self.line}" if self.line else ""
        if self.kind == CREATED:
            said = f"{label_of(self.op)}{at} created it dense; none of its inputs was sparse."
        elif self.kind in (UNKNOWN, SPARSE):
            unknown = "There is no record of its origin, so it may always have been dense."
            said = "It is sparse." if self.kind == SPARSE else unknown
        else:
            reason = {hooks.FALLBACK: "an implicit conversion, because no sparse kernel accepts it",
                      hooks.NATURAL: "an implicit conversion, dense by nature", hooks.ASKED: "as your code requested"}[self.kind]
            said = f"{label_of(self.op)}{at} made it from a {self.source} array of shape {self.shape}: {reason}."
        remedy = f" Hint: {self.remedy}." if self.remedy else ""
        return said + remedy


def why_dense(array: NDArray) -> WhyDense:
    """Look up what made ``array`` dense: the record of its own memory first, then where a profiler saw it come from."""
    if array.stype != "default":
        return WhyDense(SPARSE)
    record = hooks.made_from(array._store)
    if record is not None:
        remedy = "" if record.kind == hooks.ASKED else record.remedy
        return WhyDense(record.kind, record.op, record.line, record.source, record.shape, remedy)
    run = None if hooks.origin is None else hooks.origin()
    origin = None if run is None else run.origin_of(array._store)
    if origin is None:
        return WhyDense(UNKNOWN, remedy="run the code that creates it under mx.Profiler(), and call why_dense() again")
    return WhyDense(*origin)
