"""Batches of PyTorch stay sparse: conversions to strided tensors are left out, and data that are mostly zeros are kept as CSR."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...base.formatting import format_count, format_percent
from ..candidate import Candidate
from ..torch_programs import torch_of
from .base import Look, Remedy, at, named

if TYPE_CHECKING:
    from ...profiler.torch_types import Torch, TorchTensor

__all__ = ["CsrTensor", "SparseData"]

#: Sparse layouts that products take.
_SPARSE = ("csr", "coo", "row_sparse")

#: Fewest values of a tensor that is looked at, and the share that may be other than zero.
LEAST, MOST_DENSITY = 100_000, 0.05


class CsrTensor(Remedy):
    """Leave ``to_dense()`` of a sparse tensor out."""

    name = "sparse input kept (PyTorch)"
    rules = ("repeated_conversion", "became_dense")

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each conversion that the step makes."""
        lines = [record["line"] for record in look.profile.records if record["name"] in ("aten::to_dense", "aten::_to_dense")
                 and record["inputs"] and record["inputs"][0]["stype"] in _SPARSE]
        for source, call in look.calls_at(_to_dense, lines) if lines else ():
            assert isinstance(call.func, ast.Attribute)
            kept = source.text_of(call.func.value)
            yield Candidate(self.name, f"{kept} instead of {source.text_of(call)}", at(source, call),
                            (source.replace(call, kept),), for_time=True)


def _to_dense(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and named(call) == "to_dense" and not call.args and not call.keywords


class SparseData(Remedy):
    """Keep data that are mostly zeros as a CSR tensor."""

    name = "data as CSR (PyTorch)"

    def find(self, look: Look) -> Iterator[Candidate]:
        """One candidate for each matrix that the program holds, has no gradient, and is mostly zeros."""
        torch = torch_of()
        if torch is None:
            return
        trained = _trained(torch, look)
        for data in look.program.originals(torch.Tensor):
            if id(data) not in trained and _mostly_zero(torch, data):
                path = look.program.path_of(data)
                share = format_percent(int(torch.count_nonzero(data)) / data.numel())
                yield Candidate(self.name, f"{path}: {format_count(data.shape[0])} × {format_count(data.shape[1])}, of which "
                                f"{share} are not zero", replace={id(data): _as_csr},
                                lines=f"{path} = {path}.to_sparse_csr()  # once, where it is made",
                                unpatched="the line that makes it may serve others", for_time=True)


def _as_csr(data: TorchTensor) -> TorchTensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that CSR is in beta
        return data.to_sparse_csr()


def _trained(torch: Torch, look: Look) -> set[int]:
    """``id`` of the tensors that are no data: gradients, buffers of modules, states of optimizers."""
    found = [one.grad for one in look.program.originals(torch.Tensor)]
    for module in look.program.originals(torch.nn.Module):
        found += module.buffers()
    for optimizer in look.program.originals(torch.optim.Optimizer):
        found += [value for state in optimizer.state.values() for value in state.values()]
    return set(map(id, found))


def _mostly_zero(torch: Torch, data: TorchTensor) -> bool:
    known = data.layout is torch.strided and data.dim() == 2 and data.numel() >= LEAST
    alone = known and data.is_floating_point() and not data.requires_grad and type(data) is torch.Tensor
    return bool(alone and int(torch.count_nonzero(data)) <= MOST_DENSITY * data.numel())
