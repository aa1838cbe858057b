"""``sparsekit bench``: the speed and memory use of this library on this machine, alone or compared with other libraries.

    sparsekit bench epoch                                 this library alone
    sparsekit bench dispatch --rival torch=PYTHON         compared with PyTorch, run by another Python
    sparsekit bench gpu --rival cupy=PYTHON --rival torch=PYTHON --json profiles/gpu.json     on a GPU
    sparsekit bench variants --json profiles/variants.json    the tutorial's three variants, and their traces
    sparsekit bench report                                a page of all figures in profiles
    sparsekit bench import --rival torch=PYTHON --rival mxnet=PYTHON --json figures.json

Every time is a median over interleaved rounds of all contenders, so that a change in the speed of the machine affects all
of them.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from ..base.errors import SparsekitError, UnknownNameError
from ..cli import check_writable
from . import harness, page
from .benches import BENCHES

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    benches = [textwrap.fill(f"{name:<11}{bench.what}", 79, initial_indent="  ",
                             subsequent_indent=" " * 13) for name, bench in BENCHES.items()]
    parser = argparse.ArgumentParser(
        prog="sparsekit bench", description="Measure sparsekit, alone or compared with other libraries.",
        epilog="\n".join(["benches:", *benches]), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", choices=[*BENCHES, "report"],
                        help="what to measure; `report` makes a page of saved figures, see `sparsekit bench report --help`")
    parser.add_argument(
        "--rival", action="append", default=[], metavar="NAME=PYTHON",
        help=f"a library to compare with ({', '.join(harness.RIVALS)}) and the Python that has it; may be repeated",
    )  # fmt: skip
    parser.add_argument("--rivals", type=Path, default=harness.RIVALS_FOLDER, metavar="FOLDER",
                        help=f"folder with the scripts that run the rivals (default: {harness.RIVALS_FOLDER})")
    parser.add_argument("--rounds", type=int, default=0,
                        help="number of interleaved measurements of each library (default: depends on the bench)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to this file")
    parser.add_argument("--quick", action="store_true", help="small workloads and few rounds, to try whether a bench runs")
    return parser


def _rivals(texts: Sequence[str]) -> dict[str, str]:
    """Split ``NAME=PYTHON`` arguments, and raise ``UnknownNameError`` for an unknown name."""
    rivals = {}
    for text in texts:
        name, _, python = text.partition("=")
        if name not in harness.RIVALS:
            raise UnknownNameError.of("rival", name, harness.RIVALS)
        if not python:
            raise SparsekitError(
                f"--rival must be {name}=PYTHON, got {text}.",
                hint=f"write --rival {name}=/path/to/python, a Python that can import {name}.",
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
        0.

    Raises
    ------
    SparsekitError
        If a measurement fails, a rival computes another result, or the file of ``--json`` cannot be written.
    """
    words = list(sys.argv[2:] if argv is None else argv)
    if words[:1] == ["report"]:
        return page.main(words[1:])
    options = _parser().parse_args(words)
    harness.RIVALS_FOLDER = options.rivals
    if options.json:
        check_writable(options.json)
    report = BENCHES[options.bench](_rivals(options.rival), options.rounds, options.quick)
    print(report.text())
    if options.json:
        report.save(options.json)
    return 0
