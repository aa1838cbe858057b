"""Optimizer steps with one learning rate for all elements: gradient descent and its relatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base import rng
from ...core import cost, infer
from ...core.op import REQUIRED
from ...storage import RowSparse
from ..random.distributions import DISTRIBUTIONS
from .update import Update, apply_step, declare, example, first_type, never, rows_for, rows_of

if TYPE_CHECKING:
    from ...base.types import Attrs
    from ...kernels.types import Kernels
    from ...storage.types import Weight

_TAIL = {"rescale_grad": 1.0, "clip_gradient": -1.0}
_LAZY, _ALL = {**_TAIL, "lazy_update": True}, {**_TAIL, "lazy_update": False}


def _no_decay(attrs: Attrs) -> bool:
    return bool(attrs["wd"] == 0)


sgd_update = declare(
    "sgd_update", "", "sgd_step", {"lr": REQUIRED, "wd": 0.0, **_LAZY}, lambda lr, wd: (lr, wd),
    "Stochastic gradient descent: ``weight -= lr * (g + wd * weight)``.", idle=_no_decay)

sgd_mom_update = declare(
    "sgd_mom_update", "mom", "momentum_step", {"lr": REQUIRED, "momentum": 0.0, "wd": 0.0, **_LAZY},
    lambda lr, momentum, wd: (lr, momentum, wd),
    "Gradient descent with momentum: ``mom = momentum * mom - lr * (g + wd * weight); weight += mom``.")

nag_mom_update = declare(
    "nag_mom_update", "mom", "nesterov_step", {"lr": REQUIRED, "momentum": 0.0, "wd": 0.0, **_ALL},
    lambda lr, momentum, wd: (lr, momentum, wd),
    "Nesterov's accelerated gradient: ``g += wd * weight; mom = momentum * mom - lr * g; "
    "weight += momentum * mom - lr * g``.  (Written in place, MXNet takes the decay in mom from the new weight.)")

signsgd_update = declare(
    "signsgd_update", "", "sign_step", {"lr": REQUIRED, "wd": 0.0, **_ALL}, lambda lr, wd: (lr, wd),
    "Steps of one size: ``weight -= lr * (sign(grad) + wd * weight)``; the sign needs no factor and no bound.",
    idle=_no_decay)

signum_update = declare(
    "signum_update", "mom", "sign_momentum_step",
    {"lr": REQUIRED, "momentum": 0.0, "wd": 0.0, **_TAIL, "wd_lh": 0.0, "lazy_update": False},
    lambda lr, momentum, wd, wd_lh: (lr, momentum, 1 - momentum, wd, wd_lh),
    "Sign of the momentum: ``mom = momentum * mom - (1 - momentum) * (g + wd * weight); "
    "weight += lr * (sign(mom) - wd_lh * weight)``.")

dcasgd_update = declare(
    "dcasgd_update", "previous_weight", "compensated_step", {"lr": REQUIRED, "lamda": 0.04, "wd": 0.0, **_ALL},
    lambda lr, wd, lamda: (lr, wd, lamda),
    "Gradient descent with delay compensation: ``weight -= lr * (g + wd * weight + lamda * g * g * (weight - "
    "previous_weight))``, and previous_weight becomes the weight before the step.")

dcasgd_mom_update = declare(
    "dcasgd_mom_update", "previous_weight mom", "compensated_momentum_step",
    {"lr": REQUIRED, "momentum": 0.0, "lamda": 0.04, "wd": 0.0, **_ALL},
    lambda lr, wd, lamda, momentum: (lr, wd, lamda, momentum),
    "``dcasgd_update`` whose step is added to ``momentum * mom``.")

sgld_update = Update(
    "sgld_update", "weight grad", attrs={"lr": REQUIRED, "wd": 0.0, **_ALL}, shape=infer.same_shape, dtype=first_type,
    lane="update", cost=cost.update, mutates=(0,), random=True, sample=example(0, lr=0.1),
    doc="Langevin dynamics: ``weight += normal(0, sqrt(lr)) - lr / 2 * (g + wd * weight)``.\n\n"
        "With a row_sparse gradient and ``lazy_update=True`` only the rows that the gradient stores move; otherwise all "
        "rows get noise.  ``clip_gradient`` bounds ``g``, the gradient times ``rescale_grad``, and is off when negative.",
    step=sgd_update.step._replace(idle=never))  # there is noise without a gradient too


def _langevin(k: Kernels, weight: Weight, grad: Weight, attrs: Attrs) -> Weight:
    apply_step(k, sgld_update.step, {**attrs, "lr": attrs["lr"] / 2}, weight, grad, ())
    values = rows_of(k, weight)
    rows = grad.indices if isinstance(grad, RowSparse) and attrs["lazy_update"] else slice(None)
    shape = values.shape if isinstance(rows, slice) else (rows.shape[0], *values.shape[1:])
    kind = np.float64 if values.dtype == np.float64 else float  # the numbers of mx.random.normal in the weight's element type
    noise = DISTRIBUTIONS["normal"].draw(rng.generator(), shape, kind(0), kind(math.sqrt(attrs["lr"])))
    values[rows] += k.xp.asarray(noise, values.dtype)
    return weight


rows_for(sgld_update, 1, _langevin)
