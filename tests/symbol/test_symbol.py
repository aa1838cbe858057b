"""What symbols are made of and how they are put together, beyond what is compared with MXNet's by recording."""

import copy
import inspect
import pickle
import sys
import threading

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, RowIndexError, SparsekitError, UnsupportedError
from tests.calls import refused

S = mx.sym


def net():
    data = S.Variable("data")
    return S.FullyConnected(S.Activation(S.FullyConnected(data, num_hidden=4, name="fc1"), act_type="relu", name="relu1"),
                            num_hidden=2, name="fc2")


def test_composition_leaves_both_parts_as_they_were():
    first, second = net(), S.FullyConnected(S.Variable("other"), num_hidden=3, name="fc0")
    made = first(data=second)
    assert made.list_arguments()[:3] == ["other", "fc0_weight", "fc0_bias"]
    assert first.list_arguments()[0] == "data"
    assert made.infer_shape(other=(5, 7))[1] == [(5, 2)]
    by_place = first(second)
    assert by_place.tojson() == made.tojson()
    assert first(data=second, name="renamed").list_outputs() == ["renamed_output"]


def test_copies_share_nothing():
    first = net()
    for other in (copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert other.tojson() == first.tojson()
        other._set_attr(mood="calm")
        assert first.attr("mood") is None
        assert other.attr("mood") == "calm"


def test_an_internal_output_is_a_network():
    internals = net().get_internals()
    assert internals["relu1_output"].list_arguments() == ["data", "fc1_weight", "fc1_bias"]
    assert [one.name for one in internals][:4] == ["data", "fc1_weight", "fc1_bias", "fc1"]
    assert internals.infer_storage_type(data="csr")[1][3] == "default"  # of each node


def test_names_count_within_their_manager():
    a = S.Variable("a")
    with mx.name.NameManager():
        assert [(a + a).name, (a + a).name, S.dot(a, a).name] == ["_plus0", "_plus1", "dot0"]
        with mx.name.Prefix("in_"):
            assert (a + a).name == "in__plus0"
            assert S.FullyConnected(a, num_hidden=1, name="fc").list_arguments() == ["a", "in_fc_weight", "in_fc_bias"]
        assert (a + a).name == "_plus2"


def test_names_of_threads_are_their_own():
    found = {}

    def work(place):
        a = S.Variable("a")
        found[place] = [(a + a).name for _ in range(3)]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [["_plus0", "_plus1", "_plus2"]] * 4


def test_scopes_nest_and_the_symbols_own_win():
    with mx.AttrScope(ctx_group="outer", __mood__="calm"), mx.AttrScope(ctx_group="inner"):
        a = S.Variable("a", attr={"__mood__": "wild"})
        b = S.Variable("b")
    assert (a.attr("ctx_group"), a.attr("__mood__"), b.attr("__mood__")) == ("inner", "wild", "calm")
    assert S.Variable("c").list_attr() == {}
    refused(DTypeError, "The attribute lr_mult must be a string, got int", mx.AttrScope, lr_mult=3)


def test_a_variable_keeps_what_it_declares():
    made = S.Variable("w", shape=(3, 0), dtype="float64", stype="row_sparse", init=mx.init.Normal(0.1), lr_mult=0.5, wd_mult=0)
    assert made.list_attr() == {
        "__shape__": "(3, 0)", "__dtype__": "1", "__storage_type__": "1", "__init__": '["normal", {"sigma": 0.1}]',
        "__lr_mult__": "0.5", "lr_mult": "0.5", "__wd_mult__": "0", "wd_mult": "0"}
    assert made.infer_storage_type() == (["row_sparse"], ["row_sparse"], [])
    assert made.infer_type() == ([np.float64], [np.float64], [])
    assert made.infer_shape_partial() == ([(3, 0)], [(3, 0)], [])


def test_arithmetic_computes_what_it_says():
    a, b = S.Variable("a"), S.Variable("b")
    x, y = np.array([1.5, 2, -3], np.float32), np.array([2, 2, 4], np.float32)
    for made, expected in (
            (a + b * 2 - 1, x + y * 2 - 1), (3 - a / b, 3 - x / y), (2 ** b % 3, 2 ** y % 3), (a == b, x == y), (a != b, x != y),
            (a > b, x > y), (a >= 1, x >= 1), (-abs(a), -abs(x)), (S.maximum(a, b), np.maximum(x, y)),
            (S.minimum(1, b), np.minimum(1, y)), (S.hypot(a, 2), np.hypot(x, 2)), (S.pow(b, a), y ** x), (b ** a, y ** x),
            (a.square().sum(), [(x ** 2).sum()]), (a.reshape(3, 1), x.reshape(3, 1)),
            (a.astype("int32"), x.astype(int)), (S.zeros(3) + a, x), (S.arange(3) * b, np.arange(3) * y),
            (S.full((3,), 2) * a, x * 2), (S.dot(a, b), [x @ y]), (a @ b, [x @ y])):
        names = made.list_arguments()
        found = made.eval(**{name: mx.nd.array(values) for name, values in (("a", x), ("b", y)) if name in names})
        np.testing.assert_allclose(found[0].asnumpy(), np.asarray(expected, np.float32), rtol=1e-6)


def test_symbols_are_no_arrays():
    a = S.Variable("a")
    for act, kind in ((lambda: bool(a), UnsupportedError), (a.asnumpy, UnsupportedError), (a.copy, UnsupportedError),
                      (lambda: a + mx.nd.ones(2), DTypeError), (lambda: a + "x", DTypeError),
                      (lambda: a.gradient(["a"]), UnsupportedError), (lambda: S.Group([a, a])[2], RowIndexError),
                      (lambda: S.Group([a, a])[-1], RowIndexError),
                      (lambda: a[1.5], DTypeError), (lambda: S.Group([a, a])["a"], SparsekitError),
                      (lambda: S.dot(S.split(a, num_outputs=2), a), SparsekitError)):
        refused(kind, "", act)
    assert a in [a]
    assert len({a, a}) == 1
    with pytest.raises(UnsupportedError):
        a += 1


def test_random_symbols_draw():
    for made in (S.random.uniform(0, 1, shape=(50,)), S.random.normal(shape=(50,)), S.random.gamma(2, 2, shape=(50,)),
                 S.random.exponential(2, shape=(50,)), S.random.poisson(3, shape=(50,)), S.random.randint(0, 9, shape=(50,)),
                 S.random.negative_binomial(3, 0.5, shape=(50,)), S.random.randn(50),
                 S.random.generalized_negative_binomial(2, 0.3, shape=(50,))):
        found = made.eval()[0].asnumpy()
        assert found.shape == (50,)
        assert np.isfinite(found).all()
        assert found.std() > 0
    made = S.random.uniform(S.Variable("low"), S.Variable("high"), shape=4)
    drawn = made.eval(low=mx.nd.array([0, 10]), high=mx.nd.array([1, 11]))
    assert drawn[0].shape == (2, 4)
    assert drawn[0].asnumpy()[1].min() >= 10
    refused(DTypeError, "", S.random.uniform, S.Variable("low"), 1)


def test_depth_overflows_nothing():
    """Three times as deep as Python recurses: made, walked, inferred, written, read, bound, run forwards and backwards."""
    depth = 3 * sys.getrecursionlimit()
    made = x = S.Variable("x")
    for _ in range(depth):
        made = made + 1
    again = S.load_json(made.tojson())
    assert again.list_arguments() == ["x"]
    assert len(again.get_internals()) == depth + 1
    assert again.infer_shape(x=(2,))[1] == [(2,)]
    executor = again.simple_bind(mx.cpu(), x=(2,))
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [depth, depth]
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [1, 1]
    assert x.list_outputs() == ["x"]
    copy.copy(made)


def test_backends_are_refused_by_name():
    for call in (S.Variable("x").optimize_for, S.Variable("x").get_backend_symbol):
        refused(UnsupportedError, "MKLDNN", call, "MKLDNN")


def test_operators_are_functions_with_a_docstring_and_a_signature():
    for name in ("FullyConnected", "dot", "concat", "BatchNorm", "_plus_scalar", "SoftmaxOutput"):
        function = getattr(S, name)
        assert "Storage types" in function.__doc__
        assert "name" in inspect.signature(function).parameters
    assert list(inspect.signature(S.FullyConnected).parameters)[:4] == ["data", "weight", "bias", "num_hidden"]
    assert "fully_connected" not in dir(S)
    for module in (S, S.linalg):
        with pytest.raises(AttributeError):
            _ = module.no_such_operator


# what the tutorial "Train a Linear Regression Model with Sparse Symbols" logs; notebook 04 runs its other blocks


SHAPE = (2, 2)


def classifier():
    data = mx.sym.var("data", stype="csr", shape=(32, 10000))
    weight = mx.sym.var("weight", stype="row_sparse", shape=(10000, 2))
    bias = mx.symbol.Variable("bias", shape=(2,))
    dot = mx.sym.sparse.dot(data, weight)
    pred = mx.symbol.broadcast_add(dot, bias)
    y = mx.symbol.Variable("label")
    return mx.symbol.SoftmaxOutput(data=pred, label=y, name="output")


LOG = """node 0 var
node 1 var
node 2 dot: fcompute_ex
\t\tinput 0: csr
\t\tinput 1: row_sparse
\t\toutput 2: default
node 3 var
node 4 broadcast_add: fcompute
\t\tinput 2: default
\t\tinput 3: default
\t\toutput 4: default
node 5 var
node 6 SoftmaxOutput: fcompute
\t\tinput 4: default
\t\tinput 5: default
\t\toutput 6: default
gradient of data: default
gradient of weight: row_sparse
gradient of bias: default
gradient of label: default
"""


@pytest.mark.parametrize("switch", ["environment", "config"])
def test_storage_types_are_logged(switch, monkeypatch, capsys):
    """As MXNet 1.9.1 prints them, without time and place, and with a line a gradient for its nodes of the backward pass."""
    if switch == "environment":
        monkeypatch.setenv("MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING", "1")
        classifier().simple_bind(ctx=mx.cpu())
    else:
        with mx.config.set(log_storage_types=True):
            classifier().simple_bind(ctx=mx.cpu())
    assert capsys.readouterr().err == LOG
    with mx.config.set(log_storage_types=False):
        classifier().simple_bind(ctx=mx.cpu())
    assert capsys.readouterr().err == ""


def test_a_fallback_is_logged(capsys):
    symbol = mx.sym.exp(mx.sym.Variable("a", stype="csr"))
    with mx.config.set(log_storage_types=True):
        symbol.simple_bind(mx.cpu(), "null", a=SHAPE)
    assert capsys.readouterr().err == "node 0 var\nnode 1 exp: fcompute_fallback\n\t\tinput 0: csr\n\t\toutput 1: default\n"
