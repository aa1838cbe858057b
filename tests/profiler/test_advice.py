"""Each rule on a run that breaks it, and on one that does not."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.profiler import Profiler
from sparsekit.profiler.advice import LESSONS, RULES

ROOT = Path(__file__).parents[2]
FEATURES, UNITS = 5000, 8


def batch(dtype="float32", index_dtype="int64", stored=3, rows=4, features=FEATURES):
    columns = np.sort(np.random.default_rng(0).permutation(features)[: stored * rows].reshape(rows, stored), axis=1).ravel()
    return mx.nd.sparse.csr_matrix((np.ones(stored * rows, dtype), columns, np.arange(rows + 1) * stored),
                                   shape=(rows, features), index_dtype=index_dtype)


def rules(prof):
    return {finding.rule: finding for finding in prof.advice()}


class Layer(mx.gluon.HybridBlock):
    def __init__(self, grad_stype, features=FEATURES, dtype="float32"):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(features, UNITS), grad_stype=grad_stype, dtype=dtype)

    def hybrid_forward(self, F, x, weight):
        return F.sparse.dot(x, weight)


def train(grad_stype, data, features=FEATURES, dtype="float32", **settings):
    net = Layer(grad_stype, features, dtype)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, **settings})
    with Profiler() as prof:
        with mx.autograd.record():
            loss = net(data)
        loss.backward()
        trainer.step(4)
    return prof


def test_a_dense_gradient_of_a_sparse_layer():
    found = rules(train("default", batch()))["dense_gradient"]
    assert "at most 12 of its rows" in found.reason
    assert found.event["lane"] == "backward"
    assert "test_advice.py:" in found.where
    assert found.amount == FEATURES * UNITS * 4 - 12 * (UNITS * 4 + 8)
    assert "dense_gradient" not in rules(train("row_sparse", batch()))


def test_an_update_of_all_rows_for_a_few():
    assert "eager_update" in rules(train("row_sparse", batch(), lazy_update=False))
    assert "eager_update" not in rules(train("row_sparse", batch(), lazy_update=True))


def test_a_row_sparse_gradient_of_most_rows():
    data = batch(stored=100, rows=4, features=500)
    assert "full_rows" in rules(train("row_sparse", data, features=500))
    assert "full_rows" not in rules(train("row_sparse", batch()))


def test_double_precision():
    found = rules(train("default", batch("float64"), dtype="float64"))["double_precision"]
    assert found.amount == FEATURES * UNITS * 4
    assert "double_precision" not in rules(train("default", batch()))


def test_wide_indices_and_a_format_that_does_not_pay():
    wide = batch(stored=500)
    with Profiler() as prof:
        mx.nd.sum(wide, axis=1)
    assert "int32" in rules(prof)["wide_indices"].reason
    with Profiler() as prof:
        mx.nd.sum(batch(stored=500, index_dtype="int32"), axis=1)
    assert "wide_indices" not in rules(prof)
    with Profiler() as prof:
        mx.nd.sum(batch(stored=900, features=4000), axis=1)
    assert "hardly_sparse" not in rules(prof)
    with Profiler() as prof:
        mx.nd.sum(mx.nd.ones((40, 50)).tostype("csr"), axis=1)
    assert rules(prof)["hardly_sparse"].amount > 0


def test_an_array_that_became_dense_and_what_it_made_inside():
    data = batch(rows=8)
    with mx.config.set(densify="allow"), Profiler() as prof:
        for _ in range(2):
            mx.nd.sigmoid(data)
    found = rules(prof)
    assert found["became_dense"].times == 2
    assert found["became_dense"].remedy
    assert found["temporaries"].amount >= 8 * FEATURES * 4


def test_a_result_that_is_dense_by_nature():
    data = batch(features=50_000)
    with Profiler() as prof:
        made = mx.nd.log(1 + data)
    found = rules(prof)["dense_by_nature"]
    assert (made.stype, prof.densified) == ("default", 0)
    assert found.where.startswith("_plus_scalar (forward) at test_advice.py:")
    assert found.amount == made._store.nbytes - data.nbytes
    with Profiler() as prof:
        mx.nd.log1p(data)
        1 + batch(features=500)
    assert "dense_by_nature" not in rules(prof)


def test_a_conversion_in_a_loop():
    data = mx.nd.ones((100, 100))
    with Profiler() as prof:
        for _ in range(4):
            data.tostype("csr")
    assert "4 times" in rules(prof)["repeated_conversion"].reason
    with Profiler() as prof:
        data.tostype("csr")
    assert "repeated_conversion" not in rules(prof)


def span(name, lane, microseconds, **args):
    end = time.perf_counter_ns()
    hooks.sink.span(name, lane, end - microseconds * 1000, end, args)


@pytest.mark.parametrize(("lane", "rule"), [("compile", "compilation"), ("io", "reading")])
def test_time_that_goes_elsewhere(lane, rule):
    with Profiler() as prof:
        time.sleep(0.03)
        span("something", lane, 25_000)
    assert rules(prof)[rule].event["name"] == "something"
    with Profiler() as prof:
        time.sleep(0.03)
        span("something", lane, 10)
    assert rule not in rules(prof)


def test_python_between_operators():
    left = mx.nd.ones((2, 2))
    with Profiler() as prof:
        for _ in range(120):
            left + 1
            time.sleep(0.0002)
    assert "hybridize" in rules(prof)["between_operators"].remedy


def test_equal_transfers():
    with Profiler() as prof:
        for _ in range(3):
            span("copy cpu(0) -> gpu(0)", "transfer", 5, bytes=100_000)
    assert rules(prof)["repeated_transfer"].amount == 200_000
    assert prof.transfers().rows[0]["bytes"] == 300_000


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
TAUGHT = {"became_dense": "ledger", "dense_by_nature": "log1p", "dense_gradient": "weight_grad_stype='row_sparse'",
          "full_rows": "grad_stype='default'", "eager_update": "lazy_update", "wide_indices": "index_dtype='int32'",
          "hardly_sparse": "density", "double_precision": "net.cast('float32')", "repeated_conversion": "before the loop",
          "temporaries": "temporaries", "compilation": "kernels.warm()", "reading": "load_libsvm",
          "between_operators": "hybridize()", "repeated_transfer": "before the loop"}


@pytest.mark.parametrize("rule", sorted(TAUGHT))
def test_the_lesson_of_each_rule_teaches_its_remedy(rule):
    assert TAUGHT[rule] in lesson(rule)


def test_there_are_a_dozen_rules_and_each_has_a_lesson():
    assert len(RULES) >= 12
    assert {rule.__name__.lstrip("_") for rule in RULES} == set(LESSONS) == set(TAUGHT)
    assert len({path.partition("#")[0] for path in LESSONS.values()}) >= 7


def test_advice_shows_itself_and_nothing_to_say_says_so():
    found = train("default", batch()).advice()
    bundle = found._repr_mimebundle_()
    assert "grad_stype='row_sparse'" in bundle["text/plain"]
    assert "<table" in bundle["text/html"]
    with Profiler() as prof:
        pass
    assert repr(prof.advice()) == f"Nothing to advise: {len(RULES)} rules were asked."
    assert prof.advice()._repr_mimebundle_()["text/html"]
