"""A group of executors of one symbol, one for each context, which compute parts of each batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..base.errors import DTypeError, ParameterError, ParameterNameError, ShapeError, UnsupportedError
from ..core.dispatch import densified, wrap
from ..io import DataDesc
from ..kernels import for_device
from ..ndarray.functions import F
from ..symbol.attr_text import dtype_of
from .checks import described, require

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..base.context import Context
    from ..core.types import Gradients
    from ..metric.base import EvalMetric
    from ..ndarray.ndarray import NDArray
    from ..symbol.executor import Executor
    from ..symbol.symbol import Symbol
    from .types import Batch, Descriptions, Monitor, Requests


__all__ = ["DataParallelExecutorGroup", "split_batch"]

#: Number of batch shapes for which executors are kept, in addition to the shape bound first.
KEPT = 8


def split_batch(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """The slice of a batch for each context, in proportion to its work load.

    Raises
    ------
    ShapeError
        If a slice would be empty.
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += max(0, batch_size - sum(counts))
    ends = [min(end, batch_size) for end in itertools.accumulate(counts, initial=0)]
    if any(start >= end for start, end in itertools.pairwise(ends)):
        raise ShapeError(f"Too many slices. Some splits are empty: a batch of {batch_size} for work loads {work_load_list}.",
                         hint="use larger batches, or fewer contexts.")
    return [slice(start, end) for start, end in itertools.pairwise(ends)]


class DataParallelExecutorGroup:
    """The executors of a module.

    Parameters
    ----------
    symbol : Symbol
    contexts : list of Context
    workload : list of float
        Share of the batch of each context.
    data_shapes, label_shapes : list of DataDesc or of tuple
        Descriptions of whole batches, or pairs of a name and a shape; ``label_shapes`` may be None.
    param_names : list of str
    for_training, inputs_need_grad : bool
    shared_group : DataParallelExecutorGroup, optional
        Group with which parameters and gradients are shared.
    fixed_param_names, state_names : list of str
    grad_req : str, list or dict
    group2ctxs : list of dict, optional
        For each context, the contexts of the groups of the symbol.

    Attributes
    ----------
    execs : list of Executor
    slices : list of slice
        Rows of the batch for each executor.
    param_arrays, grad_arrays, aux_arrays : list of list of NDArray
        For each name, one array for each context.
    """

    def __init__(self, symbol: Symbol, contexts: list[Any], workload: Sequence[float], data_shapes: Descriptions,
                 label_shapes: Descriptions, param_names: list[str], for_training: bool, inputs_need_grad: bool,
                 shared_group: DataParallelExecutorGroup | None = None, fixed_param_names: Sequence[str] = (),
                 grad_req: Requests = "write", state_names: Sequence[str] = (),
                 group2ctxs: Sequence[dict[str, Context] | None] | None = None) -> None:
        self.group2ctxs = [None] * len(contexts) if group2ctxs is None else group2ctxs
        self.symbol, self.contexts, self.workload, self.param_names = symbol, contexts, workload, param_names
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.fixed_param_names, self.state_names = list(fixed_param_names), list(state_names)
        self.arg_names, self.aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.output_layouts = [DataDesc.get_batch_axis(output.attr("__layout__")) for output in symbol]
        data = described(data_shapes, "data_shapes")
        self.grad_req = self._grad_reqs(grad_req if for_training else "null", [description.name for description in data])
        self._kept: dict[Any, list[Any]] = {}
        self._labelled = False
        self._describe(data, None if label_shapes is None else described(label_shapes, "label_shapes"))
        self.execs = [self._bind(place, shared_group) for place in range(len(contexts))]
        self._first, self._first_key = self.execs, self._key()
        self._collect()

    # binding

    def _grad_reqs(self, grad_req: Requests, data_names: list[str]) -> dict[str, str]:
        """``grad_req`` of each argument."""
        if isinstance(grad_req, (list, tuple)):
            if len(grad_req) != len(self.arg_names):
                raise ParameterError(f"grad_req has {len(grad_req)} entries for {len(self.arg_names)} arguments.",
                                     hint=f"the arguments are {', '.join(self.arg_names)}; a dict may list only some.")
            return dict(zip(self.arg_names, grad_req, strict=True))
        if not isinstance(grad_req, (str, dict)):
            raise DTypeError(f"grad_req must be one of str, list, tuple, or dict, not {type(grad_req).__name__}.",
                             hint="pass 'write', 'add' or 'null', for all arguments or by name.")
        default = grad_req if isinstance(grad_req, str) else "write"
        requests = dict.fromkeys(self.arg_names, "null")
        for name in self.param_names:
            requests[name] = "null" if name in self.fixed_param_names else default
        if self.inputs_need_grad:
            requests.update(dict.fromkeys(data_names, default))
        for name in grad_req if isinstance(grad_req, dict) else ():
            if name not in requests:
                raise ParameterNameError.of("argument", name, requests)
        return {**requests, **(grad_req if isinstance(grad_req, dict) else {})}

    def _describe(self, data_shapes: list[DataDesc], label_shapes: list[DataDesc] | None) -> None:
        """Set the shapes of a batch, and its slices."""
        size, slices = None, None
        layouts = [[DataDesc.get_batch_axis(description.layout) for description in some]
                   for some in (data_shapes, label_shapes or [])]
        for description, axis in zip([*data_shapes, *(label_shapes or [])], layouts[0] + layouts[1], strict=True):
            if axis < 0:
                continue
            if axis >= len(description.shape):
                raise ShapeError(f"{description.name} has shape {description.shape}, but its layout {description.layout} has "
                                 f"the batch on axis {axis}.", hint="pass DataDesc(name, shape, layout=…).")
            if size is not None and description.shape[axis] != size:
                raise ShapeError(f"all data must have the same batch size: batch_size = {size}, but {description.name} has shape "
                                 f"{description.shape}.", hint="data and labels must have the same number of rows.")
            size = description.shape[axis]
        slices = split_batch(size, self.workload) if size is not None else [slice(None)] * len(self.contexts)
        self.batch_size, self.slices = size, slices
        self.data_shapes, self.label_shapes = data_shapes, label_shapes
        self.data_layouts, self.label_layouts = layouts

    def _part_shapes(self, shapes: list[DataDesc], place: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the part of a batch for one context."""
        part_shapes = {}
        for description in shapes:
            shape, axis = list(description.shape), DataDesc.get_batch_axis(description.layout)
            if axis >= 0:
                shape[axis] = self.slices[place].stop - self.slices[place].start
            part_shapes[description.name] = tuple(shape)
        return part_shapes

    def _input_shapes(self, place: int) -> dict[str, Any]:
        return {**self._part_shapes(self.data_shapes, place), **self._part_shapes(self.label_shapes or [], place)}

    def _bind(self, place: int, shared_group: DataParallelExecutorGroup | None) -> Executor:
        """The executor of one context."""
        attrs = self.symbol.attr_dict()
        types = {description.name: description.dtype for description in (*self.data_shapes, *(self.label_shapes or []))}
        for name in types:
            declared = dtype_of(attrs.get(name, {}).get("__dtype__", "-1"))
            types[name] = types[name] if declared is None else declared
        shared = None if shared_group is None else shared_group.execs[place]
        executor = self.symbol.simple_bind(
            ctx=self.contexts[place], grad_req=self.grad_req, type_dict=types, group2ctx=self.group2ctxs[place],
            shared_arg_names=self.param_names, shared_exec=shared, **self._input_shapes(place))
        if shared is not None:
            _check_shared(self.param_names, executor, shared)
        return executor

    def _collect(self) -> None:
        """Collect the arrays of all executors: for each name, one array for each context."""
        arguments, gradients = [executor.arg_dict for executor in self.execs], [executor.grad_dict for executor in self.execs]
        self.data_arrays = [[held[description.name] for held in arguments] for description in self.data_shapes]
        self.label_arrays = [[held[description.name] for held in arguments] for description in self.label_shapes or []]
        self.state_arrays = [[held[name] for held in arguments] for name in self.state_names]
        self.param_arrays = [[held[name] for held in arguments] for name in self.param_names]
        self.grad_arrays = [[held[name] for held in gradients] for name in self.param_names]
        self.input_grad_arrays = [[held[description.name] for held in gradients] for description in self.data_shapes]
        states = [executor.aux_dict for executor in self.execs]
        self.aux_arrays = [[held[name] for held in states] for name in self.aux_names]

    # other shapes

    def _key(self) -> tuple[Any, ...]:
        return tuple(tuple((description.name, description.shape) for description in some or [])
                     for some in (self.data_shapes, self.label_shapes))

    def reshape(self, data_shapes: Descriptions, label_shapes: Descriptions) -> None:
        """Change the shapes of batches; the parameters stay the same.

        Raises
        ------
        ShapeError
            If the shapes need parameters of other shapes; nothing changes then.
        """
        before = self.data_shapes, self.label_shapes
        try:
            self._describe(described(data_shapes, "data_shapes"),
                           None if label_shapes is None else described(label_shapes, "label_shapes"))
            key = self._key()
            if key == self._first_key:
                self.execs = self._first
            elif key in self._kept:
                self.execs = self._kept[key] = self._kept.pop(key)
            else:
                self.execs = self._kept[key] = [self._reshaped(place) for place in range(len(self.contexts))]
        except Exception:
            self._describe(*before)
            raise
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        self._labelled = False
        self._collect()

    def _reshaped(self, place: int) -> Executor:
        first = self._first[place]
        shapes = self._input_shapes(place)
        fixed = {name: array.shape for name, array in first.arg_dict.items() if name in self.param_names}
        for name, shape in zip(self.arg_names, self.symbol.infer_shape_partial(**shapes, **fixed)[0], strict=True):
            if name not in fixed and name not in shapes and shape and 0 not in shape:
                shapes[name] = shape  # states, and labels, which prediction does not need
        reshaped = first.reshape(allow_up_sizing=True, **shapes)
        reshaped.set_monitor_callback(*(first._monitor or (None,)))
        return reshaped

    # parameters

    def set_params(self, arg_params: dict[str, Any], aux_params: dict[str, Any], allow_extra: bool = False) -> None:
        """Copy values to every executor."""
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: dict[str, Any], aux_params: dict[str, Any]) -> None:
        """Write the mean over all contexts to these arrays."""
        for names, blocks, into in ((self.param_names, self.param_arrays, arg_params),
                                    (self.aux_names, self.aux_arrays, aux_params)):
            for name, block in zip(names, blocks, strict=True):
                _mean(block, into[name]).copyto(into[name])

    # passes

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Split a batch over the contexts, and compute the outputs."""
        self.feed(data_batch)
        is_train = self.for_training if is_train is None else is_train
        for executor in self.execs:
            executor.forward(is_train=is_train)

    def feed(self, data_batch: Batch) -> None:
        """Split a batch over the contexts."""
        self._feed(data_batch, "data", self.data_shapes, self.data_arrays, self.data_layouts)
        # For prediction, a batch may be any object with the attribute ``data``.
        labels = getattr(data_batch[0] if isinstance(data_batch, list) else data_batch, "label", None)
        self._labelled = bool(self.label_arrays) and bool(labels)
        if self._labelled:
            self._feed(data_batch, "label", self.label_shapes or [], self.label_arrays, self.label_layouts)

    @property
    def complete(self) -> bool:
        """Whether the last batch had the labels that a backward pass needs."""
        return self._labelled or not self.label_arrays

    def _feed(self, batch: object, kind: str, descriptions: list[DataDesc], targets: list[list[Any]], layouts: list[int]) -> None:
        parts = [getattr(sub_batch, kind) for sub_batch in batch] if isinstance(batch, list) else None
        arrays = getattr(batch, kind) if parts is None else parts[0]
        if len(arrays) != len(descriptions):
            raise ParameterError(f"A batch has {len(arrays)} arrays of {kind}, but {len(descriptions)} are bound.",
                                 hint="bound, in order: "
                                      f"{', '.join(description.name for description in descriptions) or 'none'}.")
        for number, (description, blocks, axis) in enumerate(zip(descriptions, targets, layouts, strict=True)):
            pieces = self._cut(arrays[number], axis) if parts is None else [part[number] for part in parts]
            for piece, target in zip(pieces, blocks, strict=True):
                _put(description.name, piece, target)

    def _cut(self, array: NDArray, axis: int) -> Iterator[Any]:
        """The parts of an array, one for each context."""
        if axis < 0 or len(self.slices) == 1:
            return itertools.repeat(array, len(self.slices))
        if axis == 0:
            return (array[rows] for rows in self.slices)
        return (F.slice_axis(array, axis=axis, begin=rows.start, end=rows.stop) for rows in self.slices)

    def backward(self, out_grads: Gradients = None) -> None:
        """Compute the gradients on every context.

        Raises
        ------
        ModuleStateError
            If the group is bound for prediction only.
        ParameterError
            If the network has labels and the last batch had none.
        """
        require(self, "for_training")
        if not self.complete:
            raise ParameterError(f"The last batch had no labels, but the backward pass needs "
                                 f"{', '.join(label.name for label in self.label_shapes or [])}.",
                                 hint="pass mx.io.DataBatch(data=[…], label=[…]).")
        if out_grads is None:
            heads: Any = [None] * len(self.execs)
        else:
            gradients = self.execs[0]._head_gradients(out_grads)
            cut = [itertools.repeat(None, len(self.slices)) if gradient is None else self._cut(gradient, axis)
                   for gradient, axis in zip(gradients, self.output_layouts, strict=True)]
            heads = zip(*cut, strict=True)
        for executor, head, ctx in zip(self.execs, heads, self.contexts, strict=True):
            executor.backward(None if head is None else [None if part is None else part.as_in_context(ctx) for part in head])

    # results

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of the name of each output and its shape for whole batches."""
        held = {name: array.shape for name, array in self.execs[0].arg_dict.items()}
        shapes = []
        for name, shape, axis in zip(self.output_names, self.symbol.infer_shape(**held)[1], self.output_layouts, strict=True):
            if axis >= 0 and len(shape) > axis and self.batch_size is not None:
                shape = (*shape[:axis], self.batch_size, *shape[axis + 1:])
            shapes.append((name, shape))
        return shapes

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list[Any]:
        """Outputs of the last forward pass; if not merged, a list for each output with an array for each context."""
        outputs = [list(block) for block in zip(*(executor.outputs for executor in self.execs), strict=True)][begin:end]
        return _merged(outputs, self.output_layouts[begin:end]) if merge_multi_context else outputs

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Copies of the gradients with respect to the data."""
        gradients = [[gradient.copy() for gradient in block] for block in self.input_grad_arrays]
        return _merged(gradients, self.data_layouts) if merge_multi_context else gradients

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Arrays of the states; if not merged, a list for each state with an array for each context."""
        if merge_multi_context and len(self.contexts) > 1:
            raise UnsupportedError("merge_multi_context=True is not supported for get_states of several contexts.",
                                   hint="call get_states(merge_multi_context=False).")
        return [block[0] for block in self.state_arrays] if merge_multi_context else self.state_arrays

    def set_states(self, states: Sequence[Any] | None = None, value: object = None) -> None:
        """Set the states to arrays, one for each state and context, or all states to one number."""
        if (states is None) == (value is None):
            raise ParameterError(f"Exactly one of states and value is required, got {'none' if states is None else 'both'}.",
                                 hint="pass states=[arrays], or value=number for all states.")
        if states is None:
            for block in self.state_arrays:
                for array in block:
                    array[:] = value
            return
        if len(states) != len(self.state_arrays):
            raise ParameterError(f"states has {len(states)} entries, but the network has {len(self.state_arrays)} states.",
                                 hint=f"the states are {', '.join(self.state_names)}.")
        for values, block in zip(states, self.state_arrays, strict=True):
            for source, array in zip(values if isinstance(values, (list, tuple)) else [values], block, strict=True):
                source.copyto(array)

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool, label_names: list[str]) -> None:
        """Update a metric by the outputs and labels of every context."""
        names = [label.name for label in self.label_shapes] if self.label_shapes else label_names
        layouts = self.label_layouts if self.label_shapes else [0] * len(names)
        parts: Any = labels if pre_sliced else self._label_parts(labels or [], layouts, names)
        for executor, part in zip(self.execs, parts, strict=True):
            eval_metric.update_dict(dict(zip(names, part, strict=False)),
                                    dict(zip(self.output_names, executor.outputs, strict=True)))

    def _label_parts(self, labels: Sequence[NDArray], layouts: list[int], names: list[str]) -> Iterable[Any]:
        if not labels and names:
            raise ParameterError("The metric needs labels, but the batch has none.",
                                 hint=f"the iterator must provide {', '.join(names)}.")
        if not labels:
            return [[] for _ in self.execs]
        return zip(*(self._cut(label, axis) for label, axis in zip(labels, layouts, strict=False)), strict=True)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor in every executor."""
        for executor in {id(executor): executor for some in (self._first, self.execs, *self._kept.values())
                         for executor in some}.values():
            mon.install(executor)


def _check_shared(names: list[str], executor: Executor, shared: Executor) -> None:
    """Raise unless ``executor`` shares all parameters with ``shared``."""
    for name in names:
        held = shared.arg_dict.get(name)
        if held is None:
            raise ParameterNameError(f"shared_module has no parameter {name!r}.",
                                     hint="bind the module that has all parameters first.")
        if held is not executor.arg_dict[name]:
            mine = executor.arg_dict[name]
            raise ShapeError(f"The parameter {name} cannot be shared: here it is {mine.stype}, {mine.shape}, {mine.dtype}, but "
                             f"in shared_module {held.stype}, {held.shape}, {held.dtype}.",
                             hint="declare equal storage types, shapes and dtypes in both networks.")


def _put(name: str, piece: NDArray, target: NDArray) -> None:
    """Copy a part of a batch to an argument."""
    if piece.shape != target.shape:
        raise ShapeError(f"{name} of a batch has shape {piece.shape}, but {target.shape} is bound.",
                         hint="data and labels must have the same number of rows.")
    if target.stype == "default" and piece.stype != "default":
        store = densified("Module", piece._store, for_device(piece.context.device_type),
                          f"The network's {name} is dense, but batches of it are {piece.stype}",
                          f"declare it: mx.sym.Variable({name!r}, stype={piece.stype!r})")
        piece = wrap(store, piece.context)
    piece.copyto(target)


def _mean(block: list[Any], target: NDArray) -> NDArray:
    """The mean of the copies of an array on all contexts, on the context of ``target``."""
    total = block[0].as_in_context(target.context)
    for other in block[1:]:
        total = total + other.as_in_context(target.context)
    return total if len(block) == 1 else (total / len(block)).astype(target.dtype, copy=False)


def _merged(blocks: list[list[Any]], layouts: list[int]) -> list[Any]:
    """Concatenate the arrays of all contexts along the batch axis; without a batch axis, take the first."""
    return [block[0] if len(block) == 1 or axis < 0
            else F.concat(*(piece.as_in_context(block[0].context) for piece in block), dim=axis)
            for block, axis in zip(blocks, layouts, strict=True)]


