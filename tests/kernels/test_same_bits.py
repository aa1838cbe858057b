"""What eager code runs through a shared loop, and tables run by itself, has the same bits."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

from sparsekit.kernels import FILES
from sparsekit.kernels.cpu.intrinsic_names import dot_in_order, sum_in_order
from sparsekit.kernels.cpu.jit import Kernel, kernel
from sparsekit.kernels.cpu.thread_pool import share

pytestmark = pytest.mark.compiled

WIDTHS = [1, 2, 3, 7, 8, 10, 16, 31, 64, 100, 257, 500]
#: Another order changes the last bit of one row in twenty.
ROWS = 400


def module(file):
    return importlib.import_module(f"sparsekit.kernels.cpu.{file}")


#: Kernels made by ``shared_over``, by name, and those of products with the body that a table calls.
SHARED = {name: made for file in FILES for name, made in vars(module(file)).items()
          if isinstance(made, Kernel) and getattr(made, "body", None) is not None}
PRODUCTS = {"_dot_dense_shared": "_csr_dot_dense_rows", "_dot_vector_shared": "_csr_dot_vector_rows"}

#: Arguments before the result, by name, of a matrix ``x`` and another one; the result is like the first.
ARGUMENTS = {
    "relu_slope_shared": lambda x, y: (y.ravel(), x.ravel()),
    "sigmoid_shared": lambda x, y: (x.ravel(),),
    "gelu_shared": lambda x, y: (x.ravel(),),
    "gelu_backward_shared": lambda x, y: (y.ravel(), x.ravel()),
    "softmax_shared": lambda x, y: (x, x.max(axis=1)),
    "log_softmax_shared": lambda x, y: (x, x.max(axis=1)),
    "softmax_backward_shared": lambda x, y: (y, np.exp(x - x.max(axis=1, keepdims=True))),
    "log_softmax_backward_shared": lambda x, y: (y, x - x.max(axis=1, keepdims=True)),
}
#: Eager code runs them in this one way only.
EAGER_ALONE = {"layer_norm_shared"}


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def of_rows(name):
    """The shared loop of rows or elements, its body, and arguments of all widths; the result comes last."""
    for width in WIDTHS:
        arguments = ARGUMENTS[name](random(ROWS, width), random(ROWS, width, seed=1))
        given = *arguments, np.empty_like(arguments[0])
        yield width, SHARED[name], SHARED[name].body, given, (given,)


def of_products(name):
    """The same of a product."""
    csr, rng = module("csr"), np.random.default_rng(0)
    indptr = np.append(0, np.cumsum(rng.integers(0, 23, ROWS)))
    indices, data = rng.integers(0, 300, indptr[-1]), random(indptr[-1])
    for width in (WIDTHS if name == "_dot_dense_shared" else [1]):
        given = data, indices, indptr, random(300, width, seed=1), np.empty((ROWS, width), np.float32)
        yield width, getattr(csr, name), getattr(csr, PRODUCTS[name]), given, given


def differing():
    """Kernels and widths of which the shared loop and the body give different bits."""
    found = []
    for name, cases in [*((name, of_rows) for name in ARGUMENTS), *((name, of_products) for name in PRODUCTS)]:
        for width, shared, body, given, whole in cases(name):
            out, results = given[-1], set()
            for run, arguments in ((share, (shared, *whole)), (body, (*given, 0, len(out)))):
                out[...] = 7
                run(*arguments)
                results.add(out.tobytes())
            if len(results) > 1:
                found.append(f"{name} {width}")
    return found


def test_all_kernels_of_this_kind_are_here():
    assert set(SHARED) == set(ARGUMENTS) | EAGER_ALONE


def test_the_shared_loop_and_its_body_give_the_same_bits():
    """In a process that finds both in files: the one that compiles them takes one code for both."""
    for _ in range(2):
        done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=400, check=True)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_sums_in_order_are_those_of_the_description(kind):
    @kernel
    def both(first, second):
        return sum_in_order(first), dot_in_order(first, second)

    for size in (*range(36), 500, 1001):
        first, second = random(size).astype(kind), random(size, seed=1).astype(kind)
        assert both(first, second) == (sum_in_order(first), dot_in_order(first, second))
        np.testing.assert_allclose(both(first, second), (first.sum(), first @ second), rtol=1e-4, atol=1e-5)
    assert np.isnan(both(np.array([1, np.nan], kind), np.ones(2, kind))).all()
    assert both(np.array([1, np.inf], kind), np.ones(2, kind)) == (np.inf, np.inf)


if __name__ == "__main__":
    print(differing())
