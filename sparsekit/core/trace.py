"""Tracing: operators run on arrays that have a shape and no values, and are noted instead of computed.

A traced array is an ordinary NDArray on the context ``TRACE``, whose stores are *abstract arrays*.  So everything that works on
arrays (functions, methods, Python's operators, recording, the backward pass) works on them unchanged, and what is noted
is exactly what would have run.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import threading
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.context import Context
from ..base.errors import SparsekitError
from ..base.scoped import Scoped
from ..kernels import stand_ins
from . import hooks
from .arrays import array_types, wrap
from .dispatch import Plan, dense_kind, made_dense, resolve
from .graph import Node, Variable, number
from .op import Call, Op, Rule, Want
from .spec import Spec, infer

if TYPE_CHECKING:
    from typing import NoReturn, TypeAlias

    from ..base.types import DTypeLike, Shape
    from ..kernels.types import Kernels
    from ..storage.types import Store
    from .types import ArrayFunctions, ArrayObject

    #: What a trace changes: tracer, recording, tracing, how many contexts stood on the stack; and what names the block.
    Before: TypeAlias = tuple["Tracer | None", bool, bool, int, object]  # object: one of its own, for nothing else


class TracingError(SparsekitError, AttributeError):
    """What was asked needs values, and there are none while a block is traced."""


class ControlFlow(TracingError):
    """A loop or a branch whose course depends on values was met: the block runs as it is written, as it must."""


class RunsInPython(ControlFlow):
    """Python of the user's was met that runs at every call: an own ``forward``, a custom operator, a hook."""


class AbstractArray:
    """Stands for a store while tracing: its shape and element type.

    Attributes
    ----------
    slot : int
        Where a program keeps the store that this stands for.
    owner : int
        Number of the tracer that made it; 0 for one that no program has a slot for.
    """

    stype = "default"
    __slots__ = ("__weakref__", "dtype", "owner", "shape", "slot")

    def __init__(self, shape: Shape, dtype: DTypeLike, slot: int, owner: int = 0) -> None:
        self.shape, self.dtype, self.slot, self.owner = tuple(shape), np.dtype(dtype), slot, owner

    @property
    def nbytes(self) -> int:
        """Bytes of the dense array; of a sparse one nobody knows yet."""
        return math.prod(self.shape) * self.dtype.itemsize if self.stype == "default" else 0

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def copy(self) -> AbstractArray:
        """Itself: what runs later copies a store that two arrays would share."""
        return self

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise refuse()

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:  # object: numpy's arguments, which differ by version
        raise refuse()


def refuse(problem: str = "a hybridized block asked for the values of an array while it was traced.",
           hint: str = "compute with operators of F only, whose calls can be repeated; or leave out hybridize().",
           kind: type[TracingError] = TracingError) -> TracingError:
    """The error for what no program can repeat.  The tracer keeps it too, because the block may catch it."""
    message = f"{hooks.user_line()}: {problem}"
    if _current.tracer is not None and _current.tracer.refused is None:
        _current.tracer.refused = kind(message, hint=hint)  # one that has no traceback, and so holds no frames
    return kind(message, hint=hint)


class AbstractCSR(AbstractArray):
    """Stands for a csr store."""

    stype = "csr"
    __slots__ = ()


class AbstractRowSparse(AbstractArray):
    """Stands for a row_sparse store."""

    stype = "row_sparse"
    __slots__ = ()


_ABSTRACT = {kind.stype: kind for kind in (AbstractArray, AbstractCSR, AbstractRowSparse)}


class Note(NamedTuple):
    """What a step is for.

    Attributes
    ----------
    lane : str
        "backward" or "update"; empty for a forward pass, which belongs to the lane in which it runs.
    layer : str
    link : int
        Which step of the forward pass it is, or is the gradient of; -1 for none.
    training : bool
        Whether layers behave as in training there.
    """

    lane: str
    layer: str
    link: int
    training: bool


class Step(NamedTuple):
    """One call of an operator, on stores that lie in numbered slots."""

    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    note: Note


class Buffer:
    """Stands for the gradient buffer of an array from outside.

    It keeps what would be put there, and the node whose gradient was computed last before that.
    """

    _entry = None

    def __init__(self, like: ArrayObject) -> None:
        self._ctx: Context = like._ctx
        self._store, self.stype = abstract_store(like.shape, like.dtype, like.stype), like.stype
        self.gradient: ArrayObject | None = None
        self.node: Node | None = None

    def _check_traced(self) -> None:
        """It may be written to: it belongs to the trace."""

    def _receive(self, gradient: ArrayObject, add: bool = False, by: str = "") -> None:
        self.gradient = gradient
        self.node = hooks.state.node  # type: ignore[assignment]  # programs, whose links are not nodes, run outside of traces


_numbers = itertools.count(1)


class Tracer:
    """What is noted while a ``with`` block of it runs.

    Attributes
    ----------
    ctx : Context
        The device that the traced operators will run on.
    lane : str
        Of what is noted; see ``Note``.
    steps : list of Step
    specs : list of AbstractArray
        By slot.
    sources : list
        For each array from outside: where it comes from at every later run.
    arrays : list of NDArray
        The abstract arrays as NDArrays.
    buffers : list of Buffer or None
        For each of them that a gradient is wanted of.
    constants : dict
        Stores by slot that are the same at every run.
    met : list
        The blocks that were called, and the parameters whose values were asked for.
    refused : TracingError or None
        Why no program can do what the block does.
    """

    def __init__(self, ctx: Context, recording: bool) -> None:
        self.ctx, self.recording, self.number = ctx, recording, next(_numbers)
        self.met: list[Any] = []  # Any: of gluon, a layer above
        self.refused: TracingError | None = None
        self.buffers: list[Buffer | None] = []
        self.lane = ""
        self.steps: list[Step] = []
        self.specs: list[AbstractArray] = []
        #: The nodes of the forward pass whose gradients have been computed.
        self.nodes: set[Node] = set()
        self._numbers: list[int] = []  # of the steps of the forward pass, of the series that nodes have theirs of
        self.sources: list[Any] = []  # Any: an array, or what knows an array of its own, such as a parameter
        self.arrays: list[ArrayObject] = []
        self.constants: dict[int, Store] = {}
        self._lifted: dict[int, int] = {}

    def abstract_store(self, spec: Spec) -> AbstractArray:
        """A new abstract array, with a slot of its own."""
        self.specs.append(_ABSTRACT[spec.stype](spec.shape, spec.dtype, len(self.specs), self.number))
        return self.specs[-1]

    def note(self, call: Call, inputs: Sequence[AbstractArray], outputs: Sequence[AbstractArray]) -> None:
        """Note a step."""
        state = hooks.state
        layer, training, node = state.layer, state.training, state.node
        if not self.lane:
            link = len(self.steps)
            self._numbers.append(number())
        else:
            link = -1
            if node is not None:
                self.nodes.add(node)  # type: ignore[arg-type]  # as in Buffer
                link = self.step_of(node)  # type: ignore[arg-type]  # the same
        self.steps.append(Step(call, tuple([store.slot for store in inputs]), tuple([store.slot for store in outputs]),
                               Note(self.lane, layer, link, training)))

    def step_of(self, node: Node) -> int:
        """The step of the forward pass that made a node, which has its number just before the step; -1 for a node of others."""
        return -1 if node.call is None else bisect.bisect(self._numbers, node.id)

    def lift(self, array: ArrayObject, source: object = None) -> ArrayObject:  # object: as in sources
        """The traced array that stands for one from outside; ``source`` is asked for it at every run."""
        key = id(array if source is None else source)
        if key not in self._lifted:
            self._lifted[key] = len(self.sources)
            self.sources.append(array if source is None else source)
            entry = array._entry
            variable = None
            if self.recording and entry is not None:
                variable = Variable(Buffer(array if entry[0].grad is None else entry[0].grad), "write", TRACE)
            self.buffers.append(None if variable is None else variable.grad)
            self.arrays.append(wrap(self.abstract_store(Spec.of(array)), TRACE, None if variable is None else (variable, 0)))
        return self.arrays[self._lifted[key]]

    def constant(self, store: Store) -> AbstractArray:
        """The abstract array of a store that was made while tracing."""
        array = self.abstract_store(Spec.of(store))
        self.constants[array.slot] = store
        return array

    def at_work(self) -> Scoped:
        """A block whose operators are noted, unseen by the profiler."""
        return _AtWork(self)


class _Unseen:
    """Takes the recorder away while any thread traces, and gives it back when the last one has done."""

    def __init__(self) -> None:
        self._tracing: set[object] = set()  # object: as in Before

    def begin(self, block: object) -> None:  # object: as in Before
        """A block is traced from now on."""
        with hooks.sink_lock:
            if not self._tracing:
                hooks.hidden, hooks.sink = hooks.sink, None
            self._tracing.add(block)

    def end(self, block: object) -> None:  # object: as in Before
        """It has been; may be said twice."""
        with hooks.sink_lock:
            if block in self._tracing:
                self._tracing.discard(block)
                if not self._tracing:
                    if hooks.sink is None:  # else one that began meanwhile
                        hooks.sink = hooks.hidden
                    hooks.hidden = None


_unseen = _Unseen()


class _Current(threading.local):
    tracer: Tracer | None = None


_current = _Current()


def current() -> Tracer | None:
    """The tracer at work in this thread."""
    return _current.tracer


def meet(dependency: object) -> None:  # object: a block or parameter of gluon, a layer above
    """Note what the trace that is at work in this thread depends on."""
    if _current.tracer is not None:
        _current.tracer.met.append(dependency)


class _Tracing(Scoped):
    """Sets the tracer of this thread, with all that belongs to it."""

    def _before(self) -> Before:
        return _current.tracer, hooks.state.recording, hooks.state.tracing, len(TRACE._stack()), object()

    def _leave(self, before: Before, kind: type[BaseException] | None) -> None:
        state = hooks.state
        _current.tracer, state.recording, state.tracing, depth, _ = before
        del TRACE._stack()[depth:]


class _AtWork(_Tracing):
    """The block of ``Tracer.at_work``."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def _enter(self, before: Before) -> Tracer:
        TRACE._stack().append(TRACE)
        _unseen.begin(before[-1])
        _current.tracer = self._tracer
        hooks.state.recording, hooks.state.tracing = self._tracer.recording, True
        return self._tracer

    def _leave(self, before: Before, kind: type[BaseException] | None) -> None:
        super()._leave(before, kind)
        _unseen.end(before[-1])


class aside(_Tracing):
    """Compute with values during a trace, outside of the program: initial values, for example."""

    def _enter(self, before: Before) -> None:
        tracer = _current.tracer
        if tracer is not None:
            TRACE._stack().append(tracer.ctx)
            _current.tracer, hooks.state.recording, hooks.state.tracing = None, False, False


# Any: abstract arrays, and then the attributes
def _note(call: Call, k: Kernels, *arguments: Any) -> AbstractArray | tuple[AbstractArray, ...]:
    """Stands for a kernel: give the abstract arrays of its results."""
    inputs, tracer = arguments[:-1], _current.tracer
    if tracer is None or any(store.owner != tracer.number for store in inputs):
        raise TracingError("An array of a traced block was used after the block had been traced.",
                           hint="return it from hybrid_forward, do not keep it.")
    if call.infer_shape([store.shape for store in inputs]) is None:
        raise refuse(f"the shape of the result of {call.op.name} depends on values, which are not known while tracing.",
                     hint="leave out hybridize() for the block that uses it.")
    inferred = infer(call, tuple(map(Spec.of, inputs)))
    outputs = tuple(tracer.abstract_store(spec) for spec in ((inferred,) if isinstance(inferred, Spec) else inferred))
    tracer.note(call, inputs, outputs)
    return outputs[0] if call.outputs == 1 else outputs


class _TraceContext(Context):
    """The context of traced arrays."""

    __slots__ = ()

    def plan(self, call: Call, stypes: tuple[str, ...]) -> Plan:
        """How a call runs here: it is noted."""
        function = functools.partial(_note, call)
        plan = Plan(call, Rule(f"{', '.join(stypes)} -> default", {}, _kernel), False, None, _KERNELS).with_function(function)
        rule, _, cast = resolve(call.op, stypes, call.attrs)
        plan.stype, plan.makes_dense = cast or rule.stype(0), rule.stype(0) == "default"  # what will be dense must have room
        return plan

    def lift(self, array: ArrayObject) -> ArrayObject | None:
        """An array from outside, or one that is traced already, as one that is traced."""
        if array._ctx is self:
            return array
        tracer = _current.tracer
        if tracer is None or array._ctx is not tracer.ctx:
            return None
        return tracer.lift(array)

    def stands_for(self, ctx: Context) -> bool:
        """Whether what is traced will run on that context."""
        return _current.tracer is not None and _current.tracer.ctx is ctx

    def constant(self, store: Store) -> AbstractArray:
        """The abstract array of a store that was made while tracing."""
        tracer = _current.tracer
        if tracer is None:
            raise refuse()
        return tracer.constant(store)


def _kernel(k: Kernels, *stores: AbstractArray) -> None:
    """Has the signature of a kernel, and is replaced by what notes the call."""


#: Stands for the kernels of a device.  Any: it has none, as ``_note`` calls none.
_KERNELS: Any = types.SimpleNamespace(xp=None, device="trace")


def gradient_specs(call: Call, inputs: Sequence[Spec], F: ArrayFunctions, head: Spec | None = None,
                   wanted: Sequence[bool] | None = None) -> tuple[list[Spec | None], list[tuple[Op, tuple[Spec, ...]]]]:
    """What the gradients of a call would be, by tracing its gradient rule.

    Parameters
    ----------
    inputs : sequence of Spec
    F : namespace
        Where gradient rules find operators.
    head : Spec, optional
        The gradient at the result; dense if not given.
    wanted : sequence of bool, optional
        Of which inputs a gradient is wanted; of all if not given.

    Returns
    -------
    gradients : list of (Spec or None)
        None for inputs that get no gradient.
    dense : list of (Op, tuple of Spec)
        The operators within the rule that make a sparse array dense, with their inputs.
    """
    inferred = infer(call, tuple(inputs))
    specs = (inferred,) if isinstance(inferred, Spec) else inferred
    tracer = Tracer(Context("cpu", 0), recording=False)
    with tracer.at_work():
        arrays = [wrap(tracer.abstract_store(spec), TRACE) for spec in inputs]
        results = tuple([wrap(tracer.abstract_store(spec), TRACE) for spec in specs])
        heads = tuple([wrap(tracer.abstract_store(head or spec._replace(stype="default")), TRACE)
                       for spec in specs[:call.visible]])
        traced = call.op.gradients(F, heads if call.visible > 1 else heads[0], arrays,
                                   results if call.outputs > 1 else results[0], call.attrs,
                                   [Want() if wanted is None or wanted[place] else None
                                    for place in range(len(arrays))])
    gradients = [None if array is None else Spec.of(array) for array in traced[: len(arrays)]]
    noted = [(step.call, [tracer.specs[slot] for slot in step.inputs], [tracer.specs[slot] for slot in step.outputs])
             for step in tracer.steps]
    return gradients, [(call.op, tuple(map(Spec.of, input_specs))) for call, input_specs, output_specs in noted
                       if _makes_dense(call, input_specs, output_specs)]


def _makes_dense(call: Call, inputs: Sequence[AbstractArray], outputs: Sequence[AbstractArray]) -> bool:
    """Whether a sparse array becomes dense: by a fallback, by nature, or by a conversion."""
    stypes = tuple([array.stype for array in inputs])
    rule, fallback, _ = resolve(call.op, stypes, call.attrs)
    sizes = [array.size for array in outputs[: call.visible] if array.stype == "default"]
    return fallback or (bool(dense_kind(call, rule, fallback, stypes)) and made_dense(inputs, sizes) is not None)


def abstract(spec: Spec) -> Any:  # Any: as ``wrap``
    """An array without values, made while a tracer is at work, for a result that no operator gives."""
    tracer: Any = _current.tracer  # Any: a Tracer, as one is at work
    return wrap(tracer.abstract_store(spec), TRACE)


def abstract_store(shape: Shape, dtype: DTypeLike, stype: str) -> AbstractArray:
    """An abstract array that no program has a slot for: a gradient buffer, say."""
    return _ABSTRACT[stype](shape, dtype, -1)


TRACE = object.__new__(_TraceContext)
TRACE.device_type, TRACE.device_id = "trace", 0


class _NoKernels:
    """Stands for the kernels where somebody would compute with a traced array's values."""

    device = "trace"

    def __getattr__(self, name: str) -> Any:  # Any: what ``Kernels`` says of that name, though none is ever given
        if name.startswith("__"):
            raise AttributeError(name)
        raise refuse()


def _register() -> None:
    """Abstract arrays are stores of the same array classes as what they stand for."""
    stand_ins["trace"] = _NoKernels()
    classes = {cls.stype: cls for cls in array_types.values()}
    for stype, kind in _ABSTRACT.items():
        array_types[kind] = classes[stype]


_register()
