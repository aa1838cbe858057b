"""The key-value store of one machine, which sums values over contexts and can apply an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..base.context import cpu
from ..base.errors import (
    DataFileError,
    ParameterError,
    ParameterNameError,
    SparsekitError,
)
from ..base.files import path_of, write_whole
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from ..optimizer import get_updater
from .arguments import (
    arrays_by_key,
    check_row_sparse,
    checked_optimizer,
    numbers_of,
    only_optimizer,
    pairs,
    row_targets,
    sum_of,
)
from .base import KVStoreBase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from ..optimizer.updater import Updater


__all__ = ["KVStore", "read_states"]


@KVStoreBase.register
class KVStore(KVStoreBase):
    """A key-value store, made by ``create("local")`` or ``create("device")``.

    A key is an integer or a string.  Every method also takes a list of keys with a list of values.  A value is an array,
    dense or row_sparse, or a list of arrays, one for each context.

    Without an optimizer, a push replaces the value by the sum of the pushed arrays.  With an optimizer, a push makes a
    step of the optimizer with the sum as the gradient.

    Parameters
    ----------
    name : str
        The name passed to ``create``.
    """

    names: ClassVar[tuple[str, ...]] = ("local", "device", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device")

    def __init__(self, name: str = "local") -> None:
        self._type = name
        self._held: dict[Any, Any] = {}
        self._updater: Any = None

    @staticmethod
    def is_capable(capability: str) -> bool:
        """True for ``"optimizer"``, the only capability.

        Raises
        ------
        UnknownNameError
            For any other capability.
        """
        return only_optimizer(capability)

    # values

    def init(self, key: object, value: object) -> None:
        """Store a copy of a value under a new key.

        Parameters
        ----------
        key : int, str or list of them
        value : NDArray or list of NDArray
            Of a list for one key, the first array is stored.  A row_sparse value need not store all rows.  Absent rows are
            zero, and the first step of an optimizer stores them.

        Raises
        ------
        SparsekitError
            If the key exists already.
        """
        for single_key, arrays in pairs(key, value):
            if single_key in self._held:
                raise ParameterError(f"The key {single_key!r} has been initialized already.", hint="push() changes its value.")
            self._held[single_key] = self._home(arrays[0]).copy()

    def _share(self, key: int | str, value: NDArray) -> None:
        """Store the array itself, not a copy, so that updates write to it."""
        self._held[key] = value

    def _home(self, array: NDArray) -> NDArray:
        """The array on the context where the store keeps its values."""
        return array if "device" in self._type else array.as_in_context(cpu())

    def _value(self, key: int | str) -> NDArray:
        if key not in self._held:
            raise ParameterNameError(f"The key {key!r} has not been initialized.", hint="call init(key, value) first.")
        return self._held[key]

    def push(self, key: object, value: object, priority: int = 0) -> None:
        """Replace a value by the sum of the arrays, or make a step of the optimizer with the sum as the gradient.

        Parameters
        ----------
        key : int, str or list of them
            The arrays of a key that is listed several times are summed.
        value : NDArray or list of NDArray
        priority : int
            Has no effect: a push is complete when it returns.

        Raises
        ------
        ParameterNameError
            If a key was not initialized.
        ShapeError
            If an array does not have the shape of the value.
        """
        for single_key, arrays in arrays_by_key(key, value).items():
            held = self._value(single_key)
            total = sum_of(arrays, held.shape, held.context)
            if self._updater is not None:
                self._updater(single_key, total, held)
            elif total.stype == held.stype:
                held._receive(total.copy() if total.stype != "default" else total)
            else:
                self._held[single_key] = total.copy()

    def pull(self, key: object, out: object = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Write a value to arrays, in the storage type of each array.

        Parameters
        ----------
        key : int, str or list of them
        out : NDArray or list of NDArray
        priority : int
            Has no effect.
        ignore_sparse : bool
            Do not write to sparse arrays; ``row_sparse_pull`` does.  Default True.

        Raises
        ------
        ParameterNameError
            If a key was not initialized.
        """
        for single_key, arrays in pairs(key, out):
            held = self._value(single_key)
            for array in arrays:
                if array is not held and not (ignore_sparse and array.stype != "default"):
                    held.detach().copyto(array)

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """``push``, then ``pull`` to ``out``, by default to the arrays of ``value``."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority, ignore_sparse=False)

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """``init``, then ``pull`` to ``out``."""
        self.init(key, value)
        self.pull(key, out, priority, ignore_sparse=False)

    def row_sparse_pull(self, key: list[Any] | Sequence[str] | str | tuple[Any, ...],
                        out: list[Any] | Sequence[NDArray] | NDArray | tuple[Any, ...] | None = None, priority: int = 0,
                        row_ids: NDArray | Sequence[Any] | None = None) -> None:
        """Write some rows of a row_sparse value to row_sparse arrays, which then store only these rows.

        Parameters
        ----------
        key : int, str or list of them
        out : RowSparseNDArray or list of RowSparseNDArray
        priority : int
            Has no effect.
        row_ids : NDArray or list of NDArray
            Row numbers in any order; repetitions are allowed.  Pass one array for all arrays of ``out``, or one for each, in a
            flat list or nested like ``out``.

        Raises
        ------
        StorageTypeError
            If the value or an array is not row_sparse.
        RowIndexError
            If a row number is out of range.
        ShapeError
            If the number of ``row_ids`` does not match ``out``, or an array does not have the shape of the value.
        """
        for single_key, array, ids in row_targets(key, out, row_ids):
            held = self._value(single_key)
            check_row_sparse(held.stype, held.shape, array)
            numbers_of(ids, held.shape[0])
            rows = F.reshape(ids.as_in_context(held.context), shape=(-1,))
            array._receive(F.sparse_retain(held.detach(), rows).as_in_context(array.context))

    # the optimizer

    def set_optimizer(self, optimizer: object) -> None:
        """Set the optimizer; each later push makes a step of it.

        Parameters
        ----------
        optimizer : Optimizer

        Examples
        --------
        >>> kv = mx.kv.create()
        >>> kv.init(3, mx.nd.zeros((2,)))
        >>> kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.01))
        >>> kv.push(3, mx.nd.ones((2,)))
        >>> weight = mx.nd.zeros((2,))
        >>> kv.pull(3, out=weight)
        >>> weight.asnumpy()
        array([-0.01, -0.01], dtype=float32)
        """
        self._set_updater(get_updater(checked_optimizer(optimizer)))

    def _set_updater(self, updater: Callable[..., Any] | Updater) -> None:
        """Set a function ``updater(key, sum, value)`` that each later push calls, and that changes the value in place."""
        self._updater = updater

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file, and with ``dump_optimizer`` also its settings."""
        write_whole(fname, self._own_updater().get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file; no code in it is executed."""
        self._own_updater().set_states(read_states(fname))

    def _own_updater(self) -> Updater:
        if not hasattr(self._updater, "get_states"):
            raise SparsekitError("The store has no optimizer, so it has no optimizer states.", hint="call set_optimizer() first.")
        return self._updater


def read_states(fname: str | PathLike[str]) -> bytes:
    """Read a file of optimizer states; raises ``DataFileError`` if it cannot be read."""
    path = path_of(fname)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise DataFileError(f"{path} cannot be read: {error.strerror}.", hint="check the path.") from error
