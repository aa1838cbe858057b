"""The training loop."""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....autograd import pause
from ....base.context import Context, cpu, gpu, num_gpus
from ....base.entry import entry_classes
from ....base.errors import InitializationError, ParameterError, UnsupportedError, expected
from ....base.lazy import add_lazy_names
from ....base.warn import warn_user
from ....kvstore import DistKVStore
from ....metric import EvalMetric
from ....metric import Loss as LossMetric
from ...block import Block, HybridBlock
from ...data import DataLoader
from ...loss import Loss
from ...train_step import TrainStep
from ...trainer import Trainer
from ...user_python import is_ours, reason_in
from .batch_processor import BatchProcessor
from .event_handler import GradientUpdateHandler, LoggingHandler, MetricHandler, StoppingHandler, ValidationHandler
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd, listed_handlers
from .loops import EvaluationLoop, FitLoop, handlers_of
from .utils import check_handler_metrics, listed_metrics, suggested_metric

if TYPE_CHECKING:
    from ....initializer.base import InitLike
    from ....ndarray.ndarray import NDArray
    from .types import Given, Kind

__all__ = ["Estimator"]

add_lazy_names(globals())


class Estimator:
    """Trains and evaluates a network; handlers are called before and after each batch, each epoch and the whole.

    If the net is hybridized, on one context, with the batch processor and the ``GradientUpdateHandler`` of this module, each
    batch runs as a ``TrainStep``: forward pass, backward pass and update are a table of compiled calls.  The resulting weights
    are bitwise the same.  A loss with a ``hybrid_forward`` of your own must be hybridized too.  A net or loss that overrides
    ``forward`` runs in Python for every batch.  ``explain`` lists what still runs in Python, and why.

    Parameters
    ----------
    net : Block
    loss : Loss
        It is called with a prediction and its labels.
    train_metrics : EvalMetric or list of EvalMetric, optional
        By default the loss, and for ``SoftmaxCrossEntropyLoss`` also the accuracy.
    val_metrics : EvalMetric or list of EvalMetric, optional
        By default copies of ``train_metrics``.
    initializer : Initializer, optional
        Initializer for a network that is not initialized.
    trainer : Trainer, optional
        By default SGD with learning rate 0.001, with a warning.
    context : Context or list of Context, optional
        By default the first GPU, or else the CPU.
    val_net : Block, optional
        Network for evaluation, which may share its parameters with ``net``; ``net`` by default.
    val_loss : Loss, optional
        Loss for evaluation; ``loss`` by default.
    batch_processor : BatchProcessor, optional
        The object that processes each batch.

    Attributes
    ----------
    logger : logging.Logger
        Logger whose handler writes to standard output.
    max_epoch, max_batch : int or None
        Numbers of epochs and batches of the last call of ``fit``.

    Raises
    ------
    ParameterError
        If an argument has a wrong type.  The error is a ``ValueError``.

    Examples
    --------
    >>> from sparsekit.gluon.contrib.estimator import Estimator
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    >>> rows = mx.gluon.data.ArrayDataset(mx.nd.ones((8, 3)), mx.nd.zeros(8))
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("WARNING")
    >>> estimator.fit(mx.gluon.data.DataLoader(rows, 4), epochs=5)
    >>> estimator.train_metrics[0].get()
    ('training accuracy', 1.0)
    """

    logger: logging.Logger = None  # type: ignore[assignment]  # as in MXNet; each instance has its own

    def __init__(self, net: Block, loss: Loss, train_metrics: EvalMetric | Sequence[EvalMetric] | None = None,
                 val_metrics: EvalMetric | Sequence[EvalMetric] | None = None, initializer: InitLike = None,
                 trainer: Trainer | None = None, context: Context | list[Context] | None = None, val_net: Block | None = None,
                 val_loss: Loss | None = None, batch_processor: BatchProcessor | None = None) -> None:
        self.net, self.loss = net, _checked("loss", loss, Loss)
        self._train_metrics, self._val_metrics = listed_metrics(train_metrics), listed_metrics(val_metrics)
        self._name_metrics()
        self.val_loss = self.loss if val_loss is None else _checked("val_loss", val_loss, Loss)
        self.val_net = net if val_net is None else val_net
        self.logger = _made_logger(logging.INFO)
        self.context = _contexts(context)
        self._initialize(initializer)
        self.trainer = self._made_trainer(trainer)
        self.batch_processor = _processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0
        self._handlers: list[EventHandler] = []
        self._loop: FitLoop | None = None
        self._resumed: dict[str, Any] | None = None
        self._due: list[Callable[[], None]] = []
        self._update: GradientUpdateHandler | None = None
        self._updated = False
        self._made: tuple[tuple[Any, ...], TrainStep] | None = None
        self._sizes: dict[Any, int] = {}  # of shapes of data and label: how many values the loss has
        self._shapes: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle has: all but the handlers, the loop and the compiled step of the last run.

        The copy's logger has the same level, and writes to standard output.
        """
        left: dict[str, Any] = {"_handlers": [], "_due": [], "_update": None, "_made": None, "_loop": None}
        return {**vars(self), **left, "logger": self.logger.level}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, logger=_made_logger(state["logger"]))

    # what it is made of

    def _name_metrics(self) -> None:
        """Add the default metrics, and say in the names whether they are of training or validation."""
        if not self._train_metrics:
            suggested = suggested_metric(self.loss)
            self._train_metrics = [*([] if suggested is None else [suggested]), LossMetric(self.loss.name.rstrip("1234567890"))]
        for metric in self._train_metrics:
            metric.name = "training " + metric.name
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            metric.name = (metric.name.replace("training", "validation") if "training" in metric.name
                           else "validation " + metric.name)

    def _initialize(self, initializer: InitLike) -> None:
        try:
            for parameter in self.net.collect_params().values():
                parameter.list_ctx()
        except InitializationError:
            self.net.initialize(init=initializer, ctx=self.context)
            return
        if initializer:
            warn_user("Network already fully initialized, skipping initialization. You don't need to pass initializer if you "
                          "already initialized your net. You can use net.initialize(init=your_initializer, force_reinit=True) to "
                          "force re-initialize.")

    def _made_trainer(self, trainer: Trainer | None) -> Trainer:
        if trainer is not None:
            return _checked("trainer", trainer, Trainer)
        warn_user("No trainer specified, default SGD optimizer with learning rate 0.001 is used.")
        return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """Metrics of training; their names begin with "training"."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """Metrics of validation; their names begin with "validation"."""
        return self._val_metrics

    # loops

    def evaluate(self, val_data: DataLoader, batch_axis: int = 0,
                 event_handlers: EventHandler | Sequence[EventHandler] | None = None) -> None:
        """Compute ``val_metrics``.

        Parameters
        ----------
        val_data : DataLoader
        batch_axis : int
            Axis along which a batch is cut for several contexts.
        event_handlers : EventHandler or list of EventHandler, optional
            A ``MetricHandler`` and a ``LoggingHandler`` are added if the list has none.
        """
        _checked("val_data", val_data, DataLoader)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._with_defaults(listed_handlers(event_handlers), [
            (MetricHandler, lambda: MetricHandler(self.val_metrics)),
            (LoggingHandler, lambda: LoggingHandler(metrics=self.val_metrics))], self.val_metrics)
        EvaluationLoop(self, handlers, val_data, batch_axis).run_epoch()

    def fit(self, train_data: DataLoader, val_data: DataLoader | None = None, epochs: int | None = None,
            event_handlers: EventHandler | Sequence[EventHandler] | None = None, batches: int | None = None,
            batch_axis: int = 0) -> None:
        """Train for a number of epochs or batches, or until a handler stops.

        Parameters
        ----------
        train_data : DataLoader
            Data for training.  The first two parts of a batch are data and labels.
        val_data : DataLoader, optional
            Data that is evaluated after each epoch, unless the handlers include a ``ValidationHandler``.
        epochs, batches : int, optional
            Length of the training.  Exactly one of the two must be given.
        event_handlers : EventHandler or list of EventHandler, optional
            A ``StoppingHandler`` is always added.  A ``GradientUpdateHandler``, a ``MetricHandler`` and a ``LoggingHandler``
            are added if the list has none.
        batch_axis : int
            Axis along which a batch is cut for several contexts.

        Raises
        ------
        ParameterError
            If both or none of ``epochs`` and ``batches`` are given, or a handler has metrics that are not the estimator's.
        """
        _checked("train_data", train_data, DataLoader)
        if (not epochs) == (not batches):
            raise ParameterError("Fit only support exactly one type of iteration, train by number of epochs or number of "
                                 "batches.", hint="give one of epochs= and batches=.")
        self.max_epoch, self.max_batch, self.batch_axis, self._due = epochs, batches, batch_axis, []
        self._handlers = self._prepare_default_handlers(val_data, event_handlers)
        self._update = self._fused_update()
        loop = self._loop = FitLoop(self, self._handlers, train_data, batch_axis)
        try:
            for first in handlers_of(TrainBegin, self._handlers):
                first.train_begin(self)
            state, self._resumed = self._on_servers(loop) or self._resumed, None
            if state is not None:
                loop.go_on(state)
            loop.run()
        finally:
            self._update = self._loop = None
        for last in handlers_of(TrainEnd, self._handlers):
            last.train_end(self)

    def _prepare_default_handlers(self, val_data: DataLoader | None, event_handlers: object) -> list[EventHandler]:
        """The handlers of a run, in their order."""
        defaults: list[tuple[type[EventHandler] | None, Callable[[], EventHandler]]] = [
            (None, lambda: StoppingHandler(self.max_epoch, self.max_batch)), (GradientUpdateHandler, GradientUpdateHandler),
            (MetricHandler, lambda: MetricHandler(self.train_metrics))]
        if val_data:
            defaults.append((ValidationHandler, lambda: ValidationHandler(val_data, self.evaluate)))
        defaults.append((LoggingHandler, lambda: LoggingHandler(metrics=self.train_metrics)))
        return self._with_defaults(listed_handlers(event_handlers), defaults, self.train_metrics + self.val_metrics)

    @staticmethod
    def _with_defaults(handlers: list[EventHandler],
                       defaults: Sequence[tuple[type[EventHandler] | None, Callable[[], EventHandler]]],
                       metrics: Sequence[EvalMetric]) -> list[EventHandler]:
        """Add the defaults of which there is none yet, check what metrics handlers have, and sort them."""
        added = [make() for kind, make in defaults if kind is None or not any(isinstance(handler, kind) for handler in handlers)]
        both = [*handlers, *added]
        if handlers and added:
            for handler in both:
                check_handler_metrics(handler, metrics)
        return sorted(both, key=lambda handler: getattr(handler, "priority", 0))

    @staticmethod
    def _categorize_handlers(event_handlers: Sequence[EventHandler]) -> tuple[list[Any], ...]:  # Any: handlers of six kinds
        """The handlers of each event, in MXNet's order, for programs with a ``fit`` of their own."""
        return tuple(handlers_of(event, event_handlers)
                     for event in (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd))

    # one step

    def _fused_update(self) -> GradientUpdateHandler | None:
        """The handler of the update, if ``TrainStep`` may make it."""
        return None if self._against() else next(handler for handler in self._handlers
                                                 if isinstance(handler, GradientUpdateHandler))

    def _against(self) -> str:
        """Why batches are not trained on by ``TrainStep``; empty if they are."""
        ends = handlers_of(BatchEnd, self._handlers)
        updates = [handler for handler in ends if isinstance(handler, GradientUpdateHandler)]
        if type(self.batch_processor).fit_batch is not BatchProcessor.fit_batch:
            return f"{type(self.batch_processor).__name__} has its own fit_batch"
        if len(self.context) > 1:
            return "there are several contexts"
        if self.batch_axis != 0:
            return "batch_axis is not 0"
        if len(updates) != 1 or type(updates[0]).batch_end is not GradientUpdateHandler.batch_end:
            return "the update is not made by one GradientUpdateHandler"
        if ends[0] is not updates[0]:
            return f"{type(ends[0]).__name__} is called between gradients and update"
        plain = _not_hybridized(self.net) or ("" if is_ours(self.loss.hybrid_forward) else _not_hybridized(self.loss))
        return f"{plain} is not hybridized" if plain else reason_in([self.net, self.loss])

    def explain(self) -> list[dict[str, str]]:
        """What of training runs in Python, and why: after a call of ``fit``.

        Returns
        -------
        list of dict
            The rows of ``TrainStep.explain``.  If no batch ran as a ``TrainStep``, the list has one row, whose ``op`` is empty
            and whose ``reason`` says why.
        """
        reason = self._against() if self._handlers else "fit has not been called"
        if not reason and self._made is None:
            one_each = any(size == shapes[0][0] for shapes, size in self._sizes.items() if shapes is not None)
            reason = ("no shape of batches has occurred twice" if one_each else
                      "the loss does not have one value for each row of a batch")
        if reason:
            return [{"pass": "", "op": "", "reason": reason}]
        assert self._made is not None
        return self._made[1].explain()

    def _step(self, data: Sequence[NDArray], label: Sequence[NDArray],
              extra: Sequence[list[NDArray]]) -> tuple[NDArray, NDArray] | None:
        """Train on a batch by ``TrainStep``: loss and prediction.  None if gradients and update are to be computed in two parts.

        The first batch of each shape is trained on in two parts: it shows how many values the loss has, which gradients are
        divided by.
        """
        if self._update is None or not data[0].shape:
            return None
        self._shapes = data[0].shape, label[0].shape
        size = self._sizes.get(self._shapes)
        if size != data[0].shape[0]:
            return None
        parts = (self.net, self.loss, self.trainer, self._update.clip_norm)
        if self._made is None or any(part is not other for part, other in zip(self._made[0], parts, strict=True)):
            self._made = parts, TrainStep(self.net, _LossAndOutput(self.loss), self.trainer, clip_norm=self._update.clip_norm)
        loss, pred = self._made[1](data[0], label[0] if not extra[0] else [label[0], *extra[0]], size)
        self._updated = True
        return loss, pred

    def _take_update(self, size: int) -> bool:
        """Whether the update of this batch has been made; remembers how many values the loss of such batches has."""
        self._sizes[self._shapes] = size
        updated, self._updated = self._updated, False
        return updated

    # checkpoints

    def _on_servers(self, loop: FitLoop) -> dict[str, Any] | None:
        """Take part in snapshots of a run on several machines, if it is one; the state where the last one has this worker."""
        store = self.trainer._kvstore
        states: list[dict[str, Any]] = []
        if not isinstance(store, DistKVStore) or store._client.resumes:
            return None
        try:
            loop.kept()
        except UnsupportedError:  # the trainer makes the steps again instead
            return None
        if any(not parameter._arrays for parameter in self.trainer._params):
            with pause():
                self.net(*self.batch_processor._get_data_and_label(next(iter(loop.data)), self.context, self.batch_axis)[0][:1])
        store.resume(loop.kept, states.append, self.trainer)
        loop.store = store
        return states[0] if states else None

    def _afterwards(self, work: Callable[[], None]) -> None:
        """Do this when all handlers of an event have been called."""
        self._due.append(work)

    def _settle(self) -> None:
        due, self._due = self._due, []
        for work in due:
            work()

    def _continue_from(self, state: dict[str, Any]) -> None:
        """Let training go on from a state, when all handlers have been told that it begins."""
        self._resumed = state


class _LossAndOutput(Block):
    """A loss that gives the prediction too.

    Parameters
    ----------
    loss : Loss
    """

    def __init__(self, loss: Loss) -> None:
        super().__init__(prefix="")
        self.loss = loss

    def forward(self, pred: NDArray, *labels: NDArray) -> tuple[NDArray, NDArray]:
        return self.loss(pred, *labels), pred


def _not_hybridized(block: Block) -> str:
    """The name of a topmost HybridBlock that is not hybridized, or of a block that has none; empty if all are hybridized."""
    topmost = _topmost(block)
    return next((hybrid.name for hybrid in topmost if hybrid._programs is None), "" if topmost else block.name)


def _topmost(block: Block) -> list[HybridBlock]:
    if isinstance(block, HybridBlock):
        return [block]
    return [descendant for child in block._children.values() for descendant in _topmost(child)]


def _made_logger(level: int) -> logging.Logger:
    """A logger of its own, as in MXNet, that writes to standard output."""
    logger = logging.Logger("Estimator", level)
    logger.addHandler(logging.StreamHandler(sys.stdout))
    return logger


def _checked(name: str, value: Given, kind: type[Kind]) -> Kind:
    if not isinstance(value, kind):
        raise ParameterError(expected(name, f"a {kind.__name__} of gluon", type(value)),
                             hint="gluon.data.DataLoader(dataset, batch_size) takes arrays." if kind is DataLoader else
                             f"see gluon's {kind.__name__}.")
    return value


def _contexts(context: Given) -> list[Context]:
    if not context:
        count = num_gpus()
        if count > 1:
            warn_user("You have multiple GPUs, gpu(0) will be used by default. To utilize all your GPUs, specify context as "
                          "a list of gpus, e.g. context=[mx.gpu(0), mx.gpu(1)] ")
        return [gpu(0)] if count else [cpu()]
    contexts = [context] if isinstance(context, Context) else context
    if not isinstance(contexts, list) or not all(isinstance(item, Context) for item in contexts):
        raise ParameterError(expected("context", "a Context or a list of them", context), hint="mx.cpu(), for example.")
    absent = next((ctx for ctx in contexts if ctx.device_type == "gpu" and ctx.device_id >= num_gpus()), None)
    if absent is not None:
        raise ParameterError(f"{absent} is not available: there are {num_gpus()} GPUs.", hint="mx.cpu(), for example.")
    return contexts


def _processor(processor: Given) -> BatchProcessor:
    if processor is None:
        return BatchProcessor()
    for name in ("fit_batch", "evaluate_batch"):
        if not callable(getattr(processor, name, None)):
            raise ParameterError("Customized Batch Processor must contain fit_batch() and evaluate_batch() methods, and "
                                 f"{type(processor).__name__} has no {name}.", hint="derive it from BatchProcessor.")
    checked: BatchProcessor = processor
    return checked


entry_classes(Estimator)
