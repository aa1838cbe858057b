"""Where sparse storage pays: memory and time of a step over density, for dense, csr and row-sparse arrays."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ..base.errors import ParameterError, UnknownNameError, UnsupportedError
from ..base.formatting import format_bytes, format_count, format_density, format_duration, format_ratio, format_share, number
from .charts import DASHES, Line, Plot, key
from .crossover_model import DTYPES, FORMATS, INDEX_DTYPES, Grid, Setting, break_evens, estimate_time, load_grid, memory
from .display import Display
from .options import known, share, whole
from .pack import plain
from .plots import drawing_on, lines_on, plain_text
from .svg import Drawing, heading, is_narrow, page_width, wrap
from .theme import INK, MUTED, PAPER, SERIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

__all__ = ["crossover_figure", "crossover_payload", "curves"]

COLORS = dict(zip(FORMATS, (SERIES[4], SERIES[1], SERIES[0]), strict=True))
#: The most sparse first, with the fullest line.
DRAWN = FORMATS[::-1]
NAMES = {"dense": "dense", "csr": "csr + dense gradient", "row_sparse": "csr + row-sparse gradient"}
#: Densities drawn: 0.0001 % to 100 %.
DENSITIES = tuple(10.0 ** (-6 + i / 10) for i in range(61))


class Here(NamedTuple):
    """Where a profile lies on the map: measured bytes of batch and gradient, and the time of a step in microseconds."""

    kind: str
    density: float
    memory: float
    time: float


def here_of(profile: object) -> tuple[dict[str, Any], Here] | None:
    """The layer of a profile that reads most bytes of csr batches: the setting of the map, and what was measured."""
    given: Any = getattr(profile, "records", profile) or ()
    records = [record for record in given if isinstance(record, Mapping)]
    calls: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
    for record in records:
        sparse = [one for one in record.get("inputs") or () if one.get("stype") == "csr" and len(one["shape"]) == 2]
        for batch in sparse if record.get("lane") == "forward" else ():
            for weight in record["inputs"]:
                if len(weight["shape"]) == 2 and weight is not batch and weight["shape"][0] == batch["shape"][1]:
                    calls.setdefault(tuple(weight["shape"]), []).append((batch, record))
    if not calls:
        return None
    shape, found = max(calls.items(), key=lambda item: (sum(number(batch.get("bytes")) for batch, _ in item[1]), item[0]))
    batches, first = [batch for batch, _ in found], found[0][0]
    spent, gradient = 0.0, {"bytes": 0, "stype": "default"}
    for record in records:
        arrays = [*(record.get("inputs") or ()), *(record.get("outputs") or ())]
        if record.get("lane") in ("forward", "backward", "update") and any(tuple(one["shape"]) == shape for one in arrays):
            spent += number(record.get("self"))
        if record.get("lane") == "backward":
            of_weight = [one for one in record.get("outputs") or () if tuple(one["shape"]) == shape]
            gradient = max([gradient, *of_weight], key=lambda one: number(one.get("bytes")))
    density = statistics.fmean(min(1.0, number(batch.get("density"))) for batch in batches)
    size = statistics.fmean(number(batch.get("bytes")) for batch in batches) + number(gradient["bytes"])
    kind = "row_sparse" if gradient["stype"] == "row_sparse" else "csr"
    options = {"rows": shape[0], "units": shape[1], "batch": max(1, first["shape"][0]), "density": density,
               "dtype": first.get("dtype"), "index_dtype": first.get("index_dtype")}
    return options, Here(kind, density, size, spent / len(batches))


def _placed(options: Mapping[str, Any]) -> tuple[dict[str, Any], Here | None]:
    """The options with those of a profile below them, and where the profile lies.

    Raises
    ------
    UnsupportedError
        If the profile has no layer whose input is csr.
    """
    given = dict(options)
    profile = given.pop("profile", None)
    if profile is None:
        return given, None
    found = here_of(profile)
    if found is None:
        raise UnsupportedError("profile= has no product of a csr batch with a weight, so it has no place on the map.",
                               hint="profile the training step of a layer whose input is csr.")
    return {**found[0], **given}, found[1]


def _setting(options: Mapping[str, Any]) -> Setting:
    default = Setting()
    known("option of the crossover", options, (*default._fields, "grid", "profile"))
    dtype, index = str(options.get("dtype") or default.dtype), str(options.get("index_dtype") or default.index_dtype)
    if dtype not in DTYPES:
        raise UnknownNameError.of("element type", dtype, DTYPES)
    if index not in INDEX_DTYPES:
        raise UnknownNameError.of("index type", index, INDEX_DTYPES)
    sizes = {"rows": "features", "units": "columns of the weight", "batch": "samples"}
    rows, units, batch = (whole(name, options.get(name, getattr(default, name)), what) for name, what in sizes.items())
    return Setting(dtype, index, rows, units, batch, share("density", options.get("density", default.density)))


def _grid(options: Mapping[str, Any]) -> tuple[Grid, dict[str, Any]]:
    facts = options.get("grid") or load_grid()
    parts = [facts.get(name) if isinstance(facts, Mapping) else None for name in ("axes", "times")]
    if not all(isinstance(part, Mapping) for part in parts):
        raise ParameterError("grid= must hold measured times.", hint="`sparsekit bench crossover --json FILE` writes some; "
                             "leave it out to use the built-in times.")
    return Grid(facts["axes"], facts["times"]), facts


def curves(setting: Setting, grid: Grid) -> dict[str, dict[str, list[float | None]]]:
    """Bytes and microseconds over ``DENSITIES`` by storage type, and whether each time is extrapolated."""
    found: dict[str, dict[str, list[Any]]] = {"memory": {}, "time": {}, "beyond": {}}
    for kind in FORMATS:
        places = [setting._replace(density=density) for density in DENSITIES]
        found["memory"][kind] = [sum(memory(kind, place).values()) for place in places]
        times = [estimate_time(grid, kind, place) for place in places]
        found["time"][kind] = [time for time, _ in times]
        found["beyond"][kind] = [beyond for _, beyond in times]
    return found


def crossover_payload(**options: object) -> dict[str, Any]:
    """Give the setting to start from and the calibrated grid as plain data; arguments as for ``crossover_figure``."""
    options.pop("title", None)
    options, here = _placed(options)
    setting = _setting(options)
    _, facts = _grid(options)
    return {"setting": plain(setting._asdict()), "grid": plain(facts), "names": NAMES,
            "here": plain(here._asdict()) if here else None}


def _best(setting: Setting, grid: Grid) -> tuple[dict[str, float], dict[str, float]]:
    sizes = {kind: sum(memory(kind, setting).values()) for kind in FORMATS}
    times = {kind: estimate_time(grid, kind, setting)[0] for kind in FORMATS}
    return sizes, {kind: time for kind, time in times.items() if time is not None}


def _finding(setting: Setting, grid: Grid, found: Mapping[str, Any]) -> str:
    sizes, times = _best(setting, grid)
    small = min(sizes, key=lambda kind: sizes[kind])
    words = f"At density {format_density(setting.density)}, {format_count(setting.batch)} samples of "
    words += f"{format_count(setting.rows)} features and {format_count(setting.units)} units, {NAMES[small]} takes least "
    words += f"memory, {format_bytes(sizes[small])}"
    if small != "dense":
        words += f", {format_ratio(sizes['dense'] / sizes[small])} less than dense"
    if times:
        fast = min(times, key=lambda kind: times[kind])
        words += f"; {NAMES[fast] if fast != small else 'it'} is fastest, {format_duration(times[fast])}"
        if fast != "dense" and "dense" in times:
            words += f", {format_ratio(times['dense'] / times[fast])} faster than dense"
    for what in ("memory", "time"):
        evens = break_evens(DENSITIES, found[what])
        to_dense = next((density for density, _, best in evens if best == "dense"), None)
        if to_dense:
            words += f". Dense wins in {what} above {format_density(to_dense)}"
    return words + "."


@overload
def crossover_figure(title: str = ..., ax: None = ..., of: str = ..., **options: object) -> Display: ...
@overload
def crossover_figure(title: str = ..., *, ax: Axes, of: str = ..., **options: object) -> Axes: ...
def crossover_figure(title: str = "", ax: Axes | None = None, of: str = "memory", **options: object) -> Display | Axes:
    """Draw memory and time of one training step over density, for dense, csr and row-sparse storage.

    Memory is exact: the bytes of the batch and of the weight's gradient, for values at random places.  Time is
    interpolated in a grid that ``sparsekit bench crossover`` measured: forward product, gradient and SGD update.

    Parameters
    ----------
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        Draw one of the two panels on these axes, in their own style.
    of : {"memory", "time"}
        The panel that is drawn on ``ax``.
    rows : int
        Number of features: rows of the weight.  Default 1,000,000.
    units : int
        Number of columns of the weight.  Default 128.
    batch : int
        Number of samples.  Default 64.
    density : float
        Share of the batch's elements that are stored, 0 to 1, for the sentence and the table.  Default 1e-4.
    dtype : {"float16", "float32", "float64"}
    index_dtype : {"int32", "int64"}
    grid : dict, optional
        The output of ``sparsekit bench crossover --json FILE`` on another machine.  The default is the one in the package.
    profile : Profile or list of dict, optional
        A profile or its records.  Sizes that are not given are taken from the layer that reads most bytes of csr batches.  Its
        measured bytes and time are marked "you are here".

    Returns
    -------
    Display or matplotlib.axes.Axes
        The picture and a table with one row for each storage; ``ax`` where it is given.

    Raises
    ------
    UnknownNameError
        If an element type, an index type or an option is unknown.
    ParameterError
        If a size is not an integer of at least 1, or the density is not from 0 to 1.
    UnsupportedError
        If the profile has no layer whose input is csr.
    """
    options, here = _placed(options)
    setting = _setting(options)
    grid, facts = _grid(options)
    found = curves(setting, grid)
    if ax is not None:
        known("panel of the crossover", (of,), ("memory", "time"))
        return _on_axes(ax, found[of], str(title), format_bytes if of == "memory" else format_duration)
    finding = _finding(setting, grid, found) + _here_words(here)
    notes = _notes(setting, facts, found)
    columns = ("storage", "batch", "gradient", "memory", "beside dense", "time", "beside dense")
    return Display(lambda: _picture(setting, found, here, str(title) or "Where sparse storage pays", finding, notes), finding,
                   columns, _table(setting, grid), f"One step at density {format_density(setting.density)}")  # fmt: skip


def _picture(setting: Setting, found: Mapping[str, Any], here: Here | None, title: str, finding: str,
             notes: Sequence[str]) -> str:  # fmt: skip
    """Memory and time over the density, side by side, or on a narrow page one below the other."""
    drawing = Drawing(page_width())
    top = heading(drawing, title, finding, 3) + 39
    left, size, second = 76.0, (400.0, 240.0), (498.0, 0.0)
    if is_narrow():
        left, size, second = 70.0, (drawing.width - 94, 190.0), (0.0, 276.0)
    measured = (here.memory, here.time) if here else (None, None)
    _panel(drawing, found["memory"], setting, (left, top, *size), "Memory: batch and gradient", format_bytes, measured[0])
    _panel(drawing, found["time"], setting, (left + second[0], top + second[1], *size), "Time of a step", format_duration,
           measured[1])  # fmt: skip
    y = key(drawing, [Line(NAMES[kind], (), COLORS[kind]) for kind in DRAWN], 20 if is_narrow() else left,
            top + second[1] + size[1] + 58)  # fmt: skip
    for note in notes:
        for line in wrap(note, drawing.width - 40, 11.5, 8):
            drawing.text(20, y + 8, line, size=11.5, fill=MUTED)
            y += 16
    return drawing.finish(y + 12, finding)


def _on_axes(ax: Axes, values: Mapping[str, list[float | None]], title: str, words: Callable[[float], str]) -> Axes:
    """The curves of a panel by matplotlib, on two logarithmic axes."""
    with drawing_on(ax) as matplotlib:
        lines_on(ax, DENSITIES, [Line(NAMES[kind], values[kind], COLORS[kind]) for kind in DRAWN])
        ax.set(title=plain_text(title), xlabel="density", xscale="log", yscale="log")
        for axis, written in ((ax.xaxis, format_density), (ax.yaxis, words)):
            axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _, written=written: written(value)))
        ax.legend()
    return ax


def _panel(drawing: Drawing, values: Mapping[str, list[float | None]], setting: Setting,
           box: tuple[float, float, float, float], title: str, words: Callable[[float], str],
           measured: float | None = None) -> None:  # fmt: skip
    known = [value for line in values.values() for value in line if value is not None and value > 0]
    if not known:
        drawing.text(box[0], box[1] - 12, title, size=13.5, font_weight="bold")
        drawing.text(box[0], box[1] + 20, f"Not measured for {setting.dtype} values.", size=12, fill=MUTED)
        return
    plot = Plot(drawing, box, (DENSITIES[0], DENSITIES[-1]), (min(known) / 1.3, max(known) * 1.3), (True, True))
    plot.axes(title, words, lambda density: format_density(density) if round(math.log10(density)) % 2 == 0 else "", "by density")
    if setting.density > 0:
        drawing.line(plot.x(setting.density), box[1], plot.x(setting.density), box[1] + box[3], stroke=MUTED, stroke_width=1.6)
        here = "here" if measured is None else "you are here"
        drawing.text(plot.x(setting.density), box[1] + box[3] + 29, f"{here}: {format_density(setting.density)}", size=11,
                     text_anchor="middle", font_weight="bold")  # fmt: skip
    for i, kind in enumerate(DRAWN):
        plot.curve(DENSITIES, Line(kind, values[kind], COLORS[kind]), DASHES[i])
    for row, (density, _, best) in enumerate(break_evens(DENSITIES, values)):
        plot.mark(density, f"{NAMES[best]} above {format_density(density)}", row)
    if measured:
        drawing.add("circle", cx=plot.x(setting.density), cy=plot.y(measured), r=6.0, fill=INK, stroke=PAPER, stroke_width=2.0)


def _here_words(here: Here | None) -> str:
    if here is None:
        return ""
    return (f" Your profile, with {NAMES[here.kind]}: {format_bytes(here.memory)} of batch and gradient, and "
            f"{format_duration(here.time)} in the layer's operators a step.")


def less(value: float, reference: float, words: tuple[str, str]) -> str:
    """How ``value`` compares with ``reference``, as a factor above 1: ``"226× less"``."""
    if not (value > 0 and reference > 0):
        return ""
    ratio = max(value / reference, reference / value)
    return "the same" if ratio < 1.005 else f"{ratio:.3g}× {words[value > reference]}" if ratio < 9.95 \
        else f"{format_ratio(ratio)} {words[value > reference]}"


def _notes(setting: Setting, facts: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    notes = ["Memory is exact for values at random places. The weight itself is the same in all three and left out."]
    if not any(value is not None for line in found["time"].values() for value in line):
        return notes
    error = format_share(facts.get("median_error", 0.0))
    notes.append(f"Time: {facts.get('what', 'one step')}, measured by `{facts.get('command', 'sparsekit bench crossover')}` "
                 f"as processor time of one thread; between the grid's points off by {error} in the median, "
                 f"{format_share(facts.get('worst_error', 0.0))} at worst.")  # fmt: skip
    beyond = [kind for kind in FORMATS if any(found["beyond"][kind])]
    if beyond:
        notes.append(f"Partly extrapolated, beyond what was measured: {', '.join(NAMES[kind] for kind in beyond)}.")
    return notes


def _table(setting: Setting, grid: Grid) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    sizes, _ = _best(setting, grid)
    reference = estimate_time(grid, "dense", setting)[0]
    for kind in FORMATS:
        parts, (time, beyond) = memory(kind, setting), estimate_time(grid, kind, setting)
        ratio = "" if kind == "dense" else less(sizes[kind], sizes["dense"], ("less", "more"))
        spent = "not measured" if time is None else format_duration(time) + (" (extrapolated)" if beyond else "")
        faster = less(time or 0.0, reference or 0.0, ("faster", "slower")) if kind != "dense" else ""
        rows.append((NAMES[kind], format_bytes(parts["batch"]), format_bytes(parts["gradient"]), format_bytes(sizes[kind]),
                     ratio, spent, faster))  # fmt: skip
    return rows
