"""The estimators for scikit-learn: its own checks, its pipelines and searches, and what they promise beside that."""

import copy
import io
import pickle
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsekit import nd
from sparsekit.base.errors import ArgumentError, ParameterError, SparseFormatError
from sparsekit.sklearn import FactorizationMachineClassifier, FactorizationMachineRegressor, SparseClassifier, SparseRegressor

ALL = (SparseClassifier, SparseRegressor, FactorizationMachineClassifier, FactorizationMachineRegressor)
CLASSIFIERS, REGRESSORS = ALL[::2], ALL[1::2]
WORDS = {"fruit": "apple pear plum cherry ripe sweet juice", "tools": "hammer saw drill nail screw steel handle",
         "sea": "wave ship sail tide salt harbour storm"}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([SparseClassifier(), FactorizationMachineRegressor()])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([SparseRegressor(), FactorizationMachineClassifier()])
def test_the_checks_of_scikit_learn_on_the_others(estimator, check):
    check(estimator)


def texts(count=120, seed=0):
    """Texts and their topics."""
    random = np.random.default_rng(seed)
    topics = random.choice(sorted(WORDS), count)
    return [" ".join(random.choice(WORDS[topic].split(), 6)) for topic in topics], topics


def rows(count=200, columns=1000, seed=0, dtype="float32"):
    return scipy.sparse.random(count, columns, 0.01, "csr", dtype=dtype, random_state=seed)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_a_pipeline_under_cross_validation_and_search(make):
    data, topics = texts()
    pipeline = make_pipeline(HashingVectorizer(n_features=2**16), make(max_iter=10, random_state=0))
    assert cross_val_score(pipeline, data, topics, cv=3).min() > 0.95
    name, jobs = f"{make.__name__.lower()}__learning_rate", 2 if make is SparseClassifier else 1
    search = GridSearchCV(pipeline, {name: [1e-6, 0.3]}, cv=3, n_jobs=jobs, scoring="neg_log_loss").fit(data, topics)
    assert search.best_params_ == {name: 0.3}
    assert search.predict(["plum pear", "ship storm"]).tolist() == ["fruit", "sea"]


def test_it_finds_what_logistic_regression_finds():
    data, label = make_classification(400, 20, random_state=0)
    data = scipy.sparse.csr_array(data)
    ours = SparseClassifier(max_iter=400, batch_size=400, random_state=0).fit(data, label)
    theirs = LogisticRegression(C=np.inf, tol=1e-8).fit(data, label)
    np.testing.assert_allclose(ours.predict_proba(data), theirs.predict_proba(data), atol=5e-3)


def test_it_finds_what_least_squares_finds():
    random = np.random.default_rng(0)
    data = random.standard_normal((300, 10))
    label = data @ random.standard_normal(10) + 5 + 0.1 * random.standard_normal(300)
    ours = SparseRegressor(max_iter=300, batch_size=300, random_state=0).fit(data, label)
    theirs = Ridge(alpha=1e-9).fit(data, label)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_[0], theirs.intercept_, atol=2e-3)


def test_a_machine_learns_what_no_linear_model_can():
    random = np.random.default_rng(0)
    data = random.integers(0, 2, (400, 2)) * 2.0 - 1
    label = (data[:, 0] * data[:, 1] > 0).astype(int)
    machine = FactorizationMachineClassifier(max_iter=60, init_scale=0.3, random_state=0)
    assert machine.fit(data, label).score(data, label) == 1
    assert SparseClassifier(max_iter=60, random_state=0).fit(data, label).score(data, label) < 0.7
    values = FactorizationMachineRegressor(max_iter=100, init_scale=0.3, random_state=0).fit(data, data[:, 0] * data[:, 1])
    assert values.score(data, data[:, 0] * data[:, 1]) > 0.99


@pytest.mark.parametrize("make", ALL)
def test_the_same_random_state_gives_the_same_bits(make):
    data, label = rows(), np.arange(200) % 2
    one, other = (make(max_iter=3, batch_size=32, random_state=4).fit(data, label) for _ in range(2))
    np.testing.assert_array_equal(one.predict(data), other.predict(data))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert not np.array_equal(one.coef_, make(max_iter=3, batch_size=32, random_state=5).fit(data, label).coef_)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
@pytest.mark.parametrize("make", ALL)
def test_copies_predict_and_train_on(make, way):
    data, label = rows(), np.arange(200) % 2
    model = make(batch_size=64, random_state=0)
    model.partial_fit(data, label, **({"classes": [0, 1]} if make in CLASSIFIERS else {}))
    again = way(model)
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    for one in (model, again):
        one.partial_fit(data, label)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert not hasattr(clone(model), "net_")


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_partial_fit_takes_classes_that_come_later(make):
    data = rows()
    model = make().partial_fit(data[:100], np.zeros(100, int), classes=[0, 1, 2])
    model.partial_fit(data[100:], np.ones(100, int))
    assert model.predict_proba(data).shape == (200, 3)
    assert model.n_iter_ == len(model.loss_curve_) == 2
    with pytest.raises(ParameterError, match="classes that were not passed to the first call"):
        model.partial_fit(data[:1], [7])


@pytest.mark.parametrize("make", ALL)
def test_early_stopping_keeps_the_best_weights(make):
    data = rows(300, 40, dtype="float64")
    label = np.arange(300) % 2  # noise: what is learnt on it does not help
    settings = {"early_stopping": True, "n_iter_no_change": 4, "learning_rate": 1.0, "tol": 0, "random_state": 0}
    model = make(max_iter=100, **settings).fit(data, label)
    scores = model.validation_scores_
    best = scores.index(max(scores)) + 1
    assert model.n_iter_ == len(scores) == best + 4
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        other = make(max_iter=best, **settings).fit(data, label)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert not hasattr(make().fit(data, label), "validation_scores_")


@pytest.mark.parametrize(("setting", "value"), [("max_iter", 0), ("batch_size", 2.5), ("learning_rate", -1), ("alpha", "much"),
                                                ("validation_fraction", 1), ("tol", float("nan")), ("n_iter_no_change", None),
                                                ("early_stopping", "no"), ("progress", []), ("optimizer_params", [1])])
@pytest.mark.parametrize("make", ALL)
def test_bad_parameters_are_named(make, setting, value):
    with pytest.raises(ParameterError, match=setting):
        make(**{setting: value}).fit(rows(), np.arange(200) % 2)


@pytest.mark.parametrize(("setting", "value"), [("factors", 0), ("init_scale", -1)])
def test_bad_parameters_of_machines_are_named(setting, value):
    with pytest.raises(ParameterError, match=setting):
        FactorizationMachineClassifier(**{setting: value}).fit(rows(), np.arange(200) % 2)


def test_what_is_given_is_not_changed():
    data = scipy.sparse.csr_array(([1.0, 2.0, 4.0, 1.0], [3, 1, 1, 0], [0, 3, 4]), shape=(2, 5))  # unsorted, and one twice
    before = data.copy()
    model = SparseClassifier(max_iter=2).fit(data, [0, 1])
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(data, name), getattr(before, name))
    np.testing.assert_allclose(model.decision_function(data), model.decision_function(data.toarray()))


def test_decay_reaches_all_columns_with_an_exact_optimizer():
    data, label = rows(), np.arange(200) % 2
    settings = {"optimizer": "adamw", "learning_rate": 0.05, "alpha": 0.5, "max_iter": 4, "batch_size": 20, "random_state": 0}
    exact, dense, lazy = (SparseClassifier(optimizer_params={"lazy_update": kind}, **settings).fit(data, label).coef_
                          for kind in ("exact", False, True))
    np.testing.assert_allclose(exact, dense, rtol=1e-3, atol=1e-6)
    assert not np.allclose(lazy, dense, rtol=1e-2)


def test_float32_stays_float32():
    assert SparseClassifier().fit(rows(), np.arange(200) % 2).coef_.dtype == np.float32
    assert SparseClassifier().fit(rows(dtype="float64"), np.arange(200) % 2).coef_.dtype == np.float64


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("make", ALL)
def test_progress_is_shown_on_request(make, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr("sparsekit.base.progress.REDRAW", 0.0)
    monkeypatch.setenv("COLUMNS", "120")  # tqdm cuts longer lines
    shown = {}
    for wanted in (False, True):
        monkeypatch.setattr(sys, "stderr", Terminal())
        make(max_iter=3, progress=wanted, random_state=0).fit(rows(), np.arange(200) % 2)
        shown[wanted] = sys.stderr.getvalue()
    assert shown[False] == ""
    assert make.__name__ in shown[True]
    assert "3/3" in shown[True]
    assert "loss 0." in shown[True]


# what overflows, and what does not fit earlier calls, as scikit-learn's own SGDClassifier and SGDRegressor refuse it


def numbers(rows=60):
    X = np.random.default_rng(0).normal(size=(rows, 4))
    return X, (X[:, 0] > 0).astype(int)


def first_call(model, X, y):
    """The first ``partial_fit``."""
    return model.partial_fit(X, y, **({"classes": np.unique(y)} if type(model) in CLASSIFIERS else {}))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
@pytest.mark.parametrize("make", ALL)
def test_a_model_is_finite_or_its_training_is_refused(make, optimizer, dtype):
    """Scales of X, of y and of the learning rate, until something overflows."""
    X, label = numbers()
    X, target = X.astype(dtype), X @ [1, 2, 3, 4] if make in REGRESSORS else label
    refused = 0
    for power in (0, 36, 300):
        for scale_of in ("X", "y", "rate"):
            scale = 10.0**power
            if (scale_of != "y" and scale > float(np.finfo(dtype).max) / 10) or (scale_of == "y" and make in CLASSIFIERS):
                continue
            model = make(optimizer=optimizer, max_iter=3, batch_size=16, random_state=0,
                         learning_rate=0.1 * scale if scale_of == "rate" else 0.1)
            given = X * np.dtype(dtype).type(scale) if scale_of == "X" else X
            for train in (model.fit, lambda *data, model=model: first_call(clone(model), *data)):
                try:
                    fitted = train(given, target * scale if scale_of == "y" else target)
                except ParameterError:
                    refused += 1
                    assert not hasattr(model, "net_")
                else:
                    assert all(np.isfinite(one).all() for one in fitted._weights())
    assert refused


@pytest.mark.parametrize("make", [FactorizationMachineClassifier, FactorizationMachineRegressor])
def test_a_diverged_machine_says_what_to_do(make):
    X, y = numbers()
    model = make(learning_rate=1e9, optimizer="sgd", random_state=0)
    with pytest.raises(ValueError, match=r"under-/overflow occurred at epoch #\d+.*\n?.*learning_rate=1000000000.0"):
        model.fit(X.astype("float32") * 1e6, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert np.isfinite(model.set_params(learning_rate=0.01, optimizer="adagrad").fit(X, y).coef_).all()


@pytest.mark.parametrize("make", ALL)
def test_an_early_stop_does_not_hide_that_the_training_diverged(make):
    X, y = numbers()
    with pytest.raises(ParameterError, match="overflow occurred"):
        make(early_stopping=True, random_state=0).fit((X * 1e30).astype("float32"), y)


@pytest.mark.parametrize("make", REGRESSORS)
def test_targets_beyond_the_type_of_the_rows(make):
    X, y = numbers()[0], numbers()[0] @ [1, 2, 3, 4]
    for early_stopping in (False, True):
        with pytest.raises(ParameterError, match="in the range of float32"):
            make(early_stopping=early_stopping).fit(X.astype("float32"), y * 1e39)
    model = make(random_state=0).partial_fit(X.astype("float32"), y)
    before = model.coef_
    with pytest.raises(ParameterError, match="in the range of float32"):
        model.partial_fit(X, y * 1e39)
    np.testing.assert_array_equal(model.coef_, before)
    assert np.isfinite(make(random_state=0).fit(X, y * 1e39).predict(X)).all()
    with pytest.raises(ValueError, match=r"finite|NaN"):
        make().fit(X, [None, *y[1:]])


@pytest.mark.parametrize("make", ALL)
def test_rows_beyond_the_type_that_training_began_with(make):
    X, y = numbers()
    model = first_call(make(random_state=0), X.astype("float32"), y)
    for call in (lambda: model.partial_fit(X * 1e200, y), lambda: model.predict(X * 1e200)):
        with pytest.raises(ParameterError, match="X has values beyond the range of float32"):
            call()
    assert np.isfinite(model.coef_).all()
    with pytest.raises(ParameterError, match="is beyond the range of float64"):
        make(learning_rate=10.0, random_state=0).fit(X, y * 10 if make in REGRESSORS else y).predict([[1.7e308, 0, 0, 0]])


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_classes_are_given_once_and_stay(make):
    X, y = numbers()
    with pytest.raises(ParameterError, match="classes must be passed on the first call to partial_fit"):
        make().partial_fit(X, y)
    model = make(random_state=0).partial_fit(X, y, classes=[1, 0, 1])
    model.partial_fit(X, y).partial_fit(X, y, classes=[0.0, 1.0])
    before = model.coef_
    for other in ([0, 1, 2], [0, 2], ["a", "b"], [0]):
        with pytest.raises(ParameterError, match="is not the same as on last call to partial_fit, was: array"):
            model.partial_fit(X, y, classes=other)
        with pytest.raises(ParameterError, match="is not the same as on last call"):
            make().fit(X, y).partial_fit(X, y, classes=other)
    for label in (np.full(60, 2), np.full(60, "a"), np.full(60, -1)):
        with pytest.raises(ValueError, match="classes that were not passed"):
            model.partial_fit(X, label)
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.coef_, before)
    make().fit(X, y).partial_fit(X, y)  # fit has found them


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_a_refused_call_leaves_the_classes(make):
    X, y = numbers()
    model = make()
    with pytest.raises(ParameterError, match="classes that were not passed"):
        model.partial_fit(X, y + 1, classes=[0, 1])
    assert model.partial_fit(X, y + 1, classes=[1, 2]).classes_.tolist() == [1, 2]
    with pytest.raises(ParameterError, match="at least two classes, and y has none"):
        make().partial_fit(X, y, classes=[])
    with pytest.raises(ParameterError, match="at least two classes"):
        model.fit(X.astype("float32"), np.ones(60))
    assert set(model.predict(X)) <= {1, 2}


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("setting", [{"optimizer": "none"}, {"optimizer_params": {"none": 1}}, {"random_state": "a"},
                                     {"alpha": -1}, {"optimizer_params": {"clip_gradient": "a"}},
                                     {"class_weight": {0: -1}}], ids=str)
def test_a_refused_fit_leaves_the_model_its_classes_and_its_columns(make, setting):
    if "class_weight" in setting and make in REGRESSORS:
        pytest.skip("regressors have no classes")
    X, y = numbers()
    model = make(random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"none|'a'|alpha|class_weight"):
        model.set_params(**setting).fit(X[:, :3], y + np.arange(60) % 2)
    np.testing.assert_array_equal(model.predict(X), before)
    fresh = make(**setting)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"none|'a'|alpha|class_weight"):
            first_call(fresh, X[:, :3], y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_labels_that_do_not_compare_with_the_classes_are_named(make):
    X, y = numbers()
    model = make(random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="classes that were not passed"):
        model.partial_fit(X, np.array(["a", "b"], object)[y])


@pytest.mark.parametrize("make", REGRESSORS)
def test_targets_that_are_no_numbers_are_named(make):
    X, y = numbers()
    for words in (np.array(["a", "b"])[y], np.array(["a", None], object)[y], np.array([b"a", b"b"])[y]):
        with pytest.raises(ParameterError, match=r"y must have numbers: .*could not convert string"):
            make().fit(X, words)


@pytest.mark.parametrize("make", ALL)
def test_arguments_of_constructors_are_named(make):
    with pytest.raises(ArgumentError, match=rf"no argument of {make.__name__}\(\) named 'rate'"):
        make(rate=1)
    with pytest.raises(ArgumentError, match=rf"^{make.__name__}\(\) takes 1 positional argument"):
        make("sgd")


@pytest.mark.parametrize("make", ALL)
def test_weights_that_the_type_cannot_add_up_are_named(make):
    X, y = numbers()
    for dtype, weights in ((np.float64, (1e308, 1e-320)), (np.float32, (3e38, 1e-42))):
        for weight in weights:
            with pytest.raises(ParameterError, match="add up to at most"):
                make().fit(X.astype(dtype), y, sample_weight=np.full(60, weight))


@pytest.mark.parametrize("make", ALL)
def test_partial_fit_sets_no_rows_aside(make):
    with pytest.raises(ParameterError, match="early_stopping should be False with partial_fit"):
        first_call(make(early_stopping=True), *numbers())


@pytest.mark.parametrize("make", ALL)
def test_weights_that_leave_a_set_empty_are_refused(make):
    X, y = numbers()
    for place in range(0, 60, 7):
        weight = np.zeros(60)
        weight[place] = 1
        with pytest.raises(ParameterError, match=r"sample weights for (training|validation) set are all zero"):
            make(early_stopping=True, random_state=0).fit(X, y, sample_weight=weight)
    for wrong in (np.nan, np.inf, -1):
        with pytest.raises(ValueError, match="sample_weight"):
            make().fit(X, y, sample_weight=np.r_[wrong, np.ones(59)])


@pytest.mark.parametrize("make", ALL)
def test_arrays_of_this_library_are_taken_as_those_of_scipy_and_numpy(make):
    rows, y = made_rows()
    weights = np.linspace(0.5, 2, len(y)).astype("float32")
    expected = make(random_state=0, max_iter=2).fit(scipy.sparse.csr_array(rows), y, weights).predict(rows)
    for own in (nd.array(rows).tostype("csr"), nd.array(rows).tostype("row_sparse"), nd.array(rows)):
        found = make(random_state=0, max_iter=2).fit(own, nd.array(y, dtype="int64"), nd.array(weights))
        np.testing.assert_allclose(found.predict(own), expected, rtol=1e-5)
        found.partial_fit(own, nd.array(y, dtype="int64"))


def made_rows():
    draw = np.random.default_rng(0)
    rows = (draw.random((90, 6)) * (draw.random((90, 6)) > 0.5)).astype("float32")
    return rows, (rows[:, 0] + 0.3 * draw.standard_normal(90) > 0.6).astype(int) + (rows[:, 1] > 0.7)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("way", ["balanced", "dict", "partial_fit"])
def test_class_weights_are_weights_of_rows(make, count, way):
    rows, y = made_rows()
    y = np.minimum(y, count - 1)
    given = np.linspace(0.5, 2, len(y))
    weights = {0: 1.0, 1: 4.0} if way != "balanced" else "balanced"  # a class that is left out has 1
    per_row = compute_sample_weight(weights, y)
    assert len(set(per_row)) > 1
    results = []
    for options, sample_weight in (({"class_weight": weights}, given), ({}, given * per_row)):
        model = make(random_state=0, max_iter=3, **options)
        if way == "partial_fit":
            model.partial_fit(rows, y, np.unique(y), sample_weight)
        else:
            model.fit(rows, y, sample_weight)
        results.append(model.predict_proba(rows))
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_class_weights_that_do_not_fit_are_named():
    rows, y = made_rows()
    for weights in ("even", {9: 1.0}, {0: -1.0}, 3):
        with pytest.raises(ParameterError, match="class_weight"):
            SparseClassifier(class_weight=weights).fit(rows, y)
    with pytest.raises(ParameterError, match="balanced"):
        SparseClassifier(class_weight="balanced").partial_fit(rows, y, np.unique(y))


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training_copies_the_rows_of_one_batch_at_a_time(dtype, early_stopping):
    rows, stored = 50_000, 100
    indices = np.random.default_rng(0).integers(0, 1000, rows * stored).astype("int32")   # unsorted, and some twice
    X = scipy.sparse.csr_array((np.ones(rows * stored, dtype), indices, np.arange(rows + 1, dtype="int32") * stored),
                               shape=(rows, 1000))
    kept, size = X.copy(), X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    y = indices[::stored] % 2
    model = SparseClassifier(max_iter=2, batch_size=1000, early_stopping=early_stopping, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:1000], y[:1000])
        tracemalloc.start()
        try:
            model.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 0.2 * size
    assert X.data.tobytes() + X.indices.tobytes() == kept.data.tobytes() + kept.indices.tobytes()


@pytest.mark.parametrize(("array", "value"), [("indices", 20), ("indices", -1), ("indptr", 10**6), ("indptr", 0)])
def test_a_damaged_matrix_is_refused_before_a_row_is_read(array, value):
    X, y = scipy.sparse.random(50, 20, 0.2, "csr", dtype=np.float32, random_state=0), np.arange(50) % 2
    model = SparseClassifier(max_iter=1).fit(X, y)
    getattr(X, array)[30] = value
    for use in (lambda: SparseClassifier().fit(X, y), lambda: SparseClassifier().partial_fit(X, y, [0, 1]),
                lambda: model.partial_fit(X, y), lambda: model.predict(X)):
        with pytest.raises(SparseFormatError, match="X must be a csr matrix, but its ind"):
            use()


@pytest.mark.parametrize("form", ["csc", "bsr", "coo"])
def test_a_damaged_matrix_of_another_format_is_refused_before_it_is_converted(form):
    X, y = scipy.sparse.random(50, 20, 0.2, form, dtype=np.float32, random_state=0), np.arange(50) % 2
    model = SparseClassifier(max_iter=1).fit(X, y)
    getattr(X, "row" if form == "coo" else "indices")[3] = 5_000_000
    for use in (lambda: SparseClassifier().fit(X, y), lambda: model.partial_fit(X, y), lambda: model.predict(X)):
        with pytest.raises(SparseFormatError, match=f"X must be a {form} matrix, but its"):
            use()
