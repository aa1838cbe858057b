"""Helpers of training loops: ``mx.gluon.utils`` splits batches, clips gradients and fetches files."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import os
import urllib.parse
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..base import checks
from ..base.context import Context
from ..base.entry import entries
from ..base.errors import DataFileError, DTypeError, ParameterError, ShapeError, expected
from ..base.lazy import add_lazy_names
from ..base.nested import leaves
from ..base.scoped import Scoped
from ..base.warn import warn_user
from ..ndarray.creation import array as make_array
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from ..base.types import Array, Shape


__all__ = ["HookHandle", "check_sha1", "clip_global_norm", "download", "shape_is_known", "split_and_load", "split_data",
           "whole"]

add_lazy_names(globals())


# batches


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[Any]:
    """Cut a batch in ``num_slice`` parts along an axis; a csr batch in csr parts.

    Parameters
    ----------
    data : NDArray
        Dense or sparse.
    num_slice : int
    batch_axis : int
    even_split : bool
        Raise an error if the batch cannot be divided evenly.  With False, the first parts may have one sample more than the
        last.

    Returns
    -------
    list of NDArray

    Raises
    ------
    ShapeError
        If the batch cannot be divided evenly, or has fewer samples than ``num_slice``.

    Examples
    --------
    >>> [part.shape for part in mx.gluon.utils.split_data(mx.nd.ones((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if num_slice < 1 or size < num_slice:
        raise ShapeError(f"A batch of shape {data.shape} cannot be cut in {num_slice} parts along axis {batch_axis}.",
                         hint="give as many samples as there are parts, or more.")
    each, remainder = divmod(size, num_slice)
    if even_split and remainder:
        raise ShapeError(f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along axis "
                         f"{batch_axis}.", hint=f"use a batch size that is a multiple of {num_slice}, or even_split=False.")
    ends = [0, *itertools.accumulate(each + (number < remainder) for number in range(num_slice))]
    if batch_axis == 0:
        return [data[start:end] for start, end in itertools.pairwise(ends)]
    return [F.slice_axis(data, axis=batch_axis, begin=start, end=end) for start, end in itertools.pairwise(ends)]


def split_and_load(data: NDArray | Array | Sequence[Any], ctx_list: list[Context], batch_axis: int = 0,
                   even_split: bool = True) -> list[Any]:
    """Cut a batch in as many parts as there are contexts, and bring one part to each.

    Parameters
    ----------
    data : NDArray, numpy array or list
    ctx_list : list of Context
    batch_axis : int
    even_split : bool
        As for ``split_data``.

    Returns
    -------
    list of NDArray
    """
    if not isinstance(data, NDArray):
        data = make_array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


# gradients


@overload
def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: Literal[True] = True) -> float: ...
@overload
def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: Literal[False]) -> NDArray: ...
def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> float | NDArray:
    """Scale arrays, in place, so that the norm of all their elements together is at most ``max_norm``.

    Of row-sparse and csr arrays, only the stored values are scaled.

    Parameters
    ----------
    arrays : list of NDArray
        Gradients, on any contexts.
    max_norm : float
        Upper bound of the norm, at least 0.
    check_isfinite : bool
        Warn if the norm is infinite or nan; the arrays are then invalid.

    Returns
    -------
    float or NDArray
        The norm before scaling; with ``check_isfinite=False`` an array of shape (1,).

    Raises
    ------
    SparsekitError
        If there are no arrays, or ``max_norm`` is negative.

    References
    ----------
    R. Pascanu, T. Mikolov, Y. Bengio: On the difficulty of training recurrent neural networks. ICML 2013.
    """
    if not arrays:
        raise ParameterError("clip_global_norm got no arrays.", hint="give it the list of gradients.")
    if not max_norm >= 0:
        raise ParameterError(expected("max_norm", "a number of at least 0", max_norm), hint="max_norm=1.0, for example.")
    norm = math.sqrt(sum(_sum_of_squares(array) for array in arrays))
    if check_isfinite and not math.isfinite(norm):
        warn_user("nan or inf is detected. Clipping results will be undefined.", UserWarning)
    scale = max_norm / (norm + 1e-8)
    if not scale >= 1:  # true for nan as well
        for array in arrays:
            array *= scale
    return norm if check_isfinite else make_array([norm], ctx=arrays[0].context)


def _sum_of_squares(array: object) -> float:
    return float(F.multi_sum_sq(array, num_arrays=1).asscalar())


# arguments


def is_of_scipy(value: object) -> bool:
    """Whether a value is a sparse matrix or array of scipy, which is not imported to find out."""
    return type(value).__module__.startswith("scipy.sparse")


def refuse_foreign(name: str, values: Iterable[object]) -> None:
    """Raise ``DTypeError``, with the line to write, if an array of another library is among a block's arguments."""
    for value in leaves(tuple(values)):
        if is_of_scipy(value):
            raise _foreign(name, value, "mx.nd.sparse.csr_matrix(x, dtype='float32')", ", which stays sparse")
        elif isinstance(value, np.ndarray):
            dtype = "" if value.dtype in (np.float32, np.float64) else f", dtype='{value.dtype.name}'"
            raise _foreign(name, value, f"mx.nd.array(x{dtype})", "")
        elif hasattr(value, "__array__") and hasattr(value, "shape") and not hasattr(value, "_store"):
            raise _foreign(name, value, "mx.nd.array(numpy.asarray(x))", "")


def _foreign(name: str, value: object, line: str, advice: str) -> DTypeError:
    kind, shape = type(value), tuple(getattr(value, "shape", ()))
    return DTypeError(f"{name} takes NDArrays, and was given a {kind.__module__.partition('.')[0]} {kind.__name__} of shape "
                      f"{shape}.", hint=f"pass {line}{advice}; make it once, outside the loop.")


# hooks


class HookHandle(Scoped):
    """What ``register_forward_hook`` gives: ``detach()``, or leaving a ``with`` block, removes the hook."""

    _numbers = itertools.count()

    def __init__(self) -> None:
        self._hooks: Any = None
        self._id = -1

    def attach(self, hooks_dict: dict[int, Any], hook: object) -> None:
        """Put a hook in its place."""
        if self._hooks is not None:
            raise ParameterError("The same handle cannot be attached twice.", hint="make a new one.")
        if not callable(hook):
            raise DTypeError(expected("hook", "a function", type(hook)), hint="give hook(block, inputs, output).")
        self._id = next(self._numbers)
        hooks_dict[self._id] = hook
        self._hooks = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Remove the hook; nothing happens if it is removed already."""
        hooks = self._hooks() if self._hooks is not None else None
        if hooks is not None:
            hooks.pop(self._id, None)

    def _leave(self, before: object, kind: type[BaseException] | None) -> None:
        self.detach()


#: A whole number, as ``checks.whole``; a ShapeError if it is none.
whole = functools.partial(checks.whole, error=ShapeError)


def shape_is_known(shape: Shape | None) -> bool:
    """Whether a shape is there and no size of it is 0 or -1, which stand for unknown ones."""
    return shape is not None and len(shape) > 0 and all(size > 0 for size in shape)


# files


def check_sha1(filename: str | Path, sha1_hash: str) -> bool:
    """Whether a file's SHA-1 is the one given, in hexadecimal digits."""
    with open(filename, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest() == sha1_hash


def download(url: str, path: str | Path | None = None, overwrite: bool = False, sha1_hash: str | None = None, retries: int = 5,
             verify_ssl: bool = True) -> str:
    """Download a file, which appears under its name when it is complete.

    Parameters
    ----------
    url : str
    path : str, optional
        Target file or existing folder.  The default is the current folder and the name in the URL.
    overwrite : bool
        Download the file even if it exists.
    sha1_hash : str, optional
        SHA-1 of the file in hexadecimal digits.  An existing file with another SHA-1 is downloaded again.
    retries : int
        Number of further attempts after one that got nothing new; others go on where they ended, if the server allows it.
    verify_ssl : bool
        Whether the server's certificate is verified.

    Returns
    -------
    str
        Path of the file.

    Raises
    ------
    DataFileError
        If the download fails, for instance without a network, or the SHA-1 differs.
    """
    checks.whole("retries", retries, hint="0 tries once.")
    target = _target(url, path)
    if not overwrite and os.path.exists(target) and (sha1_hash is None or check_sha1(target, sha1_hash)):
        return target
    if not verify_ssl:
        warn_user("verify_ssl=False: others on the network can change this file.")
    import ssl  # slow to import, as the next one, and needed here alone

    from ..datasets.download import retrieve

    retrieve(url, Path(target), sha1_hash, retries, None if verify_ssl else ssl._create_unverified_context())
    return target


def _target(url: str, path: str | PathLike[str] | None) -> str:
    """Where the file goes."""
    name = urllib.parse.unquote(urllib.parse.urlsplit(url).path).rpartition("/")[2]
    target = name if path is None else os.path.expanduser(os.fspath(path))
    if path is not None and os.path.isdir(target):
        target = os.path.join(target, name)
    if not target or (not name and target.endswith(os.sep)):
        raise DataFileError(f"The address {url!r} does not end in a file name.", hint="give path=, the name to save it under.")
    return target


entries(globals(), ["clip_global_norm", "split_and_load", "split_data"])
