"""Blocks that hold blocks: stacks, and functions as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

from ... import ndarray
from ...base.errors import DTypeError, UnknownNameError
from ...base.warn import warn_user
from ...core.op import registry
from ..block import Block, HybridBlock, _indent

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...core.types import Functions
    from ..types import HybridizeOptions


class _Stack:
    """Base of both kinds of stacks."""

    _children: dict[str, Any]
    _prefix: str
    _only_stacks = True  # its line in a summary would repeat that of its last block

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)  # type: ignore[attr-defined]

    def __getitem__(self, key: int | slice) -> Any:
        children = list(self._children.values())[key]
        if not isinstance(children, list):
            return children
        part: Any = type(self)(prefix=self._prefix)  # type: ignore[call-arg]
        part.add(*children)
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())

    def __repr__(self) -> str:
        lines = [f"  ({key}): {_indent(repr(block))}" for key, block in self._children.items()]
        return "\n".join([f"{type(self).__name__}(", *(lines or [""]), ")"])


class Sequential(_Stack, Block):
    """Blocks applied one after another.

    ``net[i]`` is a block.  ``net[a:b]`` is a new container of some of the blocks, which shares their parameters.

    Examples
    --------
    >>> net = mx.gluon.nn.Sequential()
    >>> with net.name_scope():
    ...     net.add(mx.gluon.nn.Dense(10, activation="relu"), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net(mx.nd.ones((4, 3))).shape
    (4, 2)
    """

    def forward(self, x: object, *args: object) -> object:
        """Each block's output is the next one's input; further arguments go to the first."""
        for block in self._children.values():
            x = block(x, *args)
            args = ()
        return x

    def hybridize(self, active: bool = True, **kwargs: Unpack[HybridizeOptions]) -> None:
        """Hybridize the blocks; warns if HybridSequential would do better."""
        if self._children and all(isinstance(child, HybridBlock) for child in self._children.values()):
            warn_user(f"All children of this Sequential layer '{self._prefix}' are HybridBlocks. Consider using "
                          "HybridSequential for the best performance.")
        super().hybridize(active, **kwargs)


class HybridSequential(_Stack, HybridBlock):
    """HybridBlocks applied one after another; as ``Sequential``."""

    def hybrid_forward(self, F: Functions, x: object, *args: object) -> object:
        for block in self._children.values():
            x = block(x, *args)
            args = ()
        return x


class Lambda(Block):
    """A function of arrays as a block.

    Parameters
    ----------
    function : str or function
        The name of an operator, or ``function(*args)``.

    Raises
    ------
    UnknownNameError
        If there is no such operator.
    DTypeError
        If ``function`` is neither a string nor a function.
    """

    _called = (*Block._called, "_func_impl")

    def __init__(self, function: Callable[..., Any] | str, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._func_name = _name_of(function)
        self._func_impl = getattr(ndarray, function) if isinstance(function, str) else function

    def forward(self, *args: object) -> object:
        """The function's value."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function of ``F`` and arrays as a block.

    Parameters
    ----------
    function : str or function
        The name of an operator, or ``function(F, x, *args)``.
    """

    def __init__(self, function: Callable[..., Any] | str, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._func_name = _name_of(function)
        self._func: Callable[..., Any] = (
            lambda F, *args: getattr(F, function)(*args)) if isinstance(function, str) else function

    def hybrid_forward(self, F: Functions, x: object, *args: object) -> object:
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


def _name_of(function: object) -> str:
    """The name of a function; raise for other objects."""
    if isinstance(function, str):
        if not callable(getattr(ndarray, function, None)):
            raise UnknownNameError.of("operator", function, registry)
        return function
    if not callable(function):
        raise DTypeError(f"Unrecognized function in lambda: {function!r} of type {type(function).__name__}.",
                         hint="give a function, or an operator's name.")
    return str(getattr(function, "__name__", type(function).__name__))
