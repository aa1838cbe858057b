"""Gradients of gradients of every operator, by projection; where there is no rule, an error that names the operator."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.core.op import registry
from tests.calls import differentiated, variable

OPS = {op.name: op for op in registry.values()}
CPU = mx.cpu()

#: Operators whose gradient is by definition not the derivative of their value, or whose values change.
LEFT_OUT = {
    "BlockGrad", "_contrib_round_ste", "_contrib_sign_ste", "Dropout", "_shuffle", "IdentityAttachKLSparseReg",
    *(name for name, op in OPS.items() if op.own_gradient),
}

#: Operators whose gradient has none of its own; the error says so.
ONCE = {"BatchNorm", "CTCLoss", "GroupNorm", "InstanceNorm", "LayerNorm", "RNN", "_rnn", "_others"}


#: Operators of arrays that have no gradient, besides those that draw or write to their inputs.
NO_GRADIENT = {
    "_contrib_allclose", "_contrib_getnnz", "_contrib_index_array", "_dot_left_gradient", "_dot_right_gradient", "_histogram",
    "_make_loss_backward", "_normalize_backward", "_others_along", "_random_pdf_dirichlet_backward",
    "_random_pdf_exponential_backward", "_random_pdf_gamma_backward", "_random_pdf_generalized_negative_binomial_backward",
    "_random_pdf_negative_binomial_backward", "_random_pdf_normal_backward", "_random_pdf_poisson_backward",
    "_random_pdf_uniform_backward", "_rnn_backward", "_sample_multinomial_backward", "_shuffle_backward",
    "_softmax_output_backward", "_svm_output_backward", "all_finite", "multi_all_finite", "multi_lars", "multi_sum_sq",
    "ravel_multi_index", "unravel_index",
}


def test_which_operators_have_no_gradient():
    """The sweeps over gradients leave out what has none, so that a gradient that is lost would be missed nowhere else."""
    assert {name for name, op in OPS.items() if op.gradient_function is None and not op.mutates and not op.random
            and any(arrays for arrays, _ in op.sample())} == NO_GRADIENT


def cases():
    for name, op in sorted(OPS.items()):
        random = name.startswith(("_random_", "_sample_")) and "_pdf_" not in name
        if op.gradient_function is None or name in LEFT_OUT or random or (op.mutates and name != "BatchNorm"):
            continue
        for number, (arrays, attrs) in enumerate(op.sample()[:2]):
            places = [place for place in range(len(arrays)) if place not in op.nondifferentiable]
            attrs = {**attrs, **({op.sparse_output: None} if op.name == "dot" else {})}
            if places:
                yield pytest.param(op, [array.astype(np.float64) for array in arrays], attrs, places, id=f"{name}-{number}")


def outputs(op, inputs, attrs):
    made = invoke(op.bind({"dtype": "float64"} if op.name == "Cast" else attrs), inputs)
    return [array for array in (made if isinstance(made, list) else [made]) if array.dtype.kind == "f"]


def gradients(op, attrs, values, places, weights, create=False):
    """The variables, and the gradients at them of the outputs times weights."""
    inputs = tuple(wrap(value.copy(), CPU) for value in values)
    for place in places:
        inputs[place].attach_grad()
    with mx.autograd.record():
        heads = outputs(op, inputs, attrs)
        found = mx.autograd.grad(heads, [inputs[place] for place in places],
                                 [mx.nd.array(weight, dtype="float64") for weight in weights], create_graph=create)
    return [inputs[place] for place in places], found


def ignores_what_arrives(op):
    """Whether an operator's gradients are the same, and not zero, whatever arrives from above."""
    arrays, attrs = op.sample()[0]
    places = [place for place in range(len(arrays)) if place not in op.nondifferentiable]
    values = [array.astype(np.float64) for array in arrays]
    with mx.autograd.train_mode():
        shapes = [made.shape for made in outputs(op, tuple(wrap(value.copy(), CPU) for value in values), attrs)]
    found = []
    for times in (1.0, 3.0) if shapes and places else ():
        weights = [np.full(shape, times) for shape in shapes]
        found.append([one.asnumpy() for one in gradients(op, attrs, values, places, weights)[1]])
    return bool(found) and any((np.isfinite(one) & (one != 0)).any() for one in found[0]) and all(map(np.array_equal, *found))


def test_operators_whose_gradient_ignores_what_arrives_say_so():
    asked = [op for op in OPS.values() if op.gradient_function and not op.mutates and not op.random and op.sample()[0][0]]
    assert {op.name for op in asked if ignores_what_arrives(op)} == {op.name for op in OPS.values() if op.own_gradient}


def second(op, attrs, arrays, places, weights, along):
    """The gradients, and how their projection changes with the variables: zeros where it does not."""
    variables, found = gradients(op, attrs, arrays, places, weights, create=True)
    with mx.autograd.record():
        parts = [(one * mx.nd.array(direction, dtype="float64")).sum()
                 for one, direction in zip(found, along, strict=True) if one._entry is not None]
    if parts:
        mx.autograd.backward(parts)
    return found, [variable.grad.asnumpy() for variable in variables]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of this test's own arithmetic where functions are singular
@pytest.mark.parametrize(("op", "arrays", "attrs", "places"), list(cases()))
def test_gradients_of_gradients_by_projection(op, arrays, attrs, places):
    random = np.random.default_rng(3)
    with mx.autograd.train_mode():
        made = outputs(op, tuple(wrap(array.copy(), CPU) for array in arrays), attrs)
    if not made:
        return  # integers only, to which no gradient comes
    weights = [np.where(np.isfinite(array.asnumpy()), random.standard_normal(array.shape), 0) for array in made]
    along = [random.standard_normal(arrays[place].shape) for place in places]
    if op.name in ONCE or "_pdf_" in op.name:
        with pytest.raises(mx.GradientError, match="has no gradient") as caught:
            second(op, attrs, arrays, places, weights, along)
        assert "Hint:" in str(caught.value)
        return
    found, curved = second(op, attrs, arrays, places, weights, along)
    if not all(np.isfinite(one.asnumpy()).all() for one in found):
        return
    step = [np.where(array != 0, random.standard_normal(array.shape), 0) for array in arrays]
    got = sum(float(np.nansum(one * step[place])) for one, place in zip(curved, places, strict=True))
    sides = []
    for sign in (1, -1):
        moved = [array + sign * 1e-5 * move if place in places else array
                 for place, (array, move) in enumerate(zip(arrays, step, strict=True))]
        sides.append(gradients(op, attrs, moved, places, weights)[1])
    expected = sum(float(np.nansum((after.asnumpy() - before.asnumpy()) * direction)) / 2e-5
                   for after, before, direction in zip(*sides, along, strict=True))
    assert got == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_second_derivatives_of_a_product_are_right_at_zeros():
    x = variable(mx.nd.array([[2.0, 3, 4], [0, 5, 6], [0, 0, 7]]))
    differentiated(lambda: mx.autograd.grad(x.prod(axis=1), [x], create_graph=True)[0])
    values = x.asnumpy()
    expected = [[sum(np.prod(np.delete(row, [one, other])) for other in range(3) if other != one) for one in range(3)]
                for row in values]
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


@pytest.mark.parametrize("function", [
    mx.nd.radians, mx.nd.degrees, mx.nd.identity, mx.nd.floor, mx.nd.sum, lambda x: mx.nd.Dropout(x, p=0.5), lambda x: 3 * x,
    lambda x: x.reshape((2, 2)), lambda x: mx.nd.dot(mx.nd.ones((1, 4)), x.reshape((4, 1)))])
def test_second_derivatives_of_linear_functions_are_zeros(function):
    x = variable(mx.nd.array([1.0, 2, 3, 4]))
    with mx.autograd.record():
        first = mx.autograd.grad(function(x), x, create_graph=True)[0]
        heads = (first * first).sum()
    x.grad[:] = 7
    heads.backward()
    assert x.grad.asnumpy().tolist() == [0] * 4


def test_a_constant_gradient_leaves_the_other_gradients_as_they_are():
    x, y = mx.nd.array([1.0, 2]), mx.nd.array([3.0, 4])
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        of_x, of_y = mx.autograd.grad((5 * x + y * y * y).sum(), [x, y], create_graph=True)
        heads = (of_x * of_y).sum()
    heads.backward()
    assert x.grad.asnumpy().tolist() == [0, 0]
    assert y.grad.asnumpy().tolist() == [5 * 6 * 3, 5 * 6 * 4]


def test_second_derivatives_of_rows_are_no_rows():
    weight = variable(mx.nd.ones((5, 3)), stype="row_sparse")
    with mx.autograd.record():
        rows = mx.nd.Embedding(mx.nd.array([1, 2]), weight, input_dim=5, output_dim=3, sparse_grad=True)
        first = mx.autograd.grad(rows, weight, create_graph=True)[0]
        heads = (first * first).sum()
    heads.backward()
    assert first.stype == weight.grad.stype == "row_sparse"
    assert weight.grad.asnumpy().tolist() == [[0] * 3] * 5
