"""Measuring libraries in turn, each in its own process, and reporting the figures."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..base.errors import SparsekitError
from ..base.files import write_whole
from ..base.machine import BUSY, OtherLoad
from ..base.version import __version__

if TYPE_CHECKING:
    from typing import TypeAlias

    Numbers: TypeAlias = float | Sequence[float]

#: Measurements of each contender, by its name.
Values = Mapping[str, Sequence[float]]

RIVALS = ("torch", "mxnet", "scipy", "mkl", "jax", "sklearn", "cupy", "numba", "fbgemm", "vw", "implicit")

#: Seconds between two measurements, in which threads of the last one stop spinning; Intel's OpenMP spins for 0.2 s.
PAUSE = 0.25

#: How often it is looked at most, before a round, whether the cores are idle.
MAX_TRIES = 20

#: Runs of at most so many rounds do not wait for idle cores.
TRIAL_ROUNDS = 3


class Worker:
    """A long-lived process that reads a command per line and answers each with a line of JSON.

    Parameters
    ----------
    name : str
        Its name in error messages.
    command : sequence of str
        Program and arguments.
    settings : mapping, optional
        Environment variables to set for it.
    """

    def __init__(self, name: str, command: Sequence[str], settings: Mapping[str, str] | None = None) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, **(settings or {})},
            )  # fmt: skip
        except OSError as error:
            raise SparsekitError(
                f"{name} could not be started: {error.strerror}.", hint="pass the path of a Python executable."
            ) from error

    def ask(self, *words: object) -> Any:
        """Send a command and return the answer; raise ``SparsekitError`` if the worker reports an error or has ended."""
        assert self._process.stdin is not None  # both are pipes, see above
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(" ".join(map(str, words)) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SparsekitError(
                f"{self.name} ended while it ran {words[0]!r}.",
                hint=f"check that its Python can import {self.name}.",
            )
        answer = json.loads(line)
        if "error" in answer:
            raise SparsekitError(f"{self.name} could not run {words[0]!r}: {answer['error']}")
        return answer["ok"]

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_own(settings: Mapping[str, str] | None = None, python: str = sys.executable) -> Worker:
    """Start the worker of this library by a Python, the current one by default, with environment variables."""
    return Worker("sparsekit", [python, "-c", "from sparsekit.bench.worker import main; main()"], settings)


#: The folder with the scripts of rivals, set by ``sparsekit bench --rivals``.
RIVALS_FOLDER = Path("profiles", "rivals")


def start_rivals(rivals: dict[str, str], stack: ExitStack, kind: str = "worker") -> dict[str, Worker]:
    """Start the script ``NAME_kind.py`` of each rival with its Python; ``stack`` ends them.  Return workers by name."""
    folder = RIVALS_FOLDER.resolve()
    workers = {}
    for name, python in rivals.items():
        script = folder / f"{name}_{kind}.py"
        if not script.exists():
            there = sorted(path.name.partition("_")[0] for path in folder.glob(f"*_{kind}.py"))
            raise SparsekitError(
                f"{RIVALS_FOLDER} has no {script.name}, the script that runs {name}.",
                hint=f"the scripts there run {', '.join(there)}." if there else
                "run this in a checkout of the project, or pass --rivals with its folder profiles/rivals.",
            )
        workers[name] = stack.enter_context(Worker(name, [python, str(script)]))
    return workers


def wait_for_cores() -> None:
    """Wait, for some seconds at most, until other programs and other machines leave the cores alone, where the system says so."""
    for _ in range(MAX_TRIES):
        load = OtherLoad()
        time.sleep(PAUSE)
        if (load.cores() or 0.0) < BUSY:
            break


def turns(rounds: int, warm_up: int = 0) -> Iterator[int]:
    """The numbers of rounds, those of the first ``warm_up`` below 0.

    Each round waits for idle cores, because other processes and virtual machines slow down libraries with several
    threads, in some rounds more than in others.  A run of at most ``TRIAL_ROUNDS`` rounds never waits.
    """
    for number in range(-warm_up, rounds):
        if rounds > TRIAL_ROUNDS:
            wait_for_cores()
        yield number


def take_turns(measures: Mapping[str, Callable[[], float]], rounds: int, warm_up: int = 1) -> dict[str, list[float]]:
    """Take one measurement of each contender per round, in the same order; leave out those of the first ``warm_up`` rounds."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    for number in turns(rounds, warm_up):
        for name, measure in measures.items():
            if rounds > TRIAL_ROUNDS:
                time.sleep(PAUSE)
            value = measure()
            if number >= 0:
                values[name].append(value)
    return values


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Return median, minimum and maximum of the values, and the values."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "values": list(values)}


class Report:
    """Tables of medians and ratios, as text and as JSON.

    Parameters
    ----------
    title : str
    rounds : int
        Number of measurements of each contender.
    notes : sequence of str
        What each contender does, printed below the tables.

    Attributes
    ----------
    files : dict of str to bytes
        Further files to save, by name.
    """

    def __init__(self, title: str, rounds: int, notes: Sequence[str] = ()) -> None:
        self.title, self.rounds, self.notes = title, rounds, list(notes)
        self.versions = {"sparsekit": __version__, "python": platform.python_version()}
        self.sections: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}

    def add(self, heading: str, unit: str, values: Values, against: str = "", fact: str = "") -> None:
        """Add a table.

        Parameters
        ----------
        heading, unit : str
        values : mapping of str to sequence of float
        against : str
            Name of the row that all others are compared with; empty for no comparison.
        fact : str
            Line below the table.
        """
        rows: dict[str, Any] = {name: summary(some) for name, some in values.items() if some}
        if against:
            base = rows[against]
            for name, row in rows.items():
                if name != against:
                    pairs = [own / other for own, other in zip(base["values"], row["values"], strict=True)]
                    row["ratio_of_medians"] = base["median"] / row["median"]
                    row["pairwise_ratio"] = summary(pairs)
        self.sections.append({"heading": heading, "unit": unit, "against": against, "rows": rows, "fact": fact})

    def _lines(self, section: dict[str, Any]) -> Iterable[str]:
        unit, against = section["unit"], section["against"]
        width = max(len(name) for name in section["rows"])
        ratio = f"   {against} / this: medians (pairwise)" if against and len(section["rows"]) > 1 else ""
        yield f"\n{section['heading']}"
        yield f"  {'':{width}}  {'median':>9}  {'min - max':>19}{ratio}"
        for name, row in section["rows"].items():
            line = f"  {name:{width}}  {row['median']:9.3f}  {row['min']:8.3f} - {row['max']:8.3f} {unit}"
            if "pairwise_ratio" in row:
                pairs = row["pairwise_ratio"]
                line += f"   {row['ratio_of_medians']:.2f} ({pairs['min']:.2f} - {pairs['max']:.2f})"
            yield line
        if section["fact"]:
            yield f"  {section['fact']}"

    def text(self) -> str:
        """Return the report as text."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        lines = [self.title, f"{versions}; {os.cpu_count()} cores; medians of {self.rounds} interleaved rounds"]
        for section in self.sections:
            lines.extend(self._lines(section))
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)])

    def save(self, path: Path) -> None:
        """Write the report with all measurements as JSON, and ``files`` to a folder beside it, named like it."""
        facts = {
            "title": self.title,
            "versions": self.versions,
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "processor": processor(),
            "rounds": self.rounds,
            "sections": self.sections,
            "notes": self.notes,
        }
        write_whole(path, (json.dumps(facts, indent=1) + "\n").encode())
        for name, content in self.files.items():
            folder = path.with_suffix("")
            folder.mkdir(exist_ok=True)
            write_whole(folder / name, content)


def require_same(who: str, does: str, got: Numbers, expected: Numbers, rtol: float = 1e-3, atol: float = 0.0) -> None:
    """Raise ``SparsekitError`` if numbers that a contender computed are not those of this library, up to rounding."""
    if not np.allclose(expected, got, rtol=rtol, atol=atol):
        raise SparsekitError(f"{who} {does} {got}, sparsekit {expected}.",
                             hint="all contenders must compute the same; check the rival's script.")


class Session:
    """One run of a bench: starts the processes that take part, measures its tables, and adds them to the report.

    Attributes
    ----------
    report : Report
    rivals : dict of str to str
        Rivals and the Python executables that have them.
    quick : bool
        Whether workloads are to be small.
    folder : Path
        A folder for files, which is removed after the run.
    stack : ExitStack
        What ends with the run, such as processes.
    against : str
        The row that others are compared with if there are rivals: ``"sparsekit"``, or empty.
    """

    def __init__(self, report: Report, rivals: dict[str, str], quick: bool, folder: Path, stack: ExitStack) -> None:
        self.report, self.rivals, self.quick, self.folder, self.stack = report, rivals, quick, folder, stack
        self.against = "sparsekit" if rivals else ""
        self._speed: float | None = None

    def note_versions(self, name: str, info: Mapping[str, Any]) -> None:
        """Note what a rival says of itself."""
        self.report.versions[name] = info["version"]
        self.report.versions.update({f"{name}: {part}": text for part, text in info.get("more", {}).items()})

    def bandwidth(self, device: str = "cpu") -> float:
        """Return the bytes per second that are copied on a device, measured and noted once."""
        if self._speed is None:
            with start_own() as own:
                if device == "gpu":
                    self.note_versions("sparsekit", {"version": __version__, "more": own.ask("device")})
                self._speed = float(own.ask("bandwidth", device))
            who = "a copy on the device moves" if device == "gpu" else "one thread copies"
            self.report.notes.append(f"memory: {who} {self._speed / 1e9:.1f} GB/s, counting reads and writes.")
        return self._speed

    def table(self, heading: str, unit: str, measures: Mapping[str, Callable[[], float]], against: str = "",
              fact: str | Callable[[Values], str] = "", warm_up: int = 1, rounds: int = 0) -> Values:
        """Measure contenders in turn and add their table.

        Parameters
        ----------
        heading, unit, against : str
            As for ``Report.add``.
        measures : mapping of str to callable
            What takes one measurement, by the contender's name.
        fact : str or callable
            Line below the table, or what makes it of the measurements.
        warm_up : int
            Rounds that do not count.
        rounds : int
            Measurements of each; 0 for those of the report.
        """
        values = take_turns(measures, rounds or self.report.rounds, warm_up)
        self.report.add(heading, unit, values, against, fact if isinstance(fact, str) else fact(values))
        return values

    def once(self, heading: str, unit: str, values: Mapping[str, float], against: str = "") -> None:
        """Add a table of values that are counted, or measured once."""
        self.report.add(heading, unit, {name: [value] for name, value in values.items()}, against)


class Bench(NamedTuple):
    """The declaration of a benchmark; a call runs it and returns its report.

    Attributes
    ----------
    what : str
        What it measures, for the help text.
    title : str
        Title of the report.
    rounds : tuple of two ints
        Measurements of each contender, and those of a quick run.
    tables : callable
        Starts what takes part, checks that all compute the same, and adds the tables to its ``Session``.
    notes : tuple of str
        What each contender does, printed below the tables.
    alone : tuple of str
        Why no rival can take part, and what to do instead; empty if rivals can.
    """

    what: str
    title: str
    rounds: tuple[int, int]
    tables: Callable[[Session], None]
    notes: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    def __call__(self, rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
        """Run the benchmark.

        Parameters
        ----------
        rivals : dict of str to str
            Rivals and the Python executables that have them.
        rounds : int
            Number of measurements of each contender; 0 for the default.
        quick : bool
            Use small workloads and few rounds.

        Raises
        ------
        SparsekitError
            If rivals cannot take part, a measurement fails, or a rival computes another result.
        """
        if rivals and self.alone:
            raise SparsekitError(self.alone[0], hint=self.alone[1])
        report = Report(self.title, rounds or self.rounds[quick], self.notes)
        with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder, ExitStack() as stack:
            self.tables(Session(report, rivals, quick, Path(folder), stack))
        return report


def processor() -> str:
    """Return the model name of the processor, or "" if the system does not report it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
