"""Changing storage type and element type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import UnknownNameError
from ...core import cost, hooks, infer
from ...core.op import REQUIRED, Op
from ...storage import within_memory
from ...storage.check import check_room
from ...storage.convert import STYPES
from .. import samples
from ..elementwise.unary import on_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import Kernels
    from ...storage.types import Sparse, Store

cast_storage = Op(
    "cast_storage", "data", attrs={"stype": REQUIRED}, shape=infer.unchanged, lane="convert", cost=cost.none,
    sample=lambda: [([samples.grid()], {"stype": stype}) for stype in STYPES], saves=(),
    doc="""The same values in another storage type.

All pairs of storage types are supported, including csr ↔ row_sparse, which MXNet lacks.  A conversion to csr stores exactly
the nonzero values.  A conversion to row_sparse stores exactly the rows with a nonzero value.""")

for _source in STYPES:
    for _target in STYPES:
        @cast_storage.forward(f"{_source} -> {_target}", stype=_target)
        def _(k: Kernels, x: Store, attrs: Attrs) -> Store:
            if hooks.state.lane == "backward" and attrs["stype"] == "default" and hasattr(x, "stype"):
                check_room("a gradient", x.shape, x.dtype)  # an implicit conversion
            converted = within_memory(x, attrs["stype"], k.xp)
            return x.copy() if converted is x else converted


@cast_storage.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject | None, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    return g


def check_stype(stype: object) -> str:  # object: a user gives it
    """``stype`` if it names a storage type, else the named error."""
    if not isinstance(stype, str) or stype not in STYPES:
        raise UnknownNameError.of("storage type", stype, STYPES)
    return str(stype)


cast = Op("Cast", "data", attrs={"dtype": REQUIRED}, dtype=infer.fixed, shape=infer.unchanged, aliases=("cast",),
          cost=cost.none, saves=("data",), doc="The same values in another element type; the storage type stays.",
          sample=lambda: [([samples.grid()], {"dtype": "float64"})])


@cast.forward("default -> default")
def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
    return x.astype(np.dtype(attrs["dtype"]))


for _stype in ("row_sparse", "csr"):
    @cast.forward(f"{_stype} -> {_stype}")
    def _(k: Kernels, x: Sparse, attrs: Attrs) -> Sparse:
        return on_data(x, x.data.astype(np.dtype(attrs["dtype"])))


@cast.gradient
def _(F: ArrayFunctions, g: ArrayObject, data: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    return F.Cast(g, dtype=data.dtype.name)
