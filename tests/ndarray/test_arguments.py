"""Arguments: out= is honoured, and one that a function does not take is a named TypeError, for every public function."""

import ast
import inspect
import itertools
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import sym
from sparsekit.base.errors import ArgumentError, DTypeError, ShapeError
from sparsekit.core.dispatch import invoke
from sparsekit.core.function import make_function
from sparsekit.core.op import REQUIRED, registry
from sparsekit.ndarray.methods import METHODS
from tests.calls import differentiated, refused, variable
from tests.core.test_sweep import RANDOM
from tests.sweeping import listed

nd = mx.nd

#: Settings of an operator of one's own have any name; the class that it is for refuses those that it does not take.
FREE = {"Custom"}
MODULES = {"nd": nd, "nd.sparse": nd.sparse, "nd.random": nd.random, "nd.linalg": nd.linalg, "nd.contrib": nd.contrib}


def public():
    for place, module in MODULES.items():
        for name in getattr(module, "__all__", None) or dir(module):
            found = getattr(module, name)
            if callable(found) and not inspect.isclass(found) and not name.startswith("_") and name not in FREE:
                yield pytest.param(found, id=f"{place}.{name}")


@pytest.mark.parametrize("function", list(public()))
def test_no_public_function_takes_a_misspelt_argument(function):
    try:
        plain = [nd.ones((2,))] if "multi_" in function.__name__ else 1
        needed = [plain for one in inspect.signature(function).parameters.values()
                  if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    except ValueError:
        needed = []
    caught = refused(TypeError, "shapex", function, *needed, shapex=(2, 3))
    assert isinstance(caught, mx.MXNetError)


OPS = {op.name: op for op in registry.values() if op.name not in FREE}


@pytest.mark.parametrize("name", OPS)
def test_no_operator_takes_a_misspelt_argument(name):
    op = OPS[name]
    arrays, attrs = op.sample()[0]
    refused(ArgumentError, "shapex", lambda: getattr(nd._internal, name)(*map(nd.array, arrays), **attrs, shapex=(2, 3)))


MAKERS = {
    "zeros": (lambda **more: nd.zeros((2, 3), **more), np.zeros((2, 3))),
    "ones": (lambda **more: nd.ones((2, 3), **more), np.ones((2, 3))),
    "full": (lambda **more: nd.full((2, 3), 7, **more), np.full((2, 3), 7)),
    "eye": (lambda **more: nd.eye(2, 3, **more), np.eye(2, 3)),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_what_is_made_goes_to_out(name, dtype):
    make, expected = MAKERS[name]
    out = nd.full((2, 3), 9, dtype=dtype)
    view = out[0]
    assert make(out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), expected)
    np.testing.assert_array_equal(view.asnumpy(), expected[0])
    assert out.dtype == dtype
    refused(ShapeError, "out has shape", lambda: make(out=nd.ones((3, 2))))
    refused(DTypeError, "out holds", make, out=out, dtype="float16")
    refused(DTypeError, "NDArray", lambda: make(out=np.ones((2, 3))))


def test_arguments_that_mxnet_takes_without_effect():
    assert nd.zeros((2,), __layout__="NC").shape == (2,)
    assert nd.zeros((2,), name="x").shape == nd.ones((2,), name="x").shape == nd.eye(2, name="x")[0].shape == (2,)


@pytest.mark.parametrize(("name", "expected"), [
    ("power", 8), ("maximum", 3), ("minimum", 2), ("add", 5), ("subtract", -1), ("multiply", 6), ("divide", 2 / 3), ("modulo", 2),
    ("equal", 0), ("not_equal", 1), ("greater", 0), ("greater_equal", 0), ("lesser", 1), ("lesser_equal", 1), ("logical_and", 1),
    ("logical_or", 1), ("logical_xor", 0)])
def test_two_numbers_give_a_number(name, expected):
    made = getattr(nd, name)(2, 3)
    assert made == expected
    assert isinstance(made, (int, float))


def test_axes_come_in_any_sequence():
    x = nd.zeros((2, 3, 4))
    for kind in (tuple, list, np.array, lambda axes: range(axes[0], axes[-1] + 1)):
        assert nd.moveaxis(x, kind([0, 1]), kind([1, 2])).shape == (4, 2, 3)
    assert nd.zeros((1, 2)).broadcast_like(rhs=nd.zeros((3, 2))).shape == (3, 2)
    assert nd.broadcast_like(nd.zeros((1, 2)), rhs=nd.zeros((3, 2))).shape == (3, 2)


@pytest.mark.parametrize(("texts", "expected"), [
    (["1"], [1]), (["1.5", "2"], [1.5, 2]), (np.array(["3"]), [3]), ([b"4"], [4]), ([["1", "2"]], [[1, 2]]), (["1e3"], [1000]),
    (["nan"], [np.nan])])
def test_texts_of_numbers_are_numbers(texts, expected):
    made = nd.array(texts)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made.asnumpy(), np.array(expected, np.float32))
    refused(DTypeError, "texts that are not numbers", nd.array, ["a", "1"])


def test_one_number_takes_a_format():
    assert f"{nd.array([1.23456]):.3f}" == "1.235"
    assert f"{nd.array([[7]], dtype='int32'):03d}" == "007"
    assert f"{nd.array([1.0, 2.0])}" == str(nd.array([1.0, 2.0]))
    refused(ShapeError, "one number", lambda: f"{nd.array([1.0, 2.0]):.3f}")


def test_clip_needs_two_numbers():
    for stype, bounds in itertools.product(("default", "csr", "row_sparse"), ((None, 1), (0, None), ("a", 1))):
        with pytest.raises(ShapeError, match="needs two numbers"):
            nd.clip(nd.ones((2, 2)).tostype(stype), *bounds)


MASKED = np.ma.array([[1.0, 2], [3, 4]], mask=[[0, 1], [0, 0]])
TAKERS = {
    "array": nd.array, "csr_matrix": nd.sparse.csr_matrix, "row_sparse_array": nd.sparse.row_sparse_array,
    "from_numpy": nd.from_numpy, "list of rows": lambda rows: nd.array(list(rows)),
    "components": lambda rows: nd.sparse.csr_matrix((rows[0], [0, 1], [0, 1, 2]), shape=(2, 2)),
    "NDArrayIter": lambda rows: mx.io.NDArrayIter(rows, batch_size=1), "ArrayDataset": mx.gluon.data.ArrayDataset,
    "NDArrayIter by name": lambda rows: mx.io.NDArrayIter({"data": rows}, batch_size=1),
    "DataLoader": lambda rows: list(mx.gluon.data.DataLoader(rows, 2)), "sum": lambda rows: nd.ones((2, 2)) + rows,
    "product with csr": lambda rows: nd.ones((2, 2)).tostype("csr") * rows, "numpy": lambda rows: np.add(nd.ones((2, 2)), rows),
    "assignment": lambda rows: nd.ones((2, 2)).__setitem__(slice(None), rows),
    "sparse assignment": lambda rows: nd.ones((2, 2)).tostype("csr").__setitem__(slice(None), rows),
    "index": lambda rows: nd.ones((9, 2))[rows[0].astype(int)], "metric": lambda rows: mx.metric.MSE().update([rows], [rows]),
}


@pytest.mark.parametrize("name", TAKERS)
def test_masked_elements_are_refused_and_none_masked_is_an_array(name):
    refused(mx.MXNetError, "masked elements", lambda: TAKERS[name](MASKED))
    TAKERS[name](np.ma.array(MASKED.data))


@pytest.mark.parametrize(("arguments", "expected"), [
    ((0, 5, 0.5), [0] * 10), ((0.5, 5, 1.5), [0, 1, 2]), ((5, 0, -1.5), [5, 4, 3, 2]), ((1.9, 7.2, 2.9), [1, 3]),
    ((-0.5, 3, 1), [0, 1, 2, 3])])
def test_a_range_of_integers_cuts_its_start_and_step(arguments, expected):
    """As MXNet 1.9.1 does: how many there are follows from the numbers as they were given."""
    for dtype in ("int32", "int64", "uint8"):
        assert nd.arange(*arguments, dtype=dtype).asnumpy().tolist() == expected
        assert mx.sym.arange(*arguments, dtype=dtype).eval(ctx=mx.cpu())[0].asnumpy().tolist() == expected


def gradients(function, *values, dtype):
    arrays = [nd.array(value, dtype=dtype) for value in values]
    for array in arrays:
        array.attach_grad()
    differentiated(function, *arrays)
    return [array.grad.asnumpy().tolist() for array in arrays]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
def test_gradients_of_integers_are_those_of_mxnet(dtype):
    """Recorded from MXNet 1.9.1."""
    assert gradients(lambda x: x % 2, [1, 2, 3], dtype=dtype) == [[0, 0, 0]]
    assert gradients(lambda x: 7 % x, [1, 2, 3], dtype=dtype) == [[0, 0, 0]]
    assert gradients(lambda x, y: x % y, [5, 6, 7], [3, 2, 4], dtype=dtype) == [[0, 0, 0], [0, 0, 0]]
    assert gradients(lambda x, y: nd.broadcast_mod(x, y), [[5, 6, 7]], [[3], [2]], dtype=dtype) == [[[0, 0, 0]], [[0], [0]]]
    assert gradients(lambda x, y: x ** y, [5, 6, 7], [3, 2, 2], dtype=dtype) == [
        [75, 12, 14], [201 if dtype != "int8" else -55, 64, 95]]
    for name in ("floor", "ceil", "rint", "round", "trunc", "sign"):
        assert gradients(getattr(nd, name), [1, 4, 9], dtype=dtype) == [[0, 0, 0]]


def test_gradients_of_operators_that_give_integers_are_those_of_mxnet():
    """Recorded from MXNet 1.9.1: a cast passes the gradient on, whatever it casts to."""
    values = [-1.5, 0.0, 2.0]
    for kind in ("int32", "int64", "uint8", "float16"):
        assert gradients(lambda x, kind=kind: x.astype(kind), values, dtype="float32") == [[1, 1, 1]]
    assert gradients(lambda x: x % 2, values, dtype="float32") == [[1, 1, 1]]
    for act in (lambda x: nd.one_hot(x, 3), nd.shape_array, nd.size_array):
        assert gradients(act, values, dtype="float32") == [[0, 0, 0]]


@pytest.mark.parametrize("function", [nd.relu, lambda x: nd.Activation(x, act_type="relu")])
@pytest.mark.parametrize("size", [1, 5000])
def test_the_gradient_of_relu_at_nan_is_nan(function, size):
    made, = gradients(function, [-1.0, 0.0, 2.0, np.nan] * size, dtype="float32")
    np.testing.assert_array_equal(made, [0, 0, 1, np.nan] * size)


@pytest.mark.parametrize("stypes", list(itertools.product(("default", "csr"), ("default", "row_sparse", "csr"))))
def test_a_bias_may_be_a_column(stypes):
    data, weight, bias = np.array([[1.0, 0, 2], [0, 0, 3]]), np.arange(12.0).reshape(4, 3), np.arange(4.0).reshape(4, 1)
    column = variable(nd.array(bias))
    with mx.autograd.record():
        made = nd.FullyConnected(nd.array(data).tostype(stypes[0]), nd.array(weight).tostype(stypes[1]), column, num_hidden=4)
    np.testing.assert_array_equal(made.asnumpy(), data @ weight.T + bias.T)
    made.backward()
    np.testing.assert_array_equal(column.grad.asnumpy(), np.full((4, 1), 2))
    refused(ShapeError, "bias", lambda: nd.FullyConnected(nd.array(data), nd.array(weight), nd.ones((1, 4)), num_hidden=4))


def test_padding_behind_the_lengths_of_labels_does_not_count():
    data = nd.zeros((3, 1, 4))
    expected = nd.ctc_loss(data, nd.array([[1]])).asscalar()
    for padding in ([0, 99], [-7, 55], [0, 0, 0, 0, 0]):
        made = nd.ctc_loss(data, nd.array([[1, *padding]]), label_lengths=nd.array([1]), use_label_lengths=True)
        assert made.asscalar() == expected


@pytest.mark.parametrize("odd", [
    lambda x: x.tostype(x), lambda x: x.tostype(None), lambda x: x.reshape(float("inf")), lambda x: x.reshape(slice(1)),
    lambda x: x.reshape(np.array(["a"])), lambda x: x.attach_grad(x), lambda x: x.attach_grad(stype=x), lambda x: mx.Context(x),
    lambda x: mx.nd.ones((1,), ctx=x), lambda x: mx.nd.transpose(x, axes=float("nan")), lambda x: x.transpose(np.array([1, 2])),
    lambda x: mx.nd.linspace(0, 1, None), lambda x: mx.nd.zeros((1,), dtype="\ud800"),
    lambda x: mx.nd.maximum(np.float32(1), 10**400),
    lambda x: mx.gluon.data.ArrayDataset(None), lambda x: mx.gluon.Parameter("a", shape=(2,), init=np.array([1, 2])).initialize(),
    lambda x: mx.gluon.Parameter("a", shape=type("A", (), {"__iter__": lambda self: 1 / 0})())])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_odd_arguments_are_refused_by_what_they_are_given_for(odd, stype):
    assert "equal takes" not in str(refused(mx.SparsekitError, "", odd, mx.nd.ones((2, 2)).tostype(stype)))


def test_an_order_of_axes_and_a_shape_may_be_arrays_of_numpy():
    x = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    for stype in ("default", "row_sparse"):
        assert x.tostype(stype).transpose(np.array([1, 0])).asnumpy().tolist() == [[1, 4], [2, 5], [3, 6]]
        assert mx.nd.transpose(x.tostype(stype), axes=np.array([1, 0])).asnumpy().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert x.reshape(np.array([3, -1])).shape == (3, 2)


# the operators that annotations say arrays and symbols have are those that tables give them


DECLARED = Path(mx.__file__).parent / "core" / "types.py"


def declared(name: str) -> set[str]:
    """Members of a class of ``core/types.py``."""
    module = ast.parse(DECLARED.read_text(encoding="utf-8"))
    found = next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {node.name if isinstance(node, ast.FunctionDef) else node.target.id for node in found.body
            if isinstance(node, ast.FunctionDef | ast.AnnAssign)}


def test_every_operator_of_the_table_is_declared():
    assert set(METHODS) <= declared("Tensor")


@pytest.mark.parametrize("holder", [mx.nd.NDArray, mx.sym.Symbol])
def test_what_is_declared_of_tensors_is_there(holder):
    only_of_arrays = {"shape", "stype"} if holder is mx.sym.Symbol else set()
    assert {name for name in declared("Tensor") if not hasattr(holder, name)} <= only_of_arrays


def test_what_is_declared_of_arrays_is_there():
    array = mx.nd.ones((2, 3))
    assert [name for name in sorted(declared("ArrayObject")) if not hasattr(array, name)] == []


def test_an_array_has_the_shape_and_the_type_that_it_says():
    array = mx.nd.ones((2, 3))
    assert array.shape == (2, 3)
    assert array.stype == "default"


# out and name behind the operator's own arguments, as MXNet's functions take them: every operator of the registry


SEEDED = {"sgld_update"}


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")
@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if not op.variadic and name not in RANDOM | SEEDED))
def test_out_is_taken_behind_the_own_arguments(name):
    op = OPS[name]
    for arrays, attrs in op.sample():
        settings = {key: attrs.get(key, default) for key, default in op.attrs.items()}
        if REQUIRED in settings.values() or len(arrays) < op.needed:
            continue
        function = make_function(op, invoke, "tests")
        inputs = [nd.array(array, dtype=array.dtype) for array in arrays]
        expected = listed(function(*[x.copy() for x in inputs], **attrs))
        if len(expected) > 1:
            continue
        out = nd.zeros(expected[0].shape, dtype=expected[0].dtype)
        padded = [*inputs, *[None] * (len(op.inputs) - len(inputs))]
        assert function(*padded, *settings.values(), out, "a name") is out
        np.testing.assert_allclose(out.asnumpy(), expected[0].asnumpy(), rtol=1e-6)


def test_programs_of_mxnet():
    x, out = nd.array([1, 4, 9]), nd.zeros((3,))
    assert nd.sqrt(x, out) is out
    assert out.asnumpy().tolist() == [1, 2, 3]
    assert nd.clip(x, 2, 5, out, "clipped") is out
    assert out.asnumpy().tolist() == [2, 4, 5]
    assert nd.shuffle(x, x) is x
    assert sorted(x.asnumpy()) == [1, 4, 9]
    weight = nd.ones((3,))
    assert nd.signsgd_update(weight, x, 0.5, 0, 1, -1, weight) is weight  # MXNet's has no lazy_update
    assert weight.asnumpy().tolist() == [0.5] * 3
    four, root = nd.array([[4]]), nd.zeros((1, 1))
    assert nd.linalg.potrf(four, root) is root  # nor MXNet's a lower, which it takes by name
    assert root.asscalar() == 2
    a, b = sym.var("a"), sym.var("b")
    assert sym.linalg.potrf(a, "p").name == "p"
    assert sym.exp(a, "e").name == "e"
    assert sym.clip(a, 0, 1, "c", {"__x__": "1"}).attr_dict()["c"]["__x__"] == "1"
    assert sym.dot(a, b, False, True, None, "d").name == "d"
    refused(mx.MXNetError, "'out' twice", nd.sqrt, x, out, out=x)
    refused(mx.MXNetError, "at most", nd.sqrt, x, None, None, 3)


@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
@pytest.mark.parametrize("name", ["zeros_like", "ones_like"])
def test_a_context_beside_an_array_is_passed_over_as_in_mxnet(name, stype):
    array = mx.nd.array([[1, 0], [0, 2]]).tostype(stype)
    like = getattr(mx.nd, name)(array, ctx=mx.cpu(1))
    assert (like.context, like.asnumpy().tolist()) == (mx.cpu(0), [[float(name == "ones_like")] * 2] * 2)
    with pytest.raises(ArgumentError, match="no argument of"):
        getattr(mx.nd, name)(array, context=mx.cpu(1))
