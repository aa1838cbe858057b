"""The names of operators in errors and warnings: what users write, not private names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import shown

if TYPE_CHECKING:
    from ..base.types import Attrs

__all__ = ["described", "label"]

_SYMBOLS = {
    "plus": "+", "minus": "-", "mul": "*", "div": "/", "mod": "%", "power": "**", "equal": "==", "not_equal": "!=",
    "greater": ">", "greater_equal": ">=", "lesser": "<", "lesser_equal": "<=",
}
_SCALAR = "_scalar"

#: Operators of other names than the functions, methods or brackets that call them.
_NAMES = {
    "_getitem": "indexing", "_index": "indexing", "_setitem_zeros": "assignment", "_view": "reshape",
    "_sparse_retain": "retain", "_sparse_adagrad_update": "sparse.adagrad_update", "_shuffle": "random.shuffle",
    "_embedding": "Embedding", "_dot_left_gradient": "the gradient of dot", "_dot_right_gradient": "the gradient of dot",
    "_slice_assign_scalar": "slice_assign_scalar", "_backward_gather_nd": "the gradient of gather_nd",
    "_rnn": "RNN", "_softmax_output": "SoftmaxOutput", "_svm_output": "SVMOutput",
}
_PREFIXES = {"_contrib_": "contrib.", "_linalg_": "linalg.", "_random_": "random.", "_sample_": "random."}


def _symbol(name: str) -> tuple[str, bool]:
    """The sign of an operator of an array and a number, and whether the number comes first; "" for other operators."""
    inner = name.removeprefix("_scatter").removeprefix("_").removesuffix(_SCALAR)
    if not name.endswith(_SCALAR):
        return "", False
    turned = inner not in _SYMBOLS and inner[:1] == "r" and inner[1:] in _SYMBOLS
    return _SYMBOLS.get(inner[1:] if turned else inner, ""), turned


def label(name: str) -> str:
    """The name of an operator as users write it."""
    if not name.startswith("_"):
        return name
    if name in _NAMES:
        return _NAMES[name]
    if name.endswith("_backward"):
        return f"the gradient of {label(name.removesuffix('_backward'))}"
    for prefix, group in _PREFIXES.items():
        if name.startswith(prefix):
            return group + name.removeprefix(prefix)
    return _symbol(name)[0] or name.strip("_").removesuffix(_SCALAR)


def described(name: str, attrs: Attrs) -> str:
    """An operator with its attributes, as a call or as the expression it was."""
    sign, turned = _symbol(name)
    if sign:
        return f"{shown(attrs['scalar'])} {sign} data" if turned else f"data {sign} {shown(attrs['scalar'])}"
    return f"{label(name)}({', '.join(f'{key}={shown(value)}' for key, value in attrs.items())})"
