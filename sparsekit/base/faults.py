"""Whose fault an error is that is none of ours by name: of the user's own code, of the arguments of a call, or of the library."""

from __future__ import annotations

import dis
import itertools
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .errors import InternalError, SparsekitError, first_line
from .version import __version__

#: Packages that the library calls, and which are not the user's code.
_CALLED = {"numpy", "scipy", "numba", *sys.stdlib_module_names}

_RAISE = dis.opmap["RAISE_VARARGS"]

_KINDS_OF_FAULTS = (AssertionError, NameError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError)

#: How deep objects within arguments are looked at, how many of one, and how many at most.
_DEEP, _MANY, _MOST = 5, 100, 10_000

_SIMPLE = (str, bytes, int, float, complex, bool, type(None))


def internal(error: Exception, message: str) -> InternalError:
    """The named error for a fault of the library."""
    return InternalError(f"{message}: {first_line(error)}. This is a defect of sparsekit {__version__}, not of your program.",
                         hint="please report it with this traceback, the call, and the versions of Python and numpy.")


def is_the_users(error: Exception) -> bool:
    """Whether an error was raised by code of the user's, which the library called, or is of a class of the user's."""
    module = type(error).__module__
    if module.partition(".")[0] not in ("builtins", *_CALLED) and not _is_of_the_library(module):
        return True
    traceback = _raised_at(error)
    return traceback is not None and not _is_ours(traceback.tb_frame)


def is_a_handlers(error: Exception, functions: Iterable[Callable[..., Any]]) -> bool:  # Any: whatever they take and give
    """Whether a signal's handler raised an error: user code did, while only functions of the library were called.

    Parameters
    ----------
    error : Exception
    functions : iterable of callable
        Those that were called, which may call no function of the user's if they are the library's.
    """
    return is_the_users(error) and all(_is_of_the_library(function.__module__) for function in functions)


def is_internal(error: Exception, arguments: tuple[object, ...]) -> bool:  # object: arguments of any kind
    """Whether an error says that the library is wrong, rather than an argument.

    An assertion and an unknown variable are the library's, and so is an error of Python that the library's own code raises by
    a statement, as it raises named errors for mistakes.  What the interpreter raises is the library's if no argument has to do
    with it: an attribute of another object, a key that was not given, an operand of another type.

    Parameters
    ----------
    error : Exception
        One that was caught.
    arguments : tuple
        The arguments, positional and by name.
    """
    at = _raised_at(error)
    if at is None or isinstance(error, SparsekitError) or not isinstance(error, _KINDS_OF_FAULTS) or not _is_ours(at.tb_frame):
        return False
    if isinstance(error, (AssertionError, NameError)):
        return True
    if at.tb_next is None and at.tb_frame.f_code.co_code[at.tb_lasti] == _RAISE:
        return True
    if isinstance(error, AttributeError) and error.name is not None:
        thing = error.obj
        return not any(value is thing or (type(thing) in _SIMPLE and type(value) is type(thing)) for value in _within(arguments))
    if isinstance(error, KeyError) and at.tb_next is None and error.args:
        key = error.args[0]
        if any(type(value) is dict for value in _within(arguments, attributes=False)):
            return False
        return not any(value is key or (type(value) is type(key) and type(value) in _SIMPLE and value == key)
                       for value in _within(arguments))
    if type(error) is TypeError and at.tb_next is None:  # and not numpy's, whose messages name dtypes
        named = {name.rpartition(".")[2] for name in re.findall(r"'([\w.]+)'", str(error))}
        return not named.isdisjoint(_TYPES) and named.isdisjoint(
            kind.__name__ for value in _within(arguments, simple=True) for kind in (type(value), value) if isinstance(kind, type))
    return False


#: Types that the message of a TypeError may name.
_TYPES = {"NoneType", "function", "module", "method", "type", "object", "str", "int", "float", "bool", "bytes", "list", "tuple",
          "dict", "set", "generator"}


def _raised_at(error: Exception) -> types.TracebackType | None:
    """The innermost place of an error that is either the library's or the user's."""
    innermost, trace = None, error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        answers = frame.f_code.co_name == "__getattr__" and isinstance(error, AttributeError)
        if not answers and frame.f_globals.get("__name__", "").partition(".")[0] not in _CALLED:
            innermost = trace  # and not where an object answers that it has no such attribute
        trace = trace.tb_next
    return innermost


def _is_of_the_library(module: str) -> bool:
    """Whether a module is the library's; the examples are programs of users."""
    return module.partition(".")[0] == "sparsekit" and not module.startswith("sparsekit.examples.")


def _is_ours(frame: types.FrameType) -> bool:
    """Whether a function is the library's, or was put in the place of one."""
    if _is_of_the_library(frame.f_globals.get("__name__", "")):
        return True
    modules = [vars(module) for name, module in list(sys.modules.items()) if _is_of_the_library(name)]
    classes = [vars(member) for names in modules for member in list(names.values())
               if isinstance(member, type) and member.__module__.startswith("sparsekit.")]
    return any(isinstance(member, types.FunctionType) and member.__code__ is frame.f_code
               for names in (*modules, *classes) for member in list(names.values()))


def _within(arguments: tuple[object, ...], attributes: bool = True, simple: bool = False) -> Iterator[object]:  # object: as above
    """The arguments and what they hold; no code of theirs is run.

    ``attributes`` says whether attributes of objects count, and ``simple`` whether those that are numbers, texts or None do.
    """
    waiting: list[tuple[Any, int]] = [(argument, 0) for argument in arguments]  # Any: whatever was given
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        value, depth = waiting.pop()
        yield value
        if depth < _DEEP and id(value) not in seen:
            seen.add(id(value))
            waiting += [(part, depth + 1) for part in _parts(value, attributes, simple)]


def _parts(value: object, attributes: bool, simple: bool) -> list[Any]:  # object, Any: the same
    held: Any = value  # Any: the same
    if type(value) in (list, tuple, set, frozenset):
        return list(itertools.islice(held, _MANY))
    if type(value) is dict:
        return list(itertools.islice(itertools.chain(held.values(), held), _MANY))
    if type(value) is np.ndarray and value.dtype == object:
        return list(itertools.islice(held.flat, _MANY))
    if not attributes:
        return []
    try:
        held = object.__getattribute__(value, "__dict__").values()
    except Exception:  # it has none
        return []
    return [part for part in itertools.islice(held, _MANY) if simple or type(part) not in _SIMPLE]
