"""Operators held to what numpy and scipy compute: rows, element types, mixed types, shapes that broadcast, distributions."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.stats as stats

import sparsekit as mx
from sparsekit.base.errors import DTypeError, StorageFallbackWarning
from sparsekit.core import infer, spec
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.core.op import Op
from sparsekit.ops import samples
from sparsekit.storage import stype_of
from tests.core.inference import inferred
from tests.references import FLOATS, NUMBERS, of
from tests.sweeping import CPU, OPS, combinations, compiled_for, listed, stores

#: Operators of what another one left: the gradient of that one, held to differences of its reference, is theirs.
INSIDE = {"_rnn_backward": "RNN"}

#: Units of the last place that several roundings come to, relative to the largest magnitude of a result.
CLOSE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-8}


def unseen(reference, name):
    """Whether values are drawn at random, so that only shapes and types can be compared."""
    return reference.distribution is not None or name in {
        "_sample_multinomial", "_shuffle", "_sample_unique_zipfian", "sgld_update", "Dropout"}


def missing(operators):
    """Names of the operators without a reference."""
    return sorted(op.name for op in operators if of(op) is None and op.name not in INSIDE)


def test_every_operator_has_a_reference():
    assert not missing(OPS.values()), (
        f"{', '.join(missing(OPS.values()))}: write what they compute with numpy or scipy alone in tests/references, "
        "or give it to the operator as reference=.")


def test_an_operator_brings_its_own_reference_or_is_missed():
    declared = {"shape": infer.unchanged, "sample": samples.one(), "doc": "Twice.", "listed": False}
    assert missing([Op("_twice", "data", **declared)]) == ["_twice"]
    own = Op("_twice", "data", reference=lambda x: 2 * x, **declared)
    assert missing([own]) == []
    own.forward("default -> default")(lambda k, x, attrs: 3 * x)
    with pytest.raises(AssertionError):
        compare(own, [np.ones((2, 2), np.float32)], {}, ("default",))


def fitting(op, arrays, attrs):
    """The combinations of storage types that a row of the operator takes."""
    return [stypes for stypes in combinations(arrays) if op.find_rule(stypes, attrs) is not None]


def rests(op, attrs, arrays, stypes):
    """The rows that a lazy step leaves alone: those that a row_sparse gradient does not store."""
    if op.name.endswith("lamb_update_phase1"):  # the step is row_sparse, whatever its states are
        stypes = [stypes[0], stypes[1], *stypes[:1] * (len(stypes) - 2)]
    states = [stype for place, stype in enumerate(stypes) if place in tuple(op.written(attrs))]
    lazy = attrs.get("lazy_update", "num_weights" in attrs) and "row_sparse" in stypes[1:2] and len(set(states)) <= 1
    return ~arrays[1].reshape(len(arrays[1]), -1).any(axis=1) if lazy else None


def compare(op, arrays, attrs, stypes):
    """Run the operator and hold values, shapes, element types and storage types to the reference and to inference.

    Gives False where the operator refuses the element types, as inference must then, too.
    """
    reference, bound = of(op), op.bind(attrs)
    specs = tuple(spec.Spec(array.shape, array.dtype, stype) for array, stype in zip(arrays, stypes, strict=True))
    inputs = tuple(wrap(store, CPU) for store in stores(op, arrays, attrs, stypes))
    given = [f"{array.dtype} {array.shape} {stype}" for array, stype in zip(arrays, stypes, strict=True)]
    told = f"{op.name} of {', '.join(given)}, {attrs}"
    try:
        results = listed(invoke(bound, inputs, None, CPU))
    except DTypeError as error:
        wide = all(array.dtype.itemsize > 1 for array in arrays)  # bytes do not hold the numbers of all samples
        if ("cannot be computed" in str(error) and wide) or all(array.dtype == np.float32 for array in arrays):
            pytest.fail(f"{told}: {error}")  # it is to be refused by name, not by numpy
        return False
    expected_specs = inferred(bound, specs, results)
    expected, kinds = reference([np.array(array) for array in arrays], bound.attrs)
    written = tuple(op.written(bound.attrs)) if reference.writes else ()
    resting = rests(op, bound.attrs, arrays, stypes) if reference.writes else None
    assert len(expected) == len(results) + len(written) or not reference.writes, told
    for number, result in enumerate([*results, *(inputs[place] for place in written)]):
        made, wanted = result.asnumpy(), expected[number]
        if number < len(results):
            assert made.dtype == kinds[number], f"{told}: {made.dtype}, not {kinds[number]}"
            announced = expected_specs[number]
            assert (stype_of(result._store), tuple(result.shape), made.dtype) == (
                announced.stype, tuple(announced.shape), announced.dtype), told
        assert made.shape == wanted.shape, f"{told}: {made.shape}, not {wanted.shape}"
        if unseen(reference, op.name):
            continue
        if resting is not None and resting.any() and made.shape[:1] == resting.shape:
            before = arrays[written[number - len(results)]] if number >= len(results) else (
                arrays[0] if 0 in written else np.zeros(made.shape))
            wanted = np.where(resting.reshape(-1, *[1] * (made.ndim - 1)), before, wanted)
        least = min((array.dtype.name for array in arrays), key=lambda kind: -CLOSE.get(kind, 0), default="float64")
        assert_close(made, wanted, reference.exact, told, max(CLOSE.get(least, 0), CLOSE.get(made.dtype.name, 0)))
    return True


def assert_close(made, wanted, exact, told, close):
    """Equal to rounding; integers are equal where the reference is a number that their type holds."""
    if made.dtype.kind == "f":
        with np.errstate(over="ignore"):
            rounded = wanted.astype(made.dtype).astype(np.float64)
        size = np.abs(rounded[np.isfinite(rounded)]).max(initial=0)
        np.testing.assert_allclose(made.astype(np.float64), rounded, rtol=close, atol=close * max(1, size), err_msg=told)
        return
    held = np.isfinite(np.asarray(wanted, np.float64))
    if made.dtype.kind in "iu" and not exact:
        held &= (wanted >= np.iinfo(made.dtype).min) & (wanted <= np.iinfo(made.dtype).max)
    np.testing.assert_array_equal(made[held], np.asarray(wanted)[held].astype(made.dtype), err_msg=told)


def typed(op, arrays, kinds):
    """A sample's arrays in these element types: values times 3 where integers are wanted, positions as they are."""
    made = []
    for place, (array, kind) in enumerate(zip(arrays, kinds, strict=True)):
        array = np.asarray(array)
        if kind not in FLOATS and array.dtype.kind == "f" and place not in op.nondifferentiable:
            array = np.trunc(array * 3)
        if kind == "uint8":
            array = np.maximum(array, 0) if place in op.nondifferentiable else np.abs(array)
        made.append(array.astype(kind))
    return made


#: Pairs of element types that sparse rows are tried with; they get their inputs in the joint type, by one function for all.
FEW = (("float32", "float64"), ("int32", "float32"), ("float32", "int8"), ("int64", "float16"))


def mixtures(op, count, stypes):
    """Element types for the inputs: each alone, and every pair where the values of several inputs meet."""
    dense = set(stypes) == {"default"}
    for kind in of(op).types:
        if compiled_for(op.name, kind, stypes):
            yield (kind,) * count
    if op.joined is not None and count > 1:
        places = range(count)[op.joined]
        for left, right in itertools.permutations(NUMBERS, 2) if dense else FEW:
            yield tuple(left if place not in places or place == places[0] else right for place in range(count))


def cases(op):
    for arrays, attrs in op.sample():
        for stypes in fitting(op, arrays, op.bind(attrs).attrs):
            yield arrays, attrs, stypes


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        warnings.simplefilter("ignore", mx.base.errors.IndexWarning)
        yield


HELD = [name for name in sorted(OPS) if name not in INSIDE]


@pytest.mark.parametrize("name", HELD)
def test_every_row_in_every_element_type(name):
    op = OPS[name]
    ran = set()
    for arrays, attrs, stypes in cases(op):
        assert compare(op, arrays, attrs, stypes)
        if op.mutates or not arrays:
            continue  # the types of steps are their samples'; another is refused
        for kinds in mixtures(op, len(arrays), stypes):
            if compare(op, typed(op, arrays, kinds), attrs, stypes):
                ran.add(kinds[0])
    assert not ran or "float64" in ran or name in {"Embedding"}, f"{name} takes {ran} only"


#: Shapes of two arrays that broadcast.
PATTERNS = [((4, 5), (4, 5)), ((4, 5), (1, 5)), ((4, 5), (4, 1)), ((4, 5), (1, 1)), ((4, 1), (1, 5)), ((1, 5), (4, 5)),
            ((4, 5), (5,)), ((5,), (4, 5)), ((3, 4, 5), (4, 5)), ((4, 5), (3, 4, 5)), ((3, 1, 5), (1, 4, 1)), ((1,), (4, 5)),
            ((0, 5), (1, 5)), ((4, 5), (1,))]
BROADCASTING = [name for name in HELD if OPS[name].shape is infer.broadcast]


@pytest.mark.parametrize("name", BROADCASTING)
@pytest.mark.parametrize("shapes", PATTERNS, ids=str)
def test_every_row_of_shapes_that_broadcast(name, shapes):
    rng = np.random.default_rng(3)
    arrays = [np.round(rng.uniform(0.5, 3, shape), 1).astype(np.float32) for shape in shapes]
    arrays = [np.where(rng.random(array.shape) < 0.3, 0, array).astype(np.float32) for array in arrays]
    if name in ("broadcast_power", "broadcast_div", "broadcast_mod"):
        arrays[1 if name != "broadcast_power" else 0] += np.float32(0.5)
    for stypes in combinations(arrays):
        assert compare(OPS[name], arrays, {}, stypes)


# distributions, by moments and by Kolmogorov and Smirnov's test with a seed

#: Parameters that are neither the defaults nor degenerate.
DRAWN = {
    "uniform": (-1.5, 2.5), "normal": (0.75, 1.5), "gamma": (2.5, 0.75), "exponential": (2.5,), "poisson": (3.5,),
    "negative_binomial": (3, 0.4), "generalized_negative_binomial": (2.5, 0.6), "randint": (-3, 9),
}
COUNT = 20_000


def held_to(values, distribution):
    """Fail if values are improbable for a distribution; of counts, their shares are compared."""
    values = values.astype(np.float64).reshape(-1)
    error = distribution.std() / np.sqrt(values.size)
    assert abs(values.mean() - distribution.mean()) < 5 * error
    assert values.var() == pytest.approx(distribution.var(), rel=0.1)
    if isinstance(distribution.dist, stats.rv_discrete):
        assert np.array_equal(values, np.round(values))
        for count in range(int(distribution.ppf(0.01)), int(distribution.ppf(0.99)) + 1):
            share = distribution.pmf(count)
            assert abs((values == count).mean() - share) < 5 * np.sqrt(share * (1 - share) / values.size)
    else:
        assert stats.kstest(values, distribution.cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", [name for name in HELD if of(OPS[name]) and of(OPS[name]).distribution])
def test_what_is_drawn_has_the_distribution(name):
    op, distribution = OPS[name], of(OPS[name]).distribution
    family = name.removeprefix("_random_").removeprefix("_sample_").removesuffix("_like")
    parameters = DRAWN[family]
    mx.random.seed(11)
    if name.startswith("_sample_"):
        second = (5, 0.7) if family == "negative_binomial" else tuple(1.5 * value for value in parameters)
        arrays = [np.array(pair, np.float32) for pair in zip(parameters, second, strict=True)]
        drawn = drawn_by(op, arrays, shape=(COUNT,))
        for row, given in zip(drawn, (parameters, second), strict=True):
            held_to(row, distribution(*given))
        return
    named = dict(zip(op.attrs, parameters, strict=False))
    held_to(drawn_by(op, [np.zeros(COUNT, np.float32)], **named) if name.endswith("_like")
            else drawn_by(op, [], **named, shape=(COUNT,)), distribution(*parameters))


def drawn_by(op, arrays, **attrs):
    """The result, or a list of them, in training."""
    with mx.autograd.train_mode():
        made = listed(invoke(op.bind(attrs), tuple(wrap(array, CPU) for array in arrays), None, CPU))
    made = [one.asnumpy() for one in made]
    return made if len(made) > 1 else made[0]


def test_places_are_drawn_with_their_probabilities():
    mx.random.seed(12)
    shares = np.array([[0.2, 0.5, 0, 0.3], [0, 0, 1, 0]], np.float32)
    places, logarithms = drawn_by(OPS["_sample_multinomial"], [shares], shape=(COUNT,), get_prob=True)
    for row, drawn, logs in zip(shares, places, logarithms, strict=True):
        for place, share in enumerate(row):
            assert abs((drawn == place).mean() - share) <= 5 * np.sqrt(share * (1 - share) / COUNT)
        np.testing.assert_allclose(logs, np.log(row[drawn]), rtol=1e-6)


def test_orders_are_drawn_evenly():
    mx.random.seed(13)
    seen = [tuple(drawn_by(OPS["_shuffle"], [np.arange(3, dtype=np.float32)]).astype(int)) for _ in range(1200)]
    counts = [seen.count(order) for order in itertools.permutations(range(3))]
    assert sum(counts) == 1200
    assert stats.chisquare(counts).pvalue > 1e-4


def test_distinct_classes_are_drawn_by_the_logarithm():
    mx.random.seed(14)
    classes, trials = drawn_by(OPS["_sample_unique_zipfian"], [], range_max=9, shape=(COUNT, 3))
    assert all(len(set(row)) == 3 for row in classes[:500])
    assert (trials >= 3).all()
    for number in range(9):
        share = np.log((number + 2) / (number + 1)) / np.log(10)
        assert abs((classes[:, 0] == number).mean() - share) < 5 * np.sqrt(share * (1 - share) / COUNT)


def test_the_noise_of_langevin_dynamics_is_normal():
    mx.random.seed(15)
    weight, grad = np.ones((100, 200), np.float32), np.full((100, 200), 0.5, np.float32)
    moved = drawn_by(OPS["sgld_update"], [weight, grad], lr=0.04, wd=0.1, rescale_grad=2.0)
    held_to(moved - (1 - 0.02 * (2 * 0.5 + 0.1)), stats.norm(0, 0.2))
