"""What ``try_fixes`` leaves alone, refuses and judges."""

import contextlib
import copy
import functools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.base import rng
from sparsekit.base.errors import InsufficientMemoryError, ProfilerError
from sparsekit.demo.settings import Settings
from sparsekit.demo.training import TrainingRun
from sparsekit.demo.variants import VARIANTS
from sparsekit.fixes import Candidate, result, try_fixes
from sparsekit.fixes.judge import compare_answers
from sparsekit.fixes.observe import COUNTED
from sparsekit.fixes.processes import observed_apart
from sparsekit.fixes.program import Program

FEATURES, UNITS, ROWS = 2000, 4, 8

COUNT, LOG = 0, []


class Held:
    """A class with state of its own."""

    calls, seen = 0, []

    def note(self):
        Held.calls += 1
        type(self).seen.append(self.calls)
        self.seen.append("again")


def batch(seed=0, stored=3, features=FEATURES):
    random_numbers = np.random.default_rng(seed)
    columns = np.sort(np.argsort(random_numbers.random((ROWS, features)), axis=1)[:, :stored], axis=1).ravel()
    return mx.nd.sparse.csr_matrix((np.ones(ROWS * stored, "float32"), columns, np.arange(ROWS + 1) * stored),
                                   shape=(ROWS, features), index_dtype="int32")


def program(settings=None, **options):
    """A net, its trainer, and a function that makes one step."""
    net = gluon.nn.Dense(UNITS, in_units=FEATURES, **options)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, **(settings or {})})
    loss_function, data, label = gluon.loss.L2Loss(), batch(), mx.nd.ones((ROWS, UNITS))

    def step():
        with autograd.record():
            loss = loss_function(net(data), label)
        loss.backward()
        trainer.step(ROWS)
        return loss

    return net, trainer, step


def tried(step, **options):
    return try_fixes(step, **options)


# --------------------------------------------------------------------------- the demo's own factors


def test_the_demos_dense_model_is_mended_as_the_demo_mends_it():
    settings = Settings(Path("unused"), features=4096, units=8, batch_size=16)
    columns = np.sort(np.random.default_rng(0).permutation(4096)[:320].reshape(16, 20), axis=1).ravel()
    data = mx.nd.sparse.csr_matrix((np.ones(320, "float32"), columns, np.arange(17) * 20), shape=(16, 4096))
    given = mx.io.DataBatch([data], [mx.nd.array(np.arange(16) % 2)])

    def demo(variant):
        training = TrainingRun(variant, settings)
        return lambda: training.step(given)

    found = {}
    for variant in VARIANTS:
        step = demo(variant)
        with mx.Profiler() as prof:
            losses = [step().asnumpy() for _ in range(3)]
        moved = sum(row["bytes"] for row in prof.totals if row["lane"] in COUNTED)
        found[variant.key] = (prof.memory["peak_bytes"], moved, losses)
    fixes = tried(demo(VARIANTS[0]))
    assert [fix.candidate.remedy for fix in fixes.applied] == ["csr input kept", "row-sparse gradient"]
    assert fixes.together.before[:2] == found["dense"][:2]
    assert fixes.together.after[:2] == found["row_sparse"][:2]
    # FullyConnected on csr takes no more than the demo's own layer for it, whose bias is added by another operator.
    assert fixes["csr input kept"].after.peak == pytest.approx(found["sparse_input"][0], rel=0.01)
    for one, other in zip(fixes.tried.final.losses, found["row_sparse"][2], strict=True):
        np.testing.assert_array_equal(one[0], other)
    assert 'data.tostype("default")' in fixes.patch
    assert "+        return F.sparse.dot(x, weight) + bias" in fixes.patch


# --------------------------------------------------------------------------- nothing of the program changes


def state_of(net, trainer, more=()):
    """Everything that a step could change, as plain data."""
    states = [array.asnumpy().tobytes() for updater in trainer._updaters for state in updater.states.values()
              for array in (state if isinstance(state, tuple) else (state,)) if array is not None]
    weights = [(one.data().asnumpy().tobytes(), one.grad().asnumpy().tobytes()) for one in net.collect_params().values()]
    generator = rng._shared
    return (weights, states, trainer.optimizer.num_update, dict(trainer.optimizer._index_update_count), random.getstate(),
            str(np.random.get_state()), None if generator is None else str(generator.bit_generator.state), id(generator),
            COUNT, list(LOG), Held.calls, list(Held.seen), gluon.nn.Dense(1).name[:5], dict(os.environ), *map(repr, more))


@pytest.mark.parametrize("fails", [False, True])
def test_the_program_and_all_random_states_are_as_before(fails):
    mx.random.seed(3)
    net, trainer, step = program({"momentum": 0.9, "wd": 0.01})
    step()
    numbers, held, batches = np.random.default_rng(5), Held(), iter([batch(seed) for seed in range(9)])
    kept = {"losses": []}

    def busy():
        global COUNT
        COUNT += 1
        LOG.append(COUNT)
        held.note()
        kept["losses"].append(float(step().mean().asscalar()))
        noise = random.random() + np.random.random() + numbers.random() + float(mx.nd.random.uniform().asscalar())
        with autograd.record():
            loss = net(next(batches)).sum() * noise
        loss.backward()
        trainer.step(ROWS)
        if fails:
            raise ValueError("the step failed")
        return loss

    def seen():
        return state_of(net, trainer, (numbers.bit_generator.state, vars(held), kept))

    before = seen()
    fixes = tried(busy)
    assert bool(fixes.refusal) == fails
    assert ("ValueError: the step failed" in fixes.refusal) == fails
    if not fails:
        assert fixes["row-sparse gradient"].verdict in ("holds", "changes the answer")
    assert seen() == before
    assert len(list(batches)) == 9


def test_the_other_process_trains_as_the_program_does(fresh):
    mx.random.seed(1)
    net, _, step = program()
    twin = copy.deepcopy(net)
    fixes = tried(step)
    losses = [step().asnumpy() for _ in range(3)]
    for one, other in zip(fixes.tried.original.losses, losses, strict=True):
        np.testing.assert_array_equal(one[0], other)
    assert not np.array_equal(net.weight.data().asnumpy(), twin.weight.data().asnumpy())  # now it is the user who trains


# --------------------------------------------------------------------------- refusals


class Stubborn(mx.optimizer.SGD):
    """An optimizer that cannot be copied."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.lock = threading.Lock()


class OutOfMemoryError(Exception):
    """As cupy has one."""


def quietly(function, *arguments):
    """What a step does that goes on after errors."""
    try:
        function(*arguments)
    except Exception:
        return 0.0
    return 1.0


def in_a_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()
    return 1.0


def raising(error):
    def step():
        raise error
    return step


def stubborn():
    net = gluon.nn.Dense(UNITS, in_units=FEATURES)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), Stubborn(learning_rate=0.1))
    return lambda: trainer.step(1)


REFUSED = {
    "a file is written": (lambda path: lambda: path.write_text("x"), "writes the file 'there'"),
    "a file is deleted": (lambda path: lambda: os.remove(path), "deletes a file"),
    "a process": (lambda path: lambda: subprocess.run(["true"], check=True), "starts a process"),
    "a shell": (lambda path: lambda: os.system("true"), "starts a process"),
    "the network": (lambda path: lambda: socket.create_connection(("127.0.0.1", 9), timeout=0.01), "uses the network"),
    "an effect whose error is caught": (lambda path: lambda: quietly(path.write_text, "x"), "writes the file 'there'"),
    "a thread": (lambda path: lambda: in_a_thread(quietly, path.write_text, "x"), "writes the file 'there'"),
    "the environment": (lambda path: lambda: os.environ.update(SPARSEKIT_TRIED="1"), "changes the environment"),
    "a generator": (lambda path: (lambda numbers: lambda: next(numbers))(one for one in (1.0, 2.0)), "numbers holds a generator"),
    "a lock in the optimizer": (lambda path: stubborn(), "Stubborn.lock holds a _thread.lock, which cannot be sent"),
    "the clock": (lambda path: lambda: float(time.perf_counter_ns()), "Two runs of the unchanged program differ"),
    "what no seed repeats": (lambda path: lambda: float(uuid.uuid4().int % 2**50), "Two runs of the unchanged program differ"),
    "no memory": (lambda path: raising(MemoryError("of the machine")), "not enough memory"),
    "no memory by name": (lambda path: raising(InsufficientMemoryError("1 TB is needed.", hint="")), "not enough memory"),
    "no memory of the GPU": (lambda path: raising(OutOfMemoryError("Out of memory allocating 1 TB")), "not enough memory"),
    "the end of the program": (lambda path: raising(SystemExit(3)), "SystemExit"),
    "nothing to compare": (lambda path: lambda: None, "nothing can be compared"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_judged_is_refused_by_name(name, tmp_path):
    make, reason = REFUSED[name]
    path = tmp_path / "there"
    path.write_text("before")
    fixes = tried(make(path))
    assert reason in fixes.refusal
    assert reason in repr(fixes)
    assert len(fixes) == 0
    assert fixes.patch == ""
    assert path.read_text() == "before"
    assert "SPARSEKIT_TRIED" not in os.environ
    with pytest.raises(ProfilerError, match="no fix holds"):
        fixes.contract()


def test_an_open_file_cannot_be_sent():
    with open(__file__, encoding="utf-8") as file:
        assert "file holds a _io.TextIOWrapper, which cannot be sent" in tried(lambda: float(len(file.name))).refusal


def test_effects_are_watched_in_trials_alone(tmp_path):
    tried(lambda: 1.0)
    (tmp_path / "free").write_text("again")
    assert (tmp_path / "free").read_text() == "again"


def test_reading_a_file_is_no_effect(tmp_path):
    path = tmp_path / "numbers"
    path.write_text("1 2 3")
    assert not tried(lambda: [float(one) for one in path.read_text().split()]).refusal


def test_a_program_without_room_for_its_copies_is_refused(monkeypatch):
    from sparsekit.base import machine

    _, _, step = program()
    monkeypatch.setattr(machine, "available_memory", lambda: 100_000)
    assert "are needed for copies of the " in tried(step).refusal
    monkeypatch.setattr(machine, "available_memory", lambda: None)
    assert not tried(step).refusal


@pytest.mark.parametrize(("arguments", "kind"), [
    ({"steps": 0}, ProfilerError), ({"steps": True}, ProfilerError), ({"timeout": 0}, ProfilerError),
    ({"timeout": float("inf")}, ProfilerError), ({"tolerance": -0.1}, ProfilerError), ({"tolerance": "much"}, ProfilerError),
])
def test_bad_arguments(arguments, kind):
    with pytest.raises(kind):
        try_fixes(lambda: 1.0, **arguments)


def test_a_step_must_be_callable_and_no_profiler_may_record():
    with pytest.raises(ProfilerError, match="step must be a function"):
        try_fixes(3)
    with mx.Profiler() as prof, pytest.raises(ProfilerError, match="while a profiler records"):
        prof.try_fixes(lambda: 1.0)


# --------------------------------------------------------------------------- verdicts


def test_lazy_updates_that_change_the_answer_say_which_rows_and_by_how_much():
    net, trainer, step = program({"wd": 0.01, "lazy_update": False}, weight_grad_stype="row_sparse")
    fixes = tried(step)
    lazy = fixes["lazy optimizer"]
    assert lazy.verdict == "changes the answer"
    touched = len(np.unique(batch().indices.asnumpy()))
    assert f"{FEATURES - touched:,} of 2,000 rows of {net.weight.name} differ, by at most " in lazy.reason
    assert "all of them are unchanged" in lazy.reason
    assert fixes["exact lazy optimizer"].holds
    start = net.weight.data().asnumpy()
    for _ in range(3):
        step()
    moved = np.abs(net.weight.data().asnumpy() - start)
    untouched = np.setdiff1d(np.arange(FEATURES), batch().indices.asnumpy())
    assert float(lazy.reason.partition("by at most ")[2].split(",")[0]) == pytest.approx(moved[untouched].max(), rel=0.05)
    assert trainer.optimizer.lazy_update is False


def spoil(weight):
    """Change one value of one weight by a thousandth of a step."""
    row = int(batch().indices.asnumpy()[0])
    weight.data()[0:1, row:row + 1] = weight.data()[0:1, row:row + 1] + 1e-4


def test_a_wrong_remedy_is_never_said_to_hold(origin):
    net, _, step = program()
    whole = Program(step)
    original, same = (observed_apart(whole.sent(), 2, False, 60, origin.start) for _ in range(2))
    assert compare_answers(original, same).exact
    spoiled = Candidate("spoil", "", change=functools.partial(spoil, net.weight))
    assert not compare_answers(original, observed_apart(whole.sent([spoiled]), 2, False, 60, origin.start)).same
    weights = dict(same.weights)
    same.weights.clear()
    assert compare_answers(original, same).same  # the losses are there still
    same.losses, original.losses = ([[] for _ in one.losses] for one in (same, original))
    assert not compare_answers(original, same).same
    same.weights.update(weights)
    assert compare_answers(original, same).same


@pytest.mark.parametrize("repeats", [True, False])
def test_answers_are_compared_on_different_batches(repeats):
    """Lazy updates under momentum give the same answers while every step reads one batch, and other ones after that."""
    _, trainer, _ = made = program({"momentum": 0.9, "lazy_update": False}, weight_grad_stype="row_sparse")
    net, batches = made[0], iter([batch(seed) for seed in range(3)])
    label, loss_function = mx.nd.ones((ROWS, UNITS)), gluon.loss.L2Loss()

    def step():
        with autograd.record():
            loss = loss_function(net(next(batches)), label)
        loss.backward()
        trainer.step(ROWS)
        return loss

    lazy = tried(made[2] if repeats else step)["lazy optimizer"]
    assert lazy.verdict == "changes the answer"
    assert ("were changed between steps" in lazy.reason) == repeats


# --------------------------------------------------------------------------- processes


class Base:
    def scale(self):
        return 2.0


class Derived(Base):
    factor = (3.0,)

    @property
    def both(self):
        return self.factor[0] * super().scale()


class Pair(NamedTuple):
    first: float
    second: float = 4.0

    def total(self):
        return self.first + self.second


@contextlib.contextmanager
def added(value):
    yield value + 1


def test_functions_and_classes_arrive_as_they_are():
    count, pair, numbers = 0, Pair(1.0), iter([10.0, 20.0, 30.0])

    def more():
        nonlocal count
        count += 1

    def step():
        more()
        with added(count) as value:
            return [value, Derived().both, pair.total(), isinstance(pair, Pair), next(numbers)]

    found = observed_apart(Program(step).sent(), 2, False, 60).losses
    assert [[float(one) for one in losses] for losses in found] == [[2, 6, 5, 1, 10], [3, 6, 5, 1, 20]]
    assert count == 0
    assert next(numbers) == 10.0


def test_a_process_that_is_killed_or_takes_too_long_is_named():
    killed = tried(lambda: signal.raise_signal(signal.SIGKILL))
    assert "The process that ran the step was ended by SIGKILL" in killed.refusal
    assert "did not end within 1 seconds" in tried(lambda: time.sleep(60), timeout=1).refusal


def test_a_process_ends_with_the_one_that_asked_and_leaves_no_file(tmp_path):
    script = tmp_path / "asks.py"
    script.write_text("import os, time\nfrom pathlib import Path\nfrom sparsekit.fixes import try_fixes\n"
                      f"os.environ['SPARSEKIT_TEST_MARK'] = {str(tmp_path)!r}\n"
                      "def step():\n    time.sleep(300)\ntry_fixes(step)\n")
    (tmp_path / "tmp").mkdir()
    asking = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    mark = f"SPARSEKIT_TEST_MARK={tmp_path}".encode()
    try:
        assert waits_for(lambda: [one for one in marked(mark) if one != asking.pid])
        asking.terminate()
        asking.wait()
        assert waits_for(lambda: not marked(mark))
    finally:
        asking.kill()
    assert not list((tmp_path / "tmp").iterdir())


def marked(mark):
    """The processes with this in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def waits_for(holds):
    for _ in range(300):
        if holds():
            return True
        time.sleep(0.1)
    return False


# --------------------------------------------------------------------------- what is shown and written


@pytest.fixture(scope="module")
def usual():
    """What came of the program as it is."""
    return tried(program()[2])


def test_the_result_shows_itself_as_picture_table_and_text(usual):
    bundle = usual._repr_mimebundle_()
    assert "data:image/svg+xml" in bundle["text/html"]
    assert "The patch" in bundle["text/html"]
    assert "row-sparse gradient" in bundle["text/plain"]
    assert "fewer bytes at the peak" in usual.summary()
    assert "No fix was tried" in tried(lambda: None)._repr_mimebundle_()["text/plain"]


@pytest.mark.parametrize(("before", "after", "words"), [
    (85_200, 83_400, "2.1 % fewer bytes"), (83_400, 85_200, "2.1 % more bytes"), (2_830, 1_090, "2.6× fewer bytes"),
    (500, 500, "the same bytes"), (0, 0, "the same bytes")])
def test_bytes_that_nearly_stay_are_told_in_percent(before, after, words):
    assert result._less(before, after) == words


def test_a_profile_tries_fixes_and_lists_what_no_remedy_answers(usual):
    _, _, step = program()
    step()
    with mx.Profiler() as prof:
        step()
    fixes = prof.try_fixes(step)
    assert fixes["row-sparse gradient"].holds
    assert repr(fixes).count("holds") == repr(usual).count("holds")
    assert isinstance(fixes.tried.unanswered, tuple)


def test_objects_are_called_as_steps():
    _, _, step = program()

    class Run:
        def __call__(self):
            return step()

        def once(self):
            return self()

    for one in (Run(), Run().once):
        assert tried(one)["row-sparse gradient"].holds
