"""Indexing and assigning of sparse arrays: scipy and numpy say what is right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as scipy_sparse

import sparsekit as mx
from sparsekit.base.errors import RowIndexError, ShapeError, UnsupportedError
from sparsekit.ops.samples import grid
from sparsekit.storage import CSR, RowSparse
from tests.calls import refused, variable

VALUES = grid(7, 6, seed=3)
STYPES = ("csr", "row_sparse")
ROWS = {
    "one": 2, "last": -1, "all": slice(None), "part": slice(1, 5), "steps": slice(None, None, 3), "back": slice(5, 0, -2),
    "reversed": slice(None, None, -1), "nothing": slice(4, 4), "beyond": slice(-100, 100), "list": [4, 0, -7, 4],
    "array": np.array([3, 3, 1], np.int32), "empty": [], "mask": np.arange(7) % 2 == 0, "no row": np.zeros(7, bool),
}


pytestmark = pytest.mark.usefixtures("no_fallback")


@pytest.fixture(params=STYPES)
def x(request):
    return mx.nd.array(VALUES).tostype(request.param)


def check(made, expected, stype):
    """The value, the storage type, and the canonical form."""
    assert made.stype == stype
    assert made.shape == expected.shape
    np.testing.assert_array_equal(made.asnumpy(), expected)
    store = made._store
    if stype == "csr":
        CSR(store.data, store.indices, store.indptr, store.shape)
    elif stype == "row_sparse":
        RowSparse(store.data, store.indices, store.shape)


@pytest.mark.parametrize("key", ROWS.values(), ids=ROWS)
def test_rows(x, key):
    check(x[key], scipy_sparse.csr_matrix(VALUES)[key].toarray(), x.stype)


PLACES = {
    "one": (1, 4), "from the end": (-1, -6), "pairs": ([0, 3, 6], [1, -1, 1]), "a row": (1, [4, 0, 4]), "a column": ([0, 6], 3),
    "arrays": (np.array([2, 0]), np.array([5, 5])), "every combination": (np.array([[0], [3]]), np.array([4, 1])),
    "none": ([], []),
}


@pytest.mark.parametrize("key", PLACES.values(), ids=PLACES)
def test_single_elements_come_dense(x, key):
    check(x[key], np.atleast_1d(VALUES[np.asarray(key[0], int), np.asarray(key[1], int)]), "default")


def test_ellipsis_and_all():
    x = mx.nd.array(VALUES).tostype("csr")
    assert x[:] is x
    assert x[...] is x
    check(x[..., 2], VALUES[:, 2:3], "csr")
    check(x[2, ...], VALUES[2:3], "csr")
    check(x[1, ..., 2], VALUES[1, 2:3], "default")


@pytest.mark.parametrize("kind", ["numpy", "dense", "csr"])
def test_a_mask_of_the_whole_shape_gives_the_elements(x, kind):
    mask = VALUES > 0.5
    key = {"numpy": mask, "dense": mx.nd.array(mask, dtype="bool"), "csr": x.tostype("csr") > 0.5}[kind]
    check(x[key], VALUES[mask], "default")


def test_arrays_of_the_library_index(x):
    check(x[mx.nd.array([3, 0, -1])], VALUES[[3, 0, -1]], x.stype)  # float32, as mx.nd.array makes them
    check(x[mx.nd.array([3, 0], dtype="int32")], VALUES[[3, 0]], x.stype)
    check(x[:, mx.nd.array([True, False] * 3, dtype="bool")], VALUES[:, ::2], x.stype)


def test_iteration_ends(x):
    assert [row.shape for row in x] == [(1, 6)] * 7
    np.testing.assert_array_equal(np.concatenate([row.asnumpy() for row in x]), VALUES)


def test_row_sparse_of_other_dimensions():
    cube = np.zeros((5, 3, 4), np.float32)
    cube[[1, 4]] = np.arange(24).reshape(2, 3, 4)
    x = mx.nd.array(cube).tostype("row_sparse")
    check(x[::-1, 1:, ::2], cube[::-1, 1:, ::2], "row_sparse")
    check(x[[4, 0], 1:2], cube[[4, 0], 1:2], "row_sparse")
    check(x[1:, :, [3, 3]], cube[1:, :, [3, 3]], "row_sparse")
    line = mx.nd.array([0, 3, 0, 4]).tostype("row_sparse")
    check(line[1:], np.array([3, 0, 4]), "row_sparse")
    check(line[-1], np.array([4]), "row_sparse")


positions = st.integers(-9, 9)
parts = st.one_of(st.builds(slice, *[st.none() | positions] * 2, st.none() | positions.filter(bool)),
                  st.integers(-5, 4), st.lists(st.integers(-5, 4), max_size=6), st.lists(st.booleans(), min_size=5, max_size=5))


@settings(max_examples=200, deadline=None)
@given(stype=st.sampled_from(STYPES), rows=parts, columns=parts)
def test_any_key_is_scipys(stype, rows, columns):
    values = grid(5, 5, seed=7)
    x = mx.nd.array(values).tostype(stype)
    key = tuple(np.asarray(part, bool) if isinstance(part, list) and part and isinstance(part[0], bool) else part
                for part in (rows, columns))
    if any(isinstance(part, slice) for part in key):
        check(x[key], scipy_sparse.csr_matrix(values)[key[0]][:, key[1]].toarray(), stype)
        return
    try:
        expected = values[tuple(np.asarray(part, int) if isinstance(part, list) else part for part in key)]
    except IndexError:  # lists that do not pair up
        refused(ShapeError, "", lambda: x[key])
        return
    check(x[key], np.atleast_1d(expected), "default")


WRONG = {
    "row beyond": (7, RowIndexError, "Row 7 is outside the 7"),
    "row before": (-8, RowIndexError, "Row -8 is outside the 7"),
    "column beyond": ((0, 6), RowIndexError, "Column 6 is outside the 6"),
    "in a list": ([0, 1, 9], RowIndexError, "Row 9 is outside the 7"),
    "in columns": ((slice(None), [0, -7]), RowIndexError, "Column -7"),
    "short mask": (np.ones(6, bool), ShapeError, "mask of shape .6,. does not fit the 7"),
    "whole mask": (np.ones((6, 7), bool), ShapeError, r"mask of shape \(6, 7\)"),
    "unpaired": (([0, 1], [0, 1, 2]), ShapeError, "do not pair up"),
    "axes": ((0, 0, 0), RowIndexError, "names 3 axes"),
    "dots": ((..., ...), RowIndexError, "more than one ellipsis"),
    "none": ((None, 0), RowIndexError, "must be an integer, a slice or an array, got None of type NoneType"),
    "text": ("a", RowIndexError, "got 'a' of type str"),
    "fraction": (1.5, RowIndexError, r"got 1\.5 of type float"),
    "fractions": ([0.5, 1], RowIndexError, "must hold integers or booleans, got float64"),
    "ragged": ([[0], [1, 2]], RowIndexError, "cannot be read as an index"),
    "zero step": (slice(None, None, 0), RowIndexError, "step of 0"),
    "slice of text": (slice("a", None), RowIndexError, "The start of a slice must be an integer, got 'a'"),
    "a truth": (True, RowIndexError, "got True of type bool"),
    "nested": (([[0, 1]], slice(None)), UnsupportedError, "flat list"),
    "huge": (2**70, RowIndexError, "outside"),
}


@pytest.mark.parametrize(("key", "error", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_key_is_named(x, key, error, message):
    refused(error, message, lambda: x[key])


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("key", [2, slice(5, 0, -2), [4, 0, 4], (slice(1, 6, 2), slice(None, None, -1)), ([0, 3], [2, 4]),
                                 (slice(None), [5, 5, 1])], ids=str)
def test_gradient_goes_where_the_elements_came_from(x, key, stype):
    """The buffer's own storage type throughout: a csr array with a csr buffer never becomes dense."""
    x.attach_grad(stype=stype)
    with mx.autograd.record():
        y = x[key]
        loss = y * y
    loss.backward(mx.nd.ones(loss.shape))
    expected, picked = np.zeros_like(VALUES), VALUES[[key] if isinstance(key, int) else key]
    np.add.at(expected, [key] if isinstance(key, int) else key, 2 * picked)
    check(x.grad, expected, stype)


def test_huge_arrays_are_indexed_without_their_zeros():
    rows, columns = np.array([5, 2**40, 2**41]), 3
    x = mx.nd.sparse.row_sparse_array((np.ones((3, columns), np.float32), rows), shape=(2**42, columns))
    assert x[2**40].asnumpy().tolist() == [[1, 1, 1]]
    assert x[::-1].shape == (2**42, columns)
    assert x[::-1].indices.asnumpy().tolist() == [2**42 - 1 - 2**41, 2**42 - 1 - 2**40, 2**42 - 1 - 5]
    assert x[2**40: 2**41].nnz == columns
    wide = mx.nd.sparse.csr_matrix(([1, 2, 3], [7, 2**45, 9], [0, 2, 3]), shape=(2, 2**46))
    assert wide[0, 2**45].asscalar() == 2
    assert wide[:, 2**44:].shape == (2, 2**46 - 2**44)
    assert wide[:, [2**45, 7]].asnumpy().tolist() == [[2, 1], [0, 0]]


ASSIGNED = {
    "zero": 0, "number": 3, "numpy": grid(7, 6, seed=9), "a row": np.arange(6), "list": grid(7, 6, seed=9).tolist(),
    "scipy": scipy_sparse.coo_matrix(grid(7, 6, seed=9)), "dense": mx.nd.array(grid(7, 6, seed=9)),
    "csr": mx.nd.array(grid(7, 6, seed=9)).tostype("csr"), "row_sparse": mx.nd.array(grid(7, 6, seed=9)).tostype("row_sparse"),
}


@pytest.mark.parametrize("value", ASSIGNED.values(), ids=ASSIGNED)
def test_assigning_the_whole(x, value):
    stype = x.stype
    plain = value.asnumpy() if isinstance(value, mx.nd.NDArray) else value.toarray() if hasattr(value, "toarray") else value
    x[:] = value
    check(x, np.broadcast_to(np.asarray(plain, np.float32), x.shape), stype)
    x[...] = value
    check(x, np.broadcast_to(np.asarray(plain, np.float32), x.shape), stype)


def test_assigning_zero_stores_nothing():
    x = mx.nd.sparse.row_sparse_array((np.ones((1, 2)), [3]), shape=(2**50, 2))
    x[:] = 0
    assert x.nnz == 0


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")
def test_what_take_gives_has_a_gradient(stype):
    x = variable(mx.nd.array([[0, 1.0], [2, 0]]).tostype(stype))
    for kind in ("csr", "row_sparse"):
        with mx.autograd.record():
            y = mx.nd.take(x, mx.nd.array([[0, 1], [1, 1]], dtype="int32").tostype(kind))
        y.backward()
        assert (x.grad.stype, x.grad.asnumpy().tolist()) == (stype, [[1, 1], [3, 3]])
