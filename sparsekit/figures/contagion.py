"""Contagion: the operators of a training step in their order, as large as the bytes that they move, dense ones in vermilion."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np

from ..base.entry import entries
from ..base.errors import ParameterError, expected
from ..base.formatting import format_bytes, format_ratio
from .arguments import text_of
from .figure import Figure
from .interaction import Interaction
from .marks import Dots, Line, Mark, Panel, Rect, Table, Text
from .text import clean, fit, text_width
from .timeline_data import APART, SMALL, STORAGE, Timeline, part_of, storage_of

if TYPE_CHECKING:
    from ..base.types import Array
    from ..profiler.columns import Columns

__all__ = ["contagion_figure"]

#: Blocks of a run that stand alone: the largest; what lies between two of them is one block.
MOST = 9
#: The share of its elements from which on an array of a sparse type is called full.
FULL = 0.5
#: Operators on small arrays alone of which fewer are left out.
FEW = 4
#: Pixels of a figure: its width, the side of the largest block, and the least side.
WIDTH, LARGEST, LEAST = 960.0, 116.0, 2.0
#: The same for a page of less than ``NARROW_BELOW``, where blocks stand below each other.
NARROW, NARROW_LARGEST, NARROW_BELOW = 340.0, 96.0, 700.0
#: Pixels above and below the blocks, and of a row of the narrow figure.
HEAD, FOOT, ROW = 50.0, 42.0, 46.0
#: Lanes that are no operators of a step, and what the others are called.
LEFT_OUT = ("user", "wait", *APART)
PASSES = {"update": "optimizer", "convert": "conversion", "io": "data", "transfer": "copies"}
SPARSE = STORAGE.index("sparse")


class Recorded(Protocol):
    """What is used of a profile."""

    @property
    def tables(self) -> Columns:
        """Its columns."""


class Block(NamedTuple):
    """One operator, or several small ones together.

    Attributes
    ----------
    name, lane : str
    kind : str
        A name in ``palette.KINDS``.
    bytes : int
        What it moves.
    operators : int
        How many there are in it.
    spread : bool
        Whether it is dense because an operator before it made an array dense.
    line : str
        Where it was called, if it made an array dense.
    full : bool
        Whether an array of a sparse type stores most of its elements.
    """

    name: str
    lane: str
    kind: str
    bytes: int
    operators: int = 1
    spread: bool = False
    line: str = ""
    full: bool = False


def contagion_figure(profiles: Recorded | Mapping[str, Recorded], title: str = "") -> Figure:
    """Draw the operators of a training step in their order, and which of them work on dense arrays.

    The area of a block is the bytes that an operator moves, at true scale.  An operator is dense (vermilion) if it goes through
    a large array that is dense and does not have to be (data, a gradient, an activation), or through one of a sparse type that
    stores most of its elements.  The line through the blocks begins where an operator made a sparse array dense, and leads on
    through what reads it.  Of a profile with three steps or more, the step of median length is drawn.

    Parameters
    ----------
    profiles : Profile, or mapping of str to Profile
        Several are drawn below each other, on one scale; give each the line of code in which they differ.
    title : str, optional

    Returns
    -------
    Figure
        Its live view shows the blocks one after another.

    Raises
    ------
    ParameterError
        If ``profiles`` is empty, or anything else than profiles.
    """
    runs = {str(name): _step(profile) for name, profile in _named(profiles).items()}
    finding = _finding(runs)
    table = Table(("run", "pass", "operator", "works on", "bytes moved"), [
        (name, _pass(block), block.name, _words(block), format_bytes(block.bytes)) for name, blocks in runs.items()
        for block in blocks], "One step")  # fmt: skip
    shown = {name: _together(blocks) for name, blocks in runs.items()}
    figure = Figure(text_of("title", title) or _title(runs), finding, table=table, legend={"none": "small arrays"})
    _wide(figure, shown, runs)
    figure.narrow, figure.narrow_below = _narrowed(figure, shown, runs), NARROW_BELOW
    longest = max((len(blocks) for blocks in shown.values()), default=0)
    if longest > 1:
        frames = [_frame(figure, shown, runs, count) for count in range(1, longest)]
        figure.interaction = Interaction(frames=[*frames, figure], seconds=0.5)
    figure.notes = ("The area of a block is the bytes that an operator moves, on one scale. A ring marks a small one.",
                    f"Small operators are drawn together; fewer than {FEW} of them are only in the table.")  # fmt: skip
    return figure


def _named(profiles: Recorded | Mapping[str, Recorded]) -> dict[str, Recorded]:
    found = dict(profiles) if isinstance(profiles, Mapping) else {"": profiles}
    for profile in found.values():
        if not hasattr(profile, "tables"):
            raise ParameterError(expected("profiles", "a Profile, or a mapping of names to profiles", profile),
                                 hint="with mx.Profiler() as prof: … gives one.")  # fmt: skip
    if not found:
        raise ParameterError("There are no profiles.", hint="give at least one.")
    return found


def _step(profile: Recorded) -> list[Block]:
    """The operators of a step in the order of their starts, without what happens inside of them."""
    columns = profile.tables
    runs = Timeline(columns).runs
    step = runs[0].median_step if len(runs) == 1 else None
    whole = columns
    if step is not None:
        columns = part_of(columns, step[1], step[2])
    events, kinds = columns.events, columns.kinds
    storage, spread, full = storage_of(whole), _spread(whole), _full(whole)
    left_out = columns.where_text(LEFT_OUT)[kinds.lane]
    inside = _inside(columns, left_out)
    starts = whole.events.start
    places = np.flatnonzero((starts >= step[1]) & (starts < step[2])) if step else np.arange(len(starts))
    found = []
    for at, kind in enumerate(events.kind.tolist()):
        moved = int(kinds.bytes[kind] + events.moved[at])
        if left_out[kind] or inside[at] or not moved:
            continue
        became = bool(columns.strings[kinds.became_dense[kind]])
        stores_all = bool(full[kind]) and storage[kind] == SPARSE
        found.append(Block(clean(columns.strings[kinds.name[kind]], 40), columns.strings[kinds.lane[kind]],
                           "dense" if stores_all else STORAGE[storage[kind]], moved, spread=bool(spread[places[at]]),
                           line=columns.strings[kinds.line[kind]] if became else "", full=stores_all))  # fmt: skip
    return found


def _full(columns: Columns) -> Array:
    """Whether each kind of event has a large array of a sparse type that stores most of its elements."""
    arrays, kinds = columns.arrays, columns.kinds
    cells = np.array([float(math.prod(shape)) for shape in arrays.shape.lists()])
    large = cells >= SMALL * cells.max(initial=0.0)
    stored = ~columns.where_text(["", "default"])[arrays.stype] & (arrays.stored >= FULL * cells) & large
    return np.array([any(place >= 0 and stored[place] for place in (*taken, *made))
                     for taken, made in zip(kinds.inputs.lists(), kinds.outputs.lists(), strict=True)], bool)  # fmt: skip


def _inside(columns: Columns, left_out: Array) -> Array:
    """Whether an event is inside of another operator, which counts its bytes; one that moves none counts nothing."""
    events = columns.events
    moved = columns.kinds.bytes[events.kind] + events.moved
    found, ends = np.zeros(len(events), bool), dict[tuple[int, int], int]()
    columns_read = events.run, events.thread, events.kind, events.start, events.duration
    for at, (run, thread, kind, start, duration) in enumerate(zip(*(one.tolist() for one in columns_read), strict=True)):
        if left_out[kind]:
            continue
        found[at] = start < ends.get((run, thread), -1)
        if not found[at] and moved[at]:
            ends[run, thread] = start + duration
    return found


def _spread(columns: Columns) -> Array:
    """Whether an event made a sparse array dense, or reads what comes from such an array."""
    events = columns.events
    made = (columns.kinds.became_dense != 0)[events.kind]
    for at, sources in enumerate(events.made_by.lists()):
        made[at] = made[at] or any(source >= 0 and made[source] for source in sources)
    return cast("Array", made)


def _pass(block: Block) -> str:
    return PASSES.get(block.lane, block.lane)


def _words(block: Block) -> str:
    """What an operator works on, for the table."""
    words = {"dense": "dense", "sparse": "stored sparse", "needed": "dense that has to be", "none": "small arrays"}[block.kind]
    if block.full:
        words = "a sparse type that stores most"
    return f"{words}: became dense here, {block.line}" if block.line else words


def _together(blocks: list[Block]) -> list[Block]:
    """The largest blocks, and what lies between two of them as one."""
    large = [block for block in blocks if block.kind in ("dense", "sparse")]
    alone = set(map(id, sorted(large, key=lambda block: -block.bytes)[:MOST]))
    found: list[Block] = []
    for block in blocks:
        if id(block) in alone or not found or id(found[-1]) in alone:
            found.append(block)
            continue
        last = found[-1]
        count = last.operators + block.operators
        kinds = [one.kind for one in (last, block)]
        kind = next(one for one in ("dense", "sparse", "needed", "none") if one in kinds)
        found[-1] = Block(f"{count} more", last.lane if last.lane == block.lane else "", kind, last.bytes + block.bytes, count,
                          last.spread or block.spread, last.line or block.line)  # fmt: skip
    return [block for block in found if block.kind != "none" or block.operators >= FEW]


def _counts(blocks: list[Block]) -> tuple[int, int, int]:
    """Operators that go through large dense arrays, those that go through any large array, and bytes of all."""
    dense = sum(block.kind == "dense" for block in blocks)
    return dense, dense + sum(block.kind == "sparse" for block in blocks), sum(block.bytes for block in blocks)


def _title(runs: Mapping[str, list[Block]]) -> str:
    name, blocks = max(runs.items(), key=lambda run: _counts(run[1])[0])
    dense, large, _ = _counts(blocks)
    if not dense:
        return "No large array is dense that does not have to be"
    source = next((block for block in blocks if block.line), None)
    if source is None:
        return f"{dense} of {large} operators work on dense arrays"
    after = sum(block.kind == "dense" and block.spread for block in blocks)
    return f"{'One line' if name else source.name} makes {after} of {large} operators dense"


def _finding(runs: Mapping[str, list[Block]]) -> str:
    said, totals = [], {}
    for name, blocks in runs.items():
        dense, large, totals[name] = _counts(blocks)
        source = next((block for block in blocks if block.line), None)
        where = f" {source.name} makes an array dense ({source.line})." if source else ""
        said.append(f"{f'“{clean(name, 80)}”: ' if name else ''}{dense} of the {large} operators that go through large arrays "
                    f"work on dense ones, and the step moves {format_bytes(totals[name])}.{where}")  # fmt: skip
    most, least = max(totals.values()), min(totals.values())
    if len(totals) > 1 and 0 < least < most:
        said.append(f"That is {format_ratio(most / least)} as many bytes.")
    return " ".join(said)


# ---- drawing


def _scale(shown: Mapping[str, list[Block]], largest: float) -> float:
    """Pixels of the side of a block of one byte."""
    most = max((block.bytes for blocks in shown.values() for block in blocks), default=0)
    return largest / math.sqrt(most) if most else 1.0


def _columns(shown: Mapping[str, list[Block]]) -> dict[str, list[int]]:
    """The column of each block: the same operator stands in the same column in every run."""
    longest = max(shown.values(), key=len, default=[])
    names = [(block.lane, block.name) for block in longest]
    found = {}
    for name, blocks in shown.items():
        places: list[int] = []
        for left, block in zip(range(len(blocks), 0, -1), blocks, strict=True):
            first = places[-1] + 1 if places else 0
            same = [at for at in range(first, len(names) - left + 1) if names[at] == (block.lane, block.name)]
            places.append(same[0] if same else first)
        found[name] = places
    return found


def _wide(figure: Figure, shown: Mapping[str, list[Block]], runs: Mapping[str, list[Block]],
          count: int | None = None) -> None:  # fmt: skip
    """Each run as a string of blocks from left to right; ``count`` of its columns, or all."""
    scale, columns = _scale(shown, LARGEST), _columns(shown)
    across = max((place + 1 for places in columns.values() for place in places), default=1)
    room = WIDTH / across
    scale = min(scale, (room - 8) / LARGEST * scale)
    for number, (name, blocks) in enumerate(shown.items()):
        tallest = max([30.0, *(math.sqrt(block.bytes) * scale for block in blocks)])
        height = HEAD + tallest + FOOT
        figure.panels.append(Panel((0.0, WIDTH), (0.0, height), height, aspect=WIDTH / height))
        _heading(figure, number, name, runs[name], WIDTH)
        middle, ends = HEAD + tallest / 2, [room * (place + 0.5) for place in columns[name]]
        seen = [at for at in range(len(blocks)) if count is None or columns[name][at] < count]
        figure.add(*_thread(number, [(ends[at], middle) for at in seen], [blocks[at] for at in seen]))
        passed = ""
        for at in seen:
            block = blocks[at]
            figure.add(*_block(number, block, ends[at], middle, scale),
                       Text(number, "ink", ends[at], HEAD + tallest + 14, fit(block.name, room - 4, 12.0), "middle", bold=True),
                       Text(number, "muted", ends[at], HEAD + tallest + 31, format_bytes(block.bytes), "middle"))  # fmt: skip
            if _pass(block) not in ("", passed):
                passed = _pass(block)
                figure.add(Text(number, "muted", ends[at] - room / 2 + 4, HEAD - 14, passed),
                           Line(number, "line", [ends[at] - room / 2] * 2, [HEAD - 22, height - 4]))  # fmt: skip


def _frame(figure: Figure, shown: Mapping[str, list[Block]], runs: Mapping[str, list[Block]], count: int) -> Figure:
    """The first columns of the figure."""
    frame = Figure(figure.title, figure.finding, table=figure.table, notes=figure.notes, legend=figure.legend)
    _wide(frame, shown, runs, count)
    frame.narrow, frame.narrow_below = _narrowed(frame, shown, runs, count), NARROW_BELOW
    return frame


def _narrowed(figure: Figure, shown: Mapping[str, list[Block]], runs: Mapping[str, list[Block]],
              count: int | None = None) -> Figure:  # fmt: skip
    """The same from top to bottom."""
    found = Figure(figure.title, figure.finding, table=figure.table, notes=figure.notes, legend=figure.legend)
    scale = _scale(shown, NARROW_LARGEST)
    for number, (name, blocks) in enumerate(shown.items()):
        sides = [max(ROW, math.sqrt(block.bytes) * scale + 8) for block in blocks]
        height = HEAD + sum(sides) + 6
        found.panels.append(Panel((0.0, NARROW), (0.0, height), height, aspect=NARROW / height))
        _heading(found, number, name, runs[name], NARROW, below=True)
        middles = [HEAD + sum(sides[:at]) + sides[at] / 2 for at in range(len(blocks))]
        left = NARROW_LARGEST / 2 + 2
        seen = range(len(blocks) if count is None else min(count, len(blocks)))
        found.add(*_thread(number, [(left, middles[at]) for at in seen], [blocks[at] for at in seen]))
        for at in seen:
            block, right = blocks[at], NARROW_LARGEST + 16
            words = f"{_pass(block)}, {format_bytes(block.bytes)}".removeprefix(", ")
            found.add(*_block(number, block, left, middles[at], scale),
                      Text(number, "ink", right, middles[at] - 8, fit(block.name, NARROW - right, 12.0), bold=True),
                      Text(number, "muted", right, middles[at] + 9, words))  # fmt: skip
    return found


def _heading(figure: Figure, number: int, name: str, blocks: list[Block], width: float, below: bool = False) -> None:
    """A run's name and its bytes, over its blocks."""
    dense, _, total = _counts(blocks)
    kind = "dense" if dense else "sparse"
    words = f"one step moves {format_bytes(total)}"
    shown = fit(clean(name, 120), width if below else width - text_width(words, 15.0) - 20, 15.0)
    figure.add(Text(number, kind, 0.0, 8.0, shown, bold=True, size=15.0),
               Text(number, kind, 0.0 if below and name else 0.0 if below else width, 28.0 if below and name else 8.0, words,
                    "start" if below else "end", bold=True, size=15.0))  # fmt: skip


def _thread(panel: int, places: list[tuple[float, float]], blocks: list[Block]) -> list[Mark]:
    """The line through the blocks: thick where a dense array is passed on."""
    found: list[Mark] = []
    passed = [at for at, block in enumerate(blocks) if block.spread and block.kind == "dense"]
    for at, (here, there) in enumerate(itertools.pairwise(places)):
        thick = bool(passed) and passed[0] <= at < passed[-1]
        ends = [here[0], there[0]], [here[1], there[1]]
        found.append(Line(panel, "dense" if thick else "muted", *ends, width=3.0 if thick else 1.0))
    return found


def _block(panel: int, block: Block, x: float, y: float, scale: float) -> list[Mark]:
    """A square of the true area, and a ring around one that is too small to see."""
    side = max(LEAST, math.sqrt(block.bytes) * scale)
    words = f"{block.name}, {_pass(block)}: {format_bytes(block.bytes)}, {_words(block)}".replace(", :", ":")
    marks: list[Mark] = [Rect(panel, block.kind, x - side / 2, x + side / 2, y - side / 2, y + side / 2, words)]
    if side < 12.0:
        kind = {"needed": "dense", "none": "muted"}.get(block.kind, block.kind)
        marks = [Dots(panel, kind, [x], [y], 8.0), Dots(panel, "paper", [x], [y], 6.2), *marks]
    return marks


entries(globals(), __all__)
