"""Modules on servers: symbolic models over csr data equal one process."""


import numpy as np
import pytest

import sparsekit as mx
from sparsekit.dist.transport import LocalCluster

from .test_trainer import same

FEATURES, BATCH, SAMPLES = 900, 8, 48


def samples(seed=5):
    """Rows of a csr array, and their classes."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((SAMPLES, FEATURES), np.float32)
    for row in dense:
        row[np.unique(rng.integers(0, FEATURES, 12))] = rng.random(1) + 0.5
    return dense, (dense @ rng.standard_normal(FEATURES) > 0).astype(np.float32)


def iterator(rank, workers):
    """The part of each batch of ``workers * BATCH`` samples that a worker reads."""
    return whole(np.arange(SAMPLES).reshape(-1, workers, BATCH)[:, rank].reshape(-1), BATCH)


def whole(mine, size):
    """Batches of some samples."""
    dense, labels = samples()
    data = mx.nd.array(dense[mine]).tostype("csr")
    return mx.io.NDArrayIter(data, labels[mine], size, last_batch_handle="discard", label_name="softmax_label")


def model():
    """Two classes from csr data: a row_sparse weight, a dense bias."""
    data = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("weight", stype="row_sparse", shape=(FEATURES, 2), init=mx.init.Normal(0.01))
    bias = mx.sym.Variable("bias", shape=(2,))
    scores = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), bias)
    return mx.sym.SoftmaxOutput(scores, name="softmax")


def values():
    rng = np.random.default_rng(9)
    return {"weight": mx.nd.array(rng.standard_normal((FEATURES, 2))).tostype("row_sparse"), "bias": mx.nd.array([0.25, -0.5])}


def rows_of(batch):
    return {"weight": batch.data[0].indices}


def every_row(batch):
    return {"weight": mx.nd.arange(0, FEATURES, dtype="int64")}


def started(reader, kvstore, contexts=None):
    mod = mx.mod.Module(model(), context=contexts or [mx.cpu()])
    mod.bind(reader.provide_data, reader.provide_label)
    mod.init_params(None, arg_params=values(), aux_params={})
    mod.init_optimizer(kvstore=kvstore, optimizer="adam", optimizer_params={"learning_rate": 0.1, "wd": 0.01})
    return mod


def arrays(mod):
    return {name: one.asnumpy() for name, one in mod.get_params()[0].items()}


def one_process(workers, epochs=2):
    """One module with a context for each worker, whose batches are those of all workers one behind the other."""
    reader = whole(np.arange(SAMPLES), BATCH * workers)
    mod = started(reader, mx.kv.create("local"), [mx.cpu(place) for place in range(workers)])
    for _ in range(epochs):
        reader.reset()
        for batch in reader:
            mod.forward_backward(batch)
            mod.update()
    found = {name: mx.nd.zeros(one.shape) for name, one in values().items()}  # get_params() would give means over contexts
    mod._kvstore.pull(list(found), out=list(found.values()))
    return {name: one.asnumpy() for name, one in found.items()}


def by_hand(epochs=2, fn=rows_of):
    kv = mx.kv.create("dist_sync")
    reader = iterator(kv.rank, kv.num_workers)
    mod = started(reader, kv)
    for _ in range(epochs):
        reader.reset()
        for batch in reader:
            if fn is not None:
                mod.prepare(batch, sparse_row_id_fn=fn)
            mod.forward_backward(batch)
            mod.update()
    return arrays(mod)


@pytest.mark.parametrize(("workers", "servers"), [(1, 2), (2, 1), (2, 3), (3, 2)])
def test_any_number_of_workers_and_servers_equals_one_process(workers, servers):
    same(LocalCluster(servers, workers).run(by_hand), one_process(workers))


@pytest.mark.parametrize("fn", [None, every_row])
def test_rows_that_are_not_prepared_for_are_fetched_whole(fn):
    same(LocalCluster(2, 2).run(lambda: by_hand(fn=fn)), one_process(2))


def fitted(name, fn, callback=None):
    kv = mx.kv.create(name)
    reader = iterator(kv.rank, kv.num_workers)
    mod = mx.mod.Module(model())
    before = []

    def count(parameters):
        before.append(kv.statistics())

    mod.fit(reader, kvstore=name, optimizer="adam", optimizer_params={"learning_rate": 0.1, "wd": 0.01}, num_epoch=2,
            arg_params=values(), aux_params={}, initializer=None, sparse_row_id_fn=fn, batch_end_callback=count,
            epoch_end_callback=callback)
    return arrays(mod), before, mod._optimizer.rescale_grad


@pytest.mark.parametrize("fn", [None, rows_of])
@pytest.mark.parametrize("callback", [None, lambda epoch, symbol, arguments, states: arguments["weight"].asnumpy()])
def test_fit_equals_one_process_and_divides_by_the_batches_of_all(fn, callback):
    found = LocalCluster(2, 2).run(fitted, "dist_sync", fn, callback)
    same([one for one, _, _ in found], one_process(2))
    assert [scale for _, _, scale in found] == [1 / (BATCH * 2)] * 2


def test_fit_moves_the_rows_of_batches_in_one_round_trip_a_step():
    (_, counts, _), = LocalCluster(2, 1).run(fitted, "dist_sync", rows_of)
    first, second = counts[1:3]
    moved = {name: second[name] - first[name] for name in ("round_trips", "bytes_sent", "bytes_received")}
    reader = iterator(0, 1)
    used = [len(np.unique(batch.data[0].indices.asnumpy())) for batch in reader]
    # the gradients of the third batch and of the bias, with the rows of the fourth and the bias
    assert moved == {"round_trips": 1, "bytes_sent": 12 * used[2] + 8 + 4 * used[3], "bytes_received": 8 * used[3] + 8}


def test_checkpoints_have_whole_weights_and_states(tmp_path):
    def worker():
        kv = mx.kv.create("dist_sync")
        reader = iterator(kv.rank, 2)
        mod = started(reader, kv)
        check, scores = iterator(0, 1), []
        for place, batch in enumerate(reader):
            mod.prepare(batch, sparse_row_id_fn=rows_of)
            mod.forward_backward(batch)
            mod.update()
            scores.append(mod.score(check, "acc")[0][1])
            mod.prepare(*[(None, every_row), (batch, rows_of)][place % 2])
            mod.save_checkpoint(str(tmp_path / f"m{kv.rank}"), place, save_optimizer_states=True)
        return arrays(mod), scores

    (wanted, scores), (_, others) = LocalCluster(2, 2).run(worker)
    assert scores == others
    for rank in range(2):
        _, arguments, _ = mx.model.load_checkpoint(str(tmp_path / f"m{rank}"), SAMPLES // BATCH // 2 - 1)
        same([{name: one.asnumpy() for name, one in arguments.items()}], wanted)

    def resumed():
        kv = mx.kv.create("dist_sync")
        mod = mx.mod.Module.load(str(tmp_path / "m0"), 2, load_optimizer_states=True)
        reader = iterator(kv.rank, 2)
        mod.bind(reader.provide_data, reader.provide_label)
        mod.init_optimizer(kvstore=kv, optimizer="adam", optimizer_params={"learning_rate": 0.1, "wd": 0.01})
        batch = next(reader)
        mod.forward_backward(batch)
        mod.update()
        return arrays(mod)

    first, second = LocalCluster(3, 2).run(resumed)
    same([first], second)
    assert not np.array_equal(first["weight"], wanted["weight"])


def test_parameters_that_lie_on_servers_are_not_replaced_by_one_worker():
    def worker():
        mod = started(iterator(0, 1), mx.kv.create("dist_sync"))
        mod.set_params(*mod.get_params())  # its own
        with pytest.raises(mx.UnsupportedError, match="lie on the servers of the kvstore 'dist_sync'"):
            mod.set_params(values(), {})
        with pytest.raises(mx.UnsupportedError, match=r"set them before init_optimizer\(\)"):
            mod.init_params(force_init=True)
        return True

    assert LocalCluster(1, 1).run(worker) == [True]


def test_modules_compress_gradients_on_servers_alone():
    def worker(compression):
        kv = mx.kv.create("dist_sync")
        mod = mx.mod.Module(model(), compression_params=compression)
        reader = iterator(0, 1)
        mod.bind(reader.provide_data, reader.provide_label)
        mod.init_params(None, arg_params=values(), aux_params={})
        mod.init_optimizer(kvstore=kv, optimizer="sgd", optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})
        mod.forward_backward(next(reader))
        mod.update()
        return arrays(mod)["bias"] - values()["bias"].asnumpy()

    moved, = LocalCluster(2, 1).run(worker, {"type": "2bit", "threshold": 0.0625})
    assert np.abs(moved).tolist() == [0.0625, 0.0625]
    mod = mx.mod.Module(model(), compression_params={"type": "2bit"})
    mod.bind(iterator(0, 1).provide_data, iterator(0, 1).provide_label)
    mod.init_params()
    for kvstore in (None, "local", "device"):
        with pytest.raises(mx.UnsupportedError, match="Gradient compression is not supported"):
            mod.init_optimizer(kvstore=kvstore)
