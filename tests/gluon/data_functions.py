"""What worker processes of the tests call: they import it by name."""

import os
import time

import numpy as np

import sparsekit as mx


def double(x, y):
    return x * 2, y


def noisy(x, y):
    return x + mx.nd.random.uniform(shape=x.shape) + np.random.rand(), y


def slow(x, y):
    time.sleep(0.05)
    return x, y


def meeting(folder, x, y):
    """Rows 0, 4 and 8, the first ones of three batches, wait until all three are at work."""
    if y in (0, 4, 8):
        with open(os.path.join(folder, str(int(y))), "x", encoding="ascii"):
            pass
        end = time.monotonic() + 60
        while len(os.listdir(folder)) < 3:
            assert time.monotonic() < end, "the batches are made one after the other"
            time.sleep(0.005)
    return x, y


def broken(x, y):
    if y == 5:
        raise KeyError("row five")
    return x, y


class Unsendable(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def unsendable(x, y):
    raise Unsendable("cannot be made again", 2)


def hanging(x, y):
    if y == 5:
        time.sleep(600)
    return x, y


def dying(x, y):
    if y == 5:
        os._exit(7)
    return x, y


def unpicklable(x, y):
    return lambda: x


def first_only(data):
    return [one[0] for one in data]


def nested(data):
    return {"x": data[0][0], "rest": (len(data), "text", [mx.nd.ones((3,))])}
