"""Stores of values by key: sums, storage types, rows, optimizers, states, and what is refused."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.dist.transport import LocalCluster, set_current
from tests.calls import refused

TWO = [mx.cpu(0), mx.cpu(1)]
SHAPE = (4, 3)


def array(value, stype="default", ctx=None):
    return mx.nd.full(SHAPE, value, ctx=ctx or mx.cpu()).tostype(stype)


def rows(numbers, value):
    return mx.nd.sparse.row_sparse_array((np.full((len(numbers), 3), value, np.float32), numbers), shape=SHAPE)


@pytest.fixture(params=["local", "device"])
def store(request):
    return mx.kv.create(request.param)


@pytest.fixture(params=["local", "device", "dist_sync"])
def any_store(request):
    """Also a store of servers in this process."""
    set_current(LocalCluster(2, 1).transport(0))
    yield mx.kv.create(request.param)
    set_current(None)


def pulled(store, key, stype="default"):
    out = mx.nd.zeros(SHAPE).tostype(stype)
    store.pull(key, out=out, ignore_sparse=False)
    return out.asnumpy()


def test_what_it_is(store):
    assert store.type in ("local", "device")
    assert (store.rank, store.num_workers, store.is_capable("optimizer")) == (0, 1, True)
    assert isinstance(store, mx.kvstore.KVStore)
    assert mx.kv.create().type == "local"
    assert mx.kv.create("Local_Allreduce_Device").type == "local_allreduce_device"


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_pushes_replace_by_the_sum_over_contexts(store, stype):
    start = array(1, stype)
    store.init("w", start)
    start[:] = 9
    assert (pulled(store, "w") == 1).all()
    pushed = [array(2, stype), array(3, stype, TWO[1])]
    store.push("w", pushed)
    assert (pulled(store, "w") == 5).all()
    for single in (array(4, stype), pushed[1]):
        single[:] = 4
        store.push("w", single)
        single[:] = 8  # the store has a copy
        out = [array(0), array(0, ctx=TWO[1])]
        store.pull("w", out=out)
        assert [part.asnumpy()[0, 0] for part in out] == [4, 4]
    assert (pulled(store, "w", "row_sparse") == 4).all()


def test_sparse_sums_stay_sparse_and_sparse_outs_are_left_alone_unless_asked(store):
    store.init("g", mx.nd.zeros(SHAPE))
    store.push("g", [rows([0, 2], 1.0), rows([2, 3], 2.0).as_in_context(TWO[1])])
    out = mx.nd.sparse.zeros("row_sparse", SHAPE)
    store.pull("g", out=out)
    assert out.indices.shape == (0,)
    store.pull("g", out=out, ignore_sparse=False)
    assert out.indices.asnumpy().tolist() == [0, 2, 3]
    assert out.asnumpy()[:, 0].tolist() == [1, 0, 3, 2]


def test_rows_by_number(any_store):
    any_store.init("w", mx.nd.array(np.arange(12).reshape(SHAPE)).tostype("row_sparse"))
    out = [mx.nd.sparse.zeros("row_sparse", SHAPE), mx.nd.sparse.zeros("row_sparse", SHAPE, ctx=TWO[1])]
    any_store.row_sparse_pull("w", out=out, row_ids=mx.nd.array([[2, 0], [2, 2]]))
    assert [part.indices.asnumpy().tolist() for part in out] == [[0, 2]] * 2
    assert out[1].asnumpy()[2].tolist() == [6, 7, 8]
    out[0].data[:] = -1  # arrays of their own
    assert out[1].data.asnumpy()[0].tolist() == [0, 1, 2]
    any_store.row_sparse_pull("w", out=out, row_ids=[mx.nd.array([1], dtype="int64"), mx.nd.array([3, 1], ctx=TWO[1])])
    assert [part.indices.asnumpy().tolist() for part in out] == [[1], [1, 3]]
    assert out[1].data.asnumpy()[1].tolist() == [9, 10, 11]
    any_store.pull("w", out=out[0])
    assert out[0].indices.shape == (1,)  # pull() leaves sparse arrays alone, unless asked
    any_store.pull("w", out=out[0], ignore_sparse=False)
    assert out[0].indices.shape == (4,)
    for wrong in ([4], [-1], [0.5]):
        refused(mx.RowIndexError, "the value has 4 rows", any_store.row_sparse_pull, "w", out=out[0], row_ids=mx.nd.array(wrong))
    with pytest.raises(mx.StorageTypeError, match="out of row_sparse_pull must be row_sparse"):
        any_store.row_sparse_pull("w", out=array(0), row_ids=mx.nd.array([0]))
    refused(mx.ShapeError, "3 row_ids", any_store.row_sparse_pull, "w", out=out, row_ids=[mx.nd.array([0])] * 3)
    refused(mx.DTypeError, "row_ids must be an NDArray, got NoneType", any_store.row_sparse_pull, "w", out=out[0])


def test_an_updater_of_ones_own(store):
    store.init(3, array(1))

    def update(key, pushed, value):
        value += pushed * key

    store._set_updater(update)
    store.push(3, array(2))
    assert (pulled(store, 3) == 7).all()
    refused(mx.SparsekitError, "no optimizer", store.save_optimizer_states, "none")


def test_what_is_refused(store):
    store.init("w", array(1))
    wrong = {
        "twice": (lambda: store.init("w", array(1)), mx.SparsekitError, "initialized already"),
        "unknown": (lambda: store.push("v", array(1)), KeyError, "has not been initialized"),
        "shape": (lambda: store.push("w", mx.nd.ones(2)), mx.ShapeError, "shape"),
        "numpy": (lambda: store.push("w", np.ones(SHAPE)), mx.DTypeError, "not an NDArray"),
        "nothing": (lambda: store.pull("w"), mx.DTypeError, "NoneType"),
        "key": (lambda: store.init(1.5, array(1)), mx.DTypeError, "A key"),
        "lists": (lambda: store.push(["w", "w"], [array(1)]), mx.ShapeError, "2 keys"),
        "empty": (lambda: store.push("w", []), mx.ShapeError, "list of arrays for key .* is empty"),
        "optimizer": (lambda: store.set_optimizer("sgd"), mx.DTypeError, "Optimizer"),
        "capability": (lambda: store.is_capable("flight"), mx.UnknownNameError, "optimizer"),
        "compression": (lambda: store.set_gradient_compression({"type": "2bit"}), mx.UnsupportedError, "compression"),
    }
    for act, error, text in wrong.values():
        refused(error, text, act)


@pytest.mark.parametrize("name", ["nccl", "horovod", "byteps", "p3", "dist_p3"])
def test_kinds_for_communicating_gpus_are_named(name):
    refused(mx.UnsupportedError, "use 'device' on one machine, and 'dist_sync' on several", mx.kv.create, name)


def test_names_that_are_unknown():
    refused(mx.UnknownNameError, "'local'", mx.kv.create, "locale")
    refused(mx.DTypeError, "must be a string", mx.kv.create, 3)


GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "kvstore.json").read_text(encoding="utf-8"))
CALLS = dict(runpy.run_path(str(Path(__file__).with_name("nestings.py")))["cases"](mx))


def test_every_nesting_that_mxnet_takes_gives_what_it_gives():
    differing = {}
    for name, wanted in GOLDEN.items():
        found = CALLS[name]()
        if found != wanted:
            differing[name] = found, wanted
    assert len(GOLDEN) > 250
    assert differing == {}


def test_other_nestings_work_or_are_refused_by_name():
    for name in sorted(CALLS.keys() - GOLDEN.keys()):
        try:
            CALLS[name]()
        except mx.SparsekitError as error:
            assert error.hint, name  # noqa: PT017 - either way is right


def test_a_key_given_twice_is_one_step_of_the_optimizer():
    store = mx.kv.create()
    store.init("w", mx.nd.zeros((2,)))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
    store.push(["w", "w"], [mx.nd.ones((2,)), mx.nd.ones((2,))])
    store.push("w", mx.nd.zeros((2,)))
    out = mx.nd.zeros((2,))
    store.pull("w", out=out)
    assert out.asnumpy().tolist() == [-3.0, -3.0]  # one step of 2, then its momentum
