"""Which methods give views of an array's memory, as MXNet's do, and that nothing else does; operators are swept elsewhere."""

import numpy as np
import pytest

import sparsekit as mx

#: What MXNet 1.9.1 gives for a (2, 3) array: whether writing to the result writes to the array.
DENSE = {
    "reshape": (lambda x: x.reshape((3, 2)), True),
    "x[0]": (lambda x: x[0], True),
    "x[0:1]": (lambda x: x[0:1], True),
    "x[:]": (lambda x: x[:], True),
    "detach": (lambda x: x.detach(), True),
    "as_in_context": (lambda x: x.as_in_context(mx.cpu()), True),
    "as_nd_ndarray": (lambda x: x.as_nd_ndarray(), True),
    "nd.reshape": (lambda x: mx.nd.reshape(x, shape=(3, 2)), False),
    "flatten": (lambda x: x.flatten(), False),
    "expand_dims": (lambda x: x.expand_dims(0), False),
    "squeeze": (lambda x: x.squeeze(), False),
    "reshape_like": (lambda x: x.reshape_like(mx.nd.ones((3, 2))), False),
    "T": (lambda x: x.T, False),
    "swapaxes": (lambda x: mx.nd.swapaxes(x, dim1=0, dim2=1), False),
    "broadcast_to": (lambda x: x.broadcast_to((2, 3)), False),
    "astype": (lambda x: x.astype("float32"), False),
    "tostype": (lambda x: x.tostype("default"), False),
    "copy": (lambda x: x.copy(), False),
    "x[:, 1]": (lambda x: x[:, 1], False),
    "slice_axis": (lambda x: x.slice_axis(axis=0, begin=0, end=1), False),
    "identity": (lambda x: mx.nd.identity(x), False),
    "BlockGrad": (lambda x: mx.nd.BlockGrad(x), False),
    "add_n": (lambda x: mx.nd.add_n(x), False),
    "concat": (lambda x: mx.nd.concat(x, dim=0), False),
    "split": (lambda x: mx.nd.split(x, 2, axis=0)[0], False),
    "nd.array": (lambda x: mx.nd.array(x), False),
}


def numbers():
    return mx.nd.array(np.arange(1.0, 7.0).reshape(2, 3))


@pytest.mark.parametrize("name", DENSE)
def test_dense_results_share_memory_where_mxnet_does(name):
    make, shares = DENSE[name]
    x = numbers()
    made = make(x)
    made[:] = -1
    assert bool((x.asnumpy() < 0).any()) is shares


#: Ways from a sparse (4, 3) array to another, but for operators, which are swept; ``x[:]`` and ``detach`` are the array itself.
SPARSE = {
    "copy": lambda x: x.copy(),
    "astype": lambda x: x.astype("float32"),
    "slice": lambda x: x[1:3],
    "every row": lambda x: x[0:4],
    "list": lambda x: x[[0, 1, 2, 3]],
    "tostype default": lambda x: x.tostype("default"),
    "tostype csr": lambda x: x.tostype("csr"),
    "tostype row_sparse": lambda x: x.tostype("row_sparse"),
    "plus nothing": lambda x: x + mx.nd.sparse.zeros(x.stype, x.shape),
    "times one": lambda x: x * 1,
    "asnumpy": lambda x: mx.nd.array(x.asnumpy()),
    "constructor": lambda x: mx.nd.sparse.array(x),
}


@pytest.mark.filterwarnings("ignore::sparsekit.StorageFallbackWarning")
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", SPARSE)
def test_writing_to_a_result_leaves_a_sparse_array_alone(name, stype):
    x = mx.nd.array(np.arange(1.0, 13.0).reshape(4, 3)).tostype(stype)
    before = x.asnumpy()
    made = SPARSE[name](x)
    if made is x:
        assert name == f"tostype {stype}"
        return
    values = made if made.stype == "default" else made.data
    values[:] = -1
    np.testing.assert_array_equal(x.asnumpy(), before)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_updates_in_place_do_not_reach_a_copy(stype):
    x = mx.nd.array(np.arange(1.0, 13.0).reshape(4, 3)).tostype(stype)
    made, before = x.copy(), x.asnumpy()
    made *= 2
    made += x
    np.testing.assert_array_equal(x.asnumpy(), before)
    np.testing.assert_array_equal(made.asnumpy(), 3 * before)
    x[:] = 0
    np.testing.assert_array_equal(made.asnumpy(), 3 * before)


@pytest.mark.parametrize("way", ["backward", "grad"])
def test_gradients_are_no_aliases_of_each_other_or_of_the_head_gradient(way):
    """The gradient of a sum of two terms goes to both; scaling one buffer must not scale the other."""
    x, y, given = numbers(), numbers(), mx.nd.ones((2, 3))
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        z = x + y
    if way == "backward":
        z.backward(given)
        first, second = x.grad, y.grad
    else:
        first, second = mx.autograd.grad(z, [x, y], given)
    first[:] = 5
    np.testing.assert_array_equal(second.asnumpy(), np.ones((2, 3)))
    np.testing.assert_array_equal(given.asnumpy(), np.ones((2, 3)))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_gradients_are_arrays_of_their_own(stype):
    x = mx.nd.array(np.arange(1.0, 13.0).reshape(4, 3)).tostype(stype)
    given = x.copy()
    x.attach_grad(stype=stype)
    with mx.autograd.record():
        y = mx.nd.identity(x)
    y.backward(given)
    x.grad.data[:] = -1
    assert (given.data.asnumpy() > 0).all()
