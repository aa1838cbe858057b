"""Every GPU kernel in whole grids, on a machine of warps and blocks, against its CPU twin.

The same text that NVIDIA's compiler takes runs under several schedules, which must give the same bits; a race, an access
outside of an array or a lane that is waited for in vain is a fault of the machine.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re

import device_library
import fake_cupy
import numpy as np
import pytest
import simt
from grid_arguments import NAMES, ON_HOST, REAL, WIDE, Grid, grid_arguments

from sparsekit.kernels import for_device
from sparsekit.kernels.gpu import formulas, group, launch

#: In order, as it is launched; and at random, in grids that are too small, so that threads take several items.
SCHEDULES = (simt.Schedule(), simt.Schedule(2, 64, 2, 1, 5), simt.Schedule(5, 32, 3, 2, 2), simt.Schedule(3, 96, 3, 3, 17))

WIDTHS = (1, 5, 33, 257)

TOLERANCE = {"float16": 8e-3, "float32": 2e-5, "float64": 2e-5}


def on_device(words, given, gpu):
    """The arguments as the GPU's kernel takes them."""
    return [getattr(gpu, item) if isinstance(item, str) else [fake_cupy.ndarray(part.copy()) for part in item]
            if isinstance(item, list) else fake_cupy.ndarray(item.copy())
            if isinstance(item, np.ndarray) and word not in ON_HOST else item for word, item in zip(words, given, strict=True)]


def arrays(*values):
    """numpy's arrays among arguments and results; numbers as arrays."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from arrays(*value)
        elif isinstance(value, fake_cupy.ndarray):
            yield value._host
        elif isinstance(value, (np.ndarray, int)) and not isinstance(value, bool):
            yield np.asarray(value)


def stored(words, given, result):
    """The arguments without what lies in buffers behind the number of values that a kernel returns."""
    counted = isinstance(result, int) and not isinstance(result, bool) and "out_indices" in words
    return [item[:result] if counted and word in ("out", "right_out", "out_indices") else item
            for word, item in zip(words, given, strict=True)]


@functools.cache
def wanted(name, width, whole, rows=None):
    """What the CPU's kernel makes of the arguments: these afterwards, and what it returns."""
    cpu, given = for_device("cpu"), grid_arguments(name, Grid(np.float32, np.int64, rows, width=width, whole=whole))
    host = [getattr(cpu, item) if isinstance(item, str) else item for item in given]
    result = getattr(cpu, name)(*host)
    return [part.copy() for part in arrays(stored(words_of(name), host, result), result)]  # a CPU kernel may reuse its memory


def words_of(name):
    """The names of a kernel's parameters."""
    return tuple(inspect.signature(getattr(for_device("cpu"), name)).parameters)


def run(library, schedule, name, at):
    """What the GPU's kernel makes of them."""
    gpu, words = for_device("gpu"), words_of(name)
    library.schedule = schedule
    device = on_device(words, grid_arguments(name, at), gpu)
    result = getattr(gpu, name)(*device)
    return list(arrays(stored(words, device, result), result))


def assert_same(found, expected, tolerance):
    assert len(found) == len(expected)
    for left, right in zip(found, expected, strict=True):
        if left.dtype.kind == "f":
            left = left.astype(float)
            scale = tolerance * max(1.0, float(np.nanmax(np.abs(right), initial=0)))
            np.testing.assert_allclose(left, right.astype(float), rtol=tolerance, atol=scale)
        else:
            np.testing.assert_array_equal(left.astype(np.int64), right.astype(np.int64))


@pytest.fixture
def library(stand_in, compiled):
    """The functions; what a test does to their schedule ends with it."""
    yield compiled
    compiled.schedule = simt.USUAL


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_grid_gives_what_the_cpu_gives(library, name, width):
    schedules = SCHEDULES if width == 33 else SCHEDULES[:2]  # grids that are too small are run at one width
    made = [run(library, schedule, name, Grid(np.float32, np.int64, width=width)) for schedule in schedules]
    assert_same(made[0], wanted(name, width, False), TOLERANCE["float32"])
    for other in made[1:]:
        assert [part.tobytes() for part in other] == [part.tobytes() for part in made[0]]


@pytest.mark.parametrize(("value", "index"), [
    pytest.param(*types, marks=() if types in (("float64", "int32"), ("int32", "int64")) else pytest.mark.thorough)
    for types in itertools.product(["float16", "float64", "int32", "int64"], ["int32", "int64"])])
def test_every_type(library, value, index):
    whole = value.startswith("int")
    names = [name for name in NAMES if name not in WIDE | (REAL if whole else set()) or value == "float64"]
    library.prepare([(value, index)], device_library.suited(value))
    for name in names:
        found = run(library, simt.USUAL, name, Grid(value, index, width=5, whole=whole))
        assert_same(found, wanted(name, 5, whole), TOLERANCE.get(value, 0))


@pytest.mark.parametrize("value", ["float16", "float32", "float64"])
@pytest.mark.parametrize("width", WIDTHS)
def test_small_products_of_matrices_in_any_order(library, width, value):
    rng, k = np.random.default_rng(1), for_device("gpu").xp
    left, right = rng.random((9, 45)).astype(value), rng.random((45, width)).astype(value)
    for one in (left, np.asfortranarray(left)):
        for other in (right, np.asfortranarray(right)):
            for library.schedule in SCHEDULES if width < 257 else SCHEDULES[:2]:
                made = k._small_product(fake_cupy.ndarray(one), fake_cupy.ndarray(other), 9, 45, width, None).get()
                np.testing.assert_allclose(made.astype(float), left.astype(float) @ right.astype(float), rtol=TOLERANCE[value])


#: The functions of elements, as numpy computes them.
FORMULAS = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sigmoid_slope": lambda g, y: g * y * (1 - y),
    "relu_slope": lambda g, y: np.where(np.isnan(y), y, g * (y > 0)), "softplus": lambda x: np.logaddexp(0, x),
    "cross_entropy": lambda x, label: np.logaddexp(0, x) - x * label,
    "cross_entropy_slope": lambda g, x, label: g * (1 / (1 + np.exp(-x)) - label),
}


@pytest.mark.parametrize("name", sorted(FORMULAS))
@pytest.mark.parametrize("value", ["float16", "float32", "float64"])
def test_functions_of_elements(library, name, value):
    """Values of any size, and nan; of any shape, whether they lie in one piece or not."""
    rng, wanted = np.random.default_rng(4), FORMULAS[name]
    count = wanted.__code__.co_argcount
    for shape in ((257,), (33, 5), (0, 3)):
        given = [rng.uniform(-9, 9, shape).astype(value) for _ in range(count)]
        if given[0].size:
            for array in given:
                array.flat[0] = np.nan
        with np.errstate(all="ignore"):
            expected = wanted(*[array.astype(float) for array in given])
        for library.schedule in SCHEDULES:
            made = for_device("gpu").xp.formula(name, np.dtype(value), *[fake_cupy.ndarray(array) for array in given])
            np.testing.assert_allclose(made.get().astype(float), expected, rtol=TOLERANCE[value], atol=TOLERANCE[value])


@pytest.mark.parametrize("value", ["float32", "float64"])
def test_functions_of_elements_do_not_overflow(library, value):
    data = np.array([-1e4, -90, -1e-30, 0, 1e-30, 90, 1e4], value)
    formula, given = for_device("gpu").xp.formula, fake_cupy.ndarray(data)
    np.testing.assert_allclose(formula("sigmoid", data.dtype, given).get(), [0, 0, 0.5, 0.5, 0.5, 1, 1], atol=1e-38)
    np.testing.assert_allclose(formula("softplus", data.dtype, given).get(), np.logaddexp(0, data.astype(float)), 2e-6, 1e-38)


def test_every_function_of_elements_was_compared():
    assert set(FORMULAS) == set(formulas.FORMULAS)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_copies_of_several_arrays(library, number):
    """Up to four by one launch, of any types and lengths; what does not lie in one piece, by itself."""
    rng = np.random.default_rng(number)
    types, lengths = ("float32", "int64", "int32", "float16", "float64", "uint8"), (257, 0, 33, 1, 1025, 5)
    for library.schedule in SCHEDULES:
        given = [rng.integers(0, 100, 2 * length).astype(kind) for kind, length in zip(types, lengths, strict=True)][:number]
        given = [array[::2] if place == 2 else array[:len(array) // 2] for place, array in enumerate(given)]
        targets = [fake_cupy.ndarray(np.full(len(array), 101, array.dtype)) for array in given]
        for_device("gpu").xp.copy_each([(target, fake_cupy.ndarray(array)) for target, array in zip(targets, given, strict=True)])
        for target, array in zip(targets, given, strict=True):
            np.testing.assert_array_equal(target.get(), array)


@pytest.mark.parametrize("value", ["int8", "int32", "int64"])
def test_the_logistic_function_of_whole_numbers(library, value):
    data = np.arange(-60, 60).astype(value)
    made = for_device("gpu").xp.formula("sigmoid", np.dtype(np.float32), fake_cupy.ndarray(data)).get()
    np.testing.assert_allclose(made, FORMULAS["sigmoid"](data.astype(float)), rtol=2e-6)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("entries", [1, 2, 3, 31, 33, 64, 257, 1000, 2048, 2049, 2500])
def test_entries_of_every_number_are_grouped(library, entries, index):
    """By one block in shared memory up to 2,048, beyond by a sort of all."""
    rng = np.random.default_rng(entries)
    for most in (1, 5, 10**9):
        indices = rng.integers(0, most, entries).astype(index)
        wanted, ranks = np.unique(indices, return_inverse=True)
        order = np.argsort(indices, kind="stable")
        starts = np.append(np.searchsorted(indices[order], wanted), entries)
        for library.schedule in SCHEDULES if entries < 300 else SCHEDULES[:2]:
            found = group._groups(fake_cupy.ndarray(indices))
            for made, expected in zip(found, (wanted, starts, order, ranks), strict=True):
                np.testing.assert_array_equal(made.get(), expected)


@pytest.mark.parametrize("value", ["float16", "float32", "float64"])
@pytest.mark.parametrize("logarithm", [False, True])
def test_rows_that_are_cut_into_pieces(library, value, logarithm):
    """Softmax and its gradient: rows of one column more than a piece, of several pieces, and of as many as they are."""
    rng, gpu = np.random.default_rng(8), for_device("gpu")
    names = ("log_softmax_rows", "log_softmax_backward_rows") if logarithm else ("softmax_rows", "softmax_backward_rows")
    for width in (launch.PIECE, launch.PIECE + 1, 3 * launch.PIECE - 5):
        data, above = (rng.uniform(-3, 3, (2, width)).astype(value) for _ in range(2))
        exact = data.astype(float)
        made = exact - exact.max(axis=1, keepdims=True)
        made = made - np.log(np.exp(made).sum(axis=1, keepdims=True))
        slopes = above.astype(float)
        slopes = (slopes - np.exp(made) * slopes.sum(axis=1, keepdims=True) if logarithm
                  else np.exp(made) * (slopes - (slopes * np.exp(made)).sum(axis=1, keepdims=True)))
        made = (made if logarithm else np.exp(made)).astype(value)
        bits = set()
        for library.schedule in SCHEDULES:
            found = [fake_cupy.ndarray(np.full_like(data, np.nan)) for _ in range(2)]
            getattr(gpu, names[0])(*map(fake_cupy.ndarray, (data, data.max(axis=1))), found[0])
            getattr(gpu, names[1])(*map(fake_cupy.ndarray, (above, made)), found[1])
            for part, expected in zip(found, (made, slopes), strict=True):
                scale = 4 * TOLERANCE[value] * np.abs(expected.astype(float)).max()
                np.testing.assert_allclose(part.get().astype(float), expected.astype(float), 4 * TOLERANCE[value], scale)
            bits.add(b"".join(part.get().tobytes() for part in found))
        assert len(bits) == 1


@pytest.mark.parametrize("value", ["float16", "float32", "float64"])
def test_rows_that_are_normalized_in_pieces(library, value):
    """Layer normalization and its gradient, of rows far from zero, whose pieces have means of their own."""
    rng, gpu = np.random.default_rng(9), for_device("gpu")
    tolerance = 4 * TOLERANCE[value]
    for width in (launch.PIECE, launch.PIECE + 1, 3 * launch.PIECE - 5):
        data = (rng.uniform(-1, 1, (2, width)) + np.where(np.arange(width) < width // 2, 4, 6)).astype(value)
        above, gamma, beta = (rng.uniform(-1, 1, shape).astype(value) for shape in ((2, width), width, width))
        exact, weighted = data.astype(float), above.astype(float) * gamma
        centre, spread = exact.mean(axis=1), np.sqrt(exact.var(axis=1) + 1e-5)
        normal = (exact - centre[:, None]) / spread[:, None]
        slopes = (weighted - weighted.mean(axis=1, keepdims=True)
                  - normal * (weighted * normal).mean(axis=1, keepdims=True)) / spread[:, None]
        wanted, bits = (normal * gamma + beta, centre, spread, slopes), set()
        for library.schedule in SCHEDULES:
            out, back = (fake_cupy.ndarray(np.full_like(data, np.nan)) for _ in range(2))
            mean, deviation = (fake_cupy.ndarray(np.full(2, np.nan, value)) for _ in range(2))
            gpu.layer_norm_rows(*map(fake_cupy.ndarray, (data, gamma, beta)), 1e-5, out, mean, deviation)
            given = above, data, gamma, centre.astype(value), (1 / spread).astype(value)
            gpu.layer_norm_backward_rows(*map(fake_cupy.ndarray, given), back,
                                         *(fake_cupy.ndarray(np.zeros(width, value)) for _ in range(2)))
            found = [part.get() for part in (out, mean, deviation, back)]
            for part, expected in zip(found, wanted, strict=True):
                np.testing.assert_allclose(part.astype(float), expected, tolerance, tolerance * np.abs(expected).max())
            bits.add(b"".join(part.tobytes() for part in found))
        assert len(bits) == 1


#: Runs that fill a chunk or lack an entry of it, and go on through many; some entries before the first belong to none.
LENGTHS = (7, 1, 31, 32, 33, 64, 65, 500, 2, 1100, 40)


def assert_reduced(library, name, value):
    """Runs of all lengths are what numpy makes of them, with the same bits under all schedules."""
    rng, starts = np.random.default_rng(3), np.cumsum(LENGTHS)[:-1]
    data = rng.uniform(-1.5, -0.5, sum(LENGTHS)) if name == "maximum" else rng.uniform(0.95, 1.05, sum(LENGTHS))
    data = (data + (2.0**63 + 2.0**12 if value == "uint64" else 0) if value.startswith("f") or name == "maximum"
            else rng.integers(1, 3, data.size)).astype(value)
    if value.startswith("f"):
        data[starts[-2] + 3] = np.nan
    exact = data.astype(float) if value.startswith("f") else data
    wanted, made = getattr(np, name).reduceat(exact, starts), []
    for library.schedule in SCHEDULES:
        found = getattr(for_device("gpu").xp, name).reduceat(fake_cupy.ndarray(data), fake_cupy.ndarray(starts)).get()
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=TOLERANCE.get(value, 0))
        made.append(found.tobytes())
    assert len(set(made)) == 1, "the bits differ from schedule to schedule"


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("value", ["float16", "float32", "float64", "int32", "int64", "uint64"])
def test_runs_of_every_length(library, name, value):
    assert_reduced(library, name, value)


def test_the_largest_of_unsigned_numbers(library):
    """Half of them are negative in the type that adds up."""
    data = np.array([3, 2**63 + 5, 2**63 + 1, 2**63 - 1], np.uint64)
    matrix, found = (data, np.array([0, 1, 2, 3]), np.array([0, 3, 4])), fake_cupy.ndarray(np.full(2, -7))
    for_device("gpu").csr_argmax(*map(fake_cupy.ndarray, matrix), 4, True, found)
    np.testing.assert_array_equal(found.get(), [1, 3])
    runs = for_device("gpu").xp.maximum.reduceat(fake_cupy.ndarray(data), fake_cupy.ndarray(np.array([0, 3])))
    np.testing.assert_array_equal(runs.get(), [2**63 + 5, 2**63 - 1])


@pytest.mark.parametrize("rows", [1, 2, 31, 33, 64, 127, 128, 129, 500])
@pytest.mark.parametrize("repeats", [1, 3])
def test_groups_of_every_length(library, rows, repeats):
    """Groups that end where a chunk ends, begin there, fill one, or go on through many."""
    rng = np.random.default_rng(rows)
    for share in (0.0, 0.5, 1.0):
        indices = np.where(rng.random(rows * repeats) < share, 2, rng.integers(0, 9, rows * repeats))
        data, out = rng.random((rows * repeats, 3)), rng.random((9, 3))
        wanted = out.copy()
        np.add.at(wanted, indices, 2 * data)
        made = []
        for library.schedule in SCHEDULES:
            found = fake_cupy.ndarray(out.copy())
            for_device("gpu").add_rows(fake_cupy.ndarray(data), fake_cupy.ndarray(indices), 2, found)
            np.testing.assert_allclose(found.get(), wanted, rtol=1e-12)
            made.append(found.get().tobytes())
        assert len(set(made)) == 1


#: Divides; of the prelude's functions, the ones that most kernels begin with.
DIVIDING = """
extern "C" __global__ void run_dividing(const long long* numbers, const long long* by, long long* over_all, long long* left,
                                        long long count) {
    for (EACH(item, count)) over_all[item] = over(numbers[item], by[item]), left[item] = rest(numbers[item], by[item]);
}
"""


def test_whole_numbers_are_divided_by_32_bits_where_these_suffice(stand_in, machine):
    kinds = ("const long long*", "const long long*", "long long*", "long long*", "long long")
    edges = [0, 1, 2, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 3, 2**62 + 11]
    numbers, by = (part.reshape(-1) for part in np.meshgrid(edges, edges[1:]))
    found = [np.full(numbers.size, -7) for _ in range(2)]
    launcher = machine.program(launch.library() + DIVIDING, {"run_dividing": kinds})["run_dividing"]
    launcher.run(1, [numbers, by, *found, np.int64(numbers.size)])
    np.testing.assert_array_equal(found, [numbers // by, numbers % by])


def test_no_kernel_divides_the_number_of_its_item_by_64_bits():
    """By ``over`` and ``rest`` instead, unless what it divides by is known to the compiler."""
    assert re.findall(r"\b(?:item|element|tile) [/%] (?![A-Z])\w+", launch.library()) == []


def test_every_device_function_was_run(library):
    """A new one needs arguments in ``grid_arguments.py``, or a test above."""
    library.launched.clear()
    for name in NAMES:
        for width in (1, 5):
            run(library, simt.USUAL, name, Grid(np.float32, np.int64, width=width))
    test_small_products_of_matrices_in_any_order(library, 5, "float32")
    test_small_products_of_matrices_in_any_order(library, 33, "float32")
    test_rows_that_are_cut_into_pieces(library, "float32", False)
    test_rows_that_are_normalized_in_pieces(library, "float32")
    test_runs_of_every_length(library, "add", "float32")
    test_entries_of_every_number_are_grouped(library, 2049, "int64")
    test_copies_of_several_arrays(library, 4)
    for name in FORMULAS:
        test_functions_of_elements(library, name, "float32")
    assert library.launched == set(launch.KERNELS)
