"""Symbols run as the programs of hybridized blocks: what is lowered when, and that results are those of the tape, to the bit."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import GradientError, SparsekitError
from sparsekit.core import hooks, infer
from sparsekit.core.dispatch import invoke
from sparsekit.core.op import Op
from sparsekit.symbol.node import SymbolNode
from sparsekit.symbol.symbol import Symbol
from tests.calls import differentiated, refused, variable

RNG = np.random.default_rng(5)


def node_of(op, name, *inputs):
    """A symbol of an operator that the registry does not have."""
    return Symbol([(SymbolNode(name, op.bind({}), [entry for one in inputs for entry in one._entries], name), 0)])


def programs(executor):
    return [program for segment in executor._program._segments for program in segment.lowered.values()]


def sparse(rows, columns, stored):
    dense = np.zeros(rows * columns, np.float32)
    dense[RNG.permutation(dense.size)[:stored]] = RNG.normal(size=stored)
    return mx.nd.array(dense.reshape(rows, columns)).tostype("csr")


def test_one_program_serves_batches_that_store_other_numbers_of_values():
    product = mx.sym.dot(mx.sym.Variable("data", stype="csr"), mx.sym.Variable("weight", stype="row_sparse"))
    executor = product.simple_bind(mx.cpu(), data=(4, 9), weight=(9, 2))
    weight = RNG.normal(size=(9, 2)).astype(np.float32)
    executor.arg_dict["weight"][:] = mx.nd.array(weight).tostype("row_sparse")
    for stored in (0, 3, 20, 36):
        batch = sparse(4, 9, stored)
        made = executor.forward(is_train=True, data=batch)[0]
        np.testing.assert_allclose(made.asnumpy(), batch.asnumpy() @ weight, rtol=1e-5)
        executor.backward()
        gradient = executor.grad_dict["weight"]
        assert gradient.stype == "row_sparse"
        np.testing.assert_allclose(gradient.asnumpy(), batch.asnumpy().T @ np.ones((4, 2)), rtol=1e-5)
    assert len(programs(executor)) == 1
    executor.forward(is_train=False)
    assert len(programs(executor)) == 2


def test_training_passes_work_in_the_same_memory():
    x = mx.sym.Variable("x")
    executor = mx.sym.sum(mx.sym.tanh(mx.sym.square(x))).simple_bind(mx.cpu(), x=(300, 100))
    kept = []
    for value in (1, 2, 0):
        executor.forward(is_train=True, x=np.full((300, 100), value, np.float32))
        for _ in range(2):
            executor.backward()
        slope = 2 * value * (1 - np.tanh(np.float64(value) ** 2) ** 2)
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), slope, rtol=1e-3, atol=1e-6)
        training = programs(executor)[0]
        executor.forward(is_train=False)
        kept.append(list(training.workspaces))
    assert len(kept[0]) == 1
    assert kept[0][0].memory or kept[0][0].tables  # whose memory is their own
    assert kept == [kept[0]] * 3


def product_of_uses(x, y, tanh, inner):
    """``x`` is used twice before the inner part, by it, and twice afterwards."""
    before = tanh(x * y) + x * 0.3
    made = inner(before)
    return tanh(made * x) + x * y * made


def uses_inside(x, y, tanh, made):
    return tanh(made * x) * x + x * y


def on_the_tape(values, inner):
    x, y = (mx.nd.array(value) for value in values)
    x.attach_grad()
    made = differentiated(lambda: product_of_uses(x, y, mx.nd.tanh, lambda made: inner(x, y, made)))
    return made.asnumpy(), x.grad.asnumpy()


@pytest.mark.parametrize("way", ["plain", "cond", "while_loop", "foreach"])
def test_gradients_that_meet_are_summed_in_the_order_of_the_operators(way):
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    inside = {
        "plain": (lambda x, y, made: uses_inside(x, y, mx.nd.tanh, made), lambda made: uses_inside(x, y, mx.sym.tanh, made)),
        "cond": (lambda x, y, made: uses_inside(x, y, mx.nd.tanh, made),
                 lambda made: mx.sym.contrib.cond(mx.sym.sum(y) < 1e9, lambda: uses_inside(x, y, mx.sym.tanh, made),
                                                  lambda: made * 2)),
        "while_loop": (
            lambda x, y, made: uses_inside(x, y, mx.nd.tanh, uses_inside(x, y, mx.nd.tanh, made)),
            lambda made: mx.sym.contrib.while_loop(
                lambda count, value: count < 2, lambda count, value: ([], (count + 1, uses_inside(x, y, mx.sym.tanh, value))),
                [mx.sym.zeros((1,)), made], max_iterations=3)[1][1]),
        "foreach": (
            lambda x, y, made: mx.nd.contrib.foreach(
                lambda item, state: ([], uses_inside(x, y, mx.nd.tanh, state) * item), mx.nd.ones((3, 7, 5)), made)[1],
            lambda made: mx.sym.contrib.foreach(
                lambda item, state: ([], uses_inside(x, y, mx.sym.tanh, state) * item), mx.sym.ones((3, 7, 5)), made)[1]),
    }[way]
    values = [RNG.normal(size=(7, 5)).astype(np.float32) for _ in range(2)]
    executor = product_of_uses(x, y, mx.sym.tanh, inside[1]).simple_bind(mx.cpu(), x=(7, 5), y=(7, 5))
    for name, value in zip("xy", values, strict=True):
        executor.arg_dict[name][:] = value
    wanted = on_the_tape(values, inside[0])
    for _ in range(2):
        made = executor.forward(is_train=True)[0].asnumpy()
        executor.backward()
        assert np.array_equal(made, wanted[0])
        assert np.array_equal(executor.grad_dict["x"].asnumpy(), wanted[1])


def test_a_variable_that_is_an_output_adds_its_gradient_first():
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    executor = mx.sym.Group([product_of_uses(x, y, mx.sym.tanh, lambda made: made), x]).simple_bind(mx.cpu(), x=(7, 5), y=(7, 5))
    values = [RNG.normal(size=(7, 5)).astype(np.float32) for _ in range(3)]
    for name, value in zip("xy", values, strict=False):
        executor.arg_dict[name][:] = value
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((7, 5)), mx.nd.array(values[2])])
    left, right = (mx.nd.array(value) for value in values[:2])
    left.attach_grad()
    with mx.autograd.record():
        made = product_of_uses(left, right, mx.nd.tanh, lambda made: made)
    mx.autograd.backward([made, left], [mx.nd.ones((7, 5)), mx.nd.array(values[2])])
    assert np.array_equal(executor.grad_dict["x"].asnumpy(), left.grad.asnumpy())


def test_an_operator_whose_shape_depends_on_values_runs_between_programs():
    positive = Op("_positive", "data", shape=lambda shapes, attrs: None, sample=tuple, doc="Those above 0.", listed=False)
    positive.forward("default -> default")(lambda k, x, attrs: x[x > 0])
    spread = Op("_spread_positive", "g data", shape=lambda shapes, attrs: shapes[1], sample=tuple, doc="Its gradient.",
                listed=False)

    @spread.forward("default, default -> default")
    def _(k, g, x, attrs):
        made = k.xp.zeros_like(x)
        made[x > 0] = g
        return made

    positive.gradient(lambda F, g, data, _out, attrs, want: invoke(spread.bind({}), (g, data)))
    x = mx.sym.Variable("x")
    shifted = x * 2
    executor = mx.sym.square(node_of(positive, "positive", shifted)).bind(
        mx.cpu(), [mx.nd.zeros((4,))], [mx.nd.zeros((4,))])
    for values in ([1, -2, 3, 0], [-1, -1, -1, 5], [1, 2, 3, 4]):
        made = executor.forward(is_train=True, x=np.array(values, np.float32))[0]
        executor.backward()
        assert made.asnumpy().tolist() == [4 * value ** 2 for value in values if value > 0]
        assert executor.grad_arrays[0].asnumpy().tolist() == [8 * max(value, 0) for value in values]


def test_an_operator_without_a_gradient_fails_when_one_is_asked_for():
    data = mx.sym.Variable("data")
    executor = mx.sym.Group([data * 2, mx.sym.contrib.getnnz(data)]).bind(
        mx.cpu(), [sparse(3, 4, 5)], [mx.nd.zeros((3, 4))])
    for _ in range(2):
        assert executor.forward(is_train=True)[1].asnumpy() == 5
        refused(GradientError, "getnnz", executor.backward)


def test_a_gradient_rule_that_reads_values_is_asked_at_every_backward_pass():
    clipped = Op("_scaled_by_largest", "data", shape=infer.unchanged, sample=tuple, doc="The data.", listed=False)
    clipped.forward("default -> default")(lambda k, x, attrs: x * 1)
    clipped.gradient(lambda F, g, data, _out, attrs, want: g * float(data.asnumpy().max()))
    executor = node_of(clipped, "scaled", mx.sym.Variable("x")).bind(mx.cpu(), [mx.nd.zeros((3,))], [mx.nd.zeros((3,))])
    for largest in (2, 7):
        executor.forward(is_train=True, x=np.array([1, largest, 0], np.float32))
        executor.backward()
        assert executor.grad_arrays[0].asnumpy().tolist() == [largest] * 3


def test_what_a_monitor_was_shown_stays_as_it_was():
    x = mx.sym.Variable("x")
    executor = mx.sym.sqrt(mx.sym.square(x, name="squared"), name="root").simple_bind(mx.cpu(), x=(300, 100))
    shown = []
    executor.set_monitor_callback(lambda name, array: shown.append((name, array)), True)
    for value in (2, 3):
        executor.forward(is_train=False, x=np.full((300, 100), value, np.float32))
    assert [name for name, _ in shown] == ["x", "squared_data", "squared_output", "root_data", "root_output"] * 2
    results = [array.asnumpy()[7, 7] for name, array in shown if name not in ("x", "squared_data")]  # which are the argument
    assert results == [4, 4, 2, 9, 9, 3]


def test_a_sparse_gradient_at_the_result_of_a_hybridized_block_stays_sparse():
    data, head = sparse(3, 4, 5), mx.nd.array([[1, 2], [0, 0], [3, 4]]).tostype("row_sparse")
    gradients = []
    for hybridize in (False, True):
        block = mx.gluon.nn.HybridLambda(lambda F, x: F.negative(x))
        block.hybridize(hybridize)
        x = variable(mx.nd.array(RNG.normal(size=(3, 2))).tostype("row_sparse"), stype="row_sparse")
        with mx.autograd.record():
            made = block(x)
        before = len(hooks.ledger)
        made.backward(head)
        assert len(hooks.ledger) == before
        gradients.append(x.grad)
    assert [gradient.stype for gradient in gradients] == ["row_sparse"] * 2
    assert np.array_equal(gradients[0].asnumpy(), gradients[1].asnumpy())
    assert data.stype == "csr"


def test_arrays_of_one_symbol_live_on_one_context():
    left, right = mx.sym.Variable("left"), mx.sym.Variable("right")
    block = mx.gluon.SymbolBlock(left + right, [left, right])
    refused(SparsekitError, "different contexts", block, mx.nd.ones((2,)), mx.nd.ones((2,), ctx=mx.cpu(1)))
