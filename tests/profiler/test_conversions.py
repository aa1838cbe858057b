"""Which operators read what a conversion made dense: the record of each has the number of the conversion."""

import numpy as np
import pytest

import sparsekit as mx


@pytest.fixture
def x():
    return mx.nd.array(np.eye(8, 40, dtype="float32")).tostype("csr")


@pytest.fixture(autouse=True)
def silent():
    with mx.config.set(densify="allow"):
        yield


def readers(prof):
    """By the name of each conversion: the operators that read what it made."""
    columns, found = prof.tables, {}
    names = columns.texts(columns.kinds.name[columns.events.kind])
    for event, source in enumerate(columns.events.conversion.tolist()):
        if source >= 0:
            readers_of = found.setdefault(names[source], [])
            readers_of += [names[event]] if event != source else []
    return found


def recorded(program, *arrays):
    with mx.Profiler() as prof:
        program(*arrays)
    return prof


CASES = {"dense by nature": (lambda x: mx.nd.log(x + 1), {"_plus_scalar": ["log"]}),
         "a fallback": (lambda x: mx.nd.cos(x) * 2, {"cast_storage": [], "cos": ["_mul_scalar"]}),
         "asked for": (lambda x: x.tostype("default").sum(), {"cast_storage": ["sum"]}),
         "read twice": (lambda x: (lambda dense: (dense * 2, dense * 3))(x + 1),
                        {"_plus_scalar": ["_mul_scalar", "_mul_scalar"]}),
         "a view is read": (lambda x: (x + 1).reshape((40, 8)).sum(), {"_plus_scalar": ["_view", "sum"]}),
         "smaller results are another matter": (lambda x: (x + 1).sum(axis=0) * 2, {"_plus_scalar": ["sum"]}),
         "nothing became dense": (lambda x: (x * 2).sum(), {}), "dense from the start": (lambda x: mx.nd.ones((8, 40)) + 1, {})}


@pytest.mark.parametrize("case", CASES)
def test_readers_of_what_became_dense(x, case):
    program, expected = CASES[case]
    assert readers(recorded(program, x)) == expected


def test_memory_that_other_values_were_written_to_is_no_conversion(x):
    def program():
        kept = mx.nd.zeros((8, 40))
        mx.nd.cast_storage(x, "default", out=kept)
        mx.nd.exp(mx.nd.ones((8, 40)), out=kept)
        mx.nd.log(kept)

    assert readers(recorded(program))["cast_storage"] == []


def test_a_gradient_that_reads_the_dense_array_is_a_reader(x):
    weight = mx.nd.ones((40, 2))
    weight.attach_grad()

    def program():
        with mx.autograd.record():
            loss = mx.nd.dot(mx.nd.log(x + 1), weight)
        loss.backward()

    found = readers(recorded(program))["_plus_scalar"]
    assert found[:2] == ["log", "dot"]
    assert len(found) > 2


def test_events_that_are_not_folded_keep_them(x):
    with mx.Profiler(capacity=10) as prof:
        for _ in range(30):
            mx.nd.log(x + 1)
    assert len(prof.records) <= 10
    assert set(readers(prof)) == {"_plus_scalar"}


def test_what_is_computed_from_a_dense_one_says_where_it_came_from(x):
    with mx.Profiler():
        made = x + 1
        found = (mx.nd.ones((8, 40)) * made).why_dense()
        unknown = mx.nd.array(np.ones((8, 40))) * mx.nd.ones((8, 40))
    assert (found.kind, found.op, found.source, found.shape) == ("dense by nature", "_plus_scalar", "csr", (8, 40))
    assert unknown.why_dense().kind == "unknown"  # one of the two was there before
