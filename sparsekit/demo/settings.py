"""The settings of the demo and its command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..base.errors import DataFileError, ShapeError, expected

LEARNING_RATE = 1.0


class Settings(NamedTuple):
    """One run of the demo.

    Attributes
    ----------
    output : Path
        Folder to write to, created if it is missing.
    features, units, batch_size : int
        Sizes of the model and of a batch.
    batches : int
        Number of batches to compare over.
    epochs : int
        Number of training epochs on all the data.
    seed : int
    quick, dense, keep_data : bool
        Whether ``--quick`` was given, to train the dense variant, and to keep the LibSVM files.
    """

    output: Path
    features: int = 2**20
    units: int = 64
    batch_size: int = 64
    batches: int = 10
    epochs: int = 5
    seed: int = 0
    quick: bool = False
    dense: bool = True
    keep_data: bool = False


def parse(argv: Sequence[str] | None) -> Settings:
    """Parse the command line.

    Raises
    ------
    ShapeError
        If a size is not positive or the seed is negative.
    DataFileError
        If the output folder cannot be created.
    """
    words = _parser().parse_args(argv)
    for name in ("units", "batch_size", "features", "epochs", "batches"):
        value = getattr(words, name)
        if value is not None and value < 1:
            raise ShapeError(expected(f"--{name.replace('_', '-')}", "at least 1", value),
                             hint="leave it out for the default.")
    if words.seed < 0:
        raise ShapeError(expected("--seed", "at least 0", words.seed), hint="leave it out for 0.")
    _check_output(words.output)
    usual = Settings(words.output)
    if words.quick:
        usual = usual._replace(features=2**18, units=16, epochs=2, quick=True)
    asked = {name: getattr(words, name) for name in ("features", "units", "batch_size", "batches", "epochs")}
    return usual._replace(**{name: value for name, value in asked.items() if value is not None}, seed=words.seed,
                          dense=not words.no_dense, keep_data=words.keep_data)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sparsekit demo",
        description="Train on real text three ways - dense, sparse input, row-sparse gradient - compare loss, memory "
        "and time, and write one HTML report.  The demo takes about half a minute and needs no network.")
    parser.add_argument("--output", type=Path, default=Path("sparsekit-demo"), metavar="DIR",
                        help="folder to write to (default: ./sparsekit-demo)")
    parser.add_argument("--units", type=int, help="number of units of the first layer (default: 64)")
    parser.add_argument("--features", type=int, help="number of columns that words are hashed into (default: 1048576)")
    parser.add_argument("--batches", type=int,
                        help="number of batches to compare the variants over (default: 10)")
    parser.add_argument("--batch-size", type=int, help="rows per batch (default: 64)")
    parser.add_argument("--epochs", type=int, help="number of training epochs on all the data (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the initial weights and of the data's order (default: 0)")
    parser.add_argument("--quick", action="store_true", help="train a small model, in some seconds")
    parser.add_argument("--no-dense", action="store_true", help="leave out the dense variant, which takes the longest")
    parser.add_argument("--keep-data", action="store_true", help="keep the LibSVM files in the output folder")
    return parser


def _check_output(output: Path) -> None:
    """Raise ``DataFileError`` if the output folder cannot be created, before any work is done."""
    parent = output.resolve().parent
    if output.exists() and not output.is_dir():
        raise DataFileError(f"{output} is a file, not a folder.", hint="pass --output with the name of a folder.")
    if not parent.is_dir():
        raise DataFileError(f"{output} cannot be created: there is no folder {parent}.", hint="create it first.")
