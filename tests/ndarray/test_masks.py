"""Masks as keys: numpy's result, or a named error; a mask is never read as row numbers.

A comparison gives zeros and ones in the type of its arrays, as in MXNet, which then reads them as row numbers.
"""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import nd
from tests.calls import differentiated, refused

TYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"]
SHAPES = [(1,), (2,), (5,), (2, 1), (1, 1), (2, 2), (3, 4), (4, 1), (2, 3, 4), (3, 3, 3)]
COMPARISONS = {
    "==": lambda x, F: x == 0, ">": lambda x, F: x > 0, "<=": lambda x, F: x <= 1, "logical_not": lambda x, F: F.logical_not(x),
    "product": lambda x, F: (x > 0) * (x < 2), "of two": lambda x, F: x != x[::-1],
}


def numbers(shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).integers(0, 3, shape).astype(dtype)


def meant(name, values):
    """The mask that numpy makes."""
    return np.asarray(COMPARISONS[name](values, np)).astype(bool)


def refuses(function):
    refused(mx.RowIndexError, r'may be a mask.*\n?.*astype\("bool"\).*astype\("int32"\)', function)


def assign(x, key, value):
    x[key] = value


def increase(x, key):
    x[key] += 1


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_comparison_is_refused_and_names_its_cast(shape, dtype, name):
    values = numbers(shape, dtype)
    x, mask = nd.array(values, dtype=dtype), COMPARISONS[name](nd.array(values, dtype=dtype), nd)
    for way in (lambda: x[mask], lambda: assign(x, mask, 9), lambda: increase(x, mask), lambda: x[mask, ...],
                lambda: x[..., mask], lambda: x[None, mask], lambda: assign(x, (mask,), nd.array([9]))):
        refuses(way)
    np.testing.assert_array_equal(x.asnumpy(), values)
    wanted = meant(name, values)
    np.testing.assert_array_equal(x[mask.astype("bool")].asnumpy(), values[wanted])
    increase(x, mask.astype("bool"))
    values[wanted] += 1
    np.testing.assert_array_equal(x.asnumpy(), values)
    assign(x, mask.astype("bool"), 7)
    values[wanted] = 7
    np.testing.assert_array_equal(x.asnumpy(), values)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "axis"), [((4, 3), 0), ((4, 3), 1), ((2, 3, 4), 1), ((2, 3, 4), (0, 2))], ids=str)
def test_a_comparison_with_axes_kept_is_refused(shape, axis, dtype):
    """numpy refuses its mask, which has not the sizes of the axes; MXNet changes the first two rows."""
    values = numbers(shape, dtype)
    x = nd.array(values, dtype=dtype)
    mask = x.max(axis=axis, keepdims=True) > 1
    refuses(lambda: x[mask])
    refuses(lambda: assign(x, mask, 9))
    np.testing.assert_array_equal(x.asnumpy(), values)
    refused(mx.RowIndexError, "mask of shape", lambda: x[mask.astype("bool")])


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("dtype", TYPES)
def test_masks_of_one_axis(dtype, stype):
    """Rows by their labels, columns, and both beside numbers and slices."""
    values, labels = numbers((4, 4)), nd.array([1, 0, 1, 1], dtype=dtype)
    for key in ((labels == 1,), (labels == 1, 0), (labels == 1, slice(1, 3)), (slice(None), labels == 1), (..., labels == 1),
                (2, labels == 1), (labels == 1, labels == 1)):
        x = nd.array(values).tostype(stype)
        for way in (lambda x=x, key=key: x[key if len(key) > 1 else key[0]],
                    lambda x=x, key=key: assign(x, key if len(key) > 1 else key[0], 9)):
            refuses(way)
        np.testing.assert_array_equal(x.asnumpy(), values)
    x = nd.array(values).tostype(stype)
    np.testing.assert_array_equal(x[(labels == 1).astype("bool")].asnumpy(), values[[0, 2, 3]])


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_comparisons_of_sparse_arrays(stype):
    """Those with 0 are dense and are refused; those that are sparse can only be masks."""
    values = numbers((4, 5))
    for compare in (lambda x: x == 0, lambda x: x <= 1):
        x = nd.array(values).tostype(stype)
        mask = compare(x).tostype("default")
        refuses(lambda x=x, mask=mask: x[mask])
        refuses(lambda x=x, mask=mask: assign(x, mask, 9))
        np.testing.assert_array_equal(x[mask.astype("bool")].asnumpy(), values[compare(values)])
    x = nd.array(values).tostype(stype)
    np.testing.assert_array_equal(x[x > 1].asnumpy(), values[values > 1])
    assign(x, x > 1, 9)
    np.testing.assert_array_equal(x.asnumpy(), np.where(values > 1, 9, values))
    refuses(lambda: assign(nd.array(values), (x > 1).tostype("default"), 9))
    refused(mx.RowIndexError, "", lambda: nd.array(values)[x > 1])


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist], ids=["numpy", "list"])
def test_floats_of_numpy_are_refused_and_integers_are_positions(kind):
    values = numbers((3, 3))
    x, floats = nd.array(values), kind((values[0] > 0).astype("float32"))
    refuses(lambda: x[floats])
    refuses(lambda: assign(x, floats, 9))
    np.testing.assert_array_equal(x[kind(values[0] > 0)].asnumpy(), values[values[0] > 0])
    whole = (values[0] > 0).astype("int64")
    np.testing.assert_array_equal(x[kind(whole)].asnumpy(), values[whole])


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("dtype", TYPES)
def test_positions_stay_positions(dtype, stype):
    """MXNet's arrays are float32 by default, so that its programs index by floats."""
    values = numbers((4, 3))
    x = nd.array(values).tostype(stype)
    for rows in ([0, 2], [3, 3, 0, 1], [0, 1], [1, 0, 1], [0, 1, 2, 3], [1], [0, 0, 0, 0, 1]):
        places = nd.array(rows, dtype=dtype)
        np.testing.assert_array_equal(x[places].asnumpy(), values[rows])
        np.testing.assert_array_equal(x[places, nd.array([2] * len(rows), dtype=dtype)].asnumpy(), values[rows, 2])
        changed, expected = nd.array(values).tostype(stype), values.copy()
        changed[places], expected[rows] = 9, 9
        np.testing.assert_array_equal(changed.asnumpy(), expected)
    if stype == "default":
        np.testing.assert_array_equal(x[nd.array([[0, 1], [1, 1]], dtype=dtype)].asnumpy(), values[[[0, 1], [1, 1]]])
        assert x[nd.array([], dtype=dtype)].shape == (0, 3)


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_rows_and_columns_of_single_elements(stype):
    """Of every length, though the rows of the first one or two examples are zeros and ones; MXNet's own programs do so."""
    for count in (1, 2, 3, 4):
        values, columns = numbers((count, 3)), [2, 0, 2, 1][:count]
        x = nd.array(values).tostype(stype)
        for given in (nd.array(columns), nd.array(columns, dtype="int32"), columns):
            np.testing.assert_array_equal(x[nd.arange(count), given].asnumpy(), values[range(count), columns])
            changed, expected = nd.array(values).tostype(stype), values.copy()
            changed[nd.arange(count), given], expected[range(count), columns] = 9, 9
            np.testing.assert_array_equal(changed.asnumpy(), expected)
    x = nd.array(numbers((3, 3))).tostype(stype)
    for key in ((nd.ones(3), nd.array([2, 0, 1])), (nd.array([1, 0, 1]), nd.array([1, 1, 0])), (nd.array([1, 0, 1]), [0, 2])):
        refuses(lambda key=key: x[key])


def random_key(random, shape):
    """A key with a mask of one or more axes among numbers, slices, None and an ellipsis; the mask may not fit."""
    axes = int(random.integers(1, len(shape) + 1))
    start = int(random.integers(0, len(shape) - axes + 1))
    sizes = [size + int(random.random() < 0.15) for size in shape[start: start + axes]]
    before = [random.choice([0, slice(None), slice(0, 2)]) for _ in range(start)]
    if start and random.random() < 0.3:
        before = [...]
        start, sizes = len(shape) - axes, [size + int(random.random() < 0.15) for size in shape[len(shape) - axes:]]
    elif random.random() < 0.3:
        before.append(None)
    behind = [random.choice([0, slice(None), slice(1, None)]) for _ in shape[start + axes:]] if random.random() < 0.5 else []
    return (*before, random.random(sizes) < 0.5, *behind)


def test_random_masks_give_what_numpy_gives():
    random = np.random.default_rng(1)
    fitted = 0
    for _ in range(500):
        shape = tuple(random.integers(1, 4, random.integers(1, 4)).tolist())
        values, key = numbers(shape, seed=random), random_key(random, shape)
        ours = tuple(nd.array(part, dtype="bool") if isinstance(part, np.ndarray) and random.random() < 0.7 else part
                     for part in key)
        x = nd.array(values)
        try:
            expected = values[key]
        except IndexError:
            with pytest.raises(mx.RowIndexError):
                x[ours]
            with pytest.raises(mx.RowIndexError):
                x[ours] = 9
            np.testing.assert_array_equal(x.asnumpy(), values)
            continue
        fitted += 1
        np.testing.assert_array_equal(x[ours].asnumpy(), expected, err_msg=f"{shape} {key}")
        floats = tuple(nd.array(part) if isinstance(part, np.ndarray) else part for part in key)
        refuses(lambda x=x, floats=floats: x[floats])
        values[key] = 9
        x[ours] = 9
        np.testing.assert_array_equal(x.asnumpy(), values, err_msg=f"{shape} {key}")
    assert fitted > 200


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_masks_that_do_not_fit_are_named(stype):
    x = nd.array(numbers((3, 4))).tostype(stype)
    for shape in ((4,), (2,), (1,), (4, 3), (3, 1), (1, 4), (3, 3)):
        for mask in (np.ones(shape, bool), nd.ones(shape).astype("bool"), np.ones(shape, bool).tolist()):
            with pytest.raises((mx.RowIndexError, mx.ShapeError), match="mask of shape"):
                x[mask]
            with pytest.raises((mx.RowIndexError, mx.ShapeError), match="mask of shape"):
                x[mask] = 9


@pytest.mark.parametrize("hybridize", [False, True])
def test_the_gradient_of_a_masked_part(hybridize):
    values = numbers((3, 4))

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return (x[(x > 0).astype("bool")] ** 2).sum()

    net, x = Net(), nd.array(values)
    x.attach_grad()
    if hybridize:
        net.hybridize()
        with pytest.warns(mx.HybridizeWarning, match="array was an index"):
            net(x)
    differentiated(net, x)
    np.testing.assert_array_equal(x.grad.asnumpy(), np.where(values > 0, 2 * values, 0))
    with mx.autograd.record():
        refuses(lambda: x[x > 0])
