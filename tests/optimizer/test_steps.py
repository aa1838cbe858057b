"""Update operators: what lazy means, in which arrays they write, and what they refuse."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, RowIndexError, ShapeError
from sparsekit.core import dispatch
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.core.op import registry
from sparsekit.ops.update.update import Update
from tests.calls import alike, refused

#: Operators of one weight that take a row_sparse gradient lazily or not, without those that have a float32 copy of it.
LAZY = {op.name: op for op in registry.values() if isinstance(op, Update) and "lazy_update" in op.attrs
        and op.name != "sgld_update" and not op.name.startswith(("mp_", "_contrib_mp_"))}


@pytest.mark.parametrize("name", LAZY)
def test_float16_is_computed_in_float32(name):
    random, found = np.random.default_rng(0), {}
    arrays, attrs = next(iter(LAZY[name].sample()))
    for place, array in enumerate(arrays):
        if array.ndim == 2:
            values = random.uniform(*((0.5, 2) if place != 4 else (-0.3, 0.3)), (6, array.shape[1]))
            arrays[place] = np.where((random.random(values.shape) < 0.5) & (place < 2), -values, values).astype(np.float16)
    arrays[1][[1, 2, 5]] = 0
    for dtype in (np.float16, np.float32):
        made = [mx.nd.array(array, dtype=dtype if array.ndim == 2 else array.dtype) for array in arrays]
        made[1] = made[1].tostype("row_sparse")
        invoke(LAZY[name].bind({**attrs, "lazy_update": True}), tuple(made))
        found[dtype] = [array.asnumpy() for array in made if array.ndim == 2]
    assert {array.dtype for array in found[np.float16]} == {np.dtype(np.float16)}
    alike(found[np.float16], found[np.float32], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("gradient", ["default", "row_sparse"])
def test_a_gradient_that_is_nan_stays_nan_under_clipping(gradient):
    weight, grad = mx.nd.ones((3, 2)), mx.nd.array([[np.nan, 9], [0, 0], [np.inf, -9]])
    made = mx.nd.sgd_update(weight, grad.tostype(gradient), lr=0.1, clip_gradient=1.0)
    np.testing.assert_allclose(made.asnumpy(), [[np.nan, 0.9], [1, 1], [0.9, 1.1]], rtol=1e-6)


def test_bound_zero_and_no_bound():
    weight, grad = mx.nd.ones((2, 2)), mx.nd.full((2, 2), 1e30)
    assert (mx.nd.sgd_update(weight, grad, lr=1.0, clip_gradient=0.0) == weight).asnumpy().all()
    assert (mx.nd.sgd_update(weight, grad, lr=1.0).asnumpy() == np.float32(-1e30)).all()


def test_out_says_what_is_written():
    weight, grad, other = mx.nd.ones((3, 2)), mx.nd.ones((3, 2)), mx.nd.zeros((3, 2), dtype="float64")
    buffer = weight._store
    assert mx.nd.sgd_update(weight, grad, lr=0.5) is not weight
    assert mx.nd.sgd_update(weight, grad, lr=0.5, out=other) is other
    assert (weight.asnumpy() == 1).all()
    assert (other.asnumpy() == 0.5).all()
    assert mx.nd.sgd_update(weight, grad, lr=0.5, out=weight) is weight
    assert weight._store is buffer
    assert (weight.asnumpy() == 0.5).all()
    sparse = mx.nd.ones((3, 2)).tostype("row_sparse")
    made = mx.nd.sparse.sgd_update(sparse, grad.tostype("row_sparse"), lr=0.5)
    assert (made.stype, made.asnumpy().min(), sparse.asnumpy().min()) == ("row_sparse", 0.5, 1)


def test_a_view_of_another_layout_is_written():
    values = mx.nd.array(np.arange(6.0).reshape(2, 3))
    turned = wrap(values._store.T, mx.cpu())
    mx.nd.sgd_update(turned, mx.nd.ones((3, 2)), lr=1.0, out=turned)
    np.testing.assert_array_equal(values.asnumpy(), np.arange(6).reshape(2, 3) - 1)


@pytest.mark.parametrize("place", [0, 2])
def test_csr_arrays_are_made_dense_for_the_step_and_written(place):
    arrays = [mx.nd.ones((3, 2)), mx.nd.ones((3, 2)), mx.nd.zeros((3, 2))]
    arrays[place] = arrays[place].tostype("csr")
    dispatch._warned.clear()
    with pytest.warns(mx.base.StorageFallbackWarning):
        invoke(registry["sgd_mom_update"].bind({"lr": 0.5, "momentum": 0.9}), tuple(arrays))
    assert [array.stype for array in arrays] == ["csr" if number == place else "default" for number in range(3)]
    assert (arrays[0].asnumpy() == 0.5).all()
    assert (arrays[2].asnumpy() == -0.5).all()


def test_empty_gradients_and_weights():
    weight = mx.nd.ones((3, 2))
    mx.nd.sgd_update(weight, mx.nd.sparse.zeros("row_sparse", (3, 2)), lr=1.0, wd=0.5, out=weight)
    assert (weight.asnumpy() == 1).all()
    mx.nd.sgd_update(weight, mx.nd.sparse.zeros("row_sparse", (3, 2)), lr=1.0, wd=0.5, lazy_update=False, out=weight)
    assert (weight.asnumpy() == 0.5).all()
    for shape in ((0, 2), (2, 0)):
        empty = wrap(np.zeros(shape, np.float32), mx.cpu())
        assert mx.nd.sgd_update(empty, empty, lr=1.0).shape == shape
        assert mx.nd.sgd_update(empty, mx.nd.sparse.zeros("row_sparse", shape), lr=1.0, lazy_update=False).shape == shape


def test_more_than_two_dimensions_and_one():
    for shape in ((4,), (4, 2, 3)):
        values = np.zeros(shape, np.float32)
        values[[1, 3]] = 2
        weight, grad = mx.nd.ones(shape), mx.nd.array(values).tostype("row_sparse")
        made = mx.nd.adam_update(weight, grad, mx.nd.zeros(shape), mx.nd.zeros(shape), lr=0.1)
        np.testing.assert_allclose(made.asnumpy(), np.where(values > 0, 1 - 0.1 * 0.2 / np.sqrt(0.004), 1), rtol=1e-5)


def tampered():
    grad = mx.nd.sparse.row_sparse_array((np.ones((1, 2), np.float32), [1]), shape=(3, 2))
    grad._store.indices[:] = 10**12
    return grad


WRONG = {
    "row outside": (lambda: mx.nd.sgd_update(mx.nd.ones((3, 2)), tampered(), lr=1.0), RowIndexError, "outside the 3 rows"),
    "gradient's shape": (
        lambda: mx.nd.sgd_update(mx.nd.ones((3, 2)), mx.nd.sparse.zeros("row_sparse", (4, 2)), lr=1.0), ShapeError, "4, 2"),
    "state's shape": (
        lambda: mx.nd.sgd_mom_update(mx.nd.ones((3, 2)), mx.nd.ones((3, 2)), mx.nd.ones((2, 2)), lr=1.0), ShapeError, "2, 2"),
    "types": (lambda: mx.nd.sgd_update(mx.nd.ones(2), mx.nd.ones(2, dtype="float64"), lr=1.0), DTypeError, "float64"),
    "integers": (lambda: mx.nd.sgd_update(mx.nd.ones(2, dtype="int32"), mx.nd.ones(2, dtype="int32"), lr=1.0), DTypeError,
                 "floating-point"),
    "a word for a number": (lambda: mx.nd.sgd_update(mx.nd.ones(2), mx.nd.ones(2), lr="fast"), DTypeError, "fast"),
    "no rate": (lambda: mx.nd.sgd_update(mx.nd.ones(2), mx.nd.ones(2)), mx.base.SparsekitError, "'lr'"),
    "history": (
        lambda: mx.nd._contrib_group_adagrad_update(mx.nd.ones((3, 2)), mx.nd.ones((3, 2)), mx.nd.ones((3, 2)), lr=1.0),
        ShapeError, r"\(rows, 1\)"),
    "arrays of several weights": (
        lambda: mx.nd.multi_sgd_update(mx.nd.ones(2), mx.nd.ones(2), lrs=(1.0,), wds=(0.0,), num_weights=2), ShapeError,
        "4 arrays"),
    "rates of several weights": (
        lambda: mx.nd.multi_sgd_update(mx.nd.ones(2), mx.nd.ones(2), lrs=(1.0, 2.0), wds=(0.0,)), ShapeError,
        r"lrs must have shape \(1,\), got \(2,\)"),
    "outs of several weights": (
        lambda: mx.nd.multi_sgd_update(mx.nd.ones(2), mx.nd.ones(2), lrs=(1.0,), wds=(0.0,), out=[]),
        mx.base.SparsekitError, "out="),
    "number of arrays": (lambda: mx.nd.multi_sum_sq(mx.nd.ones(2), num_arrays=2), ShapeError, "num_arrays"),
    "norms": (
        lambda: mx.nd.lamb_update_phase2(mx.nd.ones(2), mx.nd.ones(2), mx.nd.ones(2), mx.nd.ones(1), lr=1.0), ShapeError, "r1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name):
    act, error, text = WRONG[name]
    refused(error, text, act)


@pytest.mark.parametrize(("name", "states", "attrs"), [
    ("sgd_mom_update", 1, {"momentum": 0.5}), ("adam_update", 2, {}), ("ftrl_update", 2, {})])
@pytest.mark.parametrize("weight", ["default", "row_sparse"])
@pytest.mark.parametrize("state", ["default", "row_sparse"])
def test_a_lazy_step_needs_states_of_the_weights_storage_type(name, states, attrs, weight, state):
    """MXNet 1.9.1 changes all rows where the types differ, to the dense result."""
    values, gradient = np.arange(1, 13).reshape(4, 3) / 4, np.zeros((4, 3))
    gradient[1] = 0.5, 0.25, 1

    def made(stypes, grad):
        arrays = [mx.nd.array(values).tostype(stypes[0]), mx.nd.array(gradient).tostype(grad),
                  *(mx.nd.full((4, 3), 0.5).tostype(stypes[1]) for _ in range(states))]
        getattr(mx.nd, name)(*arrays, out=arrays[0], lr=0.5, wd=0.1, **attrs)
        return [array.asnumpy() for array in (arrays[0], *arrays[2:])]

    found, dense = made((weight, state), "row_sparse"), made(("default", "default"), "default")
    for ours, theirs in zip(found, dense, strict=True):
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
        if weight != state:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    changed = (found[0] != values.astype(np.float32)).any(axis=1)
    assert changed.tolist() == [weight != state, True, weight != state, weight != state]


LACKING = [name for name in sorted(mx.optimizer.Optimizer.opt_registry) if name not in ("sgld", "ccsgd")]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", LACKING)
def test_a_weight_that_lacks_rows_gets_them_as_zeros(name, lazy):
    """MXNet does so in some optimizers, and in its kvstore."""
    whole = np.arange(12, dtype="float32").reshape(6, 2)
    whole[[0, 3, 4]] = 0
    results = []
    lacking = mx.nd.sparse.row_sparse_array((whole[[1, 2, 5]], [1, 2, 5]), shape=(6, 2))
    settings = {} if name in ("groupadagrad", "test") else {"lazy_update": lazy}
    for weight in (lacking, mx.nd.array(whole).tostype("row_sparse"), mx.nd.array(whole)):
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
        for step in range(3):
            values = np.full((2, 2), step + 1, "float32")
            updater(0, mx.nd.sparse.row_sparse_array((values, [1, 3]), shape=(6, 2)), weight)
        results.append(weight)
    assert [one.stype for one in results] == ["row_sparse", "row_sparse", "default"]
    for other in results[1:]:
        np.testing.assert_allclose(results[0].asnumpy(), other.asnumpy(), rtol=1e-5)
