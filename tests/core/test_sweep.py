"""Every operator of the registry, in every storage type it declares: value, type, form, own memory, inference, gradient."""

import itertools
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import GradientError, ShapeError, StorageFallbackWarning
from sparsekit.core import dispatch, spec
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.core.trace import gradient_specs
from sparsekit.ndarray.functions import F
from sparsekit.storage import CSR, RowSparse, densify, stype_of
from tests.calls import refused
from tests.core.inference import decided, inferred
from tests.references import of
from tests.sweeping import CPU, OPS, STYPES, listed, stores, tried

#: Operators whose gradient is by definition not the derivative of their value: their references have it.
NOT_A_DERIVATIVE = {name for name, op in OPS.items() if of(op) is not None and of(op).gradient is not None}


#: Gradients that take what another operator left inside; that one's gradient is held to differences of its reference.
INSIDE = {"_rnn_backward"}

#: Operators that give other values each time; their tests are of their own.
RANDOM = {"Dropout", "_shuffle", *(name for name in OPS if name.startswith(("_random_", "_sample_")) and "_pdf_" not in name)} - {
    "_sample_multinomial_backward"}


def specs_of(arrays, stypes):
    return tuple(spec.Spec(array.shape, array.dtype, stype) for array, stype in zip(arrays, stypes, strict=True))


def cases():
    for name, op in sorted(OPS.items()):
        for number, (arrays, attrs) in enumerate(op.sample()):
            for stypes in tried(op, number, arrays, attrs):
                yield pytest.param(op, arrays, attrs, stypes, id=f"{name}-{number}-{'-'.join(stypes) or 'none'}")


CASES = list(cases())


def call(op, arrays, attrs, stypes):
    inputs = tuple(wrap(store, CPU) for store in stores(op, arrays, attrs, stypes))
    return inputs, invoke(op.bind(attrs), inputs, None, CPU)


#: Methods' own operators, whose dense results are views, as those of MXNet's methods are.
VIEWS = {"_getitem", "_view"}


def memory(store, reached=False):
    """The components of a store; those only whose memory users can write to, which is not that of indices."""
    if isinstance(store, np.ndarray):
        return [store]
    return [store.data] if reached else [getattr(store, name) for name in store.components]


def assert_own_memory(op, attrs, inputs, results):
    """No result shares memory that can be written to with an input or another result, but for what the operator writes."""
    written = set(op.written(attrs))
    for place, result in enumerate(results):
        others = [array for number, array in enumerate(inputs) if number not in written] + results[:place]
        for ours, theirs in ((False, True), (True, False)):
            assert not any(np.may_share_memory(part, other) for part in memory(result._store, ours)
                           for array in others for other in memory(array._store, theirs))


def has_dense_row(op, count, attrs):
    plain = {**op.bind(attrs).attrs, **({op.sparse_output: None} if op.sparse_output else {})}
    return op.find_rule(("default",) * count, plain) is not None


@pytest.fixture(autouse=True)
def forget_warnings():
    dispatch._warned.clear()
    yield
    dispatch._warned.clear()


@pytest.mark.parametrize(("op", "arrays", "attrs", "stypes"), CASES)
def test_value_type_form_and_inference(op, arrays, attrs, stypes):
    bound = op.bind(attrs)
    if op.find_rule(stypes, bound.attrs) is None and not has_dense_row(op, len(arrays), attrs):
        refused(mx.StorageTypeError, op.name, call, op, arrays, attrs, stypes)
        return
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", StorageFallbackWarning)
        inputs, result = call(op, arrays, attrs, stypes)
    results = listed(result)
    expected_specs = inferred(bound, specs_of(arrays, stypes), results)
    assert len(results) == bound.visible
    if op.name not in VIEWS or set(stypes) != {"default"}:
        assert_own_memory(op, bound.attrs, inputs, results)
        if set(stypes) == {"default"}:
            assert all(result._store.flags.c_contiguous for result in results if result.stype == "default")
    assert any(issubclass(warning.category, StorageFallbackWarning) for warning in seen) == any(
        one.fallback for one in expected_specs)
    for result, expected in zip(results, expected_specs, strict=False):
        store = result._store
        assert (stype_of(store), tuple(store.shape), store.dtype) == (expected.stype, tuple(expected.shape), expected.dtype)
        if isinstance(store, CSR):
            CSR(store.data, store.indices, store.indptr, store.shape)
        elif isinstance(store, RowSparse):
            RowSparse(store.data, store.indices, store.shape)
    if not op.mutates and op.name not in RANDOM | INSIDE:
        expected, _ = of(op)([np.asarray(array) for array in arrays], bound.attrs)
        for result, wanted in zip(results, expected, strict=False):
            assert not wanted.size or np.isfinite(wanted).any()
            size = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
            np.testing.assert_allclose(densify(result._store).astype(np.float64), wanted, rtol=2e-5, atol=1e-6 * size)


def differentiable():
    for case in CASES:
        op, arrays, attrs, stypes = case.values
        fits = op.find_rule(stypes, op.bind(attrs).attrs) is not None
        if op.gradient_function and fits and arrays and op.name not in NOT_A_DERIVATIVE | RANDOM:
            yield case


@pytest.mark.parametrize(("op", "arrays", "attrs", "stypes"), list(differentiable()))
def test_gradient_by_projection(op, arrays, attrs, stypes):
    """The directional derivative of the projected reference, by central differences in float64, where values are stored."""
    rng = np.random.default_rng(5)
    arrays = [array.astype(np.float64) for array in arrays]
    if op.name == "Cast":
        attrs = {"dtype": "float64"}
    given = stores(op, arrays, attrs, stypes)
    places = [place for place in range(len(arrays)) if place not in op.nondifferentiable]
    steps = [np.where(array != 0, rng.standard_normal(array.shape), 0) if place in places else np.zeros(array.shape)
             for place, array in enumerate(arrays)]
    inputs = tuple(wrap(store, CPU) for store in given)
    for place in places:
        inputs[place].attach_grad(stype="default")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        with mx.autograd.record():
            result = invoke(op.bind(attrs), inputs)
        heads = [result for result in listed(result) if result.dtype.kind == "f"]
        along = [np.where(np.isfinite(head.asnumpy()), rng.standard_normal(head.shape), 0) for head in heads]
        try:
            mx.autograd.backward(heads, [wrap(weights, CPU) for weights in along])
        except GradientError as error:
            pytest.fail(f"{error}")
        expected = 0.0
        size = 1e-6
        for sign in (1, -1):
            moved = [array + sign * size * step for array, step in zip(arrays, steps, strict=True)]
            made, kinds = of(op)(moved, op.bind(attrs).attrs, training=True)
            values = [value for value, kind in zip(made, kinds, strict=False) if kind.kind == "f"]
            for value, weights in zip(values, along, strict=False):
                expected += sign * float((value[weights != 0] * weights[weights != 0]).sum()) / (2 * size)
    got = 0.0
    for place in places:
        moving = steps[place] != 0
        got += float((inputs[place].grad.asnumpy()[moving] * steps[place][moving]).sum())
    assert got == pytest.approx(expected, rel=2e-4, abs=2e-5)


@pytest.mark.parametrize(("op", "arrays", "attrs", "stypes"), [
    case for case in CASES if case.values[0].name in NOT_A_DERIVATIVE - RANDOM])
def test_gradients_that_are_no_derivatives_are_their_definitions(op, arrays, attrs, stypes):
    if op.find_rule(stypes, op.bind(attrs).attrs) is None:
        return
    inputs = tuple(wrap(store, CPU) for store in stores(op, arrays, attrs, stypes))
    places = [place for place in range(len(arrays)) if place not in op.nondifferentiable]
    for place in places:
        inputs[place].attach_grad(stype="default")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        with mx.autograd.record():
            result = listed(invoke(op.bind(attrs), inputs))[0]
        head = np.random.default_rng(6).standard_normal(result.shape).astype(result.dtype)
        result.backward(wrap(head, CPU))
    wide = [np.asarray(array, np.float64) for array in arrays]
    expected = of(op).gradient(head.astype(np.float64), *wide, **op.bind(attrs).attrs)
    for place in places:
        wanted = np.zeros(arrays[place].shape) if expected[place] is None else expected[place]
        np.testing.assert_allclose(inputs[place].grad.asnumpy(), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "arrays", "attrs", "stypes"), list(differentiable()))
def test_inferred_gradients_are_those_that_arrive(op, arrays, attrs, stypes):
    """Running the gradient rule abstractly gives the shape and storage type that the backward pass gives."""
    inputs = tuple(wrap(store, CPU) for store in stores(op, arrays, attrs, stypes))
    places = [place for place in range(len(arrays)) if place not in op.nondifferentiable]
    for place in places:
        inputs[place].attach_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        with mx.autograd.record():
            results = [result for result in listed(invoke(op.bind(attrs), inputs)) if result.dtype.kind == "f"]
        if not results:
            return  # integers only, to which no gradient comes
        heads = [wrap(np.ones(result.shape, result.dtype), CPU) for result in results]
        got = mx.autograd.grad(results, [inputs[place] for place in places], heads)
    if not decided(op.bind(attrs), arrays):
        refused(ShapeError, "depends on values", lambda: gradient_specs(op.bind(attrs), specs_of(arrays, stypes), F))
        return
    specs, _ = gradient_specs(op.bind(attrs), specs_of(arrays, stypes), F)
    assert [(specs[place].stype, tuple(specs[place].shape)) for place in places] == [
        (gradient.stype, gradient.shape) for gradient in got]


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_no_row_is_hidden_by_an_earlier_one(op):
    """A row behind one that takes the same storage types under the same conditions, or under none, never runs."""
    for earlier, later in itertools.combinations(op.rules, 2):
        needs = {name: repr(value) for name, value in later.when.items()}
        if all(needs.get(name) == repr(value) for name, value in earlier.when.items()):
            counts = range(1, len(later.inputs) + 2)
            taken = [stypes for count in counts for stypes in itertools.product(STYPES, repeat=count) if later.takes(stypes)]
            assert not all(map(earlier.takes, taken)), f"{op.name}: {later!r} is behind {earlier!r}"
