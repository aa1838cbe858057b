"""Record again the batches that MXNet 1.9.1's samplers, data sets and DataLoader give."""

import sys

import mxnet as mx
import numpy as np
import recording
from mxnet.gluon.contrib.data import IntervalSampler

data = mx.gluon.data
NAMES = {"data": data, "mx": mx, "np": np, "IntervalSampler": IntervalSampler}


def sampler(case):
    made = eval(case["sampler"], NAMES)
    return {"sampler": case["sampler"], "epochs": [[len(made), recording.plain(list(made))] for _ in case["epochs"]]}


def dataset(case):
    made = eval(case["dataset"], NAMES)
    return {"dataset": case["dataset"], "items": [recording.encode(made[place]) for place in range(len(made))]}


def loader(case):
    made = data.DataLoader(eval(case["loader"], NAMES), **case["options"])
    return {"loader": case["loader"], "options": case["options"], "length": len(made),
            "epochs": [[recording.encode(batch) for batch in made] for _ in range(2)]}


if __name__ == "__main__":
    recording.save(sys.argv[1], {"cases": [
        record(case) for case in recording.known()["cases"] for record in (sampler, dataset, loader) if record.__name__ in case]})
