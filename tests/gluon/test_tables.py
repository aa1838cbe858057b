"""Hybridized blocks that run as tables of calls give the bits of the same programs run in Python."""

import threading
import weakref

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.core.op import registry
from sparsekit.core.workspace import copied
from sparsekit.gluon import nn
from sparsekit.kernels.cpu import thread_pool
from sparsekit.kernels.cpu.jit import worker_count
from tests.calls import are_gone, differentiated, initialized, refused, stack

from .blocks import Computes
from .test_train_step import bits

pytestmark = pytest.mark.compiled


def dense(*shape, dtype="float32", salt=0):
    return lambda seed: mx.nd.array(np.random.default_rng(seed + 100 * salt).standard_normal(shape), dtype=dtype)


def ids(high, *shape, dtype="int64"):
    """Positions, some of which are out of range from the fifth batch on."""
    return lambda seed: mx.nd.array(np.random.default_rng(seed).integers(0, high if seed < 4 else 2 * high, shape), dtype=dtype)


def csr(rows, columns, dtype="float32", salt=0):
    def make(seed):
        chance, count = np.random.default_rng(seed + salt), [3, 20, 0, 2, rows * columns, 1, 7][(seed + salt) % 7]
        places = np.sort(chance.choice(rows * columns, count, replace=False))
        starts = np.searchsorted(places, np.arange(rows + 1) * columns)
        return mx.nd.sparse.csr_matrix((chance.standard_normal(count).astype(dtype), places % columns, starts), (rows, columns))

    return make


def row_sparse(rows, width, dtype="float32", salt=0):
    def make(seed):
        chance, count = np.random.default_rng(seed + salt), [2, 0, rows, 3, 1, rows - 1][(seed + salt) % 6]
        indices = np.sort(chance.choice(rows, count, replace=False))
        return mx.nd.sparse.row_sparse_array((chance.standard_normal((count, width)).astype(dtype), indices), (rows, width))

    return make


def infinite(*shape):
    """Some batches have a largest value that is not finite."""
    def make(seed):
        values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        values[seed] = [1, np.inf, np.nan, -np.inf][seed % 4]
        return mx.nd.array(values)

    return make


def programs(block):
    return [made.program for known in block._programs._known.values() for made in known if made is not None]


def tables(block):
    return [table for program in programs(block) for workspace in program.workspaces for table in workspace.tables.values()]


def run(monkeypatch, on, function, arguments, rounds):
    """The bits of results and gradients of some batches, and again at the end, when all have run."""
    monkeypatch.setattr(mx.config, "tables", on)
    block, held, found = Computes(function), [], []
    block.hybridize()
    for seed in range(rounds):
        arrays = [make(seed) for make in arguments]
        for array in arrays:
            if array.stype == "default" and array.dtype.kind == "f":
                array.attach_grad()
        mx.random.seed(seed)
        with mx.autograd.record():
            results = block(*arrays)
        results = results if isinstance(results, (tuple, list)) else [results]
        held += results
        if any(result._entry is not None for result in results):
            mx.autograd.backward([result for result in results if result._entry is not None])
            held += [array.grad for array in arrays if array.grad is not None]
        found.append(bits(held[-4:]))
    assert bool(tables(block)) == on
    return found, bits(held)


#: ``core/test_tables.py`` runs every operator in a table; these join several, share memory or have gradients of their own.
FUNCTIONS = {
    "no rows": (lambda F, a, b: F.concat(a * 2, b, dim=0) + 1, [dense(0, 5), dense(3, 5)]),
    "nothing": (lambda F, a: [F.tanh(a) * 2, F.sum(a, axis=0)], [dense(0, 5)]),
    "kept rows": (lambda F, a, rows: F.sparse_retain(a, rows) * 2,
                  [row_sparse(9, 3), lambda _: mx.nd.array([1, 3, 5], dtype="int64")]),
    "views of inputs": (lambda F, a: [F.reshape(a, (-1,)), F.transpose(a), F.slice_axis(a, axis=0, begin=1, end=3), a],
                        [dense(4, 5)]),
    "views of results": (lambda F, a: [F.reshape(a * 2, (-1,)), F.transpose(a * 2), F.expand_dims(a * 2, 0)], [dense(4, 5)]),
    "one result twice": (lambda F, a: (lambda made: [made, made, F.reshape(made, (5, 4))])(F.sin(a)), [dense(4, 5)]),
    "casts": (lambda F, a: F.cast(F.cast(a * 100, dtype="int32"), dtype="float64") * 2, [dense(4, 5)]),
    "rows by number": (lambda F, w, i: [F.take(w, i) * 2, F.take(w, i, mode="wrap")], [dense(10, 4), ids(10, 6)]),
    "elements by number": (
        lambda F, w, i, j: [F.pick(w, i, axis=0), F.pick(w, j, axis=1, keepdims=True), F.pick(F.transpose(w), i, axis=-1)],
        [dense(10, 4, 5), ids(10, 4, 5), ids(4, 10, 5, dtype="float32")]),
    "csr results": (lambda F, x: [x * 2, F.sqrt(F.abs(x)), x + x, x, -x, F.sum(x * 2, axis=1)], [csr(6, 50)]),
    "two csr": (lambda F, x, y: [x * y, x - y], [csr(6, 50), csr(6, 50, salt=3)]),
    "row_sparse": (lambda F, a, b: [a + b, a * 2, F.square(a), a - b, F.sum(a)], [row_sparse(9, 3), row_sparse(9, 3, salt=1)]),
    "sparse and dense": (lambda F, x, a, w: [F.tanh(x + a), F.dot(x, w) * 2], [csr(6, 50), dense(6, 50), dense(50, 3)]),
    "log_softmax": (lambda F, a, b: [F.log_softmax(a) * F.softmax(a), F.sum(F.transpose(a * 1.5), axis=0), F.log_softmax(b)],
                    [dense(40, 500), infinite(40, 500)]),
}


@pytest.mark.filterwarnings("ignore::sparsekit.IndexWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_the_same_bits(name, monkeypatch):
    function, arguments = FUNCTIONS[name]
    assert run(monkeypatch, True, function, arguments, 8) == run(monkeypatch, False, function, arguments, 8)


def two_layers():
    mx.random.seed(1)
    net = initialized(stack(nn.Dense(5, in_units=6, activation="relu"), nn.Dense(1, in_units=5)), hybrid=True)
    return net


def test_several_runs_are_alive_at_once_and_go_back_in_another_order(monkeypatch):
    found = []
    for on in (True, False):
        monkeypatch.setattr(mx.config, "tables", on)
        net, held = two_layers(), []
        for _ in range(3):
            losses = []
            for seed in range(6):
                with mx.autograd.record():
                    losses.append(net(dense(8, 6)(seed)))
            for place in (5, 2, 0, 4, 3, 1):
                for again in range(1 + (place == 2)):
                    losses[place].backward(retain_graph=place == 2 and not again)
                    held += [one.grad().copy() for one in net.collect_params().values()]
            held += losses
        found.append(bits(held))
        assert bool(tables(net)) == on
    assert found[0] == found[1]


def test_a_block_that_is_unrolled_makes_no_table_for_each_use(monkeypatch):
    block = initialized(nn.Dense(6, in_units=6, activation="tanh"), hybrid=True)
    found = []
    for on in (True, False):
        monkeypatch.setattr(mx.config, "tables", on)
        for _ in range(4):
            with mx.autograd.record():
                made = dense(4, 6)(0)
                for _ in range(20):
                    made = block(made)
            made.backward()
        found.append(bits([made, block.weight.grad()]))
        lowered = [one.lowered for program in programs(block) for one in (program.forward, program.whole.program)]
        words = [len(one.builder.words) for one in lowered]
    assert found[0] == found[1]
    assert len(tables(block)) <= 8
    with mx.autograd.record():
        runs = [block(made) for _ in range(20)]
    assert [len(one.builder.words) for one in lowered] == words
    assert len(runs) == 20


def test_changing_an_input_or_a_result_changes_what_it_does_in_python(monkeypatch):
    def function(F, a):
        return (F.reshape(a, (-1,)), F.transpose(a), F.slice_axis(a, axis=0, begin=1, end=3), F.identity(a), F.expand_dims(a, 0),
                F.BlockGrad(a), F.flatten(a), F.broadcast_to(F.expand_dims(a, 0), (2, 4, 5)))

    found = []
    for on in (True, False):
        monkeypatch.setattr(mx.config, "tables", on)
        block, seen = Computes(function), []
        block.hybridize()
        for seed in range(5):
            array = dense(4, 5)(seed)
            results = block(array)
            array[:] = 7
            seen += bits(results)
            for result in block(array):
                result[:] = 3
            seen.append(bits(array))
        found.append(seen)
    assert found[0] == found[1]


def test_threads_share_a_block():
    net = two_layers()
    batches = [dense(8, 6)(seed) for seed in range(10)]
    expected, wrong = [bits(net(batch)) for batch in batches], []

    def work():
        for _ in range(30):
            wrong.extend(1 for batch, wanted in zip(batches, expected, strict=True) if bits(net(batch)) != wanted)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert tables(net)


def test_a_table_keeps_no_batch_alive():
    net = two_layers()
    for seed in range(5):
        net(dense(8, 6)(seed))
    batch = dense(8, 6)(9)
    held = [weakref.ref(batch), weakref.ref(batch._store)]
    net(batch)
    del batch
    assert tables(net)
    assert are_gone(held)


def growing(seed, columns=500):
    """A csr batch that stores from none to thousands of values."""
    count = [40, 3, 0, 2000, 60, 5, 3500, 1, 900, 0, 7][seed % 11]
    chance = np.random.default_rng(seed)
    places = np.sort(chance.choice(8 * columns, count, replace=False))
    starts = np.searchsorted(places, np.arange(9) * columns)
    return mx.nd.sparse.csr_matrix((chance.standard_normal(count).astype("float32"), places % columns, starts), (8, columns))


def linear(width, columns=500):
    """csr · weight with a row-sparse gradient."""
    return Computes(lambda F, x, weight: F.tanh(F.dot(x, weight)), weight={"shape": (columns, width), "grad_stype": "row_sparse"})


@pytest.mark.parametrize("width", [6, 64])
def test_a_row_sparse_gradient_leaves_the_table_without_a_copy(width, monkeypatch):
    """Of 64 columns, several threads compute the gradients of the largest batches."""
    counted = []
    for module in ("cached_op", "table.table"):
        monkeypatch.setattr(f"sparsekit.core.{module}.copied", lambda store: counted.append(store) or copied(store))
    found = {}
    for on in (True, False):
        mx.random.seed(4)
        net = initialized(linear(width), hybrid=True)
        with mx.config.set(tables=on):
            held, at_once = [], []
            for seed in range(22):
                with mx.autograd.record():
                    result = net(growing(seed))
                if seed % 5 == 4:  # a second pass over the same graph
                    result.backward(retain_graph=True)
                result.backward()
                gradient = net.weight.grad()
                held.append(mx.nd.sparse.row_sparse_array((gradient.data, gradient.indices), gradient.shape))
                at_once.append(bits(gradient))
                assert all(part.flags.owndata and part.base is None for part in (gradient._store.data, gradient._store.indices))
            assert bool(tables(net)) == on
            assert sum(table.stops for table in tables(net)) == 4 * on, "of the batches that store nothing"
            assert [bits(one) for one in held] == at_once  # what a run gave away, later runs leave alone
            found[on] = at_once
    assert found[True] == found[False]
    assert not counted


@pytest.mark.parametrize(("columns", "dtype", "counts"), [
    (90_000, "float32", (140_000, 300, 120_000)),  # sums
    pytest.param(1_060_000, "float64", (1_100_000, 300_000), marks=pytest.mark.thorough)])  # sorted values
def test_gradients_of_many_values_are_added_up_in_halves_in_tables_too(columns, dtype, counts):
    def batch(seed):
        chance = np.random.default_rng(seed)
        cells = np.unique(chance.integers(0, 300 * columns, counts[seed % len(counts)]))
        starts = np.searchsorted(cells, np.arange(301) * columns)
        values = chance.standard_normal(len(cells)).astype(dtype)
        return mx.nd.sparse.csr_matrix((values, cells % columns, starts), (300, columns), dtype=dtype)

    found = {}
    for on in (True, False):
        mx.random.seed(4)
        net = linear(1, columns)
        net.cast(dtype)
        net.initialize()
        net.hybridize()
        found[on] = []
        with mx.config.set(tables=on):
            for seed in range(6):
                with mx.autograd.record():
                    result = net(batch(seed))
                result.backward()
                found[on].append(bits(net.weight.grad()))
            assert bool(tables(net)) == on
    assert found[True] == found[False]


def wide(F, x, ids, weight, narrow, table, across):
    """Operators that threads share: products, relu, sigmoid, softmax, embeddings, and their gradients."""
    hidden = F.dot(F.relu(F.broadcast_add(F.dot(x, weight), F.dot(x, narrow))), across)
    rows = F.Embedding(ids, table, input_dim=3000, output_dim=128, sparse_grad=True)
    return F.sum(F.log_softmax(hidden)) + F.sum(F.softmax(hidden)) + F.sum(F.sigmoid(hidden)) + F.sum(F.square(rows))


def spread_out(rows, seed):
    chance = np.random.default_rng(seed)
    places = np.sort(chance.random((rows, 500)).argsort(axis=1)[:, :60], axis=1)
    return mx.nd.sparse.csr_matrix((chance.standard_normal(rows * 60).astype("float32"), places.ravel(),
                                    np.arange(0, rows * 60 + 1, 60)), (rows, 500))


@pytest.mark.parametrize("optimizer", ["adam", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("sgd", "adagrad"))])
@pytest.mark.skipif(worker_count() < 2, reason="one core")
def test_operators_that_threads_share_stay_in_the_table(optimizer, monkeypatch):
    """Small and large batches, with the bits that the operators have one by one."""
    entered, real = [], thread_pool.share
    found = {}
    for on in (True, False):
        monkeypatch.setattr(mx.config, "tables", on)
        mx.random.seed(4)
        net = initialized(Computes(wide, across=(64, 1200), **{
            name: {"shape": shape, "grad_stype": "row_sparse"}
            for name, shape in (("weight", (500, 64)), ("narrow", (500, 1)), ("table", (3000, 128)))}))
        trainer = mx.gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
        step = mx.gluon.TrainStep(net, mx.gluon.loss.L1Loss(), trainer)
        losses = []
        for seed in range(8):
            rows = [900, 900, 900, 900, 3, 900, 40, 900][seed]
            ids = mx.nd.array(np.random.default_rng(seed).integers(0, 3000, rows * 2))
            if seed == 7 and on:
                for module in ("csr", "update", "normalize", "activation"):
                    monkeypatch.setattr(f"sparsekit.kernels.cpu.{module}.share",
                                        lambda *given: entered.append(given) or real(*given))
                entered.clear()
            losses.append(bits(step((spread_out(rows, seed), ids), mx.nd.zeros((1,)), 1)))
        assert not on or {row["reason"] for row in step.explain()} == {""}
        found[on] = losses, [bits(one.data()) for one in net.collect_params().values()]
        monkeypatch.undo()
    assert found[True] == found[False]
    assert not entered, "Python has shared no loop in the last step"


def test_a_batch_that_gets_no_memory_leaves_the_table_to_smaller_ones(monkeypatch):
    label, empty = dense(8, 6)(1), np.empty

    def trained(seeds, short_of_memory=()):
        mx.random.seed(4)
        net = initialized(linear(6))
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        step, losses = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), trainer), []
        for number, seed in enumerate(seeds):
            batch = growing(seed)
            with monkeypatch.context() as limit:
                if short_of_memory and number >= min(short_of_memory):
                    limit.setattr("sparsekit.core.table.table.np.empty", short)
                if number in short_of_memory:
                    refused(MemoryError, "", step, batch, label)
                else:
                    losses.append(bits(step(batch, label)))
        return losses, bits(net.weight.data())

    def short(shape, dtype=float, **more):
        if np.prod(shape) > 10_000 and np.dtype(dtype) == np.float32:  # the rows of the gradient
            raise MemoryError
        return empty(shape, dtype, **more)

    assert trained([0, 1, 4, 0, 4, 6, 4, 0], {5}) == trained([0, 1, 4, 0, 4, 4, 0])


def test_ids_out_of_range_raise_when_the_setting_changes_later(monkeypatch):
    block = Computes(lambda F, w, i: F.take(w, i))
    block.hybridize()
    weight, inside, outside = dense(5, 2)(0), mx.nd.array([1, 2], dtype="int64"), mx.nd.array([1, 7], dtype="int64")
    for _ in range(4):
        block(weight, inside)
    assert tables(block)
    monkeypatch.setattr("sparsekit.core.indices._told", set())
    with pytest.warns(mx.IndexWarning):
        assert (block(weight, outside).asnumpy() == weight.asnumpy()[[1, 4]]).all()
    monkeypatch.setattr(mx.config, "indices", "error")
    refused(mx.base.errors.RowIndexError, "", block, weight, outside)
    assert (block(weight, inside).asnumpy() == weight.asnumpy()[[1, 2]]).all()


def recurrent(mode, layers, both, projection, dtype):
    """``F.RNN`` with its arrays: all results, after an operator before and one behind."""
    states, inputs, steps, batch = 6, 5, 4, 3
    kind = {"lstm": mx.gluon.rnn.LSTM, "gru": mx.gluon.rnn.GRU, "rnn_tanh": mx.gluon.rnn.RNN, "rnn_relu": mx.gluon.rnn.RNN}[mode]
    options = {"projection_size": projection} if projection else {"activation": mode[4:]} if "rnn" in mode else {}
    layer = initialized(kind(states, layers, bidirectional=both, input_size=inputs, **options))
    count = sum(one.data().size for one in layer.collect_params().values())
    rows = layers * (1 + both)
    arrays = [dense(steps, batch, inputs, dtype=dtype), lambda seed: dense(count, dtype=dtype, salt=1)(seed) * 0.5,
              dense(rows, batch, projection or states, dtype=dtype, salt=2)]
    arrays += [dense(rows, batch, states, dtype=dtype, salt=3)] * (mode == "lstm")

    def function(F, x, *rest):
        made = F.RNN(F.sin(x), *rest, state_size=states, num_layers=layers, mode=mode, bidirectional=both, state_outputs=True,
                     projection_size=projection)
        return [F.tanh(made[0]), *made]

    return function, arrays


@pytest.mark.parametrize(("mode", "layers", "both", "projection", "dtype"), [
    ("lstm", 1, False, None, "float32"), ("lstm", 2, True, 4, "float64"), ("gru", 2, True, None, "float32"),
    ("rnn_tanh", 2, False, None, "float32"), ("rnn_relu", 1, True, None, "float64")])
def test_recurrent_networks_are_lowered_whole(mode, layers, both, projection, dtype, monkeypatch):
    function, arguments = recurrent(mode, layers, both, projection, dtype)
    assert run(monkeypatch, True, function, arguments, 6) == run(monkeypatch, False, function, arguments, 6)
    monkeypatch.setattr(mx.config, "tables", True)
    block = Computes(function)
    block.hybridize()
    for seed in range(4):
        arrays = [make(seed) for make in arguments]
        for array in arrays:
            array.attach_grad()
        with mx.autograd.record():
            results = block(*arrays)
        mx.autograd.backward(results)
    rows = mx.gluon.hybrid.explain(block)
    assert {"RNN", registry["_rnn_backward"].label} <= {row["op"] for row in rows}
    assert {row["reason"] for row in rows} == {""}


def test_dropout_stays_in_python_where_it_draws_numbers():
    layer = mx.gluon.rnn.LSTM(6, 2, dropout=0.5, input_size=5)
    net = initialized(stack(nn.Dense(5, flatten=False, in_units=5), nn.Dropout(0.5), layer), hybrid=True)
    x = dense(4, 3, 5)(0)
    predicted = [bits(net(x)) for _ in range(5)]
    assert predicted == predicted[:1] * 5
    assert {row["reason"] for row in mx.gluon.hybrid.explain(net)} == {""}
    trained = []
    for _ in range(5):
        made = differentiated(net, x)
        trained.append(bits(made))
    assert all(one not in trained[:place] for place, one in enumerate(trained))
    assert {row["op"] for row in mx.gluon.hybrid.explain(net) if row["reason"] == "it draws random numbers"} == {
        "RNN", "Dropout"}


def test_cells_are_lowered_whole(monkeypatch):
    found = []
    for on in (True, False):
        monkeypatch.setattr(mx.config, "tables", on)
        found.append([])
        for cell in (mx.gluon.rnn.LSTMCell(6, input_size=5), mx.gluon.rnn.GRUCell(6, input_size=5),
                     mx.gluon.rnn.RNNCell(6, input_size=5)):
            mx.random.seed(4)
            cell.initialize()
            cell.hybridize()
            for seed in range(6):
                states = cell.begin_state(3)
                with mx.autograd.record():
                    for step in range(3):
                        out, states = cell(dense(3, 5, salt=step)(seed), states)
                out.backward()
                found[-1].append(bits([out, *states, *[one.grad() for one in cell.collect_params().values()]]))
            if on:
                assert tables(cell)
                reasons = {row["reason"] for row in mx.gluon.hybrid.explain(cell)}
                assert reasons <= {"", "a table is made when it has run 2 times"}, reasons  # a last step runs once in three
    assert found[0] == found[1]


def told(on, function, arguments, monkeypatch):
    """Ledger, and what ``why_dense`` says of results and gradients, of six runs."""
    monkeypatch.setattr(mx.config, "tables", on)
    block = Computes(function)
    block.hybridize()
    hooks.ledger.clear()
    answers = []
    for seed in range(6):
        arrays = [make(seed) for make in arguments]
        for array in arrays:
            array.attach_grad(stype="default" if array.stype == "csr" else None)
        with mx.autograd.record():
            results = block(*arrays)
        mx.autograd.backward(results)
        answers += [(made.why_dense().kind, made.why_dense().op, made.why_dense().line)
                    for made in (*results, *[array.grad for array in arrays])]
    assert bool(tables(block)) == on
    return [tuple(record) for record in hooks.ledger], answers


@pytest.mark.filterwarnings("ignore::sparsekit.StorageFallbackWarning")
@pytest.mark.parametrize("function", [
    lambda F, x, a: [x + a], lambda F, x, a: [F.tanh(x + a), a + x, F.sum(x * 2 + a)],
    lambda F, x, a: [F.tanh(x + a), F.Dropout(a, p=0.1), x - a, F.sum(F.sort(x) + a), F.cos(x)]])
def test_the_ledger_says_the_same(function, monkeypatch):
    """Also where operators in Python run between those of the table, of which some have entries of their own."""
    arguments = [csr(6, 50), dense(6, 50)]
    found = told(True, function, arguments, monkeypatch)
    assert found == told(False, function, arguments, monkeypatch)
    assert found[0]


def test_densify_error_raises_in_a_table_too():
    block = Computes(lambda F, x, a: F.tanh(x + a))
    block.hybridize()
    arrays = [csr(6, 50)(0), dense(6, 50)(0)]
    for _ in range(4):
        block(*arrays)
    assert tables(block)
    hooks.ledger.clear()
    with mx.config.set(densify="error"), pytest.raises(mx.DensificationError, match="gives a dense result"):
        block(*arrays)
    assert not hooks.ledger
    block(*arrays)
    assert len(hooks.ledger) == 1
