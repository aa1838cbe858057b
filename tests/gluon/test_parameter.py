"""Parameters: shapes that come later, storage types, several contexts, sharing, and what is refused."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.gluon import Constant, Parameter, ParameterDict, nn
from sparsekit.gluon.parameter import DeferredInitializationError, brief
from tests.calls import initialized, refused

TWO = [mx.cpu(0), mx.cpu(1)]


def test_values_and_gradients_on_two_contexts_are_alike_and_apart():
    weight = initialized(Parameter("a_weight", shape=(2, 3)), ctx=TWO)
    assert weight.list_ctx() == TWO
    first, second = weight.list_data()
    assert (first.context, second.context) == (mx.cpu(0), mx.cpu(1))
    np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    first[:] = 5
    assert (second.asnumpy() != 5).all()
    assert weight.data(mx.cpu(1)) is second
    assert [gradient.context for gradient in weight.list_grad()] == TWO
    with mx.cpu(1):
        assert weight.data() is second
    refused(mx.InitializationError, r"only initialized on cpu\(0\), cpu\(1\)", weight.data, mx.cpu(2))
    with pytest.raises(mx.InitializationError, match="not all different"):
        Parameter("w", shape=(1,)).initialize(ctx=[mx.cpu(0), mx.cpu(0)])


@pytest.mark.parametrize("shape", [(3, 0), (3, -1), None])
def test_a_shape_that_comes_later(shape):
    weight = initialized(Parameter("w", shape=shape, allow_deferred_init=True), mx.init.One(), ctx=TWO)
    refused(DeferredInitializationError, "first forward pass", weight.data)
    assert weight.list_ctx() == TWO
    weight.shape = (3, 2)
    weight._finish_deferred_init()
    assert weight.data(mx.cpu(1)).asnumpy().tolist() == [[1, 1]] * 3
    with pytest.raises(mx.ShapeError, match=r"\(3, 2\), not \(3, 4\)"):
        weight.shape = (3, 4)


def test_without_a_shape_or_values():
    refused(mx.InitializationError, "unknown shape", lambda: Parameter("w", shape=(3, 0)).initialize())
    weight = Parameter("w", shape=(3,))
    for act in (weight.data, weight.grad, weight.list_data, weight.list_grad, weight.list_ctx,
                lambda: weight.set_data(np.ones(3)), lambda: weight.reset_ctx(mx.cpu())):
        refused(mx.InitializationError, "has not been initialized", act)


def test_initializing_again_needs_force():
    weight = initialized(Parameter("w", shape=(2,), init="ones"))
    with pytest.warns(UserWarning, match="already initialized, ignoring"):
        weight.initialize("zeros")
    assert weight.data().asnumpy().tolist() == [1, 1]
    weight.initialize("zeros", force_reinit=True)
    assert weight.data().asnumpy().tolist() == [0, 0]


def test_what_an_initializer_leaves_is_zero():
    class First(mx.init.Initializer):
        def _init_weight(self, name, array):
            array[0] = 3

    weight = initialized(Parameter("w", shape=(3, 2)), First())
    assert weight.data().asnumpy().tolist() == [[3, 3], [0, 0], [0, 0]]


def test_set_data_gives_a_waiting_parameter_its_shape_and_values():
    weight = initialized(Parameter("w", shape=(0, 2), allow_deferred_init=True), ctx=TWO)
    weight.set_data(mx.nd.ones((3, 2)))
    assert [array.shape for array in weight.list_data()] == [(3, 2)] * 2
    weight.set_data([[1, 2], [3, 4], [5, 6]])
    assert weight.data(mx.cpu(1)).asnumpy()[2].tolist() == [5, 6]
    refused(mx.ShapeError, "", weight.set_data, mx.nd.ones((2, 2)))


@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
@pytest.mark.parametrize("grad_stype", ["default", "row_sparse", "csr"])
def test_storage_types_stay_through_everything(stype, grad_stype):
    weight = initialized(Parameter("w", shape=(4, 3), stype=stype, grad_stype=grad_stype), mx.init.One(), ctx=TWO)
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    for change in (lambda: weight.set_data(values), lambda: weight.cast("float64"), lambda: weight.reset_ctx(mx.cpu(3)),
                   lambda: weight.set_data(mx.nd.array(values).tostype("csr")), weight.zero_grad):
        change()
        assert {array.stype for array in weight.list_data()} == {stype}
        assert {array.stype for array in weight.list_grad()} == {grad_stype}
        np.testing.assert_array_equal(weight.data().asnumpy() if len(weight.list_data()) == 1 else
                                      weight.data(mx.cpu(1)).asnumpy(), values)
    assert weight.list_ctx() == [mx.cpu(3)]
    assert weight.data().dtype == weight.grad().dtype == np.float64
    if stype == "row_sparse":
        assert weight.data().indices.shape == (4,)


def test_rows_of_a_row_sparse_parameter_and_their_gradient():
    weight = initialized(Parameter("w", shape=(5, 2), stype="row_sparse", grad_stype="row_sparse"), mx.init.One(), ctx=TWO)
    rows = mx.nd.array([3, 1, 3])
    with mx.autograd.record():
        part = weight.row_sparse_data(rows)
        (part * 2).sum().backward()
    assert part.indices.asnumpy().tolist() == [1, 3]
    gradient = weight.grad(mx.cpu(0))
    assert gradient.stype == "row_sparse"
    assert gradient.asnumpy().sum(axis=1).tolist() == [0, 4, 0, 4, 0]
    assert [part.context for part in weight.list_row_sparse_data(mx.nd.array([[0, 2]]))] == TWO
    assert weight.row_sparse_data(rows.as_in_context(mx.cpu(1))).context == mx.cpu(1)
    refused(mx.DTypeError, "row_id must have NDArray type, but list", weight.row_sparse_data, [1])
    refused(mx.StorageTypeError, "is default", lambda: Parameter("w", shape=(2,)).row_sparse_data(rows))


def test_grad_req_frees_and_brings_back_the_gradient():
    weight = initialized(Parameter("w", shape=(2,)), mx.init.One())
    weight.grad()[:] = 7
    weight.grad_req = "write"
    assert weight.grad().asnumpy().tolist() == [7, 7]
    weight.grad_req = "null"
    refused(mx.InitializationError, "grad_req='null'", weight.grad)
    weight.grad_req = "add"
    for _ in range(2):
        with mx.autograd.record():
            (weight.data() * 3).sum().backward()
    assert weight.grad().asnumpy().tolist() == [6, 6]
    weight.zero_grad()
    assert weight.grad().asnumpy().tolist() == [0, 0]
    with pytest.raises(mx.UnknownNameError, match="'write'"):
        weight.grad_req = "wrote"
    fixed = Parameter("w", shape=(2,), differentiable=False)
    fixed.grad_req = "write"
    assert fixed.grad_req == "null"


@pytest.mark.parametrize(("kind", "req"), [(nn.BatchNorm, "null"), (nn.LayerNorm, "write"), (nn.GroupNorm, "write"),
                                           (nn.InstanceNorm, "write")])
def test_a_scale_that_is_not_learned_stays_so_in_batch_normalization_alone(kind, req):
    layer = kind(scale=False, center=False)
    assert [layer.gamma.grad_req, layer.beta.grad_req] == ["null", "null"]
    layer.collect_params().setattr("grad_req", "write")
    assert [layer.gamma.grad_req, layer.beta.grad_req] == [req, req]


def test_cast_keeps_values_and_gradients():
    weight = initialized(Parameter("w", shape=(2,)), mx.init.One())
    weight.grad()[:] = 0.5
    weight.dtype = "float16"
    assert (weight.data().dtype, weight.grad().dtype) == (np.float16, np.float16)
    assert weight.grad().asnumpy().tolist() == [0.5, 0.5]
    assert repr(weight) == "Parameter w (shape=(2,), dtype=float16)"


def test_constants_stay():
    constant = initialized(Constant("c", [[1, 2], [3, 4]]))
    assert repr(constant) == "Constant c (shape=(2, 2), dtype=float32)"
    with pytest.warns(UserWarning, match='new value "write" is ignored'):
        constant.grad_req = "write"
    assert constant.grad_req == "null"
    assert constant.data().asnumpy().tolist() == [[1, 2], [3, 4]]
    constant.set_data(mx.nd.zeros((2, 2)))
    assert constant.data().asnumpy().sum() == 0


# dictionaries


def test_get_finds_makes_and_compares():
    params = ParameterDict("net_")
    weight = params.get("weight", shape=(3, 0), dtype="float32")
    assert (params.get("weight", shape=(0, 2), dtype=np.float32, init=None), weight.shape) == (weight, (3, 2))
    assert params.get("weight", init="ones").init == "ones"
    shared = ParameterDict("net_", shared=params)
    assert shared.get("weight") is weight
    assert list(shared) == ["net_weight"]
    for wrong in ({"shape": (4, 2)}, {"shape": (3,)}, {"dtype": "float64"}, {"lr_mult": 2.0},
                  {"init": "zeros"}):
        refused(mx.ParameterError, f"attribute '{next(iter(wrong))}'", params.get, "weight", **wrong)


def test_constants_of_a_dictionary():
    params = ParameterDict("net_")
    made = params.get_constant("c", [1, 2])
    assert params.get_constant("c") is params.get_constant("c", mx.nd.array([1, 2])) is made
    for wrong in ([1, 3], [1, 2, 3]):
        refused(mx.ParameterError, "doesn't match", params.get_constant, "c", wrong)
    params.get("weight", shape=(1,))
    refused(mx.ParameterError, "not a constant", params.get_constant, "weight", [1])
    refused(KeyError, "No constant named 'net_d'", params.get_constant, "d")


def test_a_name_that_is_not_there_is_a_key_error_with_a_hint():
    params = ParameterDict("net_")
    params.get("weight", shape=(1,))
    refused(KeyError, "did you mean 'net_weight'", lambda: params["net_wieght"])
    assert "net_weight" in params
    assert repr(params) == "net_ (\n  Parameter net_weight (shape=(1,), dtype=float32)\n)"


def test_update_select_and_attributes_of_all():
    one, other = ParameterDict("a_"), ParameterDict("b_")
    for name in ("weight", "bias"):
        one.get(name, shape=(2,))
        other.get(name, shape=(2,))
    one.update(other)
    assert list(one.select(".*weight")) == ["a_weight", "b_weight"]
    one.setattr("lr_mult", 0.5)
    assert {parameter.lr_mult for parameter in other.values()} == {0.5}
    one.initialize(ctx=TWO)
    assert one.list_ctx() == TWO
    one["a_bias"].list_grad()[0][:] = 1
    one.zero_grad()
    assert one["a_bias"].list_grad()[0].asnumpy().sum() == 0
    clash = ParameterDict()
    clash._params["a_bias"] = Parameter("a_bias")
    refused(mx.ParameterError, "same name 'a_bias'", one.update, clash)


def saved(tmp_path, **arrays):
    mx.nd.save(str(tmp_path / "file"), {name: mx.nd.array(value, dtype=getattr(value, "dtype", None)) for name, value in
                                       arrays.items()})
    return tmp_path / "file"


def two(prefix="n_"):
    params = ParameterDict(prefix)
    for name in ("a", "b"):
        params.get(name, shape=(2,), init="zeros")
    params.initialize()
    return params


def test_load_with_names_missing_or_left_over(tmp_path):
    path = saved(tmp_path, n_a=[1, 2], other=[3])
    refused(mx.ParameterError, r"'n_b' is missing in file: .*'n_a', 'other'", lambda: two().load(path, ignore_extra=True))
    refused(mx.ParameterError, "'other' loaded from file", lambda: two().load(path, allow_missing=True))
    params = two()
    params.load(path, allow_missing=True, ignore_extra=True)
    assert params["n_a"].data().asnumpy().tolist() == [1, 2]
    params.load_dict({"arg:n_a": mx.nd.ones(2), "aux:n_b": mx.nd.ones(2)})
    assert params["n_b"].data().asnumpy().tolist() == [1, 1]
    refused(mx.ParameterError, "restore_prefix is 'm_'", lambda: two().load(path, restore_prefix="m_"))
    refused(mx.ParameterError, "does not start with 'm_'", lambda: two().save(tmp_path / "no", strip_prefix="m_"))
    assert not (tmp_path / "no").exists()


def test_load_checks_shapes_types_and_contexts(tmp_path):
    with pytest.raises(mx.ParameterError, match=r"shape incompatible expected \(2,\) vs saved \(3,\)"):
        two().load(saved(tmp_path, n_a=[1, 2, 3], n_b=[1, 2]))
    path = saved(tmp_path, n_a=np.array([1.5, 2]), n_b=np.array([1.0, 2]))
    assert mx.nd.load(path)["n_a"].dtype == np.float64
    refused(mx.ParameterError, "dtype incompatible expected float32 vs saved float64", lambda: two().load(path))
    for source, expected in (("current", np.float32), ("saved", np.float64)):
        params = two()
        params.load(path, cast_dtype=True, dtype_source=source)
        assert params["n_a"].dtype == params["n_a"].data().dtype == expected
        assert params["n_a"].data().asnumpy().tolist() == [1.5, 2]
    with pytest.raises(mx.ParameterError, match=r"on \[cpu\(1\)\] because it was previously initialized on \[cpu\(0\)\]"):
        two().load(path, ctx=mx.cpu(1), cast_dtype=True)
    refused(mx.UnknownNameError, "dtype_source", lambda: two().load(path, cast_dtype=True, dtype_source="file"))
    fresh = ParameterDict("n_")
    fresh.get("a", shape=(0,), dtype="float64")
    fresh.get("b", dtype="float64")
    fresh.load(path, ctx=TWO)
    assert fresh["n_b"].list_ctx() == TWO
    assert fresh["n_a"].shape == (2,)


def test_contexts_that_differ_are_averaged_in_files(tmp_path):
    weight = ParameterDict()
    weight.get("w", shape=(2,)).initialize("zeros", ctx=TWO)
    weight["w"].list_data()[1][:] = 4
    weight.save(tmp_path / "mean")
    assert mx.nd.load(tmp_path / "mean")["w"].asnumpy().tolist() == [2, 2]


def test_many_names_are_shown_in_part():
    assert brief("ab") == "'a', 'b'"
    assert brief("abcdefgh") == "'a', 'b', 'c', ..., 'f', 'g', 'h'"
