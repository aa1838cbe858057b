"""Functions of ``mx.util``: shape semantics, GPUs, and environment variables."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

from ..base.context import gpu_memory_info, num_gpus
from ..base.errors import DTypeError
from ..base.lazy import add_lazy_names
from ..base.scoped import Assigned
from ..core.partial_shapes import meaning

__all__ = ["get_gpu_count", "get_gpu_memory", "getenv", "is_np_array", "is_np_shape", "np_shape", "set_module", "set_np_shape",
           "setenv", "use_np_shape"]

add_lazy_names(globals())


def is_np_shape() -> bool:
    """Whether shapes of symbols have NumPy semantics, as inside ``np_shape()``.  By default, a size of 0 is unknown."""
    return meaning.zero_is_a_size


def set_np_shape(active: bool) -> bool:
    """Enable or disable NumPy semantics of shapes for the calling thread, and return the previous setting."""
    before, meaning.zero_is_a_size = meaning.zero_is_a_size, bool(active)
    return before


def np_shape(active: bool = True) -> Assigned:
    """A scope that enables or disables NumPy semantics of the shapes of symbols.

    With them, 0 is a size, -1 an unknown size, () the shape of a scalar, and None an unknown shape.  Arrays may always have
    shapes with 0, and ().

    Examples
    --------
    >>> import sparsekit as mx
    >>> with mx.np_shape():
    ...     mx.sym.sin(mx.sym.var("x", shape=(0, 2))).infer_shape()
    ([(0, 2)], [(0, 2)], [])
    """
    return Assigned(meaning, zero_is_a_size=bool(active))


def use_np_shape(func: Any) -> Any:
    """Decorate a function, or the methods and getters of properties of a class, to run inside ``np_shape()``."""
    if inspect.isclass(func):
        for name, member in list(vars(func).items()):
            if inspect.isfunction(member):
                setattr(func, name, use_np_shape(member))
            elif isinstance(member, staticmethod):
                setattr(func, name, staticmethod(use_np_shape(member.__func__)))
            elif isinstance(member, property):
                setattr(func, name, property(member.fget and use_np_shape(member.fget), member.fset, member.fdel, member.__doc__))
        return func
    if not callable(func):
        raise DTypeError(f"use_np_shape can only decorate classes and callable objects, while received a {type(func)}.",
                         hint="write @mx.util.use_np_shape before a function or a class.")

    @functools.wraps(func)
    def within(*args: object, **kwargs: object) -> object:
        with np_shape():
            return func(*args, **kwargs)

    return within


def is_np_array() -> bool:
    """Whether arrays are ``mx.np.ndarray``; always False, as there is no ``mx.np``."""
    return False


def set_module(module: str | None) -> Callable[[Any], Any]:
    """A decorator that sets ``__module__`` of a function or class; None leaves it unchanged."""

    def decorated(func: Any) -> object:
        if module is not None:
            func.__module__ = module
        return func

    return decorated


def get_gpu_count() -> int:
    """Number of usable GPUs."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total memory of a GPU in bytes."""
    return gpu_memory_info(gpu_dev_id)


def getenv(name: str) -> str | None:
    """The value of an environment variable; None if it is not set."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
