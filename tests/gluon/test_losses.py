"""Losses where they are not MXNet's, or where a recorded value says nothing: see DIFFERENCES.md."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.gluon import loss


def test_the_weight_of_sdml_counts():
    x, y = mx.nd.array([[0, 1], [2, 0.5]]), mx.nd.array([[0, 0.5], [1, 0.5]])
    once, twice = (loss.SDMLLoss(weight=weight)(x, y).asnumpy() for weight in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-6)
    for wrong in (mx.nd.ones((1, 2)), mx.nd.ones((3, 2)), mx.nd.ones((2,))):
        with pytest.raises(mx.ShapeError, match="SDMLLoss of shapes"):
            loss.SDMLLoss()(wrong, y)


def test_stirlings_term_of_no_event_is_nothing():
    pred, target = mx.nd.array([0.5, 0.5, 0.5]), mx.nd.array([0, 1, 5])
    pred.attach_grad()
    with mx.autograd.record():
        value = loss.PoissonNLLLoss(compute_full=True)(pred, target)
    value.backward()
    term = 5 * np.log(5) - 5 + 0.5 * np.log(2 * np.pi * 5)
    expected = (np.exp(0.5) - target.asnumpy() * 0.5).mean() + term / 3
    np.testing.assert_allclose(value.asnumpy(), [expected], rtol=1e-6)
    np.testing.assert_allclose(pred.grad.asnumpy(), (np.exp(0.5) - target.asnumpy()) / 3, rtol=1e-5)


def test_vectors_of_length_zero_have_a_cosine_of_zero_and_a_finite_gradient():
    pred = mx.nd.zeros((1, 3))
    pred.attach_grad()
    with mx.autograd.record():
        value = loss.CosineEmbeddingLoss()(mx.nd.ones((1, 3)), pred + 0, mx.nd.array([1]))
    assert value.asnumpy().tolist() == [[1]]


@pytest.mark.parametrize("make", [loss.L1Loss, loss.L2Loss, loss.HuberLoss, loss.LogisticLoss, loss.SigmoidBCELoss,
                                  loss.HingeLoss, loss.SquaredHingeLoss])
def test_a_label_of_another_shape_is_brought_to_that_of_the_prediction(make):
    pred = mx.nd.array([[0.5], [-1.5], [2.0]])
    np.testing.assert_array_equal(make()(pred, mx.nd.array([0, 1, 1])).asnumpy(),
                                  make()(pred, mx.nd.array([[0], [1], [1]])).asnumpy())
    with pytest.raises(mx.ShapeError):
        make()(pred, mx.nd.array([0, 1]))


def test_losses_are_kept_in_float64():
    pred = mx.nd.array([[0.5, -1], [2, 0.25]], dtype="float64")
    label = mx.nd.array([[0.25, 0.75], [0.5, 0.5]], dtype="float64")
    for make in (loss.L2Loss, loss.HuberLoss, loss.KLDivLoss, loss.LogisticLoss, loss.PoissonNLLLoss):
        assert make()(pred, label).dtype == np.float64
