"""Programs in PyTorch: their tensors, optimizers and generators copied, their weights and numbers read, their states put back.

Nothing here imports PyTorch: a program that uses it has imported it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from .clone import COPIERS, Cloner, NotCloneable
from .effects import TELLING
from .observe import NUMBERS, READERS, Values, Weight
from .states import STATES

if TYPE_CHECKING:
    from ..profiler.torch_types import Torch, TorchOptimizer, TorchTensor
    from .program import Clone, Program

__all__ = ["names_of_weights", "to_numpy", "torch_of"]


def torch_of() -> Torch:
    """PyTorch if something has imported it, else None."""
    return sys.modules.get("torch")


def to_numpy(tensor: TorchTensor) -> Values:
    """The values of a tensor of any layout, as a copy; those of types that numpy has not, as float32."""
    torch = torch_of()
    found = tensor.detach().to("cpu")
    found = found if found.layout is torch.strided else found.to_dense()
    unknown = found.is_floating_point() and (found.dtype is torch.bfloat16 or found.dtype.itemsize == 1)
    found = found.float() if unknown else found
    return np.array(found.numpy())


def _numbers(value: object) -> Values | None:  # object: what a step returned
    torch = torch_of()
    return to_numpy(value) if torch is not None and isinstance(value, torch.Tensor) else None


def names_of_weights(program: Program) -> dict[int, str]:
    """``id`` of each parameter -> its name as the program writes it, ``model.embedding.weight``."""
    names: dict[int, str] = {}
    depths: dict[int, int] = {}
    for module in program.originals(torch_of().nn.Module):
        path = program.path_of(module)
        for name, parameter in module.named_parameters():
            if name.count(".") >= depths.get(id(parameter), 0):  # that of the outermost module
                depths[id(parameter)] = name.count(".")
                names[id(parameter)] = f"{path}.{name}" if path.isidentifier() else name
    return names


def _weights(clone: Clone) -> Iterator[tuple[int, Weight]]:
    torch = torch_of()
    if torch is None:
        return
    names = names_of_weights(clone.program)
    for original, copy in clone.copies(torch.Tensor):
        if original.requires_grad:
            turn = np.transpose if id(original) in clone.transposed else np.asarray
            gradient = None if copy.grad is None else np.array(turn(to_numpy(copy.grad)))
            name = names.get(id(original)) or clone.program.path_of(original)
            yield id(original), Weight(name, np.array(turn(to_numpy(copy))), gradient)


def _states() -> Callable[[], None]:
    """The state of PyTorch's random numbers, its element type, and whether it records gradients."""
    torch = torch_of()
    if torch is None:
        return lambda: None
    numbers, dtype, recording = torch.get_rng_state(), torch.get_default_dtype(), torch.is_grad_enabled()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

    def put() -> None:
        torch.set_rng_state(numbers)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(recording)
        if devices:
            torch.cuda.set_rng_state_all(devices)
    return put


def _copied(copy: Cloner, value: object, path: str) -> object:  # object: whatever a program holds, and its copy
    """The copy of a tensor, an optimizer or a generator; None of anything else."""
    torch = torch_of()
    if torch is None:
        return None
    if isinstance(value, torch.Tensor):
        return _tensor(copy, value, path)
    if isinstance(value, torch.Generator):
        made = torch.Generator(device=value.device)
        made.set_state(value.get_state())
        return made
    return _optimizer(copy, value, path) if isinstance(value, torch.optim.Optimizer) else None


def _tensor(copy: Cloner, value: TorchTensor, path: str) -> TorchTensor:
    """The copy of a tensor with its gradient; tensors that share memory share it in the copy."""
    torch = torch_of()
    if not value.is_leaf:
        raise NotCloneable(f"{path or 'The step'} holds a tensor that was computed from other tensors with gradients, so it "
                           "cannot be copied.", hint="compute it inside the step, or keep tensor.detach().")
    if value._backward_hooks or getattr(value, "_post_accumulate_grad_hooks", None):
        raise NotCloneable(f"{path or 'The step'} holds a tensor with hooks, whose copy would have none.",
                         hint="remove the hooks, or register them inside the step.")
    if value.layout is not torch.strided:  # of which PyTorch copies only some layouts deeply
        made = value.detach().clone().requires_grad_(value.requires_grad)
        copy._keep(value, made)
        made.grad = None if value.grad is None else copy(value.grad, f"{path}.grad")
        return made
    if type(value) is not torch.nn.Parameter:
        return value.__deepcopy__(copy.memo)
    data = value.data
    made = torch.nn.Parameter(data.__deepcopy__(copy.memo), value.requires_grad)
    copy._kept.append(data)  # the memo knows it by its id
    copy._keep(value, made)
    made.__dict__.update(copy(value.__dict__, path))
    if value.grad is not None:
        made.grad = copy(value.grad, f"{path}.grad")
    return made


def _optimizer(copy: Cloner, value: TorchOptimizer, path: str) -> TorchOptimizer:
    """The copy of an optimizer, whose groups and states are those of the copies of its parameters."""
    made = copy._reduced(value, path)
    for name, own in vars(value).items():
        if name != "step" and name not in ("defaults", "state", "param_groups"):  # a schedule wraps the original's step
            setattr(made, name, copy(own, f"{path}.{name}"))
    return made


def _telling() -> Callable[[], None]:
    """Tell of the file that ``torch.save`` writes: PyTorch opens it in compiled code."""
    torch = torch_of()
    before = getattr(getattr(torch, "serialization", None), "_open_zipfile_writer_file", None)
    if before is None:
        return lambda: None

    class Told(before):  # type: ignore[misc, valid-type]  # PyTorch's
        def __init__(self, name: str) -> None:
            sys.audit("open", str(name), "wb", os.O_WRONLY | os.O_CREAT)
            super().__init__(name)

    torch.serialization._open_zipfile_writer_file = Told
    return lambda: setattr(torch.serialization, "_open_zipfile_writer_file", before)


COPIERS.append(_copied)
NUMBERS.append(_numbers)
READERS.append(_weights)
STATES.append(_states)
TELLING.append(_telling)
