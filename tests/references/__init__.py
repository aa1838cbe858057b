"""What each operator computes, written from its definition with numpy and scipy alone, on dense arrays.

``REFERENCES`` has an entry for every operator, by name; the modules of this package fill it, one a family.  Nothing here
imports sparsekit.  ``of`` also finds the function that an operator outside the library brings as ``reference=``.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int32", "int64", "uint8")
NUMBERS = FLOATS + INTEGERS


def common(dtypes, attrs):
    """numpy's element type for arrays of these types; int16, which arrays do not have, is int32."""
    found = np.result_type(*dtypes)
    return np.dtype(np.int32) if found == np.int16 else found


def first(dtypes, attrs):
    return np.dtype(dtypes[0])


def named(dtypes, attrs):
    """The type that the attribute ``dtype`` names, the first input's if it names none."""
    return np.dtype(dtypes[0] if attrs["dtype"] in (None, "None") else attrs["dtype"])


def always(kind):
    return lambda dtypes, attrs: np.dtype(kind)


@dataclasses.dataclass(frozen=True)
class Reference:
    """What an operator computes.

    Attributes
    ----------
    value : callable
        ``value(*arrays, **attrs)`` gives the result or a list of several.  Floats and integers come as float64 unless
        ``exact`` is set.  For an operator that writes to its inputs, a list: its results, then what those inputs hold.
    dtype : callable
        ``dtype(dtypes, attrs)`` gives the results' element type, or a list of them.
    exact : bool
        Whether the arrays come in their common element type, in which the result is computed, as integers that wrap are.
    gradient : callable, optional
        ``gradient(g, *arrays, **attrs)`` gives one gradient an input, where that is not the derivative of ``value``.
    writes : bool
        Whether the operator writes to its inputs.
    distribution : callable, optional
        ``distribution(*parameters)`` gives scipy's distribution that values are drawn from.
    trained : callable, optional
        ``value`` in training, where it is another.
    scalar : bool
        Whether the result has no axes; otherwise one number has the shape (1,), as in MXNet.
    types : tuple of str
        Element types that it is compared in: those of floats for the gradients of what takes floats alone.
    """

    value: Callable[..., Any]
    dtype: Callable[..., Any] = common
    exact: bool = False
    gradient: Callable[..., Any] | None = None
    writes: bool = False
    distribution: Callable[..., Any] | None = None
    trained: Callable[..., Any] | None = None
    scalar: bool = False
    types: tuple[str, ...] = NUMBERS

    def __call__(self, arrays, attrs, training=False):
        """The results, and their element types, of arrays of any element types and all attributes."""
        dtypes = [array.dtype for array in arrays]
        if self.exact and arrays:
            kind = common(dtypes, attrs)
            arrays = [array.astype(kind) for array in arrays]
        elif not self.exact:
            arrays = [array.astype(np.float64) for array in arrays]
        with np.errstate(all="ignore"):
            made = ((training and self.trained) or self.value)(*arrays, **attrs)
        made = [np.asarray(one) for one in (made if isinstance(made, (list, tuple)) else [made])]
        found = self.dtype(dtypes, attrs)
        kinds = [np.dtype(kind) for kind in (found if isinstance(found, list) else [found] * len(made))]
        return [one.reshape(1) if one.ndim == 0 and not self.scalar else one for one in made], kinds


REFERENCES: dict[str, Reference] = {}


def add(name: str, value: Callable[..., Any], **more: Any) -> None:
    assert name not in REFERENCES, name
    REFERENCES[name] = Reference(value, **more)


def of(op: Any) -> Reference | None:
    """The reference of an operator: what it brings itself, or the entry of its name; None if there is none."""
    return Reference(op.reference) if op.reference is not None else REFERENCES.get(op.name)


def derivative(function: Callable[..., Any], arrays: list[Any], place: int, g: Any, size: float = 1e-6) -> Any:
    """What ``g``, the gradient of the result, gives for the input at ``place``: by central differences, one element at a time."""
    arrays = [np.array(array, np.float64) for array in arrays]
    found = np.zeros(arrays[place].shape)
    for spot in np.ndindex(found.shape):
        before = arrays[place][spot]
        ends = []
        for sign in (1, -1):
            arrays[place][spot] = before + sign * size
            made = function(*arrays)
            made = made if isinstance(made, (list, tuple)) else [made]
            ends.append([np.array(one, np.float64) for one in made])
        arrays[place][spot] = before
        given = g if isinstance(g, (list, tuple)) else [g]
        found[spot] = sum(float((np.asarray(head) * ((above - below) / (2 * size)).reshape(np.shape(head))).sum())
                          for head, above, below in zip(given, *ends, strict=True) if head is not None)
    return found


for _family in ("elementwise", "shapes", "indexing", "reductions", "products", "neural", "recurrent", "sampling", "updates"):
    importlib.import_module(f"{__name__}.{_family}")
