"""Kernels are called from three places: where operators run one by one, where any plan runs, and in the loop of a program.

A kernel that is made of those of other rows, by ``sparse_pairs.kernel_of``, is one kernel.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import infer
from sparsekit.core.dispatch import invoke
from sparsekit.core.op import Op
from sparsekit.symbol.node import SymbolNode
from sparsekit.symbol.symbol import Symbol

PACKAGE = Path(mx.__file__).parent
PLACES = {"dispatch.py:invoke", "dispatch.py:compute"}

#: What a call's kernel comes out of, unpacked.
RESOLVED = {"ready"}


def _is_kernel(value, names):
    """Whether an expression is a kernel: the ``function`` of a plan or a row, or a name of one."""
    if isinstance(value, ast.Starred):
        return _is_kernel(value.value, names)
    if isinstance(value, ast.Attribute):
        return value.attr == "function" and not (isinstance(value.value, ast.Name) and value.value.id == "node")
    return isinstance(value, ast.Name) and value.id in names


def _names_of_kernels(function):
    names = set()
    for _ in range(3):  # names of names
        for node in ast.walk(function):
            targets, value = [], None
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, ast.For):
                targets, value = [node.target], node.iter
            if value is None:
                continue
            unpacked = isinstance(value, ast.Name) and value.id in RESOLVED
            for target in targets:
                if unpacked:
                    names |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name) and one.id == "function"}
                elif isinstance(target, ast.Name) and (_is_kernel(value, names) or (
                        isinstance(value, (ast.Tuple, ast.IfExp)) and any(_is_kernel(one, names) for one in ast.walk(value)))):
                    names.add(target.id)
    return names


def kernel_calls(source, file):
    """``file:function`` for each call of a kernel in a source, also through ``ignore_fp_errors``."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        names = _names_of_kernels(function)
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            handed_on = callee == "ignore_fp_errors" and any(_is_kernel(one, names) for one in node.args)
            if _is_kernel(node.func, names) or handed_on:
                found.append(f"{file}:{function.name}")
    return found


def test_the_source_calls_kernels_in_two_places():
    found = [place for path in sorted(PACKAGE.rglob("*.py")) for place in kernel_calls(path.read_text(), path.name)]
    assert set(found) == PLACES


@pytest.mark.parametrize("line", [
    "plan.function(plan.k, *stores, plan.attrs)",
    "hooks.ignore_fp_errors(plan.function, plan.k, *stores, plan.attrs)",
    "state.ignore_fp_errors(*given)",
    "again(k, *stores)",
    "find('dot').rules[0].function(k, left, right, attrs)",
])
def test_one_more_call_would_be_found(line):
    before = ["def run(ready):", "plan, function, k, attrs = ready", "given = (function, k)", "again = plan.function"]
    source = "\n    ".join([*before, line])
    assert kernel_calls(source, "here.py") == ["here.py:run"]


# the same while operators run

SEEN: set[str] = set()

looking = Op("_looking", "data second? third?", shape=infer.unchanged, sample=tuple, doc="The data.", listed=False)


@looking.forward("default, default?, default? -> default")
def _(k, *given, out=None):
    frame = sys._getframe(1)
    SEEN.add(f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}")
    if out is None:
        return given[0] + 1
    out[...] = given[0] + 1
    return out


looking.gradient(lambda F, g, data, second, third, _out, attrs, want: invoke(CALL, (g,)))
CALL = looking.bind({})


class Block(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return invoke(CALL, (invoke(CALL, (x,)),))


def symbol():
    data = mx.sym.Variable("data")
    return Symbol([(SymbolNode("looking", CALL, data._entries, "_looking"), 0)])


def run_eagerly():
    x = mx.nd.ones((2, 3))
    for count in (1, 2, 3):
        for _ in range(2):
            invoke(CALL, (x,) * count)
    invoke(CALL, (x,), mx.nd.zeros((2, 3)))
    x.attach_grad()
    with mx.autograd.record():
        made = invoke(CALL, (x,))
    made.backward()


def run_dense_fallback():
    invoke(CALL, (mx.nd.ones((2, 3)).tostype("csr"),))


def run_hybridized(size=3):
    block, x = Block(), mx.nd.ones((2, size))
    block.hybridize()
    x.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            made = block(x)
        made.backward()
    assert np.array_equal(x.grad.asnumpy(), np.full((2, size), 3))


def run_hybridized_with_kept_memory():
    run_hybridized(1 << 14)


def run_symbol(monitor=None):
    executor = symbol().simple_bind(mx.cpu(), data=(2, 3))
    executor.set_monitor_callback(monitor)
    for _ in range(2):
        assert executor.forward(is_train=True)[0].asnumpy().tolist() == [[1] * 3] * 2
        executor.backward()
    assert executor.grad_dict["data"].asnumpy().tolist() == [[2] * 3] * 2


def run_watched_symbol():
    run_symbol(lambda name, array: None)


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")
@pytest.mark.parametrize("profiled", [False, True])
@pytest.mark.parametrize("way", [run_eagerly, run_dense_fallback, run_hybridized, run_hybridized_with_kept_memory, run_symbol,
                                 run_watched_symbol])
def test_each_way_of_running_calls_kernels_there(way, profiled):
    SEEN.clear()
    if profiled:
        with mx.Profiler():
            way()
    else:
        way()
    assert SEEN
    assert SEEN <= PLACES
