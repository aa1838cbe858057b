"""Inference of the result of a call without computing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.errors import ShapeError
from .dispatch import resolve
from .op import Call

if TYPE_CHECKING:
    from ..base.types import DType, DTypeLike, Shape
    from ..storage.types import Store
    from .trace import AbstractArray
    from .types import ArrayObject


class Spec(NamedTuple):
    """Shape, element type and storage type of an array that need not exist."""

    shape: Shape
    dtype: DType
    stype: str = "default"
    fallback: bool = False

    @classmethod
    def of(cls, array: AbstractArray | ArrayObject | Store) -> Spec:
        """What an array or a store is."""
        return cls(tuple(array.shape), np.dtype(array.dtype), getattr(array, "stype", "default"))


class Storage(NamedTuple):
    """How an operator comes by the storage types of its outputs.

    Attributes
    ----------
    outputs : tuple of str
    fallback : bool
        Whether no kernel takes these storage types, so that sparse inputs are made dense.
    cast : str or None
        Storage type that the dense result is cast to.
    """

    outputs: tuple[str, ...]
    fallback: bool
    cast: str | None


def infer_storage(call: Call, stypes: tuple[str, ...], shapes: Sequence[Shape | None]) -> Storage:
    """Storage types of what ``call`` would give; ``shapes`` has None for those that are not known."""
    call = call.settled(shapes)
    rule, fallback, cast = resolve(call.op, stypes, call.attrs)
    return Storage(tuple([cast if cast and not place else rule.stype(place) for place in range(call.outputs)]), fallback, cast)


def infer_shapes(call: Call, shapes: Sequence[Shape]) -> list[Shape] | None:
    """Shapes of what ``call`` would give; None if values decide them."""
    result = call.infer_shape(list(shapes))
    return result if result is None or call.outputs != 1 else [result]


def infer_dtypes(call: Call, dtypes: Sequence[DTypeLike]) -> list[DType]:
    """Element types of what ``call`` would give."""
    result = call.op.dtype(list(dtypes), call.attrs)
    return list(map(np.dtype, result)) if isinstance(result, (list, tuple)) else [np.dtype(result)] * call.outputs


def infer(call: Call, inputs: tuple[Spec, ...]) -> Spec | tuple[Spec, ...]:
    """The specs of the results of ``call`` for such inputs, whose shapes are known.

    Raises
    ------
    ShapeError
        If values decide the shapes of the results.
    """
    input_shapes = [spec.shape for spec in inputs]
    storage = infer_storage(call, tuple([spec.stype for spec in inputs]), input_shapes)
    shapes = infer_shapes(call, input_shapes)
    if shapes is None:
        raise ShapeError(f"The shape of the result of {call.op.label} depends on values.", hint="run it, and look at the result.")
    dtypes = infer_dtypes(call, [spec.dtype for spec in inputs])
    fallback = storage.fallback or storage.cast is not None
    specs = tuple([Spec(shape, dtype, stype, fallback)
                   for shape, dtype, stype in zip(shapes, dtypes, storage.outputs, strict=True)])
    return specs[0] if call.outputs == 1 else specs
