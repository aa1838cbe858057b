"""Record expressions: text that means the same under ``import mxnet as mx`` and ``import sparsekit as mx``.

A case is an expression, the names to differentiate for, and names whose values after the backward pass are recorded too; the
tests evaluate the same text.  Where the setup has a ``head``, it gives the gradient from above of each result.
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


def record(setup, expression, variables="", states=""):
    """The value of an expression, or its error; with variables, also gradients and the values of the states afterwards."""
    case = {"expression": expression}
    for name, given in (("variables", variables.split()), ("states", states.split())):
        case.update({name: given} if given else {})
    with mx.name.NameManager():  # blocks are numbered from 0 in every case
        names = namespace(setup)
        done = recording.attempt(lambda: run(names, **case))
    if not variables or "error" in done:
        return {**case, "result": done}
    out, *others = done["items"]
    gradients, after = others[:len(case["variables"])], others[len(case["variables"]):]
    return {**case, "result": out, "gradients": gradients, **({"after": after} if after else {})}


def run(names, expression, variables=(), states=()):
    for name in variables:
        names[name].attach_grad()
    if not variables:
        return eval(expression, names)
    with mx.autograd.record():
        out = eval(expression, names)
        outs = out if isinstance(out, list) else [out]
        outs = outs if "head" in names else [outs[0].sum()]
    mx.autograd.backward(outs, [names["head"](array) for array in outs] if "head" in names else None)
    return [out, *(names[name].grad for name in variables), *(names[name] for name in states)]


def save(setup, cases, **more):
    """Record each case but those that crash MXNet, and write them where the first argument of the program says."""
    records = recording.record_each(len(cases), lambda number: record(setup, *cases[number]))
    for case, found in zip(cases, records, strict=True):
        found.setdefault("expression", case[0])
    crashed = [found["expression"] for found in records if "crash" in found]
    print(f"{len(crashed)} crashed MXNet: {crashed}")
    recording.save(sys.argv[1], {"setup": setup, **more, "cases": [found for found in records if "crash" not in found]})
