"""Nested containers taken apart and put together again."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .errors import DTypeError

if TYPE_CHECKING:
    class Several(Protocol):
        """What may hold several leaves: an array, or a symbol of several outputs."""

        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[object]: ...  # object: leaves

Leaf = TypeVar("Leaf", bound="Several")


#: Lists and tuples in one another that arguments may have.
DEEPEST = 100


def leaves(value: object, depth: int = 0) -> Iterator[Any]:  # object, Any: anything may be nested
    """The items of nested lists and tuples, in order; they may be ``DEEPEST`` deep, and a list is not in itself."""
    if isinstance(value, (list, tuple)):
        if depth > DEEPEST:
            raise DTypeError(f"There are more than {DEEPEST} lists or tuples in one another.", hint="does a list hold itself?")
        for part in value:
            yield from leaves(part, depth + 1)
    else:
        yield value


class Opaque(Exception):
    """The name of the type of the first item in a nested value that is neither a leaf, nor a container, nor a setting."""


# object: anything may be nested, and is refused if it is of no use
def flatten(value: object, leaf: type[Leaf], collected: list[Leaf], settings: tuple[type, ...] = (), apart: bool = False,
            ) -> Hashable:
    """Append the leaves of a nested value to a list, and give its structure, which is hashable.

    Parameters
    ----------
    value : object
        A leaf, or lists and tuples of such; with ``settings`` also dictionaries and slices.
    leaf : type
    collected : list
        Gets the leaves; the structure holds their places in it, from 1.
    settings : tuple of types, optional
        What may stand among the leaves, and is part of the structure.  Without settings tuples become lists.
    apart : bool
        A leaf that holds several leaves is a list of them.

    Raises
    ------
    Opaque
        If it holds anything else, which may change without becoming another object.
    """
    if isinstance(value, leaf):
        if apart and len(value) != 1:
            return list, tuple([flatten(item, leaf, collected) for item in value])
        collected.append(value)
        return len(collected)
    kind = type(value)
    if not settings:
        if isinstance(value, (list, tuple)):
            return list, tuple([flatten(item, leaf, collected, settings, apart) for item in value])
    elif isinstance(value, tuple) or (isinstance(value, list) and kind is list):
        return kind, tuple([flatten(item, leaf, collected, settings) for item in value])
    elif isinstance(value, dict):
        return kind, tuple([(name, flatten(item, leaf, collected, settings)) for name, item in value.items()])
    elif isinstance(value, slice):
        return kind, tuple([flatten(item, leaf, collected, settings) for item in (value.start, value.stop, value.step)])
    elif isinstance(value, settings):
        return None, value, kind, repr(value) if kind is float else None  # 1, 1.0 and True are equal, and so are 0.0 and -0.0
    raise Opaque(kind.__name__)


# Any: a structure is nested as deep as what flatten took apart, and so is what comes back
def restore(structure: Any, leaves: Sequence[object]) -> Any:
    """What ``flatten`` took apart, with these leaves."""
    if structure.__class__ is int:
        return leaves[structure - 1]
    kind, items = structure[:2]
    if kind is None:
        return items
    if issubclass(kind, dict):
        return kind((name, restore(item, leaves)) for name, item in items)
    parts = [restore(item, leaves) for item in items]
    return parts if kind is list else kind(*parts) if hasattr(kind, "_fields") or kind is slice else kind(parts)
