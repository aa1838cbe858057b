"""The stages of the demo, and the text that it prints."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill

from ..base import machine
from ..base.errors import InsufficientMemoryError
from ..base.formatting import format_bytes
from ..base.tables import text_table
from ..cli import INTERRUPTED
from ..datasets import BookData, load_books
from ..datasets.books import ESSAYISTS
from ..io import save_libsvm
from .compare import MARGIN, conclusion, headline, judge, table, unreliable
from .interrupt import check, stage, stoppable
from .page import Findings, about_data, write
from .settings import Settings, parse
from .training import compare, train_on_all
from .variants import VARIANTS, Variant, needed_memory, needed_together

WIDTH = 100  # characters of a line

PLAN = """\
sparsekit demo: the same model, trained three ways on real text

  1  read paragraphs of eight books that come with sparsekit; no network is used
  2  count their words, hashed into {features:,} features: a sparse data set, saved and read as LibSVM
  3  train on the same batches with dense arrays, with sparse input, and with a row-sparse gradient
  4  check that the losses agree, compare memory and time, write one HTML report

{length}; Ctrl-C stops it without leaving files.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``sparsekit demo``; those of the process by default.

    Returns
    -------
    int
        0 if the losses agree, 1 if they do not, 130 after Ctrl-C.

    Raises
    ------
    InsufficientMemoryError
        If even the smallest variant does not fit the free memory.
    """
    settings = parse(argv)
    try:
        with stoppable():
            return _run(settings)
    except KeyboardInterrupt:
        print(f"\nInterrupted: nothing was written to {settings.output}.", file=sys.stderr)
        return INTERRUPTED


def _run(settings: Settings) -> int:
    start = time.monotonic()
    length = "Takes some seconds" if settings.units * settings.features < 2**24 else "Takes about half a minute"
    _say(PLAN.format(features=settings.features, length=length))
    free = machine.available_memory()
    chosen, skipped = _fitting(settings, free)
    with _folder(settings.output) as folder:
        data = load_books(settings.features, ESSAYISTS, pairs=True, seed=settings.seed)
        train_path, test_path = _save(data, folder)
        _say(wrapped(f"Data: {about_data(data, settings)}"), "")
        settings = settings._replace(batches=min(settings.batches, math.ceil(len(data.train.label) / settings.batch_size)))
        with stage("first batches", settings.batches * len(chosen)) as advance:
            together = free is None or needed_together(chosen, settings) <= free
            outcomes, others = compare(chosen, train_path, settings, advance, together)
        with stage("row-sparse, all data", settings.epochs) as advance:
            trained = train_on_all(VARIANTS[-1], train_path, test_path, settings, advance)
        outcomes[-1] = outcomes[-1]._replace(gradient=trained.gradient, rows=trained.rows)
        verdict, share = judge(outcomes), float(data.test.label.mean())
        warning = unreliable(outcomes, others)
        findings = Findings(settings, data, outcomes, skipped, verdict, trained, max(share, 1 - share), warning,
                            conclusion(outcomes, verdict.same, timed=not warning))
        _print_findings(findings)
        write(folder, findings)
        if not settings.keep_data:
            os.unlink(train_path)
            os.unlink(test_path)
    took = "" if warning else f"; the demo took {time.monotonic() - start:.0f} s"
    _say(f"Report: {settings.output / 'report.html'} (open it in a browser; it needs no network)",
         f"        with traces and results.json beside it{took}.")
    return 0 if verdict.same else 1


def wrapped(text: str) -> str:
    """Break text into lines, but not between a number and its unit."""
    kept = re.sub(r"(?<=\d) (?=(?:%|[kMGT]?B|ns|µs|ms|s|min|h)(?!\w))", "\xa0", text)
    return fill(kept, WIDTH).replace("\xa0", " ")


def _say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


# --------------------------------------------------------------------------- memory


def _fitting(settings: Settings, free: int | None) -> tuple[list[Variant], list[str]]:
    """Print the memory that each variant needs; return those that fit, and why others are skipped."""
    chosen, skipped = [], []
    free_text = "unknown on this system" if free is None else format_bytes(free)
    _say(f"Memory: {free_text} free; each variant needs")
    for variant in VARIANTS:
        needs = needed_memory(variant, settings)
        total = sum(needs.values())
        parts = " + ".join(f"{part} {format_bytes(size)}" for part, size in needs.items())
        _say(f"  {variant.name:<20} {format_bytes(total):>8} = {parts}")
        if variant.key == "dense" and not settings.dense:
            skipped.append("The dense variant was left out because of --no-dense.")
        elif free is not None and total > free:
            skipped.append(_too_large(variant, settings, total, free))
        else:
            chosen.append(variant)
    _say("", *(wrapped(f"Skipped: {reason}") for reason in skipped), *([""] if skipped else []))
    if not any(variant.key == "row_sparse" for variant in chosen):
        raise InsufficientMemoryError(
            f"The weight alone needs {format_bytes(needed_memory(VARIANTS[-1], settings)['weight'])}, and "
            f"{free_text} of memory is free.", hint=_smaller_size(VARIANTS[-1], settings, free or 0))
    return chosen, skipped


def _too_large(variant: Variant, settings: Settings, total: int, free: int) -> str:
    return (f"{variant.name} needs {format_bytes(total)} of memory, and {format_bytes(free)} is free; "
            f"{_smaller_size(variant, settings, free)}")


def _smaller_size(variant: Variant, settings: Settings, free: int) -> str:
    """Suggest sizes with which a variant fits into memory."""
    units = settings.units
    while units > 1 and sum(needed_memory(variant, settings._replace(units=units)).values()) > free:
        units //= 2
    if sum(needed_memory(variant, settings._replace(units=units)).values()) <= free:
        return f"--units {units} would fit."
    return "try fewer --features, or a machine with more memory."


# --------------------------------------------------------------------------- work


@contextmanager
def _folder(output: Path) -> Iterator[Path]:
    """Yield a hidden folder beside ``output``, whose files are moved to ``output`` if the block succeeds."""
    work = Path(tempfile.mkdtemp(prefix=f".{output.name}.", suffix=".part", dir=output.resolve().parent))
    try:
        yield work
        check()
        mask = os.umask(0)
        os.umask(mask)
        work.chmod(0o777 & ~mask)  # mkdtemp creates it with mode 700
        if not output.exists():
            os.rename(work, output)
        else:
            for path in sorted(work.iterdir()):
                os.replace(path, output / path.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _save(data: BookData, folder: Path) -> tuple[str, str]:
    """Write training and test data as LibSVM files and return their paths."""
    paths = []
    with stage("writing LibSVM", 2) as advance:
        for name, part in (("train", data.train), ("test", data.test)):
            paths.append(str(folder / f"{name}.libsvm"))
            save_libsvm(paths[-1], part.data, part.label)
            advance(name)
    return paths[0], paths[1]


def _print_findings(findings: Findings) -> None:
    """Print the table, the verdict, the accuracy and the conclusion."""
    columns, rows = table(findings.outcomes, timed=not findings.warning)
    number, words = headline(findings.outcomes)
    _say(wrapped(f"{number}: {words}."), "", text_table(columns, rows), "", wrapped(findings.verdict.text), "")
    if findings.warning:
        _say(wrapped(f"No times: {findings.warning}"), "")
    right, baseline = findings.trained.accuracies[-1], findings.baseline
    words = f"Trained on all the data, the model classifies {100 * right:.1f} % of the test data correctly; predicting the "
    words += f"majority class is correct for {100 * baseline:.1f} %"
    words += "." if right >= baseline + MARGIN else ", which the model does not clearly beat: train longer, with --epochs."
    _say(wrapped(words), "", wrapped(findings.conclusion), "")
