"""Ways of calling that MXNet 1.9.1 takes, found by comparing calls with it: each expected value is MXNet's."""

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import differentiated, refused, variable

VALUES = np.array([[1, -2, 3], [4, 5, -6]], np.float32)


@pytest.mark.parametrize("axis", [None, ()])
@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_excluding_no_axes_reduces_all(axis, stype):
    found = mx.nd.sum(mx.nd.array(VALUES).tostype(stype), axis=axis, exclude=True)
    assert found.shape == (1,)
    assert found.asscalar() == VALUES.sum()
    assert mx.sym.sum(mx.sym.var("a"), axis=axis, exclude=True).infer_shape(a=(2, 3))[1] == [(1,)]


def test_excluding_no_axes_has_the_gradient_of_all():
    data = variable(mx.nd.array(VALUES))
    differentiated(lambda: mx.nd.mean(data, axis=(), exclude=True))
    assert (data.grad.asnumpy() == np.float32(1 / 6)).all()


def test_a_range_is_a_key():
    data = mx.nd.array(VALUES)
    assert (data[range(2)].asnumpy() == VALUES).all()
    data[range(1)] = 7
    assert (data.asnumpy() == [[7, 7, 7], [4, 5, -6]]).all()


def test_functions_of_symbols_take_two_numbers():
    assert mx.sym.power(2, 3) == mx.sym.pow(2, 3) == 8
    assert mx.sym.maximum(2, 3.5) == 3.5
    assert mx.sym.minimum(2, 3.5) == 2
    assert mx.sym.hypot(3, 4) == 5.0


def test_a_symbol_is_composed_in_place():
    data = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc1", num_hidden=10)
    net = mx.sym.FullyConnected(name="fc3", num_hidden=10)
    assert net._compose(fc3_data=data, name="composed") is None
    assert net.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc3_weight", "fc3_bias"]
    assert net.list_outputs() == ["composed_output"]


def test_pinned_memory_is_a_name_for_the_machine_s_own():
    pinned = mx.cpu_pinned()
    data = mx.nd.array(VALUES, ctx=pinned)
    assert repr(data.context) == "cpu_pinned(0)"
    data.attach_grad()
    total = differentiated(lambda: (mx.nd.dot(data.tostype("csr"), mx.nd.ones((3, 1), ctx=pinned)) * data[:, :1]).sum())
    assert data.grad.context == total.context == pinned
    assert (data.as_in_context(mx.cpu()).asnumpy() == VALUES).all()


def test_gamma_numbers_of_shape_zero_are_zero():
    assert mx.nd.sample_gamma(mx.nd.array([0.0]), mx.nd.array([1.0])).asscalar() == 0


def test_attributes_for_symbols_do_not_disturb_what_makes_arrays():
    assert mx.nd.zeros(shape=(2, 3), __layout__="NC").shape == (2, 3)
    states = mx.gluon.rnn.LSTM(4).begin_state(3)
    assert [state.shape for state in states] == [(1, 3, 4), (1, 3, 4)]


def test_bulk_execution_is_accepted():
    data = mx.nd.zeros((1,))
    with mx.engine.bulk(10):
        data += 1
    assert data.asscalar() == 1
    assert mx.engine.set_bulk_size(3) == 15
    assert mx.engine.set_bulk_size(15) == 3


@pytest.mark.parametrize("name", ["sigmoid", "Activation"])
def test_a_sigmoid_of_float16_is_not_zero_before_its_time(name):
    """MXNet's bits; the exponential of 12 is infinite in float16."""
    given = mx.nd.array([-16, -12, -11.5, -11, -9, 12], dtype="float16")
    made = mx.nd.sigmoid(given) if name == "sigmoid" else mx.nd.Activation(given, act_type="sigmoid")
    assert made.asnumpy().view(np.uint16).tolist() == [2, 103, 170, 280, 2059, 15360]


@pytest.mark.parametrize("name", ["gamma", "gammaln"])
def test_slopes_at_poles_are_not_mxnets(name):
    x = variable(mx.nd.array([0, 1, -1]))
    differentiated(lambda: getattr(mx.nd, name)(x))
    np.testing.assert_allclose(x.grad.asnumpy(), [-np.inf, -0.5772157, np.nan], rtol=1e-6)  # MXNet has inf at 0


def test_the_slope_of_hypot_at_its_tip_is_not_a_number():
    x, y = mx.nd.array([0, 3]), mx.nd.array([0, 4])
    x.attach_grad()
    differentiated(mx.nd.broadcast_hypot, x, y)
    np.testing.assert_allclose(x.grad.asnumpy(), [np.nan, 0.6])


@pytest.mark.filterwarnings("ignore::sparsekit.StorageFallbackWarning")
@pytest.mark.parametrize("stypes", [("row_sparse", "default"), ("csr", "default"), ("default", "csr"), ("csr", "row_sparse")])
@pytest.mark.parametrize("name", ["broadcast_hypot", "broadcast_mod", "broadcast_power"])
def test_a_slope_at_absent_zeros_is_that_at_zeros(name, stypes):
    """Such as 0 / 0 in hypot: gradients of sparse arrays were 0 where nothing is stored."""
    values = [[0.0, 0.0], [3.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]
    sparse = [variable(mx.nd.array(value).tostype(stype)) for value, stype in zip(values, stypes, strict=True)]
    dense = [variable(mx.nd.array(value)) for value in values]
    differentiated(getattr(mx.nd, name), *sparse)
    differentiated(getattr(mx.nd, name), *dense)
    for one, other in zip(sparse, dense, strict=True):
        np.testing.assert_array_equal(one.grad.asnumpy(), other.grad.asnumpy())


@pytest.mark.parametrize("shape", [(1, 1, 4, 3), (1, 1, 3, 4)])
def test_blocks_must_divide_both_sides(shape):
    refused(mx.MXNetError, "divisible into blocks", mx.nd.space_to_depth, mx.nd.ones(shape), block_size=2)


@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
def test_the_length_of_an_array_is_that_of_its_first_axis(stype):
    assert len(mx.nd.zeros((3, 2), stype=stype)) == 3
    refused(TypeError, r"len\(\) of an array without axes", len, mx.nd.array(3.0))
