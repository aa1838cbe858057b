"""Plants small faults and asks whether the tests notice.

    python tests/mutation/mutate.py --map calls.json                      # once: which test calls which function (20 minutes)
    python tests/mutation/mutate.py --map calls.json --count 40 --seed 1 --report report.json
    python tests/mutation/mutate.py --map calls.json --part trainer --count 40 --seed 1 --report report.json
    python tests/mutation/mutate.py --part io --count 20 --seed 1 --report report.json    # with the test files of the part
    python tests/mutation/mutate.py --map calls.json --only 3f2a --report report.json     # one mutant again
    python tests/mutation/mutate.py --summary --report report.json
    python tests/mutation/mutate.py --fitting --report report.json        # without what is out of date

Lines are drawn by seed over all lines of a part that can hold a fault, and one fault for each line.  Each mutant runs in a
copy of the repository: first the tests nearest to the function, which few others call, then all tests that call it, then
the test files of its part.  Results are added to the report at once, and mutants that are in it are not run again.

Verdicts are ``killed`` (by a failing test that passes without the fault), ``timed out`` (the fault makes a test run for
ever), ``survived``, and ``equivalent``: either the byte code is the same, or ``equivalent.json`` gives a reason.  The record
of the last runs is ``tests/mutation/record.json``.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import contextlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from mutants import Mutant, is_equivalent, mutants  # noqa: E402

#: The parts of the library: patterns of files, and the tests of last resort.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ops": (("sparsekit/ops/**/*.py",), ("tests/core/test_storage_table.py", "tests/ndarray")),
    "kernels": (("sparsekit/kernels/**/*.py",), ("tests/kernels", "tests/gpu/test_grids.py", "tests/gpu/test_rows.py")),
    "storage": (("sparsekit/storage/*.py",), ("tests/storage", "tests/ndarray/test_ops_golden.py", "tests/core/test_huge.py",
                                              "tests/ndarray/test_constructors.py", "tests/faults/test_doors.py")),
    "optimizer": (("sparsekit/optimizer/*.py",), ("tests/optimizer", "tests/examples/test_same_as_mxnet.py")),
    "trainer": (("sparsekit/gluon/trainer*.py",), ("tests/gluon/test_trainer.py", "tests/examples/test_same_as_mxnet.py",
                                                   "tests/kvstore")),
    "profiler": (("sparsekit/profiler/*.py",), ("tests/profiler", "tests/dist/test_profile.py")),
    "figures": (("sparsekit/figures/*.py",), ("tests/figures",)),
    "fixes": (("sparsekit/fixes/**/*.py",), ("tests/fixes",)),
    "io": (("sparsekit/io/*.py",), ("tests/io",)),
    "module": (("sparsekit/module/*.py", "sparsekit/compat/module/*.py"),
               ("tests/module", "tests/compat", "tests/test_callback.py", "tests/dist/test_module.py")),
    "gluon": (tuple(f"sparsekit/gluon/{place}*.py" for place in ("", "nn/", "rnn/", "loss/", "data/")),
              ("tests/gluon", "tests/steps", "tests/examples", "tests/dist/test_trainer.py")),
}

#: Files of which Python runs little unless kernels are compiled, or that have tests of their own: these come first, compiled.
AROUND_KERNELS = {f"sparsekit/kernels/cpu/{name}": [*tests.split()] for name, tests in {
    "checksum.py": "tests/kernels/test_checksum.py",
    "intrinsics.py": "tests/kernels/test_thread_pool.py tests/kernels/test_concurrency.py",
    "jit.py": "tests/kernels/test_jit.py tests/kernels/test_concurrency.py tests/faults/test_environment.py",
    "kept.py": "tests/kernels/test_jit.py tests/faults/test_environment.py",
    "libsvm_read.py": "tests/io/test_libsvm.py",
    "thread_pool.py": "tests/kernels/test_thread_pool.py tests/kernels/test_concurrency.py",
    "warm.py": "tests/kernels/test_jit.py",
}.items()}

#: What the map is made from: the arguments of one run of pytest each.
MAPPED = (
    "tests/optimizer", "tests/profiler", "tests/gluon", "tests/core", "tests/ndarray", "tests/storage", "tests/kernels",
    "tests/test_autograd.py tests/compat tests/test_bad_input.py tests/module/test_golden.py tests/io tests/metric",
    "tests/symbol", "tests/gpu", "tests/fixes", "tests/figures",
)

#: What is run once more with kernels as plain Python, where one can see which kernel calls which.
INTERPRETED = ("tests/optimizer tests/kernels/test_activation.py tests/core/test_storage_table.py "
               "tests/ndarray/test_sparse_surface.py tests/ndarray/test_sparse_places.py tests/ndarray/test_rnn.py tests/io")

#: Mutants, by name, that no test can tell from the program, with the reason.
EQUIVALENT = HERE / "equivalent.json"

#: Folders that hold no test of these parts, and are not copied.
NOT_COPIED = ("tests/browser", "tests/mxnet_docs", ".git")

#: Seconds of tests, as measured, that are tried first and second.
NEAR, WIDE, QUICK = 5.0, 120.0, 15.0

#: Seconds that pytest may take for each.
LIMITS = {"near": 60, "around": 150, "wide": 400, "part": 900}

#: So many files are tried first, of at most so many tests: collecting thousands takes seconds.
FILES, LARGE = 4, 2000


# -- Which tests concern a function -----------------------------------------------------------------------------------


def write_map(path: Path) -> None:
    """Run the suite once, and write down which tests call which function."""
    tests: list[tuple[str, float]] = []
    functions: dict[str, list[int]] = collections.defaultdict(list)
    folders = os.pathsep.join(("sparsekit/ops", "sparsekit/compat", "sparsekit/kernels", "sparsekit/storage",
                               "sparsekit/optimizer", "sparsekit/gluon", "sparsekit/profiler", "sparsekit/fixes",
                               "sparsekit/figures", "sparsekit/io", "sparsekit/module"))
    with tempfile.TemporaryDirectory() as folder:
        for number, arguments in enumerate((*MAPPED, INTERPRETED)):
            part = Path(folder, f"{number}.json")
            environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}", "MUTATION_MAP": str(part),
                           "MUTATION_FOLDERS": folders, **({"NUMBA_DISABLE_JIT": "1"} if arguments == INTERPRETED else {})}
            subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "call_map", "-p", "no:cacheprovider", "--timeout=60",
                            *arguments.split()], cwd=ROOT, env=environment, check=False)
            if part.exists():
                join(json.loads(part.read_text(encoding="utf-8")), tests, functions)
    path.write_text(json.dumps({"tests": tests, "functions": functions}), encoding="utf-8")


def join(found: dict[str, Any], tests: list[tuple[str, float]], functions: dict[str, list[int]]) -> None:
    """Add one run's map to another."""
    offset = len(tests)
    tests += [(name, seconds) for name, seconds in found["tests"]]
    for name, numbers in found["functions"].items():
        functions[name] += [offset + n for n in numbers]


class Map:
    """Which tests call which function."""

    def __init__(self, path: Path | None) -> None:
        found = json.loads(path.read_text()) if path else {"tests": [], "functions": {}}
        self.names = [name for name, _ in found["tests"]]
        self.seconds = [seconds for _, seconds in found["tests"]]
        self.functions: dict[str, list[int]] = found["functions"]
        self.sizes = collections.Counter(name.split("::")[0] for name in self.names)
        self.calls: collections.Counter[int] = collections.Counter(n for some in self.functions.values() for n in some)
        self.by_name: dict[str, set[int]] = collections.defaultdict(set)
        self.in_file: dict[str, list[tuple[int, str]]] = collections.defaultdict(list)
        for name, numbers in self.functions.items():
            function, _, line = name.rpartition(":")
            self.by_name[function].update(numbers)
            self.in_file[function.split("::")[0]].append((int(line), name))
        for some in self.in_file.values():
            some.sort()

    def near(self, mutant: Mutant, words: Iterable[str]) -> list[int]:
        """The tests that concern a mutant, the nearest first."""
        functions = [(line, name) for line, name in mutant.scope if not name.endswith("\0")]
        direct: set[int] = set()
        for line, name in reversed(functions):
            direct = set(self.functions.get(f"{mutant.path}::{name}:{line}") or self.by_name.get(f"{mutant.path}::{name}") or ())
            if direct:
                break
        # What a declaration computes is remembered from one test to the next: also the tests that name what it declares,
        # those that call the functions in it, and those that call others of the file.
        first, last = mutant.statement
        lines = self.in_file.get(mutant.path, [])
        low, high = bisect.bisect_left(lines, (first, "")), bisect.bisect_right(lines, (last, "\U0010ffff"))
        inside = {n for _, name in lines[low:high] for n in self.functions[name]}
        wanted = {word for word in words if len(word) > 2} - {"default", "csr", "row_sparse"}
        declared = not functions or functions[0][1] == "<lambda>"
        named = {n for n, test in enumerate(self.names)
                 if "[" in test and wanted & set(re.split(r"[^\w.]+|-", test.split("[", 1)[1]))} if declared else set()
        around = {n for _, name in lines for n in self.functions[name][::25]}
        found: list[int] = []
        for group in (direct, named, inside, around):
            found += self._ordered(group.difference(found))
        return found

    def _ordered(self, numbers: Iterable[int]) -> list[int]:
        """Turn by turn from each test file, those first that call few functions."""
        files: dict[str, list[int]] = collections.defaultdict(list)
        for number in sorted(numbers, key=lambda n: (self.calls[n], self.seconds[n], n)):
            files[self.names[number].split("::")[0]].append(number)
        queues = sorted(files.values(), key=lambda queue: self.calls[queue[0]])
        longest = max(map(len, queues), default=0)
        return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]

    def chosen(self, numbers: Iterable[int], seconds: float, most: int, without: set[str], files: int | None = None) -> list[str]:
        """As many of these as fit into some seconds, from at most so many files that are collected quickly."""
        picked: list[str] = []
        opened: set[str] = set()
        for number in numbers:
            if self.names[number] in without or self.seconds[number] > seconds:
                continue
            file = self.names[number].split("::")[0]
            if files is not None and (self.sizes[file] > LARGE or (len(opened) == files and file not in opened)):
                continue
            opened.add(file)
            seconds -= self.seconds[number] + 0.01
            picked.append(self.names[number])
            if len(picked) == most:
                break
        return picked


# -- Running ----------------------------------------------------------------------------------------------------------


class Copy:
    """A copy of the repository in which one file at a time has a fault."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                                capture_output=True).stdout.decode().split("\0")
        for name in filter(None, listed):
            if not name.startswith(NOT_COPIED) and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        compiled = Path("sparsekit", "kernels", "cpu", "__pycache__")  # kernels are kept by what their sources say
        if (ROOT / compiled).is_dir():
            shutil.copytree(ROOT / compiled, folder / compiled)
        self.good: set[str] = set()  # tests that were seen to pass without a fault
        self.bad: set[str] = set()   # tests that fail without one, here

    def run(self, tests: list[str], limit: float, compiled: bool = True) -> tuple[int | None, str]:
        """The exit status of pytest, ``None`` if it took too long, and what it printed last."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "NUMBA_CACHE_DIR": str(self.folder / ".kernels")}
        if not compiled:
            environment["NUMBA_DISABLE_JIT"] = "1"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:nbval",
                   "--override-ini=addopts=--import-mode=importlib", f"--timeout={limit:.0f}", *tests]
        process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        try:
            text, _ = process.communicate(timeout=limit + 20)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return (None if "Failed: Timeout" in text else process.returncode), text

    def put(self, path: str, text: str) -> None:
        """Write a source file, and forget its byte code."""
        file = self.folder / path
        file.write_text(text)
        for stale in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
            stale.unlink()


def failed_test(text: str) -> str:
    """The first test that pytest says failed."""
    found = re.search(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", text, re.MULTILINE)
    return found[1] if found else ""


def examine(copy: Copy, calls: Map, mutant: Mutant, source: str, part: str, quick: bool,
            wanted: str | None = None) -> dict[str, Any]:
    """Run the tests that concern a mutant until one fails; a quick look leaves out the test files of its part.

    ``wanted`` are arguments of pytest to run in the place of all that.
    """
    words = set(re.findall(r'"(\w+)"', " ".join(source.splitlines()[mutant.statement[0] - 1:mutant.statement[1]])))
    numbers = calls.near(mutant, words)
    around = AROUND_KERNELS.get(mutant.path, [])
    kernels = part == "kernels" and "/gpu/" not in mutant.path and not around
    copy.put(mutant.path, mutant.applied(source))
    tried: set[str] = set()
    try:
        for stage, seconds, most in (("near", NEAR, 30), ("wide", WIDE, 400), ("part", 0.0, 0)):
            if wanted:
                tests = shlex.split(wanted) if stage == "wide" else []
            elif stage == "part":
                tests = [*PARTS[part][1]]
            elif around:
                tests = around if stage == "near" else []
            else:
                seconds = min(seconds, QUICK) if quick else seconds
                tests = calls.chosen(numbers, seconds, most, copy.bad | tried, FILES if stage == "near" else None)
            if not tests or (quick and stage == "part"):
                continue
            compiled = not kernels or stage == "part" or bool(wanted)
            limit = LIMITS["around" if around and stage == "near" else stage]
            verdict, test = attempt(copy, mutant, source, tests, limit, compiled)
            if verdict:
                return {"verdict": verdict, "stage": stage, "by": test}
            tried |= set(tests)
    finally:
        copy.put(mutant.path, source)
    return {"verdict": "survived"}


def attempt(copy: Copy, mutant: Mutant, source: str, tests: list[str], limit: float, compiled: bool) -> tuple[str, str]:
    """What these tests say of a mutant; a failure counts if the test passes without the fault."""
    for _ in range(5):
        status, text = copy.run(tests, limit, compiled)
        if status is None:
            copy.put(mutant.path, source)
            without, _ = copy.run(tests, limit, compiled)
            copy.put(mutant.path, mutant.applied(source))
            return ("timed out", "") if without is not None else ("", "")
        if status == 0:
            return "", ""
        test = failed_test(text)
        if "ERROR: file or directory not found" in text:
            raise SystemExit(text)
        gone = {place.split(f"{copy.folder}/")[-1] for place in re.findall(r"^ERROR: not found: (.+)$", text, re.MULTILINE)}
        if status == 4 and gone and set(tests) - gone:  # names that hold an address, or that the fault has changed
            copy.bad |= gone
            tests = [name for name in tests if name not in gone]
            continue
        if status in (4, 5) or not test:  # tests that are gone, or cannot be collected: ask their files
            if any("::" in name for name in tests):
                tests = sorted({name.split("::")[0] for name in tests}, key=tests.count)[:1]
                continue
            last = [line for line in text.splitlines() if line.strip()][-1:]
            return ("killed", (last[0] if last else "pytest died")[:100]) if status not in (0, 5) else ("", "")
        if test not in copy.good:
            copy.put(mutant.path, source)
            without, _ = copy.run([test], limit, compiled)
            copy.put(mutant.path, mutant.applied(source))
            if without != 0:
                copy.bad.add(test)
                tests = [name for name in tests if name != test and not name.startswith(test.split("::")[0] + "\0")]
                if not any("::" in name for name in tests):
                    tests = [*tests, f"--deselect={test}"]
                continue
            copy.good.add(test)
        return "killed", test
    return "", ""


# -- Drawing and telling ----------------------------------------------------------------------------------------------


def everything(part: str) -> Iterator[tuple[Mutant, str]]:
    """Every fault of a part, with the file's text."""
    for pattern in PARTS[part][0]:
        for file in sorted(ROOT.glob(pattern)):
            path, source = str(file.relative_to(ROOT)), file.read_text()
            if file.name != "samples.py":  # inputs of tests
                yield from ((mutant, source) for mutant in mutants(path, source))


def drawn(part: str, seed: int) -> list[tuple[Mutant, str]]:
    """All lines of a part in the order of the seed, with one fault for each."""
    lines: dict[tuple[str, int], list[tuple[Mutant, str]]] = collections.defaultdict(list)
    for mutant, source in everything(part):
        lines[mutant.path, mutant.line].append((mutant, source))
    generator = random.Random(f"{seed} {part}")
    order = sorted(lines)
    generator.shuffle(order)
    return [generator.choice(lines[place]) for place in order]


def load(report: Path | None) -> dict[str, Any]:
    """The report so far."""
    return json.loads(report.read_text()) if report and report.exists() else {}


def save(report: Path | None, results: dict[str, Any]) -> None:
    """Write the report in one step."""
    if report:
        partial = report.with_suffix(".tmp")
        partial.write_text(json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        partial.replace(report)


def is_there(test: str) -> bool:
    """Whether a test that killed a mutant is still there; what is no test's name, such as the error of an import, counts."""
    path, _, name = test.partition("::")
    if not name:
        return True
    function = name.split("[")[0].rpartition("::")[2]
    return (ROOT / path).is_file() and f"def {function}(" in (ROOT / path).read_text()


def summary(results: dict[str, Any]) -> str:
    """What was caught in each part, and the survivors."""
    rows = [f"{'part':<10} {'drawn':>6} {'killed':>7} {'timed out':>10} {'equivalent':>11} {'survived':>9} {'caught':>8}"]
    for part in PARTS:
        verdicts = collections.Counter(r["verdict"] for r in results.values() if r["part"] == part)
        counted = verdicts["killed"] + verdicts["timed out"] + verdicts["survived"]
        share = f"{(counted - verdicts['survived']) / counted:.1%}" if counted else "–"
        rows.append(f"{part:<10} {sum(verdicts.values()):>6} {verdicts['killed']:>7} {verdicts['timed out']:>10} "
                    f"{verdicts['equivalent']:>11} {verdicts['survived']:>9} {share:>8}")
    for name, result in sorted(results.items(), key=lambda item: (item[1]["path"], item[1]["line"])):
        if result["verdict"] == "survived" or (result["verdict"] == "equivalent" and result.get("reason")):
            rows.append(f"{name} {result['path']}:{result['line']} {result['kind']}: {result['before']} → {result['after']}"
                        f"  [{result['verdict']}] {result.get('reason', '')}")
    return "\n".join(rows)


def main() -> int:
    """Draw, run and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--map", type=Path, help="file that says which test calls which function, made if it is missing; "
                        "without it, the tests of the part run")
    parser.add_argument("--part", choices=PARTS, action="append", help="only these parts")
    parser.add_argument("--count", type=int, default=40, help="mutants for each part, without equivalent ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no mutant after so many minutes")
    parser.add_argument("--report", type=Path, help="file that results are added to")
    parser.add_argument("--only", help="run the mutants whose names begin so, whatever the report says")
    parser.add_argument("--tests", help="with --only: arguments of pytest to run, such as 'tests/ndarray -k dot'")
    parser.add_argument("--again", action="store_true", help="run drawn mutants that survived once more")
    parser.add_argument("--quick", action="store_true", help="only tests that the map names, not all of the part")
    parser.add_argument("--list", action="store_true", help="print what would be run")
    parser.add_argument("--fitting", action="store_true", help="drop from the report what fits no line of today's code, and "
                        "what was killed by a test that is gone")
    parser.add_argument("--summary", action="store_true", help="print what the report says")
    asked = parser.parse_args()
    results = load(asked.report)
    if asked.fitting:
        names = {mutant.name for part in PARTS for mutant, _ in everything(part)}
        results = {name: result for name, result in results.items() if name in names and is_there(result.get("by", ""))}
        save(asked.report, results)
    if asked.summary or asked.fitting:
        print(summary(results))
        return 0
    if not asked.list and asked.map is not None and not asked.map.exists():
        write_map(asked.map)
    end = time.monotonic() + 60 * asked.minutes
    reasons = load(EQUIVALENT)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = calls = None
        for part in asked.part or PARTS:
            counted = 0
            for mutant, source in everything(part) if asked.only else drawn(part, asked.seed):
                if counted >= asked.count or time.monotonic() > end:
                    break
                before = results.get(mutant.name)
                if asked.only:
                    wanted = mutant.name.startswith(asked.only)
                else:
                    wanted = before is None or (asked.again and before["verdict"] == "survived")
                counted += not asked.only and (before is None or before["verdict"] != "equivalent")
                if asked.list:
                    print(mutant.name, f"{mutant.path}:{mutant.line} {mutant.kind}: {mutant.before} → {mutant.after}")
                if asked.list or not wanted:
                    continue
                start = time.monotonic()
                entry = {"part": part, "path": mutant.path, "line": mutant.line, "kind": mutant.kind,
                         "before": mutant.before, "after": mutant.after}
                seed = (before or {}).get("seed") if asked.only else asked.seed
                entry |= {"seed": seed} if seed is not None else {}
                if mutant.name in reasons or is_equivalent(source, mutant.applied(source)):
                    counted -= 1
                    entry["verdict"] = "equivalent"
                    entry |= {"reason": reasons[mutant.name]} if mutant.name in reasons else {}
                else:
                    if copy is None or calls is None:
                        copy, calls = Copy(Path(folder)), Map(asked.map)
                    entry |= examine(copy, calls, mutant, source, part, asked.quick, asked.tests)
                results[mutant.name] = entry
                save(asked.report, results)
                print(f"{mutant.name} {mutant.path}:{mutant.line} {mutant.kind}: {mutant.before!r} → {mutant.after!r}: "
                      f"{entry['verdict']} {entry.get('stage', '')} {entry.get('by', '')} "
                      f"({time.monotonic() - start:.0f} s)", flush=True)
    print(summary(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
