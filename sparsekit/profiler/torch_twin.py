"""Whether a weight of a PyTorch program can have a sparse gradient: tried on a small twin of its layer and its optimizer."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from .torch_types import (
        Torch,
        TorchArgument,
        TorchClass,
        TorchFunction,
        TorchModule,
        TorchOptimizer,
        TorchOptions,
        TorchTensor,
        TorchType,
    )

    #: An optimizer: its class, and the options of its group of parameters.
    Optimizer: TypeAlias = tuple[TorchClass, TorchOptions]
    #: An operator that the program applies to the gradient, and its arguments.
    Use: TypeAlias = tuple[TorchFunction, tuple[TorchArgument, ...], TorchOptions]

#: Name of the span in which a twin is tried; its arguments are the parameter and what to write, empty if nothing works.
TRIED = "sparse gradient tried"

#: What is advised for a weight whose optimizer refuses a sparse gradient.
OWN_OPTIMIZER = "an optimizer of its own"

#: Rows and columns of a twin's weight, and its steps, in the first half of which every row is looked up.
ROWS, WIDTH, STEPS = 8, 2, 24

#: What stands in the arguments of an operator for the gradient, and for dense tensors of its shape.
GRADIENT, LIKE_GRADIENT = "the gradient", "a tensor of its shape"

#: Why an optimizer is not advised that takes sparse gradients.
_GROWS = "the state of its optimizer would grow with every batch"

#: What is advised for a weight whose rows are looked up without a layer.
_LOOK_UP = "Look its rows up with"

_CALLS_BACK = "its optimizer calls the program for gradients, and keeps those of all weights as one dense tensor"

#: What to do where the norm of a sparse gradient is all that PyTorch refuses.
_CLIPPED = ("; one that is clipped by its stored values is taken, with the same result: coalesce() it, pass its values() with "
            "the other gradients to nn.utils.get_total_norm, and the norm to nn.utils.clip_grads_with_norm_")

#: Options with which an optimizer refuses sparse gradients, or has a state that grows.
_REFUSED = ("weight_decay", "momentum")

#: Options of the layers, beside sizes and ``sparse``.
_EMBEDDING = ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq")
_BAG = (*_EMBEDDING, "mode", "include_last_offset")


class Subject(NamedTuple):
    """A parameter whose gradient is dense and mostly zero.

    Attributes
    ----------
    shape : tuple of int
    dtype, device : object
    axis : str
        ``"rows"`` or ``"columns"``: which of them are mostly zero.
    read : str
        How a program without an embedding layer reads the weight: ``"rows"``, sums of rows as ``"bags"``, ``"product"`` with a
        sparse tensor, or empty.
    kind : type or None
        Class of the module that has the parameter.
    options : dict
        Options of that module, if it is an embedding.
    """

    shape: tuple[int, ...]
    dtype: TorchType
    device: Torch
    axis: str
    read: str
    kind: type | None
    options: TorchOptions

    @classmethod
    def of(cls, torch: Torch, weight: TorchTensor, module: TorchModule | None, axis: str, read: str) -> Subject:
        """The subject of a parameter."""
        names = (_BAG if isinstance(module, torch.nn.EmbeddingBag) else _EMBEDDING if isinstance(module, torch.nn.Embedding)
                 else ())
        return cls(tuple(weight.shape), weight.dtype, weight.device, axis, read, None if module is None else type(module),
                   {name: getattr(module, name) for name in names})


def optimizer_of(optimizer: TorchOptimizer, parameter: TorchTensor) -> Optimizer:
    """The class of an optimizer, and copies of the options that the program gave it for a parameter."""
    group = next(group for group in optimizer.param_groups if any(trained is parameter for trained in group["params"]))
    options = {name: copy.deepcopy(value) for name, value in group.items() if name not in ("params", "param_names", "initial_lr")}
    # A scheduler keeps the rate that the program gave; the present one is that of a step.
    return type(optimizer), {**options, **({"lr": group["initial_lr"]} if "initial_lr" in group else {})}


def as_template(tensor: TorchType, value: TorchArgument, owner: str, name_of: Callable[[TorchTensor], str],
                shape: tuple[int, ...]) -> TorchArgument:
    """An argument of an operator that takes the gradient of ``owner``, with words in the place of tensors."""
    if isinstance(value, tensor):
        if name_of(value) == owner:
            return GRADIENT
        return LIKE_GRADIENT if value.shape == shape else value.detach().clone() if value.numel() == 1 else None
    if isinstance(value, (list, tuple)):
        parts = [as_template(tensor, item, owner, name_of, shape) for item in value]
        return [GRADIENT] if GRADIENT in [part for part in parts if isinstance(part, str)] else parts
    return value


def sparse_way(torch: Torch, subject: Subject, optimizer: Optimizer | None, uses: Sequence[Use]) -> tuple[str, str]:
    """What to write so that a weight gets a sparse gradient, in PyTorch; empty if PyTorch refuses all that is known, and why.

    A layer is tried with the weight's own optimizer first, then with that optimizer unfused, and in place of Adam with
    SparseAdam.  What raises, and what has a state that grows with every batch, is not said.
    """
    words, layer, code = _layer(torch, subject)
    if layer is None:
        return "", "no layer of PyTorch that has a sparse gradient reads it as this program does"
    if optimizer is None:
        why = _refusal(torch, subject, layer, (torch.optim.SGD, {"lr": 0.1}), uses)
        return ("" if why else f"{words} {code}. torch.optim.SGD takes its gradient without momentum and weight_decay, Adagrad "
                               "without weight_decay, and SparseAdam."), why
    reasons = []
    for number, (kind, options) in enumerate(_optimizers(torch, *optimizer)):
        reasons.append(_refusal(torch, subject, layer, (kind, options), uses))
        if not reasons[-1]:
            if not number:
                return f"{words} {code}. {kind.__name__} takes its gradient.", ""
            lazy = " It moves only rows that the batch reaches." if kind is torch.optim.SparseAdam else ""
            return f"{words} {code}, and give its weight {OWN_OPTIMIZER}, {_written(kind, options)}.{lazy}", ""
    return "", reasons[0] + _in_the_way(torch, subject, layer, optimizer, uses)


def returned_way(torch: Torch, subject: Subject) -> tuple[str, str]:
    """What to write so that ``torch.autograd.grad`` and ``torch.func.grad`` return a sparse gradient; or why there is none."""
    words, layer, code = _layer(torch, subject)
    if layer is None:
        return "", "no layer of PyTorch that has a sparse gradient reads it as this program does"
    # The plainest update stands for the program's own.
    why = _refusal(torch, subject, layer, (torch.optim.SGD, {"lr": 0.1}), [])
    return ("" if why else f"{words} {code}. torch.autograd.grad and torch.func.grad then return a sparse gradient, which an "
                           "update such as weight - rate * gradient takes."), why


def _in_the_way(torch: Torch, subject: Subject, layer: TorchClass, optimizer: Optimizer, uses: Sequence[Use]) -> str:
    """Without which option PyTorch would take a sparse gradient, as the end of a sentence; empty if it is none of some."""
    kind, options = optimizer
    others = [use for use in uses if "_norm" not in str(use[0])]
    if len(others) < len(uses) and hasattr(torch.nn.utils, "get_total_norm") and any(
            not _refusal(torch, subject, layer, candidate, others) for candidate in _optimizers(torch, kind, options)):
        return _CLIPPED
    for name in _REFUSED:
        if options.get(name):
            less = {**options, name: type(options[name])(), **({"nesterov": False} if "nesterov" in options else {})}
            for other, settings in _optimizers(torch, kind, less):
                if not _refusal(torch, subject, layer, (other, settings), uses):
                    return f"; {other.__name__} without {name} takes one, which is another training"
    return ""


def _layer(torch: Torch, subject: Subject) -> tuple[str, TorchClass, str]:
    """The words before the layer that would have a sparse gradient, its class, and its code; None if there is none."""
    nn, kind = torch.nn, subject.kind
    if len(subject.shape) != 2:
        return "", None, ""
    rows, width = subject.shape if subject.axis == "rows" else subject.shape[::-1]
    if subject.options:
        layer, words = (nn.EmbeddingBag if "mode" in subject.options else nn.Embedding), "Make the layer with"
    elif subject.axis == "rows" and subject.read == "rows":
        layer, words = nn.Embedding, _LOOK_UP
    elif subject.axis == "rows" and subject.read == "bags":
        layer, words = nn.EmbeddingBag, _LOOK_UP
    elif subject.axis == "rows" and subject.read == "product":
        layer, words = nn.EmbeddingBag, ("Instead of the product, add up rows, with the stored values of the sparse tensor as "
                                         "per_sample_weights, by")
    elif subject.axis == "rows" and not subject.read and not (kind is not None and kind.__module__.startswith("torch.")):
        layer, words = nn.EmbeddingBag, ("If what multiplies it is mostly zero, as what one_hot gives, pass only the indices of "
                                         "the others, with their values as per_sample_weights, to")
    elif subject.axis == "columns" and kind is not None and issubclass(kind, nn.Linear):
        layer, words = nn.EmbeddingBag, ("If most inputs are zero, pass only the indices of the others, with their values as "
                                         "per_sample_weights, to")
    else:
        return "", None, ""
    options = subject.options or ({"mode": "sum"} if layer is nn.EmbeddingBag else {})
    default = inspect.signature(layer.__init__).parameters
    if words == _LOOK_UP:
        name = "embedding" if layer is nn.Embedding else "embedding_bag"
        return words, layer, f"torch.nn.functional.{name}(numbers, weight, sparse=True)"
    arguments = [str(rows), str(width),
                 *(f"{name}={value!r}" for name, value in options.items() if value != default[name].default)]
    # A bag has no bias, and its weight is that of a wide layer transposed.
    more = " of the weight transposed, and add the bias" if subject.axis == "columns" else ""
    return words, layer, f"nn.{layer.__name__}({', '.join(arguments)}, sparse=True){more}"


def _optimizers(torch: Torch, kind: TorchClass, options: TorchOptions) -> list[Optimizer]:
    """An optimizer, and those that do as it does but for the layout of the gradient."""
    optimizers: list[Optimizer] = [(kind, options)]
    if options.get("fused"):
        optimizers.append((kind, {**options, "fused": False}))
    if kind in (torch.optim.Adam, torch.optim.AdamW) and not options["weight_decay"] and not options["amsgrad"]:
        optimizers.append((torch.optim.SparseAdam, {name: options[name] for name in ("lr", "betas", "eps", "maximize")}))
    return optimizers


def _written(kind: TorchClass, options: TorchOptions) -> str:
    """The line that makes an optimizer of one weight."""
    default = {name: parameter.default for name, parameter in inspect.signature(kind.__init__).parameters.items()}
    plain = {name: value if isinstance(value, (int, float, tuple)) else f"{float(value):.7g}" for name, value in options.items()
             if value is not None}
    arguments = "".join(f", {name}={plain[name]}" for name, value in options.items()
                    if name in plain and (name in ("lr", "betas", "eps", "fused") or value != default.get(name, value)))
    return f"torch.optim.{kind.__name__}([weight]{arguments})"


def _refusal(torch: Torch, subject: Subject, layer: TorchClass, optimizer: Optimizer, uses: Sequence[Use]) -> str:
    """Why a twin does not train with a sparse gradient; empty if it does, and its optimizer's state grows with no batch."""
    try:
        with torch.inference_mode(False), torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _trained(torch, subject, layer, optimizer, uses)
    except Exception as error:  # PyTorch, or the optimizer, refuses
        return (str(error).splitlines() or [type(error).__name__])[0].partition(". ")[0].rstrip(".")


def _trained(torch: Torch, subject: Subject, layer: TorchClass, optimizer: Optimizer, uses: Sequence[Use]) -> str:
    options = dict(subject.options) or ({"mode": "sum"} if layer is torch.nn.EmbeddingBag else {})
    if options.get("padding_idx") is not None:
        options["padding_idx"] = 0
    values = torch.ones(ROWS, WIDTH, dtype=subject.dtype, device=subject.device)
    twin = layer(ROWS, WIDTH, **options, sparse=True, _weight=values)
    kind, settings = optimizer
    names = inspect.signature(kind.__init__).parameters
    stepper = kind([{"params": [twin.weight], **settings}], **{key: value for key, value in settings.items() if key in names})
    step, sizes = inspect.unwrap(kind.step), []  # without the hooks of the program, which are not about the twin
    closure = inspect.signature(step).parameters.get("closure")
    if closure is not None and closure.default is closure.empty:
        return _CALLS_BACK
    for number in range(STEPS):
        twin.weight.grad = None
        numbers = torch.tensor([number, number + 1, number + 3, number + 1], device=subject.device) % ROWS
        weights = {"per_sample_weights": values[:, 0].new_ones(2, 2)} if options.get("mode") == "sum" else {}
        batch = numbers if layer is torch.nn.Embedding else numbers.reshape(2, 2)
        twin.forward(batch, **weights).sum().backward()
        if twin.weight.grad.layout is not torch.sparse_coo:
            return "PyTorch gives this layer a dense gradient"
        if number == 0:
            for use in uses:
                _applied(torch, use, twin.weight.grad)
        with torch.no_grad():
            step(stepper)
        states = tensors_in(torch, stepper.state)
        if any(value.layout is torch.sparse_coo and value._nnz() > ROWS for value in states):
            return _GROWS  # it stores rows several times, as SGD's momentum does
        sizes.append(len(states))
    return "" if sizes[STEPS // 2] == sizes[-1] else _GROWS


def tensors_in(torch: Torch, value: object) -> list[TorchTensor]:  # object: what an optimizer keeps
    """The tensors in nested dicts, lists and tuples."""
    if isinstance(value, torch.Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in inner for tensor in tensors_in(torch, item)]


def _applied(torch: Torch, use: Use, gradient: TorchTensor) -> None:
    """Call an operator of the program on a sparse gradient."""
    func, args, kwargs = use
    # The scaler of mixed precision itself passes the stored values of a sparse gradient.
    held = gradient._values().clone() if "_amp_" in str(func) else gradient.clone()
    stands = {GRADIENT: held, LIKE_GRADIENT: torch.ones(gradient.shape, dtype=gradient.dtype, device=gradient.device)}

    def filled(value: TorchArgument) -> TorchArgument:
        if isinstance(value, list):
            return [filled(item) for item in value]
        return stands[value] if isinstance(value, str) and value in stands else value
    with torch.no_grad():
        func(*map(filled, args), **{name: filled(value) for name, value in kwargs.items()})
