"""Parts of the library that import each other when they are first used, and pools of threads that several owners may end."""

import subprocess
import sys
import textwrap
import threading
import time

import pytest

from sparsekit.base import forking
from sparsekit.base.signal_safe import acting, undisturbed
from sparsekit.base.workers import Threads

#: Names of the package whose modules import optional packages while they are imported themselves.
LAZY = ("profiler.diff", "figures.xray", "gluon.data.DataLoader", "kernels.warm", "course.predict")


def run(program):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=400)


def test_a_part_may_import_another_undisturbed():
    """The import runs in another thread, and the lock of imports is held by the one that waits for it."""
    def part():
        return undisturbed(lambda: forking.load("json.tool"))

    found = []
    thread = threading.Thread(target=lambda: found.append(forking.load("json.tool").__name__), daemon=True)
    with forking._importing:
        forking._importer = acting()
        try:
            assert part().__name__ == "json.tool"
            assert undisturbed(part).__name__ == "json.tool"
            thread.start()
            thread.join(0.1)
            assert not found  # another thread waits
        finally:
            forking._importer = 0
    thread.join(60)
    assert found == ["json.tool"]


@pytest.mark.thorough
def test_whatever_is_asked_for_first_can_be_imported():
    for name in LAZY:
        part, _, attribute = name.rpartition(".")
        ended = run(f"""
            import importlib
            getattr(importlib.import_module("sparsekit.{part}"), "{attribute}")
        """)
        assert ended.returncode == 0, (name, ended.stderr)


def test_a_child_forked_while_importing_can_import():
    ended = run("""
        import os, sys, types
        from sparsekit.base import forking

        def body():
            child = os.fork()
            if not child:
                os._exit(forking.load("json.tool").__name__ != "json.tool")
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

        sys.meta_path.insert(0, types.SimpleNamespace(find_spec=lambda name, *_: body() if name == "of_a_test" else None))
        forking.load("of_a_test")
    """)
    assert ended.returncode == 0, ended.stderr


def test_threads_end_although_they_are_closed_again_before_they_have():
    pool, go = Threads(2, "sparsekit-closed-twice"), threading.Event()
    running = [pool.submit(go.wait, 30) for _ in range(2)]
    while not all(one.running() for one in running):
        time.sleep(0.001)
    waiting = pool.submit(int)
    pool.close(0.0)  # while they work: what tells them to end stands in the queue
    assert waiting.cancelled()
    threading.Timer(0.1, go.set).start()
    pool.close(60)
    assert not any(thread.is_alive() for thread in pool._threads)
    assert pool.submit(int, "7").result(60) == 7, "the next task starts new threads"
    pool.close(20)
