"""``sparsekit bench sklearn``: the time in which estimators reach equal accuracy on sparse text, beside scikit-learn's own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import SparsekitError
from ..base.optional import optional_import
from ..datasets.books import ESSAYISTS, load_books
from .harness import Session, Worker, start_rivals

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..base.types import Array

    #: An estimator of scikit-learn's kind, or what is trained and scored as one.
    Estimator: TypeAlias = Any
    #: What a way trains on: it has ``test_rows`` and ``test_label``.
    Tested: TypeAlias = Any

COLUMNS, QUICK = 2**20, 2**17
#: Rows of a batch at most, where SGDClassifier runs as it comes.
LARGE = 1024
#: Passes, or iterations of LogisticRegression, that are tried; and how far below the best of the worst all have to come.
PASSES, BELOW = (1, 2, 3, 5, 8, 12, 20, 40), 0.002
QUICK_PASSES = (2, 12)


class Data(NamedTuple):
    """Rows of length 1 (matrices of scipy) and labels 0 and 1, to train on and to test."""

    rows: Any  # Any: a matrix of scipy
    label: Array
    test_rows: Any  # Any: as above
    test_label: Array


class Way(NamedTuple):
    """An estimator: what makes it from a setting, the settings tried, and what trains it for so many passes.

    The latter gives the seconds that it took of the processor, with those of all threads.
    """

    make: Callable[[float], Estimator]
    settings: tuple[float, ...]
    name: str
    train: Callable[[Estimator, Tested, int], float]


def _data(columns: int, target: Sequence[str] | None = ESSAYISTS) -> Data:
    """Paragraphs of books as rows of length 1; without ``target``, each author is a class."""
    normalize = optional_import("sklearn.preprocessing", "sklearn", "sparsekit bench sklearn").normalize
    books = load_books(columns, target, pairs=True)
    parts = [(normalize(part.data.asscipy()), np.asarray(part.label).astype(np.int64)) for part in (books.train, books.test)]
    return Data(*parts[0], *parts[1])


class _Away:
    """A model in a rival's process, of which is asked what is asked of an estimator."""

    def __init__(self, worker: Worker, setting: float) -> None:
        self.worker = worker
        worker.ask("make", setting)

    def score(self, rows: object, label: object) -> float:
        """The accuracy on the test rows, which the process has."""
        return float(self.worker.ask("accuracy"))


def _away(model: _Away, data: Tested, passes: int) -> float:
    return float(model.worker.ask("train", passes))


def _in_passes(estimator: Estimator, data: Data, passes: int) -> float:
    classes = np.unique(data.label)
    start = time.process_time()
    for _ in range(passes):
        estimator.partial_fit(data.rows, data.label, classes=classes)
    return time.process_time() - start


def _as_it_comes(estimator: Estimator, data: Data, passes: int) -> float:
    """Train as the estimator does by itself, until it finds that it has converged."""
    start = time.process_time()
    estimator.fit(data.rows, data.label)
    return time.process_time() - start


def _in_one(estimator: Estimator, data: Data, passes: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        start = time.process_time()
        estimator.set_params(max_iter=passes).fit(data.rows, data.label)
        return time.process_time() - start


def _ways() -> dict[str, Way]:
    """The estimators by name."""
    models = optional_import("sklearn.linear_model", "sklearn", "sparsekit bench sklearn")
    ours = optional_import("sparsekit.sklearn", "sklearn", "sparsekit bench sklearn")
    return {
        "sparsekit SparseClassifier": Way(
            lambda rate: ours.SparseClassifier(learning_rate=rate, random_state=0), (0.1, 0.3, 1.0, 3.0), "learning_rate",
            _in_passes),
        "SGDClassifier": Way(lambda alpha: models.SGDClassifier(loss="log_loss", alpha=alpha, random_state=0),
                             (1e-4, 1e-5, 1e-6, 1e-7), "alpha", _in_passes),
        "LogisticRegression": Way(lambda c: models.LogisticRegression(C=c), (1.0, 10.0, 100.0, 1000.0), "C", _in_one),
    }


def _arrays(data: Data) -> dict[str, Array | int]:
    """What rivals read."""
    parts = {"train": (data.rows, data.label), "test": (data.test_rows, data.test_label)}
    arrays: dict[str, Array | int] = {f"{part}_{name}": array for part, (rows, label) in parts.items() for name, array in (
        ("data", rows.data), ("indices", rows.indices.astype(np.int64)), ("indptr", rows.indptr.astype(np.int64)),
        ("label", label.astype(np.float32)))}
    return {"columns": data.rows.shape[1], **arrays}


def rivals(session: Session, kind: str, arrays: Callable[[], dict[str, Array | int]], rates: tuple[float, ...]) -> dict[str, Way]:
    """The models of rivals by name, each in a process of the script ``NAME_kind.py`` that has the arrays."""
    workers = start_rivals(session.rivals, session.stack, kind)
    if not workers:
        return {}
    path = session.folder / f"{kind}.npz"
    # Any: numpy's types take no arrays by name beside the option that comes after them
    named_arrays: dict[str, Any] = dict(arrays())
    np.savez(path, **named_arrays)
    for name, worker in workers.items():
        session.note_versions(name, worker.ask("info"))
        worker.ask("load", path)
    return {name: Way(partial(_Away, worker), rates, "learning rate", _away) for name, worker in workers.items()}


def _scores(way: Way, data: Tested, tried: tuple[int, ...]) -> dict[tuple[int, float], float]:
    """The score on the test rows after so many passes with each setting."""
    scores = {}
    for setting in way.settings:
        estimator, before = way.make(setting), 0
        for passes in tried:
            way.train(estimator, data, passes if way.train is _in_one else passes - before)
            before = passes
            scores[passes, setting] = float(estimator.score(data.test_rows, data.test_label))
    return scores


def _seconds(way: Way, data: Tested, passes: int, setting: float) -> float:
    """The time of the processor, with that of all threads."""
    return way.train(way.make(setting), data, passes)


def _fewest(way: Way, data: Tested, tried: tuple[int, ...], target: float) -> tuple[int, float, float]:
    """The fewest passes in which a way reaches an accuracy, with which setting, and the accuracy reached.

    Raises
    ------
    SparsekitError
        If no setting reaches it.
    """
    most = tried[-1]
    for passes in tried:
        scores = _scores(way, data, (passes,))
        (_, setting), accuracy = max(scores.items(), key=lambda entry: entry[1])
        if accuracy >= target:
            return passes, setting, accuracy
    raise SparsekitError(f"No setting of {way.name} reaches an accuracy of {target:.4f} in {most} passes.",
                         hint="more passes or other settings may.")


def _beside_sgd(session: Session, data: Data, title: str) -> None:
    """Add the time of SGDClassifier as it comes, and that in which SparseClassifier reaches its accuracy."""
    models = optional_import("sklearn.linear_model", "sklearn", "sparsekit bench sklearn")
    ours = optional_import("sparsekit.sklearn", "sklearn", "sparsekit bench sklearn").SparseClassifier
    batch = min(LARGE, max(data.rows.shape[0] // 30, 16))  # a pass makes 30 steps or more
    own = Way(lambda rate: ours(learning_rate=rate, batch_size=batch, random_state=0), (0.1, 0.3, 1.0, 3.0), "learning_rate",
              _in_passes)
    rival = Way(lambda _: models.SGDClassifier(random_state=0), (0.0,), "", _as_it_comes)
    classifier = rival.make(0.0).fit(data.rows, data.label)
    target = float(classifier.score(data.test_rows, data.test_label))
    passes, setting, accuracy = _fewest(own, data, PASSES, target)
    rows, columns = data.rows.shape
    total = rows + data.test_rows.shape[0]
    session.table(f"{total:,} paragraphs, {rows:,} of them to train on, {columns:,} columns, {data.rows.nnz / rows:.0f} values a "
               f"row, {title}: time to the accuracy of SGDClassifier as it comes", "s",
                  {"sparsekit SparseClassifier": partial(_seconds, own, data, passes, setting),
                   "SGDClassifier": partial(_seconds, rival, data, 1, 0.0)}, against="sparsekit SparseClassifier",
               fact=f"SGDClassifier: {classifier.n_iter_} passes, accuracy {target:.4f}; sparsekit SparseClassifier: {passes} "
               f"passes, {own.name}={setting:g}, batches of {batch}, accuracy {accuracy:.4f}")


def compare(session: Session, ways: dict[str, Way], data: Tested, tried: tuple[int, ...], title: str, score: str) -> None:
    """Add the time in which each way first reaches the best score of the worst of them, less a little."""
    scores_of = {name: _scores(way, data, tried) for name, way in ways.items()}
    target = min(max(scores.values()) for scores in scores_of.values()) - BELOW
    chosen = {name: min(key for key, reached in scores.items() if reached >= target) for name, scores in scores_of.items()}
    facts = [f"{name}: {passes} passes, {ways[name].name}={setting:g}, best {max(scores_of[name].values()):.4f}"
             for name, (passes, setting) in chosen.items()]
    session.table(f"{title}: time to {score} of {target:.4f}", "s",
                  {name: partial(_seconds, way, data, *chosen[name]) for name, way in ways.items()}, against=next(iter(ways)),
                  fact="; ".join(facts))


def measure(session: Session) -> None:
    """Measure the time to equal accuracy."""
    quick = session.quick
    data = _data(QUICK if quick else COLUMNS)
    ways = {**_ways(), **rivals(session, "estimators", lambda: _arrays(data), (0.1, 0.3, 1.0, 3.0))}
    session.report.versions["sklearn"] = optional_import("sklearn", "sklearn", "sparsekit bench sklearn").__version__
    rows, columns = data.rows.shape
    compare(session, ways, data, QUICK_PASSES if quick else PASSES,
            f"{rows:,} paragraphs, {columns:,} columns, {data.rows.nnz / rows:.0f} values a row", "an accuracy")
    for names, title in ((ESSAYISTS, "essays against stories"), (None, "each author a class")):
        _beside_sgd(session, _data(QUICK if quick else COLUMNS, names), title)
