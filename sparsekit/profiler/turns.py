"""Interleaved timing of programs: blocks with equal conditions for all programs decide whether one is slower."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base import displays
from ..base.errors import ProfilerError, UnknownNameError
from ..base.formatting import format_bytes, format_count, format_duration
from ..base.machine import BUSY, OtherLoad
from ..core import hooks
from .arguments import flag, number, whole
from .profiler import Profiler, call_back, set_aside
from .table import Table

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..base.types import Scalar
    from ..figures.kit import Figure
    from .profile import Profile
    from .types import TurnRow

#: Probability with which all intervals of one comparison together hold.  A program compared with itself is called
#: different in at most one of a hundred comparisons by chance.
CONFIDENCE = 0.99

SAME = "no detectable difference"

#: Smallest difference that is claimed.  Two copies of one program differ by one or two percent on a quiet machine, as their
#: arrays lie at other addresses; that is measured reliably, and says nothing of the program.
LEAST = 0.05

#: Programs whose times are within this factor have the same number of calls in a turn.
ALIKE = 4

#: Parts of a turn that are timed one by one.
PIECES = 9

#: Fewest calls in a turn, of programs that take less than so many seconds: a median of fewer does not help.
FEWEST_CALLS, LONG = 3, 0.1

#: Most calls in a turn.
MOST_CALLS = 1 << 20

#: Most rounds: all pairs of them are averaged.
MOST_ROUNDS = 2_000

#: Rounds from which the normal distribution stands for that of the sum of signed ranks.
MANY = 100

_clock = time.perf_counter


class Turn(NamedTuple):
    """One program run for one turn: ``program`` is its place, ``seconds`` what a typical call took."""

    program: int
    seconds: float


# object: what a program gives is not looked at
def compare(programs: Mapping[str, Callable[[], object]], rounds: int = 20, *, turn: float = 0.002,
            confidence: float = CONFIDENCE, least: float = LEAST, seed: int = 0, profile: bool = True) -> Comparison:
    """Interleave runs of programs, and report which are slower than the first, by how much, or that no difference is detected.

    A round is a block in which each program has two turns: first all programs in random order, then all in the reverse order
    (ABBA for two programs).  Slow changes, such as the clock rate of the processor, affect every program of a block alike and
    cancel in the ratio of their times.  Because the order is random, the logarithm of the ratio of two equally fast programs is
    symmetric about zero.  This needs no assumption about the distribution of the noise or the similarity of blocks.  So the
    signed-rank interval over blocks has the stated confidence (Hollander and Wolfe, Nonparametric Statistical Methods, 3.1 to
    3.3; Hodges-Lehmann estimate).

    The comparison describes a typical call: the result of a turn is the median over pieces of it.  Stalls of a few calls,
    caused by the system or by the program itself, therefore have no effect; ``Profiler`` shows them.

    What does not cancel is the load of other programs, if those that are compared use different numbers of threads: threads wait
    for the last one to get a core.  The summary says so if other programs used 0.3 cores or more.

    Parameters
    ----------
    programs : mapping of str to callable
        Two programs or more, called without arguments.  The others are compared with the first.  A program that trains changes
        its state in every call.
    rounds : int
        Number of blocks.  More blocks find smaller differences.  Two programs at a confidence of 99 % need at least 8.
    turn : float
        Duration of a turn in seconds.  A program whose call takes less is called several times.
    confidence : float
        Joint confidence of all intervals (Bonferroni), from 0.5 to below 1.
    least : float
        Smallest difference that is reported, as a share.  The verdict is "slower" if the whole interval lies above
        ``1 + least``, and "faster" if it lies below ``1 / (1 + least)``.  Two copies of one program differ by one or two
        percent, because their arrays have different addresses.
    seed : int
        Seed of the random order of turns.
    profile : bool
        Whether each program runs once more under a ``Profiler``, after the timed rounds.  This counts the operators, bytes
        moved, bytes at the peak and implicit conversions, which need no statistics.

    Returns
    -------
    Comparison

    Raises
    ------
    ProfilerError
        If there are fewer than two programs, a program is not callable, there are too few rounds for the confidence, or a
        profiler is recording.

    Examples
    --------
    >>> found = mx.profiler.compare({"dense": dense_step, "row-sparse": sparse_step})
    >>> print(found.summary())
    """
    names, functions = _checked(programs)
    _check_numbers(rounds, turn, confidence, least)
    whole("seed", seed)
    flag("profile", profile)
    each = 1 - (1 - confidence) / (len(names) - 1)
    fewest = _fewest(each)
    if rounds < fewest:
        raise ProfilerError(f"rounds must be at least {fewest} for {confidence:.0%} confidence, got {rounds}.",
                            hint="give more rounds, or ask for less confidence.")
    set_aside()
    if hooks.sink is not None:
        raise ProfilerError("compare() cannot run while a profiler records: what is timed would include the profiler.",
                            hint="stop() it first; compare() profiles each program by itself.")
    try:
        calls = _calls(functions, turn)
        load = OtherLoad()
        blocks = _rounds(functions, calls, rounds, Random(int(seed)))
        others = load.cores()
    finally:
        call_back()
    profiles = [_profiled(function) for function in functions] if profile else []
    return Comparison(names, calls, blocks, confidence, profiles, least, others)


# object: as in compare
def _rounds(functions: list[Callable[[], object]], calls: list[int], rounds: int, random: Random) -> list[list[Turn]]:
    blocks = []
    for _ in range(rounds):
        order = random.sample(range(len(functions)), len(functions))
        blocks.append([Turn(place, _turn(functions[place], calls[place])) for place in (*order, *reversed(order))])
    return blocks


# object: whatever came as programs, which is checked; and what those give, as above
def _checked(programs: object) -> tuple[list[str], list[Callable[[], object]]]:
    if not isinstance(programs, Mapping) or len(programs) < 2:
        raise ProfilerError("compare() takes a mapping of at least two names to programs.",
                            hint='compare({"before": f, "after": g}) calls f() and g() alternately.')
    for name, program in programs.items():
        if not callable(program):
            raise ProfilerError(f"The program {name!r} must be callable, got {type(program).__name__}.",
                                hint=f'wrap it: {{"{name}": lambda: …}}.')
    return [str(name) for name in programs], list(programs.values())


def _check_numbers(rounds: Scalar, turn: float, confidence: float, least: float) -> None:
    whole("rounds", rounds, 1, MOST_ROUNDS, "20 is the default.")
    number("turn", turn, "a number of seconds above 0 and at most 3600", lambda turn: 0 < turn <= 3600, "0.002 is the default.")
    number("confidence", confidence, "from 0.5 to below 1", lambda share: 0.5 <= share < 1, "0.99 is the default.")
    number("least", least, "a finite share that is not negative", lambda share: 0 <= share < math.inf, "0.05 is the default.")


def _wait() -> None:
    """Return when the GPUs in use have done what was queued."""
    for wait in list(hooks.device_waits.values()):
        wait()


def _timed(function: Callable[[], object], calls: int) -> float:  # object: as in compare
    """Seconds that ``calls`` calls took, on average over them."""
    start = _clock()
    for _ in range(calls):
        function()
    _wait()
    return max((_clock() - start) / calls, 1e-12)  # a clock that did not move gives no ratio


def _turn(function: Callable[[], object], calls: int) -> float:  # object: as in compare
    """Seconds of a typical call in a turn: the median over pieces of it.

    When the system gives the processor to another process, one piece takes many times as long, and the median
    does not change.
    """
    pieces = min(PIECES, calls)
    return statistics.median([_timed(function, calls // pieces + (piece < calls % pieces)) for piece in range(pieces)])


def _calls(functions: list[Callable[[], object]], turn: float) -> list[int]:  # object: as in compare
    """How many calls of each program make a turn.

    Programs that take about as long are called equally often, so that the first call of a turn, which finds the caches
    as another program left them, weighs the same in each.
    """
    once = [_once(function, turn) for function in functions]
    calls = [1] * len(once)
    fastest = 0.0
    for place in sorted(range(len(once)), key=lambda place: once[place]):
        if not once[place] < ALIKE * fastest:
            fastest = once[place]
        calls[place] = max(FEWEST_CALLS if fastest < LONG else 1, min(MOST_CALLS, round(turn / fastest)))
    return calls


def _once(function: Callable[[], object], turn: float) -> float:  # object: as in compare
    """Seconds of a call: the least of three, but one of a long call, of which a turn has one whatever the others say."""
    _timed(function, 1)  # compiles, and fills caches
    seconds = _timed(function, 1)
    return seconds if seconds >= max(LONG, turn) else min(seconds, _timed(function, 1), _timed(function, 1))


def _profiled(function: Callable[[], object]) -> Profiler:  # object: as in compare
    profile = Profiler()
    with profile:
        function()
    return profile


def _rank_sums(count: int) -> npt.NDArray[np.float64]:
    """Probability of each sum of signed ranks, from 0, if either sign is as likely."""
    chances = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += chances / 2
        longer[rank:] += chances / 2
        chances = longer
    return chances


def _cut(count: int, confidence: float) -> int:
    """How many of the ordered averages of pairs lie outside of the interval on each side; 0 if there are too few."""
    if count >= MANY:
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return math.floor(count * (count + 1) / 4 - NormalDist().inv_cdf((1 + confidence) / 2) * spread)
    below = np.cumsum(_rank_sums(count))
    return int(np.searchsorted(below, (1 - confidence) / 2 * (1 + 1e-12), side="right"))


def _fewest(confidence: float) -> int:
    """Fewest blocks with which the signed-rank interval has this confidence."""
    return math.ceil(1 - math.log2(1 - confidence) - 1e-9)


def ratio_interval(ratios: npt.ArrayLike, confidence: float) -> tuple[float, float, float]:
    """The typical ratio of blocks and its interval: Hodges-Lehmann and signed ranks, on logarithms.

    Parameters
    ----------
    ratios : sequence of float
        Above zero, one a block.
    confidence : float

    Returns
    -------
    tuple of float
        Ratio, lower and upper end; the ends are 0 and infinite if there are too few blocks for the confidence.
    """
    logs = np.log(np.asarray(ratios, np.float64))
    first, second = np.triu_indices(len(logs))
    averages = np.sort((logs[first] + logs[second]) / 2)
    middle = float(np.exp(np.median(averages)))
    cut = _cut(len(logs), confidence)
    if cut < 1:
        return middle, 0.0, math.inf
    return middle, float(np.exp(averages[cut - 1])), float(np.exp(averages[len(averages) - cut]))


class Comparison:
    """The result of ``compare``, which interleaves the runs of programs.

    Attributes
    ----------
    rows : list of dict
        One row for each program, in the given order.  ``name`` is the program, and ``calls`` the number of calls in a turn.
        ``ratios`` has the time divided by that of the first program, of each block, and ``ratio`` the typical one, with the
        interval from ``low`` to ``high``; the three are None for the first program.  ``time`` is the time of a call in
        microseconds: of the first program the median over blocks, and of the others ``ratio`` times as much, because times of
        different blocks cannot be compared while other programs load the machine.  ``verdict`` is "faster", "slower", "no
        detectable difference" or "the first", and ``finding`` is the verdict with its size, in words.  If the programs were
        profiled, ``operators``, ``bytes``, ``peak`` and ``densified`` are the operators that one call runs, the bytes they
        move, the bytes at the peak, and the implicit conversions.
    blocks : list of list of Turn
        All turns, in the order in which they ran.
    profiles : list of Profiler
        One profiled call of each program; empty with ``profile=False``.
    confidence, least : float
        The arguments of ``compare``.
    others : float or None
        How many cores other programs used meanwhile, on average; None where the system does not say.
    """

    def __init__(self, names: list[str], calls: list[int], blocks: list[list[Turn]], confidence: float,
                 profiles: list[Profiler], least: float = LEAST, others: float | None = None) -> None:
        self.others = others
        self.confidence, self.blocks, self.profiles, self.least = confidence, blocks, profiles, least
        times = np.array([[_of(block, place) for place in range(len(names))] for block in blocks])
        each = 1 - (1 - confidence) / (len(names) - 1)
        self.rows: list[TurnRow] = []
        for place, name in enumerate(names):
            ratios = [float(ratio) for ratio in times[:, place] / times[:, 0]]
            row: TurnRow = {"name": name, "time": float(np.median(times[:, 0])) * 1e6, "calls": calls[place], "ratio": None,
                            "low": None, "high": None, "verdict": "the first", "ratios": ratios, "finding": ""}
            if place:
                ratio, low, high = ratio_interval(ratios, each)
                row["time"] *= ratio
                row["ratio"], row["low"], row["high"] = ratio, low, high
                row["verdict"] = "slower" if low > 1 + least else "faster" if high < 1 / (1 + least) else SAME
            row["finding"] = _finding(row)
            if profiles:
                _add_counts(row, profiles[place])
            self.rows.append(row)

    @property
    def same(self) -> bool:
        """Whether no program differs detectably from the first in time."""
        return all(row["verdict"] == SAME for row in self.rows[1:])

    @property
    def disturbed(self) -> bool:
        """Whether other programs used so much of the processor that ratios on a quiet machine may be others."""
        return self.others is not None and self.others >= BUSY

    def __getitem__(self, name: str) -> TurnRow:
        """The row of a program, by its name."""
        rows = {row["name"]: row for row in self.rows}
        UnknownNameError.check("program", name, rows)
        return rows[name]

    def summary(self) -> str:
        """The comparison in sentences, one per program."""
        first = self.rows[0]
        said = [_sentence(row, first["name"]) for row in self.rows[1:]]
        said.append(f"{len(self.blocks)} interleaved rounds; {self.confidence:.0%} confidence"
                    f"{' for all intervals together' if len(self.rows) > 2 else ''}; "
                    f"differences below {self.least:.0%} are not reported.")
        if self.disturbed:
            said.append(f"Other programs used {self.others:.1f} cores meanwhile: on a quiet machine the ratios may be others.")
        return " ".join(said)

    def table(self) -> Table:
        """The programs with their times, ratios and intervals, and with bytes moved and held if they were profiled."""
        columns = ["program", "time of a call", f"time by {self.rows[0]['name']}", "interval", "finding"]
        columns += ["operators", "bytes moved", "bytes at the peak", "implicit conversions"] if self.profiles else []
        cells = []
        for row in self.rows:
            line = [row["name"], format_duration(row["time"]), _ratio(row["ratio"]), _interval(row), row["finding"]]
            if self.profiles:
                line += [format_count(row["operators"]), format_bytes(row["bytes"]), format_bytes(row["peak"]),
                         format_count(row["densified"])]
            cells.append(line)
        return Table(tuple(columns), self.rows, cells, self.summary(), "Interleaved runs of programs")

    def figure(self, **options: object) -> Figure:  # object: its options
        """The picture: the ratio of every block, and the interval of each program; with ``ax``, on axes of matplotlib."""
        picture: Figure = displays.call("turns_figure", self.rows, self.summary(), self.table().plain(), **options)
        return picture

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        bundle: dict[str, str] = self.figure()._repr_mimebundle_()
        return {**bundle, "text/plain": repr(self)}


def _of(block: list[Turn], place: int) -> float:
    """Seconds of one call of a program in a block: the mean of its two turns."""
    turns = [turn.seconds for turn in block if turn.program == place]
    return sum(turns) / len(turns)


def _add_counts(row: TurnRow, profile: Profile) -> None:
    totals = [total for total in profile.totals if total["lane"] in ("forward", "backward", "update", "convert")]
    row["operators"] = sum(total["calls"] for total in totals)
    row["bytes"] = sum(total["bytes"] for total in totals)
    row["peak"], row["densified"] = profile.memory["peak_bytes"], profile.densified


def _finding(row: TurnRow) -> str:
    """What a program's interval says, in a few words: the same in the headline, the table and the picture."""
    ratio = row["ratio"]
    if row["verdict"] == "faster" and ratio is not None:
        return f"{_ratio(1 / ratio)} as fast"
    return f"takes {_ratio(row['ratio'])} the time" if row["verdict"] == "slower" else str(row["verdict"])


def _sentence(row: TurnRow, first: str) -> str:
    low, high = row["low"], row["high"]
    if row["verdict"] == SAME:
        return f"{row['name']} and {first}: {SAME}; {row['name']} takes between {_ratio(low)} and {_ratio(high)} the time."
    if row["verdict"] == "faster" and high is not None:
        least, most = 1 / high, math.inf if not low else 1 / low
        return f"{row['name']} is {_finding(row)} as {first}, between {_ratio(least)} and {_ratio(most)}."
    return f"{row['name']} {_finding(row)} of {first}, between {_ratio(low)} and {_ratio(high)}."


def _ratio(value: float | None) -> str:
    if value is None:
        return ""
    if value < 0.1:
        return f"{value:.3g}×"
    return f"{value:,.2f}×" if value < 10 else f"{value:.3g}×" if value < 1000 else f"{value:,.0f}×"


def _interval(row: TurnRow) -> str:
    return "" if row["low"] is None else f"{_ratio(row['low'])} to {_ratio(row['high'])}"
