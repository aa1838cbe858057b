"""What a changed model would take, beside runs of the changed model, to the byte."""

from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ProfilerError, UnknownNameError

GOLDEN = Path(__file__).parents[1] / "golden"
FEATURES, ROWS, STORED, UNITS = 3000, 120, 6, 32


def matrix(spread=False, dtype="float32", index_dtype="int64"):
    """CSR data; ``spread`` has as many values in each row, no column twice within any 60 rows."""
    if spread:
        columns = np.arange(ROWS * STORED) * 7 % FEATURES
    else:
        draw = np.random.default_rng(1)
        columns = np.concatenate([draw.choice(FEATURES, STORED, replace=False) for _ in range(ROWS)])
    columns = np.sort(columns.reshape(ROWS, STORED), axis=1).ravel()
    return mx.nd.sparse.csr_matrix((np.ones(ROWS * STORED, dtype), columns, np.arange(ROWS + 1) * STORED),
                                   shape=(ROWS, FEATURES), dtype=dtype, index_dtype=index_dtype)


class Product(mx.gluon.HybridBlock):
    """A csr layer; ``uses`` of its weight."""

    def __init__(self, grad_stype, units=UNITS, uses=1):
        super().__init__(prefix="layer_")
        self.uses = uses
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(FEATURES, units), grad_stype=grad_stype)

    def hybrid_forward(self, F, x, weight):
        made = F.dot(x, weight)
        return made if self.uses == 1 else made + F.dot(F.sqrt(x), weight)


def deep(grad_stype):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(Product(grad_stype), mx.gluon.nn.Activation("relu"), mx.gluon.nn.Dense(300, in_units=UNITS, activation="relu"),
                mx.gluon.nn.Dense(1, in_units=300))
    return net


def embedding(grad_stype):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Embedding(FEATURES, UNITS, sparse_grad=grad_stype == "row_sparse"))
    return net


MODELS = {"product": Product, "deep": deep, "embedding": embedding, "small": lambda grad_stype: Product(grad_stype, 4),
          "two uses": lambda grad_stype: Product(grad_stype, uses=2)}


def train(model="product", grad_stype="row_sparse", optimizer="sgd", rows=30, hybridize=False, warm=False, inside=False,
          grad_req="write", data=None, dtype="float32", **settings):
    """Profile an epoch over batches that are slices of the data."""
    net = MODELS[model](grad_stype)
    net.cast(dtype)
    if data is None:
        data = mx.nd.array(np.arange(ROWS * 5).reshape(ROWS, 5) % FEATURES) if model == "embedding" else matrix()
    labels = mx.nd.ones((ROWS, 1), dtype=dtype)

    def begin():
        net.initialize()
        net.hybridize(hybridize)
        net.collect_params().setattr("grad_req", grad_req)
        return mx.gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1, **settings})

    def epoch(trainer):
        for start in range(0, ROWS, rows):
            with mx.autograd.record():
                out = net(data[start:start + rows])
                loss = mx.nd.square(mx.nd.sum(out, axis=tuple(range(1, out.ndim))) - labels[start:start + rows].reshape((-1,)))
            loss.backward()
            trainer.step(rows)

    trainer = None if inside else begin()
    if warm:
        epoch(trainer)
    with mx.Profiler() as prof:
        epoch(begin() if inside else trainer)
    return prof


SETTINGS = [{}, {"hybridize": True}, {"warm": True}, {"inside": True}, {"optimizer": "adam"},
            {"optimizer": "adam", "hybridize": True, "warm": True}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("model", ["product", "deep"])
def test_dense_gradients_that_products_write_in_place_are_foretold_exactly(model, settings):
    asked = train(model, "row_sparse", **settings).what_if(gradient="default")
    assert asked.after == train(model, "default", **settings).memory["peak_bytes"]
    assert asked.notes == []
    assert asked.summary().endswith("exactly.")
    gradient = sum(row["after"] for row in asked.rows if row["role"] == "gradient" and "layer_weight" in row["owner"])
    assert gradient == FEATURES * UNITS * 4
    assert sum(row["after"] for row in asked.rows) == asked.after


@pytest.mark.parametrize("settings", [{}, {"optimizer": "adam"}, {"hybridize": True}, {"grad_req": "add"}], ids=str)
@pytest.mark.parametrize("model", ["embedding", "small", "two uses"])
def test_where_a_gradient_is_computed_apart_the_answer_says_that_it_is_not_exact(model, settings):
    asked = train(model, "row_sparse", **settings).what_if(gradient="default")
    real = train(model, "default", **settings).memory["peak_bytes"]
    assert asked.after == pytest.approx(real, rel=0.25)
    assert any("computed separately" in note for note in asked.notes)
    assert "exactly" not in asked.summary()


@pytest.mark.parametrize("rows", [10, 15, 30, 60, 120])
@pytest.mark.parametrize("settings", [{}, {"optimizer": "adam"}, {"hybridize": True}, {"grad_stype": "default"},
                                      {"model": "embedding"}], ids=str)
def test_another_batch_is_foretold_exactly_where_batches_are_slices(rows, settings):
    data = None if "model" in settings else matrix(spread=True)
    asked = train(**settings, data=data).what_if(batch_size=rows)
    real = train(**settings, data=data, rows=rows)
    assert asked.batch == 30
    if rows == 30:
        assert asked.after == asked.before == real.memory["peak_bytes"]
        assert asked.summary().endswith("exactly.")
    elif rows < 60 or settings.get("grad_stype") == "default":
        assert asked.after == real.memory["peak_bytes"]
    else:  # only two batches, or one: no gradient is handed over while all is alive
        assert asked.after >= real.memory["peak_bytes"]
    assert f"batch_size={rows} instead of 30" in asked.summary()


def test_the_data_set_stays_as_it_is_even_if_the_batch_is_all_of_it():
    data = matrix()
    asked = train(rows=ROWS, data=data).what_if(batch_size=2 * ROWS)
    assert asked.batch == ROWS
    inputs = {row["role"]: (row["before"], row["after"]) for row in asked.rows if row["role"] == "input"}
    assert inputs["input"][0] == inputs["input"][1] == data.nbytes + ROWS * 4


def reader(kind, rows):
    dense = np.random.default_rng(0).random((ROWS, 40)).astype("float32")
    if kind == "whole":
        yield mx.nd.array(dense)
    elif kind == "slices":
        data = mx.nd.array(dense)
        yield from (data[start:start + rows] for start in range(0, ROWS, rows))
    elif kind == "chosen":
        data = mx.nd.array(dense)
        yield from (data.take(mx.nd.arange(start, start + rows)) for start in range(0, ROWS, rows))
    elif kind == "iterator":
        yield from (batch.data[0] for batch in mx.io.NDArrayIter(mx.nd.array(dense), batch_size=rows))
    elif kind == "loader":
        yield from mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.array(dense)), batch_size=rows)
    else:
        yield from (mx.nd.array(dense[start:start + rows]) for start in range(0, ROWS, rows))


@pytest.mark.parametrize("kind", ["slices", "chosen", "iterator", "loader", "made", "whole"])
def test_the_batch_is_found_however_it_was_read(kind):
    net = mx.gluon.nn.Dense(3, in_units=40)
    net.initialize()
    with mx.Profiler() as prof:
        for batch in reader(kind, 24):
            with mx.autograd.record():
                loss = net(batch).sum()
            loss.backward()
    assert prof.what_if(batch_size=7).batch == (ROWS if kind == "whole" else 24)


def test_results_of_another_length_are_said_to_stay():
    data = mx.nd.ones((30, 8))
    with mx.Profiler() as prof:
        for start in range(0, 30, 10):
            mx.nd.square(data[start:start + 10]).reshape((-1,)).exp()
    assert any("length differs" in note for note in prof.what_if(batch_size=20).notes)
    assert not any("length differs" in note for note in prof.what_if(batch_size=10).notes)


# Which parameters


@pytest.fixture(scope="module")
def dense_deep():
    return train("deep", "default", data=matrix(spread=True))


def named(prof, part):
    return next(row["owner"] for row in prof.memory["at_peak"] if row["role"] == "parameter" and part in row["owner"])


def test_the_gradient_of_one_parameter_can_be_changed(dense_deep):
    layer, other = named(dense_deep, "layer_weight"), named(dense_deep, "dense0_weight")
    for more in ({}, {"rows": 30 * STORED}, {"rows": {layer: 30 * STORED}}):
        asked = dense_deep.what_if(gradient={layer: "row_sparse"}, **more)
        found = {row["owner"]: (row["before"], row["after"]) for row in asked.rows if row["role"] == "gradient"}
        assert found[layer] == (FEATURES * UNITS * 4, 30 * STORED * (UNITS * 4 + 8))
        assert found[other][0] == found[other][1] > 0
        assert not any(other in note for note in asked.notes)
        assert repr({layer: "row_sparse"}) in asked.summary()
    real = train("deep", "row_sparse", data=matrix(spread=True)).memory["peak_bytes"]
    predecessor = 30 * STORED * (UNITS * 4 + 8)
    assert 0 <= real - asked.after <= predecessor
    assert any("previous row_sparse gradient" in note for note in asked.notes)


@pytest.mark.parametrize(("change", "error", "match"), [
    ({"index_dtype": "int16"}, UnknownNameError, "int32"), ({"value_dtype": "int8"}, UnknownNameError, "float16"),
    ({"gradient": "csr"}, UnknownNameError, "row_sparse"),
    ({"batch_size": 0}, ProfilerError, "batch_size must be an integer of at least 1, got 0"),
    ({"gradient": {"net_layer_wieght": "row_sparse"}}, UnknownNameError, "layer_weight"),
    ({"gradient": {"layer_weight": "csr"}}, UnknownNameError, "row_sparse"),
    ({"gradient": 3}, UnknownNameError, "row_sparse"),
    ({"gradient": "row_sparse", "rows": {"layer_wieght": 3}}, UnknownNameError, "layer_weight"),
    ({"gradient": "row_sparse", "rows": -1}, ProfilerError, "rows must be an integer of at least 0, got -1"),
    ({"gradient": "row_sparse", "rows": {"BIAS": 3}}, ProfilerError, "at least two axes"),
    ({"gradient": {"BIAS": "row_sparse"}}, ProfilerError, "at least two axes"),
    ({"gradient": "row_sparse", "rows": {"LAYER": -3}}, ProfilerError, "rows must be an integer of at least 0, got -3"),
    ({"gradient": "row_sparse", "rows": 2.5}, ProfilerError, "rows must be an integer of at least 0, got 2.5"),
    ({"gradient": "row_sparse", "rows": True}, ProfilerError, "rows must be an integer of at least 0, got True"),
    ({"gradient": {"OTHER": "row_sparse"}}, ProfilerError, "give rows="),
    ({"batch_size": True}, ProfilerError, "batch_size must be an integer of at least 1, got True")], ids=str)
def test_names_and_rows_that_cannot_be_are_errors(dense_deep, change, error, match):
    real = {"LAYER": named(dense_deep, "layer_weight"), "BIAS": named(dense_deep, "dense0_bias"),
            "OTHER": named(dense_deep, "dense1_weight")}
    change = {key: {real.get(name, name): value for name, value in given.items()} if isinstance(given, dict) else given
              for key, given in change.items()}
    with pytest.raises(error, match=match):
        dense_deep.what_if(**change)

# Element types, indices, and what an answer says


@pytest.fixture(scope="module")
def plain():
    return train("product", "default", warm=True, momentum=0.9, data=matrix(spread=True))


def test_without_a_change_the_replayed_peak_is_the_peak(plain):
    same = plain.what_if()
    assert same.before == same.after == plain.memory["peak_bytes"]
    assert sum(row["before"] for row in same.rows) == same.before
    assert repr(same).splitlines()[-1].endswith("exactly.")


@pytest.mark.parametrize(("change", "made", "rows"), [
    ({"index_dtype": "int32"}, {"index_dtype": "int32"}, 30), ({"value_dtype": "float64"}, {"dtype": "float64"}, 30),
    ({"index_dtype": "int32", "batch_size": 15}, {"index_dtype": "int32"}, 15)])
def test_the_answer_is_what_the_changed_model_takes(plain, change, made, rows):
    asked = plain.what_if(**change)
    ran = train("product", "default", warm=True, momentum=0.9, rows=rows, data=matrix(spread=True, **made),
                dtype=made.get("dtype", "float32"))
    assert asked.after == ran.memory["peak_bytes"]
    assert asked.after != asked.before


def test_lazy_state_counts_the_rows_and_leaves_that_of_dense_gradients_alone():
    net = mx.gluon.nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(8, in_units=FEATURES, weight_grad_stype="row_sparse"), mx.gluon.nn.Dense(1, in_units=8))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    batch = matrix(spread=True)[:10]
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
    assert "other batches" in asked.notes[0]
    assert asked.saved == asked.before - asked.after > 0


def test_where_the_library_itself_would_work_otherwise_the_answer_says_so(plain):
    assert plain.what_if(value_dtype="float64").notes == []
    assert "64 KiB" in train("small", "default").what_if(value_dtype="float64").notes[0]


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


@pytest.mark.parametrize("change", [{"gradient": "row_sparse"}, {"lazy_state": True}], ids=str)
def test_rows_are_bounded_by_a_csr_batch_and_must_be_said_where_there_is_none(plain, change):
    asked = plain.what_if(**change)
    assert asked.after == plain.what_if(**change, rows=30 * STORED).after < asked.before
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
        for start in range(0, 30, 10):
            with mx.autograd.record():
                loss = net(matrix(spread=True)[start:start + 10])
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
