"""Initializers beyond what is compared with MXNet's: the statistics of those that draw, sparse arrays, and what is said."""

import logging
import math

import numpy as np
import pytest
from scipy import stats

import sparsekit as mx
from tests.calls import initialized, refused


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
        net = initialized(mx.gluon.nn.Dense(3, in_units=4, weight_initializer=eval(f"mx.init.{text}")))
        assert net.bias.data().asnumpy().tolist() == [0, 0, 0]
    assert net.weight.data().asnumpy().any()
    mx.nd.save(str(tmp_path / "some.params"), {"arg:d_weight": mx.nd.ones((3, 4)) * 5})
    net = initialized(mx.gluon.nn.Dense(3, in_units=4, prefix="d_"), mx.init.Load(str(tmp_path / "some.params"), mx.init.One()))
    assert (net.weight.data().asnumpy() == 5).all()
    net.initialize(mx.init.Mixed([".*weight", ".*"], ["ones", mx.init.Zero()]), force_reinit=True)
    assert (net.weight.data().asnumpy() == 1).all()


NAMES = ["weight", "bias", "alpha", "my_gamma", "x_beta", "running_min", "x_max", "q_weight_quantize", "moving_mean",
         "upsampling0_weight", "stn_loc_bias"]


def filled(name, how, init):
    """A Gluon parameter that was initialized in one of five ways."""
    if how == "dict":
        parameters = mx.gluon.ParameterDict("net_")
        made = parameters.get(name, shape=(8, 4))
        parameters.initialize(init)
        return made
    made = mx.gluon.Parameter(name, shape=(0 if how == "deferred" else 8, 4), init=init if how == "own" else None,
                              allow_deferred_init=True)
    made.initialize(init if how == "init" else None, default_init=None if how in ("own", "init") else init)
    if how == "deferred":
        made.shape = (8, 4)
        made._finish_deferred_init()
    return made


@pytest.mark.parametrize("how", ["default", "own", "init", "dict", "deferred"])
@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_gluon_parameter_decides_nothing(name, how):
    """MXNet 1.9.1 fills all of these with what the initializer says of a weight."""
    assert (filled(name, how, mx.init.Constant(5)).data().asnumpy() == 5).all()
    assert len(np.unique(filled(name, how, "xavier").data().asnumpy())) > 20
    mixed = mx.init.Mixed([".*bias", ".*"], [mx.init.Constant(2), mx.init.Load({}, mx.init.Constant(3))])
    assert (filled(name, how, mixed).data().asnumpy() == (2 if name.endswith("bias") else 3)).all()


def test_the_name_of_a_variable_of_a_module_decides():
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", (2, 4))], for_training=False)
    module.init_params(mx.init.Constant(5))
    arguments, _ = module.get_params()
    assert (arguments["fc_weight"].asnumpy() == 5).all()
    assert (arguments["fc_bias"].asnumpy() == 0).all()


def test_verbose_says_how_each_parameter_was_filled(caplog):
    net = mx.gluon.nn.Dense(3, in_units=4, prefix="d_")
    with caplog.at_level("INFO"):
        net.initialize(mx.init.One(), verbose=True)
    assert [record.args[0] for record in caplog.records] == ["d_weight", "d_bias"]


@pytest.mark.parametrize("value", [np.float32(2), np.array([1, 2]), [np.float32(1), 2], [mx.nd.array([1, 2])], (1, 2)])
def test_arguments_of_numpy_and_arrays_are_dumped(value):
    read = mx.init.create(mx.init.Constant(value).dumps())
    first, second = (mx.nd.zeros((1, 2)) for _ in range(2))
    mx.init.Constant(value)._init_weight("w", first)
    read._init_weight("w", second)
    assert first.asnumpy().tolist() == second.asnumpy().tolist()
    assert mx.init.create(mx.init.Normal(np.float64(0.5)).dumps()).sigma == 0.5
    refused(mx.DTypeError, "cannot be written as JSON", lambda: mx.init.Constant({1}).dumps())


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
