"""Colours, fonts and orders that every picture shares; safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ALARM",
    "DARK",
    "FONT",
    "INK",
    "IN_THE_DARK",
    "LINE",
    "MUTED",
    "OTHER",
    "PAPER",
    "ROLES",
    "ROLE_COLORS",
    "SERIES",
    "STRIPE",
    "contrast",
    "dark_style",
    "ink_on",
    "role_order",
]

#: A picture's own paper, lines and letters in a light page; ``dark_style`` gives what they are in a dark one.
PAPER, STRIPE, LINE = "#fcfcfa", "#f1f1ed", "#d3d3cc"
INK, MUTED = "#1c1f23", "#5b6067"
#: What stands on a colour keeps it, in light and in dark pages: not the same as ``INK``, which does not.
DARK = "#1c1f22"
IN_THE_DARK = {PAPER: "#16181c", STRIPE: "#22262c", LINE: "#3b4149", INK: "#eceef0", MUTED: "#a9b0b8"}
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"

#: Okabe and Ito's colours; vermilion is kept back for "became dense", black for text.
SERIES = ("#0072b2", "#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#f0e442")
ALARM = "#d55e00"
OTHER = "#a9adb2"

ROLES = ("parameter", "gradient", "optimizer state", "input", "activation", "workspace")
ROLE_COLORS = dict(zip(ROLES, ("#0072b2", "#e69f00", "#cc79a7", "#009e73", "#56b4e9", OTHER), strict=True))


def _ordered(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    present = dict.fromkeys(names)
    return [name for name in known if name in present] + [name for name in present if name not in known]


def role_order(names: Iterable[str]) -> list[str]:
    """Order the roles of arrays, lasting ones first; unknown ones follow as they come."""
    return _ordered(names, ROLES)


def _luminance(color: str) -> float:
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (``#rrggbb``), 1 to 21, as the Web Content Accessibility Guidelines 2 define it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def dark_style() -> str:
    """The style sheet by which a picture follows a dark page: its own neutral colours change, the others stay.

    It reads what matplotlib writes as style, and what ``Drawing`` writes as attributes.  A browser takes the colour scheme
    of a picture from the element that it stands in.
    """
    rules = (f'[{what}="{light}"],[style*="{what}: {light}"]{{{what}:{dark}!important}}'
             for light, dark in IN_THE_DARK.items() for what in ("fill", "stroke"))
    return f"<style>@media(prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


def ink_on(color: str) -> str:
    """Choose the text colour that is read on ``color`` (``#rrggbb``): dark or white, black where both are too close to it."""
    if color in (PAPER, STRIPE, LINE):
        return INK
    best = max((DARK, "#ffffff"), key=lambda ink: contrast(ink, color))
    return best if contrast(best, color) >= 4.5 else "#000000"
