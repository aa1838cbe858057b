"""Each rule on a run that breaks it, and on one that does not."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.profiler import Profile, Profiler
from sparsekit.profiler.advice import LESSONS, RULES
from sparsekit.profiler.columns import Ragged
from sparsekit.profiler.stored import Stored

from .planted import Linear

ROOT = Path(__file__).parents[2]
FEATURES, UNITS = 5000, 8


def batch(dtype="float32", index_dtype="int64", stored=3, rows=4, features=FEATURES):
    columns = np.sort(np.random.default_rng(0).permutation(features)[: stored * rows].reshape(rows, stored), axis=1).ravel()
    return mx.nd.sparse.csr_matrix((np.ones(stored * rows, dtype), columns, np.arange(rows + 1) * stored),
                                   shape=(rows, features), index_dtype=index_dtype)


def rules(prof):
    return {finding.rule: finding for finding in prof.advice()}


def train(grad_stype, data, features=FEATURES, dtype="float32", **settings):
    net = Linear(None, grad_stype, features, UNITS, dtype)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, **settings})
    with Profiler() as prof:
        with mx.autograd.record():
            loss = net(data)
        loss.backward()
        trainer.step(4)
    return prof


@pytest.mark.parametrize("line", [lambda x: mx.nd.log(1 + x), lambda x: x.tostype("default")])
def test_no_layer_is_told_to_take_the_gradient_that_it_has(line):
    """A batch that became dense gives a dense gradient, which is row-sparse only when it is kept."""
    net = mx.gluon.nn.Dense(UNITS, in_units=FEATURES, weight_grad_stype="row_sparse")
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with Profiler() as prof:
        for _ in range(2):
            data = batch()
            with mx.autograd.record():
                loss = net(line(data))
            loss.backward()
            trainer.step(4)
    found = [finding.remedy for finding in prof.advice() if finding.rule == "dense_gradient"]
    assert found
    for remedy in found:
        assert "already" in remedy
        assert "keep the batch csr" in remedy
    assert not any("Give the weight" in finding.remedy or "Make the layer" in finding.remedy for finding in prof.advice())


def dense_layer(weight_grad_stype, steps=1, rows=4, activation=None, hybridize=False):
    """Profile a fully connected layer on csr batches that store other numbers of values each."""
    net = mx.gluon.nn.Dense(UNITS, in_units=FEATURES, weight_grad_stype=weight_grad_stype, activation=activation)
    net.initialize()
    net.hybridize(hybridize)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with Profiler() as prof:
        for step in range(steps):
            data = batch(stored=3 + step, rows=rows)
            with mx.autograd.record():
                loss = net(data)
            loss.backward()
            trainer.step(4)
    return prof


@pytest.mark.parametrize(("activation", "hybridize"), [(None, False), ("relu", False), (None, True), ("relu", True)])
def test_a_dense_gradient_of_a_fully_connected_layer_and_its_remedy(activation, hybridize):
    prof = dense_layer("default", activation=activation, hybridize=hybridize)
    found = rules(prof)["dense_gradient"]
    assert f"{UNITS}×{FEATURES}, and a batch touches at most 12 of its columns" in found.reason
    assert "weight_grad_stype='row_sparse'" in found.remedy
    assert found.amount == FEATURES * UNITS * 4 - 12 * (UNITS * 4 + 8)
    mended = dense_layer("row_sparse", activation=activation, hybridize=hybridize)
    assert "dense_gradient" not in rules(mended)
    gradient = {name: sum(row["bytes"] for row in one.memory["at_peak"] if row["role"] == "gradient" and "weight" in row["owner"])
                for name, one in (("dense", prof), ("row_sparse", mended))}
    assert gradient["dense"] - gradient["row_sparse"] >= found.amount


def test_the_same_thing_in_each_step_is_one_finding_with_the_range_of_its_figures():
    prof = dense_layer("default", steps=12)
    (found,) = [finding for finding in prof.advice() if finding.rule == "dense_gradient"]
    assert found.times == 12
    assert "at most 12 to 56 of its columns" in found.reason
    assert found.amount == FEATURES * UNITS * 4 - 12 * (UNITS * 4 + 8)
    assert found.event["node"] == min(record["node"] for record in prof.records if record["node"] is not None)


def test_two_weights_on_one_line_are_two_findings():
    weights = [mx.nd.ones((FEATURES, units)) for units in (8, 16)]
    for weight in weights:
        weight.attach_grad()
    with Profiler() as prof:
        for step in range(3):
            data = batch(stored=3 + step)
            with mx.autograd.record():
                loss = [mx.nd.dot(data, weight) for weight in weights]
            mx.autograd.backward(loss)
    found = [finding for finding in prof.advice() if finding.rule == "dense_gradient"]
    assert sorted(finding.times for finding in found) == [3, 3]


def test_an_update_of_all_rows_for_a_few():
    found = rules(train("row_sparse", batch(), lazy_update=False, wd=0.1))["eager_update"]
    rows = found.event["inputs"][1]["rows"]
    assert found.amount == pytest.approx(2 * (FEATURES - rows) * UNITS * 4, abs=UNITS * 4)  # read and written
    assert "eager_update" not in rules(train("row_sparse", batch(), lazy_update=True, wd=0.1))
    assert "eager_update" not in rules(train("row_sparse", batch(), lazy_update=False))  # without decay it visits the same rows


def test_a_large_array_that_an_operator_makes_inside():
    with mx.config.set(densify="allow"), Profiler() as prof:
        mx.nd.dot(mx.nd.ones((300, 20)), mx.nd.ones((20, 300)), forward_stype="csr")
    assert rules(prof)["temporaries"].amount == 300 * 300 * 4


def test_small_temporaries_and_those_far_below_the_peak_are_not_told():
    for held, side in (1, 100), (4_000_000, 300):
        with mx.config.set(densify="allow"), Profiler() as prof:
            kept = mx.nd.zeros((held,))
            mx.nd.dot(mx.nd.ones((side, 20)), mx.nd.ones((20, side)), forward_stype="csr")
        assert prof.memory["temporaries"][0]["most"] == side * side * 4
        assert "temporaries" not in rules(prof)
        del kept


def test_a_result_that_is_dense_by_nature():
    data = batch(features=50_000)
    with Profiler() as prof:
        made = mx.nd.log(1 + data)
    found = rules(prof)["dense_by_nature"]
    assert (made.stype, prof._densified_by_kind) == ("default", {"fallback": 0, "dense by nature": 1})
    assert found.where.startswith("_plus_scalar (forward) at test_advice.py:")
    assert found.amount == made._store.nbytes - data.nbytes
    with Profiler() as prof:
        mx.nd.log1p(data)
        1 + batch(features=500)
    assert "dense_by_nature" not in rules(prof)


def span(name, lane, microseconds, **args):
    end = time.perf_counter_ns()
    hooks.sink.span(name, lane, end - microseconds * 1000, end, args)


@pytest.mark.parametrize(("lane", "rule"), [("compile", "compilation"), ("io", "reading")])
def test_time_that_goes_elsewhere(lane, rule, clock):
    with Profiler() as prof:
        clock.sleep(0.03)
        span("something", lane, 25_000)
    assert rules(prof)[rule].event["name"] == "something"
    with Profiler() as prof:
        clock.sleep(0.03)
        span("something", lane, 10)
    assert rule not in rules(prof)


def lesson(rule):
    """The text and the code of the section that teaches a rule's remedy."""
    path, _, anchor = LESSONS[rule].partition("#")
    sections = {}
    name = ""
    for cell in json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]:
        for line in "".join(cell["source"]).splitlines():
            if cell["cell_type"] == "markdown" and line.startswith("#"):
                name = line.lstrip("# ").replace("`", "").replace(" ", "-")
            sections.setdefault(name, []).append(line)
    assert anchor in sections, f"{path} has no such section"
    return "\n".join(sections[anchor])


#: What a lesson must mention to teach the remedy.
TAUGHT = {"zero_rows": "sparse=True", "masked_product": "nonzero rows", "whole_softmax": "nonzero rows",
          "zero_operand": "to_sparse_csr()",
          "became_dense": "ledger", "dense_by_nature": "log1p", "dense_gradient": "weight_grad_stype='row_sparse'",
          "full_rows": "grad_stype='default'", "eager_update": "lazy_update", "wide_indices": "index_dtype='int32'",
          "hardly_sparse": "density", "double_precision": "net.cast('float32')", "repeated_conversion": "before the loop",
          "temporaries": "temporaries", "compilation": "kernels.warm()", "reading": "load_libsvm",
          "between_operators": "hybridize()", "repeated_transfer": "before the loop", "repeated_read": "asnumpy"}


@pytest.mark.parametrize("rule", sorted(TAUGHT))
def test_the_lesson_of_each_rule_teaches_its_remedy(rule):
    assert TAUGHT[rule] in lesson(rule)


def test_there_are_a_dozen_rules_and_each_has_a_lesson():
    assert len(RULES) >= 12
    assert {rule.name for rule in RULES} == set(LESSONS) == set(TAUGHT)
    assert len({path.partition("#")[0] for path in LESSONS.values()}) >= 7


def test_advice_shows_itself_and_nothing_to_say_says_so():
    found = train("default", batch()).advice()
    bundle = found._repr_mimebundle_()
    assert "grad_stype='row_sparse'" in bundle["text/plain"]
    assert "<table" in bundle["text/html"]
    with Profiler() as prof:
        pass
    assert repr(prof.advice()) == "No advice: no operator was recorded that a rule could read."
    with Profiler() as prof:
        mx.nd.ones((2, 3)) + 1
    assert repr(prof.advice()) == f"No advice: {len(RULES)} rules were checked."
    assert prof.advice()._repr_mimebundle_()["text/html"]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """The document of a trace in which most rules have something to say, and a place to write it to."""
    net = Linear(features=500)
    dense = mx.gluon.nn.Dense(UNITS, in_units=FEATURES)
    for block in (net, dense):
        block.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"lazy_update": False})
    with mx.config.set(densify="allow"), Profiler() as prof:
        for data, block in ((batch(stored=100, features=500), net), (batch(features=500), net), (batch(), dense)):
            with mx.autograd.record():
                loss = block(data)
            loss.backward()
        trainer.step(4)
        mx.nd.sigmoid(batch(rows=8))
        1 + batch(features=50_000)
        for _ in range(4):
            mx.nd.ones((100, 100)).tostype("csr")
            span("copy cpu(0) -> gpu(0)", "transfer", 5, bytes=100_000)
        span("compile", "compile", 15_000)
        span("read", "io", 15_000)
    return prof.tables, tmp_path_factory.mktemp("damaged") / "run.npz"


@pytest.mark.parametrize(("shape", "more"), [
    ([], {}), ([0, 8], {}), (None, {"components": [], "sizes": []}), ([10**18, 10**18, 2], {"rows": 10**17})],
    ids=["no axes", "no rows", "no components", "huge"])
def test_each_rule_bears_arrays_that_cannot_be(damaged, shape, more):
    columns, _ = damaged
    count = len(columns.arrays)
    lists = {name: Ragged(np.tile(np.array(value, np.int64), count), np.arange(1, count + 1) * len(value))
             for name, value in (("shape", shape), *more.items()) if isinstance(value, list)}
    rows = np.full(count, more.get("rows", -1))
    loaded = Profile(Stored(columns.changed({"arrays": {**lists, "rows": rows}})))
    assert repr(loaded.advice())
