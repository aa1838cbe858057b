"""Collect small real data sets for the examples' tests, from the books that come along, in this project's own environment.

    python tests/oracle/collect_example_data.py tests/golden/example_data.npz

``record_sklearn.py`` then trains scikit-learn on them, in an environment of its own.
"""

import argparse
import sys
import zipfile

import numpy as np

from sparsekit.datasets.books import ESSAYISTS, load_books
from sparsekit.examples import relation

FEATURES = 2**14
TEXTS, TEST_TEXTS, PAIRS, TEST_PAIRS, RATINGS = 1600, 800, 60_000, 15_000, 39_000


def texts():
    """Which words and pairs of words each paragraph has; rows have the length 1, which needs not be kept."""
    data = load_books(FEATURES, ESSAYISTS, pairs=True, counts="binary")
    found = {}
    for name, part, count in (("text_train", data.train, TEXTS), ("text_test", data.test, TEST_TEXTS)):
        x = part.data[:count]
        found |= {f"{name}_indptr": x.indptr.asnumpy().astype(np.int32), f"{name}_indices": x.indices.asnumpy().astype(np.uint16),
                  f"{name}_label": part.label[:count].astype(np.uint8)}
    return found


def pairs(found):
    """The columns of each pair's follower and word, and the ending of each word."""
    made = {"pairs_width": np.array(relation.columns_of(found, found.word, found.follower)[1]),
            "pairs_sizes": np.array([len(found.words), len(found.words), len(found.endings)]),
            "pairs_ending": found.ending.astype(np.uint8)}
    for name, part, count in zip(("pairs_train", "pairs_test"), relation.draw_pairs(found, 0), (PAIRS, TEST_PAIRS), strict=True):
        columns = relation.columns_of(found, part.word[:count], part.follower[:count])[0]
        made |= {f"{name}_columns": columns[:, :2].astype(np.uint16), f"{name}_label": part.label[:count].astype(np.uint8)}
    return made


def ratings(found):
    """Some words, followers and counts, in a random order; the last fifth is for testing."""
    order = np.random.default_rng(0).permutation(len(found.word))[:RATINGS]
    made = {"ratings_shape": np.array([len(found.words), len(found.words)])}
    for name, column in (("word", found.word), ("follower", found.follower), ("count", found.count)):
        made[f"ratings_{name}"] = np.minimum(column[order], 2**16 - 1).astype(np.uint16)
    return made


def write(path, arrays):
    """An archive as ``np.savez_compressed`` writes it, but smaller: numpy reads whatever compression ``zipfile`` does."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, values in arrays.items():
            part = zipfile.ZipInfo(f"{name}.npy")
            part.compress_type = zipfile.ZIP_LZMA
            with archive.open(part, "w") as file:
                np.lib.format.write_array(file, values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    related = relation.count_relation()
    write(parser.parse_args(sys.argv[1:]).file, {**texts(), **pairs(related), **ratings(related)})
