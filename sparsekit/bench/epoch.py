"""``sparsekit bench epoch``: the tutorial's epoch, 1,000 x 1,000,000, 10 values per row, batches of 10, layers of 128, 8, 1."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import numpy as np

from ..kernels import why_numpy
from .harness import Bench, Contender, Session, Worker, start_rivals, take_turns

__all__ = ["Workload", "run", "write_data"]


class Workload(NamedTuple):
    """Size of the data set; every row stores ``stored`` values."""

    samples: int = 1000
    features: int = 1_000_000
    stored: int = 10
    batch_size: int = 10


QUICK = Workload(samples=100, features=10_000)

#: Milliseconds that a turn takes at least.
TURN = 100.0

#: The arguments of PyTorch's ``epoch``: number of threads, and the form of its updates.
FORMS: dict[str, dict[str, tuple[object, ...]]] = {
    "torch": {", 1 thread": (1,), ", 2 threads": (2,), ", updates by hand": (1, "by_hand")}
}


def write_data(folder: str, workload: Workload) -> str:
    """Write the data set to a folder as ``.npz``, ``.libsvm`` and ``.json``, and return the path of the ``.npz`` file.

    The label of a row is 1 if the sum of the row is above the mean.
    """
    random = np.random.default_rng(0)
    samples, features, stored, batch_size = workload
    indices = np.sort(
        random.integers(0, features // stored, (samples, stored)) + np.arange(stored) * (features // stored)
    )
    data = random.random((samples, stored), dtype=np.float32)
    label = (data.sum(axis=1) > data.sum(axis=1).mean()).astype(np.float32)
    path = os.path.join(folder, "data.npz")
    indptr = np.arange(0, samples * stored + 1, stored)
    np.savez(
        path, data=data.ravel(), indices=indices.ravel(), indptr=indptr, label=label, features=features,
        batch_size=batch_size,
    )  # fmt: skip
    with open(os.path.join(folder, "data.libsvm"), "w", encoding="ascii") as file:
        for target, columns, values in zip(label, indices, data, strict=True):
            pairs = " ".join(f"{column}:{value}" for column, value in zip(columns, values, strict=True))
            file.write(f"{target} {pairs}\n")
    with open(os.path.join(folder, "data.json"), "w", encoding="ascii") as file:
        json.dump(workload._asdict(), file)
    return path


def _mean(worker: Worker, *command: object) -> Callable[[], float]:
    """What measures a command as often as takes ``TURN``, and gives the mean."""
    return partial(worker.ask, "mean", TURN, *command)


#: What else is measured of this library, and its commands.
OWN = {", batches parsed": "epoch_parsed", ", batches parsed, hybridized": "epoch_hybrid",
       ", batches parsed, TrainStep": "epoch_train_step", ", reading alone": "read"}


def _measures(workers: dict[str, Worker]) -> dict[str, Callable[[], float]]:
    """Return what measures each worker; PyTorch has several forms, since the fastest depends on the machine."""
    found = {}
    for name, worker in workers.items():
        for form, arguments in FORMS.get(name, {"": ()}).items():
            found[name + form] = _mean(worker, "epoch", *arguments)
        for form, command in OWN.items() if name == "sparsekit" else ():
            found[name + form] = _mean(worker, command)
    return found


def _variants(own: Worker, path: str, rounds: int) -> list[Contender]:
    """Measure single batches of each variant; with a dense gradient each batch touches a gigabyte."""
    found = []
    for variant in ("row_sparse", "sparse_forward", "dense"):
        own.ask("prepare", path, variant)
        contender = Contender(variant, partial(own.ask, "batch"))
        take_turns([contender], rounds)
        found.append(contender)
    return found


def _tables(session: Session) -> None:
    workload, report = QUICK if session.quick else Workload(), session.report
    report.title = report.title.format(*workload)
    path, own = write_data(str(session.folder), workload), session.own()
    one = "one epoch, row-sparse gradient"
    with ExitStack() as turns:
        workers = {"sparsekit": own, **start_rivals(session.rivals, turns)}
        for name, worker in workers.items():
            report.versions[name] = worker.ask("info")["version"]
            worker.ask("prepare", path)
        session.table(one, "ms", _measures(workers), session.against, warm_up=2)
    on, off, known = "profiler on", "profiler off", "profiler on, until totals are known"
    session.table(f"{one}, under the profiler", "ms",  # more rounds, to resolve a small difference
                  {on: _mean(own, "epoch_profiled"), off: _mean(own, "epoch"), known: _mean(own, "epoch_digested")},
                  against=on, rounds=report.rounds * (1 if session.quick else 4))
    session.table("one epoch by TrainStep, under the profiler", "ms",
                  {on: _mean(own, "epoch_train_step_profiled"), off: _mean(own, "epoch_train_step")}, against=on)
    if not why_numpy():
        other = session.own(settings={"SPARSEKIT_KERNELS": "numpy"})
        other.ask("prepare", path)
        session.table(f"{one}, by the kernels in use", "ms",
                      {"kernels by numba": _mean(own, "epoch"), "kernels in numpy": _mean(other, "epoch")},
                      against="kernels in numpy", warm_up=2)
    report.add("one batch of each variant", "ms", _variants(own, path, 2 if session.quick else 3))


NOTES = (
    "sparsekit and mxnet run the tutorial's code (third variant); LibSVMIter reads the file, in every epoch.",
    "torch: EmbeddingBag(sparse=True, mode='sum') with per_sample_weights, and torch.optim.SGD on its sparse gradient.",
    "torch: batches are parsed and sliced before the measurement, as in 'sparsekit, batches parsed'.",
    "Each turn trains as many epochs as take 100 ms, and the figure is their mean; variants train one batch.",
    "sparsekit, hybridized: network, loss and the trainer's step run as tables of compiled calls.",
    "sparsekit, TrainStep: forward pass, loss, backward pass and update are one table of compiled calls.",
    "jax: the whole step (loss, gradients, update) is one jitted function with donated weights; batches parsed beforehand.",
    "numba: one function written by hand for this network, which stores no gradient of the first layer: a floor on one core.",
    "torch, updates by hand: autograd.grad, then weight.add_(gradient, alpha=-rate), with no optimizer object.",
    "dense: weights and gradient dense; sparse_forward: sparse dot with a dense gradient; reading is not measured.",
)
run = Bench("Measure the tutorial's epoch, the cost of the profiler, and a batch of each variant, in milliseconds.",
            "Training epoch, {:,} x {:,}, {} values per row, batches of {}, layers of 128, 8, 1", (15, 3), _tables, NOTES)
