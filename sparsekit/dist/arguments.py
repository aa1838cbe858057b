"""What is asked of a run, checked before anything is started."""

from __future__ import annotations

from ..base.errors import DistError, expected

__all__ = ["check_numbers", "check_settings", "is_number_below"]


def is_number_below(number: object, limit: float) -> bool:
    """Whether something is an integer of at least 0 and below a limit."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < limit


def check_numbers(every: object = None, **numbers: object) -> None:
    """Raise ``DistError`` for a number below 1; ``every`` may be None."""
    for name, number in {**numbers, **({} if every is None else {"every": every})}.items():
        if not is_number_below(number, float("inf")) or number == 0:
            raise DistError(expected(name, "a positive integer", number), hint=f"pass {name}=2, for instance.")


def check_settings(staleness: object, seconds: object = None, **limits: object) -> None:
    """Raise ``DistError`` unless the staleness is None or a whole number, and others are numbers above 0; seconds may be None."""
    if staleness is not None and not is_number_below(staleness, float("inf")):
        raise DistError(expected("staleness", "None or an integer of at least 0", staleness), hint="pass 4, for instance.")
    for name, number in {**limits, **({} if seconds is None else {"seconds": seconds})}.items():
        if not isinstance(number, (int, float)) or isinstance(number, bool) or not number > 0:
            raise DistError(expected(name, "a number of seconds above 0", number), hint=f"pass {name}=60, for instance.")
