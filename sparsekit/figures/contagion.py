"""Contagion: the operators of a training step in their order, as large as the bytes that they move, dense ones in vermilion."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ..base.entry import entries
from ..base.errors import ParameterError, expected
from ..base.formatting import counted, format_bytes, format_ratio
from .arguments import mapping_of, text_of
from .figure import Figure
from .interaction import Interaction
from .marks import Dots, Line, Mark, Panel, Rect, Table, Text
from .text import clean, fit, text_width
from .timeline_data import APART, HAS_TO_BE, SMALL, STORAGE, Timeline, storage_of

if TYPE_CHECKING:
    from ..base.types import Array
    from ..profiler.columns import Columns

__all__ = ["contagion_figure"]

#: Blocks of a run that stand alone: the largest; what lies between two of them is one block.
MOST = 9
#: The share of its elements from which on an array of a sparse type is called full.
FULL = 0.5
#: Lines that are followed, and rows of the table: the largest operators.
MOST_SOURCES, MOST_ROWS = 64, 200
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
DENSE, NONE = STORAGE.index("dense"), STORAGE.index("none")


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
    sources : int
        A bit for each operator before it, or itself, that made an array dense which comes in here.
    line : str
        Where it was called, if it made an array dense.
    bit : int
        Its own place among the sources; -1 if it is none.
    full : bool
        Whether an array of a sparse type stores most of its elements.
    """

    name: str
    lane: str
    kind: str
    bytes: int
    operators: int = 1
    sources: int = 0
    line: str = ""
    bit: int = -1
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
    runs = {name: _read(columns) for name, columns in _named(profiles).items()}
    blocks = [(name, block) for name, run in runs.items() for block in run.blocks]
    least = sorted((block.bytes for _, block in blocks), reverse=True)[:MOST_ROWS][-1:] or [0]
    listed = [(name, block) for name, block in blocks if block.bytes >= least[0]][:MOST_ROWS]
    table = Table(("run", "pass", "operator", "works on", "bytes moved"), [
        (name, _pass(block), block.name, _words(block), format_bytes(block.bytes)) for name, block in listed],
        "Operators in their order" if len(listed) == len(blocks) else f"The {len(listed)} largest of {len(blocks):,} operators")
    shown = {name: _together(run.blocks) for name, run in runs.items()}
    figure = Figure(text_of("title", title) or _title(runs), _finding(runs), table=table, legend={"none": "small arrays"})
    _wide(figure, shown, runs)
    figure.narrow, figure.narrow_below = _narrowed(figure, shown, runs), NARROW_BELOW
    longest = max((len(blocks) for blocks in shown.values()), default=0)
    if longest > 1:
        frames = [_frame(figure, shown, runs, count) for count in range(1, longest)]
        figure.interaction = Interaction(frames=[*frames, figure], seconds=0.5)
    figure.notes = ("The area of a block is the bytes that an operator moves, on one scale. A ring marks a small one.",
                    f"Small operators are drawn together; fewer than {FEW} of them are only in the table.")  # fmt: skip
    return figure


def _named(profiles: object) -> dict[str, Columns]:  # object: what the user gave
    """The columns of each run, by name; the runs and processes of a merged profile are drawn one by one."""
    given = mapping_of("profiles", profiles, "profiles") if isinstance(profiles, Mapping) else {"": profiles}
    found: dict[str, Columns] = {}
    for name, profile in given.items():
        columns = getattr(profile, "tables", None)
        if columns is None:
            raise ParameterError(expected("profiles", "a Profile, or a mapping of names to profiles", profile),
                                 hint="with mx.Profiler() as prof: … gives one.")  # fmt: skip
        runs = columns.texts(columns.runs.name)
        if len(runs) < 2:
            found[str(name)] = columns
            continue
        for place, run in enumerate(runs):
            found[f"{name} {run or f'run {place + 1}'}".strip()] = columns.only(place)
    if not found:
        raise ParameterError("There are no profiles.", hint="give at least one.")
    return found


class _Run(NamedTuple):
    """What is drawn of a run: its operators, whether they are one step of several, and the lines to blame, worst first.

    ``dense`` of its operators go through large dense arrays, ``large`` through any large array; ``bytes`` are those of all.
    """

    blocks: list[Block]
    is_step: bool
    sources: list[Block]
    dense: int
    large: int
    bytes: int


def _read(columns: Columns) -> _Run:
    """The operators of a step, or of a run without steps, in the order of their starts."""
    step = Timeline(columns).runs[0].median_step if len(columns.runs) else None
    storage, full = _storage(columns)
    dense = (storage == DENSE) | full
    reached, spread = _reached(columns, dense)
    events, kinds = columns.events, columns.kinds
    chosen = np.arange(len(events))
    if step is not None:
        chosen = np.flatnonzero((events.start >= step[1]) & (events.start < step[2]))
    chosen = chosen[~columns.where_text(LEFT_OUT)[kinds.lane][events.kind[chosen]]]
    moved = (kinds.bytes[events.kind] + events.moved)[chosen]
    chosen, moved = chosen[moved > 0], moved[moved > 0]
    names = [clean(name, 40) for name in columns.texts(kinds.name)]
    lanes, lines = columns.texts(kinds.lane), columns.texts(kinds.line)
    blocks = []
    for at, kind, size in zip(chosen.tolist(), events.kind[chosen].tolist(), moved.tolist(), strict=True):
        source = spread.get(at, -1)
        color = "dense" if full[kind] else STORAGE[storage[kind]]
        blocks.append(Block(names[kind], lanes[kind], color, size, sources=reached[at] if dense[kind] else 0,
                            line=lines[kind] if source >= 0 else "", bit=source, full=bool(full[kind])))  # fmt: skip
    blamed = [block for block in blocks if block.bit >= 0]
    weight = {block.bit: sum(one.bytes for one in blocks if one.sources >> block.bit & 1) for block in blamed}
    worst = sorted(blamed, key=lambda block: -weight[block.bit])
    dense_ones, large = (sum(block.kind in kinds for block in blocks) for kinds in (("dense",), ("dense", "sparse")))
    return _Run(blocks, step is not None, worst, dense_ones, large, sum(block.bytes for block in blocks))


def _reached(columns: Columns, dense: Array) -> tuple[list[int], dict[int, int]]:
    """For each event the sources of its density as bits of a number, and the bit of each event that is a source.

    A source made a sparse array dense.  What reads a dense result of an event has the sources of that event.
    """
    events = columns.events
    is_source = ((columns.kinds.became_dense != 0) & dense)[events.kind].tolist()
    passes = dense[events.kind].tolist()
    found, bits = [0] * len(events), dict[int, int]()
    for at, sources in enumerate(events.made_by.lists()):
        for source in sources:
            if source >= 0 and passes[source]:
                found[at] |= found[source]
        if is_source[at] and not found[at] and len(bits) < MOST_SOURCES:
            bits[at] = len(bits)
            found[at] = 1 << bits[at]
    return found, bits


def _storage(columns: Columns) -> tuple[Array, Array]:
    """What the large arrays of each kind of event are, a place in ``STORAGE``, and whether one of a sparse type stores most."""
    arrays, kinds = columns.arrays, columns.kinds
    cells = np.array([float(math.prod(shape)) for shape in arrays.shape.lists()])
    large = cells >= SMALL * cells.max(initial=0.0)
    stored = ~columns.where_text(["", "default"])[arrays.stype] & (arrays.stored >= FULL * cells) & large
    stored &= ~columns.where_text(HAS_TO_BE)[arrays.role]
    both = [[place for place in (*taken, *made) if place >= 0]
            for taken, made in zip(kinds.inputs.lists(), kinds.outputs.lists(), strict=True)]  # fmt: skip
    found = storage_of(columns)
    found[[not large[places].any() for places in both]] = NONE
    return found, np.array([bool(stored[places].any()) for places in both], bool)


def _pass(block: Block) -> str:
    return PASSES.get(block.lane, block.lane)


def _words(block: Block) -> str:
    """What an operator works on, for the table."""
    words = {"dense": "dense", "sparse": "stored sparse", "needed": "dense that has to be", "none": "small arrays"}[block.kind]
    if block.full:
        words = "a sparse type that stores most"
    return f"{words}: became dense here, {block.line}".rstrip(", ") if block.bit >= 0 else words


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
                          last.sources | block.sources, last.line or block.line, max(last.bit, block.bit))  # fmt: skip
    return [block for block in found if block.kind != "none" or block.operators >= FEW]


def _made(run: _Run, source: Block) -> int:
    """Operators that are dense by one line, that of the line among them."""
    return sum(block.sources >> source.bit & 1 for block in run.blocks if block.kind == "dense")


def _title(runs: Mapping[str, _Run]) -> str:
    name, run = max(runs.items(), key=lambda one: one[1].dense)
    if not run.dense:
        return "No large array is dense that does not have to be"
    of = f"“{clean(name, 80)}”: " if len(runs) > 1 else ""
    if not run.sources:
        return f"{of}{run.dense} of {run.large} operators work on dense arrays"
    return f"{of}{'one line' if of else run.sources[0].name} makes {_made(run, run.sources[0])} of {run.large} operators dense"


def _finding(runs: Mapping[str, _Run]) -> str:
    said = []
    for name, run in runs.items():
        sources = [f"{source.name}{f' ({source.line})' if source.line else ''} makes "
                   f"{counted(_made(run, source), 'operator')} dense" for source in run.sources[:3]]  # fmt: skip
        more = f", and {len(run.sources) - 3} more lines do so" if len(run.sources) > 3 else ""
        where = f" {'; '.join(sources)}{more}." if sources else ""
        of = f"“{clean(name, 80)}”: " if len(runs) > 1 else ""
        said.append(f"{of}{run.dense} of the {counted(run.large, 'operator')} that go through large arrays work on dense ones, "
                    f"and {'one step' if run.is_step else 'the run'} moves {format_bytes(run.bytes)}.{where}")  # fmt: skip
    most, least = (pick(run.bytes for run in runs.values()) for pick in (max, min))
    if len(runs) > 1 and 0 < least < most:
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


def _wide(figure: Figure, shown: Mapping[str, list[Block]], runs: Mapping[str, _Run],
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


def _frame(figure: Figure, shown: Mapping[str, list[Block]], runs: Mapping[str, _Run], count: int) -> Figure:
    """The first columns of the figure."""
    frame = Figure(figure.title, figure.finding, table=figure.table, notes=figure.notes, legend=figure.legend)
    _wide(frame, shown, runs, count)
    frame.narrow, frame.narrow_below = _narrowed(frame, shown, runs, count), NARROW_BELOW
    return frame


def _narrowed(figure: Figure, shown: Mapping[str, list[Block]], runs: Mapping[str, _Run],
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


def _heading(figure: Figure, number: int, name: str, run: _Run, width: float, below: bool = False) -> None:
    """A run's name and its bytes, over its blocks."""
    kind = "dense" if run.dense else "sparse"
    words = f"{'one step' if run.is_step else 'the run'} moves {format_bytes(run.bytes)}"
    room = width if below else width - 1.15 * text_width(words, 15.0) - 20
    place = (0.0, 28.0 if name else 8.0, words, "start") if below else (width, 8.0, words, "end")
    figure.add(Text(number, kind, 0.0, 8.0, fit(clean(name, 120), room / 1.15, 15.0), bold=True, size=15.0),
               Text(number, kind, *place, bold=True, size=15.0))  # fmt: skip


def _thread(panel: int, places: list[tuple[float, float]], blocks: list[Block]) -> list[Mark]:
    """The line through the blocks: thick from an operator that made an array dense to the last that is dense by it."""
    thick: set[int] = set()
    for bit in {block.bit for block in blocks if block.bit >= 0}:
        dense = [at for at, block in enumerate(blocks) if block.kind == "dense" and block.sources >> bit & 1]
        thick.update(range(dense[0], dense[-1]) if dense else ())
    found: list[Mark] = []
    for at, (here, there) in enumerate(itertools.pairwise(places)):
        ends = [here[0], there[0]], [here[1], there[1]]
        found.append(Line(panel, "dense" if at in thick else "muted", *ends, width=3.0 if at in thick else 1.0))
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
