"""Steps of optimizers: each gives the new weight, then what its weight and states hold."""

import numpy as np

from . import add, always, first


def clipped(x, bound):
    return np.clip(x, -bound, bound) if bound >= 0 else x


def _scaled(grad, attrs):
    """The gradient, scaled and bounded."""
    return clipped(grad * attrs["rescale_grad"], attrs["clip_gradient"])


def _decayed(weight, grad, attrs):
    """The gradient with weight decay, bounded together."""
    return clipped(grad * attrs["rescale_grad"] + attrs["wd"] * weight, attrs.get("clip_gradient", attrs.get("clip_grad")))


def sgd(weight, grad, lr, wd, **attrs):
    return weight - lr * (_scaled(grad, attrs) + wd * weight), ()


def sgd_mom(weight, grad, mom, lr, wd, momentum, **attrs):
    mom = momentum * mom - lr * (_scaled(grad, attrs) + wd * weight)
    return weight + mom, (mom,)


def nag_mom(weight, grad, mom, lr, wd, momentum, **attrs):
    """The decay, the momentum and the look ahead of Nesterov, at the weight before the step."""
    g = _scaled(grad, attrs) + wd * weight
    mom = momentum * mom - lr * g
    return weight + momentum * mom - lr * g, (mom,)


def signsgd(weight, grad, lr, wd, **attrs):
    return (1 - lr * wd) * weight - lr * np.sign(grad), ()


def signum(weight, grad, mom, lr, wd, momentum, wd_lh, **attrs):
    mom = momentum * mom - (1 - momentum) * (_scaled(grad, attrs) + wd * weight)
    return (1 - lr * wd_lh) * weight + lr * np.sign(mom), (mom,)


def _delayed(weight, grad, before, lr, wd, lamda, attrs):
    g = _scaled(grad, attrs)
    return -lr * (g + wd * weight + lamda * g * g * (weight - before))


def dcasgd(weight, grad, before, lr, wd, lamda, **attrs):
    return weight + _delayed(weight, grad, before, lr, wd, lamda, attrs), (weight,)


def dcasgd_mom(weight, grad, before, mom, lr, wd, lamda, momentum, **attrs):
    mom = momentum * mom + _delayed(weight, grad, before, lr, wd, lamda, attrs)
    return weight + mom, (weight, mom)


def _moments(g, mean, var, beta1, beta2):
    return beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * g * g


def adam(weight, grad, mean, var, lr, beta1, beta2, epsilon, **attrs):
    mean, var = _moments(_decayed(weight, grad, attrs), mean, var, beta1, beta2)
    return weight - lr * mean / (np.sqrt(var) + epsilon), (mean, var)


def adamax(weight, grad, mean, var, lr, beta1, beta2, **attrs):
    g = _decayed(weight, grad, attrs)
    mean, var = beta1 * mean + (1 - beta1) * g, np.maximum(beta2 * var, np.abs(g))
    return weight - np.where(var == 0, 0, lr * mean / np.where(var == 0, 1, var)), (mean, var)


def nadam(weight, grad, mean, var, lr, beta1, beta2, epsilon, t, momentum, next_momentum, schedule, **attrs):
    g = _decayed(weight, grad, attrs)
    mean, var = _moments(g, mean, var, beta1, beta2)
    ahead = (1 - momentum) * g / (1 - schedule) + next_momentum * mean / (1 - schedule * next_momentum)
    return weight - lr * ahead / (np.sqrt(var / (1 - beta2**t)) + epsilon), (mean, var)


def adagrad(weight, grad, history, lr, epsilon, wd, **attrs):
    g = _scaled(grad, attrs)
    history = history + g * g
    return weight - lr * (g / np.sqrt(history + epsilon) + wd * weight), (history,)


def group_adagrad(weight, grad, history, lr, epsilon, **attrs):
    g = _scaled(grad, attrs)
    history = history + np.mean(g * g, axis=1, keepdims=True)
    return weight - lr * g / np.sqrt(history + epsilon), (history,)


def rmsprop(weight, grad, n, lr, gamma1, epsilon, clip_weights, **attrs):
    g = _decayed(weight, grad, attrs)
    n = gamma1 * n + (1 - gamma1) * g * g
    return clipped(weight - lr * g / np.sqrt(n + epsilon), clip_weights), (n,)


def rmspropalex(weight, grad, n, mean, delta, lr, gamma1, gamma2, epsilon, clip_weights, **attrs):
    g = _decayed(weight, grad, attrs)
    mean, n = _moments(g, mean, n, gamma1, gamma1)
    delta = gamma2 * delta - lr * g / np.sqrt(n - mean * mean + epsilon)
    return clipped(weight + delta, clip_weights), (n, mean, delta)


def ftrl(weight, grad, z, n, lr, lamda1, beta, wd, **attrs):
    g = _scaled(grad, attrs)
    z = z + g - (np.sqrt(n + g * g) - np.sqrt(n)) * weight / lr
    n = n + g * g
    return np.where(np.abs(z) <= lamda1, 0, (np.sign(z) * lamda1 - z) / ((beta + np.sqrt(n)) / lr + wd)), (z, n)


def ftml(weight, grad, d, v, z, lr, beta1, beta2, epsilon, t, **attrs):
    g = _decayed(weight, grad, attrs)
    v, before = beta2 * v + (1 - beta2) * g * g, d
    d = (1 - beta1**t) / lr * (np.sqrt(v / (1 - beta2**t)) + epsilon)
    z = beta1 * z + (1 - beta1) * g - (d - beta1 * before) * weight
    return -z / d, (d, v, z)


def adadelta(weight, grad, acc_g, acc_delta, rho, epsilon, wd, **attrs):
    g = _scaled(grad, attrs)
    acc_g = rho * acc_g + (1 - rho) * g * g
    delta = np.sqrt(acc_delta + epsilon) / np.sqrt(acc_g + epsilon) * g
    return weight - delta - wd * weight, (acc_g, rho * acc_delta + (1 - rho) * delta * delta)


def adamw(weight, grad, mean, var, factor, lr, eta, beta1, beta2, epsilon, wd, clip_gradient, **attrs):
    mean, var = _moments(clipped(grad * factor.reshape(-1)[0], clip_gradient), mean, var, beta1, beta2)
    return weight - eta * (lr * mean / (np.sqrt(var) + epsilon) + wd * weight), (mean, var)


def adamw_rows(weight, grad, mean, var, lr, beta1, beta2, epsilon, wd, **attrs):
    mean, var = _moments(_scaled(grad, attrs), mean, var, beta1, beta2)
    return weight - lr * mean / (np.sqrt(var) + epsilon) - wd * weight, (mean, var)


def lamb_phase1(weight, grad, mean, var, beta1, beta2, epsilon, t, bias_correction, wd, **attrs):
    mean, var = _moments(_scaled(grad, attrs), mean, var, beta1, beta2)
    shares = (1 - beta1**t, 1 - beta2**t) if bias_correction else (1, 1)
    return mean / shares[0] / (np.sqrt(var / shares[1]) + epsilon) + wd * weight, (mean, var)


def lamb_phase2(weight, g, r1, r2, lr, lower_bound, upper_bound):
    first_norm, second_norm = float(r1[0]), float(r2[0])
    first_norm = max(first_norm, lower_bound) if lower_bound >= 0 else first_norm
    first_norm = min(first_norm, upper_bound) if upper_bound >= 0 else first_norm
    return weight - lr * (first_norm / second_norm if first_norm and second_norm else 1) * g, ()


def _written(step):
    """The result, then the weight and the states."""

    def value(*arrays, **attrs):
        made, states = step(*arrays, **attrs)
        return [made, made, *states]

    return value


STEPS = {
    "sgd_update": sgd,
    "sgd_mom_update": sgd_mom,
    "nag_mom_update": nag_mom,
    "signsgd_update": signsgd,
    "signum_update": signum,
    "dcasgd_update": dcasgd,
    "dcasgd_mom_update": dcasgd_mom,
    "adam_update": adam,
    "adamax_update": adamax,
    "nadam_update": nadam,
    "_sparse_adagrad_update": adagrad,
    "_contrib_group_adagrad_update": group_adagrad,
    "rmsprop_update": rmsprop,
    "rmspropalex_update": rmspropalex,
    "ftrl_update": ftrl,
    "ftml_update": ftml,
    "adadelta_update": adadelta,
    "_contrib_adamw_update": adamw,
    "_adamw_rows_update": adamw_rows,
    "lamb_update_phase2": lamb_phase2,
}
for _name, _step in STEPS.items():
    add(_name, _written(_step), dtype=first, writes=True)


def _phase1_value(*arrays, **attrs):
    made, states = lamb_phase1(*arrays, **attrs)
    return [made, *states]


add("lamb_update_phase1", _phase1_value, dtype=first, writes=True)
add("sgld_update", lambda weight, grad, **attrs: [np.zeros(weight.shape)] * 2, dtype=first, writes=True)


def precise(step, behind=0):
    """The step on the copy that stands behind the states; the weight and the copy get the result."""

    def value(weight, *arrays, **attrs):
        place = len(arrays) - 1 - behind
        copy, rest = arrays[place], (*arrays[:place], *arrays[place + 1:])
        made, states = step(copy, *rest, **attrs)
        return [made, made, *states, made]

    return value


for _name in ("sgd_update", "sgd_mom_update", "nag_mom_update", "lamb_update_phase2"):
    add(f"mp_{_name}", precise(STEPS[_name]), dtype=first, writes=True)
add("_contrib_mp_adamw_update", precise(adamw, 1), dtype=first, writes=True)
add("mp_lamb_update_phase1", lambda weight, grad, mean, var, copy, **attrs: _phase1_value(copy, grad, mean, var, **attrs),
    dtype=lambda dtypes, attrs: np.dtype(dtypes[4]), writes=True)

# several weights in one call: the results, then what is written of each weight


def _several(step, group, lists, counter, behind=0, preloaded=False):
    def value(*arrays, **attrs):
        count = attrs[counter]
        numbers = {name: attrs.pop(key) for name, key in lists.items() if key in attrs}
        if preloaded:
            numbers = {"lr": arrays[-2].tolist(), "wd": arrays[-1].tolist()}
        rest = arrays[count * group:] if behind else ()
        made = [step(*arrays[place * group: (place + 1) * group], *rest,
                     **attrs, **{name: values[place] for name, values in numbers.items()}) for place in range(count)]
        return [*(one[0] for one in made), *(part for one in made for part in one[1:])]

    return value


def _by_count(group, counter):
    def types(dtypes, attrs):
        return [dtypes[place * group] for place in range(attrs[counter])]

    return types


_RATES = {"lr": "lrs", "wd": "wds"}
for _name, _group in (("sgd_update", 2), ("sgd_mom_update", 3)):
    for _mp in (False, True):
        for _preloaded in (False, True):
            _value = precise(STEPS[_name]) if _mp else _written(STEPS[_name])
            add(f"{'preloaded_' * _preloaded}multi_{'mp_' * _mp}{_name}",
                _several(_value, _group + _mp, _RATES, "num_weights", preloaded=_preloaded),
                dtype=_by_count(_group + _mp, "num_weights"), writes=True)


def _lamb(weight, grad, mean, var, lr, lower_bound, upper_bound, num_tensors, **attrs):
    step, states = lamb_phase1(weight, grad, mean, var, **attrs)
    norms = [np.array([np.sqrt((array**2).sum())]) for array in (weight, step)]
    return lamb_phase2(weight, step, *norms, lr, lower_bound, upper_bound)[0], states


for _mp in (False, True):
    add(f"_multi_{'mp_' * _mp}adamw_update",
        _several(precise(adamw, 1) if _mp else _written(adamw), 4 + _mp, {**_RATES, "eta": "etas"}, "num_weights", behind=1),
        dtype=_by_count(4 + _mp, "num_weights"), writes=True)
    add(f"_multi_{'mp_' * _mp}lamb_update",
        _several(precise(_lamb) if _mp else _written(_lamb), 4 + _mp, {"lr": "learning_rates", "wd": "wds", "t": "step_count"},
                 "num_tensors"), dtype=_by_count(4 + _mp, "num_tensors"), writes=True)
add("multi_sum_sq", lambda *arrays, num_arrays: np.array([(array**2).sum() for array in arrays]), dtype=always("float32"))


def _lars(lrs, weights, grads, wds, eta, eps, rescale_grad):
    weight, grad = np.sqrt(weights), np.sqrt(grads)
    return np.where((weight > 0) & (grad > 0), lrs * eta * weight / (grad * rescale_grad + wds * weight + eps), lrs)


add("multi_lars", _lars, dtype=first)
add("reset_arrays", lambda *arrays, num_arrays: [np.zeros(array.shape) for array in arrays], dtype=first, writes=True)
