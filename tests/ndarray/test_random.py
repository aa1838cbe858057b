"""Random arrays: distributions by their moments and by Kolmogorov and Smirnov, repeatability, refusals, gradients."""

import numpy as np
import pytest
from scipy import stats

import sparsekit as mx
from sparsekit.base.errors import ShapeError
from sparsekit.base.rng import generator, using
from tests.calls import refused, variable

SIZE = 20_000

#: Sampler, its parameters, and scipy's distribution of the same values.
CONTINUOUS = [
    ("uniform", (-1.0, 3.0), stats.uniform(-1, 4)),
    ("normal", (2.0, 0.5), stats.norm(2, 0.5)),
    ("gamma", (2.5, 0.5), stats.gamma(2.5, scale=0.5)),
    ("exponential", (4.0,), stats.expon(scale=4)),
]
DISCRETE = [
    ("poisson", (3.5,), stats.poisson(3.5)),
    ("negative_binomial", (3, 0.4), stats.nbinom(3, 0.4)),
    ("generalized_negative_binomial", (2.0, 0.3), stats.nbinom(1 / 0.3, 1 / (1 + 2 * 0.3))),
]
ALL = [name for name, *_ in CONTINUOUS + DISCRETE]


def draw(name, parameters, **attrs):
    return getattr(mx.nd.random, name)(*parameters, **attrs)


@pytest.mark.parametrize(("name", "parameters", "expected"), CONTINUOUS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_continuous_distribution(name, parameters, expected, dtype):
    values = draw(name, parameters, shape=SIZE, dtype=dtype, rng=11)
    assert values.dtype == dtype
    distance = stats.kstest(values.asnumpy().astype(np.float64), expected.cdf).statistic
    assert distance < (0.02 if dtype == "float16" else 0.013)  # 1.36 / sqrt(20,000) is 0.0096 at 5 %


@pytest.mark.parametrize(("name", "parameters", "expected"), CONTINUOUS + DISCRETE)
def test_arrays_of_parameters_and_arrays_to_be_like(name, parameters, expected):
    drawn = draw(name, [mx.nd.array([value]) for value in parameters], shape=SIZE, rng=13)
    assert drawn.asnumpy().mean() == pytest.approx(expected.mean(), rel=0.03)
    parameters = (1 / parameters[0],) if name == "exponential" else parameters  # the operator has a rate, the function a mean
    like = getattr(mx.nd.random, f"{name}_like")(mx.nd.zeros((SIZE, 1), dtype="float64"), *parameters, rng=14)
    assert (like.shape, like.dtype) == ((SIZE, 1), np.float64)
    assert like.asnumpy().mean() == pytest.approx(expected.mean(), rel=0.03)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_never_reaches_its_upper_bound(dtype):
    values = mx.nd.random.uniform(1, 1.001, shape=(500, 500), dtype=dtype, rng=0).asnumpy()
    assert values.min() >= 1
    assert values.max() < np.array(1.001, dtype)
    assert mx.nd.random.uniform(2, 2, shape=3).asnumpy().tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", ALL)
def test_a_seed_repeats_the_same_values(name):
    def values():
        return getattr(mx.random, name)(shape=(3, 4)).asnumpy().tolist()

    mx.random.seed(7)
    first = values()
    after = values()
    mx.random.seed(7)
    assert values() == first
    assert name == "negative_binomial" or values() == after  # p=1 gives zeros only
    if name != "negative_binomial":
        assert first != after


def test_rng_is_a_seed_or_a_generator_and_leaves_the_shared_one_alone():
    mx.random.seed(1)
    state = generator().bit_generator.state
    first = mx.random.normal(shape=5, rng=3)
    made = np.random.default_rng(3)
    assert mx.random.normal(shape=5, rng=made).asnumpy().tolist() == first.asnumpy().tolist()
    assert mx.random.normal(shape=5, rng=made).asnumpy().tolist() != first.asnumpy().tolist()
    assert generator().bit_generator.state == state
    refused(mx.DTypeError, "rng", mx.random.normal, rng="here")
    refused(mx.DTypeError, "seed", mx.random.seed, "x")
    with using(5):
        inside = generator()
        with using(None):
            assert generator() is inside
    assert generator() is not inside


def test_multinomial_gradient_is_the_score_of_what_was_drawn():
    shares = variable(mx.nd.array([[0.25, 0.75, 0], [0.5, 0.25, 0.25]]))
    with mx.autograd.record():
        drawn, logs = mx.nd.random.multinomial(shares, 6, get_prob=True, rng=1)
    weights = mx.nd.array(np.arange(12).reshape(2, 6))
    logs.backward(weights)
    expected = np.zeros((2, 3))
    for row in range(2):
        for place in range(6):
            at = drawn.asnumpy()[row, place]
            expected[row, at] += weights.asnumpy()[row, place] / shares.asnumpy()[row, at]
    np.testing.assert_allclose(shares.grad.asnumpy(), expected, rtol=1e-6)


def test_shuffle_keeps_rows_together_and_carries_the_gradient():
    data = variable(mx.nd.array(np.arange(200).reshape(100, 2)))
    with mx.autograd.record():
        mixed = mx.nd.random.shuffle(data, rng=4)
    assert sorted(mixed.asnumpy().tolist()) == data.asnumpy().tolist()
    assert mixed.asnumpy().tolist() != data.asnumpy().tolist()
    mixed.backward(mixed)
    np.testing.assert_array_equal(data.grad.asnumpy(), data.asnumpy())


def test_what_is_computed_from_the_gradient_of_shuffle_has_a_gradient():
    data = variable(mx.nd.array(np.arange(6).reshape(3, 2)))
    with mx.autograd.record():
        (share,) = mx.autograd.grad(mx.nd.random.shuffle(data).sum(), [data], create_graph=True)
        scaled = (share * data).sum()
    scaled.backward()
    assert data.grad.asnumpy().tolist() == [[1, 1]] * 3


def test_the_float64_of_an_array_is_float64():
    dtype = np.dtype("float64")
    assert mx.nd.random.normal(shape=(2,), dtype=dtype).dtype == dtype
    assert mx.nd.random_normal(shape=(2,), dtype=dtype).dtype == dtype
    assert mx.nd.softmax(mx.nd.ones((2,)), dtype=dtype).dtype == dtype
    assert mx.sym.random.normal(shape=(2,), dtype=dtype).infer_type()[1] == [np.float64]


def test_out_gives_shape_and_type():
    out = mx.nd.zeros((2, 3), dtype="float64")
    assert mx.nd.random.uniform(5, 6, out=out) is out
    assert out.asnumpy().min() >= 5
    refused(mx.ShapeError, "", mx.nd.random.uniform, shape=(3, 2), out=out)


def test_names_beside_the_module():
    mx.random.seed(3)
    first = mx.nd.random_normal(loc=2.0, scale=3.0, shape=(2, 2), ctx="cpu(0)").asnumpy()
    mx.random.seed(3)
    np.testing.assert_array_equal(mx.nd.normal(2.0, 3.0, (2, 2)).asnumpy(), first)
    mx.random.seed(3)
    np.testing.assert_array_equal(mx.random.normal(2.0, 3.0, (2, 2)).asnumpy(), first)


def test_zipfian_classes_and_their_expectations():
    classes = mx.nd.array([3])
    drawn, true, sampled = mx.nd.contrib.rand_zipfian(classes, SIZE, 5, rng=0)
    chances = np.log((np.arange(5) + 2) / (np.arange(5) + 1)) / np.log(6)
    assert stats.chisquare(np.bincount(drawn.asnumpy(), minlength=5), chances * SIZE).pvalue > 0.001
    assert true.asscalar() == pytest.approx(chances[3] * SIZE)
    np.testing.assert_allclose(sampled.asnumpy(), chances[drawn.asnumpy()] * SIZE)


@pytest.mark.parametrize(("name", "parameters"), [
    ("uniform", (1, 0)), ("uniform", (0, np.inf)), ("uniform", (np.nan, 1)), ("normal", (0, -1)), ("normal", (0, np.nan)),
    ("gamma", (-1, 1)), ("gamma", (1, -1)), ("exponential", (0,)), ("exponential", (-2.0,)), ("poisson", (-1,)),
    ("poisson", (1e30,)), ("poisson", (np.nan,)), ("negative_binomial", (0, 0.5)), ("negative_binomial", (2, 0)),
    ("negative_binomial", (2, 1.5)), ("generalized_negative_binomial", (-1, 1)), ("generalized_negative_binomial", (1, -1)),
])
def test_parameters_that_are_no_distribution(name, parameters):
    refused(mx.SparsekitError, "Hint", draw, name, parameters)
    if name != "exponential":
        refused(mx.SparsekitError, "Hint", draw, name, [mx.nd.array([value]) for value in parameters])


@pytest.mark.parametrize("shares", [[[0.5, -0.5]], [[0, 0]], [[np.nan, 1]], [[np.inf, 1]], [[]]])
def test_shares_that_are_no_probabilities(shares):
    refused(mx.SparsekitError, "Hint", mx.nd.random.multinomial, mx.nd.array(shares))


@pytest.mark.parametrize(("low", "high"), [(5, 5), (5, 0), (0, 2**40), (0.5, 2), (0, "a")])
def test_ranges_without_whole_numbers(low, high):
    refused(mx.SparsekitError, "Hint", mx.nd.random.randint, low, high)


def test_unique_zipfian_samples_are_distinct_and_count_their_trials():
    mx.random.seed(3)
    samples, trials = mx.nd._internal._sample_unique_zipfian(50, shape=(200, 20))
    assert (samples.dtype, trials.dtype, samples.shape, trials.shape) == (np.int64, np.int64, (200, 20), (200,))
    assert all(len(set(row)) == 20 for row in samples.asnumpy().tolist())
    assert samples.asnumpy().min() >= 0
    assert samples.asnumpy().max() < 50
    # MXNet 1.9.1 needs 35.9 trials in the mean of 200 such samples, and 16,151 for 8,192 of 750,000.
    assert trials.asnumpy().mean() == pytest.approx(36.5, abs=2)
    assert mx.nd._internal._sample_unique_zipfian(750_000, shape=(1, 8192))[1].asscalar() == pytest.approx(16_150, rel=0.04)


def test_unique_zipfian_takes_all_classes_or_none_and_refuses_more():
    samples, _ = mx.nd._internal._sample_unique_zipfian(6, shape=(1, 6))
    assert sorted(samples.asnumpy()[0].tolist()) == list(range(6))
    assert mx.nd._internal._sample_unique_zipfian(6, shape=(2, 0))[1].asnumpy().tolist() == [0, 0]
    for wrong in ({"range_max": 5, "shape": (1, 6)}, {"range_max": 9, "shape": (3,)}, {"range_max": 2.5, "shape": (1, 1)}):
        refused(ShapeError, "", mx.nd._internal._sample_unique_zipfian, **wrong)


def test_samplers_of_internal_names_need_no_context():
    assert mx.nd._internal._random_uniform(shape=(3,)).context == mx.cpu()
