"""float64 is float64: functions and gradients against 80-bit arithmetic or scipy, to 1e-14 and 1e-13.

A gradient is held to 1e-13 of itself or 2e-15, whichever is more: several are computed from the output, as ``1 - tanh²`` is,
and have the absolute error of its last digit.
"""

import numpy as np
import pytest
from scipy import special

import sparsekit as mx
from sparsekit.core import infer
from sparsekit.core.op import registry

LONG = np.longdouble
pytestmark = pytest.mark.skipif(np.finfo(LONG).eps > 1e-18, reason="long double has no more digits than double here")

WIDE = np.concatenate([np.linspace(-30, 30, 241), [-1e-9, 1e-9, -700.0, 300.0, 5e-5, -5.0, -8.0]])
SMALL = np.linspace(-3, 3, 101)
ABOVE = np.concatenate([np.linspace(0.01, 30, 200), [1e-9, 1e9, 1 + 1e-9]])
INSIDE = np.concatenate([np.linspace(-0.99, 0.99, 100), [1e-9, -1e-12]])


ROOT_PI = LONG(np.pi) ** 0 * np.sqrt(LONG("3.14159265358979323846264338327950288"))
PI = LONG("3.14159265358979323846264338327950288")
#: Operator: values to try, the function, its derivative; in long double, or of scipy.
FUNCTIONS = {
    "exp": (SMALL * 10, np.exp, np.exp), "expm1": (WIDE[:241], np.expm1, np.exp), "log": (ABOVE, np.log, lambda x: 1 / x),
    "log1p": (ABOVE, np.log1p, lambda x: 1 / (1 + x)), "log2": (ABOVE, np.log2, lambda x: 1 / (x * np.log(LONG(2)))),
    "log10": (ABOVE, np.log10, lambda x: 1 / (x * np.log(LONG(10)))),
    "sqrt": (ABOVE, np.sqrt, lambda x: 0.5 / np.sqrt(x)), "cbrt": (ABOVE, np.cbrt, lambda x: 1 / (3 * np.cbrt(x) ** 2)),
    "rsqrt": (ABOVE, lambda x: 1 / np.sqrt(x), lambda x: -0.5 / (x * np.sqrt(x))),
    "rcbrt": (ABOVE, lambda x: 1 / np.cbrt(x), lambda x: -1 / (3 * x * np.cbrt(x))),
    "reciprocal": (ABOVE, lambda x: 1 / x, lambda x: -1 / (x * x)), "square": (WIDE, lambda x: x * x, lambda x: 2 * x),
    "sin": (SMALL, np.sin, np.cos), "cos": (SMALL, np.cos, lambda x: -np.sin(x)),
    "tan": (SMALL / 2.2, np.tan, lambda x: 1 / np.cos(x) ** 2), "arcsin": (INSIDE, np.arcsin, lambda x: 1 / np.sqrt(1 - x * x)),
    "arccos": (INSIDE, np.arccos, lambda x: -1 / np.sqrt(1 - x * x)), "arctan": (WIDE, np.arctan, lambda x: 1 / (1 + x * x)),
    "sinh": (SMALL * 5, np.sinh, np.cosh), "cosh": (SMALL * 5, np.cosh, np.sinh),
    "tanh": (WIDE, np.tanh, lambda x: 1 / np.cosh(x) ** 2), "arcsinh": (SMALL, np.arcsinh, lambda x: 1 / np.sqrt(1 + x * x)),
    "arccosh": (ABOVE[100:190] + 1, np.arccosh, lambda x: 1 / np.sqrt(x * x - 1)),
    "arctanh": (INSIDE, np.arctanh, lambda x: 1 / (1 - x * x)),
    "degrees": (SMALL, lambda x: x * 180 / PI, lambda x: 180 / PI + 0 * x),
    "radians": (SMALL, lambda x: x * PI / 180, lambda x: PI / 180 + 0 * x),
    "sigmoid": (WIDE, lambda x: 1 / (1 + np.exp(-x)), lambda x: np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2),
    "softrelu": (WIDE, lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), lambda x: 1 / (1 + np.exp(-x))),
    "softsign": (WIDE, lambda x: x / (1 + np.abs(x)), lambda x: 1 / (1 + np.abs(x)) ** 2),
    "relu": (WIDE, lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(LONG)), "abs": (WIDE, np.abs, np.sign),
    "negative": (WIDE, np.negative, lambda x: 0 * x - 1),
    "erf": (SMALL, lambda x: special.erf(x.astype(float)), lambda x: 2 / ROOT_PI * np.exp(-x * x)),
    "erfinv": (INSIDE, lambda x: special.erfinv(x.astype(float)),
               lambda x: ROOT_PI / 2 * np.exp(special.erfinv(x.astype(float)).astype(LONG) ** 2)),
    "gamma": (ABOVE[:180], lambda x: special.gamma(x.astype(float)),
              lambda x: special.gamma(x.astype(float)) * special.digamma(x.astype(float))),
    "gammaln": (ABOVE[:180], lambda x: special.gammaln(x.astype(float)), lambda x: special.digamma(x.astype(float))),
}
#: Operators whose values are copies, whole numbers or yes and no: there are no digits to lose.
EXACT = {"sign", "ceil", "floor", "trunc", "rint", "round", "logical_not", "identity", "make_loss", "BlockGrad", "zeros_like",
         "ones_like", "_contrib_round_ste", "_contrib_sign_ste", "_contrib_isnan", "_contrib_isinf", "_contrib_isfinite"}


def test_every_function_of_one_array_has_a_reference():
    found = {op.name for op in registry.values() if op.inputs == ("data",) and not op.attrs and op.shape is infer.unchanged
             and op.dtype is infer.same and op.outputs == 1}
    lacking = found - EXACT - set(FUNCTIONS) - {"_contrib_div_sqrt_dim", "_sequence_mask"}
    assert not lacking, f"FUNCTIONS has no values, function and derivative of {', '.join(sorted(lacking))}"


def held(made, expected, rtol, atol=0.0):
    expected = np.asarray(expected, LONG)
    error = np.abs(made.astype(LONG) - expected)
    allowed = np.maximum(rtol * np.abs(expected), atol)
    assert (error <= allowed).all(), (made[error > allowed][:3], expected[error > allowed][:3])


def gradient_of(function, values, above=None):
    x = mx.nd.array(values, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward(None if above is None else mx.nd.array(above, dtype="float64"))
    return y.asnumpy(), x.grad.asnumpy()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    values, function, slope = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        made, gradient = gradient_of(getattr(mx.nd, name), values)
        held(made, function(values.astype(LONG)), 1e-14)
        held(gradient, slope(values.astype(LONG)), 1e-13, 2e-15)


ACTIVATIONS = {
    "relu": FUNCTIONS["relu"], "sigmoid": FUNCTIONS["sigmoid"], "tanh": FUNCTIONS["tanh"], "softrelu": FUNCTIONS["softrelu"],
    "softsign": FUNCTIONS["softsign"],
    "log_sigmoid": (WIDE, lambda x: -(np.maximum(-x, 0) + np.log1p(np.exp(-np.abs(x)))), lambda x: 1 / (1 + np.exp(x))),
}
ALPHA, SCALE = LONG("1.6732632423543772848170429916717"), LONG("1.0507009873554804934193349852946")
RECTIFIERS = {
    "leaky": (WIDE, lambda x: np.where(x > 0, x, x / 4), lambda x: np.where(x > 0, 1, LONG(0.25))),
    "elu": (WIDE, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)) / 4),
            lambda x: np.where(x > 0, 1, np.exp(np.minimum(x, 0)) / 4)),
    "selu": (WIDE, lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0))),
             lambda x: SCALE * np.where(x > 0, 1, ALPHA * np.exp(np.minimum(x, 0)))),
    "gelu": (WIDE[:241], lambda x: x * special.ndtr(x.astype(float)),
             lambda x: special.ndtr(x.astype(float)) + x * np.exp(-x * x / 2) / np.sqrt(2 * PI)),
}


@pytest.mark.parametrize("size", [1, 100], ids=["small", "large"])  # from 2**14 elements on, float32 has kernels of its own
@pytest.mark.parametrize("kind", [*ACTIVATIONS, *RECTIFIERS])
def test_activations(kind, size):
    values, function, slope = {**ACTIVATIONS, **RECTIFIERS}[kind]
    run = mx.nd.Activation if kind in ACTIVATIONS else mx.nd.LeakyReLU
    values = np.tile(values, size)
    with np.errstate(all="ignore"):
        made, gradient = gradient_of(lambda x: run(x, act_type=kind), values)
        held(made, function(values.astype(LONG)), 1e-13)
        held(gradient, slope(values.astype(LONG)), 1e-13, 2e-15)


def _softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _log_softmax(x):
    power = np.sort(x - x.max(axis=-1, keepdims=True), axis=-1)
    return x - x.max(axis=-1, keepdims=True) - np.log1p(np.exp(power[..., :-1]).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("rows", [8, 4096], ids=["small", "large"])
@pytest.mark.parametrize("spread", [1.0, 20.0])
def test_softmaxes(rows, spread):
    rng = np.random.default_rng(3)
    values, above = rng.standard_normal((rows, 6)) * spread, rng.standard_normal((rows, 6))
    exact, far = values.astype(LONG), above.astype(LONG)
    share = _softmax(exact)
    expected = {
        "softmax": (share, share * (far - (far * share).sum(axis=-1, keepdims=True))),
        "log_softmax": (_log_softmax(exact), far - share * far.sum(axis=-1, keepdims=True)),
        "softmin": (_softmax(-exact), None),
    }
    for name, (value, slope) in expected.items():
        made, gradient = gradient_of(getattr(mx.nd, name), values, above)
        held(made, value, 1e-14)
        if slope is not None:
            held(gradient, slope, 1e-13, 5e-15)
    label = rng.integers(0, 6, rows)
    made = mx.nd.softmax_cross_entropy(mx.nd.array(values, dtype="float64"), mx.nd.array(label))
    held(made.asnumpy(), -_log_softmax(exact)[np.arange(rows), label].sum(keepdims=True), 1e-13)


@pytest.mark.parametrize("label", [0.0, 1.0, 0.3])
def test_the_sigmoid_cross_entropy(label):
    exact = WIDE.astype(LONG)
    small = np.log1p(np.exp(-np.abs(exact)))
    expected = np.where(exact > 0, exact * (1 - LONG(label)), -exact * LONG(label)) + small
    made, gradient = gradient_of(lambda x: mx.nd._internal._sigmoid_cross_entropy(x, mx.nd.full(x.shape, label, dtype="float64")),
                                 WIDE)
    held(made, expected, 1e-14 if label in (0, 1) else 1e-13)
    held(gradient, 1 / (1 + np.exp(-exact)) - LONG(label), 1e-13, 2e-15)


def test_normalizations():
    rng = np.random.default_rng(5)
    values = rng.standard_normal((64, 300)) * 3 + 1
    exact = values.astype(LONG)
    centred = exact - exact.mean(axis=1, keepdims=True)
    scale, offset = mx.nd.ones(300, dtype="float64"), mx.nd.zeros(300, dtype="float64")
    made = mx.nd.LayerNorm(mx.nd.array(values, dtype="float64"), scale, offset)
    held(made.asnumpy(), centred / np.sqrt((centred ** 2).mean(axis=1, keepdims=True) + LONG(1e-5)), 1e-11, 1e-14)
    made = mx.nd.L2Normalization(mx.nd.array(values, dtype="float64"))
    held(made.asnumpy(), exact / np.sqrt((exact ** 2).sum(axis=1, keepdims=True) + LONG(1e-10)), 1e-13)
    held(mx.nd.norm(mx.nd.array(values, dtype="float64")).asnumpy(), np.sqrt((exact ** 2).sum()), 1e-13)
    held(mx.nd.mean(mx.nd.array(values, dtype="float64"), axis=1).asnumpy(), exact.mean(axis=1), 1e-13, 1e-14)
