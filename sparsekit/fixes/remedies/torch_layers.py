"""Embeddings of PyTorch: sparse gradients, bags in place of look-ups and sums, look-ups in place of products with ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ...base.formatting import format_count
from ...profiler.advice import SMALL
from ...profiler.torch_gradients import counted_rows
from ..candidate import Candidate
from ..live import NOWHERE
from ..torch_programs import names_of_weights, torch_of
from .base import Look, Part, Remedy, argument, at, named
from .row_sparse import _constructor as constructor
from .torch_text import functional, objects_at, over_places, unwrapped

if TYPE_CHECKING:
    from ...profiler.torch_types import TorchModule
    from ..source import Edit


class SparseGradient(Remedy):
    """Give an embedding a sparse gradient."""

    name = "sparse gradient (PyTorch)"
    of_torch = True
    rules = ("zero_rows",)

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each embedding whose gradient is mostly zero rows."""
        torch = torch_of()
        counted = {(count.module, count.shape) for count in counted_rows(look.profile.records)
                 if count.mostly_zero and count.bytes - count.as_rows > SMALL}
        alike: dict[tuple[Edit, ...] | int, list[TorchModule]] = {}  # one line may make several layers
        for module in look.program.originals(torch.nn.Module) if counted else ():
            kind, shape = type(module).__name__, tuple(getattr(getattr(module, "weight", None), "shape", ()))
            if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and (kind, shape) in counted:
                edits, _, _ = self._edits(look, module)
                alike.setdefault(edits or id(module), []).append(module)
        names = names_of_weights(look.program) if alike else {}
        for modules in alike.values():
            yield self._of(look, modules, [names[id(module.weight)] for module in modules])

    def _of(self, look: Look, modules: list[TorchModule], names: list[str]) -> Candidate:
        kind, (rows, width) = _kind(modules[0]), modules[0].weight.shape
        edits, where, why = self._edits(look, modules[0])
        others = f" and {names[1] if len(names) == 2 else f'{len(names) - 1} others'}" if len(names) > 1 else ""
        return Candidate(self.name, f"{names[0]}{others}: nn.{kind}(…, sparse=True)", where, edits, partial(_sparse, *modules),
                         unpatched=why, lines=f"nn.{kind}({rows}, {width}, sparse=True)  # {names[0]}")

    def _edits(self, look: Look, module: TorchModule) -> tuple[tuple[Edit, ...], str, str]:
        """The edits of the line that makes a layer, where it stands, and why there are none."""
        rows, width = module.weight.shape
        sizes = {0: ("num_embeddings", rows), 1: ("embedding_dim", width)}
        place = look.program.made_at(module)
        edits, where, why = constructor(look, _kind(module), sizes, "sparse", "True", place)
        return edits, where, "a library makes it; have that pass sparse=True" if place == NOWHERE else why


def _kind(module: TorchModule) -> str:
    return "Embedding" if isinstance(module, torch_of().nn.Embedding) else "EmbeddingBag"


def _sparse(*modules: TorchModule) -> None:
    for module in modules:
        module.sparse, module.weight.grad = True, None


class Bag(Remedy):
    """Add looked-up rows up while they are looked up: ``embedding_bag`` in place of ``embedding(tokens).sum(1)``."""

    name = "embedding bag (PyTorch)"
    of_torch = True

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each sum or mean of an embedding's rows over the second axis."""
        for place in look.parts() if torch_of() is not None else ():
            for call in ast.walk(place.node):
                reduction = over_places(call, ("sum", "mean")) if isinstance(call, ast.Call) else None
                if reduction is not None and isinstance(call, ast.Call):
                    yield from self._of(look, place, call, *reduction)

    def _of(self, look: Look, place: Part, call: ast.Call, mode: str, data: ast.expr) -> Iterator[Candidate]:
        inner, edits = unwrapped(place, data)
        space = functional(look, place)
        if not isinstance(inner, ast.Call) or len(inner.args) != 1 or inner.keywords or not space:
            return
        modules = objects_at(look, place, inner.func)
        if not modules or not all(_plain(embedding) for embedding in modules):
            return
        module, text = place.source.text_of(inner.func), place.source.text_of
        new = f"{space}.embedding_bag({text(inner.args[0])}, {module}.weight, mode=\"{mode}\", sparse={module}.sparse)"
        yield Candidate(self.name, f"embedding_bag instead of {text(inner)}.{mode}(1)", at(place.source, call),
                        (place.source.replace(call, new), *edits))


def _plain(module: TorchModule) -> bool:
    """Whether a module is an embedding that does nothing but look rows up."""
    torch = torch_of()
    return (type(module) is torch.nn.Embedding and module.padding_idx is None and module.max_norm is None
            and not module.scale_grad_by_freq and not module._forward_hooks and not module._forward_pre_hooks
            and not module._backward_hooks)


class LookUp(Remedy):
    """Look a layer's columns up, and add them up, in place of a product with zeros and ones."""

    name = "look-up for a wide layer (PyTorch)"
    of_torch = True

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each ``nn.Linear`` whose input is made by ``one_hot``, and each product ``one_hot(…) @ weight``."""
        for place in look.parts() if torch_of() is not None else ():
            for call in ast.walk(place.node):
                if isinstance(call, ast.BinOp) and isinstance(call.op, ast.MatMult):
                    yield from self._of_product(look, place, call)
                elif isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords:
                    modules = objects_at(look, place, call.func)
                    if modules and all(type(layer) is torch_of().nn.Linear for layer in modules):
                        yield from self._of(look, place, call, modules[0])

    def _of_product(self, look: Look, place: Part, node: ast.BinOp) -> Iterator[Candidate]:
        inner, edits = unwrapped(place, node.left)
        tokens, added = _hot(inner)
        space = functional(look, place)
        if tokens is not None and space:
            name, more = ("embedding_bag", ', mode="sum"') if added else ("embedding", "")
            text = place.source.text_of
            new = f"{space}.{name}({text(tokens)}, {text(node.right)}{more})"
            yield Candidate(self.name, f"{name} instead of one_hot(…) @ {text(node.right)}", at(place.source, node),
                            (place.source.replace(node, new), *edits))

    def _of(self, look: Look, place: Part, call: ast.Call, module: TorchModule) -> Iterator[Candidate]:
        inner, edits = unwrapped(place, call.args[0])
        tokens, added = _hot(inner)
        space = functional(look, place)
        if tokens is None or not space:
            return
        text, layer = place.source.text_of(tokens), place.source.text_of(call.func)
        new = (f"{space}.embedding_bag({text}, {layer}.weight.t(), mode=\"sum\")" if added
               else f"{space}.embedding({text}, {layer}.weight.t())")
        new = new if module.bias is None else f"({new} + {layer}.bias)"
        yield Candidate(self.name, f"{'embedding_bag' if added else 'embedding'} instead of {layer}(one_hot(…)), "
                        f"{format_count(module.in_features)} inputs wide",
                        at(place.source, call), (place.source.replace(call, new), *edits))


def _hot(node: ast.expr) -> tuple[ast.expr | None, bool]:
    """The numbers that ``one_hot`` makes ones of, and whether these are summed over the second axis; None if it is not there."""
    added = False
    while isinstance(node, ast.Call):
        if named(node) == "one_hot":
            return argument(node, 0, "tensor") or argument(node, 0, "input"), added
        over = over_places(node, ("sum",))
        if over is not None and not added:
            added, node = True, over[1]
        elif isinstance(node.func, ast.Attribute) and named(node) in ("float", "to", "type"):
            node = node.func.value
        else:
            break
    return None, False
