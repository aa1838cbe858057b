"""Forks at random moments while threads compute, profile and draw: the child computes, profiles and ends."""

from __future__ import annotations

import os
from pathlib import Path

import programs
import pytest

import sparsekit as mx

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

FORKS = """
import faulthandler, os, random, signal, sys, threading, time, warnings
import numpy as np
import sparsekit as mx

warnings.simplefilter("ignore")
draw = random.Random(4)
generator = np.random.default_rng(0)
values = np.where(generator.random((600, 300)) < 0.1, 1 + generator.random((600, 300)), 0).astype("float32")
x, y = mx.nd.array(values).tostype("csr"), mx.nd.array(generator.random((300, 16)).astype("float32"))
large = mx.nd.array(generator.random((2000, 300)).astype("float32"))
dataset = mx.gluon.data.ArrayDataset(values, np.arange(600, dtype="float32"))
threaded = mx.gluon.data.DataLoader(dataset, 100, num_workers=2, thread_pool=True)
profile = mx.Profiler()
stop = threading.Event()

def compute():
    return mx.nd.dot(x, y).asnumpy(), mx.nd.softmax(large).asnumpy()[:3], \
        mx.nd.dot(x, mx.nd.ones((600, 4)), transpose_a=True).asnumpy()

def computes():
    while not stop.is_set():
        compute()

def profiles():
    while not stop.is_set():
        profile.summary()
        profile.table()

def draws():
    while not stop.is_set():
        mx.nd.random.normal(shape=(300, 300))

def saves(folder=os.getcwd()):
    while not stop.is_set():
        mx.nd.save(folder + "/array", {"a": y})

def child(kind):
    faulthandler.dump_traceback_later(180, exit=True)
    for got, wanted in zip(compute(), expected, strict=True):
        assert np.array_equal(got, wanted)
    mx.nd.random.normal(shape=(30, 30))
    assert "dot" in repr(profile.table())
    profile.stop()
    with mx.Profiler() as own:
        y + 1
    assert [record["name"] for record in own.records] == ["_plus_scalar"]
    mx.nd.save("child" + str(os.getpid()), {"a": y})
    if kind % 4 == 0:
        fresh = threading.Thread(target=compute)
        fresh.start()
        fresh.join()
    if kind % 4 == 1:
        assert abs(sum(float(data.sum().asscalar()) for data, _ in threaded) / values.sum() - 1) < 1e-4
    if kind % 4 == 2:
        x.sum(axis=kind % 3 % 2).asnumpy()  # a kernel that may not have been compiled yet

expected = compute()
profile.start()
# Seven threads: they are in the middle of something at every moment.
threads = [threading.Thread(target=work, daemon=True) for work in (computes, computes, profiles, profiles, draws, draws, saves)]
for thread in threads:
    thread.start()
rounds = int(sys.argv[1])
for number in range(rounds):
    time.sleep(draw.random() * 0.03)
    pid = os.fork()
    if not pid:
        try:
            child(number)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        if number % 5:
            os._exit(0)
        sys.exit(0)  # with all that is registered for the end of a program
    deadline = time.monotonic() + 60
    while (done := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.002)
    if done == (0, 0):
        os.kill(pid, signal.SIGKILL)
        sys.exit(f"round {number}: the child hangs")
    assert done[1] == 0, (number, os.waitstatus_to_exitcode(done[1]))
stop.set()
for thread in threads:
    thread.join(60)
    assert not thread.is_alive()
for got, wanted in zip(compute(), expected, strict=True):
    assert np.array_equal(got, wanted)
left = [name for name in os.listdir() if name.endswith(".tmp")]
assert not left, left
print(rounds)
"""


@pytest.mark.parametrize("rounds", ["4", pytest.param("16", marks=pytest.mark.thorough)])
def test_forks_while_threads_compute_profile_and_draw(rounds):
    assert programs.run(FORKS, rounds, timeout=400, env={"SPARSEKIT_NUM_THREADS": "3"}).check() == f"{rounds}\n"


LOADERS = """
import os, sys, threading, warnings
import numpy as np
import sparsekit as mx

warnings.simplefilter("ignore")

def main():
    dataset = mx.gluon.data.ArrayDataset(np.ones((40, 3), "float32"), np.arange(40, dtype="float32"))
    functions = mx.gluon.data.batchify
    stacked = functions.Tuple([functions.Stack(), functions.Stack()])
    for options in ({"thread_pool": True}, {"batchify_fn": stacked}):
        loader = mx.gluon.data.DataLoader(dataset, 4, num_workers=2, timeout=30, **options)
        batches = iter(loader)
        next(batches)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                try:
                    list(batches)
                except mx.base.errors.WorkerError as error:
                    assert "start a new loop in the child" in str(error), error
                    assert sum(int(label.sum().asscalar()) for _, label in loader) == 780
                    code = 0
                del batches, loader
            except BaseException:
                import traceback
                traceback.print_exc()
            sys.stderr.flush()
            if code == 0 and "thread_pool" in options:
                sys.exit(0)
            os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
        rest = list(batches)
        assert len(rest) == 9, len(rest)  # the parent's batches are still there, each once
        assert sum(int(label.sum().asscalar()) for _, label in loader) == 780
    print("well")

if __name__ == "__main__":
    main()
"""


def test_a_forked_child_begins_loops_of_its_own_over_batches():
    done = programs.run(LOADERS, timeout=400)
    assert done.check() == "well\n"
    assert done.stderr == ""


ORDER = """
import os, sys, threading, time, warnings
import sparsekit as mx
from sparsekit.base import rng
from sparsekit.kernels.cpu import jit
from sparsekit.profiler import profiler, recorder

warnings.simplefilter("ignore")
mx.random.seed(1)
jit.numba()
locks = [rng._shared.bit_generator.lock, jit._loading, jit._compiler_lock(), profiler._lock, recorder._digesting]
for lock in locks:
    held, free = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            free.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    threading.Timer(0.1, free.set).start()
    pid = os.fork()
    if not pid:
        whole = free.is_set()  # the fork waited for whoever had the lock
        taken = all(other.acquire(timeout=30) for other in locks)
        os._exit(0 if whole and taken else 1)
    assert os.waitpid(pid, 0)[1] == 0, lock
    thread.join()
    assert all(other.acquire(timeout=30) for other in locks)
    for other in locks:
        other.release()
print("well")
"""


def test_a_fork_waits_for_whoever_holds_a_lock_of_the_library():
    assert programs.run(ORDER, timeout=400).check() == "well\n"


INTERRUPTED = """
import os, sys, threading, warnings
import sparsekit as mx
from sparsekit.base import forking, rng
from sparsekit.kernels.cpu import jit
from sparsekit.profiler import profiler, recorder

warnings.simplefilter("ignore")
mx.random.seed(1)
jit.numba()
locks = [given() for given in forking._locks] + [forking._importing]
ignored = []
sys.unraisablehook = lambda what: ignored.append(type(what.exc_value))

class Interrupt:
    def __init__(self, place):
        self.left = place

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename != forking.__file__:
            return None
        frame.f_trace_opcodes = True
        if event in ("call", "opcode"):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
        return self

def all_free():
    # Another thread, as some of the locks let their owner pass.
    found = []
    def look():
        for lock in locks:
            found.append(lock.acquire(blocking=False))
            if found[-1]:
                lock.release()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return all(found) and len(found) == len(locks)

assert len(locks) >= 6 and all_free()
place = interrupted = 0
while True:
    place += int(sys.argv[1])
    interrupt = Interrupt(place)
    sys.settrace(interrupt)
    pid = os.fork()
    sys.settrace(None)
    if not pid:
        os._exit(0 if all_free() else 1)
    assert os.waitpid(pid, 0)[1] == 0, (place, "in the child")
    assert all_free(), place
    assert forking._importer == 0 and not forking._forking.held, place
    interrupted += len(ignored)
    if interrupt.left > 0:
        break
assert set(ignored) == {KeyboardInterrupt}
print(place)
"""


@pytest.mark.parametrize("one_in", [4, pytest.param(1, marks=pytest.mark.thorough)])
def test_an_interrupt_at_any_instruction_of_a_fork_leaves_no_lock_taken(one_in):
    assert int(programs.run(INTERRUPTED, str(one_in), timeout=400).check()) > 50


def test_no_property_holds_a_lock_while_it_is_computed():
    """As ``functools.cached_property`` does before Python 3.12; ``base.lazy`` has one that does not."""
    package = Path(mx.__file__).parent
    used = [path.name for path in package.rglob("*.py") if "@cached_property" in (text := path.read_text(encoding="utf-8"))
            or "@functools.cached_property" in text]
    assert used == []
