"""Pools of threads, as several owners may end them."""

from __future__ import annotations

import threading
import time

from sparsekit.base.workers import Threads


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
