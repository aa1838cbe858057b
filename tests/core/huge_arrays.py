"""A program of its own: every operator on sparse arrays whose dense form has terabytes, with 1.25 GiB to spend.

Prints a line for each thing that asked the system for more memory, or raised an error without a name.
"""

import itertools
import operator
import resource
import sys
import warnings

import numpy as np

import sparsekit as mx
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.core.op import registry
from sparsekit.storage import CSR, RowSparse

CPU = mx.cpu()
BYTES = 5 << 28
ROWS = 10**13

#: What is asked for is dense, however large: there the machine's memory is the limit.
ON_REQUEST = {"cast_storage", "FullyConnected", "dot"}


STARTS = np.zeros(10**5 + 1, np.int64)
STARTS[np.arange(10) * 9_973 + 1] = 1
STARTS = np.cumsum(STARTS)


def csr():
    """Ten values in a hundred thousand rows and a million columns: 400 GB if it were dense."""
    return wrap(CSR(np.linspace(0.5, 1.5, 10, dtype=np.float32), np.arange(10) * 77_773, STARTS, (10**5, 10**6)), CPU)


def row_sparse():
    """Three rows of so many that who looks at each of them never ends."""
    return wrap(RowSparse(np.full((3, 4), 0.5, np.float32), np.array([5, 10**6, ROWS - 1]), (ROWS, 4)), CPU)


def attempt(label, act, *arguments, allowed=False):
    """Call ``act``, named before on stderr, so that what never ends is known, and print what is wrong."""
    print(label, file=sys.stderr, flush=True)
    try:
        act(*arguments)
    except mx.InsufficientMemoryError as error:
        if not allowed:
            print(f"{label}: {error.message}")
    except mx.SparsekitError:
        pass
    except Exception as error:
        print(f"{label}: {type(error).__name__}: {error}")


def inputs_of(arrays, make):
    """The sample's inputs with huge arrays among them: all, each alone, and one beside vectors and rows that fit it."""
    yield "all", [make() for _ in arrays]
    if len(arrays) == 1:
        return
    for place in range(len(arrays)):
        yield f"input {place}", [make() if place == number else wrap(array.copy(), CPU) for number, array in enumerate(arrays)]
    if len(arrays) == 2:
        first = make()
        for name, shape in {"row": (1, first.shape[1]), "vector": first.shape[1:], "one": (1, 1),
                            "three columns": (first.shape[1], 3), "three rows": (3, first.shape[1])}.items():
            yield name, [first, wrap(np.ones(shape, np.float32), CPU)]


def gradients(op, attrs, inputs):
    """Record the operator and send ones back, or the results themselves where ones would be too many."""
    inputs = tuple(array.copy() for array in inputs)
    for array in inputs:
        array.attach_grad()
    with mx.autograd.record():
        made = invoke(op.bind(attrs), inputs)
    made = made if isinstance(made, list) else [made]
    mx.autograd.backward(made, [None if array.stype == "default" else array.detach() for array in made])


def operators():
    """Every operator of the registry with a few of its samples, forwards and backwards."""
    for op in {op.name: op for op in registry.values()}.values():
        for arrays, attrs in [sample for sample in op.sample() if sample[0]][:1]:
            for make in (csr, row_sparse):
                for name, inputs in inputs_of(arrays, make):
                    label, allowed = f"{op.name} {attrs} of {make.__name__}, {name}", op.name in ON_REQUEST
                    if op.gradient_function is None:
                        attempt(label, invoke, op.bind(attrs), tuple(inputs), allowed=allowed)
                    else:
                        attempt(f"{label}, and its gradient", gradients, op, attrs, inputs, allowed=allowed)


KEYS = [0, -1, slice(None), slice(0, 10), slice(None, None, -2), slice(5, 5), [0, 5], (0, 0), (0, slice(None)), (slice(None), 0),
        (slice(None), [0, 1]), (slice(0, 5), slice(0, 3)), ([0, 1], [0, 1]), ..., None, (..., 0), 2.5, "a", 10**12]
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow, operator.eq, operator.lt,
          operator.ge, operator.matmul, operator.iadd, operator.imul, operator.itruediv]
NUMPY = [np.add, np.multiply, np.exp, np.sin, np.sqrt, np.sum, np.mean, np.max, np.dot, np.where, np.abs, np.sign, np.clip,
         np.transpose, np.reshape, np.ravel, np.sort, np.argmax, np.cumsum, np.asarray, np.array, np.isnan, np.nonzero, np.shape,
         np.linalg.norm, np.matmul, np.tanh, np.maximum, np.square, np.round, np.unique, np.diff, np.copy, np.zeros_like]
ARGUMENTS = [(), (1,), ((0, 1),), ("row_sparse",)]


def show(make, key):
    return repr(make()[key])


def assign(make, key, value):
    array = make()
    array[key] = value


def surface(make):
    """Methods, indexing, operators, conversions and numpy's functions of a huge array."""
    asked = {"asnumpy", "tolist", "tostype", "asscipy", "toarray", "tocoo"}
    for name in [name for name in dir(make()) if not name.startswith("_")]:
        for arguments in ARGUMENTS:
            attempt(f"{make.__name__}.{name}{arguments}", call, make(), name, arguments, allowed=name in asked)
    for key in KEYS:
        attempt(f"{make.__name__}[{key}]", show, make, key)
        attempt(f"{make.__name__}[{key}] = 0", assign, make, key, 0)
        attempt(f"{make.__name__}[{key}] = 1", assign, make, key, 1)
    others = [make(), 2, 0, 0.5, mx.nd.ones((1,)), np.float32(2), np.ones(4, np.float32)]
    for act, other in itertools.product(BINARY, others):
        attempt(f"{act.__name__} {make.__name__} {other!r}", unless_python, act, make(), other, allowed=act is operator.matmul)
    attempt(f"picture of {make.__name__}", make()._repr_html_)
    for act in (repr, str, len, bool, float, hash, abs, operator.neg):
        attempt(f"{act.__name__} of {make.__name__}", unless_python, act, make())
    for function, arguments in itertools.product(NUMPY, [(), (1,)]):
        attempt(f"numpy {function.__name__}{arguments} of {make.__name__}", unless_python, function, make(), *arguments)


def unless_python(act, *arguments):
    """Call, but for combinations that Python or numpy themselves refuse."""
    try:
        return act(*arguments)
    except TypeError as error:
        if isinstance(error, mx.SparsekitError) or "sparsekit" in str(error.__traceback__.tb_next):
            raise
        return None


def call(array, name, arguments):
    """Call a method, and print the result; one that takes other arguments is left alone."""
    method = getattr(array, name)
    if not callable(method):
        return method
    try:
        return repr(method(*arguments))
    except TypeError as error:
        if "argument" in str(error) and not isinstance(error, mx.SparsekitError):
            return None
        raise


def main():
    warnings.simplefilter("ignore")
    mx.nd.dot(mx.nd.ones((2, 2)).tostype("csr"), mx.nd.ones((2, 2)))  # loads the compiler
    with open("/proc/self/statm", encoding="utf-8") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, held + BYTES))
    if sys.argv[1:] == ["operators"]:
        operators()
    else:
        surface(csr)
        surface(row_sparse)
    print("done")


if __name__ == "__main__":
    main()
