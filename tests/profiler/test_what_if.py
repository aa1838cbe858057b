"""What a changed model would take, against what the changed model took."""

from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ProfilerError, UnknownNameError

GOLDEN = Path(__file__).parents[1] / "golden"
FEATURES, UNITS, STORED = 2000, 16, 5


def batches(rows, dtype="float32", index_dtype="int64", count=3):
    """CSR batches with the same number of stored values in each row, and no column in two rows."""
    for number in range(count):
        columns = (np.arange(rows * STORED) * 7 + number) % FEATURES
        columns = np.sort(columns.reshape(rows, STORED), axis=1).ravel()
        yield mx.nd.sparse.csr_matrix((np.ones(rows * STORED, dtype), columns, np.arange(rows + 1) * STORED),
                                      shape=(rows, FEATURES), dtype=dtype, index_dtype=index_dtype)


class Layer(mx.gluon.HybridBlock):
    def __init__(self, grad_stype, dtype):
        super().__init__(prefix="layer_")
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(FEATURES, UNITS), grad_stype=grad_stype, dtype=dtype)

    def hybrid_forward(self, F, x, weight):
        return F.sparse.dot(x, weight)


def train(rows=10, dtype="float32", index_dtype="int64", gradient="default"):
    """Profile three steps of a model that has been trained before."""
    net = Layer(gradient, dtype)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})

    def step(batch):
        with mx.autograd.record():
            loss = net(batch)
        loss.backward()
        trainer.step(rows)

    for batch in batches(rows, dtype, index_dtype):
        step(batch)
    with mx.Profiler() as prof:
        for batch in batches(rows, dtype, index_dtype):
            step(batch)
    return prof


@pytest.fixture(scope="module")
def plain():
    return train()


def test_without_a_change_the_replayed_peak_is_the_peak(plain):
    same = plain.what_if()
    assert same.before == same.after == plain.memory["peak_bytes"]
    assert sum(row["before"] for row in same.rows) == same.before
    assert repr(same).splitlines()[-1].endswith("exactly.")


@pytest.mark.parametrize("change", [{"index_dtype": "int32"}, {"value_dtype": "float64"}, {"batch_size": 20}, {"batch_size": 5},
                                    {"index_dtype": "int32", "batch_size": 30}])
def test_the_answer_is_what_the_changed_model_takes(plain, change):
    asked = plain.what_if(**change)
    names = {"index_dtype": "index_dtype", "value_dtype": "dtype", "batch_size": "rows"}
    ran = train(**{names[name]: value for name, value in change.items()})
    assert asked.after == ran.memory["peak_bytes"]
    assert asked.after != asked.before


def test_a_row_sparse_gradient_is_foretold_from_the_rows_that_a_batch_reaches(plain):
    asked = plain.what_if(gradient="row_sparse", rows=10 * STORED)
    ran = train(gradient="row_sparse")
    assert ran.gradient_rows["layer_weight"] == 10 * STORED
    found = {row["role"]: row["after"] for row in asked.rows}
    gradient = sum(row["bytes"] for row in ran.memory["at_peak"] if row["role"] == "gradient")
    assert found["gradient"] == 10 * STORED * (UNITS * 4 + 8)
    assert gradient in (found["gradient"], 2 * found["gradient"])
    # While a new gradient is handed over, the old one is still there: the foretold peak leaves that out.
    assert 0 <= ran.memory["peak_bytes"] - asked.after <= gradient + 10 * UNITS * 4


def test_lazy_state_counts_the_rows_and_says_what_it_leaves_out():
    asked = train(gradient="row_sparse").what_if(lazy_state=True)
    found = {row["role"]: (row["before"], row["after"]) for row in asked.rows}
    assert found["optimizer state"] == (FEATURES * UNITS * 4, 10 * STORED * (UNITS * 4 + 8))
    assert "other batches" in asked.notes[0]
    assert asked.saved == asked.before - asked.after > 0


def test_lazy_state_leaves_that_of_dense_gradients_alone():
    net = mx.gluon.nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(8, in_units=FEATURES, weight_grad_stype="row_sparse"), mx.gluon.nn.Dense(1, in_units=8))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    (batch,) = batches(10, count=1)
    with mx.Profiler() as prof:
        with mx.autograd.record():
            loss = net(batch)
        loss.backward()
        trainer.step(10)
    asked = prof.what_if(lazy_state=True)
    found = {row["owner"]: (row["before"], row["after"]) for row in asked.rows if row["role"] == "optimizer state"}
    assert found["net_dense0_weight"] == (2 * FEATURES * 8 * 4, 2 * 10 * STORED * (8 * 4 + 8))
    assert found["net_dense1_weight"] == (2 * 8 * 4, 2 * 8 * 4)
    assert "net_dense1_weight, whose gradient is dense, keeps its whole state" in asked.notes


def test_where_the_library_itself_would_work_otherwise_the_answer_says_so(plain):
    assert plain.what_if(value_dtype="float64").notes == []
    assert "64 KiB" in plain.what_if(value_dtype="float16").notes[0]


def looked_up(sparse_grad):
    """Profile an embedding: nothing but its gradient says how many rows a batch reaches."""
    net = mx.gluon.nn.Embedding(3000, 16, sparse_grad=sparse_grad)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    numbers = mx.nd.arange(60)
    with mx.Profiler() as prof:
        for _ in range(2):
            with mx.autograd.record():
                loss = net(numbers).sum()
            loss.backward()
            trainer.step(1)
    return prof


@pytest.mark.parametrize(("change", "error", "match"), [
    ({"index_dtype": "int16"}, UnknownNameError, "int32"), ({"value_dtype": "int8"}, UnknownNameError, "float16"),
    ({"gradient": "csr"}, UnknownNameError, "row_sparse"),
    ({"batch_size": 0}, ProfilerError, "batch_size must be an integer of at least 1, got 0")])
def test_what_cannot_be_meant_is_an_error(plain, change, error, match):
    with pytest.raises(error, match=match):
        plain.what_if(**change)


@pytest.mark.parametrize("change", [{"gradient": "row_sparse"}, {"lazy_state": True}], ids=str)
def test_rows_are_bounded_by_a_csr_batch_and_must_be_said_where_there_is_none(plain, change):
    asked = plain.what_if(**change)
    assert asked.after == plain.what_if(**change, rows=10 * STORED).after < asked.before
    assert "the rows of layer_weight that a batch touches are bounded by its stored values" in asked.notes
    with pytest.raises(ProfilerError, match="rows="):
        looked_up(False).what_if(**change)


def test_a_parameter_of_unknown_rows_does_not_change_beside_others():
    net = mx.gluon.nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(8, in_units=FEATURES), mx.gluon.nn.Dense(30, in_units=8))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    with mx.Profiler() as prof:
        for batch in batches(10):
            with mx.autograd.record():
                loss = net(batch)
            loss.backward()
            trainer.step(10)
    asked = prof.what_if(gradient="row_sparse", rows={"net_dense0_weight": 5})
    found = {row["owner"]: (row["before"], row["after"]) for row in asked.rows if row["role"] == "gradient"}
    assert found["net_dense1_weight"][0] == found["net_dense1_weight"][1]
    assert any(note.startswith("net_dense1_weight does not change") for note in asked.notes)


def test_only_a_profile_of_one_process_of_ours_has_the_lifetime_of_each_array(plain, tmp_path):
    plain.save(tmp_path / "run.npz")
    assert mx.profiler.load(tmp_path / "run.npz").what_if(index_dtype="int32").after == plain.what_if(index_dtype="int32").after
    for other in (mx.profiler.merge([plain]), mx.profiler.load(GOLDEN / "trace_torch.json")):
        with pytest.raises(ProfilerError, match="lifetime of each array"):
            other.what_if(index_dtype="int32")


def test_the_peak_moves_where_a_choice_makes_another_moment_the_highest():
    wide, held = mx.nd.sparse.csr_matrix(np.eye(4000, dtype="float32")), mx.nd.ones((90, 100))
    with mx.Profiler() as prof:
        indexed = wide.tostype("csr")   # 4,000 values and 8,001 indices
        del indexed
        held.copy()                     # twice 9,000 values
    asked = prof.what_if(index_dtype="int32", value_dtype="float64")
    csr, dense = 4000 * 8 + 8001 * 4, 90 * 100 * 8
    assert (asked.before, asked.after) == (2 * (4000 * 4 + 8001 * 8), csr + 2 * dense)


def test_working_memory_of_a_gradient_shrinks_with_it_and_that_is_said():
    foretold, measured = looked_up(False).what_if(gradient="row_sparse", rows=60), looked_up(True).memory["peak_bytes"]
    assert foretold.after == pytest.approx(measured, rel=0.03)
    assert "working memory with the shape of a gradient" in foretold.summary()
