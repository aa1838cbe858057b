"""Dense matrices of PyTorch programs that are mostly zero and multiplied in every step: made sparse where they are bound."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...base.formatting import format_percent
from ...profiler.torch_operands import ZeroOperand, of_three_axes, zero_operands
from ..candidate import Candidate
from ..source import Edit
from ..torch_programs import torch_of
from .base import Look, Part, Remedy, argument, at, constant, named
from .torch_text import objects_at

if TYPE_CHECKING:
    from ...profiler.torch_types import TorchTensor
    from ..source import Source


class SparseMatrix(Remedy):
    """Make a matrix that is mostly zero sparse where the program binds it."""

    name = "sparse matrix (PyTorch)"
    of_torch = True
    rules = ("zero_operand",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each matrix: where an attribute holds it, otherwise where a variable does."""
        for operand in zero_operands(look.profile.records):
            patched = operand.kept and operand.way and not of_three_axes(operand)
            for matrix in self._matrices(look, operand) if patched else ():
                candidates = [self._candidate(operand, *binding) for binding in _bindings(look, matrix, operand.way)]
                name = look.program.path_of(matrix) or "a matrix"
                if candidates:
                    first, *rest = candidates
                    yield Candidate(first.remedy, first.what, first.where, first.edits, otherwise=tuple(rest))
                else:
                    yield Candidate(self.name, f"{name}.{operand.way}", operand.line,
                                    unpatched="no line of the program binds it to a name; make it sparse where it is made")

    def _candidate(self, operand: ZeroOperand, name: str, where: str, edit: Edit) -> Candidate:
        share = format_percent(operand.stored / (operand.shape[0] * operand.shape[1]))
        return Candidate(self.name, f"{name}.{operand.way}, {share} of which is not zero", where, (edit,))

    def _matrices(self, look: Look, operand: ZeroOperand) -> list[TorchTensor]:
        """The tensors of the program that an operand may be, each piece of memory once."""
        torch = torch_of()
        tensors = [tensor for tensor in look.program.originals(torch.Tensor)
                   if tensor.layout is torch.strided and tuple(tensor.shape) == operand.shape and not tensor.requires_grad
                   and str(tensor.dtype).endswith(operand.dtype) and int(tensor.count_nonzero()) == operand.stored]
        return list({tensor.data_ptr(): tensor for tensor in reversed(tensors)}.values())


def _bindings(look: Look, matrix: TorchTensor, way: str) -> list[tuple[str, str, Edit]]:
    """Where the text binds a tensor: its name there, the line, and the edit that makes it sparse; variables come last.

    Of the lines that bind a variable, the last makes what is multiplied, but may not have run: ``if cuda: x = x.cuda()``.
    """
    attributes: list[tuple[str, str, Edit]] = []
    variables: dict[tuple[str, str], list[tuple[str, str, Edit]]] = {}
    for place in look.parts():
        for node in ast.walk(place.node):
            buffer = _buffer(look, place, node, matrix) if isinstance(node, ast.Call) else None
            if buffer is not None:
                name, value = buffer
                attributes.append((name, at(place.source, value), place.source.replace(value, _made(place.source, value, way))))
            for target in _targets(node) if isinstance(node, ast.Assign) else ():
                if not any(_same(held, matrix) for held in _held_by(look, place, target)):
                    continue
                assert isinstance(node, ast.Assign)
                edit = _edit(place.source, node, target, way)
                name = place.source.text_of(target)
                if edit is not None and not isinstance(target, ast.Name):
                    attributes.append((name, at(place.source, node), edit))
                elif edit is not None:
                    lines = variables.setdefault((place.source.file, name), [])
                    lines.append((name, at(place.source, node), edit))
    latest = [sorted(lines, key=lambda line: -line[2].start) for lines in variables.values()]
    return [*attributes, *itertools.chain.from_iterable(latest)]


def _same(value: object, matrix: TorchTensor) -> bool:
    torch = torch_of()
    return (isinstance(value, torch.Tensor) and value.layout is torch.strided and value.shape == matrix.shape
            and value.data_ptr() == matrix.data_ptr())


def _held_by(look: Look, place: Part, target: ast.expr) -> list[Any]:  # Any: objects of the program
    """What a name, an attribute, or an item of a dict with a constant key may hold."""
    if not isinstance(target, ast.Subscript):
        return objects_at(look, place, target)
    key = constant(target.slice)
    return [owner[key] for owner in objects_at(look, place, target.value) if isinstance(owner, dict) and key in owner]


def _targets(node: ast.Assign) -> list[ast.expr]:
    """What an assignment binds: names, attributes and items, alone or in a tuple."""
    if len(node.targets) != 1:
        return []
    target = node.targets[0]
    inner = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [part for part in inner if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))]


def _buffer(look: Look, place: Part, call: ast.Call, matrix: TorchTensor) -> tuple[str, ast.expr] | None:
    """The name and the value of ``self.register_buffer("adjacency", value)``, if it is this matrix."""
    name, value = argument(call, 0, "name"), argument(call, 1, "tensor")
    if named(call) != "register_buffer" or not isinstance(call.func, ast.Attribute) or value is None:
        return None
    label = constant(name)
    owners = objects_at(look, place, call.func.value)
    if isinstance(label, str) and any(_same(getattr(owner, label, None), matrix) for owner in owners):
        return f"{place.source.text_of(call.func.value)}.{label}", value
    return None


def _made(source: Source, value: ast.expr, way: str) -> str:
    return f"{source.closed(value)}.{way}"


def _edit(source: Source, statement: ast.Assign, target: ast.expr, way: str) -> Edit | None:
    """The edit that makes what a statement binds sparse; None if there is no line for it."""
    name = source.text_of(target)
    filled = _filled(source, statement, name)
    if statement.targets == [target] and filled is statement:
        return source.replace(statement.value, _made(source, statement.value, way))
    start, stop = source.span(filled)
    before = source.text[:start].rpartition("\n")[2]
    if before.strip():
        return None
    return Edit(source.file, stop, stop, f"\n{before}{name} = {name}.{way}")


def _filled(source: Source, statement: ast.stmt, name: str) -> ast.stmt:
    """The last of the statements after one, in the same block, that write into what it has bound; itself if none does."""
    parent = source.parent(statement)
    blocks = [block for block in (getattr(parent, field, None) for field in ("body", "orelse", "finalbody"))
              if isinstance(block, list) and statement in block]
    following = blocks[0][blocks[0].index(statement) + 1:] if blocks else []
    writing = [later for later in following if any(_writes(source, node, name) for node in ast.walk(later))]
    return writing[-1] if writing else statement


def _writes(source: Source, node: ast.AST, name: str) -> bool:
    """Whether a part of the text writes into a tensor: ``name[rows, columns] = 1``, ``name.fill_diagonal_(1)``."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and source.text_of(node.value) == name
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and named(node).endswith("_")
            and source.text_of(node.func.value) == name)
