"""Weak references are listed without a crash while the garbage collector frees some of them."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from sparsekit.base.weak_references import weak_references


def test_the_collector_does_not_run_between_counting_and_reading():
    """With ``weakref.getweakrefs``, CPython 3.11 reads a null pointer here."""
    held = np.zeros(3)
    mine = weakref.ref(held, print)
    before = gc.get_threshold()
    try:
        for _ in range(200):
            garbage = []
            garbage += [garbage, weakref.ref(held, repr), weakref.ref(held, repr)]
            del garbage
            gc.set_threshold(1)
            found = weak_references(held)
            gc.set_threshold(*before)
            assert mine in found
            assert gc.isenabled()
            del found
    finally:
        gc.set_threshold(*before)
    gc.disable()
    try:
        assert mine in weak_references(held)
        assert not gc.isenabled()
    finally:
        gc.enable()

