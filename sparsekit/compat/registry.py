"""Classes by name, for programs with bases of their own: ``mx.registry``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..base.registry import Registry, registries

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

Base = TypeVar("Base")


def _registry(base_class: type[Base], nickname: str) -> Registry[Base]:
    """The registry of a base, a new one if it has none."""
    return registries.get(base_class) or Registry(base_class, nickname)


def get_registry(base_class: type[Base]) -> dict[str, type[Base]]:
    """A copy of the classes that are registered for a base, by name in lower case."""
    return dict(_registry(base_class, base_class.__name__.lower()).classes)


def get_register_func(base_class: type[Base], nickname: str) -> Callable[..., Any]:
    """A function that makes a class derived from a base known under its name, or under another.

    Parameters
    ----------
    base_class : type
    nickname : str
        What errors call such a class.

    Examples
    --------
    >>> class Sampler:
    ...     pass
    >>> register = mx.registry.get_register_func(Sampler, "sampler")
    >>> Uniform = register(type("Uniform", (Sampler,), {}))
    >>> isinstance(mx.registry.get_create_func(Sampler, "sampler")("uniform"), Uniform)
    True
    """
    return _registry(base_class, nickname).register


def get_alias_func(base_class: type[Base], nickname: str) -> Callable[..., Any]:
    """A function of names that makes a decorator, which makes a class known under them.

    Parameters
    ----------
    base_class : type
    nickname : str
        What errors call such a class.
    """
    return _registry(base_class, nickname).alias


def get_create_func(base_class: type[Base], nickname: str) -> Callable[..., Base]:
    """A function that makes an instance of a registered class from its name and arguments, a dict, or JSON.

    Parameters
    ----------
    base_class : type
    nickname : str
        What errors call such a class, and the keyword that the function takes the name by.
    """
    return _registry(base_class, nickname).create
