"""Programs in PyTorch: their tensors sent, their weights and numbers read, the states of their optimizers measured.

Nothing here imports PyTorch: a program that uses it has imported it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..base.errors import SparsekitError
from ..base.formatting import format_bytes
from ..base.optional import whole_import
from ..profiler.torch_names import leaves_behind, path_among
from ..profiler.torch_twin import tensors_in

if TYPE_CHECKING:
    from ..profiler.torch_types import Torch, TorchModule, TorchOptimizer, TorchReference, TorchTensor
    from .live import LiveProgram
    from .program import Program

#: Name of an optimizer -> bytes of its state after each step, and those of them that may be further copies of a row.
Sizes: TypeAlias = "dict[str, list[tuple[int, int]]]"

#: Steps that a growth is foretold for.
MANY_STEPS = 1000


def torch_of() -> Torch:
    """PyTorch if something has imported it, else None."""
    return sys.modules.get("torch")


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of PyTorch."""
    torch = torch_of()
    return torch is not None and isinstance(value, torch.Tensor)


def is_weight(value: object) -> bool:
    """Whether a value is a tensor that is trained."""
    return is_tensor(value) and bool(value.requires_grad)  # type: ignore[attr-defined]  # of a tensor


def is_owner(value: object) -> bool:
    """Whether the tensors of a value are no batch."""
    torch = torch_of()
    return torch is not None and isinstance(value, (torch.nn.Module, torch.optim.Optimizer, torch.utils.data.DataLoader))


def to_numpy(tensor: TorchTensor) -> npt.NDArray[Any]:  # Any: numbers of any type
    """The values of a tensor of any layout, as a copy; those of types that numpy has not, as float32."""
    torch = torch_of()
    functions = whole_import("torch._functorch.pyfunctorch")
    with functions.temporarily_clear_interpreter_stack():  # within torch.func.grad, copies too would be wrapped
        return _to_numpy(torch, unwrapped(tensor))


def _to_numpy(torch: Torch, tensor: TorchTensor) -> npt.NDArray[Any]:  # Any: as above
    strided = tensor.detach().to("cpu")
    strided = strided if strided.layout is torch.strided else strided.to_dense()
    unknown = strided.is_floating_point() and (strided.dtype is torch.bfloat16 or strided.dtype.itemsize == 1)
    strided = strided.float() if unknown else strided
    return np.array(strided.numpy())


def unwrapped(tensor: TorchTensor) -> TorchTensor:
    """The tensor that transformations such as ``torch.func.grad`` have wrapped; any other tensor itself."""
    functions = torch_of()._C._functorch
    while functions.is_functorch_wrapped_tensor(tensor):
        tensor = functions.get_unwrapped(tensor)
    return tensor


def has_values(tensor: TorchTensor) -> bool:
    """Whether a tensor has numbers: those that are traced, and those on the device "meta", have none."""
    inner = unwrapped(tensor)
    return type(inner).__torch_dispatch__ is torch_of()._C._disabled_torch_dispatch_impl and not inner.is_meta


def names_of_weights(program: Program | LiveProgram) -> dict[int, str]:
    """``id`` of each parameter -> its name as the program writes it, ``model.embedding.weight``."""
    names: dict[int, str] = {}
    owners: dict[int, tuple[TorchModule, str]] = {}
    for module in program.originals(torch_of().nn.Module) if torch_of() is not None else ():
        path = program.path_of(module)
        for name, parameter in module.named_parameters():
            if id(parameter) not in owners or name.count(".") >= owners[id(parameter)][1].count("."):  # of the outermost module
                owners[id(parameter)] = module, name
                names[id(parameter)] = f"{path}.{name}" if path.isidentifier() else name
    taken = Counter(names.values())
    for key, (module, name) in owners.items():
        if taken[names[key]] > 1:
            ways = (path_among(program.variables(function), module) for function in program.functions)
            way = next(filter(None, ways), "")
            names[key] = f"{way}.{name}" if way else names[key]
    return names


def row_numbers(program: Program) -> list[TorchTensor]:
    """The tensors of whole numbers that the step holds."""
    torch = torch_of()
    return [] if torch is None else [tensor for tensor in program.originals(torch.Tensor) if tensor.numel()
                                     and tensor.layout is torch.strided and tensor.dtype in (torch.int64, torch.int32)]


def check_apart(program: Program) -> None:
    """Raise if two tensors of a program share memory, which they would not in another process."""
    torch = torch_of()
    seen: dict[int, TorchTensor] = {}
    for tensor in program.originals(torch.Tensor) if torch is not None else ():
        if tensor.layout is torch.strided and tensor.numel() and (
                seen.setdefault(tensor.untyped_storage().data_ptr(), tensor) is not tensor):
            raise SparsekitError(f"{program.path_of(tensor) or 'A tensor'} shares its memory with another tensor, which it would "
                                 "not in another process.", hint="keep a clone() of it.")


def optimizers(program: Program) -> list[tuple[str, TorchOptimizer]]:
    """The optimizers that the step holds, with their names."""
    torch = torch_of()
    return [] if torch is None else [(f"{type(optimizer).__name__} ({program.path_of(optimizer)})", optimizer)
                                     for optimizer in program.originals(torch.optim.Optimizer)]


class OwnUpdate:
    """Stands for an optimizer where a program changes its weights itself, or makes new ones in each step.

    Parameters
    ----------
    weights : sequence of reference
        The weights of the latest step: the program lets go of those that it makes anew.

    Attributes
    ----------
    weights : list of reference
    param_groups : list of dict
        As those of an optimizer, but for the weights.
    """

    def __init__(self, weights: Sequence[TorchReference]) -> None:
        self.weights = list(weights)
        self.param_groups: list[dict[str, list[TorchTensor]]] = []


def weights_behind(losses: Iterable[TorchTensor]) -> list[TorchTensor]:
    """The tensors that a backward pass from some losses gives gradients."""
    leaves = [unwrapped(leaf) for loss in losses if loss.grad_fn is not None for leaf in leaves_behind(loss.grad_fn)]
    return list({id(leaf): leaf for leaf in leaves}.values())


# --------------------------------------------------------------------------- sent


def states() -> dict[str, Any]:  # Any: tensors and settings
    """The state of PyTorch's random numbers, its element type, and whether it records gradients."""
    torch = torch_of()
    if torch is None:
        return {}
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {"numbers": to_numpy(torch.get_rng_state()), "devices": list(map(to_numpy, devices)),
            "dtype": torch.get_default_dtype(), "recording": torch.is_grad_enabled(), "threads": torch.get_num_threads()}


def put_states(sent: dict[str, Any]) -> None:  # Any: as above
    """Have this process go on from states of another one."""
    if sent:
        torch = importlib.import_module("torch")
        torch.set_rng_state(torch.from_numpy(sent["numbers"]))
        torch.set_default_dtype(sent["dtype"])
        torch.set_grad_enabled(sent["recording"])
        torch.set_num_threads(sent["threads"])
        if sent["devices"]:
            torch.cuda.set_rng_state_all(list(map(torch.from_numpy, sent["devices"])))


def reduced(value: object) -> object:  # object: how pickle makes a value
    """How a tensor or a generator is made in the other process; pickle's own way for anything else."""
    torch = torch_of()
    if torch is not None and isinstance(value, torch.optim.Optimizer) and value._optimizer_step_post_hooks:
        raise TypeError("it has hooks; register them inside the step")
    if torch is None or not isinstance(value, (torch.Tensor, torch.Generator)):
        return NotImplemented
    if isinstance(value, torch.Generator):
        return _generator, (str(value.device), to_numpy(value.get_state()))
    if not value.is_leaf:
        raise TypeError("it was computed from other tensors with gradients; compute it inside the step")
    if value._backward_hooks or getattr(value, "_post_accumulate_grad_hooks", None):
        raise TypeError("it has hooks; register them inside the step")
    kind = type(value) if isinstance(value, torch.nn.Parameter) else torch.Tensor
    make, arguments = value.detach().clone().__reduce_ex__(2)[:2]
    return _tensor, (make, arguments, value.requires_grad, kind), (value.grad, vars(value)), None, None, _fill


def _tensor(make: Callable[..., TorchTensor], arguments: tuple[Any, ...], trained: bool,  # Any: PyTorch's
            kind: type) -> TorchTensor:
    torch, tensor = torch_of(), make(*arguments)
    return torch.Tensor._make_subclass(kind, tensor, trained) if kind is not torch.Tensor else tensor.requires_grad_(trained)


def _fill(tensor: TorchTensor, state: tuple[TorchTensor | None, dict[str, Any]]) -> None:  # Any: attributes
    tensor.grad = state[0]
    tensor.__dict__.update(state[1])


def _generator(device: str, state: npt.NDArray[np.uint8]) -> object:  # object: PyTorch's
    torch = importlib.import_module("torch")
    generator = torch.Generator(device=device)
    generator.set_state(torch.from_numpy(state))
    return generator


# --------------------------------------------------------------------------- observed


def tell_of_files() -> None:
    """Tell of the files that ``torch.save`` writes by ``sys.audit``: PyTorch opens them in compiled code."""
    before = getattr(getattr(torch_of(), "serialization", None), "_open_zipfile_writer_file", None)
    if before is None:
        return

    class Told(before):  # type: ignore[misc, valid-type]  # PyTorch's
        def __init__(self, name: str) -> None:
            sys.audit("open", str(name), "wb", os.O_WRONLY | os.O_CREAT)
            super().__init__(name)

    torch_of().serialization._open_zipfile_writer_file = Told


def note_states(named: Iterable[tuple[str, TorchOptimizer]], sizes: Sizes) -> None:
    """Note the bytes of each optimizer's state after each step, and those of them that may be further copies of a row."""
    for name, optimizer in named:
        def note(optimizer: TorchOptimizer, *given: object, name: str = name) -> None:
            size, seen = size_of_state(torch_of(), optimizer), sizes.setdefault(name, [])
            if seen[-1:] != [size]:  # a class that calls the step of its base is heard twice
                seen.append(size)
        optimizer.register_step_post_hook(note)


def size_of_state(torch: Torch, optimizer: TorchOptimizer) -> tuple[int, int]:
    """The bytes of an optimizer's state, and those of them that may be further copies of a row."""
    kept = {key: value for key, value in vars(optimizer).items() if key != "param_groups"}
    own = [_size(torch, value) for value in tensors_in(torch, kept)]
    return sum(size for size, _ in own), sum(more for _, more in own)


def _size(torch: Torch, tensor: TorchTensor) -> tuple[int, int]:
    """The bytes of a tensor, and those of them that may be further copies of a row."""
    if tensor.layout is not torch.sparse_coo:
        return tensor.numel() * tensor.element_size(), tensor.numel() * tensor.element_size()
    indices, values = tensor._indices(), tensor._values()
    size = values.numel() * values.element_size() + indices.numel() * indices.element_size()
    return size, 0 if tensor.is_coalesced() else size


def growing(states: Sizes, plain: Sizes) -> str:
    """How the states of optimizers grow with every step by a fix, in words; empty if none does.

    A sparse state whose rows are merged is not counted: there are no more of them than the weight has.  One whose rows are not
    merged stores a row again at each step that touches it, even if the steps seen so far touched others.
    """
    for name, changed in states.items():
        (_, early), (less, late), (size, last) = changed[-3:] if len(changed) > 2 else [(0, 0)] * 3
        if not early < late < last:
            continue
        before = plain.get(name, [])
        if len(before) > 1 and before[-1][1] - before[-2][1] >= last - late:
            continue  # it grows without the fix too
        usual = f"; without the fix it has {format_bytes(before[-1][0])}" if before else ""
        many = size + (size - less) * (MANY_STEPS - len(changed))
        return (f"the state of {name} grows by {format_bytes(size - less)} a step; after {MANY_STEPS:,} steps it has "
                f"{format_bytes(many)} at that rate, all of which every step reads{usual}")
    return ""
