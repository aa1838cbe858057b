"""The profile of a distributed run: what was moved, exactly; clocks; who waited for whom."""

import json
import threading
import time

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.dist import seen
from sparsekit.dist.client import Client
from sparsekit.dist.messages import KeySpec, Push
from sparsekit.dist.partition import Partition, dealt
from sparsekit.dist.transport import LocalCluster
from sparsekit.profiler.processes import Answer, difference, offset_of, server_profile

ROWS, WIDTH, STEPS = 5000, 4, 5


def rows_of(rank, step):
    return np.unique(np.random.default_rng([rank, step]).integers(0, ROWS, 60))


def train(before=lambda rank, step: None, steps=STEPS, mode="dist_sync"):
    """A key of rows and a dense one, a push and a pull of both in one round trip for each step."""
    kv = mx.kv.create(mode)
    kv.init(["table", "bias"], [mx.nd.zeros((ROWS, WIDTH)).tostype("row_sparse"), mx.nd.zeros((100,))])
    kv.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1))
    out, bias = mx.nd.sparse.zeros("row_sparse", (ROWS, WIDTH)), mx.nd.zeros((100,))
    for step in range(steps):
        before(kv.rank, step)
        rows = rows_of(kv.rank, step)
        kv.push("bias", mx.nd.ones((100,)))
        kv.push("table", mx.nd.sparse.row_sparse_array((np.ones((len(rows), WIDTH), "f"), rows), shape=(ROWS, WIDTH)))
        kv._pull_both([("bias", [bias])], [("table", [out], mx.nd.array(rows))])
    return kv.statistics()


def profiled(workers=2, servers=2, **options):
    """A merged profile, with what the workers returned."""
    cluster = LocalCluster(servers, workers)
    with mx.Profiler() as prof:
        found = cluster.run(lambda: train(**options))
    return mx.profiler.merge([prof, *cluster.profiles()]), found


@pytest.fixture(scope="module")
def run():
    """Rank 1 begins each step 0.03 s after rank 0 has begun to wait for it."""
    reached, wait = [0], seen.Call.wait

    def noted(self):
        wait(self)
        if self.rank == 0 and self.message is not None:
            reached[0] = max([reached[0], *(pull.version for pull in self.message.pulls)])

    def before(rank, step):
        end = time.monotonic() + 60
        while rank == 1 and reached[0] < step + 1:
            assert time.monotonic() < end, "rank 0 does not wait"
            time.sleep(0.001)
        time.sleep(0.03 * rank)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seen.Call, "wait", noted)
        return profiled(before=before)


def test_each_process_has_its_lanes(run):
    merged, _ = run
    lanes = {process.name: {record["lane"] for record in merged.process(process.name).records} for process in merged.processes}
    assert list(lanes) == ["worker 0", "worker 1", "server 0", "server 1"]
    assert {"forward", "exchange", "wait"} <= lanes["worker 0"]
    assert {"serve", "apply"} == lanes["server 0"] == lanes["server 1"]
    assert {record["process"] for record in merged.records} == set(lanes)
    shown = merged.table(group_by="process")
    assert {(row["process"], row["lane"]) for row in shown} == {(name, lane) for name, some in lanes.items() for lane in some}
    assert sum(row["calls"] for row in shown) == merged.events == len(merged.records)
    assert repr(shown).startswith("process")


def test_bytes_and_rows_are_those_of_the_formula_and_servers_count_the_same(run):
    merged, counted = run
    found = merged.distributed()
    every = {row["process"]: row for row in found.processes}
    for rank in range(2):
        touched = sum(len(rows_of(rank, step)) for step in range(STEPS))
        own = {row["key"]: row for row in found.keys if row["process"] == f"worker {rank}"}
        table, bias = own["table"], own["bias"]
        assert table["rows_pushed"] == table["rows_pulled"] == touched
        assert table["bytes_pushed"] == table["bytes_pulled"] == touched * (4 * WIDTH + 4)  # values and int32 row numbers
        assert (bias["bytes_pushed"], bias["bytes_pulled"]) == (400 * STEPS, 400 * STEPS)
        assert (table["rows"], table["pushes"], table["pulls"], bias["rows"]) == (ROWS, STEPS, STEPS, 100)
        about = every[f"worker {rank}"]
        assert (about["sent"], about["received"]) == (counted[rank]["bytes_sent"], counted[rank]["bytes_received"])
        assert about["round_trips"] == counted[rank]["calls"]
    touched = sum(len(rows_of(rank, step)) for rank in range(2) for step in range(STEPS)) / (2 * STEPS)
    figure = found.figure()
    assert (f"pulls {touched:,.0f} and pushes {touched:,.0f} of 5,000 rows", "800") == (
        figure.finding.split("worker ")[1].split(" (")[0], figure.table.rows[1][4].split()[0])
    assert figure.alt in repr(found)
    servers = [every[f"server {index}"] for index in range(2)]
    assert sum(row["received"] for row in servers) == sum(one["bytes_sent"] for one in counted)
    assert sum(row["sent"] for row in servers) == sum(one["bytes_received"] for one in counted)
    assert [row["duplicates"] for row in servers] == [0, 0]
    loads = [{key: more for key, *more in process.about["loads"]} for process in merged.processes[2:]]
    touched = sum(len(rows_of(rank, step)) for rank in range(2) for step in range(STEPS))
    assert sum(load["table"][0] for load in loads) == sum(load["table"][2] for load in loads) == touched


def test_balance_is_that_of_the_partition(run):
    merged, _ = run
    cut = Partition("table", dealt(KeySpec((ROWS, WIDTH), "float32", "row_sparse")), 2)
    home = Partition("bias", dealt(KeySpec((100,), "float32")), 2).holders[0]
    loads = [0, 0]
    for rank in range(2):
        for step in range(STEPS):
            for part in cut.split(rows_of(rank, step)):
                loads[part.shard] += 2 * len(part.rows) * (4 * WIDTH + 4)
            loads[home] += 800
    loads[home] += 400  # the first value
    found = merged.distributed()
    assert [row["bytes"] for row in found.servers] == loads
    assert found.balance == pytest.approx(2 * max(loads) / sum(loads))
    assert sum(row["rows_held"] for row in found.servers) == ROWS + 100


def test_a_wait_says_for_whom_and_how_long(run):
    merged, counted = run
    waits = {(row["process"], *row["ranks"]): row for row in merged.distributed().waits}
    slow = waits["worker 0", 1]
    assert slow["waits"] >= STEPS
    assert 0.03 * STEPS <= slow["time"] / 1e6 <= merged.wall / 1e6
    assert slow["time"] / 1e6 == pytest.approx(counted[0]["waited"][1], rel=0.1, abs=0.01)
    for record in merged.records:
        if record["lane"] == "wait":  # within the exchange that it is part of
            end = record["start"] + record["duration"]
            around = [one for one in merged.records if one["lane"] == "exchange" and one["process"] == record["process"]
                      and one["start"] <= record["start"] and one["start"] + one["duration"] >= end]
            assert len(around) == 1


def skewed(cluster, clocks):
    """Servers whose clocks show something else."""
    for server, clock in zip(cluster.servers, clocks, strict=True):
        server.clock = server.log.clock = clock
        server.log.began = clock()


def test_clocks_are_aligned_within_the_stated_error():
    ahead = (4321.5, -777.25)
    cluster = LocalCluster(2, 2)
    skewed(cluster, [lambda one=one: time.perf_counter() + one for one in ahead])
    with mx.Profiler() as prof:
        cluster.run(train)
    merged = mx.profiler.merge([prof, *cluster.profiles()])
    processes = {process.name: process for process in merged.processes}
    # Both workers' clocks are the same here, and so their profile begins at the same time.
    for name in ("worker 0", "worker 1", "server 1"):
        assert 0 < processes[name].error < merged.wall
    gap = abs(processes["worker 0"].offset - processes["worker 1"].offset)
    assert gap <= processes["worker 0"].error + processes["worker 1"].error
    assert processes["server 0"].error == 0
    began = [float(processes[f"server {i}"].about["began"]) - ahead[i] for i in range(2)]
    apart = (processes["server 1"].offset - processes["server 0"].offset) / 1e6
    assert apart == pytest.approx(began[1] - began[0], abs=processes["server 1"].error / 1e6 + 1e-6)


def answers_of(random, true, count, pause):
    """How clocks that differ by so much answer in turn, over a network that takes its time."""
    found, now = [[] for _ in true], 0.0
    for place in [*range(len(true))] * count:
        there, back = random.exponential(300.0, 2)
        now += pause
        shown = now + there + true[place]
        found[place].append(Answer(now, shown - (now + there + back), shown - now))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_what_clocks_differ_by_lies_within_the_stated_error(seed):
    random = np.random.default_rng(seed)
    true, = random.normal(size=1) * 1e9
    (answers,) = answers_of(random, [true], 6, 1e6)
    found = offset_of(answers)
    assert abs(found.at(0.0) - true) <= found.error <= min((one.high - one.low) / 2 for one in answers) + 1e-3
    true = random.normal(size=2) * 1e9  # of two servers, which a worker asks
    found = offset_of(difference(*answers_of(random, true, 4, 2000.0)))
    assert abs(found.at(0.0) - (true[0] - true[1])) <= found.error + 1e-3
    assert found.error < 5000


def test_clocks_that_drift_begin_a_new_stretch():
    found = offset_of([Answer(0.0, 90, 110), Answer(1e6, 95, 115), Answer(2e6, 200, 210), Answer(3e6, 204, 220)])
    assert (found.at(0.0), found.at(1.5e6), found.at(2e6), found.at(9e9)) == (102.5, 102.5, 207.0, 207.0)
    assert found.error == 7.5
    assert offset_of([]).error is None


def test_a_trace_of_several_processes_is_read_back_without_loss(run, tmp_path):
    merged, _ = run
    read = mx.profiler.load(merged.save(tmp_path / "trace.npz"))
    assert read.records == merged.records
    assert read.processes == merged.processes
    assert read.totals == merged.totals
    assert (read.wall, read.events, read.accounted, read.memory) == (merged.wall, merged.events, merged.accounted, merged.memory)
    assert repr(read.distributed()) == repr(merged.distributed())
    events = json.loads(merged.save(tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {1: "worker 0", 2: "worker 1", 3: "server 0", 4: "server 1"}
    again = mx.profiler.merge([read])
    assert [process.name for process in again.processes] == list(names.values())
    starts = sorted(record["start"] for record in merged.records)
    assert sorted(record["start"] for record in again.records) == pytest.approx(starts, abs=0.01)


def test_merging_says_what_it_cannot_merge(run):
    merged, _ = run
    with mx.Profiler() as prof:
        mx.nd.ones((2, 2))
    for act, error, said in (
            (lambda: mx.profiler.merge([merged, merged]), mx.ProfilerError, "Two profiles of worker 0"),
            (lambda: mx.profiler.merge([]), mx.ProfilerError, "no profile"),
            (lambda: mx.profiler.merge([3]), mx.ProfilerError, "name of a file"),
            (lambda: merged.process("worker 7"), mx.UnknownNameError, "worker 7"),
            (prof.distributed, mx.ProfilerError, "exchanged")):
        with pytest.raises(error, match=said):
            act()


def test_a_worker_may_profile_itself_and_stays_aligned_when_it_pauses():
    def work():
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((3,)))
        with mx.Profiler() as prof:
            for step in range(6):
                if step == 3:
                    prof.pause()
                    time.sleep(0.2)
                    prof.resume()
                kv.push("w", mx.nd.ones((3,)))
                kv.pull("w", out=mx.nd.zeros((3,)))
        return prof, kv.profile_servers()

    (prof, servers), = LocalCluster(2, 1).run(work)
    alone = prof.distributed()
    assert [(row["process"], row["sent"], row["received"]) for row in alone.processes] == [("worker 0", 72, 72)]
    merged = mx.profiler.merge([prof, *servers])
    assert [process.name for process in merged.processes] == ["worker 0", "server 0", "server 1"]
    calls = [record for record in merged.records if record["lane"] == "exchange"]
    served = [record for record in merged.records if record["lane"] == "serve"]
    assert {record["name"] for record in served} == {"serve"}  # what came before the profile is left out
    assert len(calls) == len(served) == 6
    slack = sum(process.error or 0 for process in merged.processes) + 1
    for call, serve in zip(calls, served, strict=True):
        assert call["start"] - slack <= serve["start"]
        assert serve["start"] + serve["duration"] <= call["start"] + call["duration"] + slack
    assert calls[3]["start"] - calls[2]["start"] > 200_000
    assert slack < merged.wall


def test_staleness_counts_the_steps_of_others_that_a_gradient_did_not_know():
    cluster = LocalCluster(1, 2)
    first, second = (Client(cluster.transport(rank)) for rank in range(2))
    spec = KeySpec((4,), "float32")

    def begin(client):
        client.set_mode("async")
        client.init({"w": (spec, None, np.zeros(4, np.float32))})
        client.set_optimizer(mx.optimizer.states.described(mx.optimizer.SGD()), "rows")

    threads = [threading.Thread(target=begin, args=(client,)) for client in (first, second)]
    for step in ("start", "join"):
        for thread in threads:
            getattr(thread, step)()

    def push(client):
        client.push([Push("w", 0, None, np.ones(4, np.float32))])
        client.flush()

    first.pull([("w", None)])
    second.pull([("w", None)])
    for client in (second, second, first, first, second):
        push(client)
    second.pull([("w", None)])
    push(second)
    told = cluster.call(0, "profile", ()).result()[1]
    applied = [record["attrs"] for record in server_profile(told).records if record["lane"] == "apply"]
    stale = [(about["rank"], about["stale"]) for about in applied]
    assert stale == [(1, 0), (1, 0), (0, 2), (0, 2), (1, 2), (1, 0)]


# pictures


def test_the_report_has_all_processes(run, tmp_path):
    page = run[0].save(tmp_path / "page.html").read_text()
    assert page.count("<figure data-figure>") == 3  # timeline, memory and the cable
    for words in ("By process", "Exchanged", "Waiting times between workers",
                  "Load of the servers. The server with the most bytes"):
        assert words in page
