"""Public entry points: they turn every error inside the library into a named error."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, ParamSpec, TypeVar, cast

from .errors import (
    ArgumentError,
    ConversionError,
    DataFileError,
    InsufficientMemoryError,
    MissingPackageError,
    SparsekitError,
    first_line,
    named,
)
from .faults import internal, is_internal, is_the_users

_NAMED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, MemoryError)

#: Errors by which an object of the user's says that it is not what is asked for.
_PROTOCOL = (*_NAMED, RuntimeError)

_F = TypeVar("_F", bound=Callable[..., Any])  # Any: a function or a class of whatever arguments, which it keeps
_P = ParamSpec("_P")
_T = TypeVar("_T")


def entry(function: _F, callbacks: bool = False) -> _F:
    """Wrap a public function or class so that it raises named errors only.

    A fault of the library is an ``InternalError``.  Users' objects may raise anything when their length, items, numbers or names
    are read.  A builtin error that they raise is the cause of the named error, which is still of the kind that Python or numpy
    raised; an error of another class passes unchanged.

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
            if (callbacks or not isinstance(error, _PROTOCOL)) and is_the_users(error):
                raise
            raise _error(function, error, args, kwargs) from error

    return cast(_F, call)  # cast: ParamSpec would lose that a class is a class, and a method a method


_SPECIAL = ("__init__", "__call__", "__getitem__", "__iter__", "__len__", "__next__")


def entry_classes(*classes: type) -> None:
    """Wrap the constructors and public methods of classes; errors of users' functions pass unchanged."""
    for cls in {base: None for subclass in classes for base in subclass.__mro__ if base.__module__.startswith("sparsekit.")}:
        for name, member in list(vars(cls).items()):
            kind = type(member) if isinstance(member, (classmethod, staticmethod)) else None
            method = member.__func__ if kind else member
            if (not name.startswith("_") or name in _SPECIAL) and isinstance(method, types.FunctionType) and not hasattr(
                    method, "__wrapped__") and not inspect.isgeneratorfunction(method):
                wrapped = entry(method, callbacks=True)
                setattr(cls, name, kind(wrapped) if kind else wrapped)


def within_memory(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wrap a function that runs users' code: only errors of memory become named errors."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            if isinstance(error, InsufficientMemoryError):
                raise
            raise _error(function, error, args, kwargs) from error

    return call


def entries(names: MutableMapping[str, Any], public: Iterable[str]) -> None:  # Any: what a module defines
    """Wrap the public functions and classes of a module, each of which is defined in it."""
    for name in public:
        if callable(names[name]) and getattr(names[name], "__module__", "") == names["__name__"]:
            names[name] = entry(names[name])


# Any, object: a function of whatever arguments
def _error(function: Callable[..., Any], error: Exception, args: tuple[object, ...], kwargs: dict[str, object]) -> Exception:
    name = type(args[0]).__name__ if function.__name__ == "__init__" and args else function.__qualname__
    wrong = _wrong_arguments(name, function, error, args, kwargs) if isinstance(error, TypeError) else None
    if wrong is not None:
        return wrong
    if is_internal(error, (*args, *kwargs.values(), *kwargs)):
        return internal(error, f"{name} failed")
    message = f"{name} failed with these arguments"
    if isinstance(error, _NAMED):
        return named(error, message)
    said = f"{message}: {first_line(error)}"
    if isinstance(error, OSError):
        return DataFileError(said, hint="check the path and its permissions.")
    if isinstance(error, ImportError):
        return MissingPackageError(said, hint="install the package that it names.")
    if isinstance(error, RuntimeError):
        return SparsekitError(said, hint="check the arguments.")
    return ConversionError(said, hint="check the arguments; convert objects of other libraries with their own methods first.")


# Any, object: as above
def _wrong_arguments(name: str, function: Callable[..., Any], error: TypeError, args: tuple[object, ...],
                     kwargs: dict[str, object]) -> Exception | None:  # object: as above
    """The error for arguments that a function does not have, or lacks; None if it is another error."""
    unknown = re.search(r"got an unexpected keyword argument '(\w+)'", str(error))
    trace = error.__traceback__
    if not (unknown and unknown[1] in kwargs) and (trace is None or trace.tb_next is not None):
        return None
    # A constructor may hand keywords on to those of its bases.
    bases = type(args[0]).__mro__ if function.__name__ == "__init__" and args else ()
    constructors: list[Any] = [vars(base).get("__init__") for base in bases]  # Any: functions, among others
    # Any: of whatever arguments
    functions: list[Callable[..., Any]] = [function, *(constructor for constructor in constructors
                                                       if isinstance(constructor, types.FunctionType))]
    names = {key: None for each in functions for key, parameter in inspect.signature(each).parameters.items()
             if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and key != "self"}
    if unknown and unknown[1] not in names:
        return ArgumentError.of(f"argument of {name}()", unknown[1], names)
    said = str(error).replace(f"{function.__qualname__}()", f"{name}()")  # a base class may define the constructor
    return ArgumentError(f"{said}.", hint=f"its arguments are {', '.join(names)}.")
