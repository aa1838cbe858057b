"""Record blocks of code again: the row_sparse tutorial's, those on sparse symbols, and all uses of autograd.

A block is lines of code, the last of them an expression.  Blocks of a tutorial share their names, those about
autograd start afresh.  The copies of "Train a Linear Regression Model with Sparse Symbols" have lost calls that stand on a
line of their own, and ``mx.nd.dot`` and the like; they are put back.
"""

import sys

import mxnet as mx
import numpy as np
import recording


def encode(value):
    if isinstance(value, dict):
        return {"kind": "dict", "items": {name: encode(item) for name, item in value.items()}}
    if isinstance(value, np.ndarray):
        return {"kind": "ndarray", "value": recording.plain(value)}
    found = recording.encode(value)
    if "items" in found:
        found["items"] = [encode(item) for item in value]
    if isinstance(value, mx.nd.NDArray):
        found["repr"] = repr(value)
    return found


def run(block, names):
    *lines, last = block.split("\n")
    try:
        if last.startswith(" "):
            exec(block, names)
            return {"block": block, "result": {"kind": "NoneType", "value": None}}
        exec("\n".join(lines), names)
        *statements, last = last.split("; ")
        exec("\n".join(statements), names)
        code = compile(last, "block", "eval")
        return {"block": block, "result": encode(eval(code, names))}
    except Exception as error:
        return {"block": block, "error": type(error).__name__}


def record_one(number):
    """One block, in a process that may not have run those before it."""
    group, block = BLOCKS[number]["group"], BLOCKS[number]["block"]
    names = {"mx": mx, "np": np}
    for before in BLOCKS[:number] if group != "autograd" else ():
        if before["group"] == group:
            run(before["block"], names)
    return {"group": group, **run(block, names)}


BLOCKS = recording.known()["cases"]
cases = recording.record_each(len(BLOCKS), record_one)
for known, case in zip(BLOCKS, cases, strict=False):
    case.update(recording.given(known, "group", "block"))  # of one that killed the process too
recording.save(sys.argv[1], {"cases": cases})
