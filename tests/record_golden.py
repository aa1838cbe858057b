"""Record all golden data again, or check that recording gives what is committed, byte for byte.

    python tests/record_golden.py --list                               the table: file, recorder, what it needs
    python tests/record_golden.py --with mxnet=PYTHON                  record what this MXNet and this Python can
    python tests/record_golden.py --with mxnet=PYTHON --check          compare instead of writing
    python tests/record_golden.py --with mxnet=PYTHON --only rnn ops   these files only

``--with NAME=PATH`` names what a recorder needs and this Python does not have; ``--list`` ends with these names and how to make
each of them.  The status is 0 if everything asked for was recorded (with ``--check``: and is what is committed).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"

#: Pythons that recorders run under: how to make one, and the packages that it must have.
PYTHONS = {
    "mxnet": ("Python 3.10 with `pip install mxnet==1.9.1 numpy==1.23.5 scipy==1.10.1`",
              {"mxnet": "1.9.1", "numpy": "1.23.5", "scipy": "1.10.1"}),
    "torch": ("Python with `pip install torch==2.13.0 numpy`", {"torch": "2.13.0"}),
    "jax": ("Python with `pip install jax==0.10.2`", {"jax": "0.10.2"}),
    "scikit-learn": ("Python with `pip install scikit-learn==1.9.1`", {"scikit-learn": "1.9.1"}),
    "cupy": ("Python with `pip install cupy-cuda12x==14.2.0`; no GPU is needed", {"cupy-cuda12x": "14.2.0"}),
}
#: Files that recorders read and that are not in this repository.
SOURCES = {
    "mxnet-source": "a clone of apache/mxnet that has the tag 1.9.1",
}


@dataclass(frozen=True)
class Recording:
    """One run of one recorder.

    Attributes
    ----------
    files : tuple of str
        What it writes into ``tests/golden``.
    script : str
        The recorder, from ``tests``.
    python : str
        A name of ``PYTHONS``, or "this" for the Python that sparsekit runs under.
    arguments : tuple of str
        ``{0}`` and ``{1}`` are its files, ``{exports}`` a folder with networks that sparsekit exported, any other name in braces
        one of ``PYTHONS`` or ``SOURCES``.
    starts : bool
        Whether it takes the cases of the file that is there, or changes a part of it.
    varies : tuple of str
        Keys of a trace's events whose values, like the order of the events, are other ones on each run; ``--check`` compares the
        rest.
    kept : str
        Why it is not recorded again unless ``--only`` names it.
    """

    files: tuple[str, ...]
    script: str
    python: str = "mxnet"
    arguments: tuple[str, ...] = ("{0}",)
    starts: bool = False
    varies: tuple[str, ...] = ()
    kept: str = ""

    @property
    def needs(self) -> str:
        """What it needs beside this Python and the repository, in words."""
        return ", ".join(missing(self, {})) or "nothing"


def of_mxnet(*names: str, script: str = "", starts: bool = False) -> Iterator[Recording]:
    """Recorders that take the file to write, run under MXNet, and are named after the file if no other is given."""
    for name in names:
        yield Recording((f"{name}.json",), f"oracle/record_{script or name}.py", starts=starts)


RECORDINGS = (
    *of_mxnet("compat", "kvstore", "names", "signatures", "trainings"),
    *of_mxnet("blocks", "callback", "control", "estimator", "exports", "files", "gluon_data", "gluon_layers", "gluon_rnn", "io",
              "module", "neural_ops", "symbol_storage", "symbols", "updates", "visualization", starts=True),
    *of_mxnet("constructors", "dense_ops", "initializer", "losses", "metric", "ops", "reprs", script="expressions", starts=True),
    *of_mxnet("libsvm_iter", script="libsvm", starts=True),
    *of_mxnet("rnn", script="module", starts=True),
    Recording(("profiler_api.json",), "oracle/record_profiler.py"),
    Recording(("tutorial_output.txt",), "oracle/record_tutorial.py"),
    Recording(("docstrings.json.xz", "docstring_calls.json.xz"), "oracle/record_docstrings.py", arguments=("{0}", "{1}")),
    Recording(("reads.json",), "oracle/record_reads.py", arguments=("{0}", "{exports}")),
    Recording(("scripts.json",), "oracle/run_scripts.py", "this", ("{mxnet-source}", "--mxnet", "{mxnet}", "--record", "{0}")),
    Recording(("trace_mxnet.json",), "oracle/record_traces.py", "mxnet", ("mxnet", "{0}"),
              varies=("ts", "dur", "tid", "id", "args")),
    Recording(("trace_torch.json",), "oracle/record_traces.py", "torch", ("torch", "{0}"), varies=("ts", "dur")),
    Recording(("coming_from.json",), "oracle/record_coming_from.py", "mxnet", ("{0}", "MXNet"), starts=True),
    Recording(("coming_from.json",), "oracle/record_coming_from.py", "torch", ("{0}", "PyTorch"), starts=True),
    Recording(("coming_from.json",), "oracle/record_coming_from.py", "jax", ("{0}", "JAX"), starts=True),
    Recording(("coming_from.json",), "oracle/record_coming_from.py", "this", ("{0}", "scipy"), starts=True),
    Recording(("example_scores.json",), "oracle/record_sklearn.py", "scikit-learn", (str(GOLDEN / "example_data.npz"), "{0}")),
    Recording(("cupy.json",), "oracle/record_cupy.py", "cupy"),
    Recording(("example_data.npz",), "oracle/collect_example_data.py", "this"),
    Recording(("example_settings.json",), "examples/choose_settings.py", "this", starts=True,
              kept="it holds settings that are chosen, which takes minutes, and scores of this library"),
)

#: Golden data that no recorder writes, and where they come from.
BY_HAND = {
    "storage_types.json": "calls and storage types of the notes on MXNet's storage types, as data",
    "tutorial_blocks.json": "the code blocks of the tutorial \"Sparse NDArrays with Gluon\"",
}

#: Programs beside the recorders: what these import or run, and what records into ``profiles``.
HELPERS = ("oracle/compat_cases.py", "oracle/fix_programs.py", "oracle/recording.py", "oracle/run_programs.py",
           "oracle/write_exports.py")


def name_of(recording: Recording) -> str:
    """What ``--only`` calls it: the file without its ending."""
    return recording.files[0].partition(".")[0]


def missing(recording: Recording, given: dict[str, str]) -> list[str]:
    """The names that ``--with`` has to give for it and has not."""
    wanted = [argument[1:-1] for argument in recording.arguments if argument[1:-1] in (PYTHONS | SOURCES)]
    return sorted({name for name in (recording.python, *wanted) if name != "this" and name not in given})


def trouble_with(name: str, path: str) -> str:
    """What is wrong with what ``--with`` names; nothing if it is right."""
    if name in SOURCES:
        return "" if Path(path).exists() else f"{path} does not exist"
    code = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    wanted = PYTHONS[name][1]
    try:
        done = subprocess.run([path, "-c", code, *wanted], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{path} does not run: {error.strerror}"
    if done.returncode:
        return f"{path} does not have {' and '.join(wanted)}"
    other = {package: found for package, found in json.loads(done.stdout).items() if found.partition("+")[0] != wanted[package]}
    return ", ".join(f"{path} has {package} {found}, not {wanted[package]}" for package, found in other.items())


def record(recording: Recording, given: dict[str, str], folder: Path) -> list[Path]:
    """Run a recorder; gives the files that it wrote into a folder."""
    targets = [folder / name for name in recording.files]
    if recording.starts:
        shutil.copy(GOLDEN / recording.files[0], targets[0])
    places = {**given, **{str(number): str(path) for number, path in enumerate(targets)}, "exports": str(folder / "exports")}
    pythons = {**given, "this": sys.executable}
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if recording.python == "this" else ""}
    if "{exports}" in recording.arguments:
        run([sys.executable, str(ROOT / "tests/oracle/write_exports.py"), places["exports"]],
            {**os.environ, "PYTHONPATH": str(ROOT)}, folder)
    arguments = [places[argument[1:-1]] if argument.startswith("{") else argument for argument in recording.arguments]
    run([pythons[recording.python], str(ROOT / "tests" / recording.script), *arguments], environment, folder)
    return targets


def run(command: list[str], environment: dict[str, str], folder: Path) -> None:
    """Run a program in a folder; raises RuntimeError with the end of what it printed if it fails."""
    done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[1]).name} ended with status {done.returncode}:\n{done.stdout[-2000:]}")


def without(data: Any, keys: tuple[str, ...]) -> Any:
    """JSON data with the values of these keys left out."""
    if isinstance(data, dict):
        return {key: None if key in keys else without(value, keys) for key, value in data.items()}
    return [without(value, keys) for value in data] if isinstance(data, list) else data


def same(recording: Recording, made: Path, committed: Path) -> bool:
    """Whether a file is the committed one: byte for byte, but for values that are other ones on each run."""
    if recording.varies:
        one, other = (without(json.loads(path.read_text(encoding="utf-8")), recording.varies) for path in (made, committed))
        for trace in (one, other):  # threads take turns as they like
            trace["traceEvents"].sort(key=lambda event: json.dumps(event, sort_keys=True))
        return bool(one == other)
    return made.read_bytes() == committed.read_bytes()


def table() -> str:
    """Which file comes from which recorder, and what that needs."""
    rows = [("golden data", "recorder", "needs", "")]
    for recording in RECORDINGS:
        notes = [f"but for {' and '.join(recording.varies)}"] if recording.varies else []
        notes += [f"only when named: {recording.kept}"] if recording.kept else []
        rows.append((", ".join(recording.files), f"tests/{recording.script}", recording.needs, "; ".join(notes)))
    rows += [(name, "by hand", "", why) for name, why in BY_HAND.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)).rstrip() for row in rows]
    needs = [f"  {name:13} {what}" for name, what in [*((name, what) for name, (what, _) in PYTHONS.items()), *SOURCES.items()]]
    return "\n".join([*lines, "", "What --with names:", *needs])


def settle(recording: Recording, made: list[Path], check: bool) -> str:
    """Compare what was recorded with what is committed, or put it there; gives what to say about it."""
    other = [path.name for path in made if not (GOLDEN / path.name).exists() or not same(recording, path, GOLDEN / path.name)]
    if check:
        return f"DIFFERS: {', '.join(other)}" if other else "the same"
    for path in made:
        if path.name in other:
            shutil.copy(path, GOLDEN / path.name)
    return f"changed: {', '.join(other)}" if other else "as before"


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the table and end")
    parser.add_argument("--check", action="store_true", help="compare with what is committed, write nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="golden files, with or without their endings")
    parser.add_argument("--with", dest="given", action="append", metavar="NAME=PATH", default=[],
                        help="a Python or a file that recorders need; see --list")
    options = parser.parse_args()
    if options.list:
        print(table())
        return 0
    known = {name for recording in RECORDINGS for name in (name_of(recording), *recording.files)}
    if unknown := set(options.only) - known:
        parser.error(f"no recorder writes {', '.join(sorted(unknown))}; --list has those that there are")
    given = dict(pair.partition("=")[::2] for pair in options.given)
    for name, path in given.items():
        if name not in PYTHONS | SOURCES:
            parser.error(f"--with knows {', '.join(PYTHONS | SOURCES)}, not {name}")
        if trouble := trouble_with(name, path):
            parser.error(trouble)
    return record_all(options.only, given, options.check)


def record_all(only: list[str], given: dict[str, str], check: bool) -> int:
    """Run the recorders that are asked for, and say what came of each; gives the status."""
    failed, left_out = 0, []
    for recording in RECORDINGS:
        asked = {name_of(recording), *recording.files} & set(only)
        if only and not asked:
            continue
        names = f"{', '.join(recording.files)} ({recording.python})"
        if recording.kept and not asked:
            print(f"{names}: kept, as {recording.kept}", flush=True)
            continue
        if lacks := missing(recording, given):
            left_out.append(f"{names}: needs --with {' and '.join(f'{name}=PATH' for name in lacks)}")
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = settle(recording, record(recording, given, Path(folder)), check)
            except RuntimeError as error:
                said = f"FAILED: {error}"
        failed += said.startswith(("DIFFERS", "FAILED"))
        print(f"{names}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    for line in left_out:
        print(f"left out: {line}")
    return int(bool(failed or left_out))


if __name__ == "__main__":
    sys.exit(main())
