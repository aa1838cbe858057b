"""Checks of indices, class labels and ids: a warning, an error or nothing, as ``config.indices`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.config import config
from ..base.errors import IndexWarning, RowIndexError, SparsekitError
from ..base.warn import warn_user
from . import hooks

if TYPE_CHECKING:
    from ..base.types import Array
    from .types import ArrayObject

_told: set[tuple[str, str]] = set()


def notice(function: str, problem: str, hint: str, error: type[SparsekitError] = RowIndexError) -> None:
    """Warn, or raise, as ``config.indices`` says, about numbers that were changed to fit.

    Parameters
    ----------
    function : str
        The function that changes them.  The warning is given once for each ``function`` and line of the user.
    problem : str
        The whole sentence, without the full stop.
    hint : str
        What to do instead.
    error : type, optional
        Class of the error under ``config.indices = "error"``.

    Raises
    ------
    RowIndexError
        Under ``config.indices = "error"``; or ``error``.
    """
    if config.indices == "allow":
        return
    if config.indices == "error":
        raise error(f"{problem}, and config.indices is 'error'.", hint=hint)
    line = hooks.user_line()
    if (function, line) in _told:
        return
    _told.add((function, line))
    warn_user(f"{line}: {problem}. {hint[0].upper()}{hint[1:]} (Shown once per line; sparsekit.config.indices = 'error' "
                  f"raises an error here, 'allow' is silent.)", IndexWarning)


def check(values: ArrayObject | Array, size: int, function: str, axis: str, hint: str) -> None:
    """Warn or raise if one of the numbers is outside ``0 … size - 1``; one pass over them.

    Parameters
    ----------
    values : NDArray or numpy.ndarray
        Numbers of any element type.  Those of a GPU are looked at under ``config.indices = "error"`` only, because
        reading them waits for the device.  Traced arrays have no values, so that nothing is checked.
    function : str
        The function and the argument that they are: ``"SoftmaxCrossEntropyLoss: the label"``.
    axis : str
        What they are numbers of: ``"classes"``.
    hint : str
        What to do instead.
    """
    context = getattr(values, "_ctx", None)
    place = "cpu" if context is None else context.device_type
    if config.indices == "allow" or place == "trace" or (place == "gpu" and config.indices != "error") or not values.size:
        return
    numbers: Array = values._store if hasattr(values, "_store") else values
    low, high = numbers.min().item(), numbers.max().item()
    if low >= 0 and high < size:
        return
    notice(function, f"{function} {high if not high < size else low} is outside the {size} {axis} and is clipped", hint)
