"""Record ``dot`` of MXNet 1.9.1 for every storage pair, transposition and forward_stype: values and gradients."""

import itertools
import sys

import mxnet as mx
import numpy as np
import recording

LHS = np.array([[1, 0, 2, 0, -3], [0, 0, 0, 0, 0], [0, 0, 4, 5, 0], [-1, 0, 0, 2, 3]], np.float32)
RHS = np.array([[1, 2, 0], [3, 0, 0], [0, 0, 0], [-2, 1, 0], [0, 4, 0]], np.float32)
WEIGHT = np.array([[1, -1, 2], [3, 1, -2], [0, 2, 1], [-1, 1, 4]], np.float32)
STYPES = ("default", "row_sparse", "csr")
CASES = list(itertools.product(STYPES, STYPES, (False, True), (False, True), (None, *STYPES)))


def operands(lhs, rhs, transpose_a, transpose_b):
    left = mx.nd.array(LHS.T if transpose_a else LHS).tostype(lhs)
    right = mx.nd.array(RHS.T if transpose_b else RHS).tostype(rhs)
    return left, right


def gradients(case, left_stype, right_stype):
    """Gradients of sum(dot * weight), in buffers of the storage types given (None: the array's own)."""
    lhs, rhs, transpose_a, transpose_b, forward_stype = case
    left, right = operands(lhs, rhs, transpose_a, transpose_b)
    left.attach_grad(stype=left_stype)
    right.attach_grad(stype=right_stype)
    with mx.autograd.record():
        out = mx.nd.sparse.dot(left, right, transpose_a=transpose_a, transpose_b=transpose_b, forward_stype=forward_stype)
        total = (out.tostype("default") * mx.nd.array(WEIGHT)).sum()
    total.backward()
    return left.grad, right.grad


def inferred(case):
    """Storage types of the result and of both gradients, as MXNet's symbolic inference has them."""
    lhs, rhs, transpose_a, transpose_b, forward_stype = case
    a, b = mx.sym.var("a", stype=lhs), mx.sym.var("b", stype=rhs)
    symbol = mx.sym.sparse.dot(a, b, transpose_a=transpose_a, transpose_b=transpose_b, forward_stype=forward_stype)
    shapes = {"a": LHS.T.shape if transpose_a else LHS.shape, "b": RHS.T.shape if transpose_b else RHS.shape}
    executor = symbol.simple_bind(mx.cpu(), grad_req="write", **shapes)
    return [executor.outputs[0].stype, executor.grad_dict["a"].stype, executor.grad_dict["b"].stype]


def record_one(number):
    case = CASES[number // 5]
    lhs, rhs, transpose_a, transpose_b, forward_stype = case
    part = number % 5
    if part == 0:
        left, right = operands(lhs, rhs, transpose_a, transpose_b)
        return recording.attempt(lambda: mx.nd.sparse.dot(left, right, transpose_a=transpose_a, transpose_b=transpose_b,
            forward_stype=forward_stype))
    if part == 1:
        return recording.attempt(lambda: inferred(case))
    buffers = {2: ("default", "default"), 3: (None, None), 4: ("default", "row_sparse")}[part]
    return recording.attempt(lambda: gradients(case, *buffers))


def mark(gradients, transpose_a, transpose_b, keep_values):
    """Note where MXNet computed the wrong gradient; leave out the values that need no second telling."""
    left, right = WEIGHT @ RHS.T, LHS.T @ WEIGHT
    exact = (left.T if transpose_a else left, right.T if transpose_b else right)
    for item, value in zip(gradients.get("items", []), exact, strict=False):
        if not np.array_equal(item["value"], value):
            item["wrong"] = True
        elif not keep_values:
            item.pop("value")
    return gradients


records = recording.record_each(len(CASES) * 5, record_one)
cases = []
for number, (lhs, rhs, transpose_a, transpose_b, forward_stype) in enumerate(CASES):
    out, stypes, dense, own, sparse = records[5 * number : 5 * number + 5]
    cases.append({"lhs": lhs, "rhs": rhs, "transpose_a": transpose_a, "transpose_b": transpose_b,
                  "forward_stype": forward_stype, "out": out, "inferred": stypes,
                  "gradients_default": mark(dense, transpose_a, transpose_b, keep_values=forward_stype is None),
                  "gradients_own": mark(own, transpose_a, transpose_b, keep_values=False),
                  "gradients_row_sparse": mark(sparse, transpose_a, transpose_b, keep_values=False)})
inputs = {"lhs": recording.plain(LHS), "rhs": recording.plain(RHS), "weight": recording.plain(WEIGHT)}
recording.save(sys.argv[1], {"inputs": inputs, "cases": cases})
