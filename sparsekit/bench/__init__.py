"""``sparsekit bench``: how fast this library is on this machine, and beside PyTorch and MXNet where they are given.

    sparsekit bench epoch                                 own figures
    sparsekit bench dispatch --rival torch=PYTHON         beside PyTorch, run by another Python
    sparsekit bench gpu --rival cupy=PYTHON --rival torch=PYTHON --json profiles/gpu.json     on a GPU
    sparsekit bench variants --json profiles/variants.json    the tutorial's three variants, and their traces
    sparsekit bench report                                a page of all figures kept in profiles
    sparsekit bench import --rival torch=PYTHON --rival mxnet=PYTHON --json figures.json

Every figure is a median over rounds in which all contenders take turns, so that a change in the machine's speed
falls on all of them alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import SparsekitError, UnknownNameError
from . import arrays, crossover, dispatch, epoch, gpu, harness, importing, libsvm, models, page, update, variants

__all__ = ["main"]

BENCHES: dict[str, Callable[[dict[str, str], int, bool], Any]] = {
           "epoch": epoch.run, "dispatch": dispatch.run, "import": importing.run, "dot": arrays.dot,
           "convert": arrays.convert, "crossover": crossover.run, "update": update.run, "libsvm": libsvm.run,
           "models": models.run, "gpu": gpu.run, "variants": variants.run}  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sparsekit bench", description="Measure sparsekit, alone or beside rivals.")
    parser.add_argument("bench", choices=[*BENCHES, "report"],
                        help="what to measure; `report` renders what was measured, see `sparsekit bench report --help`")
    parser.add_argument(
        "--rival", action="append", default=[], metavar="NAME=PYTHON",
        help=f"a rival ({', '.join(harness.RIVALS)}) and the Python executable that has it; may be repeated",
    )  # fmt: skip
    parser.add_argument("--rivals", type=Path, default=harness.RIVALS_FOLDER, metavar="FOLDER",
                        help=f"the folder with the scripts that run rivals (default: {harness.RIVALS_FOLDER})")
    parser.add_argument("--rounds", type=int, default=0, help="rounds in which everybody takes a turn")
    parser.add_argument("--json", metavar="FILE", help="also write every figure to this file")
    parser.add_argument("--quick", action="store_true", help="a small workload and few rounds: does it run at all?")
    return parser


def _rivals(given: Sequence[str]) -> dict[str, str]:
    """Split ``NAME=PYTHON`` arguments; an unknown name is an error."""
    rivals = {}
    for text in given:
        name, _, python = text.partition("=")
        if name not in harness.RIVALS:
            raise UnknownNameError.of("rival", name, harness.RIVALS)
        if not python:
            raise SparsekitError(
                f"--rival must be {name}=PYTHON, got {text}.", hint=f"write --rival {name}=/path/to/python, with {name} in it."
            )
        rivals[name] = python
    return rivals


def main(argv: Sequence[str] | None = None) -> int:
    """Run one bench and print its table.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``sparsekit bench``; those of the process by default.

    Returns
    -------
    int
        0; a failed measurement raises ``SparsekitError``.
    """
    words = list(sys.argv[2:] if argv is None else argv)
    if words[:1] == ["report"]:
        return page.main(words[1:])
    options = _parser().parse_args(words)
    harness.RIVALS_FOLDER = options.rivals
    report = BENCHES[options.bench](_rivals(options.rival), options.rounds, options.quick)
    print(report.text())
    if options.json:
        report.save(options.json)
    return 0
