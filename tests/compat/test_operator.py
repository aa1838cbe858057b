"""Operators of one's own: ``mx.operator`` and ``mx.nd.Custom``; the numbers are MXNet 1.9.1's."""

import json
import subprocess
import sys

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import differentiated, refused, variable


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("softmax_of_mine")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


class Scaled(mx.operator.CustomOp):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        aux[0] += 1
        self.assign(out_data[0], req[0], in_data[0] * self.factor)
        self.assign(out_data[1], req[1], in_data[0] + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor)
        self.assign(in_grad[0], "add", out_grad[1])


@mx.operator.register("scaled_of_mine")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, factor="1", stype="default"):
        super().__init__()
        self.factor, self.stype = float(factor), stype

    def list_outputs(self):
        return ["scaled", "shifted"]

    def list_auxiliary_states(self):
        return ["calls"]

    def infer_storage_type(self, in_stype):
        return [self.stype], [self.stype, "default"], ["default"]

    def create_operator(self, ctx, shapes, dtypes):
        return Scaled(self.factor)


def test_an_output_layer_of_ones_own():
    x, label = mx.nd.array([[1, 2, 3], [4, 4, 4]]), mx.nd.array([2, 0])
    x.attach_grad()
    y = differentiated(lambda: mx.nd.Custom(x, label, op_type="softmax_of_mine"))
    np.testing.assert_allclose(y.asnumpy(), mx.nd.softmax(x).asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), y.asnumpy() - np.eye(3)[[2, 0]], rtol=1e-6)


def test_parameters_two_outputs_and_kept_arrays():
    x, calls = mx.nd.array([[1.0, 2.0]]), mx.nd.zeros((1,))
    x.attach_grad()
    with mx.autograd.record():
        scaled, shifted = mx.nd.Custom(x, calls, op_type="scaled_of_mine", factor=3)
        total = scaled * 10 + shifted
    total.backward()
    assert (scaled.asnumpy().tolist(), shifted.asnumpy().tolist()) == ([[3.0, 6.0]], [[2.0, 3.0]])
    assert x.grad.asnumpy().tolist() == [[31.0, 31.0]]
    assert calls.asscalar() == 1


def test_inputs_by_name_in_the_storage_type_asked_for():
    x = mx.nd.array([[0.0, 2.0]]).tostype("csr")
    scaled, _ = mx.nd.Custom(calls=mx.nd.zeros((1,)), data=x, op_type="scaled_of_mine", factor=2, stype="csr")
    assert (scaled.stype, scaled.asnumpy().tolist()) == ("csr", [[0.0, 4.0]])


def test_what_cannot_be_is_refused_by_name():
    x = mx.nd.ones((1, 2))
    refused(mx.UnknownNameError, "softmax_of_mine", mx.nd.Custom, x, op_type="softmax_of_mina")
    refused(mx.SparsekitError, "data, label", mx.nd.Custom, x, op_type="softmax_of_mine")
    refused(mx.SparsekitError, "CustomOpProp", lambda: mx.operator.register("bad")(int))
    assert "softmax_of_mine" in mx.operator.get_all_registered_operators()


class Wrong(mx.autograd.Function):
    def __init__(self, given):
        super().__init__()
        self.given = given

    def forward(self, x, w):
        return x * w

    def backward(self, dy):
        return self.given


@pytest.mark.parametrize(("given", "message"), [
    ((mx.nd.ones((2,)),), "1 gradients for 2 inputs"), ((mx.nd.ones((2,)), mx.nd.ones((3,))), r"input 1.*\(2,\)"),
    ((mx.nd.ones((2,)), 1.0), "float"),
])  # fmt: skip
def test_gradients_of_a_function_are_checked(given, message):
    x, w = mx.nd.ones((2,)), mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = Wrong(given)(x, w)
    refused(mx.GradientError, message, y.backward)


def _faulty(name, error, **methods):
    """A registered operator whose method ``name`` raises an error."""
    def raises(*args, **kwargs):
        raise error

    operator = type("Faulty", (mx.operator.CustomOp,), {
        "forward": lambda self, is_train, req, in_data, out_data, aux: self.assign(out_data[0], req[0], in_data[0]),
        **({name: raises} if name in ("forward", "backward") else {})})
    own = {"create_operator": lambda self, ctx, shapes, dtypes: operator()}
    if name not in ("forward", "backward"):
        own[name] = raises
    mx.operator.register(f"faulty_{name}")(type("FaultyProp", (mx.operator.CustomOpProp,), own))
    return f"faulty_{name}"


@pytest.mark.parametrize("error", [KeyError("boo"), TypeError("boo")])
@pytest.mark.parametrize("method", ["forward", "backward", "create_operator", "infer_shape", "infer_type", "infer_storage_type",
                                    "infer_storage_type_backward", "list_arguments", "list_outputs"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_what_a_custom_operator_raises_is_an_error_of_this_library(method, error, symbolic):
    """As in MXNet, where it is an MXNetError; the user's own error is its cause."""
    op_type = _faulty(method, error)
    x = variable(mx.nd.ones((2, 2)))

    def run():
        if symbolic:
            executor = mx.sym.Custom(mx.sym.Variable("x"), op_type=op_type).simple_bind(mx.cpu(), x=(2, 2))
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((2, 2)))
            return
        differentiated(lambda: mx.nd.Custom(x, op_type=op_type))

    caught = refused(mx.MXNetError, f"'{op_type}' raised {type(error).__name__}", run)
    assert caught.__cause__ is error
    assert isinstance(caught, mx.base.errors.CustomOpError)


def test_errors_of_this_library_pass_through_custom_operators():
    op_type = _faulty("forward", mx.ShapeError("of mine", hint="none"))
    refused(mx.ShapeError, "of mine", mx.nd.Custom, mx.nd.ones((2, 2)), op_type=op_type)


def test_a_profile_shows_the_code_of_custom_operators_in_a_category_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    op_type = _faulty("infer_nothing", ValueError())
    mx.profiler.dumps(reset=True)
    mx.profiler.set_state("run")
    try:
        executor = mx.sym.Custom(mx.sym.Variable("x"), op_type="softmax_of_mine", name="own").simple_bind(mx.cpu(), x=(2, 2))
        executor.forward(is_train=True)
        executor.backward()
        mx.nd.Custom(mx.nd.ones((2, 2)), op_type=op_type)
    finally:
        mx.profiler.set_state("stop")
    found = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]
    code = {name: row["Count"] for name, row in found["Custom Operator"].items() if name.endswith("::pure_python")}
    assert code == {"softmax_of_mine::pure_python": 1, "_backward_softmax_of_mine::pure_python": 1,
                    f"{op_type}::pure_python": 1}
    assert {name.partition("::")[0] for name in found["Custom Operator"]} >= {"softmax_of_mine", "_backward_softmax_of_mine"}
    assert len(found["Custom Operator"]) > len(code)  # the operators that the code calls
    assert all(row["Total"] > 0 for row in found["Custom Operator"].values())


UNREGISTERED = """
import sparsekit as mx
net = '{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "Custom", "name": "c", "attrs": {"op_type": "absent"},'
net += ' "inputs": [[0, 0, 0]]}], "arg_nodes": [0], "heads": [[1, 0, 0]]}'
for call in (lambda: mx.nd.Custom(mx.nd.ones((1,)), op_type="absent"), lambda: mx.sym.Custom(mx.sym.var("x"), op_type="absent"),
             lambda: mx.sym.load_json(net)):
    try:
        call()
    except mx.SparsekitError as error:
        print(type(error).__name__, error.hint)
"""


def test_before_anything_is_registered_the_error_says_how_to():
    done = subprocess.run([sys.executable, "-c", UNREGISTERED], capture_output=True, text=True, timeout=400)
    hint = "register its CustomOpProp first: @mx.operator.register('absent')."
    kinds = ["UnknownNameError", "UnknownNameError", "FileFormatError"]
    assert done.stdout.splitlines() == [f"{kind} {hint}" for kind in kinds], done.stderr
