"""One server and its files: what is refused, what is put aside, what a damaged snapshot says."""

import asyncio
import json

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import LostDataError, MismatchError
from sparsekit.dist.files import DamagedError, Snapshots
from sparsekit.dist.messages import Exchange, KeySpec, Pull, Push, Setup
from sparsekit.dist.server import Server
from sparsekit.optimizer.states import described

SPEC = KeySpec((5, 2), "float32", "row_sparse", "rows:16")


def run(program, setup=None, **more):
    """What ``program(server, call)`` gives, with a server in its first epoch; ``call`` raises what the server raises."""
    async def whole():
        server = Server(0)
        await server.restore(1, setup or Setup(2, 1, **more), None)

        async def call(method, *arguments):
            fine, value = await server.call(1, method, arguments)
            if not fine:
                raise value
            return value

        return await program(server, call)
    return asyncio.run(whole())


async def begun(call, optimizer=None):
    """A key of ones, and an optimizer."""
    await asyncio.gather(*(call("meet", rank, "init", 1, [("w", SPEC, None, np.ones((5, 2), np.float32))]) for rank in range(2)))
    if optimizer is not None:
        await asyncio.gather(*(call("meet", rank, "optimizer", 1, described(optimizer)) for rank in range(2)))


def push(rank, number, rows=(0, 2), value=1.0, **more):
    rows = np.array(rows, np.int32)
    one = Push("w", number, rows, np.full((len(rows), 2), value, np.float32))
    return Exchange(rank, 2 * number, (one._replace(**more),))


@pytest.mark.parametrize(("wrong", "says"), [
    ({"values": np.ones((2, 3), np.float32)}, r"of shape \(2, 3\) for key 'w' at step 1"),
    ({"values": np.ones((2, 2))}, "float64 values"), ({"rows": np.array([2, 0])}, "not ascending"),
    ({"rows": np.array([0, 5])}, "not ascending numbers below 5"), ({"key": "v"}, "key 'v', which has not been initialized"),
    ({"sequence": 2}, "pushes key 'w' for the 2-th time, after its 0-th"),
    ({"threshold": 0.5}, "a compressed gradient for key 'w' at step 1")])
def test_a_push_that_does_not_fit_is_refused_with_rank_key_and_step_and_changes_nothing(wrong, says):
    async def program(server, call):
        await begun(call)
        with pytest.raises(MismatchError, match=says) as error:
            await call("exchange", push(1, 1, **wrong))
        assert error.value.rank == 1
        assert server.keys["w"].last == {}
        await call("exchange", push(1, 1))
    run(program)


@pytest.mark.parametrize("rows", [np.array([5]), np.array([-1]), np.array([0.0]), np.array([[0]])])
def test_rows_that_are_not_here_are_refused(rows):
    async def program(server, call):
        await begun(call)
        with pytest.raises(MismatchError, match="pulls rows of key 'w'"):
            await call("exchange", Exchange(0, 2, (), (Pull("w", 0, rows),)))
    run(program)


def test_an_optimizer_that_fails_stops_its_key_alone():
    async def program(server, call):
        await begun(call, mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(1)))
        server.updater.optimizer.lr_scheduler = lambda count: 1 / 0
        waiting = [asyncio.ensure_future(call("exchange", push(rank, 1)._replace(pulls=(Pull("w", 1),)))) for rank in range(2)]
        for one in waiting:
            with pytest.raises(mx.UpdateError, match="step 1 of key 'w' failed on server 0: ZeroDivisionError"):
                await one
    run(program)


def test_a_sum_that_waits_for_a_worker_is_closed_when_that_leaves():
    async def program(server, call):
        await begun(call)
        waiting = asyncio.ensure_future(call("exchange", push(0, 1)._replace(pulls=(Pull("w", 1),))))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await call("exchange", Exchange(1, 1, leaves=True))
        await asyncio.wait_for(waiting, 10)
        assert server.keys["w"].version == 1
    run(program)


def test_the_state_of_a_worker_is_that_of_a_step_which_has_ended():
    async def program(server, call):
        await begun(call)
        await call("resume", 0)
        state = 1, "{}", []
        await call("exchange", push(0, 1)._replace(ended="before", state=state))
        assert server.worker_states == {0: state}
        await call("exchange", push(0, 2)._replace(state=(2, "{}", [])))
        assert server.worker_states == {0: state}
        await call("exchange", Exchange(0, 6, state=(3, "{}", []), leaves=True))
        assert server.worker_states[0][0] == 3
    run(program)


def test_schedules_follow_the_steps_of_the_worker():
    async def program(server, call):
        schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1.0)
        await begun(call, mx.optimizer.SGD(lr_scheduler=schedule))
        for rank in range(2):
            await call("exchange", push(rank, 1, rows=(0,), clock=3))
        return server.updater.optimizer.num_update
    assert run(program) >= 3


def steps(folder, every, optimizer="adam", rows=4000, lazy=True):
    """A server that takes a snapshot at step 2 and goes on; what it held then, its report, and bytes put aside."""
    async def program(server, call):
        spec = KeySpec((rows, 4), "float32", "row_sparse", "rows:16")
        await call("meet", 0, "init", 1, [("w", spec, None, np.ones((rows, 4), np.float32))])
        await call("meet", 0, "optimizer", 1, described(mx.optimizer.create(optimizer, lazy_update=lazy)))
        await call("resume", 0)
        for step in range(1, 12):
            ids = np.arange(step, rows, every, dtype=np.int32)
            one = Push("w", step, ids, np.full((len(ids), 4), step, np.float32))
            state, mark = (step, str(step), []), 2 if step == 1 else 0
            await call("exchange", Exchange(0, 2 * step, (one,), (), None, "after", state, mark))
            if step == 2:
                held = server.keys["w"].value.asnumpy()
        while not server.reports:
            await asyncio.sleep(0.001)
        return held, server.reports[2], server.counts["aside_bytes"]
    (folder / "token").touch()
    return run(program, Setup(1, 1, str(folder), "token", 2))


def test_a_snapshot_has_what_was_there_and_only_touched_rows_are_held_twice(tmp_path):
    held, told, aside = steps(tmp_path, 40)
    assert 0 < aside <= 9 * 100 * 48 * 1.1  # nine steps of 100 rows, with value and states of Adam
    snapshots = Snapshots(tmp_path)
    assert snapshots.collect(0, {2: told}, 1, 1, 1) == 2
    manifest, warnings = snapshots.begin()
    assert (manifest["step"], warnings) == (2, [])

    async def again():
        server = Server(0)
        await server.restore(2, Setup(1, 1, str(tmp_path), "token"), manifest)
        return server.keys["w"].value.asnumpy(), server.worker_states
    found, states = asyncio.run(again())
    assert found.tobytes() == held.tobytes()
    assert states[0] == (2, "2", [])


@pytest.mark.parametrize("how", ["shortened", "missing", "zeroed", "one byte"])
def test_a_damaged_part_is_named_and_the_snapshot_before_it_counts(tmp_path, how):
    _, told, _ = steps(tmp_path, 40)
    path = tmp_path / told["file"]
    snapshots = Snapshots(tmp_path)
    snapshots.collect(0, {2: told}, 1, 1, 1)
    data = path.read_bytes()
    whole = {"shortened": data[:-100], "missing": b"", "zeroed": bytes(len(data)),
             "one byte": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]}[how]
    path.write_bytes(whole) if whole else path.unlink()
    manifest, _ = snapshots.begin()
    with pytest.raises(DamagedError, match=f"The snapshot file {path} "):
        asyncio.run(Server(0).restore(2, Setup(1, 1, str(tmp_path), "token"), manifest))
    snapshots.refuse(manifest)
    with pytest.raises(LostDataError, match=r"No snapshot in .* is whole"):
        snapshots.begin()


def test_two_snapshots_are_kept_and_what_belongs_to_none_goes(tmp_path):
    snapshots = Snapshots(tmp_path)
    for step in (1, 2, 3):
        (tmp_path / f"step-{step:09}.7.part-0").touch()
        told = {"file": f"step-{step:09}.7.part-0", "size": 0, "header": 0, "chunks": []}
        assert snapshots.collect(0, {step: told}, 1, 1, 7) == step
    (tmp_path / "step-000000009.7.part-0").touch()
    manifest, _ = snapshots.begin()
    assert manifest["step"] == 3
    left = sorted(path.name for path in tmp_path.glob("step-*"))
    assert left == [f"step-00000000{step}.7.{end}" for step in (2, 3) for end in ("json", "part-0")]
    text = json.loads((tmp_path / "step-000000003.7.json").read_text())
    (tmp_path / "step-000000003.7.json").write_text(json.dumps([text[0], text[1].replace("3", "4")]))
    assert snapshots.begin()[0]["step"] == 2


def test_a_push_that_differs_from_the_one_before_the_run_went_back_is_said_once(tmp_path):
    async def program(server, call):
        for epoch, value in ((1, 1.0), (2, 1.0), (3, 2.0)):
            await server.restore(epoch, server.setup, None)
            await server.call(epoch, "meet", (0, "init", 1, [("w", SPEC, None, np.ones((5, 2), np.float32))]))
            assert await server.call(epoch, "exchange", (push(0, 1, value=value),)) is not None
            assert bool(server.ping()["differs"]) == (epoch == 3)
        assert "Rank 0 pushes other numbers to key 'w' for the 1-th time" in server.ping()["differs"]
    (tmp_path / "token").touch()
    run(program, Setup(1, 1, str(tmp_path), "token", 2))
