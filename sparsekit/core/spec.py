"""What a call would give, without computing it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .dispatch import resolve
from .op import Call

__all__ = ["Spec", "infer"]


class Spec(NamedTuple):
    """Shape, element type and storage type of an array that need not exist."""

    shape: tuple[int, ...]
    dtype: Any
    stype: str = "default"
    fallback: bool = False

    @classmethod
    def of(cls, array: Any) -> Spec:
        """What an array or a store is."""
        return cls(tuple(array.shape), np.dtype(array.dtype), getattr(array, "stype", "default"))


def infer(call: Call, inputs: tuple[Spec, ...]) -> Spec | tuple[Spec, ...]:
    """What ``call`` would give for such inputs."""
    call = call.settled([spec.shape for spec in inputs])
    rule, fallback, cast = resolve(call.op, tuple(spec.stype for spec in inputs), call.attrs)
    shapes = call.infer_shape([spec.shape for spec in inputs])
    dtype = call.op.dtype([spec.dtype for spec in inputs], call.attrs)
    if call.outputs == 1:
        return Spec(tuple(shapes), np.dtype(dtype), cast or rule.stype(0), fallback or cast is not None)
    dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * call.outputs
    return tuple(Spec(tuple(shape), np.dtype(dtype), rule.stype(place), fallback)
                 for place, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)))
