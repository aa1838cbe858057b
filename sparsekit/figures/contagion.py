"""Contagion: the operators of a training step in their order, as large as the bytes that they move, dense ones in vermilion."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ..base import checks
from ..base.entry import entries
from ..base.errors import ParameterError, expected
from ..base.formatting import counted, format_bytes, format_ratio, format_share
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
DENSE, SPARSE, NONE = (STORAGE.index(kind) for kind in ("dense", "sparse", "none"))


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
    every = np.concatenate([run.bytes for run in runs.values()])
    listed = np.sort(np.argsort(-every, kind="stable")[:MOST_ROWS])
    rows, before = [], 0
    for name, run in runs.items():
        own = listed[(listed >= before) & (listed < before + len(run.bytes))] - before
        blocks = [run.block(at) for at in own.tolist()]
        rows += [(name, _pass(block), block.name, _words(block), format_bytes(block.bytes)) for block in blocks]
        before += len(run.bytes)
    some = f"The {len(listed)} largest of {len(every):,} operators"
    caption = "Operators in their order" if len(listed) == len(every) else some
    table = Table(("run", "pass", "operator", "works on", "bytes moved"), rows, caption)
    shown = {name: _together(run) for name, run in runs.items()}
    words, notes = (checks.text("title", title) or _title(runs), _finding(runs)), _notes(runs, shown)

    def drawn(count: int) -> Figure:
        """The first columns of the figure."""
        wide, narrow = (Figure(*words, table=table, notes=notes, legend={"none": "small arrays"}) for _ in range(2))
        for figure, form in ((wide, ACROSS), (narrow, DOWN)):
            _draw(figure, shown, runs, form, count)
        wide.narrow, wide.narrow_below = narrow, NARROW_BELOW
        return wide

    longest = max((len(blocks) for blocks in shown.values()), default=0)
    *frames, figure = [drawn(count) for count in range(1, max(longest, 1) + 1)]
    if frames:
        figure.interaction = Interaction(frames=[*frames, figure], seconds=0.5)
    return figure


def _notes(runs: Mapping[str, _Run], shown: Mapping[str, list[Block]]) -> tuple[str, ...]:
    """What an area is, what is left out, and what is called large."""
    together = sum(len(run.kind) for run in runs.values()) > sum(map(len, shown.values()))
    sizes = sorted({run.large for run in runs.values()})
    here = " or ".join(f"{size:,}" for size in sizes)
    large = f"A large array has at least {format_share(SMALL)} of the elements of the largest one, here {here}."
    return ("The area of a block is the bytes that an operator moves, on one scale. A ring marks a small one.",
            *([f"Small operators are drawn together; fewer than {FEW} of them are only in the table."] if together else []),
            large)  # fmt: skip


def _named(profiles: object) -> dict[str, Columns]:  # object: what the user gave
    """The columns of each run, by name; the runs and processes of a merged profile are drawn one by one."""
    by_name = checks.mapping_of("profiles", profiles, "profiles") if isinstance(profiles, Mapping) else {"": profiles}
    columns_of: dict[str, Columns] = {}
    for name, profile in by_name.items():
        columns = getattr(profile, "tables", None)
        if columns is None:
            raise ParameterError(expected("profiles", "a Profile, or a mapping of names to profiles", profile),
                                 hint="with mx.Profiler() as prof: … gives one.")  # fmt: skip
        runs = columns.texts(columns.runs.name)
        if len(runs) < 2:
            columns_of[str(name)] = columns
            continue
        for place, run in enumerate(runs):
            columns_of[f"{name} {run or f'run {place + 1}'}".strip()] = columns.only(place)
    if not columns_of:
        raise ParameterError("There are no profiles.", hint="give at least one.")
    return columns_of


class _Run(NamedTuple):
    """What is drawn of a run: its operators as arrays, in their order, and whether they are one step of several.

    ``kind`` is a place in ``STORAGE``, ``sources`` has a bit for each operator before that made an array dense which comes in.
    ``large`` is the least number of elements of a large array, and ``worst`` are the lines to blame, worst first.
    """

    columns: Columns
    names: list[str]
    event_kind: Array
    kind: Array
    bytes: Array
    sources: Array
    bits: Array
    full: Array
    is_step: bool
    large: int
    worst: list[Block]

    def block(self, at: int) -> Block:
        """One operator."""
        kind, bit, columns = int(self.event_kind[at]), int(self.bits[at]), self.columns
        lane, line = columns.texts(np.array([columns.kinds.lane[kind], columns.kinds.line[kind]]))
        return Block(self.names[kind], lane, STORAGE[self.kind[at]], int(self.bytes[at]), sources=int(self.sources[at]),
                     line=line if bit >= 0 else "", bit=bit, full=bool(self.full[at]))  # fmt: skip

    def through(self, bit: int) -> Array:
        """Whether each operator has this source."""
        reached: Array = self.sources & np.uint64(1 << bit) != 0
        return reached

    @property
    def dense(self) -> int:
        """Operators that go through large dense arrays."""
        return int((self.kind == DENSE).sum())

    @property
    def through_large(self) -> int:
        """Operators that go through any large array that may be sparse."""
        return int(((self.kind == DENSE) | (self.kind == SPARSE)).sum())

    def dense_by(self, source: Block) -> int:
        """Operators that are dense by one line, that of the line among them."""
        return int((self.through(source.bit) & (self.kind == DENSE)).sum())


def _read(columns: Columns) -> _Run:
    """The operators of a step, or of a run without steps, in the order of their starts."""
    step = Timeline(columns).runs[0].median_step if len(columns.runs) else None
    storage, full, large = _storage(columns)
    dense = (storage == DENSE) | full
    reached, bits = _reached(columns, dense)
    events, kinds = columns.events, columns.kinds
    moved = kinds.bytes[events.kind] + events.moved
    chosen = (moved > 0) & ~columns.where_text(LEFT_OUT)[kinds.lane][events.kind]
    if step is not None:
        chosen &= (events.start >= step[1]) & (events.start < step[2])
    kind = events.kind[chosen]
    sources = np.where(dense[kind], reached[chosen], np.uint64(0))
    names = [clean(name, 40) for name in columns.texts(kinds.name)]
    run = _Run(columns, names, kind, np.where(full[kind], DENSE, storage[kind]), moved[chosen], sources, bits[chosen], full[kind],
               step is not None, large, [])  # fmt: skip
    blamed = [run.block(at) for at in np.flatnonzero(run.bits >= 0).tolist()]
    weight = {block.bit: int(run.bytes[run.through(block.bit)].sum()) for block in blamed}
    return run._replace(worst=sorted(blamed, key=lambda block: -weight[block.bit]))


def _reached(columns: Columns, dense: Array) -> tuple[Array, Array]:
    """For each event the sources of its density as bits of a number, and its own bit if it is a source, or -1.

    A source made a sparse array dense.  What reads a dense result of an event has the sources of that event.
    """
    events = columns.events
    passes = dense[events.kind]
    is_source = (columns.kinds.became_dense != 0)[events.kind].tolist()
    reached, bits, count = [0] * len(events), np.full(len(events), -1), 0
    through = np.flatnonzero(passes)
    for at, sources in zip(through.tolist(), events.made_by.taken(through).lists(), strict=True):
        for source in sources:
            if source >= 0:
                reached[at] |= reached[source]
        if is_source[at] and not reached[at] and count < MOST_SOURCES:
            bits[at], reached[at] = count, 1 << count
            count += 1
    return np.array(reached, np.uint64), bits


def _storage(columns: Columns) -> tuple[Array, Array, int]:
    """What the large arrays of each kind of event are, whether one of a sparse type stores most, and elements of a large one."""
    arrays, kinds = columns.arrays, columns.kinds
    cells = np.array([float(math.prod(shape)) for shape in arrays.shape.lists()])
    least = SMALL * cells.max(initial=0.0)
    large = cells >= least
    stored = ~columns.where_text(["", "default"])[arrays.stype] & (arrays.stored >= FULL * cells) & large
    stored &= ~columns.where_text(HAS_TO_BE)[arrays.role]
    both = [[place for place in (*inputs, *outputs) if place >= 0]
            for inputs, outputs in zip(kinds.inputs.lists(), kinds.outputs.lists(), strict=True)]  # fmt: skip
    storage = storage_of(columns)
    storage[[not large[places].any() for places in both]] = NONE
    return storage, np.array([bool(stored[places].any()) for places in both], bool), math.ceil(least)


def _pass(block: Block) -> str:
    return PASSES.get(block.lane, block.lane)


def _words(block: Block) -> str:
    """What an operator works on, for the table."""
    words = {"dense": "dense", "sparse": "stored sparse", "needed": "dense that has to be", "none": "small arrays"}[block.kind]
    if block.full:
        words = "a sparse type that stores most"
    return f"{words}: became dense here, {block.line}".rstrip(", ") if block.bit >= 0 else words


def _together(run: _Run) -> list[Block]:
    """The largest blocks, and what lies between two of them as one."""
    large = np.flatnonzero((run.kind == DENSE) | (run.kind == SPARSE))
    alone = np.sort(large[np.argsort(-run.bytes[large], kind="stable")[:MOST]]).tolist()
    blocks: list[Block] = []
    for before, after in itertools.pairwise([-1, *alone, len(run.kind)]):
        blocks += _joined(run, before + 1, after)
        if after < len(run.kind):
            blocks.append(run.block(after))
    return blocks


def _joined(run: _Run, begin: int, end: int) -> list[Block]:
    """Some operators in a row as one block; none if they are few and on small arrays alone."""
    part, kinds = slice(begin, end), set(run.kind[begin:end].tolist())
    if not kinds or (kinds == {NONE} and end - begin < FEW):
        return []
    if end - begin == 1:
        return [run.block(begin)]
    lanes = run.columns.kinds.lane[run.event_kind[part]]
    lane = run.columns.texts(lanes[:1])[0] if (lanes == lanes[0]).all() else ""
    kind = next(storage for storage in ("dense", "sparse", "needed", "none") if STORAGE.index(storage) in kinds)
    blamed = [run.block(begin + at) for at in np.flatnonzero(run.bits[part] >= 0).tolist()]
    return [Block(f"{end - begin} more", lane, kind, int(run.bytes[part].sum()), end - begin,
                  int(np.bitwise_or.reduce(run.sources[part])), next((block.line for block in blamed if block.line), ""),
                  max((block.bit for block in blamed), default=-1))]  # fmt: skip


def _title(runs: Mapping[str, _Run]) -> str:
    name, run = max(runs.items(), key=lambda item: item[1].dense)
    if not run.dense:
        return "No large array is dense that does not have to be"
    of = f"“{clean(name, 80)}”: " if len(runs) > 1 else ""
    worst = run.worst
    if not worst:
        return f"{of}{run.dense:,} of {run.through_large:,} operators work on dense arrays"
    return f"{of}{'one line' if of else worst[0].name} makes {run.dense_by(worst[0]):,} of {run.through_large:,} operators dense"


def _finding(runs: Mapping[str, _Run]) -> str:
    said = []
    for name, run in runs.items():
        worst, moved = run.worst, format_bytes(int(run.bytes.sum()))
        sources = [f"{source.name}{f' ({source.line})' if source.line else ''} makes "
                   f"{counted(run.dense_by(source), 'operator')} dense" for source in worst[:3]]  # fmt: skip
        others = f", and {len(worst) - 3} more lines do so" if len(worst) > 3 else ""
        where = f" {'; '.join(sources)}{others}." if sources else ""
        of = f"“{clean(name, 80)}”: " if len(runs) > 1 else ""
        large, span = counted(run.through_large, "operator"), "one step" if run.is_step else "the run"
        said.append(f"{of}{run.dense:,} of the {large} that go through large arrays work on dense ones, "
                    f"and {span} moves {moved}.{where}")  # fmt: skip
    most, least = (pick(int(run.bytes.sum()) for run in runs.values()) for pick in (max, min))
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
    columns = {}
    for name, blocks in shown.items():
        places: list[int] = []
        for left, block in zip(range(len(blocks), 0, -1), blocks, strict=True):
            first = places[-1] + 1 if places else 0
            same = [at for at in range(first, len(names) - left + 1) if names[at] == (block.lane, block.name)]
            places.append(same[0] if same else first)
        columns[name] = places
    return columns


class _Form(NamedTuple):
    """How blocks are placed: from left to right, or from top to bottom; pixels of the width and of the largest block."""

    down: bool
    width: float
    largest: float


ACROSS, DOWN = _Form(False, WIDTH, LARGEST), _Form(True, NARROW, NARROW_LARGEST)


def _draw(figure: Figure, shown: Mapping[str, list[Block]], runs: Mapping[str, _Run], form: _Form, count: int) -> None:
    """Each run as a string of blocks: its first columns."""
    scale, columns = _scale(shown, form.largest), _columns(shown)
    room = form.width / max((place + 1 for places in columns.values() for place in places), default=1)
    if not form.down:
        scale = min(scale, (room - 8) / form.largest * scale)
    for number, (name, blocks) in enumerate(shown.items()):
        sides = [math.sqrt(block.bytes) * scale for block in blocks]
        if form.down:
            steps = [max(ROW, side + 8) for side in sides]
            places = [(form.largest / 2 + 2, HEAD + sum(steps[:at]) + step / 2) for at, step in enumerate(steps)]
            height = HEAD + sum(steps) + 6
            seen = [at for at in range(len(blocks)) if at < count]
        else:
            tallest = max([30.0, *sides])
            places = [(room * (place + 0.5), HEAD + tallest / 2) for place in columns[name]]
            height = HEAD + tallest + FOOT
            seen = [at for at in range(len(blocks)) if columns[name][at] < count]
        figure.panels.append(Panel((0.0, form.width), (0.0, height), height, aspect=form.width / height))
        _heading(figure, number, name, runs[name], form)
        figure.add(*_thread(number, [places[at] for at in seen], [blocks[at] for at in seen]))
        passed = ""
        for at in seen:
            figure.add(*_block(number, blocks[at], *places[at], scale))
            if form.down:
                _beside(figure, number, blocks[at], form.largest + 16, places[at][1])
                continue
            _below(figure, number, blocks[at], places[at][0], height, room)
            if _pass(blocks[at]) not in ("", passed):
                passed, left = _pass(blocks[at]), places[at][0] - room / 2
                figure.add(Text(number, "muted", left + 4, HEAD - 14, passed),
                           Line(number, "line", [left] * 2, [HEAD - 22, height - 4]))  # fmt: skip


def _below(figure: Figure, panel: int, block: Block, middle: float, height: float, room: float) -> None:
    """The words of a block in a line from left to right."""
    figure.add(Text(panel, "ink", middle, height - FOOT + 14, fit(block.name, room - 4, 12.0), "middle", bold=True),
               Text(panel, "muted", middle, height - FOOT + 31, format_bytes(block.bytes), "middle"))  # fmt: skip


def _beside(figure: Figure, panel: int, block: Block, right: float, middle: float) -> None:
    """The words of a block in a line from top to bottom."""
    words = f"{_pass(block)}, {format_bytes(block.bytes)}".removeprefix(", ")
    figure.add(Text(panel, "ink", right, middle - 8, fit(block.name, NARROW - right, 12.0), bold=True),
               Text(panel, "muted", right, middle + 9, words))  # fmt: skip


def _heading(figure: Figure, number: int, name: str, run: _Run, form: _Form) -> None:
    """A run's name and its bytes, over its blocks."""
    kind = "dense" if run.dense else "sparse"
    words = f"{'one step' if run.is_step else 'the run'} moves {format_bytes(int(run.bytes.sum()))}"
    room = form.width if form.down else form.width - 1.15 * text_width(words, 15.0) - 20
    place = (0.0, 28.0 if name else 8.0, words, "start") if form.down else (form.width, 8.0, words, "end")
    figure.add(Text(number, kind, 0.0, 8.0, fit(clean(name, 120), room / 1.15, 15.0), bold=True, size=15.0),
               Text(number, kind, *place, bold=True, size=15.0))  # fmt: skip


def _thread(panel: int, places: list[tuple[float, float]], blocks: list[Block]) -> list[Mark]:
    """The line through the blocks: thick from an operator that made an array dense to the last that is dense by it."""
    thick: set[int] = set()
    for bit in {block.bit for block in blocks if block.bit >= 0}:
        dense = [at for at, block in enumerate(blocks) if block.kind == "dense" and block.sources >> bit & 1]
        thick.update(range(dense[0], dense[-1]) if dense else ())
    marks: list[Mark] = []
    for at, (here, there) in enumerate(itertools.pairwise(places)):
        ends = [here[0], there[0]], [here[1], there[1]]
        marks.append(Line(panel, "dense" if at in thick else "muted", *ends, width=3.0 if at in thick else 1.0))
    return marks


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
