"""Record expressions: text that means the same under ``import mxnet as mx`` and ``import sparsekit as mx``.

A case is ``(expression, *variables of x to differentiate)``; the tests evaluate the same text.
"""

import sys

import mxnet as mx
import numpy as np
import recording


def namespace(setup):
    names = {"mx": mx, "np": np}
    for line in setup:
        exec(line, names)
    return names


def record(setup, case):
    """The value of an expression, or its error; with variables, also the gradients of its sum."""
    with mx.name.NameManager():  # blocks are numbered from 0 in every case
        return record_named(setup, case)


def record_named(setup, case):
    expression, *variables = case
    names = namespace(setup)
    for name in variables:
        names[name].attach_grad()
    if not variables:
        return {"expression": expression, "result": recording.attempt(lambda: eval(expression, names))}

    def run():
        with mx.autograd.record():
            out = eval(expression, names)
            total = out.sum()
        total.backward()
        return out, *(names[name].grad for name in variables)

    done = recording.attempt(run)
    if "error" in done:
        return {"expression": expression, "variables": variables, "result": done}
    out, *gradients = done["items"]
    return {"expression": expression, "variables": variables, "result": out, "gradients": gradients}


def save(setup, cases, crashes=True):
    """Record all cases into the file that is named on the command line."""
    found = recording.record_texts([case[0] for case in cases], lambda number: record(setup, cases[number]), crashes)
    recording.save(sys.argv[1], {"setup": setup, "cases": found})
