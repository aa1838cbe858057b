"""``group2ctx``: parts of a graph on contexts of CPUs, which compute what they compute without."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, ParameterError, UnsupportedError
from tests.calls import refused

GROUPS = {"one": mx.cpu(1), "two": mx.cpu(2)}


def network():
    with mx.AttrScope(ctx_group="one"):
        data = mx.sym.Variable("data", stype="csr")
        hidden = mx.sym.dot(data, mx.sym.Variable("weight", stype="row_sparse", shape=(5, 4)))
    with mx.AttrScope(ctx_group="two"):
        return mx.sym.FullyConnected(hidden * mx.sym.Variable("scale"), num_hidden=2, name="fc")


def filled(group2ctx):
    executor = network().simple_bind(mx.cpu(), data=(3, 5), group2ctx=group2ctx)
    for number, array in enumerate(executor.arg_arrays, 1):
        values = np.arange(array.size).reshape(array.shape) % 3 * number
        array[:] = mx.nd.array(values).tostype(array.stype)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2)))
    return executor


def test_arrays_are_where_their_group_is_and_results_stay():
    split, whole = filled(GROUPS), filled(None)
    where = {name: array.context for name, array in split.arg_dict.items()}
    assert where == {"data": mx.cpu(1), "weight": mx.cpu(1), "scale": mx.cpu(2), "fc_weight": mx.cpu(2), "fc_bias": mx.cpu(2)}
    assert {name: array.context for name, array in split.grad_dict.items() if array is not None}.items() <= where.items()
    assert all(array.context == mx.cpu() for array in whole.arg_arrays)
    np.testing.assert_array_equal(split.outputs[0].asnumpy(), whole.outputs[0].asnumpy())
    assert split.outputs[0].asnumpy().any()
    for name, gradient in whole.grad_dict.items():
        np.testing.assert_array_equal(split.grad_dict[name].asnumpy(), gradient.asnumpy(), err_msg=name)


def test_bind_takes_arrays_of_the_groups_alone():
    total = mx.sym.Variable("a") + mx.sym.Variable("b")
    arrays = [mx.nd.ones((2,), ctx=mx.cpu(1)), mx.nd.ones((2,), ctx=mx.cpu(2))]
    assert total.bind(mx.cpu(), arrays, group2ctx=GROUPS).forward()[0].asnumpy().tolist() == [2, 2]
    refused(ParameterError, r"b is on cpu\(2\)", total.bind, mx.cpu(), arrays, group2ctx={"one": mx.cpu(1)})


@pytest.mark.parametrize(("group2ctx", "error"), [({"one": mx.gpu(0)}, UnsupportedError), ({"one": "cpu"}, DTypeError),
                                                  ([mx.cpu()], DTypeError)])
def test_what_is_no_group_of_the_same_memory_is_refused(group2ctx, error):
    refused(error, "group2ctx", lambda: network().simple_bind(mx.cpu(), data=(3, 5), group2ctx=group2ctx))


@pytest.mark.parametrize("group2ctxs", [
    {"one": mx.cpu(4), "two": [mx.cpu(5)]}, {"one": mx.cpu(4), "two": [mx.cpu(5), mx.cpu(5)]},
    [{"one": mx.cpu(4), "two": mx.cpu(5)}] * 2,
])
def test_modules_give_each_of_their_contexts_its_groups(group2ctxs):
    module = mx.mod.Module(network(), label_names=None, context=[mx.cpu(0), mx.cpu(1)], group2ctxs=group2ctxs)
    module.bind([("data", (6, 5))], for_training=False)
    for executor in module._exec_group.execs:
        assert (executor.arg_dict["weight"].context, executor.arg_dict["scale"].context) == (mx.cpu(4), mx.cpu(5))


@pytest.mark.parametrize(("group2ctxs", "what"), [([GROUPS] * 3, "3 group2ctxs for 2 contexts"),
                                                  ({"one": [mx.cpu()] * 3}, "one has 3 contexts, and the module has 2")])
def test_modules_refuse_other_numbers_of_contexts(group2ctxs, what):
    with pytest.raises(ParameterError, match=what):
        mx.mod.Module(network(), label_names=None, context=[mx.cpu(0), mx.cpu(1)], group2ctxs=group2ctxs)
