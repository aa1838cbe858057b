"""A training step as one object: forward pass, loss, backward pass and update, in compiled code where that is possible."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import autograd
from ..base import rng
from ..base.changes import changes
from ..base.config import config
from ..base.entry import entry_classes
from ..base.errors import DTypeError, GradientError, ParameterError, ShapeError, SparsekitError, UnsupportedError, expected
from ..base.faults import is_a_handlers
from ..base.forking import load
from ..base.nested import Opaque, flatten, restore
from ..base.refusal import Refused
from ..core import hooks
from ..core.graph import lost_gradient
from ..core.step_program import StepProgram
from ..core.trace import TRACE, Tracer, TracingError
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from ..optimizer.compiled import BEFORE_LOWERING, CompiledStep, can_be_timed, reason_against
from .block import Block
from .marks import Marks
from .trainer import Trainer
from .update_tables import FACTORS
from .user_python import reason_in
from .utils import clip_global_norm
from .verify import Verification, copied, first_difference, kept_from_trace

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import TypeAlias

    from ..core.graph import Variable

    #: An array, or lists and tuples of such.
    Nested: TypeAlias = "NDArray | Sequence[Nested]"

#: Kinds of batches that a step keeps; then it forgets them all.
REMEMBERED = 64

#: Why a step is not compiled if nothing is against it.
_NOT_YET = f"the step is compiled when it has run {BEFORE_LOWERING} times"

#: Why a step may differ from the plain lines if tracing it anew shows nothing.
UNKNOWN = "it would be traced alike now, so this may be a defect of sparsekit: please report it"

#: The structure of data and label that are one array each.
_TWO: tuple[Any, Any] = (1, 2)  # Any: as ``flatten`` gives it


class _Unfit(Exception):
    """A step cannot be lowered; the message says why."""


class TrainStep:
    """One step of training: ``step(data, label)`` computes the loss and its gradients, updates the weights and returns the loss.

    Its results are bitwise equal to those of these lines::

        with autograd.record():
            output = loss(net(data), label)
        output.backward()
        trainer.step(data.shape[0])

    ``data`` and ``label`` may be lists or tuples of arrays: the net is called with ``net(*data)``, and the loss with
    ``loss(net(*data), *label)``.  If the loss returns several results, the first is the loss.  The others, such as the states
    of a recurrent network, are returned with it.  All results are detached.

    The first two steps for each kind of batch (shapes, element types, storage types) run as the lines above.  The third step is
    traced.  From then on, the operators of forward pass, backward pass and update run as one table of compiled calls, or on a
    GPU as captured graphs.  This includes ``multi_precision``.  With LARS, LBSGD, Test and custom optimizers, all steps run as
    the lines above.  ``explain`` lists the operators that still run in Python, and why.

    What overrides ``forward`` runs in Python at every step.  If a block of the net or the loss does, all steps run as the lines
    above: a Block or a HybridBlock, of a class of yours or a layer with a ``forward`` of its own, a ``Lambda`` of a function of
    yours, and a block with hooks or a monitor.  The hybridized blocks below it are still programs.  Custom operators and
    ``autograd.Function`` have the same effect, and so has a trainer with a ``step`` of its own, or an optimizer of which you
    replaced a method.  ``explain`` names the block.

    What defines ``hybrid_forward`` is traced, as if it were hybridized: ``HybridBlock.hybridize`` lists what is then a constant,
    and what makes the step be traced again.  Learning rate, weight decay, momentum, clipping, factors of parameters and schedules
    are inputs, which each step reads.

    ``grad()`` of a parameter returns the gradient of the last step.  This gradient is written when ``grad()`` is called.  An
    array that an earlier call returned also changes then, and not at each step.

    If a step fails in its forward or backward pass, a gradient of the step before that was not read is lost.  If what decides the
    numbers of the updates fails, such as a schedule, the step computes its gradients and changes no weight.

    Parameters
    ----------
    net : Block
    loss : Block or None
        It is called with the outputs of ``net`` and the labels.  It returns the loss, whose sum is minimized, or a tuple or list
        that begins with the loss.  None means that ``net`` itself returns these.
    trainer : Trainer
    strict : bool
        Raise an error if a step cannot be compiled as a whole, instead of running it as the lines above.  Default False.
    clip_norm : float, optional
        Upper bound of the global norm of all gradients divided by the batch size: the step calls
        ``gluon.utils.clip_global_norm(gradients, clip_norm * batch_size)`` before the update.

    Raises
    ------
    UnsupportedError
        With ``strict``, if a step cannot be compiled.  The message gives the reason.
    DTypeError
        If the data, the labels or the results of the loss contain anything but arrays.
    ShapeError
        If the first array of ``data`` has no axes, and ``batch_size`` is not given.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), trainer)
    >>> step(mx.nd.ones((4, 2)), mx.nd.ones((4, 1))).shape
    (4,)
    """

    def __init__(self, net: Block, loss: Block | None, trainer: Trainer, strict: bool = False,
                 clip_norm: float | None = None) -> None:
        for name, value, kind in (("net", net, Block), ("loss", loss, Block), ("trainer", trainer, Trainer)):
            if not isinstance(value, kind) and not (value is None and name == "loss"):
                raise DTypeError(expected(name, f"a {kind.__name__}", type(value)), hint="gluon.TrainStep(net, loss, trainer)")
        if clip_norm is not None and not clip_norm >= 0:
            raise ParameterError(expected("clip_norm", "a number of at least 0, or None", clip_norm),
                                 hint="clip_norm=1.0, for example.")
        self._net, self._loss, self._trainer, self._strict = net, loss, trainer, bool(strict)
        self._clip_norm = None if clip_norm is None else float(clip_norm)
        self._runs: dict[Any, int] = {}  # Any: kinds of batches
        self._made: dict[Any, _Made] = {}  # Any: the same
        self._reasons: dict[Any, str] = {}  # Any: the same
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:  # Any: the arguments
        return TrainStep, (self._net, self._loss, self._trainer, self._strict, self._clip_norm)  # a copy is traced by itself

    def __repr__(self) -> str:
        loss = "None" if self._loss is None else self._loss.name
        return f"TrainStep({self._net.name}, {loss}, {self._trainer.optimizer!r})"

    # Any: what the loss returns; arrays are nested as the blocks take them
    def __call__(self, data: Nested, label: Nested = (), batch_size: int | None = None) -> Any:
        """Make one step.

        Parameters
        ----------
        data : NDArray, or list or tuple of NDArray
            What the net is called with.  An item may again be a list, where the net takes a list.
        label : NDArray, or list or tuple of NDArray
            What the loss is called with, behind the results of the net; nothing by default.
        batch_size : int, optional
            What gradients are divided by; the length of the first axis of the first array of ``data`` if not given.

        Returns
        -------
        NDArray, or list or tuple of NDArray
            The loss, or all that the loss returns.
        """
        if isinstance(data, NDArray) and isinstance(label, NDArray):
            arrays, structure = [data, label], _TWO
        else:
            arrays, structure = _flat_batch(data, label)
        layouts = [array._layout for array in arrays]
        size = layouts[0].shape[0] if batch_size is None and layouts[0].shape else _size_of(arrays[0], batch_size)
        key = structure, *layouts
        with self._lock:
            compiled = self._made.get(key)
            if compiled is not None and (results := compiled.run(self._trainer, arrays, size)) is not None:
                return results
            if compiled is not None and compiled.may_run() and not any(map(_has_gradient, arrays)):
                del self._made[key]
                self._runs[key] = BEFORE_LOWERING  # traced anew at once: a weight, a setting or a block has changed
            return self._step(key, arrays, structure, size)

    def _device(self) -> str:
        """What the parameters are on."""
        contexts = self._trainer._contexts
        return contexts[0].device_type if contexts else "cpu"

    # Any: structures as ``flatten`` gives them; object: what the loss returns
    def _step(self, key: Hashable, arrays: Sequence[NDArray], structure: tuple[Any, Any], size: int) -> object:
        """A step in Python, or by a new program if it is time for that."""
        why = self._against() or ("the batch itself has a gradient" if any(map(_has_gradient, arrays)) else "")
        runs, lasting = self._runs.get(key, 0), self._reasons.get(key, "")
        if not why and not lasting and runs >= BEFORE_LOWERING:
            if len(self._made) >= REMEMBERED:
                self._made.clear()
            try:
                compiled, results = self._compiled(arrays, structure, size)
            except _Unfit as error:
                lasting = str(error)
            else:
                if compiled.step_program.refused:
                    self._reasons[key] = compiled.step_program.refused
                else:
                    self._made[key] = compiled
                return results
        if self._strict and (why or lasting):
            raise UnsupportedError(f"This training step cannot be compiled: {why or lasting}.",
                                   hint="leave out strict=True, and it runs operator by operator.")
        results = self._ordinary(arrays, structure, size)
        # One that failed does not count: what it was to make may be missing, and what it failed at may be why it is not compiled.
        self._runs[key] = runs + 1
        if lasting:
            self._reasons[key] = lasting
        return results

    # Any: as ``_step``
    def _ordinary(self, arrays: Sequence[NDArray], structure: tuple[Any, Any], size: int) -> object:  # object: as above
        with autograd.record():
            arrays_of_result, structure_of_result = self._computed(arrays, structure)
        arrays_of_result[0].backward()
        self._clip(size)
        self._trainer.step(size)
        return restore(structure_of_result, [array.detach() for array in arrays_of_result])

    # Any: as ``_step``
    def _computed(self, arrays: Sequence[NDArray], structure: tuple[Any, Any]) -> tuple[list[NDArray], Any]:
        """The arrays that net and loss give, the loss first, and their structure."""
        data, label = restore((tuple, structure), arrays)
        output = self._net(*data) if isinstance(data, list) else self._net(data)
        if self._loss is not None:
            output = self._loss(output, *label) if isinstance(label, list) else self._loss(output, label)
        results: list[NDArray] = []
        asked = f"what {self._net.name if self._loss is None else self._loss.name} returns"
        try:
            shape = flatten(output, NDArray, results, (type(None),))
        except Opaque as error:
            raise DTypeError(f"{asked} must be the loss, or a tuple or list of arrays that begins with it, got {error}.",
                             hint="return the loss as an NDArray.") from None
        if not isinstance(output[0] if isinstance(output, (list, tuple)) and output else output, NDArray):
            raise DTypeError(expected(asked, "the loss, or a tuple or list of arrays that begins with it", output),
                             hint="return the loss first.")
        return results, shape

    def _clip(self, size: int) -> None:
        if self._clip_norm is not None:
            gradients = [parameter.grad() for parameter in self._trainer._params if parameter._grad_req != "null"]
            clip_global_norm(gradients, self._clip_norm * size)

    def _against(self) -> str:
        """Why no step can be compiled now; empty if one can."""
        trainer = self._trainer
        trainer._follow()
        reason = reason_against(trainer.optimizer, self._device())
        if reason:
            return reason
        if len(trainer._contexts) != 1 or trainer._kvstore is not None:
            return "the parameters are on several contexts or in a kvstore"
        if any(updater.optimizer is not trainer.optimizer for updater in trainer._updaters):
            return "the updater of the trainer has another optimizer than the trainer"
        if own := trainer._own_method:
            return f"{type(trainer).__name__} has its own {own}, whose Python runs at every step"
        for parameter in trainer._params:
            if parameter._grad_req == "add":
                return f"the gradients of {parameter.name} are added up (grad_req='add')"
        return reason_in([self._net] if self._loss is None else [self._net, self._loss])

    # Any: as ``_step``
    def _compiled(self, arrays: Sequence[NDArray], structure: tuple[Any, Any], size: int) -> tuple[_Made, Any]:
        """Make this step by a program of its own; ``refused`` of that says if it was the last."""
        trainer, count = self._trainer, len(arrays)
        tracer, traced, shape = self._traced(arrays, structure)
        marks = Marks([self._net, *([] if self._loss is None else [self._loss]), *tracer.met, *trainer._params])
        owners = marks.owners()
        sources = [owners.get(id(source), source) for source in tracer.sources[count:]]
        ctx = tracer.ctx
        held = [source.data(ctx) if hasattr(source, "data") and hasattr(source, "_arrays") else source for source in sources]
        variables = [None if array._entry is None or array._entry[0].grad is None else array._entry[0] for array in held]
        clip = None
        if self._clip_norm is not None:
            operators: Any = load("sparsekit.ops.update.clip")  # Any: a module
            clip = operators.clip_factor, operators.scaled
        try:
            clipped = [parameter._arrays[ctx] for parameter in trainer._params if parameter._grad_req != "null"]
            step_program = StepProgram(tracer, traced, held, variables, F, clip, clipped)
        except GradientError:
            raise
        except SparsekitError as error:
            rules = [step.call.op.gradient_function for step in tracer.steps]
            if is_a_handlers(error, [rule for rule in rules if rule is not None]):
                raise
            raise _Unfit(str(error)) from error
        self._check_gradients(step_program, count)
        compiled = _Made(trainer, self._clip_norm, step_program, marks, sources, held, shape, count)
        try:
            return compiled, compiled.step(trainer, arrays, size)
        except Refused as error:
            raise _Unfit(str(error)) from error

    def _check_gradients(self, step_program: StepProgram, count: int) -> None:
        """Raise ``_Unfit`` if a step that brings ``count`` arrays cannot be one program."""
        inputs = [array._store.slot for array in step_program.tracer.arrays]
        if not any(slot is not None for slot in step_program.gradients):
            raise _Unfit("no gradient flows to the parameters")
        if step_program.outputs[0] in inputs:
            raise _Unfit("the loss is one of the arrays that it is computed from")
        if set(step_program.outputs) & set(inputs[count:]):
            raise _Unfit("a result is an array of the net, not computed from the batch")
        gradients = dict(zip(map(id, step_program.held), step_program.gradients[count:], strict=True))
        for parameter in self._trainer._params:
            if parameter._grad_req != "null" and gradients.get(id(parameter._arrays.get(step_program.ctx))) is None:
                raise _Unfit(f"no gradient flows to {parameter.name}")
        for variable, slot in zip(step_program.variables, step_program.gradients[count:], strict=True):
            if slot is not None and variable is not None and variable.grad_req != "write":
                raise _Unfit("the gradient of an array is added up or dropped")

    # Any: as ``_step``
    def _traced(self, arrays: Sequence[NDArray], structure: tuple[Any, Any]) -> tuple[Tracer, list[Any], Any]:
        """The forward pass: its trace, its traced results, and their structure."""
        tracer = Tracer(arrays[0]._layout.ctx, True)
        state = hooks.state
        before = state.recording, state.training
        try:
            state.recording = state.training = True
            with tracer.at_work():
                traced: list[Any] = [tracer.lift(array, object()) for array in arrays]  # Any: traced arrays
                results, shape = self._computed(traced, structure)
                if tracer.refused is not None:
                    raise tracer.refused
                lifted: list[Any] = [result if result._ctx is TRACE else tracer.lift(result)
                                     for result in results]  # Any: traced arrays
            return tracer, [lifted[0], *[output.detach() for output in lifted[1:]]], shape
        except TracingError as error:
            raise _Unfit(error.message) from error
        finally:
            state.recording, state.training = before

    def verify(self, data: Nested, label: Nested = (), batch_size: int | None = None) -> Verification:
        """Make a step as ``step(data, label)`` does, and the same step by the plain lines on a copy, and compare all arrays.

        Results, gradients, weights and states of the optimizer are compared bit by bit.  They differ if ``hybrid_forward`` read
        something when it was traced that has changed since and left no mark: ``HybridBlock.hybridize`` lists what.

        Net, loss and trainer are copied, which takes as much memory again.  Both steps draw the same random numbers.

        Parameters
        ----------
        data, label, batch_size
            As for the step itself.

        Returns
        -------
        Verification
            ``result`` is what the step returned, ``differs`` names the first array that differs, and ``reason`` says why it may.

        Raises
        ------
        UnsupportedError
            If net, loss or trainer cannot be copied.

        Examples
        --------
        >>> class Scaled(mx.gluon.nn.Dense):
        ...     def hybrid_forward(self, F, x, weight, bias):
        ...         return super().hybrid_forward(F, x * self.scales[0], weight, bias)
        >>> net = Scaled(1, in_units=2)
        >>> net.scales = [2.5]
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        >>> step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), trainer)
        >>> for _ in range(3):
        ...     loss = step(mx.nd.ones((4, 2)), mx.nd.ones((4, 1)))
        >>> net.scales[0] = 3.5  # leaves no mark
        >>> print(step.verify(mx.nd.ones((4, 2)), mx.nd.ones((4, 1))).reason.partition(" ")[2])
        computed * with scalar=2.5 when it was traced, and would compute it with scalar=3.5 now
        """
        arrays, structure = _flat_batch(data, label)
        size = _size_of(arrays[0], batch_size)
        with self._lock:
            net, loss, trainer = copied(self._net, self._loss, self._trainer)
            for block in (net, loss):
                if block is not None:
                    block.hybridize(False)
            plain = TrainStep(net, loss, trainer, clip_norm=self._clip_norm)
            before = rng.states()
            wanted = plain._ordinary(arrays, structure, size)
            rng.restore(before)
            result = self(data, label, batch_size)
            differs = first_difference((result, self._trainer), (wanted, trainer))
            key = structure, *[array._layout for array in arrays]
            compiled = self._made.get(key)
            if compiled is None:
                return Verification(result, differs, self._reasons.get(key) or self._against() or _NOT_YET)
            return Verification(result, differs, differs and self._kept(compiled, arrays, structure))

    def _kept(self, compiled: _Made, arrays: Sequence[NDArray], structure: tuple[Any, Any]) -> str:  # Any: as above
        """What a step has kept from when it was traced that would be something else now."""
        before = rng.states()
        try:
            tracer, results, _ = self._traced(arrays, structure)
            return kept_from_trace(compiled.step_program, tracer, [result._store.slot for result in results],
                                   len(arrays)) or UNKNOWN
        except _Unfit as error:
            return f"it could not be traced now: {error}"
        finally:
            rng.restore(before)

    def explain(self) -> list[dict[str, str]]:
        """What runs in Python, and why.

        Returns
        -------
        list of dict
            One row for each operator of each kind of batch: ``pass`` ("forward", "backward" or "update"), ``op`` and
            ``reason``.  The reason is empty for operators in the table.  A step that is not compiled at all has one row, whose
            ``op`` is empty.
        """
        rows = [{"pass": name, "op": op, "reason": reason} for compiled in self._made.values()
                for name, op, reason in compiled.step_program.reasons]
        reasons = [*self._reasons.values(), *[why for why in (self._against(),) if why]]
        if not rows and not reasons:
            reasons = [_NOT_YET]
        return rows + [{"pass": "", "op": "", "reason": why} for why in reasons]


#: What an array is recorded as, or None.
_has_gradient = operator.attrgetter("_entry")


def _flat(name: str, value: object, arrays: list[NDArray]) -> Hashable:
    """Append the arrays of a value to a list, and give its structure."""
    try:
        return flatten(value, NDArray, arrays)
    except Opaque as error:
        raise DTypeError(f"{name} must be an NDArray, or a list or tuple of them, got {error}.",
                         hint="make arrays with mx.nd.array(…).") from None


# Any: as ``flatten`` gives it
def _flat_batch(data: Nested, label: Nested) -> tuple[list[NDArray], tuple[Any, Any]]:
    """The arrays of a batch, and the structures of data and label."""
    arrays: list[NDArray] = []
    places = _flat("data", data, arrays)
    if not arrays:
        raise DTypeError(expected("data", "an NDArray, or a list or tuple of at least one", data),
                         hint="make arrays with mx.nd.array(…).")
    return arrays, (places, _flat("label", label, arrays))


def _size_of(first: NDArray, batch_size: int | None) -> int:
    """What gradients are divided by."""
    if batch_size is None and not first.shape:
        raise ShapeError("The first array of data has no axes, so the size of the batch is not known.", hint="pass batch_size=.")
    return first.shape[0] if batch_size is None else batch_size


class _Made:
    """A step that is a program, and what it was traced with."""

    # Any: parameters and arrays; a structure as ``flatten`` gives it
    def __init__(self, trainer: Trainer, clip_norm: float | None, step_program: StepProgram, marks: Marks, sources: Sequence[Any],
                 held: Sequence[NDArray], structure: Hashable, batch_arrays: int) -> None:
        self.clip_norm, self.step_program, self.marks, self.structure = clip_norm, step_program, marks, structure
        self.parameters: list[tuple[Any, NDArray]] = [  # Any: parameters
            (source, array) for source, array in zip(sources, held, strict=True) if hasattr(source, "_arrays")]
        self.entries = (*[None] * batch_arrays, *[array._entry for array in held])
        self.held = list(held)
        self.ctx = step_program.ctx
        self.trained = [(index, parameter) for index, parameter in enumerate(trainer._params) if parameter._grad_req != "null"]
        self.factors = self._factors()
        self.mark: object = None
        #: The size of the last batch.
        self.size = -1
        self.compiled = CompiledStep(step_program, trainer._updaters[0],
                                     {index: parameter.name for index, parameter in self.trained})
        #: Variables, what writes their gradients, and their indices in the optimizer, or None.
        self._writers: list[tuple[Variable, Callable[[Variable], None], int | None]] = []

    def _factors(self) -> list[tuple[float, float]]:
        return [FACTORS(parameter) for _, parameter in self.trained]

    def _update(self) -> None:
        for index, parameter in self.trained:
            values: Any = parameter._arrays[self.ctx]  # Any: an array
            self.compiled.updater(index, values._entry[0].grad, values)

    def may_run(self) -> bool:
        """Whether a table or graphs may make a step now."""
        unseen, graphs = hooks.sink is None, self.ctx.device_type == "gpu"
        return (config.cuda_graphs and unseen if graphs else config.tables and (unseen or can_be_timed())) and (
            not hooks.state.recording)

    # object: what the loss returns
    def run(self, trainer: Trainer, arrays: Sequence[NDArray], size: int) -> object:
        """Make a step; None, and nothing has been done, if it must be traced anew."""
        if not self.may_run():
            return None
        same = changes.mark is self.mark and changes.settings is self.compiled.latest and size == self.size
        if not (same or (self._trains(trainer) and self._holds())) or tuple(
                map(_has_gradient, (*arrays, *self.held))) != self.entries:
            return None
        return self.step(trainer, arrays, size, same)

    # object: what the loss returns
    def step(self, trainer: Trainer, arrays: Sequence[NDArray], size: int, same: bool = False) -> object:
        """Make a step with a trainer that is as before; ``same`` says whether all its numbers are."""
        if not same:
            self.size = -1
            trainer._divide_by(size)
            if self.clip_norm is not None:
                self.step_program.limit(self.clip_norm * size)
        results = self.compiled(arrays, self._update, self.factors, self._note_gradients)
        self.size = size  # the last, as an interrupt may come before it
        return None if results is None else restore(self.structure, results)

    def _note_gradients(self, computed: bool, lost: bool) -> None:
        """Have variables know what writes their gradients, or that these are lost."""
        if not self._writers:
            index_of = {id(parameter._arrays[self.ctx]): index for index, parameter in self.trained}
            self._writers = [(variable, write, index_of.get(id(array))) for array, variable, write in self.step_program.writers]
        if computed:
            step_program = self.step_program
            waiting = self.compiled.keys[step_program.updated:]  # for their updates, if the step has failed
            for variable, write, index in self._writers:
                variable.late, variable.fresh = write, index is None or not step_program.updating or index in waiting
        elif lost:
            for variable, write, _ in self._writers:
                if variable.late is write:
                    variable.late = lost_gradient

    def _holds(self) -> bool:
        """Whether blocks and parameters are what the step was traced with."""
        mark = changes.mark
        if mark is not self.mark:
            if not self.marks.hold() or any(parameter._arrays.get(self.ctx) is not array for parameter, array in self.parameters):
                return False
            self.factors, self.mark = self._factors(), mark
        return True

    def _trains(self, trainer: Trainer) -> bool:
        """Whether the trainer is what the step was traced with."""
        compiled, updaters = self.compiled, trainer._updaters
        return (len(updaters) == 1 and updaters[0] is compiled.updater and trainer._optimizer is compiled.optimizer
                and trainer._is_as_defined and compiled.holds())


entry_classes(TrainStep)
