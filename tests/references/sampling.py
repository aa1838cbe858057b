"""Distributions that values are drawn from, and their densities."""

import numpy as np
import scipy.special as special
import scipy.stats as stats

from . import FLOATS, add, derivative, first

#: name -> scipy's distribution, from the operator's parameters
DISTRIBUTIONS = {
    "uniform": lambda low, high: stats.uniform(low, high - low),
    "normal": lambda loc, scale: stats.norm(loc, scale),
    "gamma": lambda alpha, beta: stats.gamma(alpha, scale=beta),
    "exponential": lambda lam: stats.expon(scale=1 / lam),
    "poisson": lambda lam: stats.poisson(lam),
    "negative_binomial": lambda k, p: stats.nbinom(k, p),
    "generalized_negative_binomial": lambda mu, alpha: stats.nbinom(1 / alpha, 1 / (1 + alpha * mu)),
}


def _drawn(dtypes, attrs):
    return np.dtype("float32" if attrs["dtype"] in (None, "None") else attrs["dtype"])


def _random(*arrays, shape, **attrs):
    """Only the shape of what is drawn, as zeros."""
    return np.zeros(shape)


for _name, _made in DISTRIBUTIONS.items():
    add(f"_random_{_name}", _random, dtype=_drawn, distribution=_made)
    add(f"_random_{_name}_like", lambda x, **attrs: np.zeros(x.shape), distribution=_made)
    add(f"_sample_{_name}", lambda *arrays, shape, dtype: np.zeros((*arrays[0].shape, *shape)), dtype=_drawn, types=FLOATS,
        distribution=_made)
add("_random_randint", _random, dtype=lambda dtypes, attrs: np.dtype("int32" if attrs["dtype"] == "None" else attrs["dtype"]),
    distribution=stats.randint)


def _multinomial(x, shape, get_prob, dtype):
    made = np.zeros((*x.shape[:-1], *shape))
    return [made, made] if get_prob else made


add("_sample_multinomial", _multinomial,
    dtype=lambda dtypes, attrs: [np.dtype(attrs["dtype"]), dtypes[0]] if attrs["get_prob"] else np.dtype(attrs["dtype"]))
add("_shuffle", lambda x: np.zeros(x.shape))
add("_sample_unique_zipfian", lambda range_max, shape: [np.zeros(shape), np.zeros(shape[:1])],
    dtype=lambda dtypes, attrs: np.dtype(np.int64))


def _multinomial_backward(g, x, drawn):
    made, rows = np.zeros(x.shape), x.reshape(-1, x.shape[-1])
    lines = made.reshape(rows.shape)
    for row, (heads, places) in enumerate(zip(g.reshape(len(rows), -1), drawn.reshape(len(rows), -1).astype(int), strict=True)):
        for head, place in zip(heads, places, strict=True):
            lines[row, place] += head / rows[row, place]
    return made


add("_sample_multinomial_backward", _multinomial_backward, dtype=lambda dtypes, attrs: np.dtype(dtypes[1]), types=FLOATS)

# densities

LOGARITHMS = {
    "uniform": lambda x, low, high: -np.log(high - low) + 0 * x,
    "normal": lambda x, mu, sigma: -(((x - mu) / sigma) ** 2) / 2 - np.log(sigma * np.sqrt(2 * np.pi)),
    "gamma": lambda x, alpha, beta: alpha * np.log(beta) + (alpha - 1) * np.log(x) - beta * x - special.gammaln(alpha),
    "exponential": lambda x, lam: np.log(lam) - lam * x,
    "poisson": lambda x, lam: x * np.log(lam) - lam - special.gammaln(x + 1),
    "negative_binomial": lambda x, k, p: (
        special.gammaln(x + k) - special.gammaln(x + 1) - special.gammaln(k) + k * np.log(p) + x * np.log1p(-p)),
    "generalized_negative_binomial": lambda x, mu, alpha: (
        special.gammaln(x + 1 / alpha) - special.gammaln(x + 1) - special.gammaln(1 / alpha)
        - np.log1p(alpha * mu) / alpha + x * np.log(alpha * mu / (1 + alpha * mu))),
    "dirichlet": lambda x, alpha: (
        ((alpha - 1) * np.log(x)).sum(-1) + special.gammaln(alpha.sum(-1)) - special.gammaln(alpha).sum(-1)),
}
#: Distributions of counts, of which the sample has no gradient.
COUNTS = ("poisson", "negative_binomial", "generalized_negative_binomial")
for _name, _logarithm in LOGARITHMS.items():

    def _log(x, *parameters, logarithm=_logarithm, last=_name == "dirichlet"):
        """Parameters lie along the leftmost axes of the sample, and a Dirichlet's along its last one too."""
        return logarithm(x, *(
            one.reshape(one.shape[: one.ndim - last] + (1,) * (x.ndim - one.ndim) + one.shape[one.ndim - last:])
            for one in parameters))

    def _density(x, *parameters, is_log, log=_log):
        made = log(x, *parameters)
        return made if is_log else np.exp(made)

    def _slopes(g, x, *parameters, log=_log, counts=_name in (*COUNTS, "uniform")):
        arrays = [x, *parameters]
        made = [derivative(log, arrays, place, g) for place in range(len(arrays))]
        return [np.zeros(x.shape), *made[1:]] if counts else made

    add(f"_random_pdf_{_name}", _density, dtype=first)
    add(f"_random_pdf_{_name}_backward", _slopes, dtype=lambda dtypes, attrs: list(dtypes[1:]), types=FLOATS)
