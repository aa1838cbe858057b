"""A run goes on with another number of servers and workers, at the last step that all servers have."""

import itertools
import os
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import FencedError, LostDataError
from sparsekit.dist import partition
from sparsekit.dist import resume as resuming
from sparsekit.dist.journal import manifest_of
from sparsekit.dist.messages import KeySpec, Pull, Push, Request
from sparsekit.dist.partition import Partition, dealt
from sparsekit.dist.resume import resume
from sparsekit.dist.shard import Shard
from sparsekit.dist.states import join_states, split_states
from sparsekit.optimizer.optimizer import registry
from sparsekit.optimizer.states import arrays_of, described, unpack

from .histories import small_blocks
from .simple import Keys, equal, full, gradient, one_process

NAMES = sorted(set(registry) - {"ccsgd"})


@pytest.fixture(autouse=True)
def _small():
    with small_blocks(lambda: None):
        yield


def create(name, **more):
    settings = {"sgd": {"momentum": 0.9}, "groupadagrad": {}, "lbsgd": {"batch_scale": 2, "momentum": 0.5}}
    return mx.optimizer.create(name, learning_rate=0.1, **{**settings.get(name, {"wd": 0.1}), **more})


def scene(stype, workers=2, steps=6, dtype="float32"):
    random = np.random.default_rng(4)
    shapes = {"w": (30, 2), 7: (11, 3)}
    values = {key: full(mx.nd.array(random.normal(size=shape), dtype=dtype).tostype(stype)) for key, shape in shapes.items()}
    return values, [{key: [gradient(random, shape, stype, dtype) for _ in range(workers)] for key, shape in shapes.items()}
                    for _ in range(steps)]


def servers(folder, keys, workers=2, optimizer=None):
    """Servers in a folder; with an optimizer, which they get, they hold the keys."""
    made = [Shard(folder and str(folder), index, keys.shards, workers) for index in range(keys.shards)]
    if optimizer is not None:
        keys.init(made)
        for shard in made:
            shard.optimizer(0, 0, 1, described(optimizer))
    return made


def pushed(shards, keys, gradients, step, ranks=(0, 1), life=0, on=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rank, (index, shard) in itertools.product(ranks, enumerate(shards)):
            if on is None or index in on:
                shard.exchange(Request(rank, life, 0, keys.pushes(gradients[step - 1], rank, step, index)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_every_optimizer_goes_on_as_one_process(name, stype, tmp_path):
    number = NAMES.index(name) + (stype == "default")
    half = number % 3 == 0
    counts = [(2, 3), (3, 1), (1, 2), (3, 2)][number % 4]
    values, gradients = scene(stype, steps=4, dtype="float16" if half else "float32")
    mx.random.seed(3)
    wanted = one_process(values, gradients, create(name, multi_precision=half))
    optimizer = create(name, multi_precision=half)
    keys = Keys(values, counts[0], optimizer)
    mx.random.seed(3)
    shards = servers(tmp_path, keys, optimizer=optimizer)
    for step in (1, 2, 3):
        pushed(shards, keys, gradients, step)
    assert resume(str(tmp_path), counts[1]).shards == counts[1]
    keys = Keys(values, counts[1], optimizer, earlier=counts[0])
    shards = servers(tmp_path, keys)
    assert equal(keys.whole(shards, 0, 3), wanted[2])
    assert equal(keys.whole(shards, 0, 2), wanted[1])  # for a worker that makes step 3 again
    for step in (3, 4):
        pushed(shards, keys, gradients, step)
        assert equal(keys.whole(shards, 0, step), wanted[step - 1]), step


@pytest.mark.parametrize("snapshots", [(), (3, 4), (4, 4)])
def test_servers_that_are_ahead_go_back(snapshots, tmp_path):
    """One server has step 4, the others step 3 and parts of the next; also where it has written snapshots since."""
    values, gradients = scene("row_sparse")
    optimizer = create("adam")
    wanted = one_process(values, gradients, create("adam"))
    keys = Keys(values, 3, optimizer)
    shards = servers(tmp_path, keys, optimizer=optimizer)
    for step in (1, 2, 3):
        pushed(shards, keys, gradients, step)
        if step in snapshots:
            assert shards[1].snapshot()
    pushed(shards, keys, gradients, 4, on=[1])
    pushed(shards, keys, gradients, 4, ranks=[0], on=[2])
    for _ in range(snapshots.count(4)):
        shards[1].snapshot()
        shards[1].hello(0, shards[1].lives[0] + 1)
    resume(str(tmp_path), 2)
    keys = Keys(values, 2, optimizer)
    shards = servers(tmp_path, keys)
    assert [shard.hello(1, 0).last for shard in shards] == [dict.fromkeys(shard.keys, 3) for shard in shards]
    assert equal(keys.whole(shards, 0, 3), wanted[2])
    pushed(shards, keys, gradients, 4)
    assert equal(keys.whole(shards, 0, 4), wanted[3])


def test_keys_and_commands_that_not_all_servers_have_are_given_again(tmp_path):
    values, gradients = scene("default")
    keys = Keys(values, 2)
    shards = servers(tmp_path, keys)
    keys.init(shards[:1])
    assert len(keys.partitions["w"].holders) == 2
    shards[0].optimizer(0, 0, 1, described(create("sgd")))
    resume(str(tmp_path), 3)
    keys = Keys(values, 3)
    shards = servers(tmp_path, keys)
    assert all("w" not in shard.hello(0, 0).specs for shard in shards)
    assert all(shard.hello(0, 0).optimizer == 0 for shard in shards)
    keys.init(shards)
    for shard in shards:
        shard.optimizer(0, 0, 1, described(create("sgd")))
    pushed(shards, keys, gradients, 1)
    assert equal(keys.whole(shards, 0, 1), one_process(values, gradients[:1], create("sgd"))[0])


def test_workers_may_be_more_or_fewer(tmp_path):
    values, gradients = scene("default", workers=3)
    keys = Keys(values, 2)
    shards = servers(tmp_path, keys)
    keys.init(shards)
    pushed(shards, keys, gradients, 1)
    shards[0].leave(1, 0)
    for shard in shards:
        shard.barrier(0, 0, 1)
    assert resume(str(tmp_path), workers=3).workers == 3
    for shard in shards:
        with pytest.raises(FencedError):  # of the run before, if it was only frozen
            shard.hello(0, 0)
    shards = servers(tmp_path, keys, workers=3)
    for shard in shards:
        welcome = shard.hello(2, 0)
        assert (set(welcome.last.values()), welcome.left) == ({1}, ())
    pushed(shards, keys, gradients, 2, ranks=(0, 1, 2))
    assert equal(keys.whole(shards, 0, 2), one_process(values, gradients)[1])


def test_an_asynchronous_run_keeps_the_pushes_that_all_servers_have(tmp_path):
    spec = dealt(KeySpec((40, 1), "float32"))
    before = Partition("w", spec, 2)
    assert before.holders == (0, 1)
    shards = [Shard(str(tmp_path), index, 2, 2, "async") for index in range(2)]
    for index, shard in enumerate(shards):
        shard.init(0, 0, "w", spec, None, np.zeros(before.local_shape(index), np.float32))
        shard.optimizer(0, 0, 1, described(mx.optimizer.Test()))

    def push(shard, index, rank, sequence, value):
        shard.exchange(Request(rank, 0, 0, (Push("w", sequence, None, np.full(before.local_shape(index), value, np.float32)),)))

    for index, shard in enumerate(shards):
        push(shard, index, 0, 1, 1)
        push(shard, index, 1, 1, 10)
    push(shards[0], 0, 1, 2, 1000)
    push(shards[1], 1, 0, 2, 2000)
    resume(str(tmp_path), 1)
    (shard,) = [Shard(str(tmp_path), 0, 1, 2, "async")]
    assert shard.hello(0, 0).last == shard.hello(1, 0).last == {"w": 1}
    assert set(shard.exchange(Request(0, 0, 0, (), (Pull("w", 1),))).values[0].reshape(-1)) == {11}


@pytest.mark.parametrize("shards", [2, 3])
def test_a_run_whose_journal_does_not_say_the_size_of_blocks_goes_on(tmp_path, shards):
    """As many servers read what earlier versions dealt as it was dealt; others get the rows as they are dealt today."""
    random = np.random.default_rng(5)
    values = {"w": full(mx.nd.array(random.normal(size=(1200, 2))).tostype("row_sparse"))}
    gradients = [{"w": [gradient(random, (1200, 2), "row_sparse") for _ in range(2)]} for _ in range(2)]
    before = Keys(values, 2)
    before.specs = {"w": KeySpec((1200, 2), "float32", "row_sparse", "rows")}
    before.partitions = {"w": Partition("w", before.specs["w"], 2)}
    assert [before.partitions["w"].count(shard) for shard in range(2)] in ([688, 512], [512, 688])  # 3 blocks of 256, and 2
    made = servers(tmp_path, before)
    before.init(made)
    pushed(made, before, gradients, 1)
    after = before if shards == 2 else Keys(values, 3)
    if shards == 3:
        resume(str(tmp_path), 3)
    made = servers(tmp_path, after)
    wanted = one_process(values, gradients)
    assert equal(after.whole(made, 0, 1), wanted[0])
    pushed(made, after, gradients, 2)
    assert equal(after.whole(made, 0, 2), wanted[1])
    assert made[0].keys["w"].spec.placement == ("rows" if shards == 2 else f"rows:{partition.ROWS}")


def test_a_resumption_that_ends_in_its_midst_can_be_made_again(tmp_path, monkeypatch):
    values, gradients = scene("row_sparse")
    keys = Keys(values, 2)
    shards = servers(tmp_path, keys)
    keys.init(shards)
    pushed(shards, keys, gradients, 1)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resuming, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            resume(str(tmp_path), 3)
    assert manifest_of(str(tmp_path)).shards == 2
    resume(str(tmp_path), 3)
    assert sorted(os.listdir(tmp_path)) == ["manifest.json", "servers-3"]
    keys = Keys(values, 3)
    assert equal(keys.whole(servers(tmp_path, keys), 0, 1), one_process(values, gradients)[0])


def test_an_empty_folder_holds_no_run(tmp_path):
    with pytest.raises(LostDataError, match="holds no run"):
        resume(str(tmp_path), 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_states_of_all_servers_are_the_states_of_one_process(name, stype):
    values, gradients = scene(stype, steps=3)
    store = mx.kv.create("local")
    for key, value in values.items():
        store.init(key, full(value))
    optimizer = create(name)
    mx.random.seed(3)
    store.set_optimizer(create(name))
    keys = Keys(values, 3, optimizer)
    shards = servers(None, keys, optimizer=optimizer)
    for step in (1, 2, 3):
        pushed(shards, keys, gradients, step)
        for key, arrays in gradients[step - 1].items():
            store.push(key, arrays)
    joined = join_states([shard.optimizer_states(True) for shard in shards], keys.specs)
    (found, settings), (wanted, _) = unpack(joined), unpack(store._updater.get_states())
    assert set(found) == set(wanted)
    for key in wanted:
        for one, other in zip(arrays_of(found[key]), arrays_of(wanted[key]), strict=True):
            assert (one.stype, one.asnumpy().tobytes()) == (other.stype, other.asnumpy().tobytes())
    assert settings.num_update == store._updater.optimizer.num_update
    for shard, part in zip(shards, split_states(joined, keys.specs, 3), strict=True):
        shard.set_optimizer_states(0, 0, 1, part)
    again = join_states([shard.optimizer_states() for shard in shards], keys.specs)
    assert [one.asnumpy().tobytes() for state in unpack(again)[0].values() for one in arrays_of(state)] == [
        one.asnumpy().tobytes() for state in found.values() for one in arrays_of(state)]
