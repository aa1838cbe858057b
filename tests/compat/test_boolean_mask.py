"""``boolean_mask`` of symbols beyond what MXNet does, whose executor of inferred shapes fails."""

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ShapeError
from tests.calls import refused

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def net(axis=0):
    return mx.sym.contrib.boolean_mask(mx.sym.var("data"), mx.sym.var("index"), axis=axis, name="mask")


@pytest.mark.parametrize(("axis", "index"), [(0, [0, 3, -1]), (1, [1, 0, 0, 2]), (-1, [0, 0, 0, 0])])
def test_entries_are_numpys(axis, index):
    mask = np.array(index) != 0
    wanted = np.compress(mask, X, axis)
    executor = net(axis).simple_bind(mx.cpu(), grad_req="null", data=X.shape, index=mask.shape)
    made = executor.forward(data=mx.nd.array(X), index=mx.nd.array(index))[0]
    assert made.asnumpy().tolist() == mx.nd.contrib.boolean_mask(mx.nd.array(X), mx.nd.array(index), axis).asnumpy().tolist()
    assert made.asnumpy().tolist() == wanted.tolist()


def test_what_follows_from_the_shapes_is_inferred_and_the_rest_is_not():
    made = mx.sym.FullyConnected(net(), num_hidden=5, no_bias=True, name="fc")
    with pytest.warns(UserWarning, match="Cannot decide shape"):
        assert made.infer_shape(data=(3, 4), index=(3,)) == (None, None, None)
    refused(ShapeError, r"a mask of shape \(2,\)", lambda: net().infer_shape(data=(3, 4), index=(2,)))
    with pytest.raises(ShapeError, match=r"simple_bind cannot decide the shape of mask"):
        mx.sym.sum(net()).simple_bind(mx.cpu(), data=(3, 4), index=(3,))
    assert "mask" in repr(net().graph(data=(3, 4), index=(3,)))


def test_a_hybridized_block_runs_as_it_is_written():
    class Masked(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, index):
            return F.contrib.boolean_mask(x, index) + 1

    block = Masked()
    block.hybridize()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for index in ([0, 1, 1], [1, 0, 0], [0, 0, 0]):
            made = block(mx.nd.array(X), mx.nd.array(index))
            assert made.asnumpy().tolist() == (X[np.array(index) != 0] + 1).tolist()
    assert [one.category for one in seen] == [mx.HybridizeWarning]


def test_a_file_of_it_loads(tmp_path):
    net().save(tmp_path / "mask-symbol.json")
    block = mx.gluon.SymbolBlock.imports(tmp_path / "mask-symbol.json", ["data", "index"])
    assert block(mx.nd.array(X), mx.nd.array([0, 1, 0])).asnumpy().tolist() == X[1:2].tolist()
