"""Programs in PyTorch: their tensors, optimizers and generators copied, their weights and numbers read, their states put back.

Nothing here imports PyTorch: a program that uses it has imported it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.formatting import format_bytes
from ..profiler.torch_mode import unseen
from ..profiler.torch_twin import tensors_in
from .clone import COPIERS, Cloner, NotCloneable
from .effects import TELLING, Watched
from .observe import NUMBERS, READERS, WATCHERS, Run, Values, Weight
from .states import STATES, apart, taken

if TYPE_CHECKING:
    from ..profiler.torch_types import Torch, TorchFunction, TorchOptimizer, TorchTensor
    from .candidate import Candidate
    from .program import Clone, Program

__all__ = ["find_repeated", "growth_of_states", "names_of_weights", "to_numpy", "torch_of"]

#: Functions that take row numbers: behind their first argument, if that is what the rows are of.
LOOK_UPS = ("embedding", "embedding_bag", "one_hot", "index_select", "__getitem__")

#: Steps of an optimizer after which the growth of its state is seen, and those that it is foretold for.
GROWTH_STEPS, MANY_STEPS = 4, 1000


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


def find_repeated(program: Program) -> None:
    """Note in a program which of its tensors give two steps the same row numbers, if it looks up no others."""
    torch = torch_of()
    if torch is None or not program.originals(torch.nn.Parameter):
        return
    seen: list[dict[int, TorchTensor]] = []
    mode = _spy(torch, seen)
    clone, put = program.clone(), taken()
    try:
        with apart(), Watched(), mode:
            for _ in range(2):
                seen.append({})
                clone.step()
    except StopIteration:
        return
    finally:
        put()
    same = {key for key, value in seen[0].items() if key in seen[1] and torch.equal(value, seen[1][key])}
    for original, copy in clone.copies(torch.Tensor):
        if _is_whole(copy) and copy.untyped_storage().data_ptr() in same:
            program.repeated.add(id(original))


def _spy(torch: Torch, seen: list[dict[int, TorchTensor]]) -> Torch:
    """A mode that notes the row numbers that are looked up, by the address of their memory."""
    class Spy(torch.overrides.TorchFunctionMode):  # type: ignore[misc]  # PyTorch's
        def __torch_function__(self, func: TorchFunction, types: object, args: tuple[object, ...] = (),
                               kwargs: dict[str, object] | None = None) -> object:
            name = getattr(func, "__name__", "")
            if name in LOOK_UPS:
                first = [] if name in ("embedding", "embedding_bag", "one_hot") else args[:1]
                given = tensors_in(torch, [*args[len(first):], (kwargs or {}).get("input"), (kwargs or {}).get("index")])
                numbers = next((one for one in given if _is_whole(one)), None)
                if numbers is not None:
                    seen[-1][numbers.untyped_storage().data_ptr()] = numbers.clone()
            return func(*args, **(kwargs or {}))
    return Spy()


def _is_whole(tensor: TorchTensor) -> bool:
    torch = torch_of()
    return tensor.layout is torch.strided and tensor.dtype in (torch.int64, torch.int32) and tensor.numel() > 0


def _watch(clone: Clone, run: Run) -> Callable[[int], None]:
    """Note the rows that gradients have, and give each step of a shifted run after the first other row numbers."""
    torch = torch_of()
    if torch is None:
        return lambda number: None
    for original, copy in clone.copies(torch.Tensor):
        if copy.is_leaf and copy.requires_grad and copy.dim() == 2 and id(original) not in clone.transposed:
            copy.register_post_accumulate_grad_hook(_counter(torch, run, id(original)))
    return lambda number: _other_rows(torch, clone) if number and run.shifted else None


def _counter(torch: Torch, run: Run, key: int) -> Callable[[TorchTensor], None]:
    def count(weight: TorchTensor) -> None:
        gradient = weight.grad
        with unseen(torch), torch.no_grad():
            before, passes = run.touched.get(key, (np.zeros(len(weight), np.int64), 0))
            if gradient.layout is torch.strided:
                reached = to_numpy(gradient.ne(0).any(1))
            else:
                reached = np.isin(np.arange(len(weight)), to_numpy(gradient._indices()[0]))
            run.touched[key] = before + reached, passes + 1
    return count


def _other_rows(torch: Torch, clone: Clone) -> None:
    """Shift the row numbers that every step repeats, within the range that they have."""
    done = set()
    for original, numbers in clone.copies(torch.Tensor):
        if id(original) in clone.program.repeated and numbers.untyped_storage().data_ptr() not in done:
            done.add(numbers.untyped_storage().data_ptr())
            low, high = int(numbers.min()), int(numbers.max())
            with torch.no_grad():
                numbers.copy_(low + (numbers - low + (high - low) // 3 + 1) % (high - low + 1))


def growth_of_states(program: Program, before: Sequence[Candidate], after: Sequence[Candidate]) -> str:
    """How the states of optimizers grow with every step by a fix, from their beginning on, in words; empty if none does.

    Rows that a sparse state stores once are not counted: there are no more than the weight has.
    """
    torch = torch_of()
    if torch is None or not program.originals(torch.optim.Optimizer):
        return ""
    try:
        states, fresh = _states_of(torch, program, after, True), True
    except Exception:  # an optimizer that makes its state beforehand goes on with what it has
        states, fresh = _states_of(torch, program, after, False), False
    for name, found in states.items():
        (_, early), (less, late), (size, last) = found[-3:] if len(found) > 2 else [(0, 0)] * 3
        if not early < late < last:
            continue
        plain = _states_of(torch, program, before, fresh).get(name, [])
        if len(plain) > 1 and plain[-1][1] - plain[-2][1] >= last - late:
            continue  # it grows without the fix too
        usual = f"; without the fix it has {format_bytes(plain[-1][0])}" if plain else ""
        many = size + (size - less) * (MANY_STEPS - len(found))
        return (f"the state of {name} grows by {format_bytes(size - less)} a step; after {MANY_STEPS:,} steps it has "
                f"{format_bytes(many)} at that rate, all of which every step reads{usual}")
    return ""


def _states_of(torch: Torch, program: Program, candidates: Sequence[Candidate],
               fresh: bool) -> dict[str, list[tuple[int, int]]]:
    """The bytes of each optimizer's state after each of some steps, and those of them that are no first copy of a row."""
    clone, put = program.clone(candidates), taken()
    found: dict[str, list[tuple[int, int]]] = {}
    for original, copy in clone.copies(torch.optim.Optimizer):
        name = f"{type(original).__name__} ({program.path_of(original)})"
        if fresh:
            copy.state.clear()

        def note(optimizer: TorchOptimizer, *given: object, name: str = name) -> None:
            sizes = [_size(torch, one) for one in tensors_in(torch, {key: one for key, one in vars(optimizer).items()
                                                                         if key != "param_groups"})]
            size, seen = (sum(size for size, _ in sizes), sum(more for _, more in sizes)), found.setdefault(name, [])
            if seen[-1:] != [size]:  # a class that calls the step of its base is heard twice
                seen.append(size)
        copy.register_step_post_hook(note)
    try:
        with apart(), Watched():
            for number in range(GROWTH_STEPS):
                if number:
                    _other_rows(torch, clone)
                clone.step()
                if any(len(sizes) >= GROWTH_STEPS for sizes in found.values()):
                    break
    except StopIteration:
        pass  # there are no more batches
    finally:
        put()
    return found


def _size(torch: Torch, tensor: TorchTensor) -> tuple[int, int]:
    """The bytes of a tensor, and those of them that are no first copy of a row."""
    if tensor.layout is not torch.sparse_coo:
        return tensor.numel() * tensor.element_size(), tensor.numel() * tensor.element_size()
    indices, values = tensor._indices(), tensor._values()
    size = values.numel() * values.element_size() + indices.numel() * indices.element_size()
    stored = indices.shape[1]
    different = stored if tensor.is_coalesced() else indices.unique(dim=1).shape[1]
    return size, size - size // max(1, stored) * different


COPIERS.append(_copied)
NUMBERS.append(_numbers)
READERS.append(_weights)
WATCHERS.append(_watch)
STATES.append(_states)
TELLING.append(_telling)
