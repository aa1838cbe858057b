"""What one server does: steps, waiting, undo, leaving, losing, fencing, recovery; without network, clock or threads."""

import subprocess
import sys

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import (
    FencedError,
    LostDataError,
    LostWorkerError,
    MismatchError,
    SparsekitError,
    UpdateError,
)
from sparsekit.dist import journal
from sparsekit.dist.journal import LIVES
from sparsekit.dist.messages import KeySpec, Pull, Push, Request, Waiting
from sparsekit.dist.shard import Shard
from sparsekit.optimizer.states import described

SPEC = KeySpec((4, 2), "float32", "row_sparse")
DENSE = KeySpec((3,), "float32")


def made(folder=None, workers=2, optimizer=None, **more):
    shard = Shard(None if folder is None else str(folder), 0, 1, workers, **more)
    if not shard.keys:
        shard.init(0, 0, "w", SPEC, None, np.ones((4, 2), np.float32))
        shard.init(0, 0, 5, DENSE, None, np.zeros(3, np.float32))
        if optimizer is not None:
            shard.optimizer(0, 0, 1, described(optimizer))
    return shard


def push(rank, sequence, rows=(0, 2), value=1.0, key="w", life=0, **more):
    values = np.full((len(rows), 2), value, np.float32)
    return Request(rank, life, 0, (Push(key, sequence, np.array(rows, np.int32), values),), **more)


def pull(rank, version, rows=None, key="w", life=0):
    return Request(rank, life, 0, (), (Pull(key, version, None if rows is None else np.array(rows, np.int32)),))


def test_pushes_may_be_several_steps_ahead_of_slower_ranks():
    shard = made(optimizer=mx.optimizer.Test())
    for step in (1, 2, 3):
        shard.exchange(push(0, step, value=10 ** step))
    for step in (1, 2):
        shard.exchange(push(1, step, value=0))
    assert shard.exchange(pull(0, 2, rows=[0])).values[0].tolist() == [[111, 111]]
    assert isinstance(shard.exchange(pull(0, 3)), Waiting)
    shard.exchange(push(1, 3, value=0))
    assert shard.exchange(pull(0, 3, rows=[0])).values[0].tolist() == [[1111, 1111]]


def test_the_reply_names_all_keys_to_a_worker_that_knows_another_epoch():
    shard = made(workers=1)
    assert shard.exchange(push(0, 1)).last == {"w": 1, 5: 0}
    assert shard.exchange(push(0, 2)._replace(epoch_known=1)).last == {"w": 2}


@pytest.mark.parametrize(("wrong", "says"), [
    (Push("w", 1, None, np.zeros((4, 3), np.float32)), r"shape \(4, 3\)"),
    (Push("w", 1, None, np.zeros((3, 2), np.float32)), r"shape \(3, 2\)"),
    (Push("w", 1, None, np.zeros((4, 2), np.float64)), "float64"),
    (Push("w", 1, np.array([0, 1]), np.zeros((1, 2), np.float32)), r"shape \(1, 2\)"),
    (Push("w", 1, np.array([1, 0]), np.zeros((2, 2), np.float32)), "ascending"),
    (Push("w", 1, np.array([1, 1]), np.zeros((2, 2), np.float32)), "ascending"),
    (Push("w", 1, np.array([-1, 1]), np.zeros((2, 2), np.float32)), "ascending"),
    (Push("w", 1, np.array([1, 4]), np.zeros((2, 2), np.float32)), "ascending"),
    (Push("w", 1, np.array([0.0, 1.0]), np.zeros((2, 2), np.float32)), "ascending"),
    (Push("v", 1, None, np.zeros((4, 2), np.float32)), "not been initialized"),
])
def test_a_push_that_does_not_fit_is_refused_with_rank_key_and_step(wrong, says):
    shard = made()
    fits = Push(5, 1, None, np.ones(3, np.float32))
    with pytest.raises(MismatchError, match=says) as raised:
        shard.exchange(Request(1, 0, 0, (fits, wrong)))
    assert (raised.value.rank, raised.value.key, raised.value.step) == (1, wrong.key, 1)
    assert shard.hello(1, 0).last == {"w": 0, 5: 0}  # nothing of the request was applied


def test_a_key_keeps_its_shape_and_type():
    shard = made()
    shard.init(1, 0, "w", SPEC._replace(placement="whole:0"), None, np.zeros((4, 2), np.float32))
    assert shard.exchange(pull(0, 0, rows=[0])).values[0].tolist() == [[1, 1]]  # the first one counts
    for other in (SPEC._replace(shape=(4, 3)), SPEC._replace(dtype="float16"), SPEC._replace(stype="default")):
        with pytest.raises(MismatchError, match="key 'w'") as raised:
            shard.init(1, 0, "w", other, None, np.zeros(other.shape, other.dtype))
        assert raised.value.rank == 1


def test_a_rank_that_is_none_of_the_workers():
    with pytest.raises(MismatchError, match="Rank 2 is not one of the 2 workers"):
        made().hello(2, 0)


def test_a_row_sparse_key_of_zeros_takes_no_rows():
    shard = Shard(None, 0, 1, 1)
    spec = KeySpec((1_000_000, 100), "float32", "row_sparse")
    shard.init(0, 0, "w", spec, np.zeros(0, np.int32), np.zeros((0, 100), np.float32))
    assert shard.statistics()["state_bytes"] == 0
    assert shard.exchange(pull(0, 0, rows=[7, 999_999])).values[0].tolist() == [[0.0] * 100] * 2


@pytest.mark.parametrize("rows", [[4], [-1], [[0]], [0.5]])
def test_rows_that_are_not_here_are_refused(rows):
    with pytest.raises(MismatchError, match="does not hold") as raised:
        made().exchange(Request(1, 0, 0, (), (Pull("w", 0, np.array(rows)),)))
    assert (raised.value.rank, raised.value.key) == (1, "w")


# versions that are gone


def test_what_was_pulled_is_not_written_to_any_more():
    shard = made(workers=1, optimizer=mx.optimizer.Test())
    pulled = [shard.exchange(pull(0, 0)).values[0]]
    for step in (1, 2):
        shard.exchange(Request(0, 0, 0, (Push("w", step, None, np.ones((4, 2), np.float32)),)))
        pulled += [shard.exchange(pull(0, version)).values[0] for version in (step, step - 1)]
    assert [one[0, 0] for one in pulled] == [1, 2, 1, 3, 2]


# workers that go


def test_a_rank_that_leaves_is_not_waited_for():
    shard = made(workers=3, optimizer=mx.optimizer.Test())
    shard.exchange(push(0, 1))
    shard.exchange(push(1, 1, value=5))
    shard.leave(1, 0)  # what it has pushed counts
    assert shard.exchange(pull(0, 1)).reasons == (("w", 1, (2,)),)
    shard.leave(2, 0)
    assert shard.exchange(pull(0, 1, rows=[0])).values[0].tolist() == [[7, 7]]
    shard.exchange(push(1, 1))  # a repetition
    with pytest.raises(MismatchError, match="has left"):
        shard.exchange(push(1, 2))
    shard.exchange(push(0, 2))
    shard.leave(0, 0)  # the last one completes what is there
    assert shard.exchange(pull(0, 2, rows=[0])).values[0].tolist() == [[8, 8]]
    assert shard.hello(1, 1).left == (0, 1, 2)


def test_workers_that_have_left_are_waited_for_in_a_later_run(tmp_path):
    """By whichever worker of that run greets the server first."""
    shard = made(tmp_path, optimizer=mx.optimizer.Test())
    for rank in (0, 1):
        shard.exchange(push(rank, 1, life=LIVES))
        shard.leave(rank, LIVES)
    again = Shard(str(tmp_path), 0, 1, 2)
    assert again.left == {0, 1}
    again.hello(1, LIVES + 1)  # another incarnation of the same run
    assert again.left == {0, 1}
    again.hello(0, 2 * LIVES)
    assert again.exchange(push(0, 2, life=2 * LIVES)).last["w"] == 2
    assert again.exchange(pull(0, 2, life=2 * LIVES)).reasons == (("w", 2, (1,)),)
    again.leave(0, 2 * LIVES)
    again.hello(1, 2 * LIVES)
    assert again.left == {0}
    assert Shard(str(tmp_path), 0, 1, 2).left == {0}


def test_who_joins_late_leaves_those_alone_that_have_left(tmp_path):
    shard = Shard(str(tmp_path), 0, 1, 3)
    assert shard.join(0, True) == LIVES + 1
    assert shard.join(1, False) == LIVES + 1
    with pytest.raises(MismatchError, match="Rank 3 is not one of the 3 workers"):
        shard.join(3, False)
    assert 3 not in shard.lives
    shard.leave(0, LIVES + 1)
    assert shard.join(2, False) == LIVES + 1
    assert shard.left == {0}, "no one waits for rank 0"
    assert shard.join(2, False) == LIVES + 2, "another incarnation"
    assert shard.join(0, False) == LIVES + 2
    assert shard.left == set(), "it takes part again"
    for rank in range(3):
        shard.leave(rank, LIVES + 2)
    again = Shard(str(tmp_path), 0, 1, 3)
    assert again.left == {0, 1, 2}
    assert again.join(1, True) == 2 * LIVES + 1
    assert again.left == set(), "a later run has all workers"


def test_who_waits_for_a_lost_worker_is_told_its_rank_the_key_and_the_step():
    shard = made()
    shard.exchange(push(0, 1))
    shard.lost(1)
    assert shard.dead() == (1,)
    with pytest.raises(LostWorkerError) as raised:
        shard.exchange(pull(0, 1))
    assert (raised.value.rank, raised.value.key, raised.value.step) == (1, "w", 1)
    with pytest.raises(LostWorkerError) as raised:
        shard.barrier(0, 0, 1)
    assert (raised.value.rank, raised.value.step) == (1, 1)
    shard.hello(1, 1)
    assert shard.dead() == ()
    assert isinstance(shard.exchange(pull(0, 1)), Waiting)


def test_settings_are_kept_until_a_worker_says_others_or_is_another_one():
    shard = made(workers=1, optimizer=mx.optimizer.Test())

    def after(step, life, settings):
        shard.exchange(push(0, step, life=life, settings=settings))
        return shard.exchange(pull(0, step, rows=[0], life=life)).values[0][0, 0]

    assert after(1, 0, '{"rescale_grad": 10.0}') == 11
    assert after(2, 0, None) == 21
    shard.lost(0)  # it was slow, and is here again
    assert after(3, 0, None) == 31
    assert after(4, 0, '{"rescale_grad": 100.0}') == 131
    assert after(5, 1, None) == 231  # what was set stays set
    assert shard.settings == {}


def test_an_incarnation_of_a_worker_that_has_been_replaced_is_refused():
    shard = made()
    shard.hello(1, 7)
    for call in (lambda: shard.exchange(push(1, 1, life=6)), lambda: shard.hello(1, 6), lambda: shard.barrier(1, 6, 1),
                 lambda: shard.leave(1, 6), lambda: shard.init(1, 6, "v", DENSE, None, np.zeros(3, np.float32))):
        with pytest.raises(FencedError, match="Incarnation 6 of worker 1"):
            call()
    assert shard.exchange(push(1, 1, life=7)).last["w"] == 1


# the optimizer


def test_an_optimizer_that_fails_stops_its_key_alone(tmp_path):
    shard = made(tmp_path, workers=1, optimizer=mx.optimizer.GroupAdaGrad())
    with pytest.raises(UpdateError, match="two dimensions") as raised:
        shard.exchange(Request(0, 0, 0, (Push(5, 1, None, np.ones(3, np.float32)),)))
    assert (raised.value.rank, raised.value.key, raised.value.step) == (0, 5, 1)
    with pytest.raises(UpdateError):
        shard.exchange(pull(0, 1, key=5))
    shard = made(tmp_path, workers=1)
    with pytest.raises(UpdateError):
        shard.exchange(pull(0, 1, key=5))
    assert shard.exchange(push(0, 1)).last["w"] == 1


def test_an_optimizer_is_set_once_a_number():
    shard = made(workers=1, optimizer=mx.optimizer.Test())
    shard.exchange(push(0, 1))
    shard.optimizer(0, 0, 1, described(mx.optimizer.Test(rescale_grad=100)))
    shard.exchange(push(0, 2))
    assert shard.exchange(pull(0, 2, rows=[0])).values[0].tolist() == [[3, 3]]
    shard.optimizer(0, 0, 2, described(mx.optimizer.Test(rescale_grad=100)))
    shard.exchange(push(0, 3))
    assert shard.exchange(pull(0, 3, rows=[0])).values[0].tolist() == [[103, 103]]
    with pytest.raises(SparsekitError, match="cannot be made"):
        shard.optimizer(0, 0, 3, '{"name": "unheard_of", "settings": {"pairs": []}}')
    assert shard.hello(0, 0).optimizer == 2


def test_classes_of_users_are_given_to_the_server_and_not_read_from_its_files(tmp_path):
    class Halving(mx.optimizer.Optimizer):
        sums_over, in_order = "element", False

        def update(self, index, weight, grad, state):
            weight[:] = weight / 2

    given = {"optimizers": {"halving": Halving}}
    shard = made(tmp_path, workers=1, optimizer=Halving(), **given)
    shard.exchange(push(0, 1))
    assert made(tmp_path, workers=1, **given).exchange(pull(0, 1, rows=[0])).values[0].tolist() == [[0.5, 0.5]]
    with pytest.raises(SparsekitError, match="halving"):
        Shard(str(tmp_path), 0, 1, 1)


def test_a_key_moves_to_another_placement():
    shard = made(workers=1, optimizer=mx.optimizer.Adam())
    shard.exchange(push(0, 1))
    moved = SPEC._replace(placement="whole:0")
    shard.reinit(0, 0, "w", moved, None, np.full((4, 2), 7, np.float32))
    shard.reinit(0, 0, "w", moved, None, np.full((4, 2), 8, np.float32))  # a repetition
    assert shard.hello(0, 0).specs["w"] == moved
    assert shard.exchange(pull(0, 1, rows=[0])).values[0].tolist() == [[7, 7]]
    assert shard.exchange(push(0, 2)).last["w"] == 2
    shard.reinit(0, 0, 5, DENSE._replace(placement="whole:1"), None, None)
    assert 5 not in shard.hello(0, 0).specs


def test_states_are_given_out_and_taken_once_a_number():
    shard = made(workers=1, optimizer=mx.optimizer.AdaGrad(learning_rate=1.0))
    shard.exchange(push(0, 1))
    states = shard.optimizer_states()
    shard.exchange(push(0, 2))
    shard.set_optimizer_states(0, 0, 1, states)
    assert shard.optimizer_states() == states
    shard.exchange(push(0, 3))
    shard.set_optimizer_states(0, 0, 1, states)  # a repetition
    assert shard.optimizer_states() != states
    assert shard.hello(0, 0).states == 1


# files


def contents(shard):
    """All that a server would say."""
    return [(about, [array.tobytes() for array in arrays]) for about, arrays in shard._records()]


def busy(folder):
    """A server with everything that there is to remember."""
    shard = made(folder, workers=3, optimizer=mx.optimizer.LBSGD(momentum=0.9, batch_scale=2))
    shard.hello(2, 3)
    for step in (1, 2, 3):
        for rank in (0, 1, 2):
            life = 3 if rank == 2 else 0
            shard.exchange(push(rank, step, rows=(rank, 3), value=rank + step, life=life, settings='{"rescale_grad": 0.5}'))
    shard.exchange(push(1, 4, settings='{"rescale_grad": 0.25}'))
    shard.exchange(push(1, 5))
    shard.barrier(0, 0, 1)
    shard.lost(0)
    return shard


@pytest.mark.parametrize("snapshots", [0, 1, 2])
def test_a_server_that_starts_again_holds_what_it_held(tmp_path, snapshots):
    shard = busy(tmp_path)
    for _ in range(snapshots):
        assert shard.snapshot()
        shard.exchange(Request(1, 0, 0, (Push(5, 1 + shard.counts["snapshots"] - 1, None, np.ones(3, np.float32)),)))
    wanted = contents(shard)
    shard.close()
    again = Shard(str(tmp_path), 0, 1, 3, started_before=True)
    assert contents(again) == wanted
    assert again.hello(1, 0).last["w"] == 5
    assert again.epoch == 2
    for one in (shard, again):
        one._log = None
        one.exchange(push(0, 4, settings='{"rescale_grad": 2.0}'))
        one.exchange(push(2, 4, life=3))
    assert contents(shard)[1:] == contents(again)[1:]


def test_an_automatic_snapshot_keeps_the_journal_short(tmp_path):
    shard = made(tmp_path, workers=1, optimizer=mx.optimizer.SGD(), snapshot_bytes=4000)
    for step in range(1, 200):
        shard.exchange(push(0, step))
    assert shard.counts["snapshots"] > 3
    assert shard.statistics()["journal_bytes"] < 5000
    assert sum(file.stat().st_size for file in (tmp_path / "servers-1").iterdir()) < 30_000
    assert contents(Shard(str(tmp_path), 0, 1, 1)) == contents(shard)


def test_snapshots_of_an_unchanged_server_are_not_written(tmp_path):
    shard = made(tmp_path)
    assert shard.snapshot()
    assert not shard.snapshot()
    assert not Shard(str(tmp_path), 0, 1, 2).snapshot()
    assert not made().snapshot()


LIMITED = """
import resource, sys
import numpy as np
from sparsekit.base.errors import JournalFullError
from sparsekit.dist.messages import KeySpec, Pull, Push, Request
from sparsekit.dist.shard import Shard
shard = Shard(sys.argv[1], 0, 1, 1)
shard.init(0, 0, "w", KeySpec((500,), "float32"), None, np.zeros(500, np.float32))
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
done, refused = 0, 0
while refused < 3:
    try:
        shard.exchange(Request(0, 0, 0, (Push("w", done + 1, None, np.full(500, done + 1, np.float32)),)))
        done += 1
    except JournalFullError as error:
        assert "too large" in str(error), error
        refused += 1
assert shard.exchange(Request(0, 0, 0, (), (Pull("w", done),))).values[0][0] == done
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
shard.exchange(Request(0, 0, 0, (Push("w", done + 1, None, np.full(500, done + 1, np.float32)),)))
print(done, int(Shard(sys.argv[1], 0, 1, 1).exchange(Request(0, 0, 0, (), (Pull("w", done + 1),))).values[0][0]))
"""


def test_a_disk_with_a_limit_of_the_system(tmp_path):
    done = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert before == 1
    assert after == before + 1


def test_a_server_that_freezes_between_its_record_and_its_check_does_not_answer(tmp_path, monkeypatch):
    frozen = made(tmp_path, workers=1)
    started = []
    check = journal.Log.check

    def late(self):
        if self is frozen._log and not started:
            started.append(None)
            started[0] = Shard(str(tmp_path), 0, 1, 1)
        check(self)

    monkeypatch.setattr(journal.Log, "check", late)
    with pytest.raises(FencedError):
        frozen.exchange(push(0, 1))
    assert started[0].exchange(push(0, 1)).last["w"] == 1  # it read the push, and takes the repetition for one
    assert started[0].counts["duplicates"] == 1


def test_a_server_whose_data_is_gone_says_so(tmp_path):
    with pytest.raises(LostDataError, match="kept no journal"):
        Shard(None, 0, 1, 1, started_before=True)
    with pytest.raises(LostDataError, match="has nothing of it"):
        Shard(str(tmp_path), 0, 1, 1, started_before=True)
    with pytest.raises(LostDataError, match="resume"):
        Shard(str(tmp_path), 0, 2, 1)


def test_a_server_that_ended_before_it_was_told_anything_has_lost_nothing(tmp_path):
    Shard(str(tmp_path), 0, 1, 1)
    assert Shard(str(tmp_path), 0, 1, 1, started_before=True).keys == {}


def test_an_interrupt_within_a_step_leaves_a_server_that_must_start_again(tmp_path, monkeypatch):
    shard = made(tmp_path, workers=1, optimizer=mx.optimizer.SGD())

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(shard.updater), "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shard.exchange(push(0, 1))
    with pytest.raises(LostDataError, match="interrupted"):
        shard.exchange(pull(0, 1))
