"""Public entry points: they turn every error inside the library into a named error."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, ParamSpec, TypeVar, cast

from .errors import (
    ConversionError,
    DataFileError,
    InsufficientMemoryError,
    MissingPackageError,
    SparsekitError,
    named,
)

__all__ = ["doors", "entries", "entry", "within_memory"]

_NAMED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, MemoryError)


_F = TypeVar("_F", bound=Callable[..., Any])  # Any: a function or a class of whatever arguments, which it keeps
_P = ParamSpec("_P")
_T = TypeVar("_T")


def entry(function: _F, callbacks: bool = False) -> _F:
    """Wrap a public function or class so that it raises named errors only.

    Users' objects may raise anything when their length, items, numbers or names are read.  What they raise is the
    cause of the named error, which is still of the kind that Python or numpy raised.

    Parameters
    ----------
    function : callable
    callbacks : bool
        Whether it calls functions of the user, whose errors pass unchanged.
    """
    if isinstance(function, type):
        # What mypy warns of, that a derived class may have another __init__, is not changed here.
        function.__init__ = entry(function.__init__)  # type: ignore[misc]
        return function

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:  # object: passed on, and not looked at
        try:
            return function(*args, **kwargs)
        except (SparsekitError, StopIteration, Warning):
            raise
        except Exception as error:
            if callbacks and _users(error):
                raise
            raise _error(function.__qualname__.removesuffix(".__init__"), error) from error

    return cast(_F, call)  # cast: ParamSpec would lose that a class is a class, and a method a method


#: Packages whose errors say that they were given something odd.
_OURS = {"sparsekit", "numpy", "scipy", "numba", *sys.stdlib_module_names}


def _users(error: Exception) -> bool:
    """Whether an error was raised by the user's own code, which the library called."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS:
            return True
        trace = trace.tb_next
    return False


_SPECIAL = ("__init__", "__call__", "__getitem__", "__iter__", "__len__", "__next__")


def doors(*classes: type) -> None:
    """Wrap the constructors and public methods of classes; errors of users' functions pass unchanged."""
    for cls in {base: None for one in classes for base in one.__mro__ if base.__module__.startswith("sparsekit.")}:
        for name, found in list(vars(cls).items()):
            kind = type(found) if isinstance(found, (classmethod, staticmethod)) else None
            method = found.__func__ if kind else found
            if (not name.startswith("_") or name in _SPECIAL) and isinstance(method, types.FunctionType) and not hasattr(
                    method, "__wrapped__") and not inspect.isgeneratorfunction(method):
                made = entry(method, callbacks=True)
                setattr(cls, name, kind(made) if kind else made)


def within_memory(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wrap a function that runs users' code: only errors of memory become named errors."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            if isinstance(error, InsufficientMemoryError):
                raise
            raise _error(function.__qualname__, error) from error

    return call


def entries(names: MutableMapping[str, Any], public: Iterable[str]) -> None:  # Any: what a module defines
    """Wrap the public functions and classes of a module, each of which is defined in it."""
    for name in public:
        if callable(names[name]) and getattr(names[name], "__module__", "") == names["__name__"]:
            names[name] = entry(names[name])


def _error(name: str, error: Exception) -> Exception:
    message = f"{name} failed with these arguments"
    if isinstance(error, _NAMED):
        return named(error, message)
    try:
        said = f"{message}: {type(error).__name__}: {error}".splitlines()[0]
    except Exception:  # an error whose own text fails
        said = f"{message}: {type(error).__name__}"
    if isinstance(error, OSError):
        return DataFileError(said, hint="check the path and its permissions.")
    if isinstance(error, ImportError):
        return MissingPackageError(said, hint="install the package that it names.")
    if isinstance(error, RuntimeError):
        return SparsekitError(said, hint="check the arguments.")
    return ConversionError(said, hint="check the arguments; convert objects of other libraries with their own methods first.")
