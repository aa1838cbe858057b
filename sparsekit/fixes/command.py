"""``sparsekit fix SCRIPT``: run a script, try fixes on its step of training, print what holds, and write the patch."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import DataFileError, ProfilerError, expected
from ..cli import check_writable, exit_status
from ..profiler import Profiler
from ..profiler.table import Table
from .find_step import FoundStep, steps_in
from .observe import COUNTED
from .result import Fixes
from .scripts import Script
from .source import text_of_file
from .trial import TIMEOUT, try_fixes, try_script
from .whole_run import NoSteps, ScriptError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``sparsekit fix``; by default those of the process.

    Returns
    -------
    int
        0, even if no fix holds; if the script fails, its exit status.

    Raises
    ------
    DataFileError
        If the script does not exist, or a file cannot be written.
    ProfilerError
        If the script has no step of training.
    """
    words = _parser().parse_args(argv)
    script: Path = words.script
    if not script.is_file():
        raise DataFileError(f"There is no script {script}.", hint="put options before the script: fix --apply SCRIPT")
    if words.steps < 1:
        raise ProfilerError(expected("--steps", "at least 1", words.steps), hint="leave it out.")
    if words.timeout <= 0:
        raise ProfilerError(expected("--timeout", "a number of seconds above 0", words.timeout), hint="leave it out.")
    words.output = words.output or Path(f"{script.stem}.patch")
    for path in filter(None, (words.output, words.contract)):
        check_writable(path)
    places = [words.output.absolute(), words.contract and words.contract.absolute()]  # the script may change the folder
    try:
        fixes = try_script(Script(script, words.arguments, words.steps, words.timeout), _tell) if _is_torch(script) else None
    except ScriptError as error:
        print(f"{error.trace}No fix was tried: the script ends with this error.", file=sys.stderr)
        return 1
    except NoSteps as error:
        if error.status:
            print(f"error: {error.said}", file=sys.stderr)
            return error.status
        if not _packages_of(script) & SPARSEKIT:
            raise ProfilerError(f"No step of training was found in {script.name}: {error.said}", hint=error.hint) from None
        fixes = None
    if fixes is None:
        with _as_main(script, words.arguments) as names:
            status, profile = _run(script, names)
            if status:
                return status
            step, fixes = _tried(script, names, profile, words.steps)
        print(f"The step is {step.words}.", file=sys.stderr)
    elif fixes.tried.original is not None:
        print(f"The step is {fixes.tried.original.step}.", file=sys.stderr)
    print(fixes.summary() if fixes.refusal else _text(fixes))
    for reason in fixes.tried.unanswered:
        print(f"Left as it is: {reason}")
    _write(fixes, places, words)
    return 0


def _text(fixes: Fixes) -> str:
    """What was tried, for a terminal: the answers stand below the table, as their words are too long for a column."""
    table = fixes.table()
    short = Table.of(table.rows, [(name, name, str) for name in table.columns if name != "answers"])
    answers = [f"{row['fix']}: {str(row['answers']).rstrip('.')}." for row in table if row["answers"]]
    lines = f"\nLines to write by hand:\n{fixes.lines}" if fixes.lines else ""
    tried = [repr(short), "", *answers, ""] if table.rows else []
    return "\n".join([*tried, f"{table.footer}{lines}"])


def _tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


#: Packages of which one is imported by a script that trains with PyTorch, and by one that trains with this library.
TORCH, SPARSEKIT = {"torch", "lightning", "pytorch_lightning", "transformers"}, {"sparsekit", "mxnet"}


def _packages_of(script: Path) -> set[str]:
    """Return the packages that a script imports; none of a script that does not compile, which running it says."""
    try:
        tree = ast.parse(text_of_file(script))
    except (SyntaxError, ValueError):
        return set()
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


def _is_torch(script: Path) -> bool:
    """Whether a script may train with PyTorch: it imports it, or PyTorch is there and it does not import this library."""
    packages = _packages_of(script)
    return bool(packages & TORCH) or (not packages & SPARSEKIT and importlib.util.find_spec("torch") is not None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sparsekit fix", description="Run a script, try fixes on its step of training, each in a process of its own, print "
        "which of them hold, and write them as a patch.  The script itself is changed only with --apply.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="patch to write (default: train.patch for train.py)")
    parser.add_argument("--contract", type=Path, metavar="FILE", help="also write a test that keeps the fixes, for pytest")
    parser.add_argument("--apply", action="store_true", help="change the script")
    parser.add_argument("--steps", type=int, default=3, metavar="N", help="steps that are compared (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS",
                        help="seconds that a process may take (default: %(default)g)")
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="Python script to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="everything after SCRIPT is passed to it")
    return parser


@contextlib.contextmanager
def _as_main(script: Path, arguments: list[str]) -> Iterator[dict[str, Any]]:  # Any: globals
    """A block in which a script is the main module, as with ``python SCRIPT``; gives its globals."""
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    before = sys.argv, sys.path[0], sys.modules["__main__"]
    sys.argv, sys.path[0], sys.modules["__main__"] = [str(script), *arguments], str(script.resolve().parent), module
    try:
        yield vars(module)
    finally:
        sys.argv, sys.path[0], sys.modules["__main__"] = before
        sys.stdout.flush()


def _run(script: Path, names: dict[str, Any]) -> tuple[int, Profiler]:  # Any: globals
    """Run a script under a profiler; its status and the profile."""
    status = 0
    with Profiler() as profile:
        try:
            exec(compile(text_of_file(script), str(script), "exec", dont_inherit=True), names)
        except BaseException as error:
            status = exit_status(error)
    return status, profile


def _tried(script: Path, names: dict[str, Any], profile: Profiler,  # Any: globals
           steps: int) -> tuple[FoundStep, Fixes]:
    """The first step of the script that trains when it is called again, and the fixes of it."""
    first: tuple[FoundStep, Fixes] | None = None
    for candidate in steps_in(str(script), text_of_file(script), names, steps):
        fixes = try_fixes(candidate.step, profile, steps=candidate.calls)
        if first is None:
            first = candidate, fixes
        original = fixes.tried.original
        if original is not None and any(row["lane"] in COUNTED[1:3] for row in original.profile.totals):
            return candidate, fixes
    if first is None:
        raise ProfilerError(f"No step of training was found in {script.name}: nothing calls backward() or a TrainStep.",
                            hint="prof.try_fixes(step) takes any function without arguments.")
    return first


def _write(fixes: Fixes, places: Sequence[Path | None], words: argparse.Namespace) -> None:
    if not fixes.applied:
        return
    patch, contract = places
    if fixes.patch and patch is not None:
        patch.write_text(fixes.patch, encoding="utf-8", newline="")
        print(f"Wrote {words.output}", file=sys.stderr)
    if contract is not None:
        contract.write_text(fixes.contract(), encoding="utf-8")
        print(f"Wrote {words.contract}", file=sys.stderr)
    for path in fixes.apply() if words.apply else ():
        print(f"Changed {path}", file=sys.stderr)
