"""Initializers: recorded values, JSON and refusals of MXNet 1.9.1, the statistics of those that draw, and sparse arrays."""

import json
import logging
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import sparsekit as mx

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "initializer.json").read_text(encoding="utf-8"))

#: Where MXNet raises and this library does what was meant.
BETTER = {
    "filled(two, 'p', 2 * (3 + 2 + 2), attrs={'__init__': mx.init.FusedRNN(mx.init.One(), 2, 1, 'rnn_relu').dumps()})":
        np.array([1.0] * 10 + [0.0] * 4),  # it looks for the name among the base classes
}

REFUSALS = (mx.MXNetError, TypeError)


@pytest.fixture(autouse=True)
def old_ways_allowed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@pytest.fixture(scope="module")
def names():
    found = {"mx": mx, "np": np}
    registry = mx.init.create.__globals__["_registry"]
    before = dict(registry.classes)
    exec(GOLDEN["setup"], found)
    yield found
    registry.classes.clear()
    registry.classes.update(before)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["expression"])
def test_as_mxnet_has_it(case, names):
    if case["expression"] in BETTER:
        assert "error" in case
        np.testing.assert_array_equal(eval(case["expression"], names).asnumpy(), BETTER[case["expression"]])
    elif "error" in case:
        with pytest.raises(REFUSALS) as error:
            eval(case["expression"], names)
        assert isinstance(error.value, mx.MXNetError) == ("__init__" not in case["reason"])  # Python refuses unknown arguments
    else:
        result = eval(case["expression"], names)
        if "stype" in case:
            np.testing.assert_allclose(result.asnumpy().ravel(), np.ravel(case["value"]), rtol=1e-6)
        else:
            assert (repr(result) if isinstance(result, dict) else result) == case["value"]


def drawn(init, *shape):
    mx.random.seed(11)
    array = mx.nd.ones(shape) * 7
    init(mx.init.InitDesc("fc_weight"), array)
    return array.asnumpy()


@pytest.mark.parametrize(("init", "shape", "expected"), [
    (mx.init.Uniform(0.5), (200, 100), stats.uniform(-0.5, 1)),
    (mx.init.Normal(0.3), (200, 100), stats.norm(0, 0.3)),
    (mx.init.Xavier(), (100, 300), stats.uniform(-math.sqrt(3 / 200), 2 * math.sqrt(3 / 200))),
    (mx.init.Xavier("gaussian", "in", 2), (100, 300), stats.norm(0, math.sqrt(2 / 300))),
    (mx.init.Xavier("uniform", "out", 2), (100, 300), stats.uniform(-math.sqrt(0.02), 2 * math.sqrt(0.02))),
    (mx.init.Xavier("gaussian"), (20, 30, 5, 5), stats.norm(0, math.sqrt(3 / (25 * 25)))),
    (mx.init.MSRAPrelu(), (100, 300), stats.norm(0, math.sqrt(2 / 1.0625 / 200))),
    (mx.init.MSRAPrelu("out", 0), (100, 300), stats.norm(0, math.sqrt(2 / 100))),
], ids=lambda value: repr(value) if isinstance(value, mx.init.Initializer) else None)
def test_distribution(init, shape, expected):
    values = drawn(init, *shape)
    assert stats.kstest(values.ravel(), expected.cdf).pvalue > 1e-3
    assert np.unique(values).size > 0.99 * values.size


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (10, 3, 2, 2), (5, 5)])
def test_orthogonal(kind, shape):
    matrix = drawn(mx.init.Orthogonal(1.5, kind), *shape).reshape(shape[0], -1)
    square = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(square, 2.25 * np.eye(len(square)), atol=1e-5)


@pytest.mark.parametrize("init", [mx.init.Zero(), mx.init.One(), mx.init.Constant(3), mx.init.Uniform(1), mx.init.Normal(1),
                                  mx.init.Xavier(), mx.init.Orthogonal()], ids=repr)
def test_row_sparse_weights_hold_every_row(init):
    array = mx.nd.sparse.zeros("row_sparse", (6, 3))
    mx.random.seed(4)
    init(mx.init.InitDesc("w_weight"), array)
    assert array.stype == "row_sparse"
    np.testing.assert_array_equal(array.indices.asnumpy(), np.arange(6))
    dense = mx.nd.ones((6, 3))
    mx.random.seed(4)
    init(mx.init.InitDesc("w_weight"), dense)
    np.testing.assert_array_equal(array.asnumpy(), dense.asnumpy())


def test_csr_and_half_precision():
    array = mx.nd.sparse.zeros("csr", (3, 2))
    mx.init.Constant(mx.nd.array([[1, 0], [0, 0], [0, 2]]))(mx.init.InitDesc("w_weight"), array)
    assert (array.stype, array.asnumpy().tolist()) == ("csr", [[1, 0], [0, 0], [0, 2]])
    half = mx.nd.zeros((50, 50), dtype="float16")
    mx.init.Normal(2)(mx.init.InitDesc("w_weight"), half)
    assert half.dtype == np.float16
    assert 1.8 < half.asnumpy().std() < 2.2


def test_gluon_parameters_take_every_initializer(tmp_path):
    names = ["Zero()", "One()", "Constant(2)", "Uniform()", "Normal()", "Orthogonal()", "Xavier()", "MSRAPrelu()"]
    for text in names:
        net = mx.gluon.nn.Dense(3, in_units=4, weight_initializer=eval(f"mx.init.{text}"))
        net.initialize()
        assert net.bias.data().asnumpy().tolist() == [0, 0, 0]
    assert net.weight.data().asnumpy().any()
    mx.nd.save(str(tmp_path / "some.params"), {"arg:d_weight": mx.nd.ones((3, 4)) * 5})
    net = mx.gluon.nn.Dense(3, in_units=4, prefix="d_")
    net.initialize(mx.init.Load(str(tmp_path / "some.params"), mx.init.One()))
    assert (net.weight.data().asnumpy() == 5).all()
    net.initialize(mx.init.Mixed([".*weight", ".*"], ["ones", mx.init.Zero()]), force_reinit=True)
    assert (net.weight.data().asnumpy() == 1).all()


def test_a_parameter_whose_name_says_nothing_needs_its_own_initializer():
    parameter = mx.gluon.Parameter("factors", shape=(2, 3))
    with pytest.raises(mx.UnknownNameError, match=r"factors.*\n.*init="):
        parameter.initialize(default_init=mx.init.Uniform())
    parameter.initialize(mx.init.One())
    assert (parameter.data().asnumpy() == 1).all()


def test_a_new_class_for_a_known_name_warns():
    class Zero(mx.init.Initializer):
        pass

    with pytest.warns(UserWarning, match="takes the name 'zero'"):
        mx.init.register(Zero)
    assert type(mx.init.create("zero")) is Zero
    with pytest.warns(UserWarning, match="takes the name"):
        mx.init.register(type(mx.init.create("zeros")), "zero")
    assert type(mx.init.create("zero")) is mx.init.Zero


def test_what_it_says_when_asked(caplog):
    with caplog.at_level(logging.INFO):
        mx.init.One().set_verbosity(True)(mx.init.InitDesc("a_weight"), mx.nd.zeros(3))
        mx.init.One().set_verbosity(True, lambda array: "quite")(mx.init.InitDesc("a_bias"), mx.nd.zeros(3))
        mx.init.Load({"a": mx.nd.ones(2)}, verbose=True)("a", mx.nd.ones(2))
    assert [record.getMessage() for record in caplog.records] == [
        "Initialized a_weight as weight: 1.0", "Initialized a_bias as bias: quite", "Initialized a by loading"]


def test_repr_is_the_call():
    assert repr(mx.init.Xavier("gaussian")) == "Xavier(rnd_type='gaussian', factor_type='avg', magnitude=3)"
    assert repr(mx.init.Zero()) == "Zero()"
