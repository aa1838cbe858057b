"""The store of several machines: MXNet's surface, exact bytes, round trips, waits, and errors that name rank, key and step."""

import gc
import logging
import re
import threading

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import LostWorkerError, MismatchError, NoClusterError, WaitTimeoutError
from sparsekit.dist.transport import LocalCluster
from tests.calls import refused

SHAPE = (1000, 2)


def rows(numbers, value=1.0, shape=SHAPE):
    return mx.nd.sparse.row_sparse_array((np.full((len(numbers), *shape[1:]), value, np.float32), numbers), shape=shape)


def empty(shape=SHAPE):
    return mx.nd.sparse.zeros("row_sparse", shape)


def pulled(kv, key, shape):
    out = mx.nd.zeros(shape)
    kv.pull(key, out=out)
    return out.asnumpy()


def together(workers, function, servers=2, **options):
    return LocalCluster(servers, workers, **options).run(function)


@pytest.fixture
def ended():
    """Errors hold the frames of the threads that they were raised in, and so their stores, which end in no other test."""
    yield
    gc.collect()


# MXNet's surface


def test_what_it_is():
    def worker():
        kv = mx.kv.create("Dist_Sync")
        assert isinstance(kv, mx.kvstore.DistKVStore)
        assert (kv.type, kv.num_workers, kv.is_capable("optimizer")) == ("dist_sync", 3, True)
        assert kv.get_num_dead_node(6, timeout=5) == 0
        refused(mx.UnknownNameError, "", kv.is_capable, "flying")
        return kv.rank

    assert together(3, worker) == [0, 1, 2]


@pytest.mark.parametrize("name", ["dist", "dist_sync", "dist_device_sync", "dist_async", "dist_device_async"])
def test_a_store_outside_a_cluster_says_how_to_start_one(name):
    refused(NoClusterError, "sparsekit launch", mx.kv.create, name)


@pytest.mark.parametrize("kind", ["dist_sync", "dist_device_sync"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_pushes_replace_by_the_sum_over_contexts_and_workers(kind, stype):
    def worker():
        kv = mx.kv.create(kind)
        kv.init("w", mx.nd.full(SHAPE, 7 + kv.rank).tostype(stype))
        before = pulled(kv, "w", SHAPE)
        parts = [mx.nd.full(SHAPE, 1 + kv.rank, ctx=mx.cpu(place)).tostype(stype) for place in range(2)]
        kv.push("w", parts)
        parts[0][:] = 100  # the store has a copy
        out = [mx.nd.zeros(SHAPE, ctx=mx.cpu(place)) for place in range(2)]
        kv.pull("w", out=out)
        kv.pushpull("w", parts[1], out=out[0])
        return before, out[1].asnumpy(), out[0].asnumpy()

    for before, first, second in together(2, worker):
        assert (before == 7).all()  # of rank 0
        assert (first == 2 * (1 + 2)).all()
        assert (second == 1 + 2).all()


def test_lists_of_keys_broadcast_and_barriers():
    def worker():
        kv = mx.kv.create("dist_sync")
        keys, out = [3, "4", 5], [mx.nd.zeros((2,)) for _ in range(3)]
        kv.broadcast(keys, [mx.nd.full((2,), place + 10 * kv.rank) for place in range(3)], out=out)
        first = [one.asnumpy()[0] for one in out]
        kv.push(keys, [[mx.nd.ones((2,)), mx.nd.ones((2,))]] * 3)
        kv.push([3, 3], [mx.nd.ones((2,)), mx.nd.ones((2,))])  # a key that is listed twice: a sum
        kv.pull(keys, out=out)
        kv._barrier()
        kv.barrier()
        return first, [one.asnumpy()[0] for one in out]

    assert together(2, worker) == [([0, 1, 2], [4, 4, 4])] * 2


@pytest.mark.usefixtures("ended")
def test_what_servers_cannot_do_is_refused_by_name():
    def worker():
        kv = mx.kv.create("dist_sync")
        refused(mx.UnsupportedError, r"_set_updater\(\) is not supported", kv._set_updater, lambda key, pushed, value: None)
        refused(mx.UnsupportedError, "Command 3", kv._send_command_to_servers, 3, "")
        refused(mx.StorageTypeError, "key 'c' is csr", lambda: kv.init("c", mx.nd.ones((2, 2)).tostype("csr")))
        refused(mx.DTypeError, "optimizer must be an Optimizer", kv.set_optimizer, "sgd")
        for wrong in (0, -1, float("nan"), None, "60", True, [60]):
            with pytest.raises(mx.ParameterError, match="a number of seconds above 0"):
                kv.timeout = wrong
        refused(mx.ParameterNameError, "'none' has not been initialized", kv.push, "none", mx.nd.ones((2,)))
        refused(mx.SparsekitError, "no optimizer", kv.save_optimizer_states, "none")
        return True

    assert together(1, worker) == [True]


# bytes and round trips


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_bytes_of_every_call_are_those_of_rows_and_their_numbers(servers):
    touched, asked = [3, 4, 400, 999], [0, 3, 3, 700, 700]
    row = 4 + 2 * 4  # a number of int32, and two values of float32

    def worker():
        kv = mx.kv.create("dist_sync")
        counts = []

        def count(call, *arguments, **keywords):
            before = kv.statistics()
            call(*arguments, **keywords)
            after = kv.statistics()
            counts.append(tuple(after[name] - before[name] for name in ("bytes_sent", "bytes_received", "round_trips")))

        count(kv.init, ["w", "d"], [mx.nd.ones(SHAPE).tostype("row_sparse"), mx.nd.ones((30000, 3))])
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        out, dense = empty(), mx.nd.zeros((30000, 3))
        count(kv.push, "w", rows(touched))
        count(kv.row_sparse_pull, "w", out=out, row_ids=mx.nd.array(asked))
        count(kv.push_pull_rows, "w", rows(touched), out, mx.nd.array(asked))
        count(kv.push, "d", dense)
        count(kv.pull, "d", out=dense)
        count(kv.pushpull, "d", rows([1, 2, 3], shape=(30000, 3)), out=dense)
        count(kv.pull, "w", out=[out], ignore_sparse=False)
        return counts

    (init, push, pull, both, later, whole, mixed, every), = together(1, worker, servers)
    unique = len(set(asked))
    assert init[:2] == (4 * 2 * 1000 + 4 * 1000 + 4 * 3 * 30000, 0)
    assert push == later == (0, 0, 0)  # it goes with the pull
    assert pull == both == (len(touched) * row + 4 * unique, 8 * unique, 1)
    assert whole == (4 * 3 * 30000, 4 * 3 * 30000, 1)
    assert mixed == (3 * (4 + 3 * 4), 4 * 3 * 30000, 1)
    assert every == (0, 4 * 2 * 1000, 1)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("width", [(), (2,), (3, 2)])
def test_rows_of_zeros_are_not_sent(kind, width):
    """A value that stores every row, of which few are not zero; a negative zero has bits, and they arrive."""
    whole = np.zeros((1000, *width), kind)
    whole[[3, 500]] = 7
    whole[999] = -0.0
    kept = [3, 500] if kind == "int32" else [3, 500, 999]
    every = mx.nd.sparse.row_sparse_array((whole, np.arange(1000)), shape=whole.shape, dtype=kind)

    def worker():
        kv = mx.kv.create("dist_sync")
        kv.init("w", every)
        sent = kv.statistics()["bytes_sent"]
        out = mx.nd.zeros(whole.shape, dtype=kind)
        kv.pull("w", out=out)
        return sent, out.asnumpy()

    (first, found), (second, again) = together(2, worker)
    assert (first, second) == (len(kept) * (4 + whole[0].nbytes), 0)
    assert found.tobytes() == again.tobytes() == whole.tobytes()


def test_a_parameter_of_zeros_is_not_sent_whole():
    """Nor where an optimizer that looks at whole weights moves it to one server."""
    def worker(name):
        weight = mx.gluon.Parameter("weight", shape=(20_000, 8), stype="row_sparse", grad_stype="row_sparse")
        weight.initialize(mx.init.Zero())
        trainer = mx.gluon.Trainer([weight], name, {"learning_rate": 0.1}, kvstore="dist_sync")
        found = weight.row_sparse_data(mx.nd.array([3])).data.asnumpy()
        return trainer._kvstore.statistics()["bytes_sent"], found.tolist()

    for name in ("adam", "lamb"):
        (sent, row), = together(1, lambda name=name: worker(name))
        assert sent < 1000
        assert row == [[0.0] * 8]


def test_what_is_held_is_sent_when_the_program_ends():
    def worker():
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((2,)))
        kv.push("w", mx.nd.ones((2,)))
        return None if kv.rank else pulled(kv, "w", (2,)).tolist()

    assert together(2, worker) == [[2, 2], None]


# the optimizer


@pytest.mark.parametrize("dump", [False, True], ids=["states alone", "with settings"])
@pytest.mark.parametrize(("name", "settings"), [("adam", {}), ("lbsgd", {"batch_scale": 3, "momentum": 0.9})])
def test_states_are_gathered_and_dealt_out_again(tmp_path, name, settings, dump):
    shape = (20000, 3)

    def steps(kv, count, times=1):
        for step in range(count):
            kv.push(["w", "d"], [rows([1, 700 + step], times, shape=SHAPE), mx.nd.ones(shape) * (step + 1) * times])
        return pulled(kv, "d", shape), pulled(kv, "w", SHAPE)

    def started(kv):
        kv.init(["w", "d"], [mx.nd.ones(SHAPE).tostype("row_sparse"), mx.nd.ones(shape)])
        kv.set_optimizer(mx.optimizer.create(name, learning_rate=0.1, **settings))
        return kv

    def saving():
        kv = started(mx.kv.create("dist_sync"))
        steps(kv, 2)
        kv.save_optimizer_states(tmp_path / f"states{kv.rank}", dump_optimizer=dump)
        return True

    def loading():
        kv = started(mx.kv.create("dist_sync"))
        kv.load_optimizer_states(tmp_path / "states0")
        kv.optimizer.rescale_grad = 0.5
        return steps(kv, 2)

    assert together(2, saving) == [True, True]
    alone = started(mx.kv.create("local"))
    alone.load_optimizer_states(tmp_path / "states1")
    alone._updater.optimizer.rescale_grad = 0.5
    wanted = [one.tobytes() for one in steps(alone, 2, times=2)]  # as two workers push the same
    for found in together(2, loading, servers=3):
        assert [one.tobytes() for one in found] == wanted
    with pytest.raises(mx.DataFileError, match="none"):
        together(1, lambda: started(mx.kv.create("dist_sync")).load_optimizer_states(tmp_path / "none"))


# asynchronous


def test_asynchronous_pushes_are_steps_of_their_own():
    def worker():
        kv = mx.kv.create("dist_async")
        kv.init("w", mx.nd.zeros((2,)))
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        for _ in range(3):
            kv.push("w", mx.nd.ones((2,)))
        kv.flush()
        kv._barrier()
        return pulled(kv, "w", (2,)).tolist()

    assert together(3, worker, staleness=3) == [[-9, -9]] * 3


def test_the_kind_of_store_says_whether_servers_wait():
    cluster = LocalCluster(2, 2)

    def worker(kind="dist_async"):
        kv = mx.kv.create(kind)
        kv.init("w", mx.nd.zeros((2,)))
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        if kv.rank == 0:
            kv.push("w", mx.nd.ones((2,)))  # rank 1 pushes none
            kv.flush()
        kv._barrier()
        return pulled(kv, "w", (2,)).tolist()

    assert cluster.run(worker) == [[-1, -1]] * 2
    refused(MismatchError, r"Rank . requests the mode 'sync', but workers have pushed key 'w'", cluster.run, worker, "dist_sync")


@pytest.mark.usefixtures("ended")
def test_an_asynchronous_push_without_an_optimizer_is_refused():
    def worker():
        kv = mx.kv.create("dist_async")
        kv.init("w", mx.nd.zeros((2,)))
        kv.push("w", mx.nd.ones((2,)))
        kv.flush()

    error = refused(MismatchError, r"Rank 0 pushes key 'w' .*no optimizer", together, 1, worker)
    assert (error.rank, error.key, error.step) == (0, "w", 1)


# errors, none of which hangs


@pytest.mark.parametrize(("value", "text"), [
    (lambda: mx.nd.ones((3, 1)), "shape"), (lambda: mx.nd.ones((2, 1), dtype="float64"), "element type|dtype"),
    (lambda: mx.nd.ones((2, 1)).tostype("row_sparse"), "stype row_sparse"),
])
def test_values_that_differ_between_workers_name_rank_and_key(value, text):
    def worker():
        kv = mx.kv.create("dist_sync")
        kv.init("w", value() if kv.rank else mx.nd.ones((2, 1)))

    error = refused(MismatchError, f"Rank 1 .*'w'.*({text})|Rank 1 .*({text}).*'w'", together, 2, worker)
    assert (error.rank, error.key) == (1, "w")


@pytest.mark.usefixtures("ended")
def test_pushes_that_do_not_fit_name_rank_key_and_step_and_change_nothing():
    def worker():
        kv = mx.kv.create("dist_sync")
        kv.init(["w", "b"], [mx.nd.zeros(SHAPE), mx.nd.zeros((2,))])
        refused(mx.SparsekitError, "'w' has been initialized already", kv.init, "w", mx.nd.zeros(SHAPE))
        kv.push(["w", "b"], [mx.nd.ones(SHAPE), mx.nd.ones((2,))])
        for wrong in (mx.nd.ones((3,)), mx.nd.ones((2,), dtype="float16"), rows([0], shape=(2, 1))):
            with pytest.raises(MismatchError, match=r"Rank 0 pushes an array of .* for key 'b' at step 2") as error:
                kv.push(["w", "b"], [mx.nd.ones(SHAPE), wrong])
            assert (error.value.rank, error.value.key, error.value.step) == (0, "b", 2)
        refused(MismatchError, "Rank 0 pulls into an array of shape", kv.pull, "b", out=mx.nd.zeros((3,)))
        return pulled(kv, "w", SHAPE)[0, 0]

    assert together(1, worker) == [1]


@pytest.mark.usefixtures("ended")
def test_a_wait_that_takes_too_long_names_the_ranks_that_are_missing(caplog):
    ended = threading.Event()

    def worker():
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((2,)))
        if kv.rank == 3:
            kv.leave()
        if kv.rank:
            ended.wait(60)
            return {}
        kv._client.warn_after, kv.timeout = 0.1, 1.2
        before = kv.statistics()["waited"]
        kv.push("w", mx.nd.ones((2,)))
        try:
            with pytest.raises(WaitTimeoutError, match=r"Rank 0 has waited \d+ s for ranks 1, 2 \(key 'w', step 1\)") as error:
                pulled(kv, "w", (2,))
        finally:
            ended.set()
        assert (error.value.rank, error.value.key, error.value.step) == (0, "w", 1)
        return {rank: seconds - before[rank] for rank, seconds in kv.statistics()["waited"].items()}

    with caplog.at_level(logging.WARNING, "sparsekit.dist"):
        waited = together(4, worker)[0]
    assert re.fullmatch(r"Rank 0 has waited \d+ s for ranks 1, 2 \(key 'w', step 1\)\.", caplog.messages[0])
    assert waited[1] >= 1 <= waited[2]
    assert waited[3] == 0


@pytest.mark.usefixtures("ended")
def test_workers_that_wait_for_one_that_has_ended_get_an_error():
    def worker():
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((2,)))
        if kv.rank == 1:
            raise ArithmeticError("the end")
        kv.push("w", mx.nd.ones((2,)))
        error = refused(LostWorkerError, "1 has ended without step 1 of key 'w'", pulled, kv, "w", (2,))
        assert (error.rank, error.key, error.step) == (1, "w", 1)
        seen.append(True)

    seen = []
    refused(ArithmeticError, "", together, 2, worker)
    assert seen == [True]


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.usefixtures("ended")
def test_a_worker_with_fewer_batches_leaves_or_is_named(leaves):
    def worker():
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((2,)))
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        kv.timeout = 60 if leaves else 1.0
        found = []
        for _ in range(4 - 2 * kv.rank):
            kv.push("w", mx.nd.ones((2,)))
            found.append(float(pulled(kv, "w", (2,))[0]))
        if leaves:
            kv.leave()
            kv.leave()
            refused(mx.UnsupportedError, "has called leave", kv.push, "w", mx.nd.ones((2,)))
            pulled(kv, "w", (2,))
        return found

    if leaves:
        assert together(2, worker) == [[-2, -4, -5, -6], [-2, -4]]
        return
    error = refused(WaitTimeoutError, r"Rank 0 has waited .* s for rank 1 \(key 'w', step 3\)", together, 2, worker)
    assert "leave()" in error.hint
