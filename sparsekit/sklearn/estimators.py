"""Estimators with scikit-learn's interface."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..base.checks import amount_of, flag, whole
from ..base.context import cpu
from ..base.entry import entry
from ..base.epoch_loop import EpochLoop
from ..base.errors import ParameterError, SparseFormatError, expected, first_line, shown
from ..base.optional import scipy_part
from ..base.progress import Progress
from ..base.warn import warn_user
from ..core.dispatch import wrap
from ..gluon import Trainer, TrainStep
from ..gluon.loss import L2Loss, Loss, SigmoidBinaryCrossEntropyLoss, SoftmaxCrossEntropyLoss
from ..kernels import for_device
from ..ndarray import NDArray, array
from ..ops.sparse.sparse_indexing import csr_rows
from ..optimizer.optimizer import arguments_of
from ..optimizer.states import arrays_of
from ..storage import CSR
from ..storage.check import check_foreign
from .blocks import Interactions, Linear

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from ..base.types import Array

#: Rows as scikit-learn takes them: a matrix of scipy, an array, a list, a DataFrame.
Rows: TypeAlias = Any
#: Numbers or labels, one a row, as scikit-learn takes them.
Values: TypeAlias = Any

#: Rows that are predicted at a time.
ROWS = 1024

Made = TypeVar("Made", bound="_Estimator")

_PARAMETERS = """
    Parameters
    ----------
    optimizer : str, default "adagrad"
        Name of an optimizer of ``sparsekit.optimizer``.
    learning_rate : float, default {rate}
    alpha : float, default 0
        Weight decay.  With ``optimizer="sgd"`` or ``"adamw"`` and ``optimizer_params={{"lazy_update": "exact"}}``, each step
        decays the weights of all columns.  Otherwise, a step decays only those of the columns that the batch stores.
    optimizer_params : dict, optional
        Further arguments of the optimizer.
    max_iter : int, default 20
        Largest number of passes through the data.
    batch_size : int, default 256
        Number of rows of a batch.
    early_stopping : bool, default False
        Set a part of the rows aside, stop when the score on these rows no longer improves, and keep the best weights.
    validation_fraction : float, default 0.1
        Share of the rows that is set aside, between 0 and 1.
    n_iter_no_change : int, default 3
        Number of passes without improvement after which ``early_stopping`` stops.
    tol : float, default 0.0001
        The smallest increase of the score that counts as an improvement.
    progress : bool, default False
        Show a progress bar, with the loss.
    random_state : int, RandomState or None
        Determines the order of the rows, the rows that are set aside, and the initial values.{more}

    Attributes
    ----------
    net_ : gluon.HybridBlock
        The trained model.
    n_features_in_ : int
        Number of columns of the training data.
    n_iter_ : int
        Number of passes of ``fit``, or of all calls of ``partial_fit``.
    loss_curve_ : list of float
        Mean training loss of each pass.
    validation_scores_ : list of float
        Score on the rows that are set aside after each pass, with ``early_stopping``.{classes}

    Notes
    -----
    Training runs in float32 for float32 data, and in float64 for other data; float32 is faster.  All features should have a
    similar scale, like those of ``HashingVectorizer``.
    """


@dataclass(kw_only=True, repr=False, eq=False)
class _Estimator(BaseEstimator, abc.ABC):
    """What the estimators have in common: they are told apart by their model, their loss and their targets.

    The fields are the parameters of the constructor, of which scikit-learn reads the names.
    """

    optimizer: str = "adagrad"
    learning_rate: float = 0.3
    alpha: float = 0.0
    optimizer_params: dict[str, Any] | None = None
    max_iter: int = 20
    batch_size: int = 256
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 3
    tol: float = 1e-4
    progress: bool = False
    random_state: int | np.random.RandomState | None = None

    #: The model, from the number of columns, the outputs and the element type.
    _model: ClassVar[Callable[..., Linear]]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # fitting

    def fit(self, X: Rows, y: Values, sample_weight: Values | None = None) -> Self:
        """Train from the beginning.

        Parameters
        ----------
        X : csr matrix, or array, of shape (rows, columns)
        y : array of shape (rows,)
        sample_weight : array of shape (rows,), optional
            Weight of each row in the loss.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter, a target or a weight is outside its range, or if the training diverges: weights overflow, and the
            model is dropped.  The error is a ``ValueError``.  After any other error the estimator is as it was before the call.
        """
        with self._as_it_was_if_refused():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Rows, y: Values, sample_weight: Values | None) -> None:
        self._check_parameters()
        X, y, weights = self._validated(X, y, sample_weight, reset=True)
        target = self._targets(y)
        factors = self._factors_of_classes(y)
        random = check_random_state(self.random_state)
        trained: Array | None = None
        held: tuple[Array, Array] | None = None
        if self.early_stopping:
            trained, held = self._set_aside(X, target, weights, random)
        weights = _weighted(weights, factors, target, X.dtype)
        rows = slice(None) if trained is None else trained
        self._begin(X, target[rows], None if weights is None else weights[rows], random)
        passes = _Passes(self, X, target, weights, X.shape[0] if trained is None else trained, random, held)
        if not passes.run(self.max_iter) and held is not None:
            warn_user(f"After max_iter={self.max_iter} passes the score on the rows that were set aside had not stopped "
                      "improving: raise max_iter.", ConvergenceWarning)
        self._check_finite()
        if passes.kept is not None:
            self._set_weights(passes.kept)

    @contextmanager
    def _as_it_was_if_refused(self) -> Iterator[None]:
        """Restore the attributes if a call fails, or else a new model would have old classes; a diverged model stays dropped."""
        before = dict(vars(self))
        try:
            yield
        except Exception:
            dropped = hasattr(self, "_step") and not hasattr(self, "net_")
            if not dropped:
                self.__dict__ = before
            raise

    def _fit_once(self, X: Rows, y: Values, sample_weight: Values | None) -> None:
        """Make one pass through the rows; the first call begins the training."""
        self._check_parameters()
        if self.early_stopping:
            raise ParameterError("early_stopping should be False with partial_fit.", hint="call fit, or score rows of your own.")
        first = not hasattr(self, "net_")
        X, y, weights = self._validated(X, y, sample_weight, reset=first)
        target = self._targets(y, first)
        weights = _weighted(weights, self._factors_of_classes(y), target, X.dtype)
        if first:
            self._random = check_random_state(self.random_state)
            self._begin(X, target, weights, self._random)
        elif not hasattr(self, "_random"):
            self._random = check_random_state(self.random_state)
        _Passes(self, X, target, weights, X.shape[0], self._random).run_epoch()
        self._check_finite()

    def _check_parameters(self) -> None:
        for name in ("max_iter", "batch_size", "n_iter_no_change"):
            whole(name, getattr(self, name), 1)
        for name in ("learning_rate", "alpha", "tol"):
            amount_of(name, getattr(self, name), 0)
        if not 0 < amount_of("validation_fraction", self.validation_fraction, 0) < 1:
            raise ParameterError(expected("validation_fraction", "between 0 and 1", self.validation_fraction),
                                 hint="0.1 sets a tenth aside.")
        for name in ("early_stopping", "progress"):
            flag(name, getattr(self, name))
        arguments_of(self.optimizer_params or {})

    def _validated(self, X: Rows, y: Values, sample_weight: Values | None, reset: bool) -> tuple[Rows, Array, Array | None]:
        X, y, sample_weight = _sound(_brought(X)), _brought(y), _brought(sample_weight)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        X = _as_csr(X) if reset else self._in_type(X)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=X.dtype)
            if sample_weight.min(initial=0) < 0:
                raise ParameterError(expected("sample_weight", "at least 0", float(sample_weight.min())),
                                     hint="a weight of 0 leaves a row out.")
        return X, column_or_1d(y, warn=True), sample_weight

    def _in_type(self, X: Rows) -> Rows:
        """The rows as a csr matrix in the element type of the training."""
        with np.errstate(over="ignore"):
            rows = _as_csr(X).astype(self._dtype, copy=False)
        if rows.dtype != X.dtype and not np.isfinite(rows.data).all():
            raise ParameterError(f"X has values beyond the range of {self._dtype}, the type of what training began with.",
                                 hint="scale X, or begin with float64.")
        return rows

    def _set_aside(self, X: Rows, target: Array, weights: Array | None,
                   random: np.random.RandomState) -> tuple[Array, tuple[Array, Array]]:
        """The places of the rows to train on, and of those to score with their weights."""
        row_weights = np.ones(X.shape[0]) if weights is None else weights
        train, test = train_test_split(np.arange(X.shape[0]), test_size=self.validation_fraction, random_state=random,
                                       stratify=self._strata(target))
        for part, name in ((train, "training"), (test, "validation")):
            if not row_weights[part].any():
                raise ParameterError(f"The sample weights for {name} set are all zero.", hint="use a different random_state.")
        return train, (test, row_weights[test])

    def _begin(self, X: Rows, target: Array, weights: Array | None, random: np.random.RandomState) -> None:
        """Make the model and what trains it."""
        self._dtype = X.dtype.name
        self.net_ = self._model(X.shape[1], self._outputs(), self._dtype)
        self.net_.initialize()
        self._start(target, weights, random)
        arguments = {"learning_rate": self.learning_rate, "wd": self.alpha, **(self.optimizer_params or {})}
        self._step = TrainStep(self.net_, self._loss(), Trainer(self.net_.collect_params(), self.optimizer, arguments))
        self.n_iter_ = 0
        self.loss_curve_: list[float] = []
        if self.early_stopping:
            self.validation_scores_: list[float] = []

    def _check_finite(self) -> None:
        """Raise, and drop the model, if weights or what the optimizer keeps of them have overflowed."""
        kept = [parameter.data() for parameter in self.net_.collect_params().values()]
        for updater in self._step._trainer._updaters:
            kept += [array for state in updater.states.values() for array in arrays_of(state)]
        if not all(np.isfinite(array._store if array.stype == "default" else array._store.data).all() for array in kept):
            del self.net_
            raise ParameterError(f"Floating-point under-/overflow occurred at epoch #{self.n_iter_}: the training diverges.",
                                 hint=f"lower learning_rate={self.learning_rate}, or scale X and the targets, for instance with "
                                 "StandardScaler or MaxAbsScaler.")

    def _outcome(self, X: Rows, places: Array | None = None) -> Array:
        """What the model computes of the rows, or of those at some places, (rows, outputs)."""
        places = np.arange(X.shape[0]) if places is None else places
        parts = _parts(places.shape[0], ROWS)
        outcomes = [self.net_(*self.net_.inputs(_array_of(X, places[part]))).asnumpy() for part in parts]
        return np.concatenate(outcomes)

    def _outcome_of(self, X: Rows) -> Array:
        check_is_fitted(self, "net_")
        X = validate_data(self, _sound(_brought(X)), accept_sparse="csr", reset=False, dtype=[np.float64, np.float32])
        outcome = self._outcome(self._in_type(X))
        if not np.isfinite(outcome).all():
            raise ParameterError(f"What the model computes of X is beyond the range of {self._dtype}.",
                                 hint="scale X as the rows that the model was trained with.")
        return outcome

    def _weights(self) -> list[Array]:
        return [parameter.data().asnumpy() for parameter in self.net_.collect_params().values()]

    def _set_weights(self, kept: list[Array]) -> None:
        for parameter, values in zip(self.net_.collect_params().values(), kept, strict=True):
            parameter.set_data(array(values, dtype=values.dtype).tostype(parameter.stype))

    # what a subclass says

    #: Element type of the targets of the loss; None for that of the data.
    _label_type: ClassVar[str | None] = None

    def _outputs(self) -> int:
        return 1

    @abc.abstractmethod
    def _loss(self) -> Loss:
        """The loss of the outputs."""

    @abc.abstractmethod
    def _targets(self, y: Array, first: bool = True) -> Array:
        """What the loss is called with; ``first`` says that training begins."""

    @abc.abstractmethod
    def _score(self, outputs: Array, target: Array, weights: Array) -> float:
        """How good outputs are, for early stopping; larger is better."""

    def _strata(self, target: Array) -> Array | None:
        return None

    def _factors_of_classes(self, y: Array) -> Array | None:
        """What the weight of a row of each class is multiplied with; None for nothing."""
        return None

    def _start(self, target: Array, weights: Array | None, random: np.random.RandomState) -> None:
        """Set the initial values that are not zero."""

    # linear parts of the model

    @property
    def coef_(self) -> Array:
        """Weights of the linear part, of shape (outputs, columns); a copy."""
        check_is_fitted(self, "net_")
        weight: Array = self.net_.weight.data().asnumpy().T
        return weight

    @property
    def intercept_(self) -> Array:
        """The bias of each output; a copy."""
        check_is_fitted(self, "net_")
        bias: Array = self.net_.bias.data().asnumpy()
        return bias


class _Passes(EpochLoop[Any, NDArray]):
    """Passes of an estimator through rows, each in an order of its own; the rows of one batch at a time are copied.

    Parameters
    ----------
    estimator : _Estimator
    rows, target, weights : csr matrix, array, and array or None
    places : int or array
        The number of rows to train on, or their places.
    random : RandomState
        What orders are drawn from.
    held : tuple of two arrays, optional
        The places and weights of rows that each pass is scored on.

    Attributes
    ----------
    kept : list of array, or None
        The weights of the best pass, if there are scores.
    """

    _bar: Progress | None = None

    def __init__(self, estimator: _Estimator, rows: Rows, target: Array, weights: Array | None, places: int | Array,
                 random: np.random.RandomState, held: tuple[Array, Array] | None = None) -> None:
        self.estimator, self.rows, self.target, self.weights = estimator, rows, target, weights
        self.places, self.random, self.held = places, random, held
        self.best, self.since = -np.inf, 0
        self.kept: list[Array] | None = None

    def run(self, epochs: int | None = None) -> bool:
        """As in ``EpochLoop``, with a progress bar."""
        estimator = self.estimator
        with closing(Progress(type(estimator).__name__, epochs, unit="epochs", shown=bool(estimator.progress))) as bar:
            bar.note = lambda: f"loss {estimator.loss_curve_[-1]:.4f}" if estimator.loss_curve_ else ""
            self._bar = bar
            return super().run(epochs)

    def epoch_begin(self) -> None:
        """Begin the mean of the loss."""
        self.total = self.share = 0.0

    def batches(self) -> Iterator[tuple[Array, float]]:
        """The places of the rows of each batch, and the sum of their weights, which is not 0."""
        order = self.random.permutation(self.places)
        for part in _parts(order.shape[0], self.estimator.batch_size):
            chosen = order[part]
            weight = float(chosen.shape[0]) if self.weights is None else float(self.weights[chosen].sum())
            if weight:
                yield chosen, weight

    def step(self, batch: tuple[Array, float]) -> NDArray:
        """Train on rows, and return their losses."""
        (chosen, weight), estimator = batch, self.estimator
        label = [array(self.target[chosen], dtype=estimator._label_type or estimator._dtype)]
        if self.weights is not None:
            label.append(array(self.weights[chosen].reshape(-1, 1), dtype=estimator._dtype))
        inputs = estimator.net_.inputs(_array_of(self.rows, chosen))
        loss: NDArray = estimator._step(inputs, label, batch_size=weight)  # type: ignore[arg-type]  # weights are any numbers
        return loss

    def batch_end(self, batch: tuple[Array, float], outcome: NDArray) -> None:
        """Add the losses to those of the pass."""
        self.total, self.share = self.total + float(outcome.asnumpy().sum(dtype=np.float64)), self.share + batch[1]

    def epoch_end(self) -> bool:
        """Note the mean loss, and score the pass; True if the scores no longer improve."""
        estimator = self.estimator
        estimator.n_iter_ += 1
        estimator.loss_curve_.append(self.total / self.share if self.share else 0.0)
        if not np.isfinite(self.total):
            estimator._check_finite()
        stop = self.held is not None and self._score(*self.held)
        if self._bar is not None and not stop:
            self._bar.advance()
        return stop

    def _score(self, places: Array, weights: Array) -> bool:
        """Score the weights, and keep them if they are the best; whether the scores no longer improve."""
        estimator = self.estimator
        score = estimator._score(estimator._outcome(self.rows, places), self.target[places], weights)
        estimator.validation_scores_.append(score)
        self.since = 0 if score > self.best + estimator.tol else self.since + 1
        if score > self.best:
            self.best, self.kept = score, estimator._weights()
        return self.since >= estimator.n_iter_no_change


@dataclass(kw_only=True, repr=False, eq=False)
class _Classifier(ClassifierMixin, _Estimator):
    """A classifier: one output for two classes, by the logistic function, else one for each class, by softmax."""

    class_weight: dict[Any, float] | str | None = None
    classes_: Array = field(init=False)

    def partial_fit(self, X: Rows, y: Values, classes: Values | None = None, sample_weight: Values | None = None) -> Self:
        """Make one pass through these rows; the first call begins the training.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``
        classes : array, optional
            All classes of the whole training data.  The first call needs them.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If ``y`` or ``classes`` has classes that the first call did not have, or if that got no ``classes``.
        """
        first, self._known = not hasattr(self, "net_"), None if classes is None else unique_labels(_brought(classes))
        if self.class_weight == "balanced":
            raise ParameterError("class_weight='balanced' needs all rows, and partial_fit has some.",
                                 hint="pass a dict of weights, or compute_class_weight('balanced', classes=…, y=…) of all.")
        if first and self._known is None:
            raise ParameterError("classes must be passed on the first call to partial_fit.", hint="pass np.unique(all_y).")
        if not first and self._known is not None and not np.array_equal(self._known, self.classes_):
            raise ParameterError(f"classes={shown(classes)} is not the same as on last call to partial_fit, was: "
                                 f"{shown(self.classes_)}.", hint="leave it out, or make a new estimator.")
        try:
            with self._as_it_was_if_refused():
                self._fit_once(X, y, sample_weight)
        finally:
            del self._known
        return self

    def _targets(self, y: Array, first: bool = True) -> Array:
        check_classification_targets(y)
        noted = getattr(self, "_known", None)
        classes = self.classes_ if not first else np.unique(y) if noted is None else noted
        if classes.shape[0] < 2:
            raise ParameterError("A classifier needs at least two classes, and y has "
                                 f"{f'one class: {shown(classes.tolist()[0])}' if classes.size else 'none'}.",
                                 hint="pass all classes that will occur to partial_fit, as classes=.")
        try:
            places = np.searchsorted(classes, y)
            known = np.array_equal(classes[np.minimum(places, classes.shape[0] - 1)], y)
        except TypeError:  # labels of another kind, which do not compare with the classes
            known = False
        if not known:
            raise ParameterError("y has classes that were not passed to the first call.",
                                 hint="give all classes in classes= to the first call of partial_fit.")
        self.classes_ = classes
        return places if classes.shape[0] > 2 else places.reshape(-1, 1)

    def _factors_of_classes(self, y: Array) -> Array | None:
        if self.class_weight is None:
            return None
        try:
            factors: Array = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        except (ValueError, TypeError) as error:
            raise ParameterError(f"class_weight={shown(self.class_weight)} does not fit: {error}",
                                 hint="pass 'balanced', or a dict of a weight for each class.") from None
        if not (np.isfinite(factors) & (factors >= 0)).all():
            raise ParameterError(expected("class_weight", "numbers of at least 0", self.class_weight),
                                 hint="a weight of 0 leaves the rows of a class out.")
        return factors

    def _outputs(self) -> int:
        return 1 if self.classes_.shape[0] == 2 else int(self.classes_.shape[0])

    def _loss(self) -> Loss:
        return SigmoidBinaryCrossEntropyLoss() if self.classes_.shape[0] == 2 else SoftmaxCrossEntropyLoss()

    def _strata(self, target: Array) -> Array | None:
        return target.reshape(-1) if np.bincount(target.reshape(-1)).min(initial=2) > 1 else None

    def _score(self, outputs: Array, target: Array, weights: Array) -> float:
        places = (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(1)
        return float(np.average(places == target.reshape(-1), weights=weights))

    def decision_function(self, X: Rows) -> Array:
        """Log-odds of the second class, of shape (rows,); of more than two classes their scores, (rows, classes)."""
        outcome = self._outcome_of(X)
        return outcome[:, 0] if self.classes_.shape[0] == 2 else outcome

    def predict_proba(self, X: Rows) -> Array:
        """Probabilities of the classes, of shape (rows, classes)."""
        outcome = self._outcome_of(X)
        if self.classes_.shape[0] == 2:
            outcome = np.concatenate([np.zeros_like(outcome), outcome], 1)
        shares: Array = np.exp(outcome - outcome.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        return shares

    def predict(self, X: Rows) -> Array:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        chosen: Array = self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)]
        return chosen


class _Regressor(RegressorMixin, _Estimator):
    """A regressor, by least squares; the bias starts at the mean of the targets."""

    def partial_fit(self, X: Rows, y: Values, sample_weight: Values | None = None) -> Self:
        """Make one pass through these rows; the first call begins the training.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``

        Returns
        -------
        self
        """
        with self._as_it_was_if_refused():
            self._fit_once(X, y, sample_weight)
        return self

    def _loss(self) -> Loss:
        return L2Loss()

    def _targets(self, y: Array, first: bool = True) -> Array:
        return y.reshape(-1, 1)

    def _validated(self, X: Rows, y: Values, sample_weight: Values | None, reset: bool) -> tuple[Rows, Array, Array | None]:
        X, y, sample_weight = super()._validated(X, y, sample_weight, reset)
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"y must have numbers: {first_line(error)}.",
                                 hint="a classifier takes labels of any kind.") from None
        if not (abs(y) <= np.finfo(X.dtype).max).all():
            raise ParameterError(f"y must have finite numbers in the range of {X.dtype}, in which the training runs.",
                                 hint="scale y, or pass X as float64.")
        return X, y, sample_weight

    def _start(self, target: Array, weights: Array | None, random: np.random.RandomState) -> None:
        mean = np.average(target[:, 0], weights=weights)
        self.net_.bias.set_data(array([mean], dtype=self._dtype))
        super()._start(target, weights, random)

    def _score(self, outputs: Array, target: Array, weights: Array) -> float:
        return -float(np.average((outputs - target)[:, 0] ** 2, weights=weights))

    def predict(self, X: Rows) -> Array:
        """The values of the rows, of shape (rows,)."""
        return self._outcome_of(X)[:, 0]


@dataclass(kw_only=True, repr=False, eq=False)
class _Machine(_Estimator):
    """A factorization machine."""

    factors: int = 8
    init_scale: float = 0.01
    learning_rate: float = 0.1

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole("factors", self.factors, 1)
        amount_of("init_scale", self.init_scale, 0)

    def _model(self, features: int, outputs: int, dtype: str) -> Interactions:
        return Interactions(features, outputs, dtype, int(self.factors))

    def _start(self, target: Array, weights: Array | None, random: np.random.RandomState) -> None:
        vectors = self.net_.vectors  # type: ignore[attr-defined]  # the net is that of _model
        values = random.standard_normal(vectors.shape).astype(self._dtype) * np.dtype(self._dtype).type(self.init_scale)
        vectors.set_data(array(values, dtype=self._dtype).tostype("row_sparse"))


_FACTORS = """
    factors : int, default 8
        Length of the vectors of the columns.
    init_scale : float, default 0.01
        Standard deviation of the vectors' initial values."""
_CLASS_WEIGHT = """
    class_weight : dict or "balanced", optional
        Weight of the rows of each class in the loss, beside their ``sample_weight``; classes that a dict leaves out have 1.
        "balanced" gives all classes the same weight together.  It does not change scores."""
_CLASSES = """
    classes_ : array
        The classes, sorted."""


def _documented(rate: float, more: str = "", classes: str = "") -> Callable[[type[Made]], type[Made]]:
    """Add the parameters and attributes that all estimators have to the docstring of one."""

    def add(cls: type[Made]) -> type[Made]:
        cls.__doc__ = (cls.__doc__ or "").rstrip() + "\n" + _PARAMETERS.format(rate=rate, more=more, classes=classes)
        return cls

    return add


@_documented(0.3, _CLASS_WEIGHT, _CLASSES)
class SparseClassifier(_Classifier):
    """Logistic regression on sparse rows, trained by mini-batches."""

    _model = Linear


@_documented(0.3)
class SparseRegressor(_Regressor):
    """Linear least squares on sparse rows, trained by mini-batches."""

    _model = Linear


@_documented(0.1, _FACTORS + _CLASS_WEIGHT, _CLASSES)
@dataclass(kw_only=True, repr=False, eq=False)
class FactorizationMachineClassifier(_Classifier, _Machine):
    """A factorization machine that predicts classes (S. Rendle, 2010).

    To a linear model it adds the interactions of all pairs of columns, each the dot product of two vectors.
    """

    learning_rate: float = 0.1


@_documented(0.1, _FACTORS)
class FactorizationMachineRegressor(_Regressor, _Machine):
    """A factorization machine that predicts numbers (S. Rendle, 2010).

    To a linear model it adds the interactions of all pairs of columns, each the dot product of two vectors.
    """


def _parts(rows: int, size: int) -> Iterator[slice]:
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _brought(value: Rows | Values | None) -> Rows | Values | None:
    """An array of this library as a csr matrix of scipy or a numpy array; anything else as it is."""
    if not isinstance(value, NDArray):
        return value
    return value.asnumpy() if value.stype == "default" else value.tostype("csr").asscipy()


def _weighted(weights: Array | None, factors: Array | None, target: Array, dtype: np.dtype[Any]) -> Array | None:
    """The weights of rows, times those of their classes, all of which the type of the training can add up."""
    limits = np.finfo(dtype)
    with np.errstate(over="ignore", under="ignore"):
        if factors is not None:
            row_factors: Array = factors[target.reshape(-1)]
            weights = row_factors if weights is None else row_factors * weights
        if weights is None:
            return None
        fits = weights.sum(dtype=np.float64) <= limits.max and (weights[weights > 0] >= limits.tiny).all()
    if not fits:
        raise ParameterError(f"The weights of rows, times those of their classes, must be 0 or at least {limits.tiny}, and add "
                             f"up to at most {limits.max}, in {limits.dtype}, in which the training runs.",
                             hint="divide sample_weight by its mean: only the ratios of weights count.")
    return weights


def _as_csr(X: Rows) -> Rows:
    """The rows as a csr matrix, in the caller's own arrays if it was one."""
    return scipy_part("sparse").csr_array(X)


def _sound(X: Rows) -> Rows:
    """The same rows, if the components of a sparse matrix fit its shape: no conversion or batch looks again."""
    if hasattr(X, "tocsr"):
        try:
            check_foreign(X)
        except SparseFormatError as error:
            raise SparseFormatError(f"X must be a {X.format} matrix, but its {error.message}", hint=error.hint) from None
    return X


def _array_of(X: Rows, places: Array) -> NDArray:
    """A csr array with the rows at these places of a sound matrix: columns sorted, each once."""
    if X.has_canonical_format:
        store = csr_rows(for_device("cpu"), CSR(X.data, X.indices, X.indptr, X.shape, check=False), places)
    else:
        store = X[places]
        store.sum_duplicates()
    rows: NDArray = wrap(CSR(store.data, store.indices.astype(np.int64), store.indptr.astype(np.int64), store.shape, check=False),
                         cpu())
    return rows


# The constructors alone: errors of scikit-learn's own checks pass as scikit-learn's estimators raise them.
for _class in (SparseClassifier, SparseRegressor, FactorizationMachineClassifier, FactorizationMachineRegressor):
    entry(_class)
