"""Arguments of layers and calls: what MXNet takes is taken, and what it does not is a named error."""

from collections import namedtuple

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit.gluon import nn, rnn
from tests.calls import initialized, refused

X = mx.nd.array(np.arange(12).reshape(3, 4))
WRONG = ["3", None, 2.5, -1, True, [3], object(), {}]


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("make", [
    nn.Dense, lambda value: nn.Dense(2, in_units=value), lambda value: nn.Embedding(value, 2), nn.GroupNorm, rnn.LSTM, rnn.GRU,
    lambda value: nn.Embedding(2, value), lambda value: nn.BatchNorm(in_channels=value), rnn.RNN, rnn.LSTMCell, rnn.GRUCell,
    lambda value: nn.LayerNorm(in_channels=value), lambda value: rnn.LSTM(3, num_layers=value), rnn.RNNCell,
    lambda value: rnn.LSTM(3, input_size=value), lambda value: rnn.RNNCell(3, input_size=value)])
def test_sizes_are_whole_numbers(make, value):
    refused(mx.MXNetError, r"must be an integer of at least [01], got ", make, value)


@pytest.mark.parametrize("shape", ["3", 2.5, (2, "3"), (-2,), [1.5], object(), {"a": 1}])
def test_shapes_of_parameters_are_whole_numbers(shape):
    refused(mx.ShapeError, r"weight cannot have shape", mx.gluon.Parameter, "weight", shape=shape)


@pytest.mark.parametrize("rate", ["0.5", None, 1.1, -0.1])
def test_a_dropout_rate_is_a_number(rate):
    refused(mx.MXNetError, "rate must be a number from 0 to 1, got ", nn.Dropout, rate)


@pytest.mark.parametrize("in_units", [0, 4])
def test_a_layer_of_no_units_can_be_made_and_not_called(in_units):
    """As in MXNet 1.9.1."""
    layer = initialized(nn.Dense(0, in_units=in_units, prefix="empty_"))
    assert repr(layer) == f"Dense({in_units or None} -> 0, linear)"
    refused(mx.ShapeError, "units of empty must be at least 1, got 0", layer, X)


@pytest.mark.parametrize("size", [np.int64(3), np.array(3)])
def test_sizes_may_be_numbers_of_numpy(size):
    layer = initialized(nn.Dense(size, in_units=4))
    assert layer(X).shape == (3, 3)


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024


class Takes(mx.gluon.HybridBlock):
    """Arguments of every kind, and results of every kind."""

    def hybrid_forward(self, F, x, mask=None, pair=None, named=None, part=slice(None)):
        out = x[part] if mask is None else F.broadcast_mul(x, mask)
        out = out if pair is None else out + pair.left - pair.right
        return {"sum": out if named is None else out * named["factor"] + (named["array"] if named["array"] is not None else 0)}


ARGUMENTS = {
    "None": (X, None), "two None": (X, None, None), "mask": (X, mx.nd.array([1, 0, 1, 0])), "pair": (X, None, Pair(X * 2, X)),
    "dict": (X, None, None, {"factor": 3, "array": X}), "dict with None": (X, None, None, {"factor": 2.5, "array": None}),
    "slice": (X, None, None, None, slice(1, None)),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_hybridized_blocks_take_what_plain_ones_take(name):
    block, results = Takes(), []
    for hybrid in (False, True, True):
        block.hybridize(hybrid, clear=not hybrid)
        results.append(block(*ARGUMENTS[name])["sum"].asnumpy())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_named_results_keep_their_names():
    class Gives(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return Pair(x * 2, [x, (x + 1,)])

    block = Gives()
    block.hybridize()
    for _ in range(2):
        out = block(X)
        assert type(out) is Pair
        assert [type(out.right), type(out.right[1])] == [list, tuple]


def test_an_object_among_the_arguments_is_read_at_every_call():
    class Setting:
        factor = 2

    class Uses(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, setting):
            return x * setting.factor

    block, setting = Uses(), Setting()
    block.hybridize()
    with pytest.warns(UserWarning, match="a Setting is among its arguments"):
        assert block(X, setting).asnumpy()[0, 1] == 2
    setting.factor = 5
    assert block(X, setting).asnumpy()[0, 1] == 5


Batch = namedtuple("Batch", ["data"])  # noqa: PYI024


@pytest.mark.parametrize("labels", [None, ["softmax_label"]])
def test_a_module_predicts_for_anything_that_has_data(labels):
    """``Batch = namedtuple('Batch', ['data'])`` is how MXNet's tutorials predict."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax") if labels else mx.sym.softmax(net)
    module = mx.mod.Module(net, label_names=labels)
    module.bind([("data", (3, 4))], labels and [("softmax_label", (3,))], for_training=False)
    module.init_params(mx.init.One())
    for batch in (Batch([X]), Batch([X[:2]]), [Batch([X])]):
        module.forward(batch, is_train=False)
        out = module.get_outputs()[0].asnumpy()
        assert out.shape == ((batch[0] if isinstance(batch, list) else batch).data[0].shape[0], 2)
        np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-6)


# arrays of other libraries


def foreign():
    matrix = scipy.sparse.random(6, 4, density=0.4, format="csr", random_state=1)
    return {"csr": (matrix, r"mx\.nd\.sparse\.csr_matrix\(x, dtype='float32'\), which stays sparse"),
            "coo": (matrix.tocoo(), r"csr_matrix\(x"), "array": (scipy.sparse.csr_array(matrix), r"csr_matrix\(x"),
            "floats": (matrix.toarray(), r"mx\.nd\.array\(x\)"),
            "ids": (np.arange(24).reshape(6, 4), r"mx\.nd\.array\(x, dtype='int64'\)"),
            "masked": (np.ma.masked_array(matrix.toarray()), r"mx\.nd\.array\(x\)")}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("kind", foreign())
def test_arrays_of_other_libraries_are_refused_with_the_line_to_write(kind, hybrid):
    """MXNet refuses them too.  A conversion at every call would be a cost that nobody sees, and choose an element type."""
    value, line = foreign()[kind]
    net, loss = nn.Dense(2, in_units=4), mx.gluon.loss.L2Loss()
    net.initialize()
    net.hybridize(hybrid)
    loss.hybridize(hybrid)
    refused(mx.DTypeError, rf"dense\d+ takes NDArrays.*(scipy|numpy).*\(6, 4\)(.|\n)*{line}", net, value)
    refused(mx.DTypeError, rf"l2loss\d+ takes NDArrays.*(.|\n)*{line}", loss, mx.nd.ones((6, 4)), value)
    made = mx.nd.sparse.csr_matrix(value, dtype="float32") if scipy.sparse.issparse(value) else mx.nd.array(np.asarray(value))
    assert net(made).shape == (6, 2)


@pytest.mark.parametrize("form", ["csr", "coo", "csc", "array"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_data_set_of_scipy_has_csr_rows(form, dtype):
    """The element type is the matrix's, as that of ``csr_matrix`` is, in MXNet 1.9.1 too."""
    matrix = (scipy.sparse.random(6, 4, density=0.4, format="csr", random_state=1) * 10).astype(dtype)
    given = scipy.sparse.csr_array(matrix) if form == "array" else matrix.asformat(form)
    assert mx.nd.sparse.csr_matrix(given).dtype == dtype
    dataset = mx.gluon.data.ArrayDataset(given, np.arange(6))
    row, label = dataset[2]
    assert (row.stype, row.shape, row.dtype, label) == ("csr", (1, 4), dtype, 2)
    np.testing.assert_array_equal(row.asnumpy(), matrix[2].toarray())
    for loader in (mx.gluon.data.DataLoader(dataset, 4), mx.gluon.data.DataLoader(given, 4),
                   mx.gluon.data.DataLoader(mx.gluon.data.SimpleDataset(given), 4)):
        batches = [batch[0] if isinstance(batch, list) else batch for batch in loader]
        assert [(batch.stype, batch.shape) for batch in batches] == [("csr", (4, 4)), ("csr", (2, 4))]
        np.testing.assert_array_equal(np.concatenate([batch.asnumpy() for batch in batches]), matrix.toarray())
    refused(mx.ShapeError, "different lengths: 6, 5", mx.gluon.data.ArrayDataset, given, np.arange(5))
