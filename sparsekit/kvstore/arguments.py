"""The arguments of stores: keys with their arrays, rows by number, and sums over contexts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import DTypeError, RowIndexError, ShapeError, StorageTypeError, UnknownNameError, expected
from ..base.nested import leaves
from ..ndarray.arithmetic import add
from ..ndarray.ndarray import NDArray
from ..optimizer import Optimizer

if TYPE_CHECKING:
    from ..base.context import Context
    from ..base.types import Array, Shape


def pairs(key: object, value: object) -> Iterator[tuple[Any, list[Any]]]:
    """Each key with the list of its arrays."""
    if isinstance(key, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(key) != len(value):
            raise ShapeError(f"{len(key)} keys need a list of {len(key)} values.", hint="pass one value for each key.")
        for inner_key, values in zip(key, value, strict=True):
            yield from pairs(inner_key, values)
        return
    if not isinstance(key, (int, str)):
        raise DTypeError(expected("A key", "an integer or a string", type(key)), hint="pass 3, or 'weight'.")
    arrays = list(value) if isinstance(value, (list, tuple)) else [value]
    for array in arrays:
        if not isinstance(array, NDArray):
            raise DTypeError(f"The value of key {key!r} is a {type(array).__name__}, not an NDArray.",
                             hint="pass an array, or a list of arrays.")
    if not arrays:
        raise ShapeError(f"The list of arrays for key {key!r} is empty.", hint="pass at least one array.")
    yield key, arrays


def arrays_by_key(key: object, value: object) -> dict[Any, list[Any]]:
    """The arrays of each key, also of one that is listed several times."""
    arrays_of: dict[Any, list[Any]] = {}
    for single_key, arrays in pairs(key, value):
        arrays_of.setdefault(single_key, []).extend(arrays)
    return arrays_of


def row_targets(key: object, out: object, row_ids: object) -> Iterator[tuple[Any, Any, Any]]:
    """Each array of ``row_sparse_pull``, with its key before it and its row numbers behind it."""
    ids = list(leaves(row_ids))
    if isinstance(key, (list, tuple)) and len(key) == len(ids) == 1 and isinstance(out, (list, tuple)) and len(out) > 1:
        key = key[0]
    targets = [(single_key, array) for single_key, arrays in pairs(key, out) for array in arrays]
    if len(ids) not in (1, len(targets)):
        raise ShapeError(f"{len(ids)} row_ids were passed for {len(targets)} arrays.", hint="pass one, or one per array.")
    for place, (single_key, array) in enumerate(targets):
        yield single_key, array, ids[place % len(ids)]


def checked_optimizer(optimizer: object) -> Optimizer:
    """The optimizer; raises ``DTypeError`` for anything else."""
    if not isinstance(optimizer, Optimizer):
        raise DTypeError(f"optimizer must be an Optimizer, not a {type(optimizer).__name__}.",
                         hint="make one with mx.optimizer.create('sgd').")
    return optimizer


def only_optimizer(capability: str) -> bool:
    """Answer ``is_capable`` of a store whose only capability is ``"optimizer"``."""
    if capability.lower() != "optimizer":
        raise UnknownNameError.of("capability", capability, ("optimizer",))
    return True


def check_row_sparse(stype: str, shape: Shape, array: NDArray) -> None:
    """Raise unless a value of this storage type and shape, and the array for its rows, are row_sparse and of equal shape."""
    for subject, found_stype in (("The value", stype), ("out", array.stype)):
        if found_stype != "row_sparse":
            raise StorageTypeError(f"{subject} of row_sparse_pull must be row_sparse, not {found_stype}.",
                                   hint="use pull(), or tostype('row_sparse').")
    if array.shape != shape:
        raise ShapeError(f"out has shape {array.shape}, but the value has shape {shape}.", hint="the shapes must be equal.")


def numbers_of(row_ids: NDArray | None, count: int) -> Array:
    """Row numbers as a numpy array, in the order and type in which they were passed.

    Raises
    ------
    DTypeError
        If the numbers are not an array.
    RowIndexError
        If a number is not an integer from 0 to ``count - 1``.
    """
    if not isinstance(row_ids, NDArray):
        raise DTypeError(expected("row_ids", "an NDArray", type(row_ids)), hint="pass mx.nd.array(rows).")
    rows: Array = row_ids.asnumpy().reshape(-1)
    if rows.size and not (rows.min() >= 0 and rows.max() < count and (
            rows.dtype.kind in "iu" or np.array_equal(rows, np.floor(rows)))):
        raise RowIndexError(f"row_ids must be integers from 0 to {count - 1}, got values from {rows.min()} to "
                            f"{rows.max()}.", hint=f"the value has {count} rows.")
    return rows


def sum_of(arrays: list[Any], shape: Shape, context: Context) -> NDArray:
    """The sum of the arrays of one key, in their order, on one context; a single array is not copied.

    Raises
    ------
    ShapeError
        If an array has another shape.
    """
    for array in arrays:
        if array.shape != shape:
            raise ShapeError(f"An array of shape {array.shape} was pushed to a value of shape {shape}.",
                             hint="the shapes must be equal.")
    total: NDArray = arrays[0].detach().as_in_context(context)
    for array in arrays[1:]:
        total = add(total, array.detach().as_in_context(context))
    return total
