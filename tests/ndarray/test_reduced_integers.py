"""Means, norms and moments of integers: sums on the way do not wrap where the result fits its type."""

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import differentiated, variable

INTEGERS = ("uint8", "int8", "int32", "int64")
AXES = (None, 0, 1)


def values(kind, size=400):
    """Mostly near the ends of the type, a third of them zero."""
    ends = np.iinfo(kind)
    made = np.random.default_rng(3).integers(ends.min, ends.max, (size, 3), dtype=kind, endpoint=True)
    made[:, 0] = np.where(made[:, 0] < 0, ends.min // 2, ends.max - 1)
    made[::3] = 0
    return made


def exact_means(array, axis):
    """Of Python's integers, which do not overflow, without the fraction."""
    total, count = array.astype(object).sum(axis=axis), array.size if axis is None else array.shape[axis]
    return np.vectorize(lambda one: (abs(one) // count) * (1 if one >= 0 else -1), otypes=[object])(total).reshape(-1)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
def test_a_mean_lies_between_the_elements(kind, axis, stype):
    array = values(kind)
    made = mx.nd.array(array, dtype=kind).tostype(stype).mean(axis=axis)
    assert made.dtype == np.dtype(kind)
    wanted = exact_means(array, axis)
    if kind == "int64":  # added up in float64, where int64 would overflow
        np.testing.assert_allclose(made.asnumpy().astype(float), wanted.astype(float), rtol=1e-12)
    else:
        assert made.asnumpy().astype(object).tolist() == wanted.tolist()


def test_a_mean_of_int64_is_exact_where_its_sum_is():
    array = np.array([[2**60 + 1, 3], [1, 0]])
    assert mx.nd.array(array, dtype="int64").mean(axis=0).asnumpy().tolist() == [2**59 + 1, 1]
    assert mx.nd.array([2**63 - 1] * 3, dtype="int64").mean().asscalar() > 2**63 - 2**11


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
def test_the_squares_of_a_norm_do_not_wrap(kind, axis, stype):
    array = np.array([[50_000, 0, -60_000], [0, 0, 46_341]] * 5, kind)
    made = mx.nd.array(array, dtype=kind).tostype(stype).norm(axis=axis)
    wanted = np.sqrt(np.square(array.astype(float)).sum(axis=axis)).reshape(-1)
    assert made.asnumpy().tolist() == np.floor(wanted).astype(kind).tolist()


@pytest.mark.parametrize("kind", ["uint8", "int32"])
def test_moments_do_not_wrap(kind):
    array = np.array([[220, 90], [250, 100], [250, 110]], kind)
    mean, variance = mx.nd.moments(mx.nd.array(array, dtype=kind), axes=(0,))
    assert mean.asnumpy().tolist() == [240, 100]
    assert variance.asnumpy().tolist() == [200, 66]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
@pytest.mark.parametrize("share", [0, 1e-3, 0.5])
def test_squares_neither_overflow_nor_vanish(kind, stype, share):
    ends = np.finfo(kind)
    for size in (float(ends.max) * share, float(ends.tiny) * share) if kind != "float64" else (1e150, 1e-150, 0.0):
        array = np.array([[3 * size / 5, 0, 4 * size / 5]]).astype(kind)
        data = variable(mx.nd.array(array, dtype=kind).tostype(stype), stype="default")
        made = differentiated(data.norm)
        wanted = np.sqrt(np.square(array.astype(np.longdouble)).sum())
        np.testing.assert_allclose(made.asnumpy(), [wanted], rtol=2 * ends.eps, atol=float(ends.smallest_subnormal))
        if size > ends.tiny:  # below it, quotients have few digits
            np.testing.assert_allclose(data.grad.asnumpy(), array / wanted, rtol=8 * ends.eps)
        assert np.isfinite(data.grad.asnumpy()).all()
