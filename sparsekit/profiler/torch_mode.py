"""PyTorch under the profiler: a ``TorchDispatchMode`` that notes every ATen operator in the recorder's own form.

The mode sees the operators of the thread that started the profiler, and those of the backward passes that it asks for.  What an
operator computes is left to PyTorch: the mode calls it with the arguments that it was called with, and reads the clock before
and after.  Nothing that belongs to the program is written to, and no random number is drawn.
"""

from __future__ import annotations

import functools
import os
import statistics
import sys
import threading
import time
import warnings
import weakref
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..base.errors import ProfilerError
from ..base.formatting import format_count
from ..base.optional import optional_import, whole_import
from ..core import hooks
from .event_buffer import HELD, MARKER
from .source_location import line_of
from .torch_gradients import COUNTED, count_rows, is_due, is_mostly_zero, length_of, stored_rows, worth_counting
from .torch_names import Names, leaves_behind, variable_of
from .torch_operands import EINSUM, OPERAND, Operands
from .torch_operators import ALIKE, CONVERSIONS, LOOK_UP_GRADIENTS, LOOK_UPS, MOVED, PRODUCTS, TorchOperator, TorchPlan, remedy_of
from .torch_twin import TRIED, Subject, as_template, optimizer_of, returned_way, sparse_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from ..base.types import JSON, DType
    from .recorder import Recorder
    from .torch_operands import Place
    from .torch_twin import Optimizer, Use
    from .torch_types import (
        Torch,
        TorchArgument,
        TorchFunction,
        TorchMode,
        TorchModule,
        TorchOptimizer,
        TorchReference,
        TorchTensor,
        TorchType,
    )
    from .types import NoteItem

    Given: TypeAlias = tuple[Any, ...]  # Any: what a call of PyTorch is given
    Named: TypeAlias = dict[str, Any]  # Any: as above
    #: The weak reference to a storage, its bytes, and the role and owner that were noted.
    Held: TypeAlias = list[Any]  # Any: the three have types of their own, which a list cannot say

#: The first version of PyTorch that has all that is used here.
LEAST = (2, 4)

#: Pieces of memory and layers of operators that are remembered before those that are gone are forgotten.
MOST_KNOWN = 100_000

#: Sequence numbers of nodes from which on they say nothing.
NO_SEQUENCE = 1 << 40

#: Operators whose factors are looked at, and those that leave a factor as it is: einsum arranges its axes before a product.
FACTORS = PRODUCTS | {EINSUM}
VIEWS = MOVED | {"permute", "unsqueeze", "squeeze", "view", "expand"}

#: Sparse layouts: storage type, and the functions that give values, indices and the pointers into them.
_COMPRESSED = {"sparse_csr": ("csr", "col_indices", "crow_indices"), "sparse_csc": ("csc", "row_indices", "ccol_indices"),
               "sparse_bsr": ("bsr", "col_indices", "crow_indices"), "sparse_bsc": ("bsc", "row_indices", "ccol_indices")}


def torch_of() -> Torch:
    """PyTorch.

    Raises
    ------
    MissingPackageError
        If it is not installed.
    ProfilerError
        If it is too old.
    """
    torch = optional_import("torch", "torch", "Profiler(torch=True)")
    numbers = str(torch.__version__).split("+")[0].split(".")[:2]
    if tuple(int(number) for number in numbers if number.isdigit()) < LEAST:
        raise ProfilerError(f"Profiler(torch=True) needs PyTorch {LEAST[0]}.{LEAST[1]} or newer, got {torch.__version__}.",
                            hint="python -m pip install --upgrade torch")
    return torch


class _Type:
    """An element type that numpy does not have."""

    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize = name, itemsize

    def __str__(self) -> str:
        return self.name


class _Types(dict[Any, Any]):  # Any: the element types of PyTorch, and what stands for them: a dtype of numpy, or a ``_Type``
    """The element types that stand for those of PyTorch."""

    def __missing__(self, dtype: TorchType) -> DType | _Type:
        name = str(dtype).rpartition(".")[2]
        standing: DType | _Type
        try:
            standing = np.dtype(name)
        except TypeError:
            standing = _Type(name, int(dtype.itemsize))
        self[dtype] = standing
        return standing


class _Here(threading.local):
    """What the calling thread does in PyTorch."""

    def __init__(self) -> None:
        self.seen = self.own = False
        self.modules: list[tuple[TorchModule, str]] = []
        # Name, beginning, and whether an optimizer makes a step within a backward pass, as in a hook of a parameter.
        self.spans: list[tuple[str, int, bool]] = []
        self.sequence, self.first = -1, 0


class _Parts:
    """Makes what stands for tensors in notes."""

    def __init__(self, torch: Torch, recorder: Recorder) -> None:
        self._tensor, self._strided, self._coo = torch.Tensor, torch.strided, torch.sparse_coo
        self._holder, self._plain = recorder.holder, torch._C._disabled_torch_dispatch_impl
        # As ``unseen``, in a tenth of its time.
        self._unseen = getattr(torch._C, "_DisableTorchDispatch", None) or functools.partial(unseen, torch)
        self._types = _Types()
        self._known: dict[int, Held] = {}

    def is_plain(self, tensor: TorchTensor) -> bool:
        """Whether a tensor's memory is its own, and operators on it run no code of a subclass."""
        return tensor.__class__.__torch_dispatch__ is self._plain

    def memory(self, tensor: TorchTensor) -> Held:
        """The weak reference to a tensor's storage, its bytes and its role so far; made once for each storage."""
        storage = tensor.untyped_storage()
        held = self._known.get(id(storage))
        if held is None or held[0]() is not storage:
            if len(self._known) > MOST_KNOWN:
                self._known = {key: kept for key, kept in self._known.items() if kept[0]() is not None}
            held = self._known[id(storage)] = [self._holder(storage), storage.nbytes(), None]
        return held

    def of(self, tensor: TorchTensor) -> NoteItem:
        """What stands for a tensor of any layout and class; a tensor without memory is described only."""
        try:
            if not self.is_plain(tensor):
                # What such a class keeps inside is its own, and asking for more may change what is traced.
                sizes = tuple([size if size.__class__ is int else 0 for size in tensor.shape])
                return None, sizes, self._types[tensor.dtype]
            layout = tensor.layout
            if layout is self._strided:
                return self._strided_part(tensor)
            with self._unseen():  # reading a sparse tensor runs operators
                return self._sparse_part(tensor, layout)
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            # A subclass may have no storage, a lazy tensor no shape, and a traced one no numbers.
            return None, (), None

    def among(self, args: Given, kwargs: Named) -> list[NoteItem]:
        """What stands for the tensors among arguments or results, those in lists included."""
        tensor, of, parts = self._tensor, self.of, []
        for argument in args:
            if isinstance(argument, tensor):
                parts.append(of(argument))
            elif argument.__class__ is list or isinstance(argument, tuple):
                parts += [of(inner) for inner in argument if isinstance(inner, tensor)]
        return parts + [of(inner) for inner in kwargs.values() if isinstance(inner, tensor)] if kwargs else parts

    def _strided_part(self, tensor: TorchTensor) -> NoteItem:
        if tensor.is_meta:
            return None, tuple(tensor.shape), self._types[tensor.dtype]
        holder, size, _ = self.memory(tensor)
        return HELD, holder, size, tuple(tensor.shape), self._types[tensor.dtype]

    def _sparse_part(self, tensor: TorchTensor, layout: Torch) -> NoteItem:
        shape = tuple(tensor.shape)
        if layout is self._coo:
            return self._coo_part(tensor, shape)
        compressed = _COMPRESSED.get(str(layout).rpartition(".")[2])
        if compressed is None:
            return None, shape, self._types[tensor.dtype]
        stype, indices, pointers = compressed
        parts = tensor.values(), getattr(tensor, indices)(), getattr(tensor, pointers)()
        return stype, shape, [self._strided_part(part) for part in parts], None

    def _coo_part(self, tensor: TorchTensor, shape: tuple[int, ...]) -> NoteItem:
        values, indices = tensor._values(), tensor._indices()
        data, numbers = self._strided_part(values), self._strided_part(indices)
        if tensor.sparse_dim() == 1 and tensor.dense_dim():
            # Numbers of rows, and rows: what is called row_sparse here.
            return "row_sparse", shape, [data, (*numbers[:3], (int(indices.shape[1]),), numbers[4])], None
        return "coo", shape, [data, numbers], None


class _Returned:
    """Gradients of one shape that backward passes wrote for a table: its name, and what was counted of them."""

    def __init__(self, name: str, parameter: TorchReference, read: str, node: int | None, gradient: TorchTensor) -> None:
        self.name, self.parameter, self.read, self.node = name, parameter, read, node
        self.dtype, self.device = gradient.dtype, gradient.device
        self.times = self.counted = self.rows = self.spent = 0
        self.held = self.told = False


class Watch:
    """Watches the PyTorch programs of a thread, for a recorder.

    Parameters
    ----------
    torch : module
    recorder : Recorder
    counting : bool
        Count the rows of gradients that are not zero.

    Attributes
    ----------
    torch : module
    events : int
        Operators of PyTorch that were noted.
    failed : int
        Operators that ran, but could not be described.
    """

    def __init__(self, torch: Torch, recorder: Recorder, counting: bool = True) -> None:
        self.torch, self._recorder, self._counting = torch, recorder, counting
        self._cuda = torch.version.cuda is not None or torch.version.hip is not None
        self.names, self._here = Names(), _Here()
        self.parts = _Parts(torch, recorder)
        self._graph_node, self._numbered = torch._C._current_autograd_node, torch.autograd._get_sequence_nr
        # By the address of an operator, as PyTorch computes its hash in Python, and by what became dense.
        self._plans: dict[int, dict[str, TorchPlan]] = {}
        self._operators: list[TorchFunction] = []  # those of the plans, whose addresses are to stay theirs
        self._layers: dict[int, str] = {}
        self.events = self.failed = 0
        # Passes so far, and whether one runs; those of a GPU run in threads of PyTorch's own.
        self._passes, self._backward = 0, False
        # By parameter: gradients that were seen, the pass of the latest, and of those that are dense and mostly zero what is
        # needed to try a sparse one: the weight, its optimizer, operators of the program on the gradient; then what was told.
        self._gradients: dict[str, int] = {}
        self._latest: dict[str, int] = {}
        self._subjects: dict[str, Subject] = {}
        self._optimizers: dict[str, Optimizer] = {}
        self._uses: dict[str, dict[str, Use]] = {}
        self._told: dict[str, tuple[Subject, Optimizer | None, int]] = {}
        # By the address of a weak reference to a storage: how a weight is read without a layer, and whose gradient it holds.
        self._read: dict[int, tuple[Torch, str]] = {}
        self._held: dict[int, tuple[Torch, str]] = {}
        # Tensors of no module and no optimizer that the latest pass that was looked at has given gradients.
        self._leaves: list[TorchReference] = []
        # By shape: what the backward passes wrote for tables whose rows were looked up; gradients that .grad holds leave it.
        self._returned: dict[tuple[int, ...], _Returned] = {}
        self._operands = Operands(torch, functools.partial(unseen, torch))
        self._threads = 0
        self.process = os.getpid()
        self._handles: list[Torch] = []
        self._filter: object = None  # object: an item of ``warnings.filters``
        self._mode: TorchMode = None
        #: Whether operators are noted; the mode may outlast that.
        self.noting = False

    def begin(self) -> None:
        """Watch, or go on."""
        self._see()
        modules = self.torch.nn.modules.module
        optimizers = whole_import("torch.optim.optimizer")
        self._handles = [
            modules.register_module_forward_pre_hook(_weakly(self, Watch._enter_module)),
            modules.register_module_forward_hook(_weakly(self, Watch._leave_module), always_call=True),
            optimizers.register_optimizer_step_pre_hook(_weakly(self, Watch._before_step)),
            optimizers.register_optimizer_step_post_hook(_weakly(self, Watch._after_step))]
        # PyTorch says that hooks see a module that torch.compile made twice, which names take into account.
        warnings.filterwarnings("ignore", message=".*when there are global hooks on modules", category=UserWarning)
        self._filter = warnings.filters[0]
        self._mode = _mode_class(self.torch)(self)
        self.noting = True
        self._mode.__enter__()

    def end(self) -> None:
        """Watch no longer."""
        if not self.noting:
            return
        if self._backward:
            self._safely(self._after_backward)
        self._safely(self._see_leaves)
        self._safely(self._try_twins)
        self._safely(self._tell_returned)
        if self.failed:
            self._recorder.mark(MARKER, f"not recorded: {self.failed} operators that could not be described", None)
            self.failed = 0
        self.noting = False
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if self._filter in warnings.filters:  # the program may have put others in the place of all
            warnings.filters.remove(self._filter)  # type: ignore[attr-defined]  # it is a list
        _remove(self._mode)
        self._mode = None

    def _see(self) -> None:
        here = self._here
        if not here.seen:
            here.first, self._threads = self._threads << 41, self._threads + 1
            here.sequence = self.torch.autograd._get_sequence_nr() - 1
        here.seen = True

    def _join(self, here: _Here) -> None:
        """Watch a thread from its first module or optimizer on; a thread of a backward pass is the engine's."""
        if not here.seen and self.torch._C._current_graph_task_id() == -1:
            self._see()
            _mode_class(self.torch)(self).__enter__()

    # The operators

    def run(self, func: TorchFunction, args: Given, kwargs: Named) -> TorchTensor:
        """Call an operator, and note it."""
        here = self._here
        if here.own or not self.noting or self.process != os.getpid():
            return func(*args, **kwargs)
        device = self._device_event(args) if self._cuda else None
        start = time.perf_counter_ns()
        result = func(*args, **kwargs)
        end = time.perf_counter_ns()
        try:
            if device is not None:
                self._note_device(func, *device)
            if getattr(func, "namespace", "") == "profiler":
                self._span(here, str(func), args, start, end)
            else:
                # This method and the mode's own stand between the program and the operator.
                self._note(here, (func, args, kwargs, result), start, end, sys._getframe(2))
        except Exception:
            # Whatever the profiler cannot read must not cost the user the program.
            self.failed += 1
        return result

    def _note(self, here: _Here, call: tuple[TorchFunction, Given, Named, TorchTensor], start: int, end: int,
              frame: FrameType) -> None:
        func, args, kwargs, result = call
        inputs = self.parts.among(args, kwargs)
        in_place = args and result is args[0] and isinstance(result, self.torch.Tensor)
        outputs = inputs[:1] if in_place else self.parts.among((result,), {})
        lane, layer, node = self._where(here)
        kind, plan = "", self._plan(func, "")
        sparse = any(map(_is_sparse, inputs))
        if lane == "forward" and (sparse or self._subjects or plan.op.short in LOOK_UPS):
            self._note_use((func, args, kwargs), plan.op.short, sparse, inputs, frame)
        place = None
        if self._recorder.lines and (lane != "backward" or node not in self._layers):
            place = hooks.caller(frame)
        # A closure of an optimizer computes with gradients within the step.
        if self._counting and (plan.op.short in FACTORS or self._operands.sparse) and (
                lane == "forward" or (lane == "update" and self.torch.is_grad_enabled())):
            self._note_operands(plan.op.short, args, inputs, place or hooks.caller(frame))
        if lane == "backward" and self._counting and plan.op.short in LOOK_UP_GRADIENTS:
            self._note_returned(result, _way_of_look_up(plan.op.short, args), node)
        if plan.op.lane == "convert" or sparse:
            kind = self._became(plan.op.short, lane, frame, inputs, outputs)
            plan = self._plan(func, kind)
        if plan.copies and self._across((*args, result)):
            plan = self._plan(func, "transfer")
        self._recorder.foreign(plan, start, end, (lane, layer, node, place), inputs, outputs)
        self.events += 1
        if kind and kind in hooks.KINDS:
            self._densified(plan, kind, lane, frame, inputs, outputs)

    def _note_use(self, call: tuple[TorchFunction, Given, Named], short: str, sparse: bool, inputs: list[NoteItem],
                  frame: FrameType) -> None:
        """Note how a weight is read without a layer, and what the program itself computes of a gradient that is mostly zero."""
        way = "rows" if short in LOOK_UPS else "product" if sparse and short in PRODUCTS else ""
        for part in (inputs[:1] if way == "rows" else inputs if way else ()):
            if part[0] is HELD:
                if len(self._read) > MOST_KNOWN:
                    self._read = {key: kept for key, kept in self._read.items() if kept[0]() is not None}
                self._read[id(part[1])] = part[1], way
        if not self._subjects or frame.f_globals.get("__name__") == "torch.functional":
            return  # torch.norm runs other operators for a sparse tensor
        for part in inputs:
            owner = self._held[id(part[1])][1] if part[0] is HELD and id(part[1]) in self._held else ""
            if owner in self._subjects and str(call[0]) not in self._uses.setdefault(owner, {}):
                func, args, kwargs = call

                def template(value: TorchArgument, owner: str = owner) -> TorchArgument:
                    return as_template(self.torch.Tensor, value, owner, self._owner_of, self._subjects[owner].shape)
                with self._at_work(), unseen(self.torch):
                    self._uses[owner][str(func)] = func, tuple(map(template, args)), {
                        key: template(kept) for key, kept in kwargs.items()}

    def _note_operands(self, short: str, args: Given, inputs: list[NoteItem], place: Place | None) -> None:
        """Note what a product multiplies, and what else the program does with a matrix that is mostly zero."""
        if short not in FACTORS:
            sparse = self._operands.sparse
            for part in inputs if sparse and short not in VIEWS else ():
                known = sparse.get(id(part[1])) if part[0] is HELD else None
                if known is not None and known.found is not None:
                    known.found.others.add(short)
            return
        # In inference mode, einsum and a linear layer are operators of their own; the layer has its bias at the end.
        given = args[1] if short == EINSUM else args[:2] if short == "linear" else args
        factors = [factor for factor in given if isinstance(factor, self.torch.Tensor)][-2:]
        for number, factor in enumerate(factors):
            if factor.layout is self.torch.strided and self.parts.is_plain(factor) and not factor.is_meta:
                self._operands.multiplied(factor, self.parts.memory(factor)[0], self._passes, number == 0, place)

    def _note_returned(self, gradient: TorchTensor, read: str, node: int | None) -> None:
        """Count the rows of the gradient of a table, which ``torch.autograd.grad`` may return to the program."""
        if not (isinstance(gradient, self.torch.Tensor) and self.parts.is_plain(gradient)
                and gradient.layout is self.torch.strided and gradient.dim() == 2 and worth_counting(gradient)):
            return
        following = self._graph_node().next_functions
        table = getattr(following[0][0], "variable", None) if following else None
        if table is None:
            return  # the gradient of what was computed goes on to other nodes
        shape = tuple(gradient.shape)
        returned = self._returned.get(shape)
        if returned is None:
            returned = self._returned[shape] = _Returned(self._name_of_table(table), weakref.ref(table), read, node, gradient)
        if returned.held:
            return
        returned.times += 1
        if is_due(returned.times):
            start = time.perf_counter_ns()
            with self._at_work(), unseen(self.torch):
                axis, rows = count_rows(gradient)
            if axis == "rows":
                returned.rows = max(returned.rows, rows)
                returned.counted, returned.spent = returned.counted + 1, returned.spent + time.perf_counter_ns() - start
        if returned.times > 1:
            self._assign(gradient, "gradient", returned.name)

    def _name_of_table(self, table: TorchTensor) -> str:
        """The name of a parameter; words for one that has none, as torch.func makes them for each call."""
        known = self.names.parameters[id(table)][1] if self.names.knows(table) else ""
        return known or f"a table of {' × '.join(map(format_count, table.shape))}"

    def _tell_returned(self) -> None:
        """Note the gradients of tables that were in no ``.grad``, and what to write so that they are sparse."""
        for shape, returned in self._returned.items():
            if returned.held or returned.told or not returned.counted:
                continue
            returned.told, start = True, time.perf_counter_ns()
            parameter = returned.parameter()
            owner = self.names.modules.get(returned.name, lambda: None)()
            subject = Subject(shape, returned.dtype, returned.device, "rows", returned.read, None, {})
            if parameter is not None and owner is not None:
                subject = Subject.of(self.torch, parameter, owner, "rows", returned.read)
            self._recorder.span(COUNTED, "profiler", start, start + returned.spent, {
                "parameter": returned.name, "module": "" if parameter is None else self.names.kind(parameter),
                "layout": "default", "axis": "rows", "rows": returned.rows, "shape": list(shape),
                "size": shape[0] * shape[1] * returned.dtype.itemsize, "stored": 0, "pass": returned.times,
                "node": returned.node})
            if is_mostly_zero("default", returned.rows, shape[0]):
                start = time.perf_counter_ns()
                with _outside(self.torch):
                    way, why = returned_way(self.torch, subject)
                self._recorder.span(TRIED, "profiler", start, time.perf_counter_ns(), {
                    "parameter": returned.name, "way": way, "why": why})

    def _owner_of(self, tensor: TorchTensor) -> str:
        """The parameter whose gradient a tensor is, or an empty text."""
        part = self.parts.of(tensor)
        return self._held[id(part[1])][1] if part[0] is HELD and id(part[1]) in self._held else ""

    def _where(self, here: _Here) -> tuple[str, str, int | None]:
        """The lane, the layer and the node of the graph that an operator runs for.

        While one of autograd's nodes runs, it is that node's.  Otherwise it has a node of its own if autograd has numbered one
        since the operator before.
        """
        modules = here.modules
        current, last = self._graph_node(), self._numbered() - 1
        if current is None:
            if self._backward:
                self._end_backward()
            lane, layer, node = self._lane(here), modules[-1][1] if modules else "", None
            if last != here.sequence and last >= 0:
                node = last + here.first
                self._remember(node, layer)
        else:
            if not self._backward:
                self._backward = True
                if is_due(self._passes + 1):
                    self._safely(lambda: self._look_for_leaves(current))
                # While gradients are there: the program may end, or set them to zero, without another operator.
                self.torch.autograd.Variable._execution_engine.queue_callback(_weakly(self, Watch._backward_ended))
            lane, sequence = "update" if here.spans and here.spans[-1][2] else "backward", current._sequence_nr()
            node = sequence + here.first if sequence < NO_SEQUENCE else None
            layer = modules[-1][1] if modules else "" if node is None else self._layers.get(node, "")
        here.sequence = last
        return lane, layer, node

    def _lane(self, here: _Here) -> str:
        """The lane of what no node of the graph runs."""
        for name, _, _ in reversed(here.spans):
            if name.startswith("Optimizer."):
                # What a closure of an optimizer computes has gradients.
                return "forward" if self.torch.is_grad_enabled() and here.modules else "update"
            if name.startswith("enumerate(DataLoader)"):
                return "io"
        return "forward"

    def _remember(self, node: int, layer: str) -> None:
        if len(self._layers) > 2 * MOST_KNOWN:
            for old in list(self._layers)[:MOST_KNOWN]:
                del self._layers[old]
        self._layers[node] = layer

    def _plan(self, func: TorchFunction, kind: str) -> TorchPlan:
        """The plan of an operator whose result became dense, as ``kind`` says, or that copies between devices."""
        plans = self._plans.get(id(func))
        return plans[kind] if plans is not None and kind in plans else self._new_plan(func, kind)

    def _new_plan(self, func: TorchFunction, kind: str) -> TorchPlan:
        op = TorchOperator(_name_of(func), bool(getattr(func, "is_view", False)))
        overload = getattr(func, "_overloadname", "")
        attrs: dict[str, JSON] = {"overload": overload} if overload not in ("", "default") else {}
        if op.short in CONVERSIONS:
            attrs["asked"] = kind == hooks.ASKED
        if kind == "transfer":
            op.lane = kind
        plan = self._plans.setdefault(id(func), {})[kind] = TorchPlan(op, kind, attrs)
        self._operators.append(func)
        return plan

    def _across(self, tensors: Given) -> bool:
        """Whether a copy goes to another device: ``copy_(target, source)``, ``_to_copy(source, device=…)``."""
        return len({tensor.device for tensor in tensors if isinstance(tensor, self.torch.Tensor)}) > 1

    def _became(self, short: str, lane: str, frame: FrameType, inputs: list[NoteItem], outputs: list[NoteItem]) -> str:
        """How a sparse input became dense in this call: a kind of densification, asked for, or empty if none did."""
        dense = [part for part in outputs if part[0] is HELD]
        if short in CONVERSIONS:
            return hooks.ASKED if lane != "backward" and _is_users(frame) else hooks.FALLBACK if dense else ""
        if not dense or short in PRODUCTS or short in ALIKE:
            return ""
        # What lies in the memory of an input holds nothing else: the values of a sparse tensor, an update in place.
        held = {id(piece[1]) for part in inputs for piece in (part[2] if _is_sparse(part) else (part,)) if piece[0] is HELD}
        shapes = [part[3] for part in dense if id(part[1]) not in held]
        return hooks.NATURAL if any(_is_sparse(part) and len(part[1]) <= len(shape) and _size(part[1]) <= _size(shape)
                                    for part in inputs for shape in shapes) else ""

    def _densified(self, plan: TorchPlan, kind: str, lane: str, frame: FrameType, inputs: list[NoteItem],
                    outputs: list[NoteItem]) -> None:
        """Put a densification into the ledger."""
        source = max((part for part in inputs if _is_sparse(part)), key=lambda part: _size(part[1]))
        result = next(part for part in outputs if part[0] is HELD)
        place = hooks.caller(frame)
        before = sum(_size(part[3]) * part[4].itemsize for part in source[2] if part[0] is HELD)
        reason = ("the gradient of the operator is dense" if lane == "backward" else
                  "PyTorch converts it, because it has no kernel for this layout" if kind == hooks.FALLBACK else
                  "the result of the operator is dense")
        record = hooks.Densification(plan.op.name, line_of(*place) if place else "", source[0], "default", source[1], before,
                                     _size(result[3]) * result[4].itemsize, reason, remedy_of(plan.op.short, lane), kind)
        self._recorder.foreign_dense(record, result)

    def _span(self, here: _Here, name: str, args: Given, start: int, end: int) -> None:
        """A range of ``torch.profiler.record_function`` begins or ends; optimizers and loaders have one."""
        if "_enter" in name:
            label = str(args[0]) if args else ""
            here.spans.append((label, end, label.startswith("Optimizer.") and self._graph_node() is not None))
        elif here.spans:
            label, began, _ = here.spans.pop()
            lane = "update" if label.startswith("Optimizer.") else "io" if label.startswith("enumerate(DataLoader)") else "user"
            self._recorder.span(label, lane, began, start, {})

    # Devices

    def _device_event(self, args: Given) -> tuple[Torch, Torch] | None:
        """Begin to time an operator on a GPU, if it runs on one: its device and an event."""
        cuda = self.torch.cuda
        first = next((argument for argument in args if isinstance(argument, self.torch.Tensor)), None)
        if first is None or not first.is_cuda or not cuda.is_initialized() or cuda.is_current_stream_capturing():
            return None
        begun = cuda.Event(enable_timing=True)
        begun.record()
        return first.device, begun

    def _note_device(self, func: TorchFunction, device: Torch, begun: Torch) -> None:
        done = self.torch.cuda.Event(enable_timing=True)
        done.record()

        def milliseconds() -> float:
            done.synchronize()
            return float(begun.elapsed_time(done))

        hooks.device_work.append(hooks.DeviceWork(_name_of(func), str(device), milliseconds))

    # Modules

    def _enter_module(self, module: TorchModule, args: Given) -> None:
        here = self._here
        if not self.noting or here.own:
            return
        self._join(here)
        alone = not here.modules
        if not alone and self.names.is_root(module):
            # An outermost module inside another: the rest of a pass that was interrupted, or one module used in two ways.
            alone = not any(outer is module for outer, _ in here.modules) and not _contains(here.modules[0][0], module)
            if alone:
                here.modules.clear()
        name = self.names.of_module(module, alone)
        here.modules.append((module, name))
        if alone:
            with self._at_work():
                self._assign_parameters(module)

    def _leave_module(self, module: TorchModule, args: Given, result: TorchTensor) -> None:
        modules = self._here.modules
        while modules and any(entered is module for entered, _ in modules):
            if modules.pop()[0] is module:
                break

    def _assign_parameters(self, root: TorchModule) -> None:
        """Say which memory holds parameters, and gradients that were there before."""
        self._end_backward()
        for parameter, name, _ in self.names.alive():
            if not _lazy(parameter):
                self._assign(parameter, "parameter", name, before=True)
                if parameter.is_leaf and parameter.grad is not None:
                    self._assign(parameter.grad, "gradient", name, before=True)

    def _assign(self, tensor: TorchTensor, role: str, owner: str, before: bool = False) -> None:
        """Note that a tensor's memory serves as ``role``, unless that is known."""
        part = self.parts.of(tensor)
        if part[0] is None:
            return  # a wrapper, as those of torch.func, or on the device "meta"
        if part[0] is HELD:
            held = self.parts.memory(tensor)
            if role == "gradient":
                self._held[id(held[0])] = held[0], owner
            if held[2] == (role, owner):
                return
            held[2] = role, owner
        elif before and role == "gradient":
            return
        self._recorder.foreign_role(part, role, owner, before)

    # Gradients and optimizers

    def _look_for_leaves(self, node: Torch) -> None:
        """Learn of tensors that get gradients and that neither a module nor an optimizer has told of since the look before."""
        self._name_leaves()
        self._leaves = [weakref.ref(leaf) for leaf in leaves_behind(node) if not self.names.knows(leaf)]

    def _name_leaves(self) -> None:
        """Give the tensors that were found the names of the program's variables."""
        for number, reference in enumerate(self._leaves):
            leaf = reference()
            if leaf is not None and not self.names.knows(leaf):
                self.names.learn_owners([leaf], self.torch.nn.Module)
                name = self.names.parameter(leaf, variable_of(leaf) or f"parameter{number}")
                self._assign(leaf, "parameter", name)

    def _see_leaves(self) -> None:
        """See the gradients of tensors that only one pass has reached."""
        unknown = [tensor for tensor in (reference() for reference in self._leaves)
                   if tensor is not None and not self.names.knows(tensor)]
        self._name_leaves()
        for leaf in unknown:
            self._see_gradient(leaf, self.names.parameter(leaf, "parameter"), self.names.kind(leaf))

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """The profiler itself uses PyTorch: that is neither noted, nor seen by the program's function modes."""
        here = self._here
        here.own, before = True, here.own
        try:
            with self.torch._C.DisableTorchFunction():
                yield
        finally:
            here.own = before

    def _safely(self, work: Callable[[], None]) -> None:
        """Do some work of the profiler's own, which is not noted, and whose failure is not the user's."""
        try:
            with self._at_work():
                work()
        except Exception:
            self.failed += 1

    def _backward_ended(self) -> None:
        if self._backward and self.noting:
            self._safely(self._after_backward)

    def _end_backward(self) -> None:
        """Note the end of a backward pass that has ended: checkpoints compute forwards, and backwards, within one."""
        if self._backward and self.torch._C._current_graph_task_id() == -1:
            self._after_backward()

    def _after_backward(self) -> None:
        """A backward pass has ended: say which memory holds gradients, and count their rows if it is time."""
        self._backward = False
        self._passes += 1
        self._held.clear()
        with self._at_work():
            for parameter, name, kind in self.names.alive():
                self._see_gradient(parameter, name, kind)

    def _see_gradient(self, parameter: TorchTensor, name: str, kind: str = "") -> None:
        """Say which memory holds the gradient of a parameter, and count its rows if it is time; once in each pass."""
        number = self._passes + self._backward  # an optimizer may take gradients before the pass has ended
        if parameter.is_leaf and parameter.grad is not None:
            returned = self._returned.get(tuple(parameter.shape)) if self._returned else None
            if returned is not None:
                returned.held = True
            self._assign(parameter.grad, "gradient", name)
            if self._counting and self._latest.get(name) != number:
                self._latest[name], seen = number, self._gradients.get(name, 0) + 1
                self._gradients[name] = seen
                if is_due(seen):
                    with unseen(self.torch):
                        self._count(parameter, name, kind)

    def _count(self, parameter: TorchTensor, name: str, kind: str) -> None:
        """Note how many rows of a gradient are not zero."""
        gradient, stored = parameter.grad, 0
        if not self.parts.is_plain(gradient):
            return  # its operators are the subclass's: between processes they would be messages
        start = time.perf_counter_ns()
        shape = [int(size) for size in gradient.shape]
        if gradient.layout is self.torch.strided:
            if not worth_counting(gradient):
                return
            axis, rows = count_rows(gradient)
            stype, size = "default", gradient.numel() * gradient.element_size()
            if is_mostly_zero(stype, rows, length_of(shape, axis)) and name not in self._subjects:
                self._subjects[name] = self._subject(parameter, name, axis)
        elif gradient.layout is self.torch.sparse_coo and gradient.sparse_dim() == 1 and gradient.dense_dim():
            values, indices = gradient._values(), gradient._indices()
            stype, axis, stored = "row_sparse", "rows", int(indices.shape[1])
            rows = stored_rows(gradient)
            size = values.numel() * values.element_size() + indices.numel() * indices.element_size()
        else:
            return
        self._recorder.span(COUNTED, "profiler", start, time.perf_counter_ns(), {
            "parameter": name, "module": kind, "layout": stype, "axis": axis, "rows": rows, "shape": shape, "size": size,
            "stored": stored, "pass": self._passes})

    def _subject(self, parameter: TorchTensor, name: str, axis: str) -> Subject:
        """What is needed of a parameter to try a sparse gradient."""
        module = self.names.modules.get(name)
        _, read = self._read.get(id(self.parts.memory(parameter)[0]), (None, ""))
        return Subject.of(self.torch, parameter, None if module is None else module(), axis, read)

    def _try_twins(self) -> None:
        """Note what to write so that gradients and matrices that are mostly zero become sparse, after it was tried on twins."""
        start = time.perf_counter_ns()
        with _outside(self.torch):
            operands = self._operands.tried(self._passes)
        for operand in operands:
            self._recorder.span(OPERAND, "profiler", start, time.perf_counter_ns(), operand)
        for name, subject in self._subjects.items():
            uses = self._uses.get(name, {})
            known = subject, self._optimizers.get(name), len(uses)
            if self._told.get(name) != known:
                start = time.perf_counter_ns()
                with _outside(self.torch):
                    way, why = sparse_way(self.torch, subject, known[1], list(uses.values()))
                self._recorder.span(TRIED, "profiler", start, time.perf_counter_ns(), {"parameter": name, "way": way, "why": why})
                self._told[name] = known

    def _before_step(self, optimizer: TorchOptimizer, args: Given, kwargs: Named) -> None:
        if self.noting and not self._here.own:
            self._join(self._here)
            self._safely(lambda: self._learn_optimizer(optimizer))

    def _learn_optimizer(self, optimizer: TorchOptimizer) -> None:
        self._end_backward()
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.names.learn_owners(parameters, self.torch.nn.Module)
        for number, parameter in enumerate(parameters):
            known = self.names.knows(parameter)
            variable = "" if known else variable_of(parameter)
            name = self.names.parameter(parameter, variable or f"parameter{number}")
            self._assign(parameter, "parameter", name)
            if not known or self._backward:
                self._see_gradient(parameter, name, self.names.kind(parameter))
            if name in self._subjects and name not in self._optimizers:
                self._optimizers[name] = optimizer_of(optimizer, parameter)
        self._assign_states(optimizer, before=True)

    def _after_step(self, optimizer: TorchOptimizer, args: Given, kwargs: Named) -> None:
        if self._here.seen and self.noting and not self._here.own:
            self._safely(lambda: self._assign_states(optimizer, before=False))

    def _assign_states(self, optimizer: TorchOptimizer, before: bool) -> None:
        for parameter, state in optimizer.state.items():
            values = state.values() if isinstance(state, dict) else ()
            tensors = [value for value in values if isinstance(value, self.torch.Tensor)]
            if tensors:
                name = self.names.parameter(parameter, "parameter")
                for tensor in tensors:
                    self._assign(tensor, "optimizer state", name, before)


def _name_of(func: TorchFunction) -> str:
    """An operator's name as PyTorch's profiler writes it; what is not an operator has the name of its class."""
    schema = getattr(func, "_schema", None)
    return str(schema.name) if schema is not None else f"higher_order::{getattr(func, '_name', type(func).__name__)}"


def _is_sparse(part: NoteItem) -> bool:
    return part[0].__class__ is str and part[0] is not HELD


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _is_users(frame: FrameType) -> bool:
    """Whether a frame is the user's own, and not PyTorch's."""
    place = hooks.caller(frame)
    return place is not None and place[0] is frame.f_code


def _way_of_look_up(short: str, args: Given) -> str:
    """How a table was read, from the operator that writes its gradient, as ``Subject.read`` says it."""
    if not short.startswith("_embedding_bag"):
        return "rows"
    by_frequency, mode = args[7:9] if short == "_embedding_bag_backward" else args[6:8]
    return "bags" if mode < 2 and not by_frequency else "largest of rows"


def _contains(root: TorchModule, module: TorchModule) -> bool:
    return any(part is module for part in root.modules())


def _lazy(parameter: TorchTensor) -> bool:
    """Whether a parameter has no shape yet."""
    return any(kind.__name__ == "UninitializedTensorMixin" for kind in type(parameter).__mro__)


def _weakly(watch: Watch, work: Callable[..., None]) -> Callable[..., None]:
    """A hook that does some work of the watch, does not keep it alive, and never raises."""
    reference, compiling = weakref.ref(watch), watch.torch.compiler.is_compiling

    def hook(*arguments: Torch) -> None:
        if compiling():
            return  # torch.compile runs this line while it reads the program, and leaves the hook out of what it makes
        living = reference()
        if living is not None:
            try:
                work(living, *arguments)
            except Exception:
                living.failed += 1

    _leave_as_it_is(watch.torch, hook)
    return hook


def _leave_as_it_is(torch: Torch, function: Callable[..., object]) -> None:  # object: what a hook or a mode returns
    """Have code that torch.compile made call a function, and all that it calls, as if they were not the user's to compile."""
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "set_code_exec_strategy"):
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))


@functools.cache
def _mode_class(torch: Torch) -> TorchMode:
    """The class of the mode, made when PyTorch is there."""
    base: Torch = whole_import("torch.utils._python_dispatch").TorchDispatchMode
    skips = hasattr(torch._C._dynamo.eval_frame, "set_code_exec_strategy")

    class Mode(base):  # type: ignore[misc]  # PyTorch need not be installed
        """Hands every operator to a watch."""

        supports_higher_order_operators = True

        def __init__(self, watch: Watch) -> None:
            super().__init__()
            self._watch = weakref.ref(watch)

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            """Whether compiled code runs as it does without the mode."""
            return True

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Whether PyTorch wraps the method below, which takes microseconds a call and seconds for the first."""
            return not skips

        def __torch_dispatch__(self, func: TorchFunction, types: Given, args: Given = (),
                               kwargs: Named | None = None) -> TorchTensor:
            watch = self._watch()
            return func(*args, **(kwargs or {})) if watch is None else watch.run(func, args, kwargs or {})

    _leave_as_it_is(torch, Mode.__torch_dispatch__)
    return Mode


@contextmanager
def unseen(torch: Torch) -> Iterator[None]:
    """What the profiler itself computes by PyTorch is not seen by any of the program's modes."""
    dispatch = whole_import("torch.utils._python_dispatch")
    with dispatch._disable_current_modes(), torch._C.DisableTorchFunction():
        yield


@contextmanager
def _outside(torch: Torch) -> Iterator[None]:
    """The same, where a profile ends within ``torch.func.grad``, say: twins have backward passes, which are refused there."""
    # A private function: a version of PyTorch that lacks it refuses twins in there.
    cleared = getattr(whole_import("torch._functorch.pyfunctorch"), "temporarily_clear_interpreter_stack", nullcontext)
    with unseen(torch), cleared():
        yield


def _remove(mode: TorchMode) -> None:
    """Take a mode off the stack, also from below others that are still entered."""
    dispatch, above = whole_import("torch.utils._python_dispatch"), []
    stack = dispatch._get_current_dispatch_mode_stack()
    if not any(entered is mode for entered in stack):
        return  # another thread's
    while dispatch._get_current_dispatch_mode() is not mode:
        above.append(dispatch._pop_mode())
    if not above:
        mode.__exit__(None, None, None)
        return
    # The flags that this mode would set back are those that the one above it is to set back.
    dispatch._pop_mode()
    for name in ("old_dispatch_mode_flags", "old_non_infra_dispatch_mode_flags",
                 "old_without_ignore_compile_internals_dispatch_mode_flags"):
        own, next_one = getattr(mode, name, None), getattr(above[-1], name, None)
        if own and next_one:
            next_one[-1] = own.pop()
    for entered in reversed(above):
        dispatch._push_mode(entered)


def cost_of_torch_event(recorder: Recorder) -> float:
    """Nanoseconds that recording one operator of PyTorch takes here, measured on small tensors."""
    torch = torch_of()
    watch = Watch(torch, recorder, counting=False)
    with unseen(torch):
        return _measured(torch, watch)


def _measured(torch: Torch, watch: Watch) -> float:
    small = torch.zeros(8, device="cpu")

    def loop(count: int = 200) -> int:
        begin = time.perf_counter_ns()
        for _ in range(count):
            torch.add(small, small)
        return time.perf_counter_ns() - begin

    costs = []
    for _ in range(5):
        plain = loop()
        watch.begin()
        try:
            noted = loop()
        finally:
            watch.end()
        costs.append((noted - plain) / 200)
    return max(0.0, statistics.median(costs))
