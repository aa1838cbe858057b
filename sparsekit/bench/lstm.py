"""``sparsekit bench lstm``: a training step of the language model on the slides, with dense and with row-sparse gradients."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack
from functools import partial

import numpy as np

from ..base.errors import SparsekitError
from .harness import Contender, Report, start_own, take_turns
from .models import batches_of, check

__all__ = ["run"]

#: The slides name the LSTM, 2,048 units projected to 512, and a text whose 793,471 words have dense arrays of 10 GB.
SIZES = {"batch": 32, "length": 20, "words": 100_000, "width": 512, "hidden": 2048, "projection": 512, "samples": 8192}
QUICK = {"batch": 4, "length": 5, "words": 200, "width": 8, "hidden": 16, "projection": 8, "samples": 20}

#: Number of batches; a step takes about a second.
BATCHES = 3

NOTES = (
    "An embedding, an LSTM with projection, a sampled softmax, AdaGrad; float32; a step is one gluon.TrainStep.",
    "Both begin with the same weights, take the same batches in turn, and have the same losses.",
    "dense: the gradients of embedding and output layer have a row for each word; row-sparse: for each word that occurs.",
    "The slides' text has 793,471 words; dense weights, gradients and states of so many take 10 GB.",
)


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure a step of the slides' LSTM with dense and row-sparse gradients: time, gradients and peak memory.

    ``rivals`` must be empty; the other parameters are those of ``dispatch.run``.
    """
    if rivals:
        raise SparsekitError("`bench lstm` measures only this library.",
                             hint="`sparsekit bench models --rival …` compares with other libraries.")
    sizes = QUICK if quick else SIZES
    report = Report("A step of the slides' LSTM", rounds or (2 if quick else 5), NOTES)
    heading = "LSTM {hidden:,} projected to {projection}, {words:,} words, {samples:,} samples, batch {batch} x {length}".format(
        **sizes)
    with tempfile.TemporaryDirectory(prefix="sparsekit-bench-") as folder, ExitStack() as stack:
        workers, losses = {}, {}
        arrays = {name: array[:BATCHES] for name, array in batches_of("projected", sizes).items()}
        for name, sparse in (("dense gradients", 0), ("row-sparse gradients", 1)):
            path = os.path.join(folder, f"{sparse}.npz")
            np.savez(path, sizes=np.array(json.dumps({**sizes, "sparse": sparse})), **arrays)
            workers[name] = stack.enter_context(start_own("models_worker"))
            losses[name] = workers[name].ask("prepare", "projected", path)
            check(name, losses[name], losses["dense gradients"])
        report.versions["sparsekit"] = workers["dense gradients"].ask("info")["version"]
        steps = [Contender(name, partial(worker.ask, "time")) for name, worker in workers.items()]
        take_turns(steps, report.rounds)
        report.add(f"a step: {heading}", "ms", steps, against="dense gradients")
        for what, command in (("bytes of all gradients", "gradients"), ("peak memory of the process", "peak")):
            measured = [Contender(name, float) for name in workers]
            for contender in measured:
                contender.values = [workers[contender.name].ask(command) / 1e6]
            report.add(f"{what}: {heading}", "MB", measured, against="dense gradients")
    return report
