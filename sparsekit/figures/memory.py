"""Memory over time, stacked by what it is, and what was alive at the peak; peaks of several runs on one scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..base.errors import SparsekitError
from ..base.formatting import format_bytes, format_duration, format_ratio, format_shape, format_share, number
from .drawing import add_rows
from .figure import Figure
from .interaction import Choice, Interaction, Switch
from .marks import Area, Axis, Line, Panel, Rect, Table, Text
from .text import clean

if TYPE_CHECKING:
    from ..base.memory_model import Part
    from ..base.types import Array
    from ..profiler.columns import Columns

#: Roles from the bottom of the picture to its top; others follow.
ROLES = ("parameter", "optimizer state", "gradient", "activation", "input", "workspace")
#: Roles of arrays that have to be dense if they are.
NEEDED = ("parameter", "optimizer state")
#: Arrays of the peak that have an area and a bar of their own, and that the table lists.
MOST_BARS, MOST_ROWS = 10, 40
#: Places along the time of which each is drawn at its highest, and steps up to which each is marked.
PLACES, MOST_STEPS = 160, 40
#: The share of the peak below which an array is small.
SMALL = 0.01
#: Pixels; those of a line of text are what an area needs to be named.
HEIGHT, ROW, LETTERS = 220.0, 26.0, 17.0
COLUMNS = ("array", "role", "layer", "storage", "shape", "component", "bytes", "share", "made by")
RECORDED = "as recorded"
#: Batches that a reader may ask for, as multiples of the recorded one.
BATCHES = {RECORDED: 1.0, "half": 0.5, "twice": 2.0, "4 times": 4.0, "16 times": 16.0}
INPUTS = (
    Choice("index_dtype", "indices", (RECORDED, "int32", "int64"), RECORDED),
    Choice("value_dtype", "values", (RECORDED, "float16", "float32", "float64"), RECORDED),
    Choice("gradient", "gradients", (RECORDED, "row_sparse", "default"), RECORDED),
    Choice("batch", "batch", tuple(BATCHES), RECORDED),
    Switch("lazy_state", "optimizer state only for touched rows"),
)


class Changed(Protocol):
    """The answer to a what-if: the bytes at the peak before, a sentence, and what each holding would consist of."""

    before: int

    @property
    def parts(self) -> Sequence[Sequence[Part]]:
        """What each row of the table of holdings would consist of."""

    def summary(self) -> str:
        """The answer in a sentence."""


class _Piece(NamedTuple):
    """A component of the arrays of one holding; ``group`` is the number of its area."""

    holding: int
    owner: str
    role: str
    stype: str
    component: str
    bytes: int

    @property
    def array(self) -> tuple[str, str, str]:
        """What the components of one array have in common."""
        return self.role, self.owner, self.stype


class _Group(NamedTuple):
    """What is drawn as one area: an array, or all others of a role and a storage type."""

    role: str
    stype: str
    owner: str | None
    kind: str
    bytes: int

    @property
    def words(self) -> str:
        """Its name."""
        return f"{_named(self.owner)} · {self.role}" if self.owner is not None else f"other {self.role}"

    @property
    def told(self) -> str:
        """The same, and how it is stored."""
        return f"{self.words}, {_storage(self.stype)}"


class _Held:
    """What one run held, with the sizes that were recorded or those of a change."""

    def __init__(self, columns: Columns, run: int, parts: Sequence[Sequence[Part]] | None) -> None:
        self.columns, self.run = columns, run
        mine = columns.changes.run == run
        self.time, self.holding, self.count = (getattr(columns.changes, name)[mine] for name in ("time", "holding", "count"))
        self.pieces = _pieces(columns, parts)
        count = len(columns.holdings)
        self.sizes = np.zeros(count, np.int64)
        for piece in self.pieces:
            self.sizes[piece.holding] += piece.bytes
        self.total = np.cumsum(self.count * self.sizes[self.holding])
        self.top = int(np.argmax(self.total)) if len(self.total) else 0
        self.peak = max(int(self.total[self.top]), 0) if len(self.total) else 0
        self.at = int(self.time[self.top]) if len(self.time) else 0
        self.alive = np.zeros(count, np.int64)
        np.add.at(self.alive, self.holding[: self.top + 1], self.count[: self.top + 1])
        self.end = max(int(columns.runs.wall[run]), int(self.time[-1]) if len(self.time) else 0, 1)
        self.groups, self.group_of = self._grouped()

    def bytes_of(self, piece: _Piece) -> int:
        """Bytes of a piece at the peak, of all its arrays."""
        return piece.bytes * int(self.alive[piece.holding])

    def _grouped(self) -> tuple[list[_Group], list[int]]:
        """The areas from the bottom to the top, and for each piece the number of its area."""
        sums: dict[tuple[str, str, str], int] = {}
        for piece in self.pieces:
            if self.columns.holdings.dtype[piece.holding]:  # traces of other profilers only say how much there was
                sums[piece.array] = sums.get(piece.array, 0) + self.bytes_of(piece)
        own = set(sorted((array for array in sums if sums[array] > 0), key=lambda array: -sums[array])[:MOST_BARS])
        sizes: dict[tuple[str, str | None, str], int] = {}
        for piece in self.pieces:
            role, owner, stype = piece.array
            key = (role, owner if piece.array in own else None, stype)
            sizes[key] = sizes.get(key, 0) + self.bytes_of(piece)
        groups = [_Group(role, stype, owner, _kind(role, stype, size < SMALL * self.peak), size)
                  for (role, owner, stype), size in sizes.items()]
        groups.sort(key=lambda group: (_place(group.role), group.role, group.owner is None, group.kind, -group.bytes))
        places = {(group.role, group.owner, group.stype): number for number, group in enumerate(groups)}
        return groups, [places[piece.role, piece.owner if piece.array in own else None, piece.stype] for piece in self.pieces]

    def levels(self, window: tuple[float, float]) -> tuple[Array, Array]:
        """Times at which the picture has a step, one more than levels; and the bytes of each area from each on.

        Of the changes in each of ``PLACES`` stretches, the picture shows the state with the most bytes.
        """
        first, last = window
        begin, end = np.searchsorted(self.time, [first, last], side="right").tolist()
        tops = [begin - 1] if begin else []
        if end > begin:
            column = ((self.time[begin:end] - first) * (PLACES / max(last - first, 1))).astype(np.int64)
            edges = [*(np.flatnonzero(np.diff(column)) + 1).tolist(), end - begin]
            totals, start = self.total[begin:end], 0
            for edge in edges:
                tops.append(begin + start + int(np.argmax(totals[start:edge])))
                start = edge
            tops.append(end - 1)
        changes = np.unique(np.array(tops, np.int64))
        times = np.append(np.maximum(self.time[changes], first), last).astype(float)
        if not len(changes):
            return np.array([first, last], float), np.zeros((1, len(self.groups)))
        place = np.minimum(np.searchsorted(changes, np.arange(int(changes[-1]) + 1)), len(changes) - 1)
        sums = np.zeros(len(changes) * len(self.groups))
        for group, size in self._ranks():
            holding = self.holding[: len(place)]
            kept = size[holding] > 0
            sums += np.bincount((place * len(self.groups) + group[holding])[kept],
                                (self.count[: len(place)] * size[holding])[kept], len(sums))  # fmt: skip
        return times, np.cumsum(sums.reshape(len(changes), -1), axis=0)

    def _ranks(self) -> Iterable[tuple[Array, Array]]:
        """By holding, the area and the bytes of its first piece, of its second, and so on."""
        seen: dict[int, int] = {}
        ranks: list[tuple[Array, Array]] = []
        for piece, group in zip(self.pieces, self.group_of, strict=True):
            rank = seen[piece.holding] = seen.get(piece.holding, -1) + 1
            if rank == len(ranks):
                ranks.append((np.zeros(len(self.sizes), np.int64), np.zeros(len(self.sizes), np.int64)))
            ranks[rank][0][piece.holding], ranks[rank][1][piece.holding] = group, piece.bytes
        return ranks

    def listed(self, group: int = -1) -> list[_Piece]:
        """The pieces that were alive at the peak, of one area or of all, largest first."""
        pieces = [piece for piece, place in zip(self.pieces, self.group_of, strict=True)
                  if self.bytes_of(piece) > 0 and group in (-1, place)]  # fmt: skip
        return sorted(pieces, key=lambda piece: (-self.bytes_of(piece), piece.role, piece.owner, piece.component))

    def rows(self, pieces: Sequence[_Piece]) -> list[tuple[str, ...]]:
        """What the table says of some pieces."""
        holdings, makers = self.columns.holdings, self._makers({piece.holding for piece in pieces})
        rows: list[tuple[str, ...]] = []
        for piece in pieces:
            several = int(self.alive[piece.holding])
            size = self.bytes_of(piece)
            rows.append((_named(piece.owner), piece.role, self.columns.strings[holdings.layer[piece.holding]], piece.stype,
                         format_shape(holdings.shape.of(piece.holding).tolist()),
                         f"{several} × {piece.component}" if several > 1 else piece.component, format_bytes(size),
                         format_share(size, self.peak), makers.get(piece.holding, "")))  # fmt: skip
        return rows

    def _makers(self, wanted: set[int]) -> dict[int, str]:
        """Operator and line that made the arrays of some holdings: the last ones before the peak."""
        here = slice(0, self.top + 1)
        came = np.flatnonzero((self.count[here] > 0) & np.isin(self.holding[here], list(wanted)))
        born = dict(zip(self.holding[came].tolist(), self.time[came].tolist(), strict=True))
        events, kinds, strings = self.columns.events, self.columns.kinds, self.columns.strings
        ends = events.start + events.duration
        places = np.flatnonzero(np.isin(ends, list(born.values())) & (events.run == self.run))
        by_end = dict(zip(ends[places].tolist(), events.kind[places].tolist(), strict=True))
        makers = {}
        for holding, time in born.items():
            kind = by_end.get(time)
            words = "" if kind is None else ", ".join(filter(None, (strings[kinds.name[kind]], strings[kinds.line[kind]])))
            makers[holding] = words or ("between operators" if time else "there before")
        return makers

    def steps(self, window: tuple[float, float]) -> list[tuple[float, str]]:
        """Where steps begin, if they are few."""
        events, kinds = self.columns.events, self.columns.kinds
        named = self.columns.where_text(["step"])[kinds.name] if len(kinds) else np.zeros(0, bool)
        inside = (events.run == self.run) & (events.start >= window[0]) & (events.start <= window[1])
        starts = events.start[np.flatnonzero(named[events.kind] & inside)].tolist() if len(events) else []
        return [(float(start), f"step {place + 1} begins") for place, start in enumerate(starts) if len(starts) <= MOST_STEPS]


def _pieces(columns: Columns, parts: Sequence[Sequence[Part]] | None) -> list[_Piece]:
    holdings = columns.holdings
    texts = [columns.texts(getattr(holdings, name)) for name in ("owner", "role", "stype", "component")]
    recorded = zip(*texts, holdings.bytes.tolist(), strict=True)
    if parts is None:
        return [_Piece(place, owner, role or "other", stype, component, size)
                for place, (owner, role, stype, component, size) in enumerate(recorded)]
    return [_Piece(place, owner, part.role, part.stype, part.component, part.bytes)
            for place, ((owner, *_), holding_parts) in enumerate(zip(recorded, parts, strict=True)) for part in holding_parts]


def _place(role: str) -> int:
    return ROLES.index(role) if role in ROLES else len(ROLES)


def _kind(role: str, stype: str, small: bool) -> str:
    """The colour of an array."""
    if stype == "":
        return "none"
    if stype == "default" and role in NEEDED:
        return "needed"
    return f"{'pale-' if small else ''}{'dense' if stype == 'default' else 'sparse'}"


def _storage(stype: str) -> str:
    return {"default": "dense", "": "storage not known"}.get(stype, stype)


def _named(owner: str | None) -> str:
    return clean(owner, 48) or "(unnamed)"


def memory_figure(columns: Columns, memory: Mapping[str, Any], run: int = 0, title: str = "", top: float = 0.0,
                  ask: Callable[[dict[str, Any]], Changed] | None = None) -> Figure:  # fmt: skip
    """Draw memory over time, stacked by what it is, above the arrays that were alive at the peak.

    Parameters
    ----------
    columns : Columns
        The tables of a profile.
    memory : dict
        The memory of this run, as plain data: what the sentence says of the process, of compiled steps and of temporary arrays.
    run : int
        Row of the table of runs.
    title : str, optional
    top : float
        Least number of bytes at the top of the picture, to give pictures of several runs one scale.
    ask : callable, optional
        Computes memory with changes, from their names and values: those of ``Profile.what_if``, and ``batch``, a factor.

    Returns
    -------
    Figure
        Its live view zooms, tells which operator made an array, and computes other types, gradients and batches.
    """
    title = str(title) or "Where the memory goes"

    def changed(values: Mapping[str, Any]) -> Changed | None:
        asked = {name: value for name, value in values.items() if value not in (RECORDED, False)}
        if "batch" in asked:
            asked["batch"] = BATCHES[asked["batch"]]
        return ask(asked) if ask and asked else None

    def draw(window: tuple[float, float] | None, values: Mapping[str, Any]) -> Figure:
        try:
            change, why = changed(values), ""
        except SparsekitError as error:  # whatever cannot be computed is said where the answer would stand
            change, why = None, f"This cannot be computed: {error} "
        held = _Held(columns, run, change.parts if change else None)
        return _drawn(held, memory, title, max(top, change.before if change else 0), window, change, why)

    def select(key: str, values: Mapping[str, Any]) -> list[Any] | None:
        change = changed(values)
        return _details(_Held(columns, run, change.parts if change else None), key)

    figure = draw(None, {})
    sparse = columns.where_text(["row_sparse"])[columns.holdings.stype].any()
    other = ("dense gradients", {"gradient": "default"}) if sparse else ("row-sparse gradients", {"gradient": "row_sparse"})
    answers = {RECORDED: {}, "int32 indices": {"index_dtype": "int32"}, other[0]: other[1], "twice the batch": {"batch": "twice"}}
    figure.interaction = Interaction(draw, select, INPUTS if ask else (), answers if ask else {})
    return figure


def _drawn(held: _Held, memory: Mapping[str, Any], title: str, top: float, window: tuple[float, float] | None,
           change: Changed | None, why: str) -> Figure:  # fmt: skip
    listed = held.listed()
    rows = held.rows(listed[:MOST_ROWS])
    if len(listed) > MOST_ROWS:
        others = sum(held.bytes_of(piece) for piece in listed[MOST_ROWS:])
        rows.append((f"{len(listed) - MOST_ROWS:,} others", "", "", "", "", "", format_bytes(others),
                     format_share(others, held.peak), ""))  # fmt: skip
    said = f"{change.summary()} " if change else why
    figure = Figure(title, f"{said}{_finding(held, memory, listed)}", table=Table(COLUMNS, rows, "Alive at the peak"))
    if held.peak <= 0:
        return figure
    shown = window or (0.0, float(held.end))
    highest = max(float(held.peak), top) * 1.1
    figure.panels = [Panel(shown, (highest, 0.0), HEIGHT, zooms=True)]
    figure.add(Axis(0, "left", "bytes"), Axis(0, "bottom", "time"))
    _areas(figure, held, shown)
    figure.add(*(Line(0, "muted", [at, at], [0.0, highest], words, width=0.6) for at, words in held.steps(shown)))
    if change:
        figure.add(Line(0, "ink", shown, [change.before] * 2, f"{RECORDED}: {format_bytes(change.before)} at the peak", dash=1))
    _peak(figure, held, shown)
    if any(group.owner is not None for group in held.groups):
        _bars(figure, held, listed)
    figure.notes = _notes(memory)
    return figure


def _areas(figure: Figure, held: _Held, window: tuple[float, float]) -> None:
    """What there is at each time, from what lasts at the bottom to what passes at the top."""
    times, levels = held.levels(window)
    low = np.zeros(len(times) - 1)
    for place, group in enumerate(held.groups):
        level = levels[:, place]
        most = float(level.max(initial=0.0))
        if most <= 0:
            continue
        words = f"{group.told}: {format_bytes(group.bytes)} at the peak, at most {format_bytes(most)}"
        figure.add(Area(0, group.kind, times, low.copy(), low + level, words, f"array {place}"))
        stretch = _stretch(times, low, low + level, figure.panels[0].y[0] * LETTERS / HEIGHT)
        if stretch:
            left, right, middle = stretch
            figure.add(Text(0, f"on {group.kind}", (left + right) / 2, middle, f"{group.words}, {format_bytes(most)}", "middle",
                            room=right - left))  # fmt: skip
        low = low + level


def _stretch(times: Array, low: Array, high: Array, need: float) -> tuple[float, float, float] | None:
    """The widest stretch in which a line of text stays inside an area: where it begins and ends, and how high it is."""
    best: tuple[float, float, float] | None = None
    first, below, above = 0, -np.inf, np.inf
    for place, (bottom, top) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        below, above = max(below, bottom), min(above, top)
        if above - below < need:
            first, below, above = place, bottom, top
        if above - below >= need and (best is None or times[place + 1] - times[first] > best[1] - best[0]):
            best = float(times[first]), float(times[place + 1]), (below + above) / 2
    return best


def _peak(figure: Figure, held: _Held, window: tuple[float, float]) -> None:
    """Where the peak is, and how high."""
    if window[0] <= held.at <= window[1]:
        first, last = window
        highest, words = figure.panels[0].y[0], f"peak {format_bytes(held.peak)}"
        aside = (last - first) * (-0.01 if held.at > (first + last) / 2 else 0.01)
        figure.add(Line(0, "ink", [held.at] * 2, [0.0, highest], f"{words} after {format_duration(held.at / 1000)}", width=1.6),
                   Text(0, "ink", held.at + aside, highest * 0.965, words, "start" if aside > 0 else "end", True))  # fmt: skip


def _bars(figure: Figure, held: _Held, listed: Sequence[_Piece]) -> None:
    """The largest arrays of the peak; the parts of a bar are the array's components."""
    own = sorted((place for place, group in enumerate(held.groups) if group.owner is not None),
                 key=lambda place: -held.groups[place].bytes)  # fmt: skip
    parts: dict[int, list[_Piece]] = {}
    numbers = {id(piece): group for piece, group in zip(held.pieces, held.group_of, strict=True)}
    for piece in listed:
        parts.setdefault(numbers[id(piece)], []).append(piece)
    longest = float(held.groups[own[0]].bytes)
    title = f"Alive at the peak, {format_duration(held.at / 1000)} after the start"
    names = []
    for index in own:
        group, shape = held.groups[index], held.columns.holdings.shape.of(parts[index][0].holding).tolist()
        names.append((group.words, f"{format_bytes(group.bytes)} · {_storage(group.stype)} {format_shape(shape)}"))
    panel = add_rows(figure, ROW, longest, names, title)
    for place, index in enumerate(own):
        group, left = held.groups[index], 0.0
        for piece in parts[index]:
            size = held.bytes_of(piece)
            words = f"{group.told}: {piece.component}, {format_bytes(size)}"
            figure.add(Rect(panel, group.kind, left, left + size, place + 0.17, place + 0.83, words, f"array {index}"))
            left += size


def _details(held: _Held, key: str) -> list[Any] | None:
    """What a live view says of an area or a bar."""
    name, _, index = key.partition(" ")
    if name != "array" or not index.isdecimal() or len(index) > 9 or int(index) >= len(held.groups):
        return None
    group, listed = held.groups[int(index)], held.listed(int(index))
    said = f"{group.told}: {format_bytes(group.bytes)}, {format_share(group.bytes, held.peak)} of the peak"
    return [said, Table(COLUMNS, held.rows(listed[:MOST_ROWS]))] if listed else [f"{said}; none was alive at the peak"]


def _finding(held: _Held, memory: Mapping[str, Any], listed: Sequence[_Piece]) -> str:
    if held.peak <= 0:
        return "No memory was recorded."
    words = f"Memory peaked at {format_bytes(held.peak)} after {format_duration(held.at / 1000)}"
    roles, sparse = dict[str, int](), 0
    for piece in listed:
        roles[piece.role] = roles.get(piece.role, 0) + held.bytes_of(piece)
        sparse += held.bytes_of(piece) if piece.stype not in ("default", "") else 0
    parts = sorted(roles.items(), key=lambda part: (-part[1], part[0]))
    words += ": " + ", ".join(f"{role} {format_share(size, held.peak)}" for role, size in parts[:4])
    words += f"; {format_share(sparse, held.peak)} is stored sparse" if sparse else ""
    first = max((group for group in held.groups if group.owner is not None), key=lambda group: group.bytes, default=None)
    if first:
        words += f"; the largest array is the {first.role} of {_named(first.owner)}, {format_bytes(first.bytes)}"
    words += f".{_twice(held, listed)}"
    tables = number(memory.get("table_bytes"))
    return f"{words} Compiled steps keep {format_bytes(tables)} between runs." if tables > 0 else words


def _twice(held: _Held, listed: Sequence[_Piece]) -> str:
    """Name the gradient of which several buffers are alive; empty if there is none."""
    counts: dict[str, int] = {}
    for piece in listed:
        if piece.role == "gradient" and piece.component == "data" and piece.owner:
            counts[piece.owner] = counts.get(piece.owner, 0) + int(held.alive[piece.holding])
    owner, count = max(counts.items(), key=lambda item: item[1], default=("", 1))
    return f" {count} buffers of the gradient of {_named(owner)} are alive at once." if count > 1 else ""


def _notes(memory: Mapping[str, Any]) -> list[str]:
    """What the picture does not show: the process, arrays that took no part, and those that single operators made and freed."""
    process = number(memory.get("process_peak_bytes"))
    notes = [f"The whole process has held at most {format_bytes(process)} since its start."] if process > 0 else []
    if number(memory.get("idle_bytes")) > 0:
        notes.append(f"Not drawn: {format_bytes(memory['idle_bytes'])} in arrays that took no part.")
    inside = [row for row in memory.get("temporaries") or () if number(row["most"]) > 0]
    if inside:
        most = max(inside, key=lambda row: row["most"])
        notes.append(f"Not drawn: {clean(most['op'])} made and freed up to {format_bytes(most['most'])} in one call.")
    return notes


# ---- the peaks of several runs


def peaks_figure(memories: Mapping[str, Mapping[str, Any]], title: str = "", budget: float = 0.0) -> Figure:
    """Draw the peak of each run as a bar, divided by what it is, all on one scale.

    Parameters
    ----------
    memories : mapping of str to dict
        ``prof.memory`` of each run by name, in the order of the bars.
    title : str, optional
    budget : float
        Bytes that a run may hold: a line across the bars.  0 is for none.

    Returns
    -------
    Figure
    """
    runs = {str(name): _by_role(memory) for name, memory in memories.items()}
    totals = {name: sum(parts.values()) for name, parts in runs.items()}
    roles = sorted({role: None for parts in runs.values() for role, _ in parts}, key=_place)
    rows = [(name, *(format_bytes(_of_role(parts, role)) for role in roles), format_bytes(totals[name]))
            for name, parts in runs.items()]
    figure = Figure(str(title) or "Memory at the peak", _against_budget(totals, budget) + _comparison(totals, runs, roles),
                    table=Table(("run", *roles, "total"), rows, "Bytes alive at the peak, by role"))  # fmt: skip
    longest = max(totals.values(), default=0)
    if not longest:
        return figure
    add_rows(figure, 1.5 * ROW, float(max(longest, 1.02 * budget)), [(name, format_bytes(totals[name])) for name in runs])
    for place, (name, parts) in enumerate(runs.items()):
        left = 0.0
        for (role, stype), size in sorted(parts.items(), key=lambda part: (_place(part[0][0]), part[0])):
            words = f"{role}, {_storage(stype)}, {format_bytes(size)}"
            figure.add(Rect(0, _kind(role, stype, size < SMALL * longest), left, left + size, place + 0.17, place + 0.83,
                            f"{name}: {words}", f"{role}", f"{role} {format_bytes(size)}"))  # fmt: skip
            left += size
    if budget:
        ends = [budget, budget], [0.0, float(len(runs))]
        figure.add(Line(0, "paper", *ends, width=6.0), Line(0, "ink", *ends, f"the budget: {format_bytes(budget)}", width=2.0),
                   Axis(0, "bottom", ticks=((budget, f"budget {format_bytes(budget)}"),)))  # fmt: skip
    return figure


def _against_budget(totals: Mapping[str, int], budget: float) -> str:
    """Which runs fit into the budget; empty without one."""
    if not budget:
        return ""
    fit = [clean(name) for name, total in totals.items() if total < budget]
    over = [clean(name) for name, total in totals.items() if total >= budget]
    within = f"Within the budget of {format_bytes(budget)}: {', '.join(fit) or 'none'}. "
    return f"{within}Above it: {', '.join(over)}. " if over else within


def _by_role(memory: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """Bytes at the peak by role and storage type."""
    sizes: dict[tuple[str, str], int] = {}
    for row in memory["at_peak"]:
        key = str(row["role"]) or "other", str(row["stype"])
        sizes[key] = sizes.get(key, 0) + int(row["bytes"])
    return {key: size for key, size in sizes.items() if size > 0}


def _of_role(parts: Mapping[tuple[str, str], int], role: str) -> int:
    return sum(size for (part_role, _), size in parts.items() if part_role == role)


def _comparison(totals: Mapping[str, int], runs: Mapping[str, Mapping[tuple[str, str], int]], roles: Sequence[str]) -> str:
    recorded = {name: total for name, total in totals.items() if total > 0}
    if not recorded:
        return "No memory was recorded."
    words = "At its peak, " + ", ".join(f"{clean(name)} holds {format_bytes(total)}" for name, total in recorded.items())
    high, low = max(recorded, key=lambda name: recorded[name]), min(recorded, key=lambda name: recorded[name])
    if recorded[high] <= recorded[low] * 1.05:
        return f"{words}."
    times = recorded[high] / recorded[low]
    words += f": {clean(high)} needs {format_ratio(times)} the memory of {clean(low)}"
    sizes = {role: (_of_role(runs[high], role), _of_role(runs[low], role)) for role in roles}
    telling = [role for role, (more, less) in sizes.items() if less and more / less > 1.5 * times]
    if telling:
        role = max(telling, key=lambda candidate: sizes[candidate][0])
        more, less = sizes[role]
        words += f"; its {role} alone {format_ratio(more / less)} ({format_bytes(more)} against {format_bytes(less)})"
    return f"{words}."
