"""csrᵀ · dense -> row_sparse by its two ways, sums for every column and sorted entries, against scipy and each other."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from sparsekit.kernels.cpu import csr, jit

pytestmark = pytest.mark.compiled


def matrix(rows, columns, stored, seed=0, dtype=np.float32, index=np.int64):
    """A random matrix in canonical form: data, indices, indptr."""
    random = np.random.default_rng(seed)
    cells = np.sort(random.choice(rows * columns, min(stored, rows * columns), replace=False))
    indptr = np.searchsorted(cells, np.arange(rows + 1) * columns).astype(index)
    return random.standard_normal(cells.shape[0]).astype(dtype), (cells % columns).astype(index), indptr


def dense(rows, width, dtype=np.float32, seed=1):
    """Random values with zeros of both signs among them, whose products are zeros of both signs."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((rows, width)).astype(dtype)
    values[random.random((rows, width)) < 0.3] = 0
    return values * random.choice([-1, 1], (rows, width)).astype(dtype)


def bits(values):
    return np.ascontiguousarray(values).view(np.uint8)


def check(parts, right, columns):
    """Both ways give scipy's sums, for exactly the columns that occur, and the same bits."""
    data, indices, _ = parts
    summed, grouped = csr._dot_summed(*parts, right, columns), csr._dot_grouped(*parts, right, columns)
    expected = sparse.csr_matrix(parts, shape=(right.shape[0], columns)).T @ right
    for found, out in (summed, grouped):
        np.testing.assert_array_equal(found, np.unique(indices))
        assert found.dtype == np.int64
        assert out.dtype == data.dtype
        np.testing.assert_allclose(out, expected[found], rtol=1e-4, atol=1e-5)
        assert not np.signbit(out[out == 0]).any()  # as of sums that begin with 0
    np.testing.assert_array_equal(bits(summed[1]), bits(grouped[1]))
    if data.shape[0] and not csr._in_halves(data.shape[0], columns, right.shape[1]):
        np.testing.assert_array_equal(bits(csr._dot_ranked(*parts, right)[1]), bits(grouped[1]))


# By the way that small products take, test_numpy_kernels.py has the other types too.
@pytest.mark.parametrize(("dtype", "index"), [
    (np.float32, np.int64), pytest.param(np.float64, np.int32, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("width", [1, 2, 5, 16, 33])
@pytest.mark.parametrize(("rows", "columns", "stored"), [
    (1, 1, 1), (1, 1, 0), (3, 1, 2), (1, 200, 200), (7, 64, 0), (7, 63, 20), (7, 64, 448), (9, 65, 100), (50, 1000, 40),
    (40, 129, 3000)])
def test_both_ways_give_the_same_bits_and_what_scipy_gives(rows, columns, stored, width, dtype, index):
    check(matrix(rows, columns, stored, dtype=dtype, index=index), dense(rows, width, dtype), columns)


@pytest.mark.parametrize("seed", range(25))
def test_random_shapes(seed):
    random = np.random.default_rng(seed)
    rows, columns, width = (int(10 ** random.uniform(0, most)) for most in (3, 4, 1.5))
    check(matrix(rows, columns, int(random.integers(0, 5 * rows + 1)), seed), dense(rows, width, seed=seed), columns)


# Sums that are in the nearest caches, that are read before, and that are prefetched one by one.
@pytest.mark.parametrize(("columns", "width"), [(1000, 1), (1000, 3), (1000, 8), (400_000, 1), (400_000, 3), (100_000, 16),
                                                (3_000_000, 1), (300_000, 8)])
def test_many_stored_values_are_shared_by_threads(columns, width):
    check(matrix(2000, columns, 600_000 if width == 1 else 80_000), dense(2000, width), columns)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.thorough),
                                   pytest.param(np.int32, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(("rows", "columns", "stored"), [
    (2000, 1000, 1 << 17), (2000, 1 << 17, 1 << 17), (1, 1 << 18, 1 << 17), (3000, 64, (1 << 17) + 5),
    (2000, 1000, (1 << 17) - 1), (2000, (1 << 17) + 1, 1 << 17)])  # the last two as before
def test_many_values_are_added_up_in_halves(rows, columns, stored, dtype):
    data, indices, indptr = matrix(rows, columns, stored)
    parts, right = ((10 * data).astype(dtype), indices, indptr), (3 * dense(rows, 1)).astype(dtype)
    check(parts, right, columns)
    check((parts[0][:stored // 9], indices[:stored // 9], np.minimum(indptr, stored // 9)), right, columns)  # in clean memory
    few = np.append(np.zeros(rows), [stored])  # the last row has all
    check((parts[0], np.sort(indices), few.astype(np.int64)), right, columns)


@pytest.mark.parametrize("stored", [100, 5000])  # whose columns are marked by bits, and by bytes
@pytest.mark.parametrize("columns", [20_000, 20_031, 20_032])
def test_marks_of_many_and_few_columns_for_each_value(columns, stored):
    assert bool(csr._bytes_for(columns, stored)) == (stored == 5000)
    check(matrix(300, columns, stored), dense(300, 2), columns)


@pytest.mark.parametrize("width", [1, 4])
def test_columns_may_repeat_and_descend_within_a_row(width):
    random = np.random.default_rng(3)
    indices = random.integers(0, 40, 20_000)
    parts = random.standard_normal(20_000).astype(np.float32), indices, np.arange(0, 20_001, 20)
    check(parts, dense(1000, width), 40)


@pytest.mark.parametrize("width", [1, 2])
def test_memory_of_a_call_is_clean_for_the_next(width):
    for seed, columns in enumerate((500, 40, 2000, 500)):
        check(matrix(30, columns, 100, seed), dense(30, width, seed=seed), columns)
    held = jit._scratch.held
    assert not held["seenL"].any()
    assert not held["marks?"].any()
    assert np.signbit(held["sumsf"]).all()
    assert not held["sumsf"].any()


def test_memory_that_an_interrupt_left_dirty_is_not_used_again(monkeypatch):
    parts, right = matrix(30, 500, 100), dense(30, 2)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(csr, "_list_columns_shared", interrupt)
        with pytest.raises(KeyboardInterrupt):
            csr._dot_summed(*parts, right, 500)
    check(matrix(30, 500, 90, 5), right, 500)


def chosen(monkeypatch, stored, columns, width, dtype=np.float32):
    """Which of the three ways a product takes."""
    ways = []
    for name in ("_dot_summed", "_dot_grouped", "_dot_ranked"):
        monkeypatch.setattr(csr, name, lambda *_, name=name: ways.append(name))
    data = np.zeros(stored, dtype)
    csr.csr_transposed_dot_rows(data, np.zeros(stored, np.int64), np.array([0, stored]), np.zeros((1, width), dtype), columns)
    return ways


@pytest.mark.parametrize(("stored", "columns", "width", "way"), [
    (1024, 1 << 16, 1, "_dot_summed"), (1024, (1 << 16) + 1, 1, "_dot_grouped"),  # 64 sums for each stored value
    (1024, 4096, 16, "_dot_summed"), (1024, 4097, 16, "_dot_grouped"), (1024, 200, 17, "_dot_grouped"),  # narrow ones
    (1024, 128, 32, "_dot_summed"), (1024, 129, 32, "_dot_grouped"), (1024, 100, 33, "_dot_grouped"),  # wider ones that repeat
    (1023, 100, 1, "_dot_grouped"), (0, 0, 1, "_dot_grouped"),  # and not for few
    (2 << 20, 1 << 24, 1, "_dot_summed"), ((2 << 20) - 1, (1 << 24), 1, "_dot_summed"),  # as much memory as is kept
    ((2 << 20) - 1, (1 << 24) + 1, 1, "_dot_ranked"), ((2 << 20) + 1, (1 << 24) + 8, 1, "_dot_summed")])  # and more
def test_the_way_is_chosen_by_stored_count_columns_and_width(monkeypatch, stored, columns, width, way):
    monkeypatch.setattr(csr, "worker_count", lambda: 4)
    assert chosen(monkeypatch, stored, columns, width) == [way]
    if way == "_dot_ranked":  # more threads add up sorted entries sooner
        monkeypatch.setattr(csr, "worker_count", lambda: 5)
        assert chosen(monkeypatch, stored, columns, width) == ["_dot_grouped"]


@pytest.mark.parametrize("columns", [300, 3_000_000])
def test_half_precision_adds_up_in_single(columns):
    data, indices, indptr = matrix(64, columns, 2000, dtype=np.float16)
    right = dense(64, 2, np.float16)
    found, out = csr.csr_transposed_dot_rows(data, indices, indptr, right, columns)
    wide = csr.csr_transposed_dot_rows(data.astype(np.float32), indices, indptr, right.astype(np.float32), columns)
    np.testing.assert_array_equal(found, wide[0])
    np.testing.assert_array_equal(bits(out), bits(wide[1].astype(np.float16)))


PROGRAM = """
import hashlib, numpy as np
from sparsekit.kernels.cpu import csr
random = np.random.default_rng(0)
total = hashlib.sha256()
for columns, width in ((1000, 1), (400_000, 1), (1000, 8), (50_000_000, 1), (50_000_000, 20)):
    indices, indptr = np.sort(random.integers(0, columns, (5000, 30)), axis=1).reshape(-1), np.arange(0, 150_001, 30)
    data, right = (random.standard_normal(shape).astype(np.float32) for shape in (150_000, (5000, width)))
    for part in csr.csr_transposed_dot_rows(data, indices, indptr, right, columns):
        total.update(part.tobytes())
print(total.hexdigest())
"""


def test_the_bits_are_the_same_with_any_number_of_threads():
    made = {count: subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
                                  env={**os.environ, "SPARSEKIT_NUM_THREADS": count}).stdout for count in ("1", "5")}
    assert len(set(made.values())) == 1
    assert len(made["1"].strip()) == 64
