"""Parameters of PyTorch that a program reads by row numbers, without a layer: look-ups with sparse gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...profiler.advice import SMALL
from ...profiler.torch_gradients import counted_rows
from ..candidate import Candidate
from ..torch_programs import names_of_weights, torch_of
from .base import Look, Part, Remedy, argument, at, constant, named
from .torch_text import functional, objects_at

if TYPE_CHECKING:
    from ...profiler.torch_types import TorchTensor
    from ..source import Edit


class SparseLookUp(Remedy):
    """Give a parameter whose rows a program looks up without a layer a sparse gradient."""

    name = "sparse look-up (PyTorch)"
    of_torch = True
    rules = ("zero_rows",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each parameter whose gradient is mostly zero rows, with all places that look its rows up."""
        shapes = {count.shape for count in counted_rows(look.profile.records)
                  if count.mostly_zero and count.axis == "rows" and count.bytes - count.as_rows > SMALL}
        looked_up: dict[int, tuple[TorchTensor, list[tuple[str, Edit | None]]]] = {}
        for place in look.parts() if shapes else ():
            for node, held, numbers in _look_ups(place):
                for weight in objects_at(look, place, held):
                    if _is_parameter(weight) and tuple(weight.shape) in shapes:
                        where, edit = at(place.source, node), _edit(look, place, node, held, numbers)
                        looked_up.setdefault(id(weight), (weight, []))[1].append((where, edit))
        names = names_of_weights(look.program) if looked_up else {}
        for weight, reads in looked_up.values():
            edits = tuple(dict.fromkeys(edit for _, edit in reads if edit is not None))
            why = "" if all(edit is not None for _, edit in reads) else "no name stands for torch.nn.functional there"
            name = names.get(id(weight)) or look.program.path_of(weight) or "a parameter"
            yield Candidate(self.name, f"{name}: F.embedding(…, sparse=True)", reads[0][0], () if why else edits, unpatched=why)


def _look_ups(place: Part) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """The expressions of a part that look rows up, each with its weight and its row numbers."""
    for node in ast.walk(place.node):
        look_up = _looked_up(node) if isinstance(node, ast.expr) else None
        if isinstance(node, ast.expr) and look_up is not None:
            yield node, *look_up


def _looked_up(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The weight and the row numbers of an expression that looks rows up; None of any other expression."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        numbers = _first_axis(node.slice)
        return None if numbers is None else (node.value, numbers)
    if not isinstance(node, ast.Call):
        return None
    if named(node) in ("embedding", "embedding_bag"):
        numbers, weight = argument(node, 0, "input"), argument(node, 1, "weight")
        return None if numbers is None or weight is None else (weight, numbers)
    if named(node) == "index_select" and isinstance(node.func, ast.Attribute):
        own = not (isinstance(node.func.value, ast.Name) and node.func.value.id == "torch")
        weight = node.func.value if own else argument(node, 0, "input")
        axis, numbers = argument(node, 1 - own, "dim"), argument(node, 2 - own, "index")
        return None if weight is None or numbers is None or constant(axis) != 0 else (weight, numbers)
    return None


def _first_axis(index: ast.expr) -> ast.expr | None:
    """The row numbers of ``weight[numbers]`` and ``weight[numbers, :]``; None of slices and of single rows."""
    if isinstance(index, ast.Tuple) and len(index.elts) == 2 and _is_whole(index.elts[1]):
        index = index.elts[0]
    single = isinstance(index, ast.UnaryOp) or constant(index) is not None
    return None if single or isinstance(index, (ast.Slice, ast.Tuple, ast.Compare)) else index


def _is_whole(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) and index.lower is None and index.upper is None and index.step is None


def _is_parameter(value: object) -> bool:
    """Whether a value is a weight of two axes that is trained."""
    return isinstance(value, torch_of().Tensor) and value.is_leaf and value.requires_grad and value.dim() == 2


def _edit(look: Look, place: Part, node: ast.expr, weight: ast.expr, numbers: ast.expr) -> Edit | None:
    """The edit that looks the rows up with a sparse gradient; None if the text cannot name the function."""
    if isinstance(node, ast.Call) and named(node) != "index_select":
        return place.source.keyword(node, "sparse", "True")
    space, text = functional(look, place), place.source.text_of
    new = f"{space}.embedding({text(numbers)}, {text(weight)}, sparse=True)"
    return place.source.replace(node, new) if space else None
