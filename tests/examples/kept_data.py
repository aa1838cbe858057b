"""The data that the examples are tested on: the same for scikit-learn, and of sizes that take seconds."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

import numpy as np

import sparsekit as mx
from sparsekit.examples import relation, running

GOLDEN = Path(__file__).parents[1] / "golden"

#: What is smaller in tests than by default; what else is not the default was chosen by ``choose_settings.py``.
SIZES = {
    "linear_classification": {"epochs": 4}, "factorization_machine": {"epochs": 4}, "matrix_factorization": {"epochs": 3},
    "wide_and_deep": {"epochs": 2}, "language_model": {"epochs": 1, "words": 1500, "width": 32, "hidden": 48, "projection": 32,
                                                       "samples": 100, "batch_size": 16},
}
#: Words of the text that tests are trained and tested on.
WORDS = 45_000, 5_000


def settings():
    """The settings that were chosen, and their scores in validation."""
    return json.loads((GOLDEN / "example_settings.json").read_text(encoding="utf-8"))


def kept(name):
    """The arrays of one data set."""
    with np.load(GOLDEN / "example_data.npz") as stored:
        return {key.removeprefix(f"{name}_"): stored[key] for key in stored.files if key.startswith(name)}


def texts():
    """Paragraphs, as rows of length 1."""
    stored, parts = kept("text"), []
    for part in ("train", "test"):
        starts = stored[f"{part}_indptr"].astype(np.int64)
        lengths = np.diff(starts)
        values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
        x = mx.nd.sparse.csr_matrix((values, stored[f"{part}_indices"].astype(np.int64), starts), shape=(len(lengths), 2**14))
        parts.append((x, stored[f"{part}_label"].astype(np.float32)))
    return running.split_validation(*parts)


def columns_of(stored, part):
    """The columns of each pair's follower, word and ending."""
    columns, (followers, words, _) = stored[f"{part}_columns"].astype(np.int64), stored["sizes"]
    return np.hstack([columns, stored["ending"][columns[:, 1:] - followers] + followers + words])


def pairs():
    """Pairs of words."""
    stored = kept("pairs")
    return running.split_validation(*((relation.rows_of_ones(columns_of(stored, part), int(stored["width"])),
                            stored[f"{part}_label"].astype(np.float32)) for part in ("train", "test")))


def crossed_pairs():
    """The same pairs, followers crossed with endings."""
    stored, parts = kept("pairs"), []
    followers, words, endings = map(int, stored["sizes"])
    for part in ("train", "test"):
        columns = columns_of(stored, part)
        crossing = columns[:, :1] * endings + columns[:, 2:] - followers - words
        parts.append((relation.rows_of_ones(crossing, followers * endings), columns, stored[f"{part}_label"].astype(np.float32)))
    return running.split_validation(*parts, sizes=(followers, words, endings))


def ratings():
    """Words, followers and logarithms of counts."""
    stored = kept("ratings")
    columns = (stored["word"].astype(np.int32), stored["follower"].astype(np.int32), np.log1p(stored["count"].astype(np.float32)))
    cut = len(columns[0]) - round(len(columns[0]) / 5)
    return running.split_validation([column[:cut] for column in columns], [column[cut:] for column in columns],
                         shape=tuple(map(int, stored["shape"])))


def shortened(found):
    """A part of the books."""
    return found._replace(train=(found.train[0][:WORDS[0]],), validation=(found.validation[0][:WORDS[1]],),
                          test=(found.test[0][:WORDS[1]],))


_KEPT = {"linear_classification": texts, "factorization_machine": pairs, "matrix_factorization": ratings,
         "wide_and_deep": crossed_pairs}


def data_of(name, options):
    """The data of an example."""
    return shortened(kind_of(name).load(options)) if name == "language_model" else _KEPT[name]()


def kind_of(name):
    """An example's class."""
    return importlib.import_module(f"sparsekit.examples.{name}").Example


def options_of(name, *words, chosen=None, **changes) -> argparse.Namespace:
    """Its settings in tests."""
    kind = kind_of(name)
    options = running.settings(kind, running.parser(kind, name, "text").parse_args(words))
    for key, value in {**SIZES[name], **(chosen or {}), **changes}.items():
        assert hasattr(options, key)
        setattr(options, key, value)
    return options
