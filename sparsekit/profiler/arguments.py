"""Checks of arguments, with the error of the profiler: those of ``base.checks``, words out of some, and those of contracts.

Each check raises an error that says what was expected, what came, and what to write.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

from ..base import checks
from ..base.errors import ProfilerError, UnknownNameError, expected
from ..base.formatting import parse_bytes
from ..core import hooks
from .columns import writable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Concatenate

    from .contracts import Expectation

STORAGE_TYPES = ("default", "csr", "row_sparse")

P = ParamSpec("P")


number, flag = (functools.partial(check, error=ProfilerError) for check in (checks.number, checks.flag))
whole = functools.partial(checks.whole, error=ProfilerError)


def text(name: str, value: object, hint: str = "") -> str:  # object: what the user gave, here and below
    """``value`` as ``columns.writable`` has it; raise unless it is a text."""
    return writable(checks.text(name, value, hint, ProfilerError))


# object: as above
def most_rows(rows: object) -> None:
    """Raise unless ``rows`` is a number of rows of a table, or None for all of them."""
    if rows is not None:
        whole("rows", rows, hint="rows=10 shows the first ten; leave it out to see all.")


def checked(method: Callable[Concatenate[Expectation, P], Expectation]) -> Callable[Concatenate[Expectation, P], Expectation]:
    """Check the arguments of a contract first, and then the contract; on a block that has not run yet, at its end."""

    @functools.wraps(method)
    def contract(self: Expectation, /, *args: P.args, **kwargs: P.kwargs) -> Expectation:
        check_arguments(method, args, kwargs)
        if self._done:
            return method(self, *args, **kwargs)
        self._promised.append(lambda: method(self, *args, **kwargs))
        return self

    return contract


# object: what the user gave, which is checked
def check_arguments(method: Callable[..., Expectation], args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    """Check the arguments of a contract by the names of its parameters.

    Raises
    ------
    ProfilerError
        If a number, a size or a name is invalid, or the contract would always hold.
    UnknownNameError
        If there is no such lane, storage type or unit of bytes.
    TypeError
        If the contract does not take these arguments.
    """
    arguments = inspect.signature(method).bind(None, *args, **kwargs).arguments
    parameters = inspect.signature(method).parameters
    for name, value in arguments.items():
        if name in _CHECKS and not (value is None and parameters[name].default is None):
            _CHECKS[name](f"{name} of {method.__name__}()", value)
    if method.__name__ == "calls":
        _bounds(arguments)


def _bounds(arguments: Mapping[str, Any]) -> None:  # Any: arguments of calls(), whose types have been checked
    op, exact, most, least = (arguments.get(name) for name in ("op", "number", "at_most", "at_least"))
    hint = f"calls({op!r}, 3), calls({op!r}, at_most=3) or calls({op!r}, at_least=1), for instance."
    if exact is None and most is None and not least:
        raise ProfilerError(f"calls({op!r}{'' if least is None else ', at_least=0'}) holds for any number of calls.", hint=hint)
    if exact is not None and not (most is None and least is None):
        raise ProfilerError(f"calls({op!r}, {exact}, …) takes an exact number or bounds, not both.", hint=hint)
    if most is not None and least is not None and most < least:
        raise ProfilerError(f"calls({op!r}, at_most={most}, at_least={least}) can never hold.", hint=hint)


def _count(name: str, value: object) -> None:  # object: what the user gave
    whole(name, value, hint="it counts calls or rows.")


def _name(name: str, value: str) -> None:
    if not isinstance(value, str) or not value:
        raise ProfilerError(expected(name, "a name", value), hint="names are those of prof.table(), in quotation marks.")


def _layer(name: str, value: str) -> None:
    if not isinstance(value, str):
        raise ProfilerError(expected(name, "the name of a layer", value),
                            hint="names are those of prof.table(group_by='layer'); '' is what ran in no layer.")


def _lane(name: str, value: str) -> None:
    UnknownNameError.check("lane", value, hooks.LANES)


def _size(name: str, value: str) -> None:
    if not parse_bytes(value):
        raise ProfilerError(expected(name, "above 0 bytes", value), hint='write a number and a unit, such as "2 MB".')


def _types(name: str, value: str) -> None:
    sides = value.replace("→", "->").split("->") if isinstance(value, str) else ()
    if len(sides) != 2:
        raise ProfilerError(expected(name, "the storage types of a call", value), hint='write them as "csr, default -> default".')
    for word in ",".join(sides).split(","):
        if word.strip():
            UnknownNameError.check("storage type", word.strip(), STORAGE_TYPES)


def _kinds(name: str, value: object) -> None:  # object: what the user gave
    if not isinstance(value, (str, list, tuple)):
        raise ProfilerError(expected(name, "a kind of densification, or several", value), hint='allow="dense by nature".')
    for kind in (value,) if isinstance(value, str) else value:
        UnknownNameError.check("kind of densification", kind, hooks.KINDS)


#: Name of a parameter -> the check of its values.
_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "op": _name, "owner": _name, "layer": _layer, "lane": _lane, "number": _count, "at_most": _count, "at_least": _count,
    "size": _size, "types": _types, "allow": _kinds}
