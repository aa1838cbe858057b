"""Classes by name: what ``register``, ``alias`` and ``create`` of metrics and initializers do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .errors import DTypeError, SparsekitError, UnknownNameError, expected
from .warn import warn_user

Base = TypeVar("Base")
Class = TypeVar("Class", bound=type)

#: The registry of each base.
registries: dict[type, Registry[Any]] = {}


class Registry(Generic[Base]):
    """The classes derived from one base, by lower-case name.

    Parameters
    ----------
    base : type
    kind : str
        What errors call such a class, and the keyword that ``create`` takes the name by.
    """

    def __init__(self, base: type[Base], kind: str) -> None:
        self.base, self.kind = base, kind
        self.classes: dict[str, type[Base]] = {}
        registries[base] = self

    def register(self, cls: Class, name: str | None = None) -> Class:
        """Make a class known under its name in lower case, or under another; usable as a decorator.

        A name that is taken goes to the new class, with a warning.
        """
        if not (isinstance(cls, type) and issubclass(cls, self.base)):
            raise DTypeError(expected(f"The {self.kind}", f"a class derived from {self.base.__name__}", cls),
                             hint=f"derive the {self.kind} from {self.base.__name__}.")
        key = (cls.__name__ if name is None else name).lower()
        before = self.classes.get(key)
        if before not in (None, cls):
            warn_user(f"The new {self.kind} {cls.__module__}.{cls.__name__} takes the name {key!r} of "
                          f"{before.__module__}.{before.__name__}.", UserWarning)
        self.classes[key] = cls
        return cls  # type: ignore[return-value]  # mypy has forgotten that it is the Class which was given

    def alias(self, *names: str) -> Callable[[Class], Class]:
        """A decorator that makes a class known under other names too."""

        def declare(cls: Class) -> Class:
            for name in names:
                self.register(cls, name)
            return cls

        return declare

    def create(self, *args: Any, **kwargs: Any) -> Base:  # Any: arguments of the class that the first one names
        """The instance that a name with arguments, a dict, JSON of either, or an instance stands for.

        JSON is what ``dumps()`` writes, ``["name", {"argument": value}]``, or an object whose ``kind`` is the name.

        Raises
        ------
        UnknownNameError
            If nothing has that name.
        DTypeError
            If it is something else.
        """
        name, *rest = args if args else (kwargs.pop(self.kind, None),)
        if isinstance(name, self.base):
            if rest or kwargs:
                raise SparsekitError(f"{name!r} is an instance, so it takes no further arguments.",
                                     hint="leave the arguments out, or give the name of the class.")
            return name
        if isinstance(name, type) and issubclass(name, self.base):
            return name(*rest, **kwargs)
        if isinstance(name, dict) and self.kind in name:
            return self.create(**name)
        if not isinstance(name, str):
            raise DTypeError(expected(f"The {self.kind}", f"a name or an instance of {self.base.__name__}", name),
                             hint=f"give its name, or an instance of {self.base.__name__}.")
        if name.startswith(("[", "{")):
            return self._read(name, rest, kwargs)
        cls = self.classes.get(name.lower())
        if cls is None:
            raise UnknownNameError.of(self.kind, name, self.classes)
        return cls(*rest, **kwargs)

    def _read(self, text: str, rest: list[Any], kwargs: dict[str, Any]) -> Base:  # Any: as in create
        """The instance that JSON stands for."""
        try:
            document = json.loads(text)
        except ValueError as error:
            raise SparsekitError(f"{text!r} is not valid JSON: {error}.", hint='as in ["uniform", {"scale": 0.1}].') from None
        if isinstance(document, list) and len(document) == 2 and isinstance(document[0], str) and isinstance(document[1], dict):
            document = {self.kind: document[0], **document[1]}
        if rest or kwargs or not isinstance(document, dict) or not isinstance(document.get(self.kind), str):
            raise SparsekitError(f"{text!r} must be the name and the arguments of one {self.kind}.",
                                 hint='as in ["uniform", {"scale": 0.1}].')
        return self.create(document.pop(self.kind), **document)
