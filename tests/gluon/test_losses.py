"""Losses beyond what is compared with MXNet's, and where they are not MXNet's: see DIFFERENCES.md."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import IndexWarning
from sparsekit.core import indices
from sparsekit.gluon import loss
from tests.calls import differentiated, refused, variable


def test_the_weight_of_sdml_counts():
    x, y = mx.nd.array([[0, 1], [2, 0.5]]), mx.nd.array([[0, 0.5], [1, 0.5]])
    once, twice = (loss.SDMLLoss(weight=weight)(x, y).asnumpy() for weight in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-6)
    for wrong in (mx.nd.ones((1, 2)), mx.nd.ones((3, 2)), mx.nd.ones((2,))):
        with pytest.raises(mx.ShapeError, match="SDMLLoss needs two arrays of one shape"):
            loss.SDMLLoss()(wrong, y)


def test_stirlings_term_of_no_event_is_nothing():
    pred, target = mx.nd.array([0.5, 0.5, 0.5]), mx.nd.array([0, 1, 5])
    pred.attach_grad()
    value = differentiated(lambda: loss.PoissonNLLLoss(compute_full=True)(pred, target))
    term = 5 * np.log(5) - 5 + 0.5 * np.log(2 * np.pi * 5)
    expected = (np.exp(0.5) - target.asnumpy() * 0.5).mean() + term / 3
    np.testing.assert_allclose(value.asnumpy(), [expected], rtol=1e-6)
    np.testing.assert_allclose(pred.grad.asnumpy(), (np.exp(0.5) - target.asnumpy()) / 3, rtol=1e-5)


def test_vectors_of_length_zero_have_a_cosine_of_zero_and_a_finite_gradient():
    pred = variable(mx.nd.zeros((1, 3)))
    with mx.autograd.record():
        value = loss.CosineEmbeddingLoss()(mx.nd.ones((1, 3)), pred + 0, mx.nd.array([1]))
    assert value.asnumpy().tolist() == [[1]]


@pytest.mark.parametrize("make", [loss.L1Loss, loss.L2Loss, loss.HuberLoss, loss.LogisticLoss, loss.SigmoidBCELoss,
                                  loss.HingeLoss, loss.SquaredHingeLoss])
def test_a_label_of_another_shape_is_brought_to_that_of_the_prediction(make):
    pred = mx.nd.array([[0.5], [-1.5], [2.0]])
    np.testing.assert_array_equal(make()(pred, mx.nd.array([0, 1, 1])).asnumpy(),
                                  make()(pred, mx.nd.array([[0], [1], [1]])).asnumpy())
    refused(mx.ShapeError, "", lambda: make()(pred, mx.nd.array([0, 1])))


def test_losses_are_kept_in_float64():
    pred = mx.nd.array([[0.5, -1], [2, 0.25]], dtype="float64")
    label = mx.nd.array([[0.25, 0.75], [0.5, 0.5]], dtype="float64")
    for make in (loss.L2Loss, loss.HuberLoss, loss.KLDivLoss, loss.LogisticLoss, loss.PoissonNLLLoss):
        assert make()(pred, label).dtype == np.float64


# what is computed as MXNet computes it, and hardly what was meant

PRED = mx.nd.array([[1, 2, 3], [3, 1, 0]])


@pytest.fixture(autouse=True)
def _nothing_told():
    indices._told.clear()


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_label_outside_the_classes_is_the_nearest_with_one_warning(hybrid):
    """The values are those of MXNet 1.9.1."""
    block = loss.SoftmaxCrossEntropyLoss()
    if hybrid:
        block.hybridize()

    def losses():
        return [block(PRED, mx.nd.array([7, -3])).asnumpy() for _ in range(3)]

    with pytest.warns(IndexWarning, match=r"test_losses\.py:\d+: .* 7 is outside the 3 ") as told:
        found = losses()
    for value in found:
        np.testing.assert_allclose(value, [0.40760383, 0.16984455], rtol=1e-5)
    assert len(told) == 1
    assert told[0].filename == __file__
    with mx.config.set(indices="error"), pytest.raises(mx.base.errors.RowIndexError, match="7 is outside the 3 "):
        block(PRED, mx.nd.array([7, -3]))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(("dtype", "length"), [("float32", 1e-5), ("float32", 1e15), ("float64", 1e-5), ("float64", 1e20)])
def test_the_angle_of_long_and_short_vectors_is_that_of_others(dtype, length, hybrid):
    one, other = mx.nd.array([[length, 0]] * 2, dtype=dtype), mx.nd.array([[length, 0], [0, length]], dtype=dtype)
    block = loss.CosineEmbeddingLoss()
    block.hybridize(hybrid)
    np.testing.assert_allclose(block(one, other, mx.nd.ones(2, dtype=dtype)).asnumpy(), [[0], [1]], atol=1e-6)


SQUARE = PRED[:, :2]
#: Losses of two samples, and what MXNet 1.9.1 gives for a weight of shape (2,).
WEIGHED = {
    "classes": (loss.SoftmaxCELoss(), (PRED, mx.nd.array([0, 1])), [4.815207, 4.339689]),
    "one column": (loss.L2Loss(), (PRED[:, :1], PRED[:, :1] * 2), [1, 9]),
    "square": (loss.L2Loss(), (SQUARE, SQUARE * 2), [3.25, 3]),
    "cosine": (loss.CosineEmbeddingLoss(), (PRED, PRED * 2, mx.nd.array([1, -1])), [[0, 0], [1, 3]]),
}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", WEIGHED)
def test_a_weight_of_samples_that_lies_along_another_axis_is_told(name, hybrid):
    block, inputs, expected = WEIGHED[name]
    block.hybridize(hybrid)
    weight = mx.nd.array([1, 3])

    def losses():
        return [block(*inputs, weight).asnumpy() for _ in range(3)]

    with pytest.warns(IndexWarning, match=r"test_losses\.py:\d+: .* sample_weight of shape \(2,\).*shape \(2, 1\)") as told:
        found = losses()
    for value in found:
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    assert len(told) == 1
    block.hybridize(False)
    with mx.config.set(indices="error"), pytest.raises(mx.ShapeError, match="sample_weight"):
        block(*inputs, weight)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(2, 1), (1,), (1, 1), (2, 3), (3,)])
def test_other_weights_are_not_told(shape):
    loss.L2Loss()(PRED, PRED * 2, mx.nd.ones(shape))
    loss.CTCLoss()(mx.nd.ones((2, 4, 3)), mx.nd.array([[0, 1], [1, 0]]), None, None, mx.nd.ones((2,)))
