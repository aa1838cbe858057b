"""MXNet's names: of each operator in files, of its attributes and of its outputs, and differences from ours."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base.errors import UnknownNameError
from ..base.literal import literal
from ..core.op import Call, Op, registry
from ..ops import declared as _declared  # noqa: F401 - declares the operators


class Spelling(NamedTuple):
    """An operator under one of its names.

    Attributes
    ----------
    name : str
        What files call it.
    op : Op
    fixed : dict
        Attributes that this name implies.
    renamed : dict
        Attributes that are called otherwise in the registry: MXNet's name -> ours.
    one_shape : bool
        Whether MXNet wants all inputs of one shape where our operator broadcasts; what is unknown is inferred so.
    """

    name: str
    op: Op
    fixed: dict[str, Any]
    renamed: dict[str, str]
    one_shape: bool = False


#: Attributes that MXNet hides as ``__key__`` and also gives as ``key``.
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")

#: What MXNet writes for operators of the registry that have another name here.
_CANONICAL = {"concat": "Concat", "cumsum": "_np_cumsum", "identity": "_copy", "ravel_multi_index": "_ravel_multi_index",
              "unravel_index": "_unravel_index", "trunc": "trunc", "adagrad_update": "_sparse_adagrad_update"}

#: Aliases in the registry that are operators of their own for MXNet.
_OWN_NAMES = frozenset({"_rnn_param_concat", "BatchNorm_v1", "fix"})

_ELEMENTWISE = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or",
                "logical_xor", "maximum", "minimum", "mod", "power", "hypot")

#: Attributes of MXNet without effect here, for any operator; others that are not known raise.
PASSED_OVER = frozenset({"is_int", "num_args", "ctx", "infer_range", "workspace", "cudnn_off", "cudnn_tune", "target_shape",
                         "keep_highest", "lazy_update", "__profiler_scope__"})

#: Names of outputs that are not plain: MXNet has ``name_output`` for one and ``name_output0`` … for several.
_OUTPUTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("BatchNorm", "BatchNorm_v1", "InstanceNorm"), ("output", "mean", "var")),
    **dict.fromkeys(("LayerNorm", "GroupNorm"), ("output", "mean", "std")), "Dropout": ("output", "mask"), "make_loss": ("loss",),
    "RNN": ("output", "state_output", "statecell_output"), "L2Normalization": ("output", "norm"), "LRN": ("output", "tmp_norm"),
}

#: How many outputs MXNet counts, hidden ones too, where it differs from how many the kernel here gives.
_COUNTS = {"_linalg_det": 3, "_linalg_slogdet": 4, "_shuffle": 1, "LeakyReLU": 1}


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _legacy() -> dict[str, tuple[str, str, bool]]:
    """Names of MXNet beside the registry's: name -> (name in files, operator, one shape)."""
    names: dict[str, tuple[str, str, bool]] = {}
    for short, full in (("add", "Plus"), ("sub", "Minus"), ("mul", "Mul"), ("div", "Div")):
        names[f"_{full}"] = (f"elemwise_{short}", f"elemwise_{short}", False)
        names[f"_{full.lower()}"] = names[f"_{full}"]
    names["_grad_add"] = ("_grad_add", "elemwise_add", False)
    for name in _ELEMENTWISE:
        names[f"_{name}"] = (f"_{name}", f"broadcast_{name}", True)
        names[f"_{'_'.join(word.capitalize() for word in name.split('_'))}"] = names[f"_{name}"]
        if f"_{name}_scalar" in registry:
            names[f"_{_camel(name)}Scalar"] = (f"_{name}_scalar", f"_{name}_scalar", False)
    for short in ("plus", "minus", "mul", "div", "rminus", "rdiv", "rmod", "rpower"):
        camel = f"R{short[1:].capitalize()}" if short.startswith("r") else short.capitalize()
        names[f"_{camel}Scalar"] = (f"_{short}_scalar", f"_{short}_scalar", False)
    return names


_LEGACY = _legacy()
_FILLED = {"_zeros": 0.0, "_ones": 1.0, "_zeros_without_dtype": 0.0}
_spellings: dict[str, Spelling] = {}


def is_known(name: str) -> bool:
    """Whether MXNet or the registry has an operator of that name that is here."""
    return name in registry or name in _LEGACY or name in _FILLED or name == "_np_cumsum" or (
        name.startswith("_sparse_") and name.removeprefix("_sparse_") in registry)


def spelling_of(name: str) -> Spelling:
    """The operator that MXNet or the registry calls ``name``.

    Raises
    ------
    UnknownNameError
        If there is no such operator.
    """
    spelling = _spellings.get(name)
    if spelling is None:
        spelling = _spellings[name] = _make(name)
    return spelling


def _make(name: str) -> Spelling:
    if name in _FILLED:
        return Spelling(name, registry["_full"], {"value": _FILLED[name]}, {"dtype": "dtype_"})
    if name in _LEGACY:
        written, op_name, one_shape = _LEGACY[name]
        return Spelling(written, registry[op_name], {}, {}, one_shape)
    if name == "_np_cumsum":
        return Spelling(name, registry["cumsum"], {}, {})
    own = name if name in registry else name.removeprefix("_sparse_")
    if own not in registry:
        raise UnknownNameError.of("operator", name, (key for key in registry if not key.startswith("_")))
    op = registry[own]
    written = own if own in _OWN_NAMES else _CANONICAL.get(own) or _CANONICAL.get(op.name, op.name)
    return Spelling(written, op, {}, {"dtype": "dtype_"} if "dtype_" in op.attrs else {})


def output_names(written: str, call: Call) -> tuple[str, ...]:
    """What MXNet appends to a node's name for each of its outputs, hidden outputs included."""
    own = getattr(call.op, "suffixes", None)
    if own is not None:
        return tuple(own)
    names = _OUTPUTS.get(written)
    if names is not None:
        return names[: call.visible] if written == "RNN" else names
    count = _COUNTS.get(written, call.outputs)
    return ("output",) if count == 1 and written != "SliceChannel" else tuple(f"output{place}" for place in range(count))


def adjusted(op: Op, attrs: dict[str, Any]) -> dict[str, Any]:
    """The registry's attributes, where it takes them otherwise than MXNet."""
    if op.name == "_arange" and attrs.get("stop") is None:
        return {**attrs, "start": 0, "stop": attrs.get("start", 0)}
    if op.name.startswith("_random_") and not op.inputs:
        shape = attrs.get("shape")
        shape = literal(shape) if isinstance(shape, str) else shape
        return {**attrs, "shape": (1,) if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)}
    return attrs
