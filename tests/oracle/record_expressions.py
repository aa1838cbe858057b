"""Record expressions again: text that means the same under ``import mxnet as mx`` and ``import sparsekit as mx``.

The file has a setup and cases, of which each is an expression, the names to differentiate for, and names whose values after the
backward pass are recorded too; the tests evaluate the same text.  Where the setup has a ``head``, it gives the gradient from
above of each result.  A case that crashes MXNet is left out.

In ``losses.json`` no prediction is 0: there MXNet's gradient is that of relu and abs at 0, not the loss's own.
"""

import logging
import warnings

import mxnet as mx
import numpy as np
import recording


def namespace(setup):
    names = {"mx": mx, "np": np}
    for line in setup:
        exec(line, names)
    return names


def record(setup, expression, variables=(), states=()):
    """The value of an expression, or its error; with variables, also gradients and the values of the states afterwards."""
    case = {"expression": expression}
    for name, given in (("variables", variables), ("states", states)):
        case.update({name: given} if given else {})
    with mx.name.NameManager():  # blocks are numbered from 0 in every case
        names = namespace(setup)
        done = recording.attempt(lambda: run(names, **case))
    if not variables or "error" in done:
        return {**case, "result": done}
    out, *others = done["items"]
    gradients, after = others[:len(variables)], others[len(variables):]
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


def save(known, **more):
    """Record the cases of a file again, but those that crash MXNet."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    setup, cases = known["setup"], [recording.given(case, "expression", "variables", "states") for case in known["cases"]]
    recording.save_each({"setup": setup, **more}, cases, lambda case: record(setup, **case))


if __name__ == "__main__":
    save(recording.known())
