"""Lazy updates that differ from the standard one say so once, under the conditions of MXNet 1.9.1 and where rows would change."""

import inspect
import warnings

import pytest

import sparsekit as mx
from sparsekit.optimizer import optimizer as module

#: What MXNet 1.9.1 was seen to do: optimizer, settings, and whether it says that lazy updates are different.
MXNETS = (
    ("sgd", {}, False), ("sgd", {"wd": 0.1}, True), ("sgd", {"momentum": 0.9}, True),
    ("sgd", {"momentum": 0.9, "wd": 0.1, "lazy_update": False}, False), ("adam", {}, True), ("adam", {"wd": 0.1}, True),
    ("adam", {"wd": 0.1, "lazy_update": False}, False), ("adagrad", {}, False), ("lars", {"momentum": 0.9, "wd": 0.1}, True),
)
#: Lazy updates that MXNet does not have or does not warn of.
OURS = (
    ("sgd", {"momentum": 0.9, "lazy_update": "exact"}, False), ("adamw", {"lazy_update": "exact", "wd": 0.1}, False),
    ("adagrad", {"wd": 0.1}, True), ("ftrl", {}, False), ("ftrl", {"wd": 0.1}, True), ("rmsprop", {}, False),
    ("rmsprop", {"lazy_update": True}, True), ("nag", {"lazy_update": True}, False),
    ("nag", {"lazy_update": True, "momentum": 0.9}, True), ("lamb", {"lazy_update": True}, True),
)


def steps(optimizer, stype="row_sparse", grad="row_sparse", anew=True):
    """The warnings of a few steps, and the weight that they give."""
    if anew:
        module._told.clear()
    weight = mx.nd.ones((4, 2)).tostype(stype)
    gradient = mx.nd.sparse.row_sparse_array(([[1, 1]], [1]), shape=(4, 2)).tostype(grad)
    updater = mx.optimizer.get_updater(optimizer)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            updater(0, gradient, weight)  # the user's line
    return [one for one in found if issubclass(one.category, mx.LazyUpdateWarning)], weight


@pytest.mark.parametrize(("name", "settings", "warns"), [*MXNETS, *OURS])
@pytest.mark.parametrize("stype", ["row_sparse", "default"])
def test_lazy_updates_that_leave_something_out_say_so_once(name, settings, warns, stype):
    if (stype, settings.get("lazy_update")) == ("default", "exact"):
        pytest.skip("a dense weight has no rows that wait")
    found, weight = steps(mx.optimizer.create(name, **settings), stype)
    assert len(found) == warns
    assert steps(mx.optimizer.create(name, **settings), stype, "default")[0] == []
    if warns:
        assert found[0].filename == __file__
        assert "updater(0, gradient, weight)" in inspect.getsource(steps).splitlines()[found[0].lineno - steps_begin()]
        _, standard = steps(mx.optimizer.create(name, **{**settings, "lazy_update": False}), stype)
        missed = "averages" in str(found[0].message) or "momentum" in str(found[0].message)
        assert missed or (weight.asnumpy() != standard.asnumpy()).any()


def steps_begin():
    return inspect.getsourcelines(steps)[1]


def test_the_message_names_what_is_left_out_and_the_remedy():
    text = str(steps(mx.optimizer.SGD(momentum=0.9, wd=0.1))[0][0].message)
    assert text.startswith("Optimizer with lazy_update = True detected. Be aware that lazy update with row_sparse gradient is "
                           "different from standard update, and may lead to different empirical results")
    assert "SGD leaves out the momentum and weight decay of rows without a gradient" in text
    assert "lazy_update=False" in text
    assert "lazy_update='exact' gives" in text
    assert "SGD and AdamW have lazy_update='exact'" in str(steps(mx.optimizer.Adam())[0][0].message)


def test_it_is_said_once_and_not_where_there_is_no_program_of_the_users(monkeypatch):
    monkeypatch.setattr(module, "_told", [])
    monkeypatch.setattr(module, "user_frame", lambda of_program: None)
    assert steps(mx.optimizer.Adam(), anew=False)[0] == []
    monkeypatch.undo()
    monkeypatch.setattr(module, "_told", [])
    assert [len(steps(made, anew=False)[0]) for made in (mx.optimizer.Adam(), mx.optimizer.SGD(momentum=0.9))] == [1, 0]
