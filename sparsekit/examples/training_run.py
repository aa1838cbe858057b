"""A whole training run: paragraphs of books by the ``Estimator``, with early stopping, checkpoints, logs, and an interruption.

Sparse logistic regression predicts whether a paragraph is of an essay or of a story.  The run is made twice: once as a whole, and
once it ends in the middle and is resumed from its checkpoint.  Both end with the same weights, bit for bit.  Then scikit-learn
and PyTorch, where they are installed, train on the same rows.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import autograd, gluon, metric, nd, random
from ..base.errors import SparsekitError
from ..base.optional import optional_import
from ..datasets.books import ESSAYISTS, load_books
from ..gluon.contrib import estimator as runs
from .linear_classification import LogisticRegression

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..base.types import Array

    #: Rows as a matrix of scipy, and a tensor of PyTorch, neither of which has types.
    Rows: TypeAlias = Any
    Tensor: TypeAlias = Any


class Data(NamedTuple):
    """Rows (csr) and labels 0 and 1: to train on, to validate, and to test."""

    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    test: tuple[Any, Any]


class Outcome(NamedTuple):
    """A run: the weights, the test accuracy, and the seconds of training, as time of the processor with that of all threads."""

    weights: bytes
    accuracy: float
    seconds: float


class Ended(Exception):
    """A run was ended on purpose."""


class EndAfter(runs.BatchEnd):
    """Ends a run after so many batches, as a crash would.

    Parameters
    ----------
    batches : int
    """

    def __init__(self, batches: int) -> None:
        self.left = batches

    def batch_end(self, estimator: runs.Estimator, *args: object, **kwargs: object) -> bool:
        """Count a batch; raise after the last one."""
        self.left -= 1
        if self.left == 0:
            raise Ended
        return False


def read(options: argparse.Namespace) -> Data:
    """The paragraphs of books; a tenth of those to train on are for validation."""
    books = load_books(options.features, options.authors, pairs=True, seed=options.seed)
    rows, label = books.train
    cut = rows.shape[0] - rows.shape[0] // 10
    return Data((rows[:cut], label[:cut]), (rows[cut:], label[cut:]), tuple(books.test))


def balanced(label: Array) -> list[float]:
    """Weights with which the classes count the same."""
    counts = np.bincount(label.astype(int), minlength=2)
    return [float(label.size / (2 * max(count, 1))) for count in counts]


def right(label: Array, odds: Array) -> tuple[float, int]:
    """The number of rows that are classified correctly, and of all rows."""
    return float(((odds > 0).ravel() == (label > 0).ravel()).sum()), label.size


def loader(part: tuple[Any, Any], options: argparse.Namespace, shuffle: bool = False) -> gluon.data.DataLoader:
    """Batches of rows and labels."""
    rows = gluon.data.ArrayDataset(part[0], nd.array(part[1]))
    return gluon.data.DataLoader(rows, options.batch_size, shuffle=shuffle)


def build(data: Data, options: argparse.Namespace) -> runs.Estimator:
    """The model, its optimizer and what is measured."""
    random.seed(options.seed)
    net = LogisticRegression(data.train[0].shape[1])
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adagrad", {"learning_rate": options.learning_rate})
    estimator = runs.Estimator(net, gluon.loss.SigmoidBinaryCrossEntropyLoss(prefix="loss_"), trainer=trainer,
                               train_metrics=[metric.np(right, "accuracy"), metric.Loss("loss")],
                               batch_processor=runs.BatchProcessor(class_weight=balanced(data.train[1])))
    estimator.logger.setLevel("WARNING")  # the bar and the files of the handlers say it all
    return estimator


def handlers_of(estimator: runs.Estimator, folder: Path, options: argparse.Namespace) -> list[Any]:
    """What happens besides training."""
    watched = estimator.val_metrics[0]
    handlers = [
        runs.GradientUpdateHandler(clip_norm=options.clip),
        runs.CheckpointHandler(folder, monitor=watched, save_best=True, mode="max", batch_period=options.checkpoint_every,
                               max_checkpoints=2, resume_from_checkpoint=True),
        runs.EarlyStoppingHandler(watched, mode="max", patience=options.patience),
        runs.CSVHandler(folder / "log.csv"),
    ]
    if options.progress:
        handlers.append(runs.ProgressHandler())
    if options.tensorboard:
        handlers.append(runs.TensorBoardHandler(folder / "events"))
    return handlers


def train(data: Data, folder: Path, options: argparse.Namespace, *others: runs.BatchEnd) -> Outcome:
    """Train, from the beginning or from the checkpoint in the folder; test the best weights.

    Raises
    ------
    Ended
        If a handler in ``others`` ends the run.
    """
    estimator = build(data, options)
    start = time.process_time()
    estimator.fit(loader(data.train, options, shuffle=True), loader(data.validation, options), epochs=options.epochs,
                  event_handlers=[*handlers_of(estimator, folder, options), *others])
    seconds = time.process_time() - start
    weights = b"".join(parameter.data().asnumpy().tobytes() for parameter in estimator.net.collect_params().values())
    estimator.net.load_parameters(folder / "model-best.params")
    with autograd.predict_mode():
        odds = estimator.net(data.test[0]).asnumpy()
    good, count = right(data.test[1], odds)
    return Outcome(weights, good / count, seconds)


# beside others


def rivals() -> dict[str, Callable[[Data, argparse.Namespace], Outcome]]:
    """What trains on the same rows, where it is installed."""
    trainers = {"scikit-learn's SGDClassifier": ("sklearn", _by_sklearn), "PyTorch's EmbeddingBag": ("torch", _by_torch)}
    return {name: train for name, (package, train) in trainers.items() if importlib.util.find_spec(package)}


def _by_sklearn(data: Data, options: argparse.Namespace) -> Outcome:
    models = optional_import("sklearn.linear_model", "sklearn", "The comparison with scikit-learn")
    classifier = models.SGDClassifier(loss="log_loss", class_weight="balanced", random_state=options.seed)
    rows, label = data.train[0].asscipy(), data.train[1]
    start = time.process_time()
    classifier.fit(rows, label)
    seconds = time.process_time() - start
    return Outcome(classifier.coef_.tobytes(), float(classifier.score(data.test[0].asscipy(), data.test[1])), seconds)


def _by_torch(data: Data, options: argparse.Namespace) -> Outcome:
    """The same model with a sparse gradient: a row is the bag of its columns, weighted by its values."""
    torch = optional_import("torch", "torch", "The comparison with PyTorch")
    torch.manual_seed(options.seed)
    net = torch.nn.EmbeddingBag(data.train[0].shape[1], 1, mode="sum", sparse=True)
    torch.nn.init.zeros_(net.weight)
    bias = torch.nn.Parameter(torch.zeros(1))
    optimizers = [torch.optim.Adagrad(parameters, options.learning_rate) for parameters in (net.parameters(), [bias])]
    rows, label, weights = data.train[0].asscipy(), data.train[1], np.array(balanced(data.train[1]), "float32")

    def odds(part: Rows) -> Tensor:
        return net(torch.from_numpy(part.indices.astype("int64")), torch.from_numpy(part.indptr[:-1].astype("int64")),
                   per_sample_weights=torch.from_numpy(part.data))[:, 0] + bias

    start, order = time.process_time(), np.random.default_rng(options.seed)
    for _ in range(options.epochs):
        places = order.permutation(rows.shape[0])
        for first in range(0, len(places), options.batch_size):
            chosen = places[first:first + options.batch_size]
            target = torch.from_numpy(label[chosen])
            loss = torch.nn.functional.binary_cross_entropy_with_logits(odds(rows[chosen]), target,
                                                                        torch.from_numpy(weights[label[chosen].astype(int)]))
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    seconds = time.process_time() - start
    with torch.no_grad():
        good, count = right(data.test[1], odds(data.test[0].asscipy()).numpy())
    return Outcome(net.weight.detach().numpy().tobytes(), good / count, seconds)


# the command


def run(options: argparse.Namespace, folder: Path, say: Callable[[str], object] = print) -> tuple[Outcome, Outcome]:
    """Make the run as a whole and in two parts, and give both."""
    data = read(options)
    rows, features = data.train[0].shape
    say(f"{rows:,} paragraphs to train on, {features:,} columns; classes count {balanced(data.train[1])[0]:.2f} and "
        f"{balanced(data.train[1])[1]:.2f}")
    in_one = train(data, folder / "whole", options)
    say((folder / "whole" / "log.csv").read_text(encoding="utf-8").strip())
    say(f"sparsekit's Estimator: test accuracy {in_one.accuracy:.4f}, {in_one.seconds:.2f} s of the processor, with "
        "validation and checkpoints")
    middle = max(1, -(-rows // options.batch_size) * 3 // 2)
    try:
        train(data, folder / "parts", options, EndAfter(middle))
    except Ended:
        say(f"A second run ended after {middle} batches, and is resumed from its last checkpoint.")
    parts = train(data, folder / "parts", options)
    same = parts.weights == in_one.weights
    say(f"The weights at the end {'are the same, bit for bit' if same else 'differ'}.")
    for name, other in rivals().items() if options.compare else ():
        outcome = other(data, options)
        say(f"{name}: test accuracy {outcome.accuracy:.4f}, {outcome.seconds:.2f} s of the processor")
    return in_one, parts


def parser() -> argparse.ArgumentParser:
    """The options."""
    command = argparse.ArgumentParser(prog="python -m sparsekit.examples.training_run",
                                      description=(__doc__ or "").splitlines()[0])
    command.add_argument("--folder", type=Path, help="folder for checkpoints and logs, which is kept (default: a temporary one)")
    for name, value, text in (("seed", 0, "seed of order and split"), ("epochs", 5, "epochs at most"),
                              ("batch-size", 256, "size of a batch"), ("learning-rate", 0.4, "learning rate of AdaGrad"),
                              ("features", 2**20, "number of columns"), ("clip", 1.0, "largest norm of the gradients"),
                              ("patience", 2, "epochs without improvement that end the run"),
                              ("checkpoint-every", 50, "batches from one checkpoint to the next")):
        command.add_argument(f"--{name}", type=type(value), default=value, help=f"{text} (default: {value})")
    command.add_argument("--authors", nargs="+", metavar="NAME", default=ESSAYISTS,
                         help=f"authors that are told from the others (default: {' '.join(ESSAYISTS)})")
    command.add_argument("--quick", action="store_true", help="16,384 columns and three epochs")
    command.add_argument("--progress", action="store_true", help="show a progress bar")
    command.add_argument("--tensorboard", action="store_true", help="write events for TensorBoard; needs tensorboardX")
    command.add_argument("--compare", action=argparse.BooleanOptionalAction, default=True,
                         help="train scikit-learn's and PyTorch's models too, where they are installed (default: yes)")
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example from the command line; 2 after a named error."""
    options = parser().parse_args(argv)
    if options.quick:
        options.features, options.epochs = 2**14, 3
        options.checkpoint_every = 5
    try:
        if options.folder is not None:
            run(options, options.folder)
        else:
            with tempfile.TemporaryDirectory() as folder:
                run(options, Path(folder))
    except SparsekitError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
