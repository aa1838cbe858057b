"""What a colour means, in every display, in a light page and in a dark one."""

from __future__ import annotations

from collections.abc import Container

#: What a filled mark may be.  Beside its colour, dense is hatched, stored sparse has an edge, and grey has neither.
KINDS = ("dense", "pale-dense", "needed", "sparse", "pale-sparse", "none")
#: What is no storage: letters, lines and the curves of programs, which dashes and names tell apart.
INKS = ("ink", "muted")

#: All kinds of a mark that has a colour of its own.
FILLS = (*KINDS, *INKS, "outline", "paper", "line")

MEANING = {
    "dense": "dense",
    "pale-dense": "dense, small",
    "needed": "dense that has to be",
    "sparse": "stored sparse",
    "pale-sparse": "stored sparse, small",
    "none": "no array",
}

LIGHT = {
    "paper": "#fcfcfa", "lens": "#f0f0eb", "ink": "#1c1f23", "muted": "#5b6067", "line": "#dcdcd6",
    "dense": "#c44f00", "pale-dense": "#f3cdb2", "needed": "#fcfcfa", "sparse": "#0072b2",
    "pale-sparse": "#b5d7ee", "none": "#b3b7bc", "edge": "#00395a", "on-dense": "#ffffff", "on-sparse": "#ffffff",
}  # fmt: skip
DARK = {
    "paper": "#16181c", "lens": "#23272d", "ink": "#eceef0", "muted": "#a9b0b8", "line": "#363c44",
    "dense": "#e0702a", "pale-dense": "#6b3a1c", "needed": "#16181c", "sparse": "#4aa8e8",
    "pale-sparse": "#1d4a68", "none": "#565c64", "edge": "#c4e4fb", "on-dense": "#101214", "on-sparse": "#101214",
}  # fmt: skip
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"

#: Lengths of dashes and gaps in pixels, in the order of the curves.
DASHES: tuple[tuple[int, ...], ...] = ((), (7, 4), (2, 3), (10, 3, 2, 3), (4, 4), (1, 4))


def series(number: int) -> tuple[str, int]:
    """The colour and the dash pattern of a curve that shows no array, by the number of the curve."""
    return INKS[number // len(DASHES) % len(INKS)], number % len(DASHES)


def letters_on(kind: str) -> str:
    """The colour of letters that stand on a kind of mark."""
    return f"on-{kind}" if kind in ("dense", "sparse") else "ink"


def style_sheet(used: Container[str] | None = None, image: bool = False) -> str:
    """The colours as a style sheet: those of the reader's system, or of the page where the page says which it has.

    Parameters
    ----------
    used : container of str, optional
        Classes that are needed; all by default.
    image : bool
        For an image, which follows the colour scheme of its element and sees nothing of the page.
    """
    kept = [name for name in LIGHT if used is None or any(f"{letter}{name}" in used for letter in ("", "f-", "s-"))
            or name in ("paper", "ink", "dense")]  # fmt: skip
    light, dark = ("".join(f"--{name}:{colors[name]};" for name in kept) for colors in (LIGHT, DARK))
    letters = "".join(f".sk .{name}{{fill:var(--{name})}}" for name in kept if used is None or name in used)
    fills = "".join(f".sk .f-{name}{{fill:var(--{name})}}" for name in kept if used is None or f"f-{name}" in used)
    strokes = "".join(f".sk .s-{name}{{stroke:var(--{name})}}" for name in kept if used is None or f"s-{name}" in used)
    both = f".sk{{{light}font-family:{FONT}}}@media(prefers-color-scheme:dark){{.sk{{{dark}}}}}"
    if image:
        return f"{both}{letters}{fills}{strokes}"
    return (
        f'{both}[data-jp-theme-light="true"] .sk,[data-theme="light"] .sk,.vscode-light .sk{{{light}}}'
        f'[data-jp-theme-light="false"] .sk,[data-theme="dark"] .sk,.vscode-dark .sk{{{dark}}}'
        f"{letters}{fills}{strokes}.sk .scaled *{{vector-effect:non-scaling-stroke}}"
    )
