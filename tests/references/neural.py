"""Layers, normalizations, softmax and losses."""

import numpy as np
import scipy.special as special

from . import FLOATS, Reference, add, first

# activations

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": special.expit,
    "tanh": np.tanh,
    "softrelu": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "log_sigmoid": lambda x: -np.logaddexp(0, -x),
}
add("Activation", lambda x, act_type: ACTIVATIONS[act_type](x))


def _leaky(x, *gamma, act_type, slope, lower_bound, upper_bound):
    if act_type == "gelu":
        return np.where(np.isinf(x), np.maximum(x, 0), x * special.ndtr(x))
    if act_type == "prelu":
        slope = gamma[0] if gamma[0].size == 1 else gamma[0].reshape(-1, *[1] * (x.ndim - 2))
    below = {"leaky": lambda: slope * x, "prelu": lambda: slope * x, "elu": lambda: slope * np.expm1(x),
             "selu": lambda: 1.6732632423543772848170429916717 * np.expm1(x),
             "rrelu": lambda: x * (lower_bound + upper_bound) / 2}[act_type]()
    return np.where(x > 0, x, below) * (1.0507009873554804934193349852946 if act_type == "selu" else 1)


add("LeakyReLU", _leaky, dtype=first)
add("Dropout", lambda x, p, mode, axes, cudnn_off: x.copy())

# softmax


def softmax(x, axis=-1):
    """In long double, so that what small terms add is right to the last digits of float64."""
    e = np.exp(np.asarray(x, np.longdouble) - np.max(x, axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).astype(np.float64)


def log_softmax(x, axis=-1):
    x = np.asarray(x, np.longdouble)
    top = np.argmax(x, axis=axis, keepdims=True)
    shifted = x - np.take_along_axis(x, top, axis)
    e = np.exp(shifted)
    np.put_along_axis(e, top, 0, axis)
    return (shifted - np.log1p(e.sum(axis=axis, keepdims=True))).astype(np.float64)


def _named(dtypes, attrs):
    return np.dtype(attrs["dtype"] or dtypes[0])


def _softmax(x, *length, axis, temperature, dtype, use_length):
    x = x / (temperature or 1)
    if not length:
        return softmax(x, axis)
    lines, made = np.moveaxis(x, axis, -1), np.zeros(np.moveaxis(x, axis, -1).shape)
    for spot in np.ndindex(lines.shape[:-1]):
        count = int(length[0][spot])
        if count > 0:
            made[spot][:count] = softmax(lines[spot][:count])
    return np.moveaxis(made, -1, axis)


add("softmax", _softmax, dtype=_named)
add("softmin", lambda x, axis, temperature, **attrs: softmax(-x / (temperature or 1), axis), dtype=_named)
add("log_softmax", lambda x, axis, temperature, **attrs: log_softmax(x / (temperature or 1), axis), dtype=_named)
add("SoftmaxActivation", lambda x, mode: softmax(x, 1 if mode == "channel" else -1))
add("_softmax_backward", lambda g, out, axis: out * (g - np.sum(g * out, axis, keepdims=True)))
add("_log_softmax_backward", lambda g, out, axis: g - np.exp(out) * np.sum(g, axis, keepdims=True))


def _at_label(x, label):
    return [(row, int(place)) for row, place in enumerate(label)]


def _cross_entropy(x, label):
    return -sum(log_softmax(x)[spot] for spot in _at_label(x, label))


def _label_apart(x, label):
    made = x.copy()
    for spot in _at_label(x, label):
        made[spot] -= 1
    return made


add("softmax_cross_entropy", _cross_entropy, dtype=first)
add("_label_apart", _label_apart, dtype=first)

# outputs whose gradient is that of a loss, whatever comes from above


def _regression(forward, slope):
    def gradient(g, x, label, grad_scale):
        label = label.reshape(x.shape)
        return [slope(forward(x), label) * grad_scale / np.prod(label.shape[1:]), None]

    return Reference(lambda x, label, grad_scale: forward(x), first, gradient=gradient)


def _add(name, entry):
    add(name, entry.value, dtype=entry.dtype, gradient=entry.gradient)


_add("LinearRegressionOutput", _regression(np.copy, lambda out, label: out - label))
_add("LogisticRegressionOutput", _regression(special.expit, lambda out, label: out - label))
_add("MAERegressionOutput", _regression(np.copy, lambda out, label: np.where(out > label, 1, -1)))


def _of_class(out, label, grad_scale, **attrs):
    """The gradient of the cross entropy with respect to the data, by a softmax's output and its classes."""
    assert attrs["normalization"] == "null"
    assert not any(attrs[name] for name in ("use_ignore", "multi_output", "smooth_alpha", "out_grad"))
    return _label_apart(out, label) * grad_scale


add("SoftmaxOutput", lambda x, label, **attrs: softmax(x), dtype=first,
    gradient=lambda g, x, label, **attrs: [_of_class(softmax(x), label, **attrs), None])
add("_softmax_output_backward", _of_class, dtype=first, types=FLOATS)


def _svm(x, label, margin, regularization_coefficient, use_linear):
    made = np.zeros_like(x)
    for spot in np.ndindex(x.shape):
        side = 1 if spot[1] == int(label[spot[0]]) else -1
        missing = margin - side * x[spot]
        if missing > 0:
            made[spot] = -side * regularization_coefficient * (1 if use_linear else 2 * missing)
    return made


add("SVMOutput", lambda x, label, **attrs: x.copy(), dtype=first,
    gradient=lambda g, x, label, **attrs: [_svm(x, label, **attrs), None])
add("_svm_output_backward", _svm, dtype=first, types=FLOATS)


def _made_loss(x, grad_scale, valid_thresh, normalization):
    share = {"null": 1, "batch": len(x), "valid": max(1, int((x > valid_thresh).sum()))}[normalization]
    return np.full(x.shape, grad_scale / share)


add("MakeLoss", lambda x, **attrs: x.copy(), gradient=lambda g, x, **attrs: [_made_loss(x, **attrs)])
add("_make_loss_backward", _made_loss)
add("_sigmoid_cross_entropy", lambda x, label: -label * np.log(special.expit(x)) - (1 - label) * np.log(special.expit(-x)),
    dtype=first)
add("_sigmoid_cross_entropy_backward", lambda g, x, label: g * (special.expit(x) - label), types=FLOATS,
    dtype=lambda dtypes, attrs: np.dtype(dtypes[1]))


def _sparse_units(x, moving, **attrs):
    return [x.copy(), moving]


def _sparse_units_trained(x, moving, momentum, **attrs):
    return [x.copy(), momentum * moving + (1 - momentum) * x.mean(axis=0)]


def _sparse_units_gradient(g, x, moving, sparseness_target, penalty, momentum):
    average = momentum * moving + (1 - momentum) * x.mean(axis=0)
    return [g + penalty * ((1 - sparseness_target) / (1 - average) - sparseness_target / average), None]


add("IdentityAttachKLSparseReg", _sparse_units, dtype=first, writes=True, gradient=_sparse_units_gradient,
    trained=_sparse_units_trained)

# normalizations


def _normalized(x, gamma, beta, axes, place, eps):
    """x as (…), normalized along axes; gamma and beta run along the axis ``place``."""
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    along = [-1 if axis == place else 1 for axis in range(x.ndim)]
    made = (x - mean) / np.sqrt(variance + eps) * gamma.reshape(along) + beta.reshape(along)
    return made, mean, np.sqrt(variance + eps)


def _layer_norm(x, gamma, beta, axis, eps, output_mean_var):
    made = _normalized(x, gamma, beta, (axis % x.ndim,), axis % x.ndim, eps)
    return list(made) if output_mean_var else made[0]


def _group_norm(x, gamma, beta, num_groups, eps, output_mean_var):
    parts = x.reshape(len(x), num_groups, -1)
    made, mean, deviation = _normalized(parts, gamma, beta, (2,), 1, eps)
    return [made.reshape(x.shape), mean[..., 0], deviation[..., 0]] if output_mean_var else made.reshape(x.shape)


add("LayerNorm", _layer_norm, dtype=first)
add("GroupNorm", _group_norm, dtype=first)
add("InstanceNorm", lambda x, gamma, beta, eps: _normalized(x, gamma, beta, tuple(range(2, x.ndim)), 1, eps)[0], dtype=first)


def _batch_norm(x, gamma, beta, moving_mean, moving_var, axis, fix_gamma, **attrs):
    return _by_statistics(x, gamma, beta, moving_mean, moving_var, axis, fix_gamma, attrs["eps"])


def _by_statistics(x, gamma, beta, mean, variance, axis, fix_gamma, eps):
    along = [-1 if place == axis % x.ndim else 1 for place in range(x.ndim)]
    mean, variance, beta = (one.reshape(along) for one in (mean, variance, beta))
    return (x - mean) / np.sqrt(variance + eps) * (1 if fix_gamma else gamma.reshape(along)) + beta


def _batch_norm_trained(x, gamma, beta, moving_mean, moving_var, axis, fix_gamma, eps, momentum, **attrs):
    axes = tuple(place for place in range(x.ndim) if place != axis % x.ndim)
    mean, variance = x.mean(axes), x.var(axes)
    return [_by_statistics(x, gamma, beta, mean, variance, axis, fix_gamma, eps),
            momentum * moving_mean + (1 - momentum) * mean, momentum * moving_var + (1 - momentum) * variance]


add("BatchNorm", lambda x, gamma, beta, mean, var, **attrs: [_batch_norm(x, gamma, beta, mean, var, **attrs), mean, var],
    dtype=first, writes=True, trained=_batch_norm_trained)


def _normalize_backward(g, x, gamma, mean, share, *constant, view, fix_gamma):
    """Of ``(x - mean) * share * gamma + beta`` for data, gamma and beta; mean and share follow x unless ``constant``."""
    shape, axes, place = view
    g, x = g.reshape(shape), x.reshape(shape)
    along = [-1 if axis == place else 1 for axis in range(len(shape))]
    rest = tuple(axis for axis in range(len(shape)) if axis != place)
    standard = (x - mean.reshape(mean.shape)) * share
    above = g * (1 if fix_gamma else gamma.reshape(along))
    made = above * share
    if not (constant and constant[0].reshape(-1)[0]):
        made = made - share * above.mean(axes, keepdims=True) - share * standard * (above * standard).mean(axes, keepdims=True)
    scale = np.zeros(gamma.shape) if fix_gamma else (g * standard).sum(rest)
    return [made, scale, g.sum(rest)]


add("_normalize_backward", _normalize_backward, dtype=lambda dtypes, attrs: [dtypes[1], dtypes[2], dtypes[2]], types=FLOATS)


def _unit_length(x, eps, mode):
    axes = {"instance": tuple(range(1, x.ndim)), "channel": (1,), "spatial": tuple(range(2, x.ndim))}[mode]
    return x / np.sqrt(np.sum(x * x, axes, keepdims=True) + eps)


def _window_sum(x, size):
    made, half = np.zeros_like(x), (size - 1) // 2
    for channel in range(x.shape[1]):
        made[:, channel] = x[:, max(0, channel - half): channel + half + 1].sum(axis=1)
    return made


add("L2Normalization", _unit_length)
add("_channel_window_sum", _window_sum)
add("LRN", lambda x, alpha, beta, knorm, nsize: x / (knorm + alpha / nsize * _window_sum(x * x, nsize)) ** beta)

# connectionist temporal classification


def _ctc(x, label, *lengths, use_data_lengths, use_label_lengths, blank_label):
    """The negative logarithm of the sum over all alignments, by Graves' forward variables; Graves et al. 2006, eq. 6."""
    lengths = list(lengths)
    steps = lengths.pop(0).astype(int) if use_data_lengths else [len(x)] * x.shape[1]
    counts = lengths.pop(0).astype(int) if use_label_lengths else None
    blank, padding = (0, 0) if blank_label == "first" else (x.shape[2] - 1, -1)
    losses = []
    for sample in range(x.shape[1]):
        given = label[sample].astype(int)
        given = given[: counts[sample]] if counts is not None else given[: np.argmax(np.append(given, padding) == padding)]
        path = [blank]
        for one in given:
            path += [one, blank]
        chances = log_softmax(x[: steps[sample], sample])
        forward = np.full(len(path), -np.inf)
        forward[:2] = chances[0, path[:2]]
        for row in chances[1:]:
            made = np.full(len(path), -np.inf)
            for place, symbol in enumerate(path):
                before = [forward[place]] + ([forward[place - 1]] if place else [])
                if place > 1 and symbol not in (blank, path[place - 2]):
                    before.append(forward[place - 2])
                made[place] = np.logaddexp.reduce(before) + row[symbol]
            forward = made
        losses.append(-np.logaddexp.reduce(forward[-2:]))
    return np.array(losses)


add("CTCLoss", _ctc, dtype=first)
