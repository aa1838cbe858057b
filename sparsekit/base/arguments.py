"""Named errors for arguments that a public function does not take."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import ParamSpec, TypeVar

import numpy as np

from .errors import ArgumentError, DTypeError

P = ParamSpec("P")
T = TypeVar("T")


def strict(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that unknown arguments raise ``ArgumentError`` instead of Python's TypeError."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside the function
            names = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
            raise ArgumentError(f"{error}.", hint=f"its arguments are {', '.join(names)}.") from None

    return run


def unmasked(source: T) -> T:
    """Return ``source``; raise if it is a numpy array with masked elements, or a list of such arrays.

    Raises
    ------
    DTypeError
        If an element is masked.
    """
    parts = source if isinstance(source, (list, tuple)) and source and isinstance(source[0], np.ndarray) else (source,)
    for part in parts:
        if type(part) is not np.ndarray and isinstance(part, np.ndarray) and np.any(getattr(part, "_mask", False)):
            raise DTypeError(f"The array of shape {part.shape} has masked elements, and arrays here have no mask.",
                             hint="array.filled(0) gives them a value, array.compressed() leaves them out.")
    return source


def no_more(name: str, unknown: Collection[str], known: tuple[str, ...]) -> None:
    """Raise ``ArgumentError`` if a function of MXNet's with ``**kwargs`` was given one that it does not take."""
    if unknown:
        raise ArgumentError.of(f"argument of {name}()", next(iter(unknown)), known)
