"""What README and other texts take from records of ``sparsekit bench``: ``python tests/readme_tables.py`` writes it anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

EPOCH = "one epoch, row-sparse gradient"
TRAIN_STEP = "sparsekit, batches parsed, TrainStep"

#: Rows of the epoch: text, section and row of the record.
EPOCHS = (
    ("sparsekit, each step one table of compiled calls (`gluon.TrainStep`)", EPOCH, TRAIN_STEP),
    ("sparsekit, the tutorial's code with `hybridize()`", EPOCH, "sparsekit, batches parsed, hybridized"),
    ("sparsekit, the tutorial's code as it is written", EPOCH, "sparsekit, batches parsed"),
    ("PyTorch 2.13 (`EmbeddingBag`, sparse `SGD`), 2 threads", EPOCH, "torch, 2 threads"),
    ("PyTorch 2.13, the same with updates written by hand", EPOCH, "torch, updates by hand"),
    ("JAX 0.10, the whole step one jitted function", EPOCH, "jax"),
    ("numba, the whole step one function written by hand for this network", EPOCH, "numba"),
    ("MXNet 1.9.1, the tutorial's code, LibSVM file read in every epoch", EPOCH, "mxnet"),
    ("sparsekit, the same as MXNet", EPOCH, "sparsekit"),
    ("sparsekit, the same under its own profiler", f"{EPOCH}, under the profiler", "profiler on"),
)

WIDE, COLUMN = "1,024 x 1,000,000, 100 a row, x 128", "{} x 20,216,830, 36 a row, x 1"
GRADIENT = "csrᵀ · dense -> row_sparse"

#: Rows of single operations: text, file and section of the record; the fastest rival is found there.
OPERATIONS = (
    ("csrᵀ · dense → row_sparse, 512 × 20,216,830, 36 a row, × 1", "dot", f"{COLUMN.format(512)}: {GRADIENT}"),
    ("csrᵀ · dense → row_sparse, 1,024 × 1,000,000, 100 a row, × 128", "dot", f"{WIDE}: {GRADIENT}"),
    ("csr · row_sparse, the same", "dot", f"{WIDE}: csr · row_sparse"),
    ("csr · dense, the same", "dot", f"{WIDE}: csr · dense"),
    ("csr · dense, 64 × 20,216,830, 36 a row, × 1", "dot", f"{COLUMN.format(64)}: csr · dense"),
    ("csr · dense, 512 × 20,216,830, 36 a row, × 1", "dot", f"{COLUMN.format(512)}: csr · dense"),
    ("csr · dense, 8,192 × 20,216,830, 36 a row, × 1", "dot", f"{COLUMN.format(8192)}: csr · dense"),
    ("Adam on 10,000 rows of 1,000,000 × 128", "update", "Adam, 1,000,000 x 128, 10,000 rows"),
    ("dense → csr, 2,000 × 5,000, 1 % stored", "convert", "2,000 x 5,000, 1% stored; 100,000 x 128, 1,000 rows: dense -> csr"),
    ("4 × 4 addition", "dispatch", "a + b, both 4 x 4"),
    ("reading 108 MB of LibSVM text in batches", "libsvm", "108 MB, 200,000 x 1,000,000, about 36 values a row"),
)

#: How README names a rival, by the beginning of its name in a record.
RIVALS = {"torch embedding bag": "PyTorch `embedding_bag`", "torch": "PyTorch", "scipy": "scipy", "mkl": "MKL", "jax": "JAX",
          "mxnet": "MXNet", "sklearn": "scikit-learn", "numba": "numba by hand"}

#: Rows of training steps: text, and how the section of the record begins.
MODELS = (
    ("logistic regression, 1,000,000 columns, 40 values per row, batch 1,024", "linear classification"),
    ("factorization machine, 1,000,000 × 16, 39 values per row, batch 1,024", "factorization machine"),
    ("matrix factorization, 1,100,000 × 64, batch 4,096", "matrix factorization"),
    ("wide and deep, 1,000,000 columns and 500,000 × 32, batch 1,024", "wide and deep"),
    ("language model, 200,000 × 256, LSTM 256, batch 32 × 20", "language model: 200,000 x 256, LSTM 256"),
    ("the same, LSTM 1,024 projected to 256", "language model: 200,000 x 256, LSTM 1024"),
)

#: Rows of training to equal quality: text, file, our row, and how README names the others.
EQUAL = (
    ("paragraphs classified, 1,048,576 columns, best of four settings", "sklearn", "sparsekit SparseClassifier",
     {"SGDClassifier": "scikit-learn's `SGDClassifier`", "vw": "Vowpal Wabbit", "torch": "PyTorch",
      "LogisticRegression": "`LogisticRegression`"}),
    ("unseen words of paragraphs ranked, 17,688 words × 32", "ranking", "sparsekit", {"implicit": "implicit"}),
)


def sections(name: str) -> dict[str, dict[str, Any]]:
    """The rows of a record by the heading of their section."""
    record = json.loads((ROOT / "profiles" / f"{name}.json").read_text(encoding="utf-8"))
    return {one["heading"]: {"unit": one["unit"], **one["rows"]} for one in record["sections"]}


def written(value: float, unit: str) -> str:
    """A median with three digits, or two below 10, in a unit that keeps it short."""
    if unit == "µs" and value >= 1000:
        value, unit = value / 1000, "ms"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}" if value >= 10 else f"{value:#.2g} {unit}"


def ratios(rows: dict[str, Any], row: str, other: str) -> tuple[float, list[float]]:
    """A row's median by that of another one, and the same of single rounds, ascending."""
    one, two = rows[row], rows[other]
    return one["median"] / two["median"], sorted(a / b for a, b in zip(one["values"], two["values"], strict=True))


def epochs() -> Iterator[str]:
    """The rows of the tutorial's epoch."""
    found = sections("epoch")
    own = found[EPOCH][TRAIN_STEP]
    for text, section, row in EPOCHS:
        other = found[section][row]
        times = own["median"] / other["median"]
        share = "" if row == TRAIN_STEP else f" {times:.2f}×" if times >= 0.1 else f" {times:.2g}×"
        if row == "jax":
            _, single = ratios(found[EPOCH], TRAIN_STEP, row)
            share += f" ({single[0]:.2f} to {single[-1]:.2f} in single rounds)"
        yield f"| {text} | {written(other['median'], 'ms')} |{share} |"


def rival_name(row: str) -> str:
    """How README names the rival of a row."""
    name = next(text for start, text in RIVALS.items() if row.startswith(start))
    return f"{name} with 2 threads" if row.endswith("2 threads") else name


def operations() -> Iterator[str]:
    """The rows of single operations, each with the fastest rival of its record."""
    for text, file, heading in OPERATIONS:
        rows = dict(sections(file)[heading])
        unit = rows.pop("unit")
        fastest = max if "/s" in unit else min
        medians = {name: row["median"] for name, row in rows.items()}
        ours = next(name for name in rows if name in ("sparsekit", "sparsekit LibSVMIter"))
        rival = fastest((name for name in rows if not name.startswith("sparsekit")), key=medians.__getitem__)
        share = medians[ours] / medians[rival]
        said = f"{share:.1f}× as fast" if "/s" in unit else f"{share:.2f}×"
        yield (f"| {text} | {written(medians[ours], unit)} | {written(medians[rival], unit)}, {rival_name(rival)} | {said} |")


def models() -> Iterator[str]:
    """The rows of training steps, each beside the fastest rival, and with its peak memory by PyTorch's."""
    found = sections("models")
    for text, start in MODELS:
        steps = next(rows for heading, rows in found.items() if heading.startswith(start))
        memory = next(rows for heading, rows in found.items() if heading.startswith(f"peak memory of the process: {start}"))
        medians = {name: steps[name]["median"] for name in ("sparsekit", "torch", "fbgemm", "jax")}
        ours, *theirs = medians.values()
        share = memory["sparsekit"]["median"] / memory["torch"]["median"]
        cells = " | ".join(written(value, "ms") for value in medians.values())
        yield f"| {text} | {cells} | {ours / min(theirs):.2f}× | {share:.2f}× |"


def machines() -> Iterator[str]:
    """The rows of servers and workers on one machine."""
    record = json.loads((ROOT / "profiles" / "dist.json").read_text(encoding="utf-8"))
    trip, push, column, step, wire, _, killed, *beside = (
        {name: written(row["median"], one["unit"]) for name, row in one["rows"].items()} for one in record["sections"])
    rows, whole = wire.values()
    gain, cores, most = re.findall(r"[\d.]+(?= times| cores)", record["sections"][5]["fact"])
    yield f"| one round trip, idle | {next(iter(trip.values()))} |"
    yield f"| a push of 4 MB of rows to AdaGrad, and a pull of one row | {compared(push)} |"
    yield f"| 40,000 × 1 pushed and pulled | {next(iter(column.values()))} |"
    yield f"| a step of 2 workers, 20,000,000 × 1, batch 512 | {compared(step)} |"
    yield f"| bytes on the wire in that step | {rows}; the whole model {whole} |"
    yield f"| 2 workers compared with 1, batch 8,192 | {gain}× the samples per second; {cores} cores allow at most {most}× |"
    yield f"| from `kill -9` of a server to the end of the first step after it | {next(iter(killed.values()))} |"
    for size, (plain, ours) in zip(("100 × 1", "2,000 × 64", "20,000 × 64"), map(dict.values, beside), strict=True):
        yield f"| a step of 2 workers and 2 servers, {size} | {ours}; plain actors of Ray with numpy {plain} |"


def equal() -> Iterator[str]:
    """The rows of training to equal quality, with the times of rivals relative to ours."""
    for text, file, own, others in EQUAL:
        rows = next(iter(sections(file).values()))
        said = []
        for row, name in others.items():
            times, single = ratios(rows, row, own)
            said.append(f"{name} {number(times)}× ({number(single[0])} to {number(single[-1])})")
        yield f"| {text} | {written(rows[own]['median'], 's')} | {'; '.join(said)} |"


def compared(rows: dict[str, str]) -> str:
    """The figure of the first contender, and those of the others behind their names."""
    first, *others = rows.items()
    return "; ".join([first[1], *(f"{name} {figure}" for name, figure in others)])


def lines() -> list[str]:
    """All rows."""
    return [*epochs(), *operations(), *models(), *equal(), *machines()]


def phrases() -> Iterator[tuple[Path, str, str]]:
    """Files, patterns of what stands in their text, and what the records say instead."""
    kernels = sections("epoch")[f"{EPOCH}, by the kernels in use"]
    times, single = ratios(kernels, "kernels in numpy", "kernels by numba")
    said = f"takes {times:.1f} times as long (median of {len(single)} interleaved rounds; {single[0]:.1f} to {single[-1]:.1f} in"
    yield README, r"takes [\d.]+ times as long \(median of \d+ interleaved rounds; [\d.]+ to [\d.]+ in", said
    told = [ratios(rows, "profiler on", "profiler off")[0] for heading, rows in sections("models").items()
            if heading.startswith("under the profiler")]
    yield (ROOT / "sparsekit" / "profiler" / "README.md", r"and [\d.]+ to [\d.]+ times as long under the profiler",
           f"and {min(told):.2f} to {max(told):.2f} times as long under the profiler")
    yield from estimators()


def estimators() -> Iterator[tuple[Path, str, str]]:
    """The same of the tables of estimators."""
    docs = ROOT / "sparsekit" / "docs"
    record = json.loads((ROOT / "profiles" / "sklearn.json").read_text(encoding="utf-8"))
    best, *tasks = record["sections"]
    ours = "sparsekit SparseClassifier"
    found = re.findall(r"([\w ]+): (\d+) passes, [^;]*best ([\d.]+)", best["fact"].replace("; ", ";"))
    facts = {name: (passes, score) for name, passes, score in found}
    for row, text in ((ours, "`SparseClassifier`"), ("SGDClassifier", "`SGDClassifier`"), ("vw", "Vowpal Wabbit"),
                      ("torch", "PyTorch, `EmbeddingBag(sparse=True)` and AdaGrad"),
                      ("LogisticRegression", "`LogisticRegression`")):
        passes, score = facts[row]
        times, single = ratios(best["rows"], row, ours)
        said = "" if row == ours else f"{number(times)}× ({number(single[0])} to {number(single[-1])})"
        word = "iterations" if row == "LogisticRegression" else "pass" if passes == "1" else "passes"
        cells = f"{best['rows'][row]['median']:#.2g} s, {passes} {word} |{f' {said}' if said else ''} | {score}"
        yield docs / "sklearn.md", rf"(?m)^\| {re.escape(text)} \| [^\n]*s, \d+ [^\n]*$", f"| {text} | {cells} |"
    for task, start in zip(tasks, ("essays against stories", "8 classes, one for each author"), strict=True):
        theirs, rate, passes, own = re.search(r"(\d+) passes, accuracy ([\d.]+); .*: (\d+) passes, .*accuracy ([\d.]+)",
                                              task["fact"]).groups()
        times, single = ratios(task["rows"], ours, "SGDClassifier")
        medians = {name: row["median"] for name, row in task["rows"].items()}
        word = "pass" if passes == "1" else "passes"
        row = (f"| {start} | {medians['SGDClassifier']:#.2g} s, {theirs} passes, accuracy {rate} | {medians[ours]:#.2g} s, "
               f"{passes} {word}, accuracy {own} | {times:.2f} ({single[0]:.2f} to {single[-1]:.2f}) |")
        for name in ("sklearn.md", "training_run.md"):
            yield docs / name, rf"(?m)^\| {start} \| [^\n]*$", row


def number(value: float) -> str:
    """A ratio with two digits behind the point, or none from 10 on."""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def label(line: str) -> str:
    """What a row of a table is about."""
    return line.split("|")[1]


def main() -> None:
    """Write the rows and phrases."""
    new = {label(line): line for line in lines()}
    old = README.read_text(encoding="utf-8").splitlines()
    README.write_text("\n".join(new.get(label(line), line) if line.startswith("| ") else line for line in old) + "\n",
                      encoding="utf-8")
    for path, pattern, text in phrases():
        path.write_text(re.sub(pattern, text, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
