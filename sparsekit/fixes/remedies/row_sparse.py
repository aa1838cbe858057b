"""A row-sparse gradient for a weight that batches hardly reach: of layers, of a layer of one's own, of a variable."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...base.formatting import format_count
from ...core import hooks
from ...gluon.block import Block
from ...gluon.nn import Dense, Embedding
from ...gluon.parameter import Parameter
from ...gluon.trainer import Trainer
from ...ndarray.creation import array
from ...ndarray.ndarray import NDArray
from ..candidate import Candidate
from ..source import calls
from .base import Look, Remedy, argument, at, constant, named
from .optimizer import exact

if TYPE_CHECKING:
    from ..live import Place
    from ..source import Edit, Source


class RowSparseGradient(Remedy):
    """Give the weight a row-sparse gradient."""

    name = "row-sparse gradient"
    rules = ("dense_gradient",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each weight that the advice names, and one with exact updates, if lazy ones change the answer."""
        for candidate in self._candidates(look):
            yield replace(candidate, otherwise=tuple(_with(candidate, exact(look, trainer)) for trainer in
                                                     look.program.originals(Trainer) if trainer.optimizer._missed))

    def _candidates(self, look: Look) -> Iterator[Candidate]:
        for finding in look.findings_of("dense_gradient"):
            event = finding.event
            shape = tuple(event["outputs"][0]["shape"]) if event and event["outputs"] else ()
            blocks = [layer for layer in look.program.originals(Block) if event and layer.name == event["layer"]]
            for block in blocks:
                yield from self._of_block(look, block, shape)
            if not blocks:
                yield from self._of_variable(look, shape)

    def _of_block(self, look: Look, block: Block, shape: tuple[int, ...]) -> Iterator[Candidate]:
        if isinstance(block, Dense):
            if not block._is_transposed:
                trainers = look.program.originals(Trainer)
                edits, where, why = _constructor(look, "Dense", {0: ("units", block._units), 6: ("in_units", block._in_units)},
                                                 "weight_grad_stype")
                yield Candidate(self.name, f"{block.name}: Dense(…, weight_grad_stype='row_sparse')", where, edits,
                                partial(_transpose_dense, block, trainers), unpatched=why, transposed=(block.weight,),
                                lines=f"nn.Dense({block._units}, …, weight_grad_stype='row_sparse')  # {block.name}")
        elif isinstance(block, Embedding):
            rows, width = block.weight.shape
            edits, where, why = _constructor(look, "Embedding", {0: ("input_dim", rows), 1: ("output_dim", width)},
                                             "sparse_grad", "True")
            yield Candidate(self.name, f"{block.name}: Embedding(…, sparse_grad=True)", where, edits,
                            partial(_sparse_embedding, block), unpatched=why,
                            lines=f"nn.Embedding({rows}, {width}, sparse_grad=True)  # {block.name}")
        else:
            yield from self._of_own(look, block, shape)

    def _of_own(self, look: Look, block: Block, shape: tuple[int, ...]) -> Iterator[Candidate]:
        """Of a block of the user's own: by ``dot`` in place of ``FullyConnected``, or with another ``grad_stype``."""
        weights = {name: parameter for name, parameter in block._reg_params.items()
                   if parameter.shape == shape and parameter.grad_stype == "default"}
        for name, weight in weights.items():
            forward = _fully_connected(look, block, name)
            if forward is None:
                edit = _getter(look, block, weight, swap=False)
                yield Candidate(self.name, f"{weight.name}: grad_stype='row_sparse'", edit[1], edit[0],
                                partial(_set_stype, weight), unpatched=edit[2],
                                lines=f"self.params.get('{name}', …, grad_stype='row_sparse')")
                continue
            source, call = forward
            edits, where, why = _getter(look, block, weight, swap=True)
            yield Candidate(self.name, f"{weight.name}: {format_count(shape[1])} × {format_count(shape[0])} with "
                            "grad_stype='row_sparse', and dot in place of FullyConnected", where or at(source, call),
                            (*edits, source.replace(call, _as_dot(source, call))),
                            partial(_transpose, weight, look.program.originals(Trainer)), unpatched=why, transposed=(weight,),
                            lines=f"self.params.get('{name}', shape={shape[::-1]}, grad_stype='row_sparse')")

    def _of_variable(self, look: Look, shape: tuple[int, ...]) -> Iterator[Candidate]:
        """Of an array with ``attach_grad``."""
        for variable in look.program.originals(NDArray):
            if variable.shape != shape or variable._entry is None or variable.grad is None or variable.grad.stype != "default":
                continue
            path = look.program.path_of(variable)
            matching = [(source, call) for source, call in look.everywhere(lambda call: named(call) == "attach_grad")
                        if source.text_of(call).startswith(f"{path}.")]
            edits = tuple(source.keyword(call, "stype", '"row_sparse"') for source, call in matching[:1])
            yield Candidate(self.name, f"{path}: attach_grad(stype='row_sparse')", at(*matching[0]) if matching else "", edits,
                            partial(_attach, variable),
                            lines=f"{path}.attach_grad(stype='row_sparse')",
                            unpatched="" if matching else f"no {path}.attach_grad() is in the program's text")


def _with(candidate: Candidate, other: Candidate) -> Candidate:
    """Two candidates as one."""
    return replace(candidate, what=f"{candidate.what}, and {other.what}", edits=(*candidate.edits, *other.edits),
                   change=partial(_both, candidate.change, other.change), lines=f"{candidate.lines}\n{other.lines}",
                   unpatched=candidate.unpatched or other.unpatched)


def _constructor(look: Look, name: str, sizes: dict[int, tuple[str, int]], keyword: str,
                 value: str = '"row_sparse"', place: Place | None = None) -> tuple[tuple[Edit, ...], str, str]:
    """The edit of the call that made a layer, its place, and why there is none.

    The call is the one at ``place``, or the only one that fits.
    """
    def fits(source: Source, call: ast.Call) -> bool:
        for place, (argument_name, size) in sizes.items():
            expression = argument(call, place, argument_name)
            if isinstance(expression, ast.Constant) and expression.value not in (size, 0):
                return False
        return True
    if place is not None:
        matching = [(source, call) for source in look.texts() for call in calls(source.tree, lambda call: True)
                    if (source.file, call.lineno, call.end_lineno, call.col_offset, call.end_col_offset) == place]
    else:
        matching = [(source, call) for source, call in look.everywhere(lambda call: named(call) == name) if fits(source, call)]
    if len(matching) != 1:
        why = f"no call of {name} that fits is in the program's text" if not matching else (
            f"{len(matching)} calls of {name} fit: " + ", ".join(at(*match_at) for match_at in matching))
        return (), "", why
    source, call = matching[0]
    return (source.keyword(call, keyword, value),), at(source, call), ""


def _fully_connected(look: Look, block: Block, name: str) -> tuple[Source, ast.Call] | None:
    """The call of FullyConnected with this weight in the forward function of a block's class."""
    for source, node, function in look.parts():
        if function.__name__ in ("hybrid_forward", "forward") and function in [vars(cls).get(function.__name__)
                                                                             for cls in type(block).__mro__]:
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and named(call) == "FullyConnected":
                    weight = argument(call, 1, "weight")
                    if weight is not None and source.text_of(weight) in (name, f"self.{name}.data()"):
                        return source, call
    return None


def _as_dot(source: Source, call: ast.Call) -> str:
    """``F.sparse.dot(x, weight) + bias`` for ``F.FullyConnected(x, weight, bias, …)``."""
    data, weight, bias = (argument(call, place, name) for place, name in enumerate(("data", "weight", "bias")))
    space = source.text_of(call.func.value) if isinstance(call.func, ast.Attribute) else "F"
    assert data is not None
    assert weight is not None
    text = f"{space}.sparse.dot({source.text_of(data)}, {source.text_of(weight)})"
    if bias is None or constant(argument(call, 4, "no_bias")) is True:
        return text
    text = f"{text} + {source.text_of(bias)}"
    return text if isinstance(source.parent(call), (ast.Return, ast.Assign)) else f"({text})"


def _getter(look: Look, block: Block, weight: Parameter, swap: bool) -> tuple[tuple[Edit, ...], str, str]:
    """The edits of ``params.get(name, shape=…)`` or ``Parameter(name, shape=…)`` in the block's class, their place, why none."""
    classes = [cls.__name__ for cls in type(block).__mro__]
    for source, call in look.everywhere(lambda call: named(call) in ("get", "Parameter")):
        own = next((definition.name for definition in source.around(call, ast.ClassDef)), "")
        if own not in classes or not str(constant(argument(call, 0, "name")) or "-").endswith(weight.name[len(block.prefix):]):
            continue
        edits = [source.keyword(call, "grad_stype", '"row_sparse"')]
        shape = argument(call, 2 if named(call) == "Parameter" else 9, "shape")
        if swap:
            if not isinstance(shape, ast.Tuple) or len(shape.elts) != 2:
                return (), at(source, call), "the shape of the weight is no pair in the program's text"
            edits.append(source.replace(shape, f"({source.text_of(shape.elts[1])}, {source.text_of(shape.elts[0])})"))
        return tuple(edits), at(source, call), ""
    return (), "", f"the line that makes {weight.name} was not found"


# --------------------------------------------------------------------------- what edited lines that ran before have made


def _both(*changes: Callable[[], None] | None) -> None:
    for change in changes:
        if change is not None:
            change()


def _attach(variable: NDArray) -> None:
    variable.attach_grad(stype="row_sparse")


def _set_stype(weight: Parameter) -> None:
    """Give a parameter a row-sparse gradient in place of the one that it has."""
    weight._grad_stype = "row_sparse"
    weight._attach()


def _sparse_embedding(block: Embedding) -> None:
    block._kwargs = {**block._kwargs, "sparse_grad": True}
    _set_stype(block.weight)


def _transpose_dense(block: Dense, trainers: Sequence[Trainer]) -> None:
    block._is_transposed = block.weight._is_transposed = True
    _transpose(block.weight, trainers)


def _transpose(weight: Parameter, trainers: Sequence[Trainer]) -> None:
    """Turn a parameter's values, and what optimizers keep for it; its gradient becomes row-sparse."""
    shape = weight._shape or ()
    weight._shape = shape[::-1]
    weight._grad_stype = "row_sparse"
    if weight._arrays:
        contexts = list(weight._arrays)
        weight._hold(weight.list_data()[0].asnumpy().T.copy(), contexts)
    for trainer in trainers:
        for place, parameter in enumerate(trainer._params):
            if parameter is weight:
                for updater in trainer._updaters:
                    if place in updater.states:
                        updater.states[place] = _turned(updater.states[place], shape, weight.name)


def _turned(state: Any, shape: tuple[int, ...], owner: str) -> Any:  # Any: a state is None, an array, or a tuple of states
    if isinstance(state, (tuple, list)):
        return type(state)(_turned(part, shape, owner) for part in state)
    if state is None or tuple(state.shape) != tuple(shape):
        return state
    turned = array(state.asnumpy().T.copy(), ctx=state.context, dtype=state.dtype)
    hooks.assign(turned, "optimizer state", owner)
    return turned
